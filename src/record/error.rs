//! The error record that the caller owns and every fallible function can fill.

use std::ffi::c_char;

/// Error flag: the same call may succeed when it is repeated later.
pub const KABI_ERROR_RETRIABLE: u32 = 1;
/// Error flag: the client can't be used any more; close it and make a new one.
pub const KABI_ERROR_FATAL: u32 = 2;
/// Error flag: the current transaction can only be aborted.
pub const KABI_ERROR_ABORT_REQUIRED: u32 = 4;
/// Error flag: whether the operation took effect is not known, so repeating it may do it twice.
pub const KABI_ERROR_OUTCOME_UNKNOWN: u32 = 8;

/// The size in bytes of kabi_error_t's message, its terminating NUL included.
pub const KABI_ERROR_MESSAGE_SIZE: usize = 496;

/// What went wrong, in memory that the caller owns.
///
/// Set `size` before the first call that gets it (KABI_ERROR_INIT does), then use it for any
/// number of calls. A function that fails fills it; a function that succeeds leaves it as it was,
/// so look at the returned status first. Everywhere a kabi_error_t pointer is taken, NULL means
/// that no details are wanted. Don't share one between threads without a lock.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kabi_error_t {
    /// sizeof(kabi_error_t), set by the caller. With another value nothing is ever written here.
    pub size: u32,
    /// The status that the function also returned, a KABI_STATUS_* number.
    pub code: i32,
    /// KABI_ERROR_RETRIABLE, KABI_ERROR_FATAL, KABI_ERROR_ABORT_REQUIRED and
    /// KABI_ERROR_OUTCOME_UNKNOWN, or-ed together.
    pub flags: u32,
    /// Always 0.
    pub reserved: u32,
    /// A sentence for people: NUL-terminated valid UTF-8, cut at a character when it is too long.
    pub message: [c_char; KABI_ERROR_MESSAGE_SIZE],
}

layout!(kabi_error_t: 512 { size: 0, code: 4, flags: 8, reserved: 12, message: 16 });

impl Default for kabi_error_t {
    fn default() -> Self {
        Self {
            size: std::mem::size_of::<Self>() as u32,
            code: 0,
            flags: 0,
            reserved: 0,
            message: [0; KABI_ERROR_MESSAGE_SIZE],
        }
    }
}
