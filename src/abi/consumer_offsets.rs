//! A consumer's offsets beyond reading on: stored, committed without waiting, looked up by time, and compared
//! with what the partitions have.

use super::arguments::{out, slice, slice_mut, timeout};
use super::boundary::call;
use super::handles::with_open;
use super::partitions::{keys_of, partitions_of, with_codes};
use crate::client::consumer::{Answer, Consumer, Partition};
use crate::client::lifetime::{deadline_of, remaining};
use crate::error::{Error, Result};
use crate::record::{kabi_consumer_t, kabi_error_t, kabi_partition_t, kabi_status_t};

/// Stores offsets for the next commit of everything handled, be it automatic, by kabi_consumer_commit() or
/// at the close: each that of the next record to read, with its metadata. `code` of each gets its own
/// status, and the result is the first that is not 0.
///
/// What is handled later is stored in its place: with kafkabi.handled=explicit, and without
/// kabi_consumer_handled(), only this call stores.
///
/// Errors: KABI_STATUS_STATE for a partition that is not assigned, KABI_STATUS_UNKNOWN_GROUP without the
/// property group.id.
///
/// @nullable partitions
/// @inout partitions
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_store(
    consumer: *mut kabi_consumer_t,
    partitions: *mut kabi_partition_t,
    count: usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            unsafe {
                with_codes(partitions, count, |list, status| {
                    consumer.store(list, status)
                })
            }
        })
    })
}

/// Starts a commit and does not wait for it. With NULL and 0: of everything that is handled. Else of these
/// partitions' offsets, each that of the next record to read, with their metadata. `number` gets a number
/// from 1, which the event of kind KABI_EVENT_COMMIT that tells the outcome has for a token; exactly one
/// comes, at the latest at the consumer's end, if the kind is in the event mask. Commits reach the coordinator
/// in the order of the calls; those made before it was found, librdkafka may send after later ones.
///
/// Each waits for its event to be drained: at kafkabi.events.max the call gives KABI_STATUS_QUEUE_FULL.
///
/// Errors: KABI_STATUS_QUEUE_FULL, KABI_STATUS_UNKNOWN_GROUP without the property group.id. A commit that
/// failed to start has no event.
///
/// @nullable partitions
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_commit_async(
    consumer: *mut kabi_consumer_t,
    partitions: *const kabi_partition_t,
    count: usize,
    number: *mut u64,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            let mut number = unsafe { out(number, "number") }?;
            // SAFETY: by this function's contract.
            let list = unsafe { partitions_of(slice(partitions, count, "partitions")?) }?;
            let list = (count > 0).then_some(list.as_slice());
            number.set(consumer.commit_async(list)?);
            Ok(())
        })
    })
}

/// The partitions, with `offset` taken for a timestamp.
fn times_of(list: &[kabi_partition_t]) -> Vec<((i32, i32), i64)> {
    list.iter()
        .map(|p| ((p.topic, p.partition), p.offset))
        .collect()
}

/// Writes what was found, and gives the first that was not.
fn write_answers(places: &mut [kabi_partition_t], answers: &[Answer], doing: &str) -> Result<()> {
    let mut first_error = Ok(());
    for (place, answer) in places.iter_mut().zip(answers) {
        place.offset = answer.offset;
        place.leader_epoch = answer.leader_epoch;
        place.code = answer.code;
        if answer.code != 0 && first_error.is_ok() {
            first_error = Err(Error::of_code(answer.code, doing));
        }
    }
    first_error
}

/// Replaces `offset` of each partition, a timestamp in milliseconds since 1970, by the offset of the first
/// record at or after it, KABI_OFFSET_END if there is none. Asks the partitions' leaders and waits up to
/// `timeout_ms`. `code` of each gets its own status, and the result is the first that is not 0; nothing is
/// written when there is no answer. The partitions need not be assigned.
///
/// Errors: KABI_STATUS_TIMED_OUT, KABI_STATUS_INTERRUPTED by a wake.
///
/// @nullable partitions
/// @inout partitions
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_offsets_for_times(
    consumer: *mut kabi_consumer_t,
    partitions: *mut kabi_partition_t,
    count: usize,
    timeout_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            let wait = timeout(timeout_ms)?;
            // SAFETY: by this function's contract.
            let places = unsafe { slice_mut(partitions, count, "partitions") }?;
            let answers = consumer.offsets_for_times(&times_of(places), wait, timeout_ms)?;
            write_answers(places, &answers, "offsets for times")
        })
    })
}

