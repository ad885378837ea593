//! Commits that nobody waits for. Each has a number; its outcome is an event with that number, exactly one.

use super::{Consumer, Core, Partition};
use crate::client::events::{Told, ToldPartition};
use crate::client::lifetime::lock;
use crate::error::{flags_of, Error, Result};
use crate::rd::partitions::PartitionList;
use crate::rd::queue::Event;
use crate::record::KABI_EVENT_COMMIT;
use crate::status::{KABI_STATUS_NO_OFFSET, KABI_STATUS_QUEUE_FULL, KABI_STATUS_TIMED_OUT};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;

/// The commits under way, by number.
#[derive(Default)]
pub struct Commits {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: u64,
    /// Whether one holds a slot follows from the event mask, which never changes.
    under_way: BTreeMap<u64, Instant>,
}

impl Commits {
    /// The new one's number, and whether it is the only one.
    fn begin(&self) -> (u64, bool) {
        let mut state = lock(&self.state);
        state.last += 1;
        let (number, only) = (state.last, state.under_way.is_empty());
        state.under_way.insert(number, Instant::now());
        (number, only)
    }

    /// When the oldest began.
    pub fn oldest(&self) -> Option<Instant> {
        lock(&self.state).under_way.values().next().copied()
    }

    /// True for the first who ends it.
    fn end(&self, number: u64) -> bool {
        lock(&self.state).under_way.remove(&number).is_some()
    }

    pub fn is_empty(&self) -> bool {
        lock(&self.state).under_way.is_empty()
    }

    fn take_all(&self) -> BTreeMap<u64, Instant> {
        std::mem::take(&mut lock(&self.state).under_way)
    }
}

impl Consumer {
    /// Starts a commit of these offsets, or of everything that is handled, and gives its number.
    pub fn commit_async(&self, partitions: Option<&[Partition<'_>]>) -> Result<u64> {
        self.need_group("commit")?;
        let core = &*self.core;
        let list = match partitions {
            None => None,
            Some(partitions) => {
                super::commit::check_offsets(partitions)?;
                Some(core.list(partitions)?)
            }
        };
        let wanted = core.events.wants(KABI_EVENT_COMMIT);
        if wanted && core.events.slots().take(1) == 0 {
            return Err(Error::new(
                KABI_STATUS_QUEUE_FULL,
                "as many events as kafkabi.events.max are owed already: drain events first",
            ));
        }
        let (number, only) = core.commits.begin();
        let started = core
            .client
            .commit_numbered(list.as_ref(), &core.main_queue, number);
        if let Err(error) = started {
            core.commits.end(number);
            if wanted {
                core.events.slots().give(1);
            }
            return Err(error);
        }
        if only {
            // The service thread counts its time from now on.
            core.main_queue.wake();
        }
        Ok(number)
    }
}

impl Core {
    /// On the service thread: a commit has ended.
    pub(super) fn commit_ended(&self, event: &Event) {
        let number = event.number();
        if self.commits.end(number) {
            let list = event.partitions();
            if event.code() == 0 {
                self.denial.group_was_used();
            }
            self.tell_commit(number, event.code(), list.as_ref());
        }
    }

    /// On the service thread, at the end: no answer will come any more.
    pub(super) fn give_up_commits(&self) {
        self.end_commits(KABI_STATUS_TIMED_OUT);
    }

    /// On the service thread: all that are under way end like this.
    pub(super) fn end_commits(&self, code: i32) {
        for number in self.commits.take_all().into_keys() {
            self.tell_commit(number, code, None);
        }
    }

    fn tell_commit(&self, number: u64, code: i32, list: Option<&PartitionList>) {
        if !self.events.wants(KABI_EVENT_COMMIT) {
            return;
        }
        // Nothing new to commit is a success.
        let nothing = code == KABI_STATUS_NO_OFFSET;
        let list = list.filter(|_| !nothing);
        let code = match (code, list) {
            (_, _) if nothing => 0,
            (0, Some(list)) => list.iter().map(|e| e.code()).find(|&c| c != 0).unwrap_or(0),
            (code, _) => code,
        };
        let text = match code {
            0 => String::new(),
            code => Error::of_code(code, "commit").message,
        };
        let mut told = Told::new(KABI_EVENT_COMMIT, code, text);
        told.event.token = number;
        told.event.flags = flags_of(code);
        if let Some(list) = list {
            told.partitions = list
                .iter()
                .zip(self.keys(list))
                .map(|(e, (topic, partition))| ToldPartition {
                    topic,
                    partition,
                    offset: e.offset(),
                    leader_epoch: e.leader_epoch(),
                    code: e.code(),
                })
                .collect();
        }
        self.events.push_single(told);
    }
}
