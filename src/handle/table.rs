//! The table: handles in, objects out. [`super`] tells why it is sound.

use super::gate::Gate;
use super::guard::Guard;
use super::slot::{Slot, Stripe};
use super::slots::Slots;
use super::sync::{const_unless_loom, AtomicUsize, Ordering::SeqCst, Padded};
use super::word::{self, CLOSED, FORKED, REMOVED, TAKEN};
use super::{Full, Kind, Mode, Refusal};

/// Objects by handle. Made to be a `static`.
pub struct Table<O> {
    pub(super) slots: Slots<O>,
    pub(super) gate: Gate,
    alive: Padded<AtomicUsize>,
}

/// How large a table gets; smaller in tests, so that its ends can be reached.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many slots, at most some sixteen million.
    pub slots: u32,
    /// 1 to 32: a slot serves 2 to this power objects, then it is retired.
    pub generation_bits: u32,
    /// The generation of a slot's first object; random if `None`.
    pub start: Option<u32>,
}

impl Limits {
    pub const DEFAULT: Limits = Limits {
        slots: u32::MAX,
        generation_bits: 32,
        start: None,
    };
}

impl<O> Table<O> {
    const_unless_loom! {
        pub fn new() -> Self {
            Self::with_limits(Limits::DEFAULT)
        }
    }

    const_unless_loom! {
        pub fn with_limits(limits: Limits) -> Self {
            Self {
                slots: Slots::new(limits),
                gate: Gate::new(),
                alive: Padded(AtomicUsize::new(0)),
            }
        }
    }

    /// Takes an object in and gives its handle, which is never 0.
    pub fn insert(&self, kind: Kind, object: O) -> Result<u64, Full> {
        Ok(self.reserve()?.fill(kind, object))
    }