/// Moves the read positions of assigned partitions to the first record at or after `offset` of each, taken
/// for a timestamp in milliseconds since 1970; to the end where there is none. `offset` becomes what was
/// sought to. Otherwise as kabi_consumer_offsets_for_times() and then kabi_consumer_seek(), within
/// `timeout_ms` together.
///
/// @nullable partitions
/// @inout partitions
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_seek_to_times(
    consumer: *mut kabi_consumer_t,
    partitions: *mut kabi_partition_t,
    count: usize,
    timeout_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            let deadline = deadline_of(timeout(timeout_ms)?);
            // SAFETY: by this function's contract.
            let places = unsafe { slice_mut(partitions, count, "partitions") }?;
            let asked = remaining(deadline);
            let answers = consumer.offsets_for_times(&times_of(places), asked, timeout_ms)?;
            write_answers(places, &answers, "seek to times")?;
            let targets: Vec<Partition<'_>> = places
                .iter()
                .map(|p| Partition {
                    key: (p.topic, p.partition),
                    offset: p.offset,
                    leader_epoch: p.leader_epoch,
                    metadata: None,
                })
                .collect();
            consumer.seek(&targets, remaining(deadline), timeout_ms, |i, code| {
                if let Some(place) = places.get_mut(i) {
                    place.code = code;
                }
            })
        })
    })
}

/// Asks a partition's leader for its first offset, `low`, and the one after its last, `high` (with
/// isolation.level=read_committed: after the last record that can be read). Waits up to `timeout_ms`. The
/// partition need not be assigned.
///
/// Errors: KABI_STATUS_TIMED_OUT, KABI_STATUS_INTERRUPTED by a wake, Kafka's own for an unknown partition.
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_watermarks(
    consumer: *mut kabi_consumer_t,
    topic: i32,
    partition: i32,
    timeout_ms: i32,
    low: *mut i64,
    high: *mut i64,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            let wait = timeout(timeout_ms)?;
            // SAFETY: by this function's contract.
            let (mut low, mut high) = unsafe { (out(low, "low")?, out(high, "high")?) };
            let (first, end) = consumer.watermarks((topic, partition), wait, timeout_ms)?;
            low.set(first);
            high.set(end);
            Ok(())
        })
    })
}

/// Gives what is known already of a partition's first offset and of the one after its last, without asking:
/// each fetch of records tells `high` anew, statistics tell `low`. KABI_OFFSET_INVALID for what is not known.
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_watermarks_cached(
    consumer: *mut kabi_consumer_t,
    topic: i32,
    partition: i32,
    low: *mut i64,
    high: *mut i64,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            let (mut low, mut high) = unsafe { (out(low, "low")?, out(high, "high")?) };
            let (first, end) = consumer.cached_watermarks((topic, partition))?;
            low.set(first);
            high.set(end);
            Ok(())
        })
    })
}

/// Tells how far behind the consumer is: `lags` has `count` places and gets, for each partition, the offset
/// after its last record less the position, or less what the group committed where there is no position
/// (kabi_consumer_position()). Never negative; -1 where it can't be told, with the reason in the partition's
/// `code`, which does not make the call fail: KABI_STATUS_NO_OFFSET if there is neither position nor commit.
///
/// The partitions' leaders and the group's coordinator are asked, up to `timeout_ms`. With a `timeout_ms` of
/// 0 nobody is asked: only what earlier fetches told counts, and only positions.
///
/// Errors: KABI_STATUS_TIMED_OUT, KABI_STATUS_INTERRUPTED by a wake.
///
/// @nullable partitions, lags
/// @inout partitions
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_lag(
    consumer: *mut kabi_consumer_t,
    partitions: *mut kabi_partition_t,
    lags: *mut i64,
    count: usize,
    timeout_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            let wait = timeout(timeout_ms)?;
            // SAFETY: by this function's contract.
            let (places, lags) = unsafe {
                (
                    slice_mut(partitions, count, "partitions")?,
                    slice_mut(lags, count, "lags")?,
                )
            };
            let answers = consumer.lag(&keys_of(places), wait, timeout_ms)?;
            for ((place, lag), answer) in places.iter_mut().zip(lags).zip(answers) {
                place.code = answer.code;
                *lag = answer.offset;
            }
            Ok(())
        })
    })
}
