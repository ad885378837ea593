//! Changes of the assignment that the group decides. librdkafka tells of them inside a pull, on the thread
//! that polls. A change is met here, shown to the program by a handler, and applied; or, in the pull form,
//! kept until the program applies it by a call.

use super::gate::Pull;
use super::ledger::Key;
use super::{Consumer, Core, Partition};
use crate::client::events::{Told, ToldPartition};
use crate::error::{Error, Result};
use crate::rd::client::{Change, Client, Rebalance};
use crate::rd::partitions::PartitionList;
use crate::rd::received::Messages;
use crate::record::{
    KABI_ASSIGNMENT_ASSIGN, KABI_ASSIGNMENT_LOST, KABI_ASSIGNMENT_REVOKE, KABI_EVENT_ASSIGNMENT,
};
use crate::status::{KABI_STATUS_CALLBACK_FAILED, KABI_STATUS_STATE};
use once_cell::sync::OnceCell;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Hands an event to the program's handler of assignment changes; `None` if it has none.
pub type Listener = Box<dyn Fn(&Told) -> Option<i32> + Send + Sync>;

/// How long what a handler asked for may take when its poll goes on: it was refused by nothing that could
/// be seen then.
const LATER: Duration = Duration::from_secs(5);

/// A change that is not applied yet.
pub struct Pending {
    pub change: Change,
    pub list: PartitionList,
    pub keys: Vec<Key>,
    /// Where the program wants to begin, and the leader's epoch there.
    pub offsets: HashMap<Key, (i64, i32)>,
}

/// What a handler asks for of partitions that it has already. It has to wait until librdkafka's call is
/// over that the handler runs in: only then it is known what that call has pulled.
#[derive(Debug, Clone, Copy)]
pub enum Later {
    Seek {
        key: Key,
        offset: i64,
        leader_epoch: i32,
    },
    Pause(Key),
    Resume(Key),
}

/// The consumer, for the hook that has to exist before the client does.
pub(super) type CoreCell = Arc<OnceCell<Weak<Core>>>;

pub(super) struct Hook {
    pub core: CoreCell,
}

impl Rebalance for Hook {
    fn rebalance(&self, client: &Client, change: Change, partitions: &PartitionList) {
        match self.core.get().and_then(Weak::upgrade) {
            Some(core) => core.meet(change, partitions),
            // Not possible: nobody polls but through the core.
            None => drop(client.assign(None)),
        }
    }
}

fn kind_of(change: Change) -> i32 {
    match change {
        Change::Assign => KABI_ASSIGNMENT_ASSIGN,
        Change::Revoke => KABI_ASSIGNMENT_REVOKE,
        Change::Lost => KABI_ASSIGNMENT_LOST,
    }
}

impl Consumer {
    /// The change that waits to be applied: its KABI_ASSIGNMENT_* and its partitions.
    pub fn pending_change(&self) -> Option<(i32, Vec<Key>)> {
        self.core.tracking.with(|state| {
            let pending = state.pending.as_ref()?;
            Some((kind_of(pending.change), pending.keys.clone()))
        })
    }

    /// Applies the change that waits, with these offsets for partitions that it gives.
    pub fn apply_change(&self, offsets: &[Partition<'_>]) -> Result<()> {
        self.core.list(offsets)?;
        self.visit("apply", |core, pull| {
            core.tracking.with(|state| {
                let pending = state.pending.as_mut().ok_or_else(|| {
                    Error::new(
                        KABI_STATUS_STATE,
                        "no change of the assignment waits to be applied",
                    )
                })?;
                if let Some(foreign) = offsets.iter().find(|p| !pending.keys.contains(&p.key)) {
                    return Err(Error::argument(format!(
                        "partition {} of topic number {} is not one of the change",
                        foreign.key.1, foreign.key.0
                    )));
                }
                for p in offsets {
                    pending.offsets.insert(p.key, (p.offset, p.leader_epoch));
                }
                Ok(())
            })?;
            core.apply();
            let earlier = pull.withheld.take();
            core.sort_out(pull, earlier);
            Ok(())
        })
    }
}

impl Core {
    /// librdkafka tells of a change, inside a pull of this thread.
    fn meet(&self, change: Change, partitions: &PartitionList) {
        let keys = self.keys(partitions);
        let generation = self.tracking.with(|state| {
            state.generation += 1;
            state.pending = Some(Pending {
                change,
                list: partitions.duplicate(),
                keys: keys.clone(),
                offsets: HashMap::new(),
            });
            state.generation
        });
        let told = told(change, partitions, &keys, generation);
        if self.apply_by_call {
            self.events.push_change(told);
            self.bell.ring();
            return;
        }
        match self.listen(&told) {
            None => {
                self.apply();
                self.events.push_change(told);
            }
            Some(0) => self.apply(),
            Some(answer) => {
                self.apply();
                self.tracking
                    .with(|state| state.changes.failed = Some(answer));
                self.bell.ring();
            }
        }
    }

