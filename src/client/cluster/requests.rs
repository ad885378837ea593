//! The kinds of requests that the mock cluster answers, and in which versions: a copy of what librdkafka
//! 2.12 has built in (`rd_kafka_mock_api_handlers` in rdkafka_mock_handlers.c), which it gives nobody; but for
//! those of [`LIMITED`].

use crate::error::{Error, Result};

pub struct Kind {
    pub key: i16,
    pub min: i16,
    pub max: i16,
}

const KINDS: &[Kind] = &[
    kind(0, 0, 9),
    kind(1, 0, 11),
    kind(2, 0, 7),
    kind(3, 0, 12),
    kind(8, 0, 9),
    kind(9, 0, 6),
    kind(10, 0, 3),
    kind(11, 0, 6),
    kind(12, 0, 5),
    kind(13, 0, 4),
    kind(14, 0, 4),
    kind(18, 0, 2),
    kind(22, 0, 4),
    kind(23, 2, 2),
    kind(24, 0, 1),
    kind(25, 0, 1),
    kind(26, 0, 1),
    kind(28, 0, 3),
    kind(68, 1, 1),
    kind(71, 0, 0),
    kind(72, 0, 0),
];

/// Produce from 10 and Fetch from 12 on tell the new leader in the answer of the old one (KIP-951), and for a partition
/// without a leader librdkafka's mock follows a NULL pointer there. So the cluster has none of these from the
/// start: clients ask for metadata instead.
pub const LIMITED: [i16; 2] = [0, 1];

const fn kind(key: i16, min: i16, max: i16) -> Kind {
    Kind { key, min, max }
}

pub fn find(request: i32) -> Result<&'static Kind> {
    KINDS
        .iter()
        .find(|kind| i32::from(kind.key) == request)
        .ok_or_else(|| {
            Error::argument(format!(
                "the embedded cluster answers no requests of kind {request} (a KABI_REQUEST_*)"
            ))
        })
}
