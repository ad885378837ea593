//! Success and kafkabi's own codes, which start below -1000 so that librdkafka's can't reach them.
//!
//! The first paragraph of each doc comment is the code's text (`text`). A number is never used
//! again for something else.

/// Success
///
/// Also librdkafka's and Kafka's NO_ERROR.
pub const KABI_STATUS_OK: i32 = 0;
/// Invalid handle: NULL, already freed, or never one
pub const KABI_STATUS_HANDLE: i32 = -1001;
/// The client is closed
pub const KABI_STATUS_CLOSED: i32 = -1002;
/// The handle belongs to an object of another type
pub const KABI_STATUS_WRONG_TYPE: i32 = -1003;
/// Invalid argument
///
/// One is NULL, out of range, too long, not UTF-8 or not zero where it must be; the error's
/// message says which.
pub const KABI_STATUS_ARGUMENT: i32 = -1004;
/// The buffer is too small
///
/// The size needed is in the call's size or length output. Nothing was lost: the same call with a
/// larger buffer gives it.
pub const KABI_STATUS_BUFFER_TOO_SMALL: i32 = -1005;
/// The handle is from before a fork
///
/// Only the process that made an object can use it. The child can make its own.
pub const KABI_STATUS_FORKED: i32 = -1006;
/// The call would deadlock inside a callback
pub const KABI_STATUS_REENTERED: i32 = -1007;
/// Another thread is in the same poll
pub const KABI_STATUS_BUSY: i32 = -1008;
/// A handler ended the poll
///
/// It returned a number other than 0. What was not handed over yet stays queued.
pub const KABI_STATUS_CALLBACK_FAILED: i32 = -1009;
/// A wake cut the call short
pub const KABI_STATUS_INTERRUPTED: i32 = -1010;
/// A fault inside kafkabi was caught
///
/// The error's message says where. Please report it. Close the object and make a new one.
pub const KABI_STATUS_PANIC: i32 = -1011;
/// The operating system refused a thread, a descriptor or memory
pub const KABI_STATUS_SYSTEM: i32 = -1012;
/// The header and the library do not fit together
pub const KABI_STATUS_ABI: i32 = -1013;