    /// What the program's handler says, if there is one.
    fn listen(&self, told: &Told) -> Option<i32> {
        let listener = self.listener.as_ref()?;
        self.gate.change(|| listener(told))
    }

    /// Applies the change that is pending.
    pub(super) fn apply(&self) {
        let Some(mut pending) = self.tracking.with(|state| state.pending.take()) else {
            return;
        };
        let client = &self.client;
        let cooperative = client.is_cooperative();
        if pending.change == Change::Assign {
            self.apply_assign(&mut pending, cooperative);
            return;
        }
        // librdkafka would keep them paused for when they come back.
        self.resume_all(&pending.keys);
        // What was handled is stored already; librdkafka commits it before the partitions go.
        let applied = match cooperative {
            true => client.incremental_unassign(&pending.list),
            false => client.assign(None),
        };
        // Refused only while closing, when the close finishes it. Until the partitions have stopped, records
        // of theirs that wait in the queue pass for new ones.
        if applied.is_ok() {
            self.wait_for_stop(&pending.keys);
        }
        self.tracking.with(|state| state.revoke(&pending.keys));
    }

    fn apply_assign(&self, pending: &mut Pending, cooperative: bool) {
        let offsets = &pending.offsets;
        pending.list.move_offsets(|e| {
            let topic = self.topics.find(e.topic())?;
            offsets.get(&(topic, e.partition())).copied()
        });
        self.denial.group_was_used();
        self.tracking.with(|state| {
            state.assigned(&pending.keys);
            for (&key, &(offset, _)) in offsets.iter().filter(|(_, (offset, _))| *offset >= 0) {
                state.moved(key, Some(offset));
            }
        });
        let applied = match cooperative {
            true => self.client.incremental_assign(&pending.list),
            false => self.client.assign(Some(&pending.list)),
        };
        // As above.
        drop(applied);
    }

    /// After a pull, whose records are in `withheld`: what it and `earlier` ones brought of partitions that
    /// are gone since is dropped, and what a handler asked for is done.
    pub(super) fn after_pull(&self, pull: &mut Pull, earlier: Messages) -> Result<()> {
        let (later, failed) = self.sort_out(pull, earlier);
        let deadline = Instant::now().checked_add(LATER);
        for wish in later {
            self.do_later(pull, wish, deadline)?;
        }
        match failed {
            None => Ok(()),
            Some(answer) => Err(Error::new(
                KABI_STATUS_CALLBACK_FAILED,
                format!(
                    "the handler of an assignment change returned {answer}; the change is applied, and \
                     records wait for the next poll"
                ),
            )),
        }
    }

    /// Drops what was pulled of partitions that were taken away, and puts `earlier` records first.
    pub(super) fn sort_out(
        &self,
        pull: &mut Pull,
        mut earlier: Messages,
    ) -> (Vec<Later>, Option<i32>) {
        let changes = self
            .tracking
            .with(|state| std::mem::take(&mut state.changes));
        let Pull {
            withheld, aside, ..
        } = pull;
        if !changes.before.is_empty() {
            withheld.retain(|m| !changes.since.contains(&m.partition()));
            earlier.retain(|m| !changes.before.contains(&m.partition()));
            aside.retain(|m| !changes.before.contains(&m.partition()));
        }
        withheld.prepend(earlier);
        (changes.later, changes.failed)
    }

    fn do_later(&self, pull: &mut Pull, wish: Later, deadline: Option<Instant>) -> Result<()> {
        match wish {
            Later::Seek {
                key,
                offset,
                leader_epoch,
            } => {
                let target = Partition {
                    key,
                    offset,
                    leader_epoch,
                    metadata: None,
                };
                let go_on = || match self.closing.load(std::sync::atomic::Ordering::SeqCst) {
                    true => Err(Error::closed("consumer")),
                    false => Ok(()),
                };
                self.seek_now(pull, &target, deadline, go_on)
            }
            Later::Pause(key) => self.pause_now(pull, &[key]).map(drop),
            Later::Resume(key) => self.resume_now(pull, &[key]).map(drop),
        }
    }

    /// The topics' numbers and the partitions of a list of librdkafka's.
    pub(super) fn keys(&self, list: &PartitionList) -> Vec<Key> {
        list.iter()
            .map(|e| {
                let number = self.topics.number(&self.client, e.topic());
                (number.unwrap_or(-1), e.partition())
            })
            .collect()
    }
}

/// The event of a change.
pub(super) fn told(change: Change, list: &PartitionList, keys: &[Key], generation: u64) -> Told {
    let mut told = Told::new(KABI_EVENT_ASSIGNMENT, kind_of(change), String::new());
    told.event.token = generation;
    told.partitions = list
        .iter()
        .zip(keys)
        .map(|(e, &(topic, partition))| ToldPartition {
            topic,
            partition,
            offset: e.offset(),
            leader_epoch: e.leader_epoch(),
            code: 0,
        })
        .collect();
    told
}
