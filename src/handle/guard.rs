//! A call that is inside an object. Its functions are called as `Guard::close(&guard)`, as those of
//! all smart pointers, so that they don't hide functions of the object.

use std::ops::Deref;
use std::time::Instant;

use super::slot::{Slot, Stripe};
use super::sync::Ordering::SeqCst;
use super::table::Table;
use super::word::{CLOSED, FORKED, REMOVED};
use super::Mode;

/// Keeps an object from being dropped, and is the only way to it.
pub struct Guard<'t, O> {
    table: &'t Table<O>,
    slot: &'t Slot<O>,
    stripe: &'t Stripe,
    mode: Mode,
}

impl<'t, O> Guard<'t, O> {
    /// For a call that is counted on the stripe and was found to be let in.
    #[inline]
    pub(super) fn new(
        table: &'t Table<O>,
        slot: &'t Slot<O>,
        stripe: &'t Stripe,
        mode: Mode,
    ) -> Self {
        Self {
            table,
            slot,
            stripe,
            mode,
        }
    }

    /// Refuses all further calls of [`Mode::Open`]. True for the one that closed it.
    pub fn close(this: &Self) -> bool {
        this.slot.state.fetch_or(CLOSED, SeqCst) & CLOSED == 0
    }

    /// Closes, and waits until the last call of [`Mode::Open`] has left. False when the deadline
    /// came first, and at once where it would wait for ever: in a guard of [`Mode::Open`], for
    /// itself, and in a forked child, for threads of the parent.
    pub fn wait_idle(this: &Self, deadline: Option<Instant>) -> bool {
        Self::close(this);
        if this.mode == Mode::Open || this.slot.state.load(SeqCst) & FORKED != 0 {
            return false;
        }
        this.table.gate.wait_until(deadline, || this.slot.is_idle())
    }

    /// Whether the handle was removed while this call was inside.
    pub fn is_removed(this: &Self) -> bool {
        this.slot.state.load(SeqCst) & REMOVED != 0
    }
}

impl<O> Deref for Guard<'_, O> {
    type Target = O;

    #[inline]
    fn deref(&self) -> &O {
        // SAFETY: self is the guard that it takes.
        unsafe { self.slot.object() }
    }
}

impl<O> Drop for Guard<'_, O> {
    #[inline]
    fn drop(&mut self) {
        self.table.leave(self.slot, self.stripe, self.mode);
    }
}
