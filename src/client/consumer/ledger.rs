//! Which records were handed out and which of them are handled. Only what is handled may be committed,
//! and only up to the oldest record of its partition that is not.
//!
//! Pure bookkeeping: what to do with the offsets that come out is for the caller.

use crate::error::{Error, Result};
use std::collections::VecDeque;

/// Topic number and partition.
pub type Key = (i32, i32);

/// A record that is handed out. An entry that tells of an error has no offset to commit.
pub struct HandedOut {
    pub key: Key,
    pub offset: Option<i64>,
    pub leader_epoch: i32,
}

/// An offset to store: that of the first record which is not handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Store {
    pub key: Key,
    pub offset: i64,
    pub leader_epoch: i32,
}

/// Consecutive records of one partition in a batch.
struct Run {
    key: Key,
    leader_epoch: i32,
    /// Place in the batch.
    start: usize,
    length: usize,
    /// How many of them were given out as `Store`s already.
    stored: usize,
}

struct Marks {
    number: u64,
    runs: Vec<Run>,
    /// By place in the batch.
    offsets: Vec<Option<i64>>,
    /// The first so many records of the batch are handled.
    handled: usize,
}

impl Marks {
    fn is_done(&self) -> bool {
        self.handled >= self.offsets.len() || self.runs.is_empty()
    }
}

#[derive(Default)]
pub struct Ledger {
    last_number: u64,
    batches: VecDeque<Marks>,
}

impl Ledger {
    /// Enters a batch and gives it its number, from 1.
    pub fn hand_out(&mut self, records: impl Iterator<Item = HandedOut>) -> u64 {
        let mut runs: Vec<Run> = Vec::new();
        let mut offsets = Vec::with_capacity(records.size_hint().0);
        for record in records {
            match runs.last_mut() {
                Some(run) if run.key == record.key && run.leader_epoch == record.leader_epoch => {
                    run.length += 1;
                }
                _ => runs.push(Run {
                    key: record.key,
                    leader_epoch: record.leader_epoch,
                    start: offsets.len(),
                    length: 1,
                    stored: 0,
                }),
            }
            offsets.push(record.offset);
        }
        self.last_number += 1;
        let number = self.last_number;
        self.batches.push_back(Marks {
            number,
            runs,
            offsets,
            handled: 0,
        });
        number
    }

    /// The first `count` records of a batch are handled. Never takes anything back; a batch that is done
    /// or discarded is no error.
    pub fn handled(&mut self, number: u64, count: usize) -> Result<Vec<Store>> {
        if number == 0 || number > self.last_number {
            return Err(Error::argument(format!(
                "batch {number} was not handed out; the last one was {}",
                self.last_number
            )));
        }
        let Some(marks) = self.batches.iter_mut().find(|m| m.number == number) else {
            return Ok(Vec::new());
        };
        let held = marks.offsets.len();
        if count > held {
            return Err(Error::argument(format!(
                "{count} records of batch {number} can't be handled: it had {held}"
            )));
        }
        marks.handled = marks.handled.max(count);
        Ok(self.advance())
    }

    /// Everything that was handed out is handled.
    pub fn handled_all(&mut self) -> Vec<Store> {
        for marks in &mut self.batches {
            marks.handled = marks.offsets.len();
        }
        self.advance()
    }

    /// Forgets records of partitions that were moved or taken away: nothing of them is stored any more.
    pub fn discard(&mut self, mut of: impl FnMut(Key) -> bool) {
        for marks in &mut self.batches {
            marks.runs.retain(|run| !of(run.key));
        }
        // One that is handled but waits for an older one to be is still needed.
        self.batches.retain(|marks| !marks.runs.is_empty());
    }

    /// Whether a record of the partition was handed out and is not handled.
    pub fn is_unhandled(&self, key: Key) -> bool {
        self.batches.iter().any(|marks| {
            let waiting = |run: &Run| {
                let rest = run.start + run.stored..run.start + run.length;
                let offsets = marks.offsets.get(rest);
                offsets.is_some_and(|o| o.iter().any(Option::is_some))
            };
            marks.runs.iter().any(|run| run.key == key && waiting(run))
        })
    }

