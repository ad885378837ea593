//! What is read back from the embedded cluster: the requests it got, the records that it holds.

use super::arguments::{out, slice_mut, text, timeout, NAME_MAX};
use super::boundary::call;
use super::handles::with;
use crate::client::cluster::{Cluster, Contents};
use crate::error::Error;
use crate::handle::Mode;
use crate::record::{
    kabi_batch_info_t, kabi_cluster_t, kabi_error_t, kabi_request_t, kabi_status_t,
};
use crate::status::KABI_STATUS_BUFFER_TOO_SMALL;
use std::ffi::{c_char, c_void};

/// Starts (`on` is 1) or ends (0) keeping a list of all requests that the cluster's brokers get. Both
/// empty the list. It grows for as long as requests come.
///
/// Errors: KABI_STATUS_ARGUMENT.
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_track_requests(
    cluster: *mut kabi_cluster_t,
    on: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            let on = match on {
                0 => false,
                1 => true,
                other => return Err(Error::argument(format!("on is {other}, not 0 or 1"))),
            };
            cluster.track_requests(on);
            Ok(())
        })
    })
}

/// Writes the requests that came since kabi_cluster_track_requests(), the oldest first, to `requests`,
/// and how many there are to `count`.
///
/// Gives KABI_STATUS_BUFFER_TOO_SMALL if that is more than `capacity` (NULL with 0 is allowed); the
/// oldest are written all the same. More may have come by the next call.
///
/// @nullable requests
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_requests(
    cluster: *mut kabi_cluster_t,
    requests: *mut kabi_request_t,
    capacity: usize,
    count: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            // SAFETY: by this function's contract.
            let (into, mut count) = unsafe {
                (
                    slice_mut(requests, capacity, "requests")?,
                    out(count, "count")?,
                )
            };
            let got = cluster.requests();
            count.set(got.len());
            for (slot, request) in into.iter_mut().zip(&got) {
                *slot = *request;
            }
            if got.len() > capacity {
                return Err(Error::new(
                    KABI_STATUS_BUFFER_TOO_SMALL,
                    format!("{} requests came, there is room for {capacity}", got.len()),
                ));
            }
            Ok(())
        })
    })
}

/// Reads the records that a partition holds, from `offset` on (KABI_OFFSET_BEGINNING for the first), and
/// packs them into `buffer`, as many as fit: each is a kabi_packed_t with what follows it, whose topic
/// is -1. `buffer` is aligned to 8 bytes. `count` and `size` of `info` tell how many there are and how
/// many bytes they take, also when this fails. For assertions in tests; groups and their offsets are
/// left alone.
///
/// It returns when the buffer is full or the end of the partition is reached. To read on, give the
/// offset after the last record; no records then mean that there are no more.
///
/// The records are read as a consumer reads them, so that it takes some milliseconds; errors injected,
/// latency and brokers that are down are met, and its requests are tracked. It may be called from any
/// thread; kabi_cluster_free() ends it with KABI_STATUS_CLOSED.
///
/// Errors: KABI_STATUS_ARGUMENT; KABI_STATUS_UNKNOWN_TOPIC_OR_PART; KABI_STATUS_BUFFER_TOO_SMALL if not
/// even the first record fits, and `size` of `info` is what it needs; KABI_STATUS_AUTO_OFFSET_RESET if
/// the partition does not have this offset; KABI_STATUS_TIMED_OUT if the end was not reached within
/// `timeout_ms` (-1: no limit).
///
/// @nullable buffer
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_records(
    cluster: *mut kabi_cluster_t,
    topic: *const c_char,
    partition: i32,
    offset: i64,
    buffer: *mut c_void,
    size: usize,
    info: *mut kabi_batch_info_t,
    timeout_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            // SAFETY: by this function's contract. The elements have the alignment that is asked for.
            let (topic, words, mut info) = unsafe {
                (
                    text(topic, NAME_MAX, "the topic name")?,
                    slice_mut(buffer.cast::<u64>(), size / 8, "buffer")?,
                    out(info, "info")?,
                )
            };
            info.set(kabi_batch_info_t::default());
            // SAFETY: the same memory by the byte.
            let bytes = unsafe {
                std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), words.len() * 8)
            };
            let wait = timeout(timeout_ms)?;
            let mut contents = Contents::default();
            let outcome = cluster.records(topic, partition, offset, bytes, wait, &mut contents);
            info.set(kabi_batch_info_t {
                count: contents.count,
                size: contents.size,
                ..Default::default()
            });
            outcome
        })
    })
}
