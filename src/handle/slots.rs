//! The memory of the slots, and which of them are free. Slots never move and are never given back
//! while the table lives, so that a stale handle leads to a slot that can be read, whatever it
//! holds by now.
//!
//! Nothing here takes a lock: `fork` may copy the process in the middle of any of it, and the child
//! goes on.

use std::marker::PhantomData;
use std::ptr;

use super::slot::Slot;
use super::sync::{
    const_unless_loom, null_pointers, AtomicPtr, AtomicU32, AtomicU64, Ordering::SeqCst, Padded,
    CHUNKS, FIRST_CHUNK,
};
use super::table::Limits;
use super::{random, word};

/// As many slots as the chunks hold.
const MOST_SLOTS: u32 = (FIRST_CHUNK << CHUNKS) - FIRST_CHUNK;
const _: () = assert!(MOST_SLOTS < word::NO_SLOT);

/// Set in `Slots::start` once it is chosen.
const CHOSEN: u64 = 1 << 32;

pub struct Slots<O> {
    /// Chunk `n` has `FIRST_CHUNK << n` slots, made when the first of them is needed.
    chunks: [AtomicPtr<Slot<O>>; CHUNKS],
    most: u32,
    generations: u32,
    /// The generation of each slot's first object, with [`CHOSEN`].
    start: AtomicU64,
    /// The rest changes with every insert: away from the above, which every call reads.
    changing: Padded<Changing>,
    owns: PhantomData<Slot<O>>,
}

struct Changing {
    /// How many slots were ever used: all below that index.
    used: AtomicU32,
    /// A stack: the index of its top in the low [`word::INDEX_BITS`], above it a count of its
    /// changes, without which a thread that was held up while popping could put back a top that is
    /// in use again.
    free: AtomicU64,
}

impl<O> Slots<O> {
    const_unless_loom! {
        pub fn new(limits: Limits) -> Self {
            Self {
                chunks: null_pointers(),
                most: if limits.slots < MOST_SLOTS { limits.slots } else { MOST_SLOTS },
                generations: u32::MAX >> (32 - limits.generation_bits),
                start: AtomicU64::new(match limits.start {
                    Some(start) => start as u64 | CHOSEN,
                    None => 0,
                }),
                changing: Padded(Changing {
                    used: AtomicU32::new(0),
                    free: AtomicU64::new(word::NO_SLOT as u64),
                }),
                owns: PhantomData,
            }
        }
    }

    /// The slot with this index, if its chunk was ever made.
    #[inline]
    pub fn get(&self, index: u32) -> Option<&Slot<O>> {
        let (chunk, offset) = place(index);
        let slots = self.chunks.get(chunk)?.load(SeqCst);
        if slots.is_null() {
            return None;
        }
        // SAFETY: a chunk that is not null is a slice of FIRST_CHUNK << chunk slots, more than
        // offset, and lives as long as self.
        Some(unsafe { &*slots.add(offset) })
    }

    /// All slots that were ever used.
    pub fn iter(&self) -> impl Iterator<Item = &Slot<O>> {
        let used = self.changing.0.used.load(SeqCst);
        (0..used).filter_map(|index| self.get(index))
    }

    /// A slot for the caller alone, without an object.
    pub fn allocate(&self) -> Option<&Slot<O>> {
        self.pop().or_else(|| self.unused())
    }

    /// Takes back a slot that was allocated and had no object. In a child of a fork it is not used again, as
    /// all slots of before.
    pub fn give_back(&self, slot: &Slot<O>) {
        if slot.state.load(SeqCst) & word::FORKED == 0 {
            self.push(slot);
        }
    }

    /// Takes back a slot whose object was taken: free for the next generation, or retired when
    /// there is none left.
    pub fn release(&self, slot: &Slot<O>) {
        let next = word::generation(slot.state.load(SeqCst)).wrapping_add(1) & self.generations;
        slot.state.store(word::free(next), SeqCst);
        if next != self.start() {
            self.push(slot);
        }
    }

