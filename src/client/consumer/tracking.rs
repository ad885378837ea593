//! What a consumer knows of its partitions: the assignment's generation, what was handed out of each,
//! what of that is handled, and which are paused. Shared by the calls of the program and by librdkafka's
//! rebalance callback, which runs inside a poll.

use super::change::{Later, Pending};
use super::ledger::{HandedOut, Key, Ledger, Store};
use crate::client::lifetime::lock;
use crate::client::topics::Topics;
use crate::error::Result;
use crate::rd::client::Client;
use crate::rd::partitions::PartitionList;
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

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
    paused: HashSet<Key>,
    /// The change of the assignment that is under way.
    pub pending: Option<Pending>,
    /// What changed since the pull in progress began.
    pub changes: Changes,
    /// The program assigned partitions itself, without the group.
    pub by_hand: bool,
}

/// What changes of the assignment have done since a pull began.
#[derive(Default)]
pub struct Changes {
    /// Partitions taken away: records that were pulled before are not handed out.
    pub before: HashSet<Key>,
    /// Those that were not given back since: records of the pull itself are not handed out either.
    /// One that was given back comes from librdkafka anew.
    pub since: HashSet<Key>,
    /// What a handler asked for that has to wait until the pull is over.
    pub later: Vec<Later>,
    /// What a handler returned that failed.
    pub failed: Option<i32>,
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
        list.add(name, partition)?
            .offset(store.offset)
            .leader_epoch(store.leader_epoch);
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

    /// All before this offset is handed out, or is no record.
    pub fn reached(&mut self, key: Key, offset: i64) {
        self.positions.insert(key, offset);
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
        self.paused.clear();
    }

    /// The group or the program took partitions away.
    pub fn revoke(&mut self, keys: &[Key]) {
        let keys: HashSet<Key> = keys.iter().copied().collect();
        self.ledger.discard(|key| keys.contains(&key));
        self.positions.retain(|key, _| !keys.contains(key));
        self.paused.retain(|key| !keys.contains(key));
        self.changes.before.extend(&keys);
        self.changes.since.extend(keys);
    }

    /// The group or the program gave partitions.
    pub fn assigned(&mut self, keys: &[Key]) {
        for key in keys {
            self.changes.since.remove(key);
        }
    }

    pub fn is_paused(&self, key: Key) -> bool {
        self.paused.contains(&key)
    }

    pub fn set_paused(&mut self, key: Key, paused: bool) {
        if paused {
            self.paused.insert(key);
        } else {
            self.paused.remove(&key);
        }
    }

    /// In order of topic number and partition.
    pub fn paused(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = self.paused.iter().copied().collect();
        keys.sort_unstable();
        keys
    }
}
