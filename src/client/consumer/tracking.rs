//! What a consumer knows of its partitions: the assignment's generation, what was handed out of each and
//! what of that is handled. Shared by the calls of the program and by librdkafka's rebalance callback,
//! which runs inside a poll.

use super::ledger::{HandedOut, Key, Ledger, Store};
use crate::client::lifetime::lock;
use crate::client::topics::Topics;
use crate::error::Result;
use crate::rd::client::{Change, Client, Rebalance};
use crate::rd::partitions::PartitionList;
use once_cell::sync::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, Weak};

#[derive(Default)]
pub struct Tracking {
    state: Mutex<State>,
}

#[derive(Default)]
pub struct State {
    pub generation: u64,
    pub ledger: Ledger,
    /// The offset after the last record handed out, by partition.
    positions: HashMap<Key, i64>,
    /// Partitions taken away since the pull in progress began.
    revoked: HashSet<Key>,
}

impl Tracking {
    pub fn with<T>(&self, body: impl FnOnce(&mut State) -> T) -> T {
        body(&mut lock(&self.state))
    }

    /// Runs `body`, which says what can be stored, and stores it, before anything else can change what
    /// is tracked.
    pub fn store(
        &self,
        client: &Client,
        topics: &Topics,
        body: impl FnOnce(&mut State) -> Result<Vec<Store>>,
    ) -> Result<()> {
        let mut state = lock(&self.state);
        let stores = body(&mut state)?;
        store_offsets(client, topics, &stores)
    }
}

fn store_offsets(client: &Client, topics: &Topics, stores: &[Store]) -> Result<()> {
    if stores.is_empty() {
        return Ok(());
    }
    let mut list = PartitionList::new(stores.len())?;
    for store in stores {
        let (topic, partition) = store.key;
        let name = &topics.get(topic)?.name;
        list.add(name, partition)?.offset(store.offset).leader_epoch(store.leader_epoch);
    }
    // A partition that was taken away meanwhile refuses its own element, and rightly so: who has it now
    // reads on from what was committed. No other refusal is possible for offsets that were read.
    client.store_offsets(&mut list);
    Ok(())
}

impl State {
    pub fn hand_out(&mut self, records: impl Iterator<Item = HandedOut>) -> u64 {
        let positions = &mut self.positions;
        // The position is that of the last record of each run, so only those touch the map.
        let mut run: Option<(Key, i64)> = None;
        let number = self.ledger.hand_out(records.inspect(|record| {
            let Some(offset) = record.offset else { return };
            match &mut run {
                Some((key, next)) if *key == record.key => *next = offset + 1,
                _ => {
                    if let Some((key, next)) = run.replace((record.key, offset + 1)) {
                        positions.insert(key, next);
                    }
                }
            }
        }));
        if let Some((key, next)) = run {
            self.positions.insert(key, next);
        }
        number
    }

    pub fn position(&self, key: Key) -> Option<i64> {
        self.positions.get(&key).copied()
    }

    /// The program moved a partition: what was handed out of it before counts no more.
    pub fn moved(&mut self, key: Key, to: Option<i64>) {
        self.ledger.discard(|k| k == key);
        match to {
            Some(offset) => self.positions.insert(key, offset),
            None => self.positions.remove(&key),
        };
    }

    /// A new assignment replaces the old one.
    pub fn assigned_anew(&mut self) {
        self.generation += 1;
        self.ledger.discard(|_| true);
        self.positions.clear();
    }

    fn revoke(&mut self, keys: HashSet<Key>) {
        self.ledger.discard(|key| keys.contains(&key));
        self.positions.retain(|key, _| !keys.contains(key));
        self.revoked.extend(keys);
    }

    /// Partitions taken away since this was last called.
    pub fn take_revoked(&mut self) -> HashSet<Key> {
        std::mem::take(&mut self.revoked)
    }
}

/// The topics of a consumer, for the hook that has to exist before the client does.
pub type TopicsCell = Arc<OnceCell<Weak<Topics>>>;

/// Applies what the group decides.
pub struct Hook {
    pub tracking: Arc<Tracking>,
    pub topics: TopicsCell,
}

impl Rebalance for Hook {
    fn rebalance(&self, client: &Client, change: Change, partitions: &PartitionList) {
        match change {
            Change::Assign => self.tracking.with(|state| state.generation += 1),
            Change::Revoke => {
                let keys = self.keys(partitions);
                self.tracking.with(|state| {
                    state.generation += 1;
                    state.revoke(keys);
                });
            }
        }
        // What was handled is stored already; librdkafka commits it before the partitions go.
        let applied = match (change, client.is_cooperative()) {
            (Change::Assign, true) => client.incremental_assign(partitions),
            (Change::Assign, false) => client.assign(Some(partitions)),
            (Change::Revoke, true) => client.incremental_unassign(partitions),
            (Change::Revoke, false) => client.assign(None),
        };
        // Only possible while closing, when the close finishes it.
        drop(applied);
    }
}

impl Hook {
    /// The partitions that records were handed out of; of others there is nothing to forget.
    fn keys(&self, partitions: &PartitionList) -> HashSet<Key> {
        let Some(topics) = self.topics.get().and_then(Weak::upgrade) else { return HashSet::new() };
        partitions
            .iter()
            .filter_map(|e| topics.find(e.topic()).map(|topic| (topic, e.partition())))
            .collect()
    }
}
