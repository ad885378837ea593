//! What a client tells of itself on demand: librdkafka's latest statistics and counters of our own, in one
//! JSON document (api/metrics.schema.json).

use crate::client::events::Events;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Own {
    pub client: &'static str,
    pub events: OfEvents,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<OfRecords>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batches_alive: Option<usize>,
    pub handles_alive: usize,
}

#[derive(Serialize)]
pub(super) struct OfEvents {
    channel_depth: usize,
    drained: u64,
    errors: u64,
    slots: i64,
    slots_free: i64,
}

#[derive(Serialize)]
pub(super) struct OfRecords {
    pub accepted: u64,
    /// Without reports nobody tells of success.
    pub delivered: Option<u64>,
    pub failed: u64,
}

impl OfEvents {
    pub(super) fn of(events: &Events) -> OfEvents {
        let counts = &events.counts;
        OfEvents {
            channel_depth: events.depth(),
            drained: counts.drained.get(),
            errors: counts.errors.get(),
            slots: events.slots().total(),
            slots_free: events.slots().free(),
        }
    }
}

pub(super) fn document(events: &Events, own: &Own) -> String {
    let own = serde_json::to_string(own).unwrap_or_else(|_| "null".to_owned());
    // What librdkafka writes is JSON already, and large.
    let librdkafka = events.latest_statistics();
    let librdkafka = librdkafka.as_deref().unwrap_or("null");
    format!("{{\"kafkabi\":{own},\"librdkafka\":{librdkafka}}}")
}
