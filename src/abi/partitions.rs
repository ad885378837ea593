//! Partition records as C has them, and the core's.

use super::arguments::{out, part, slice_mut, Out};
use crate::client::consumer::{Committed, Key, Partition};
use crate::error::{Error, Result};
use crate::record::kabi_partition_t;
use crate::status::KABI_STATUS_BUFFER_TOO_SMALL;

/// # Safety
/// The partitions' metadata is valid for the length of the export.
pub unsafe fn partitions_of<'a>(list: &[kabi_partition_t]) -> Result<Vec<Partition<'a>>> {
    list.iter()
        .map(|p| {
            if p.reserved != 0 {
                return Err(Error::argument("a partition's reserved field is not 0"));
            }
            // SAFETY: by the contract.
            let metadata = unsafe { part(p.metadata.cast(), p.metadata_length, "metadata") }?;
            Ok(Partition {
                key: (p.topic, p.partition),
                offset: p.offset,
                leader_epoch: p.leader_epoch,
                metadata,
            })
        })
        .collect()
}

/// Runs `body` on the partitions; each one's status goes to its `code`. One that `body` does not tell of
/// gets the status of the whole.
///
/// # Safety
/// `partitions` is NULL or valid for reads and writes of `count` elements, and their metadata for reads.
pub unsafe fn with_codes(
    partitions: *mut kabi_partition_t,
    count: usize,
    body: impl FnOnce(&[Partition<'_>], &mut dyn FnMut(usize, i32)) -> Result<()>,
) -> Result<()> {
    // SAFETY: by the contract. The list is copied before codes are written.
    let places = unsafe { slice_mut(partitions, count, "partitions") }?;
    // SAFETY: as above.
    let list = unsafe { partitions_of(places) }?;
    let mut codes = vec![None; count];
    let outcome = body(&list, &mut |i, code| {
        if let Some(place) = codes.get_mut(i) {
            *place = Some(code);
        }
    });
    let of_the_whole = outcome.as_ref().err().map_or(0, |e| e.code);
    for (place, code) in places.iter_mut().zip(codes) {
        place.code = code.unwrap_or(of_the_whole);
    }
    outcome
}

/// Writes partitions without offsets, or how many there are with BUFFER_TOO_SMALL. `what` says which.
///
/// # Safety
/// `partitions` is NULL or valid for writes of `capacity` elements, `count` NULL or valid for a write.
pub unsafe fn write_keys(
    keys: &[Key],
    what: &str,
    partitions: *mut kabi_partition_t,
    capacity: usize,
    count: *mut usize,
) -> Result<()> {
    // SAFETY: by the contract.
    let (places, mut count) = unsafe {
        (
            slice_mut(partitions, capacity, "partitions")?,
            out(count, "count")?,
        )
    };
    count.set(keys.len());
    if keys.len() > places.len() {
        return Err(Error::new(
            KABI_STATUS_BUFFER_TOO_SMALL,
            format!(
                "{} partitions are {what}, there is room for {capacity}",
                keys.len()
            ),
        ));
    }
    for (place, &(topic, partition)) in places.iter_mut().zip(keys) {
        *place = kabi_partition_t {
            topic,
            partition,
            ..Default::default()
        };
    }
    Ok(())
}

pub fn keys_of(list: &[kabi_partition_t]) -> Vec<Key> {
    list.iter().map(|p| (p.topic, p.partition)).collect()
}

/// Fills partitions with what is committed; metadata goes to `bytes`.
pub fn write_committed(
    places: &mut [kabi_partition_t],
    answers: &[Committed],
    bytes: &mut [u8],
    used: Option<Out<'_, usize>>,
) -> Result<()> {
    let needed = answers
        .iter()
        .filter_map(|a| a.metadata.as_ref())
        .map(Vec::len)
        .sum();
    if let Some(mut used) = used {
        used.set(needed);
    }
    let given = bytes.len();
    let mut rest = bytes.get_mut(..needed).ok_or_else(|| {
        Error::new(
            KABI_STATUS_BUFFER_TOO_SMALL,
            format!("the metadata needs {needed} bytes, {given} were given"),
        )
    })?;
    for (place, answer) in places.iter_mut().zip(answers) {
        place.offset = answer.offset;
        place.leader_epoch = answer.leader_epoch;
        place.code = answer.code;
        (place.metadata, place.metadata_length) = (std::ptr::null(), 0);
        if let Some(metadata) = &answer.metadata {
            let free = std::mem::take(&mut rest);
            if let Some((front, back)) = free.split_at_mut_checked(metadata.len()) {
                front.copy_from_slice(metadata);
                place.metadata = front.as_ptr();
                place.metadata_length = i64::try_from(metadata.len()).unwrap_or(i64::MAX);
                rest = back;
            }
        }
    }
    Ok(())
}
