//! The layout of the two words, handle and state, and nothing that needs memory.
//!
//! ```text
//! handle  kind 8 | slot index 24 | generation 32
//! state   kind 8 | flags 24      | generation 32
//! ```
//!
//! A handle with its slot index masked out is the state of its slot while the object is live and
//! open, so that the hot path is one mask and one comparison. Kind 0 in a state means that the slot
//! holds no object.

use super::{Kind, Mode, Refusal};

/// The highest index is kept free for [`NO_SLOT`].
pub const INDEX_BITS: u32 = 24;
pub const NO_SLOT: u32 = (1 << INDEX_BITS) - 1;

const KIND_SHIFT: u32 = 56;
const INDEX_SHIFT: u32 = 32;
const INDEX_MASK: u64 = (NO_SLOT as u64) << INDEX_SHIFT;

/// Calls that need the object open are refused.
pub const CLOSED: u64 = 1 << 32;
/// The handle is stale; the object goes when the last call inside leaves.
pub const REMOVED: u64 = 1 << 33;
/// Somebody won the object and is about to drop it.
pub const TAKEN: u64 = 1 << 34;
/// The object belongs to the process that this one was forked from: never let in, dropped or
/// reused.
pub const FORKED: u64 = 1 << 35;

pub const fn handle(kind: Kind, index: u32, generation: u32) -> u64 {
    live(kind, generation) | (index as u64) << INDEX_SHIFT
}

pub const fn index(handle: u64) -> u32 {
    ((handle & INDEX_MASK) >> INDEX_SHIFT) as u32
}

/// The kind's number, of a handle or a state.
pub const fn kind(word: u64) -> u8 {
    (word >> KIND_SHIFT) as u8
}

/// The generation, of a handle or a state.
pub const fn generation(word: u64) -> u32 {
    word as u32
}

/// The state of a slot with a live and open object.
pub const fn live(kind: Kind, generation: u32) -> u64 {
    (kind.number() as u64) << KIND_SHIFT | generation as u64
}

/// The state of a slot without an object; `generation` is for the next one.
pub const fn free(generation: u32) -> u64 {
    generation as u64
}

/// The handle of a slot in this state, if it is in force in this process.
pub fn handle_of(state: u64, index: u32) -> Option<u64> {
    let in_force = kind(state) != 0 && state & (REMOVED | FORKED) == 0;
    in_force.then_some(state & !CLOSED | (index as u64) << INDEX_SHIFT)
}

/// Whether a slot in this state lets in a call on `handle`, of which the caller knows that it is of
/// the right kind.
pub const fn admits(state: u64, handle: u64, mode: Mode) -> bool {
    let overlooked = match mode {
        Mode::Open => 0,
        Mode::Any => CLOSED,
    };
    state & !overlooked == handle & !INDEX_MASK
}

/// Why a slot in this state doesn't let in a call on `handle` that wants `kind`.
pub fn refusal(state: u64, handle: u64, kind: Kind) -> Refusal {
    let of_this_object = (state ^ handle) & !INDEX_MASK == 0;
    if self::kind(handle) == 0 || !of_this_object || state & REMOVED != 0 {
        Refusal::Unknown
    } else if state & FORKED != 0 {
        Refusal::Forked
    } else if self::kind(handle) != kind.number() {
        Refusal::WrongType
    } else {
        Refusal::Closed
    }
}