    /// Batches in hand.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.batches.len()
    }

    /// What can be stored now and was not before.
    fn advance(&mut self) -> Vec<Store> {
        let mut stores: Vec<Store> = Vec::new();
        let mut blocked: Vec<Key> = Vec::new();
        for marks in &mut self.batches {
            for run in &mut marks.runs {
                if blocked.contains(&run.key) {
                    continue;
                }
                let handled = marks.handled.saturating_sub(run.start).min(run.length);
                if handled < run.length {
                    blocked.push(run.key);
                }
                let news = run.start + run.stored..run.start + handled;
                let last = marks
                    .offsets
                    .get(news)
                    .and_then(|o| o.iter().rev().find_map(|o| *o));
                run.stored = run.stored.max(handled);
                let Some(last) = last else { continue };
                let store = Store {
                    key: run.key,
                    offset: last + 1,
                    leader_epoch: run.leader_epoch,
                };
                match stores.iter_mut().find(|s| s.key == run.key) {
                    Some(earlier) => *earlier = store,
                    None => stores.push(store),
                }
            }
        }
        while self.batches.front().is_some_and(Marks::is_done) {
            self.batches.pop_front();
        }
        stores
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(list: &[(i32, i64)]) -> impl Iterator<Item = HandedOut> + '_ {
        list.iter().map(|&(partition, offset)| HandedOut {
            key: (0, partition),
            offset: (offset >= 0).then_some(offset),
            leader_epoch: 7,
        })
    }

    fn store(partition: i32, offset: i64) -> Store {
        Store {
            key: (0, partition),
            offset,
            leader_epoch: 7,
        }
    }

    #[test]
    fn nothing_is_stored_before_it_is_handled() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.hand_out(records(&[(0, 5), (0, 6)])), 1);
        assert_eq!(ledger.handled(1, 0).unwrap(), []);
        assert_eq!(ledger.handled(1, 1).unwrap(), [store(0, 6)]);
        assert_eq!(ledger.handled(1, 1).unwrap(), [], "said once, stored once");
        assert_eq!(ledger.handled(1, 2).unwrap(), [store(0, 7)]);
        assert_eq!(ledger.len(), 0);
        assert_eq!(
            ledger.handled(1, 2).unwrap(),
            [],
            "a batch that is done is no error"
        );
    }

    #[test]
    fn only_records_wait_to_be_handled() {
        let mut ledger = Ledger::default();
        ledger.hand_out(records(&[(0, 5), (1, -1), (0, 6)]));
        assert!(ledger.is_unhandled((0, 0)));
        assert!(!ledger.is_unhandled((0, 1)), "an entry is no record");
        ledger.handled(1, 2).unwrap();
        assert!(ledger.is_unhandled((0, 0)));
        ledger.handled(1, 3).unwrap();
        assert!(!ledger.is_unhandled((0, 0)));
    }

    #[test]
    fn the_oldest_record_not_handled_holds_its_partition_back() {
        let mut ledger = Ledger::default();
        ledger.hand_out(records(&[(0, 1), (1, 1)]));
        ledger.hand_out(records(&[(0, 2), (1, 2), (2, 9)]));
        assert_eq!(ledger.handled(2, 3).unwrap(), [store(2, 10)]);
        assert_eq!(ledger.handled(1, 1).unwrap(), [store(0, 3)]);
        assert_eq!(ledger.handled(1, 2).unwrap(), [store(1, 3)]);
        assert_eq!(ledger.len(), 0);
    }

    #[test]
    fn gaps_in_offsets_and_entries_without_one() {
        let mut ledger = Ledger::default();
        ledger.hand_out(records(&[(0, 10), (0, 17), (0, -1)]));
        assert_eq!(ledger.handled(1, 2).unwrap(), [store(0, 18)]);
        assert_eq!(ledger.handled(1, 3).unwrap(), []);
        assert_eq!(ledger.len(), 0);
    }

    #[test]
    fn the_next_poll_handles_all() {
        let mut ledger = Ledger::default();
        ledger.hand_out(records(&[(0, 1), (1, 4)]));
        ledger.hand_out(records(&[(0, 2)]));
        assert_eq!(ledger.handled_all(), [store(0, 3), store(1, 5)]);
        assert_eq!(ledger.handled_all(), []);
    }

    #[test]
    fn discarded_partitions_are_never_stored() {
        let mut ledger = Ledger::default();
        ledger.hand_out(records(&[(0, 1), (1, 4)]));
        ledger.discard(|key| key == (0, 0));
        assert_eq!(ledger.handled_all(), [store(1, 5)]);
        ledger.hand_out(records(&[(0, 1)]));
        ledger.discard(|_| true);
        assert_eq!(ledger.len(), 0);
    }

    #[test]
    fn wrong_numbers_are_refused() {
        let mut ledger = Ledger::default();
        assert!(ledger.handled(0, 0).is_err());
        assert!(ledger.handled(1, 0).is_err());
        ledger.hand_out(records(&[(0, 1)]));
        assert!(ledger.handled(1, 2).is_err());
        assert!(ledger.handled(2, 0).is_err());
    }
}
