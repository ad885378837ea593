//! One slot: the place of an object, the state that says which one, and the counters of the calls
//! inside.

use std::mem::MaybeUninit;

use super::sync::{self, AtomicU32, AtomicU64, Ordering::SeqCst, Padded, UnsafeCell, STRIPES};
use super::{word, Mode};

/// The state, the object and all else that is read by every call share cache lines; each stripe has
/// its own.
pub struct Slot<O> {
    /// See [`word`]. The object is there while its kind is not 0 and [`word::TAKEN`] is not set.
    pub state: AtomicU64,
    pub index: u32,
    /// The next slot in the free list while this one is in it.
    pub next: AtomicU32,
    object: UnsafeCell<MaybeUninit<O>>,
    stripes: [Padded<Stripe>; STRIPES],
}

/// The calls inside that came in through one stripe: [`Mode::Open`] in the low half, [`Mode::Any`]
/// in the high half.
pub struct Stripe(AtomicU64);

// SAFETY: the object is shared between the threads of all guards, and dropped by whichever leaves
// last.
unsafe impl<O: Send + Sync> Sync for Slot<O> {}

impl<O> Slot<O> {
    pub fn new(index: u32, generation: u32) -> Self {
        Self {
            state: AtomicU64::new(word::free(generation)),
            index,
            next: AtomicU32::new(word::NO_SLOT),
            object: UnsafeCell::new(MaybeUninit::uninit()),
            stripes: std::array::from_fn(|_| Padded(Stripe(AtomicU64::new(0)))),
        }
    }

    /// The stripe for the calling thread to go in by.
    #[inline]
    pub fn stripe(&self) -> &Stripe {
        let [first, ..] = &self.stripes;
        &self.stripes.get(sync::stripe()).unwrap_or(first).0
    }

    /// Whether anybody is inside. For a removed object "no" is final: nobody is let in any more,
    /// everybody leaves by the stripe that he came in by, so a stripe once empty of guards stays so
    /// while the others are looked at.
    pub fn is_empty(&self) -> bool {
        self.stripes
            .iter()
            .all(|stripe| stripe.0 .0.load(SeqCst) == 0)
    }

    /// Whether nobody is inside who needs the object open. Final for a closed one, as above.
    pub fn is_idle(&self) -> bool {
        self.stripes
            .iter()
            .all(|stripe| stripe.0 .0.load(SeqCst) as u32 == 0)
    }

    /// # Safety
    /// The slot is the caller's alone (fresh or from the free list) and holds no object.
    pub unsafe fn put(&self, object: O) {
        self.object.with_mut(|place| {
            // SAFETY: nobody else reads or writes the place, as the caller warrants.
            unsafe { (*place).write(object) };
        });
    }

    /// # Safety
    /// The slot holds an object, and nobody else uses it from here on: the caller set
    /// [`word::TAKEN`] with nobody inside, or has the whole table to himself.
    pub unsafe fn take(&self) -> O {
        // SAFETY: the object was written before the state named its kind, and is not read again.
        self.object
            .with_mut(|place| unsafe { (*place).assume_init_read() })
    }

    /// # Safety
    /// A guard keeps the object from being taken for as long as the reference is used.
    #[inline]
    pub unsafe fn object(&self) -> &O {
        // SAFETY: the guard came in after the object was written; it is not taken before the guard
        // leaves.
        self.object
            .with(|place| unsafe { (*place).assume_init_ref() })
    }
}

impl Stripe {
    #[inline]
    pub fn enter(&self, mode: Mode) {
        self.0.fetch_add(one(mode), SeqCst);
    }

    #[inline]
    pub fn leave(&self, mode: Mode) {
        self.0.fetch_sub(one(mode), SeqCst);
    }
}

#[inline]
const fn one(mode: Mode) -> u64 {
    match mode {
        Mode::Open => 1,
        Mode::Any => 1 << 32,
    }
}
