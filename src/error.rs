//! The one error type of the crate: a code of the ABI's numbering, what a program may do about it, and
//! a message that says what happened, to which thing, and what to do. The abi layer copies it into the
//! caller's `kabi_error_t`.

use crate::record::{
    KABI_ERROR_ABORT_REQUIRED, KABI_ERROR_FATAL, KABI_ERROR_OUTCOME_UNKNOWN, KABI_ERROR_RETRIABLE,
};
use crate::status;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub code: i32,
    pub flags: u32,
    pub message: String,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error whose flags follow from its code.
    pub fn new(code: i32, message: impl Into<String>) -> Error {
        Error {
            code,
            flags: flags_of(code),
            message: message.into(),
        }
    }

    pub fn argument(message: impl Into<String>) -> Error {
        Error::new(status::KABI_STATUS_ARGUMENT, message)
    }

    /// librdkafka's own text for `code`, after what was being done: "subscribe: Local: Unknown group".
    pub fn of_code(code: i32, doing: &str) -> Error {
        Error::new(code, format!("{doing}: {} ({})", text(code), name(code)))
    }

    pub fn closed(noun: &str) -> Error {
        Error::new(status::KABI_STATUS_CLOSED, format!("the {noun} is closed"))
    }

    pub fn timed_out(doing: &str, timeout_ms: i32) -> Error {
        Error::new(
            status::KABI_STATUS_TIMED_OUT,
            format!("{doing} took longer than the {timeout_ms} ms given"),
        )
    }

    pub fn interrupted(doing: &str) -> Error {
        Error::new(
            status::KABI_STATUS_INTERRUPTED,
            format!("{doing} was cut short by a wake; calling it again goes on"),
        )
    }

    pub fn system(doing: &str) -> Error {
        let cause = std::io::Error::last_os_error();
        Error::new(status::KABI_STATUS_SYSTEM, format!("{doing}: {cause}"))
    }

    /// Says first what was being done.
    pub fn about(mut self, doing: &str) -> Error {
        self.message = format!("{doing}: {}", self.message);
        self
    }

    pub fn with_flags(mut self, flags: u32) -> Error {
        self.flags |= flags;
        self
    }
}

/// The symbolic name of a code, for messages.
pub fn name(code: i32) -> &'static str {
    status::name(code).to_str().unwrap_or("UNKNOWN_CODE")
}

/// The English text of a code, for messages.
pub fn text(code: i32) -> &'static str {
    status::text(code).to_str().unwrap_or("unknown code")
}

/// What a bare code tells of itself. Retriable follows the broker errors that Apache's protocol table
/// marks so (<https://kafka.apache.org/protocol#protocol_error_codes>) and librdkafka's local codes for
/// a passing state; a librdkafka error object knows better, and `rd` asks it where there is one.
pub fn flags_of(code: i32) -> u32 {
    use status::*;
    match code {
        KABI_STATUS_QUEUE_FULL
        | KABI_STATUS_BUSY
        | KABI_STATUS_INTERRUPTED
        | KABI_STATUS_TRANSPORT
        | KABI_STATUS_ALL_BROKERS_DOWN
        | KABI_STATUS_RESOLVE
        | KABI_STATUS_WAIT_COORD
        | KABI_STATUS_WAIT_CACHE
        | KABI_STATUS_IN_PROGRESS
        | KABI_STATUS_PREV_IN_PROGRESS
        | KABI_STATUS_RETRY
        | 2
        | 3
        | 5
        | 6
        | 7
        | 9
        | 13
        | 14
        | 15
        | 16
        | 19
        | 20
        | 41
        | 51
        | 56
        | 70
        | 71
        | 72
        | 74
        | 75
        | 78
        | 80
        | 84
        | 88
        | 89
        | 100
        | 103
        | 106 => KABI_ERROR_RETRIABLE,
        KABI_STATUS_TIMED_OUT | KABI_STATUS_TIMED_OUT_QUEUE => {
            KABI_ERROR_RETRIABLE | KABI_ERROR_OUTCOME_UNKNOWN
        }
        KABI_STATUS_MSG_TIMED_OUT | KABI_STATUS_PURGE_INFLIGHT => KABI_ERROR_OUTCOME_UNKNOWN,
        KABI_STATUS_FATAL | KABI_STATUS_FENCED => KABI_ERROR_FATAL,
        _ => 0,
    }
}

/// The flags that a librdkafka error object carries.
pub fn flags_from(retriable: bool, fatal: bool, abort_required: bool) -> u32 {
    let mut flags = 0;
    if retriable {
        flags |= KABI_ERROR_RETRIABLE;
    }
    if fatal {
        flags |= KABI_ERROR_FATAL;
    }
    if abort_required {
        flags |= KABI_ERROR_ABORT_REQUIRED;
    }
    flags
}
