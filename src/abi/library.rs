//! The library as a whole: versions, the names of codes, and the end of everything.

use super::arguments::{slice, timeout};
use super::boundary::{call, quiet};
use super::handles::{free_all_clients, free_all_clusters, remove_all};
use crate::client::lifetime::deadline_of;
use crate::client::threads::wait_for_all;
use crate::error::{Error, Result};
use crate::record::{
    kabi_batch_info_t, kabi_batch_t, kabi_error_t, kabi_event_t, kabi_header_t, kabi_message_t,
    kabi_packed_t, kabi_partition_t, kabi_record_t, kabi_request_t, kabi_status_t,
    KABI_ABI_VERSION,
};
use crate::status;
use std::ffi::{c_char, CStr};

/// The ABI's version that this library was built with: major in the upper 16 bits, minor in the lower.
/// Libraries with the same major are compatible with programs that were built for the same or a lower
/// minor; kabi_abi_check() compares.
#[no_mangle]
pub extern "C" fn kabi_abi_version() -> u32 {
    KABI_ABI_VERSION
}

/// The library's own version, such as "0.1.0". The text lives for ever.
#[no_mangle]
pub extern "C" fn kabi_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(text) => text,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}

/// The version of the librdkafka inside, such as "2.12.1". The text lives for ever.
#[no_mangle]
pub extern "C" fn kabi_librdkafka_version() -> *const c_char {
    quiet(c"".as_ptr(), crate::rd::version)
}

/// The sizes of the records that cross the ABI, in the order of api/kafkabi.json.
const SIZES: [usize; 9] = [
    size_of::<kabi_batch_info_t>(),
    size_of::<kabi_error_t>(),
    size_of::<kabi_event_t>(),
    size_of::<kabi_header_t>(),
    size_of::<kabi_message_t>(),
    size_of::<kabi_packed_t>(),
    size_of::<kabi_partition_t>(),
    size_of::<kabi_record_t>(),
    size_of::<kabi_request_t>(),
];

/// Compares what a program was built with to this library: the KABI_ABI_VERSION of its header, and the
/// sizes of `count` records as it has them, in the order of KABI_RECORD_SIZES. A binding calls it once
/// when it loads the library. Fewer sizes than the library knows are fine, as an older header has.
///
/// Gives KABI_STATUS_ABI where they don't fit.
///
/// @nullable sizes
#[no_mangle]
pub unsafe extern "C" fn kabi_abi_check(
    header_version: u32,
    sizes: *const u32,
    count: usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        // SAFETY: by this function's contract.
        let sizes = unsafe { slice(sizes, count, "sizes") }?;
        check_version(header_version)?;
        if sizes.len() > SIZES.len() {
            return Err(abi(format!(
                "{} records are known to the program, {} to the library: it is older",
                sizes.len(),
                SIZES.len()
            )));
        }
        for (i, (&theirs, &ours)) in sizes.iter().zip(&SIZES).enumerate() {
            if usize::try_from(theirs) != Ok(ours) {
                return Err(abi(format!(
                    "record {i} has {theirs} bytes in the program and {ours} in the library"
                )));
            }
        }
        Ok(())
    })
}

fn check_version(theirs: u32) -> Result<()> {
    let major = |v: u32| v >> 16;
    let minor = |v: u32| v & 0xffff;
    if major(theirs) != major(KABI_ABI_VERSION) || minor(theirs) > minor(KABI_ABI_VERSION) {
        return Err(abi(format!(
            "the program was built for ABI {}.{}, the library has {}.{}",
            major(theirs),
            minor(theirs),
            major(KABI_ABI_VERSION),
            minor(KABI_ABI_VERSION)
        )));
    }
    Ok(())
}

fn abi(message: String) -> Error {
    Error::new(status::KABI_STATUS_ABI, message)
}

/// The name of a status code without its prefix, such as "QUEUE_FULL"; "UNKNOWN_CODE" for a number that
/// this library does not know. The text lives for ever.
#[no_mangle]
pub extern "C" fn kabi_error_name(code: i32) -> *const c_char {
    status::name(code).as_ptr()
}

/// What a status code means, in English. The text lives for ever.
#[no_mangle]
pub extern "C" fn kabi_error_text(code: i32) -> *const c_char {
    status::text(code).as_ptr()
}

/// Frees every client, batch and cluster that is still there, and waits up to `timeout_ms` (-1: for ever)
/// until all of kafkabi's and librdkafka's threads have ended. For the end of a program, or before the
/// process is taken apart by a leak checker; new clients may be made after. No other thread may be
/// inside a call with one of the batches' records.
///
/// Gives KABI_STATUS_TIMED_OUT if some are still there, KABI_STATUS_REENTERED inside a handler.
#[no_mangle]
pub unsafe extern "C" fn kabi_shutdown(timeout_ms: i32, error: *mut kabi_error_t) -> kabi_status_t {
    call(error, || {
        let deadline = deadline_of(timeout(timeout_ms)?);
        if super::handlers::inside() {
            return Err(Error::new(
                status::KABI_STATUS_REENTERED,
                "shutdown inside a handler would wait for the handler's own client",
            ));
        }
        free_all_clients();
        remove_all::<kabi_batch_t>();
        let waited = wait_for_all(deadline);
        free_all_clusters();
        waited.map_err(|left| {
            let error = Error::timed_out("shutdown", timeout_ms);
            Error {
                message: format!("{}; {left} threads have not ended", error.message),
                ..error
            }
        })
    })
}
