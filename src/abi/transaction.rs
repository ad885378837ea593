//! Transactions of a producer: records and offsets that become visible together or not at all.

use super::arguments::{slice, text, timeout, NAME_MAX};
use super::boundary::call;
use super::handles::with_open;
use super::partitions::partitions_of;
use crate::client::consumer::Consumer;
use crate::client::producer::{OffsetsOf, Producer};
use crate::error::{Error, Result};
use crate::record::{
    kabi_consumer_t, kabi_error_t, kabi_partition_t, kabi_producer_t, kabi_status_t,
};
use std::ffi::c_char;

/// Makes this producer the only one with its transactional.id: finishes or aborts what one before it left
/// behind, and fences that one off. Called once, before the first transaction. Waits up to `timeout_ms`.
///
/// Errors: KABI_STATUS_NOT_CONFIGURED without the property transactional.id, KABI_STATUS_STATE (done
/// already), KABI_STATUS_TIMED_OUT and KABI_STATUS_INTERRUPTED (it goes on; the same call again waits for
/// its outcome), KABI_STATUS_PREV_IN_PROGRESS (another thread waits for it). Its flags say what an error
/// asks for: KABI_ERROR_RETRIABLE (the same call again) or KABI_ERROR_FATAL (a new producer).
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_transactions_init(
    producer: *mut kabi_producer_t,
    timeout_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(producer, |producer: &Producer, _| {
            producer.transactions_init(timeout(timeout_ms)?, timeout_ms)
        })
    })
}

/// Begins a transaction, which what is sent from now on belongs to. Does not wait for a broker.
///
/// Errors: KABI_STATUS_STATE without kabi_producer_transactions_init() before, or with a transaction that
/// is open already; KABI_STATUS_CONFLICT while the outcome of a commit or an abort before it is not known.
/// With KABI_ERROR_FATAL the producer is of no more use.
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_transaction_begin(
    producer: *mut kabi_producer_t,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(producer, |producer: &Producer, _| {
            producer.transaction_begin()
        })
    })
}

/// Makes offsets of a consumer's group a part of the transaction: they are committed with it, or not at
/// all. `partitions` have the consumer's topic numbers and, as `offset`, that of the next record to read.
/// None is a success. The consumer must not commit these offsets itself: set enable.auto.commit=false.
///
/// A consumer that its group has given up meanwhile is refused, so that no other member reads the same
/// records again; then abort. Both handles are in use until the call returns.
///
/// Waits up to `timeout_ms`, but no longer than transaction.timeout.ms. Errors: KABI_STATUS_STATE without
/// an open transaction, KABI_STATUS_UNKNOWN_GROUP for a consumer without group.id, KABI_STATUS_TIMED_OUT
/// (the same call again does no harm), KABI_STATUS_INTERRUPTED (it goes on). By its flags: repeat
/// (KABI_ERROR_RETRIABLE), abort (KABI_ERROR_ABORT_REQUIRED) or give the producer up (KABI_ERROR_FATAL).
///
/// @nullable partitions
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_transaction_offsets(
    producer: *mut kabi_producer_t,
    consumer: *mut kabi_consumer_t,
    partitions: *const kabi_partition_t,
    count: usize,
    timeout_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(producer, |producer: &Producer, _| {
            with_open(consumer, |consumer: &Consumer, _| {
                let of = OffsetsOf::Consumer(consumer);
                // SAFETY: by this function's contract.
                unsafe { offsets(producer, of, partitions, count, timeout_ms) }
            })
        })
    })
}

/// As kabi_producer_transaction_offsets(), for a consumer that is elsewhere: in another process, or of
/// another library built on librdkafka. `metadata` is what it wrote of itself
/// (kabi_consumer_group_metadata(), rd_kafka_consumer_group_metadata_write()). Topic numbers are this
/// producer's.
///
/// Errors: KABI_STATUS_ARGUMENT for bytes that are no group metadata.
///
/// @nullable partitions
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_transaction_offsets_metadata(
    producer: *mut kabi_producer_t,
    metadata: *const u8,
    metadata_size: usize,
    partitions: *const kabi_partition_t,
    count: usize,
    timeout_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(producer, |producer: &Producer, _| {
            // SAFETY: by this function's contract.
            unsafe {
                let of = OffsetsOf::Metadata(slice(metadata, metadata_size, "metadata")?);
                offsets(producer, of, partitions, count, timeout_ms)
            }
        })
    })
}

/// As kabi_producer_transaction_offsets(), for a group that is known by its id alone: partitions were
/// assigned by hand, or by something that is no Kafka group. Nothing then keeps a second reader from doing
/// the same, unless both use the same transactional.id. Topic numbers are this producer's.
///
/// @nullable partitions
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_transaction_offsets_group(
    producer: *mut kabi_producer_t,
    group_id: *const c_char,
    partitions: *const kabi_partition_t,
    count: usize,
    timeout_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(producer, |producer: &Producer, _| {
            // SAFETY: by this function's contract.
            unsafe {
                let group = text(group_id, NAME_MAX, "group_id")?;
                if group.is_empty() {
                    return Err(Error::argument("group_id is empty"));
                }
                let of = OffsetsOf::Group(group);
                offsets(producer, of, partitions, count, timeout_ms)
            }
        })
    })
}

/// # Safety
/// The partitions and their metadata are valid for the length of the export.
unsafe fn offsets(
    producer: &Producer,
    of: OffsetsOf<'_>,
    partitions: *const kabi_partition_t,
    count: usize,
    timeout_ms: i32,
) -> Result<()> {
    let wait = timeout(timeout_ms)?;
    // SAFETY: by the contract.
    let list = unsafe { partitions_of(slice(partitions, count, "partitions")?) }?;
    producer.transaction_offsets(of, &list, wait, timeout_ms)
}

/// Commits the transaction: waits up to `timeout_ms` until all that was sent in it is delivered and the
/// coordinator has it as committed. Reports need not be drained meanwhile.
///
/// Errors: KABI_STATUS_STATE without an open transaction. KABI_STATUS_TIMED_OUT and
/// KABI_STATUS_INTERRUPTED: whether it commits is not known yet, it goes on in the background, and only
/// the same call again tells the outcome; another one gives KABI_STATUS_CONFLICT. By its flags: repeat
/// (KABI_ERROR_RETRIABLE), abort (KABI_ERROR_ABORT_REQUIRED: a record was not delivered, or the
/// transaction took longer than transaction.timeout.ms) or give the producer up (KABI_ERROR_FATAL: another
/// one has its transactional.id, KABI_STATUS_FENCED).
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_transaction_commit(
    producer: *mut kabi_producer_t,
    timeout_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(producer, |producer: &Producer, _| {
            producer.transaction_commit(timeout(timeout_ms)?, timeout_ms)
        })
    })
}

/// Aborts the transaction: what was not sent yet is given up (its reports say KABI_STATUS_PURGE_QUEUE; the
/// first records of a transaction may be delivered still), and what was is never seen by a consumer that reads committed records. Nobody needs to poll or drain
/// meanwhile. Waits up to `timeout_ms`; errors as in kabi_producer_transaction_commit().
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_transaction_abort(
    producer: *mut kabi_producer_t,
    timeout_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(producer, |producer: &Producer, _| {
            producer.transaction_abort(timeout(timeout_ms)?, timeout_ms)
        })
    })
}