    /// Forgets the free slots, so that none of before is used again. Async-signal-safe.
    pub fn abandon_free(&self) {
        self.changing.0.free.store(word::NO_SLOT as u64, SeqCst);
    }

    fn pop(&self) -> Option<&Slot<O>> {
        let mut top = self.changing.0.free.load(SeqCst);
        loop {
            let slot = self.get(top as u32 & word::NO_SLOT)?;
            // Somebody else may have popped the slot meanwhile; then the exchange fails.
            let below = with_top(top, slot.next.load(SeqCst));
            match self
                .changing
                .0
                .free
                .compare_exchange(top, below, SeqCst, SeqCst)
            {
                Ok(_) => return Some(slot),
                Err(now) => top = now,
            }
        }
    }

    fn push(&self, slot: &Slot<O>) {
        let mut top = self.changing.0.free.load(SeqCst);
        loop {
            slot.next.store(top as u32 & word::NO_SLOT, SeqCst);
            let above = with_top(top, slot.index);
            match self
                .changing
                .0
                .free
                .compare_exchange(top, above, SeqCst, SeqCst)
            {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    fn unused(&self) -> Option<&Slot<O>> {
        let more = |used| (used < self.most).then_some(used + 1);
        let index = self
            .changing
            .0
            .used
            .fetch_update(SeqCst, SeqCst, more)
            .ok()?;
        self.get(index).or_else(|| {
            self.make_chunk(place(index).0);
            self.get(index)
        })
    }

    /// Makes a chunk unless somebody else does meanwhile.
    fn make_chunk(&self, chunk: usize) {
        let Some(pointer) = self.chunks.get(chunk) else {
            return;
        };
        let start = self.start();
        let first = (FIRST_CHUNK << chunk) - FIRST_CHUNK;
        let indexes = first..first + (FIRST_CHUNK << chunk);
        let slots: Box<[Slot<O>]> = indexes.map(|index| Slot::new(index, start)).collect();
        let slots = Box::into_raw(slots).cast::<Slot<O>>();
        if pointer
            .compare_exchange(ptr::null_mut(), slots, SeqCst, SeqCst)
            .is_err()
        {
            // SAFETY: made above and never shared.
            unsafe { free_chunk(slots, chunk) };
        }
    }

    fn start(&self) -> u32 {
        let mut start = self.start.load(SeqCst);
        if start == 0 {
            start = u64::from(random::start()) | CHOSEN;
            if let Err(theirs) = self.start.compare_exchange(0, start, SeqCst, SeqCst) {
                start = theirs;
            }
        }
        start as u32 & self.generations
    }
}

impl<O> Drop for Slots<O> {
    fn drop(&mut self) {
        for (chunk, pointer) in self.chunks.iter().enumerate() {
            let slots = pointer.load(SeqCst);
            if !slots.is_null() {
                // SAFETY: every reference to a slot borrows self, which is being dropped.
                unsafe { free_chunk(slots, chunk) };
            }
        }
    }
}

/// # Safety
/// `slots` came from `make_chunk` with the same chunk, and nobody uses it any more.
unsafe fn free_chunk<O>(slots: *mut Slot<O>, chunk: usize) {
    let slots = ptr::slice_from_raw_parts_mut(slots, (FIRST_CHUNK << chunk) as usize);
    // SAFETY: the very slice that Box::into_raw gave up, as the caller warrants.
    drop(unsafe { Box::from_raw(slots) });
}

/// The chunk of a slot and its offset there: the chunks' sizes make the top bit say which chunk.
#[inline]
const fn place(index: u32) -> (usize, usize) {
    let position = index + FIRST_CHUNK;
    let chunk = position.ilog2() - FIRST_CHUNK.ilog2();
    (chunk as usize, (position - (FIRST_CHUNK << chunk)) as usize)
}

/// The next value of `Changing::free`, with this slot on top.
const fn with_top(free: u64, index: u32) -> u64 {
    let changes = (free >> word::INDEX_BITS).wrapping_add(1);
    changes << word::INDEX_BITS | index as u64
}
