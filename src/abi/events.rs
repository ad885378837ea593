//! What the poll, drain and descriptor exports of all clients do alike.

use super::arguments::{out, out_optional, slice_mut, timeout};
use super::handles::Always;
use crate::client::events::Taken;
use crate::client::lifetime::deadline_of;
use crate::error::Result;
use crate::record::kabi_event_t;
use crate::status::{KABI_STATUS_CLOSED, KABI_STATUS_INTERRUPTED};
use std::time::Duration;

/// Hands events to the handlers.
///
/// # Safety
/// `count` is NULL or valid for a write.
pub unsafe fn poll(always: &Always, timeout_ms: i32, count: *mut usize) -> Result<()> {
    // SAFETY: by the contract.
    let mut count = unsafe { out_optional(count, "count") }?;
    if let Some(count) = &mut count {
        count.set(0);
    }
    let deadline = deadline_of(timeout(timeout_ms)?);
    let handlers = &always.handlers;
    let mut handed = 0;
    let outcome = always.events.poll(deadline, &mut handed, |events, bytes| {
        handlers.call(events, bytes)
    });
    if let Some(count) = &mut count {
        count.set(handed);
    }
    outcome
}

/// Hands events that are there to the handlers, without waiting. None is fine, also after the last.
pub fn poll_now(always: &Always) -> Result<()> {
    if !always.events.has_events() {
        return Ok(());
    }
    let deadline = deadline_of(Some(Duration::ZERO));
    let outcome = always.events.poll(deadline, &mut 0, |events, bytes| {
        always.handlers.call(events, bytes)
    });
    match outcome {
        Err(e) if matches!(e.code, KABI_STATUS_CLOSED | KABI_STATUS_INTERRUPTED) => Ok(()),
        other => other,
    }
}

/// Where a drain writes.
pub struct Target {
    pub events: *mut kabi_event_t,
    pub capacity: usize,
    pub count: *mut usize,
    pub bytes: *mut u8,
    pub bytes_size: usize,
    pub bytes_used: *mut usize,
}

/// Copies events to the caller's memory.
///
/// # Safety
/// The pointers of `target` are NULL or valid for writes of their sizes.
pub unsafe fn drain(always: &Always, timeout_ms: i32, target: &Target) -> Result<()> {
    // SAFETY: by the contract.
    let (events, bytes, mut count, mut bytes_used) = unsafe {
        (
            slice_mut(target.events, target.capacity, "events")?,
            slice_mut(target.bytes, target.bytes_size, "bytes")?,
            out(target.count, "count")?,
            out_optional(target.bytes_used, "bytes_used")?,
        )
    };
    let mut taken = Taken::default();
    let outcome = match timeout(timeout_ms) {
        Ok(wait) => always
            .events
            .drain(deadline_of(wait), events, bytes, &mut taken),
        Err(error) => Err(error),
    };
    count.set(taken.events);
    if let Some(used) = &mut bytes_used {
        used.set(taken.bytes);
    }
    outcome
}
