//! Events with a text, which must not pile up when nobody drains: equal errors merge and are counted, a
//! newer statistics document replaces an older one, and log lines past a bound push out the oldest.

use crate::record::{
    kabi_event_t, kabi_partition_t, KABI_EVENT_ERROR, KABI_EVENT_LOG, KABI_EVENT_STATISTICS,
};
use std::collections::VecDeque;
use std::mem::offset_of;
use std::time::{SystemTime, UNIX_EPOCH};

/// Different errors that wait; one more is counted with the newest.
const ERRORS_MAX: usize = 256;
/// Log lines that wait.
const LINES_MAX: usize = 1024;
/// Assignment changes that wait.
const CHANGES_MAX: usize = 64;

/// A partition that an event tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToldPartition {
    pub topic: i32,
    pub partition: i32,
    pub offset: i64,
    pub leader_epoch: i32,
    pub code: i32,
}

/// An event with its text and partitions, which get their places in a byte buffer when it is drained.
pub struct Told {
    pub event: kabi_event_t,
    pub text: String,
    pub partitions: Vec<ToldPartition>,
    /// It holds a slot.
    pub slot: bool,
}

impl Told {
    /// An event of one kind, noticed now.
    pub fn new(kind: u32, code: i32, text: String) -> Told {
        Told {
            event: event(kind, code),
            text,
            partitions: Vec::new(),
            slot: false,
        }
    }

    /// The bytes that `place` needs.
    pub fn size(&self) -> usize {
        self.partitions.len() * PARTITION_SIZE + self.text.len() + 1
    }

    /// Writes partitions and text to `bytes`, which begin `at` bytes into the whole buffer, a multiple
    /// of 8, and gives the event that points there. `None` without room.
    pub fn place(&self, at: usize, bytes: &mut [u8]) -> Option<kabi_event_t> {
        let room = bytes.get_mut(..self.size())?;
        let (data, text) = room.split_at_mut_checked(self.partitions.len() * PARTITION_SIZE)?;
        for (place, partition) in data.chunks_exact_mut(PARTITION_SIZE).zip(&self.partitions) {
            partition.write(place);
        }
        let text_at = at + data.len();
        let (end, letters) = text.split_last_mut()?;
        letters.copy_from_slice(self.text.as_bytes());
        *end = 0;
        let data_count = self.partitions.len() as u64;
        Some(kabi_event_t {
            text_offset: text_at as u64,
            text_length: self.text.len() as u64,
            data_offset: if data_count == 0 { 0 } else { at as u64 },
            data_count,
            ..self.event
        })
    }
}

const PARTITION_SIZE: usize = size_of::<kabi_partition_t>();

impl ToldPartition {
    /// As a kabi_partition_t without metadata.
    fn write(&self, place: &mut [u8]) {
        place.fill(0);
        let mut put = |at: usize, bytes: &[u8]| {
            if let Some(room) = place.get_mut(at..at + bytes.len()) {
                room.copy_from_slice(bytes);
            }
        };
        put(
            offset_of!(kabi_partition_t, topic),
            &self.topic.to_ne_bytes(),
        );
        put(
            offset_of!(kabi_partition_t, partition),
            &self.partition.to_ne_bytes(),
        );
        put(
            offset_of!(kabi_partition_t, offset),
            &self.offset.to_ne_bytes(),
        );
        put(
            offset_of!(kabi_partition_t, leader_epoch),
            &self.leader_epoch.to_ne_bytes(),
        );
        put(offset_of!(kabi_partition_t, code), &self.code.to_ne_bytes());
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn event(kind: u32, code: i32) -> kabi_event_t {
    kabi_event_t {
        kind,
        code,
        timestamp: now_ms(),
        count: 1,
        ..Default::default()
    }
}

#[derive(Default)]
pub struct Boxes {
    errors: VecDeque<Told>,
    lines: VecDeque<Told>,
    /// Lines pushed out since the oldest that is still here.
    lines_lost: u64,
    statistics: Option<Told>,
    changes: VecDeque<Told>,
    changes_lost: u64,
    /// One a broker, by its name, the latest.
    throttles: VecDeque<Told>,
    token: Option<Told>,
}

/// Adds to a bounded row, pushing out the oldest, which is counted. True if the row was empty.
fn push_bounded(row: &mut VecDeque<Told>, max: usize, lost: &mut u64, told: Told) -> bool {
    let was_empty = row.is_empty();
    if row.len() >= max {
        row.pop_front();
        *lost += 1;
    }
    row.push_back(told);
    was_empty
}

/// Takes a bounded row; its oldest stands for those that were pushed out before it.
fn take_bounded(row: &mut VecDeque<Told>, lost: &mut u64) -> VecDeque<Told> {
    let mut taken = std::mem::take(row);
    if let Some(oldest) = taken.front_mut() {
        oldest.event.count += std::mem::take(lost);
    }
    taken
}

impl Boxes {
    /// True if the box was empty, so that its readers have to be told.
    pub fn add_error(&mut self, code: i32, flags: u32, text: String) -> bool {
        let was_empty = self.errors.is_empty();
        if let Some(same) = self
            .errors
            .iter_mut()
            .find(|e| e.event.code == code && e.text == text)
        {
            same.event.count += 1;
            return false;
        }
        let mut count = 1;
        if self.errors.len() >= ERRORS_MAX {
            count += self.errors.pop_back().map_or(0, |e| e.event.count);
        }
        let mut told = Told::new(KABI_EVENT_ERROR, code, text);
        told.event.flags = flags;
        told.event.count = count;
        self.errors.push_back(told);
        was_empty
    }

    pub fn add_line(&mut self, level: i32, contexts: u32, text: String) -> bool {
        let mut told = Told::new(KABI_EVENT_LOG, level, text);
        told.event.token = contexts.into();
        push_bounded(&mut self.lines, LINES_MAX, &mut self.lines_lost, told)
    }

    pub fn set_statistics(&mut self, text: String) -> bool {
        let told = Told::new(KABI_EVENT_STATISTICS, 0, text);
        self.statistics.replace(told).is_none()
    }

    pub fn add_change(&mut self, told: Told) -> bool {
        push_bounded(&mut self.changes, CHANGES_MAX, &mut self.changes_lost, told)
    }

    /// A newer one of the same broker replaces an older.
    pub fn add_throttle(&mut self, mut told: Told) -> bool {
        let was_empty = self.throttles.is_empty();
        match self.throttles.iter_mut().find(|t| t.text == told.text) {
            Some(same) => {
                told.event.count += same.event.count;
                *same = told;
            }
            None => self.throttles.push_back(told),
        }
        was_empty
    }

    pub fn set_token(&mut self, told: Told) -> bool {
        self.token.replace(told).is_none()
    }

    pub fn take_errors(&mut self) -> VecDeque<Told> {
        std::mem::take(&mut self.errors)
    }

    pub fn take_lines(&mut self) -> VecDeque<Told> {
        take_bounded(&mut self.lines, &mut self.lines_lost)
    }

    pub fn take_changes(&mut self) -> VecDeque<Told> {
        take_bounded(&mut self.changes, &mut self.changes_lost)
    }

    pub fn take_throttles(&mut self) -> VecDeque<Told> {
        std::mem::take(&mut self.throttles)
    }

    pub fn take_token(&mut self) -> VecDeque<Told> {
        self.token.take().into_iter().collect()
    }

    pub fn take_statistics(&mut self) -> VecDeque<Told> {
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
        assert!(
            boxes.add_error(-195, 1, "down".into()),
            "empty again, so the reader is told again"
        );
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
            boxes.add_line(6, 0, i.to_string());
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
