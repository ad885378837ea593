//! Positions beyond what is no record. The end of a transaction has an offset of its own, and so have the
//! records of one that was aborted; none of them is handed out, but librdkafka goes past them. Where the
//! program has handled all that it was given, it has come as far, or else a group would seem to lag behind
//! for ever where nothing follows.

use super::gate::Pull;
use super::ledger::{Key, Store};
use super::Core;
use std::time::{Duration, Instant};

/// How often a poll that finds nothing looks, which takes a question to librdkafka's main thread.
const OFTEN: Duration = Duration::from_secs(1);

impl Core {
    /// After a pull that brought nothing, with nothing withheld.
    pub(super) fn pass_markers(&self, pull: &mut Pull) {
        if pull.looked.is_some_and(|at| at.elapsed() < OFTEN) || !pull.aside.is_empty() {
            return;
        }
        pull.looked = Some(Instant::now());
        let places = self.places_of_librdkafka();
        // What can't be stored is of a partition that was taken away.
        let _ = self.tracking.store(&self.client, &self.topics, |state| {
            let passed = places.into_iter().filter(|place| {
                let begun = state.position(place.key);
                let goes_on = begun.map_or(!self.explicit, |at| at < place.offset);
                goes_on && !state.ledger.is_unhandled(place.key)
            });
            let passed: Vec<Store> = passed.collect();
            for place in &passed {
                state.reached(place.key, place.offset);
            }
            Ok(passed)
        });
    }

    /// How far librdkafka has come in each assigned partition that it has read something of.
    fn places_of_librdkafka(&self) -> Vec<Store> {
        let Ok(mut list) = self.client.assignment() else {
            return Vec::new();
        };
        self.client.positions(&mut list);
        let keys: Vec<Key> = self.keys(&list);
        list.iter()
            .zip(keys)
            .filter(|(e, (topic, _))| e.offset() >= 0 && *topic >= 0)
            .map(|(e, key)| Store {
                key,
                offset: e.offset(),
                leader_epoch: e.leader_epoch(),
            })
            .collect()
    }
}