    /// A place for an object that is yet to come, so that there is one for it when it does.
    pub fn reserve(&self) -> Result<Reserved<'_, O>, Full> {
        let slot = self.slots.allocate().ok_or(Full)?;
        Ok(Reserved { table: self, slot })
    }

    /// Lets a call in. The object stays until the guard is dropped, whoever removes the handle
    /// meanwhile.
    #[inline]
    pub fn enter(&self, handle: u64, kind: Kind, mode: Mode) -> Result<Guard<'_, O>, Refusal> {
        let slot = self
            .slots
            .get(word::index(handle))
            .ok_or(Refusal::Unknown)?;
        if word::kind(handle) != kind.number() {
            return Err(word::refusal(slot.state.load(SeqCst), handle, kind));
        }
        let stripe = slot.stripe();
        stripe.enter(mode);
        // After counting ourselves, never before: see the head of the module.
        let state = slot.state.load(SeqCst);
        if word::admits(state, handle, mode) {
            return Ok(Guard::new(self, slot, stripe, mode));
        }
        self.leave(slot, stripe, mode);
        Err(word::refusal(state, handle, kind))
    }

    /// Makes the handle stale, at once and without waiting. The object is dropped here if no call
    /// is inside, or else by the last one that leaves.
    pub fn remove(&self, handle: u64, kind: Kind) -> Result<(), Refusal> {
        let slot = self
            .slots
            .get(word::index(handle))
            .ok_or(Refusal::Unknown)?;
        let mut state = slot.state.load(SeqCst);
        loop {
            if word::kind(handle) != kind.number() || !word::admits(state, handle, Mode::Any) {
                return Err(word::refusal(state, handle, kind));
            }
            match slot
                .state
                .compare_exchange(state, state | REMOVED, SeqCst, SeqCst)
            {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        self.reclaim(slot);
        Ok(())
    }

    /// The handles in force, of one kind or of all. Others may come and go meanwhile.
    pub fn handles(&self, kind: Option<Kind>) -> Vec<u64> {
        let wanted = |handle: &u64| kind.is_none_or(|kind| word::kind(*handle) == kind.number());
        let in_force =
            |slot: &Slot<O>| word::handle_of(slot.state.load(SeqCst), slot.index).filter(wanted);
        self.slots.iter().filter_map(in_force).collect()
    }

    /// How many objects were inserted and are not yet dropped, in this process.
    pub fn alive(&self) -> usize {
        self.alive.0.load(SeqCst)
    }

    /// To be called in the child after a fork, before anything else there: every handle of before
    /// is [`Refusal::Forked`] from now on, its object neither dropped nor its slot reused, since
    /// other threads of the parent, which the child doesn't have, may have been in the middle of
    /// either. Async-signal-safe: a walk over the slots ever used, with atomic stores only.
    pub fn mark_forked(&self) {
        for slot in self.slots.iter() {
            slot.state.fetch_or(FORKED, SeqCst);
        }
        self.slots.abandon_free();
        self.gate.abandon();
        self.alive.0.store(0, SeqCst);
    }

    /// Every way out, of a guard as of a call that wasn't let in.
    #[inline]
    pub(super) fn leave(&self, slot: &Slot<O>, stripe: &Stripe, mode: Mode) {
        stripe.leave(mode);
        // After taking ourselves off, never before. The slot may hold another object by now; then
        // it is that one's closer or remover who may have been held up by us.
        let state = slot.state.load(SeqCst);
        if state & (CLOSED | REMOVED) != 0 {
            self.left_behind(slot, state, mode);
        }
    }

    #[cold]
    fn left_behind(&self, slot: &Slot<O>, state: u64, mode: Mode) {
        if state & CLOSED != 0 && mode == Mode::Open {
            self.gate.notify();
        }
        self.reclaim(slot);
    }

    /// Drops the object if it was removed and nobody is inside. Everybody who may have been the
    /// last comes here.
    fn reclaim(&self, slot: &Slot<O>) {
        loop {
            let state = slot.state.load(SeqCst);
            if state & (REMOVED | TAKEN | FORKED) != REMOVED || !slot.is_empty() {
                return;
            }
            // Fails if somebody else takes it, or if a guard closed it just before leaving: look
            // again.
            if slot
                .state
                .compare_exchange(state, state | TAKEN, SeqCst, SeqCst)
                .is_ok()
            {
                break;
            }
        }
        // SAFETY: REMOVED keeps everybody out, nobody is in, and TAKEN was set by us.
        let object = unsafe { slot.take() };
        self.slots.release(slot);
        // Last, because what runs here may call the table, fork or panic.
        let _departure = Departure(&self.alive.0);
        drop(object);
    }
}

/// A place in the table without an object. It is given back when this is dropped.
pub struct Reserved<'t, O> {
    table: &'t Table<O>,
    slot: &'t Slot<O>,
}

impl<O> Reserved<'_, O> {
    /// Takes an object in and gives its handle, which is never 0.
    pub fn fill(self, kind: Kind, object: O) -> u64 {
        let (table, slot) = (self.table, self.slot);
        // The slot is the object's now.
        std::mem::forget(self);
        let generation = word::generation(slot.state.load(SeqCst));
        // SAFETY: the slot was allocated for this reservation, which gives it up.
        unsafe { slot.put(object) };
        table.alive.0.fetch_add(1, SeqCst);
        slot.state.store(word::live(kind, generation), SeqCst);
        word::handle(kind, slot.index, generation)
    }
}

impl<O> Drop for Reserved<'_, O> {
    fn drop(&mut self) {
        self.table.slots.give_back(self.slot);
    }
}

/// Counts an object as alive until its drop is over, be it by a panic.
struct Departure<'t>(&'t AtomicUsize);

impl Drop for Departure<'_> {
    fn drop(&mut self) {
        // Not below 0: the drop may have forked, and nothing is alive in the child.
        let _ = self
            .0
            .fetch_update(SeqCst, SeqCst, |alive| alive.checked_sub(1));
    }
}

impl<O> Default for Table<O> {
    fn default() -> Self {
        Self::new()
    }
}

impl<O> Drop for Table<O> {
    fn drop(&mut self) {
        for slot in self.slots.iter() {
            let state = slot.state.load(SeqCst);
            if word::kind(state) != 0 && state & (TAKEN | FORKED) == 0 {
                // SAFETY: the kind says that there is an object, and nobody else has the table.
                drop(unsafe { slot.take() });
            }
        }
    }
}
