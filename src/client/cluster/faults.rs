//! Faults on demand: errors for requests and topics, and versions that brokers don't understand.

use super::{in_range, requests, Cluster, LATENCY_MAX_MS};
use crate::error::{Error, Result};
use crate::status::{self, KABI_STATUS_TRANSPORT};

pub const ERRORS_MAX: usize = 100_000;

impl Cluster {
    /// The next `count` requests of a kind fail with `code`, after those that wait already.
    pub fn inject_errors(&self, request: i32, code: i32, count: usize) -> Result<()> {
        let kind = requests::find(request)?;
        check_request_error(code)?;
        check_count(count)?;
        self.lock().mock.push_errors(kind.key, &vec![code; count]);
        Ok(())
    }

    /// The same at one broker, or at each, with a delay of the answer. They go before those of
    /// `inject_errors`, which from then on don't reach this broker for this kind of request.
    pub fn inject_broker_errors(
        &self,
        broker: i32,
        request: i32,
        code: i32,
        latency_ms: i32,
        count: usize,
    ) -> Result<()> {
        let kind = requests::find(request)?;
        check_request_error(code)?;
        in_range("the latency in ms", latency_ms, 0, LATENCY_MAX_MS)?;
        check_count(count)?;
        let state = self.lock();
        state.brokers.check(broker)?;
        for broker in state.brokers.meant_by(broker) {
            for _ in 0..count {
                state
                    .mock
                    .push_broker_error(broker, kind.key, code, latency_ms)?;
            }
        }
        Ok(())
    }

    /// How many errors of `inject_broker_errors` wait at a broker, or at all together.
    pub fn broker_errors_left(&self, broker: i32, request: i32) -> Result<usize> {
        let kind = requests::find(request)?;
        let state = self.lock();
        state.brokers.check(broker)?;
        let mut left = 0;
        for broker in state.brokers.meant_by(broker) {
            left += state.mock.broker_errors_left(broker, kind.key)?;
        }
        Ok(left)
    }

    /// Takes back what `inject_errors` injected and no request has used up.
    pub fn clear_errors(&self, request: i32) -> Result<()> {
        let kind = requests::find(request)?;
        self.lock().mock.clear_errors(kind.key);
        Ok(())
    }

    /// What metadata tells of a topic from now on; 0 for no error.
    pub fn topic_error(&self, topic: &str, code: i32) -> Result<()> {
        check_code(code, code >= -1)?;
        self.change(|state| {
            state.known_topic(topic)?;
            state.mock.set_topic_error(topic, code)
        })
    }

    /// Brokers understand only these versions of a request; -1 and -1 for none.
    pub fn api_versions(&self, request: i32, min: i32, max: i32) -> Result<()> {
        let kind = requests::find(request)?;
        let (lowest, highest) = (i32::from(kind.min), i32::from(kind.max));
        let known = (min, max) == (-1, -1) || (lowest <= min && min <= max && max <= highest);
        if !known {
            return Err(Error::argument(format!(
                "versions {min} to {max} are no part of {lowest} to {highest}, which the embedded \
                 cluster knows of request {request}; -1 to -1 takes the request away"
            )));
        }
        let (Ok(min), Ok(max)) = (i16::try_from(min), i16::try_from(max)) else {
            return Err(Error::argument("a version is out of range"));
        };
        self.call(|mock| mock.set_api_versions(kind.key, min, max))
    }
}

fn check_count(count: usize) -> Result<()> {
    if count == 0 || count > ERRORS_MAX {
        return Err(Error::argument(format!(
            "the number of errors is {count}, not from 1 to {ERRORS_MAX}"
        )));
    }
    Ok(())
}

/// A broker's own codes are positive, or -1; TRANSPORT makes the mock close the connection, and 0 lets a
/// request through between two that fail.
fn check_request_error(code: i32) -> Result<()> {
    check_code(code, code >= -1 || code == KABI_STATUS_TRANSPORT).map_err(|error| {
        Error::argument(format!(
            "{}; KABI_STATUS_TRANSPORT closes the connection instead",
            error.message
        ))
    })
}

fn check_code(code: i32, of_a_broker: bool) -> Result<()> {
    let known = status::name(code) != c"UNKNOWN_CODE";
    if known && of_a_broker {
        return Ok(());
    }
    Err(Error::argument(format!(
        "{code} ({}) is no error that a broker answers with",
        crate::error::name(code)
    )))
}
