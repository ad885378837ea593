//! Events with a text, which must not pile up when nobody drains: equal errors merge and are counted, a
//! newer statistics document replaces an older one, and log lines past a bound push out the oldest.

use crate::record::{kabi_event_t, KABI_EVENT_ERROR, KABI_EVENT_LOG, KABI_EVENT_STATISTICS};
use std::collections::VecDeque;
use std::time::{SystemTime, UNIX_EPOCH};

/// Different errors that wait; one more is counted with the newest.
const ERRORS_MAX: usize = 256;
/// Log lines that wait.
const LINES_MAX: usize = 1024;

/// An event with its text, which gets its place in a byte buffer when it is drained.
pub struct TextEvent {
    pub event: kabi_event_t,
    pub text: String,
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn event(kind: u32, code: i32) -> kabi_event_t {
    kabi_event_t { kind, code, timestamp: now_ms(), count: 1, ..Default::default() }
}

#[derive(Default)]
pub struct Boxes {
    errors: VecDeque<TextEvent>,
    lines: VecDeque<TextEvent>,
    /// Lines pushed out since the oldest that is still here.
    lines_lost: u64,
    statistics: Option<TextEvent>,
}

impl Boxes {
    /// True if the box was empty, so that its readers have to be told.
    pub fn add_error(&mut self, code: i32, flags: u32, text: String) -> bool {
        let was_empty = self.errors.is_empty();
        if let Some(same) = self.errors.iter_mut().find(|e| e.event.code == code && e.text == text) {
            same.event.count += 1;
            return false;
        }
        let mut count = 1;
        if self.errors.len() >= ERRORS_MAX {
            count += self.errors.pop_back().map_or(0, |e| e.event.count);
        }
        let event = kabi_event_t { flags, count, ..event(KABI_EVENT_ERROR, code) };
        self.errors.push_back(TextEvent { event, text });
        was_empty
    }

    pub fn add_line(&mut self, level: i32, text: String) -> bool {
        let was_empty = self.lines.is_empty();
        if self.lines.len() >= LINES_MAX {
            self.lines.pop_front();
            self.lines_lost += 1;
        }
        self.lines.push_back(TextEvent { event: event(KABI_EVENT_LOG, level), text });
        was_empty
    }

    pub fn set_statistics(&mut self, text: String) -> bool {
        let event = event(KABI_EVENT_STATISTICS, 0);
        self.statistics.replace(TextEvent { event, text }).is_none()
    }

    pub fn take_errors(&mut self) -> VecDeque<TextEvent> {
        std::mem::take(&mut self.errors)
    }

    pub fn take_lines(&mut self) -> VecDeque<TextEvent> {
        let mut lines = std::mem::take(&mut self.lines);
        if let Some(oldest) = lines.front_mut() {
            oldest.event.count += std::mem::take(&mut self.lines_lost);
        }
        lines
    }

    pub fn take_statistics(&mut self) -> VecDeque<TextEvent> {
        self.statistics.take().into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_errors_merge_and_different_ones_do_not() {
        let mut boxes = Boxes::default();
        assert!(boxes.add_error(-195, 1, "down".into()));
        assert!(!boxes.add_error(-195, 1, "down".into()));
        assert!(!boxes.add_error(-195, 1, "up".into()));
        let counts: Vec<u64> = boxes.take_errors().iter().map(|e| e.event.count).collect();
        assert_eq!(counts, [2, 1]);
        assert!(boxes.add_error(-195, 1, "down".into()), "empty again, so the reader is told again");
    }

    #[test]
    fn errors_past_the_bound_are_counted() {
        let mut boxes = Boxes::default();
        for i in 0..ERRORS_MAX + 10 {
            boxes.add_error(1, 0, i.to_string());
        }
        let errors = boxes.take_errors();
        assert_eq!(errors.len(), ERRORS_MAX);
        let total: u64 = errors.iter().map(|e| e.event.count).sum();
        assert_eq!(total, ERRORS_MAX as u64 + 10);
    }

    #[test]
    fn old_lines_are_pushed_out_and_counted() {
        let mut boxes = Boxes::default();
        for i in 0..LINES_MAX + 5 {
            boxes.add_line(6, i.to_string());
        }
        let lines = boxes.take_lines();
        assert_eq!(lines.len(), LINES_MAX);
        assert_eq!(lines[0].text, "5");
        assert_eq!(lines[0].event.count, 6);
        assert_eq!(lines[1].event.count, 1);
    }

    #[test]
    fn newer_statistics_replace_older() {
        let mut boxes = Boxes::default();
        assert!(boxes.set_statistics("1".into()));
        assert!(!boxes.set_statistics("2".into()));
        let statistics = boxes.take_statistics();
        assert_eq!(statistics.len(), 1);
        assert_eq!(statistics[0].text, "2");
    }
}
