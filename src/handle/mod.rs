//! The handle table: what stands between a number that a foreign caller hands in and an object of
//! ours.
//!
//! Here live the words (`word`), the slots that hold objects (`slot`, `slots`), the table that lets
//! calls in and out (`table`, `guard`), the place where a closing call waits (`gate`) and the few
//! primitives that loom replaces (`sync`). What an object is, what closing it means and which
//! functions work on a closed one is for the layers above: the table is generic over the object and
//! knows kinds only by number. `pthread_atfork` is theirs too; the table only offers
//! [`Table::mark_forked`] to be called from it.
//!
//! # How a call goes in and out
//!
//! A slot has one *state* word (generation, kind, flags) and a few *stripes*, counters of the calls
//! inside. A call adds itself to a stripe, then reads the state; who closes or removes changes the
//! state, then reads the stripes. All four accesses are `SeqCst`, so there is one order of them
//! all, and whoever comes second in it sees the other: a call is either seen by who waits for it,
//! or sees that it is too late and takes itself off again. The way out is the same in reverse: take
//! yourself off a stripe, then read the state. Whoever is last in the order finds both the flag and
//! the empty stripes, so that a waiting closer is always woken and a removed object always dropped.
//!
//! A call may count itself on a slot that holds a newer object by now, because it counts before it
//! looks. That does no harm: it only delays the newer object's waiters until it has taken itself
//! off, and since it leaves on the same path as everybody else, it wakes and drops on behalf of
//! those whom it delayed.

mod gate;
mod guard;
mod random;
mod slot;
mod slots;
mod sync;
mod table;
mod word;

#[cfg(all(test, not(loom)))]
mod tests;

use std::fmt;
use std::num::NonZeroU8;

pub use guard::Guard;
pub use table::{Limits, Reserved, Table};

/// The type of an object as the handle carries it: 1 to 255. Zero is no kind, so that neither NULL
/// nor a real user-space pointer, whose top byte is zero, is ever a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind(NonZeroU8);

impl Kind {
    /// The kind with number `N`; 0 doesn't compile.
    pub const fn of<const N: u8>() -> Kind {
        Kind(
            const {
                match NonZeroU8::new(N) {
                    Some(number) => number,
                    None => panic!("0 is no kind"),
                }
            },
        )
    }

    /// Its number.
    pub const fn number(self) -> u8 {
        self.0.get()
    }
}

/// What a call needs of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The object must be open; a closing call waits for this one.
    Open,
    /// Closed will do: poll, drain, event descriptor, close itself. Nobody but the object's drop
    /// waits for it.
    Any,
}

/// Why a handle was not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Zero, never a handle of this process, or removed.
    Unknown,
    /// Its object was closed and the call needs it open.
    Closed,
    /// A live handle of another kind.
    WrongType,
    /// Live when this process was forked off, and of use in the parent only.
    Forked,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Unknown => "the handle is NULL, was never given out, or was freed",
            Refusal::Closed => "the handle was closed",
            Refusal::WrongType => "the handle is of another type",
            Refusal::Forked => "the handle is from before a fork",
        })
    }
}

impl std::error::Error for Refusal {}

/// No slot is left: all are in use or retired. The object was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no handle is left")
    }
}

impl std::error::Error for Full {}
