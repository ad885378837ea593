//! What loom must replace to explore the table's schedules, under one name each: atomics, cells,
//! locks, the number of the calling thread. The sizes differ as well, since loom can't walk through
//! large ones. No logic of the table.

#[cfg(loom)]
pub use on_loom::*;
#[cfg(not(loom))]
pub use on_threads::*;

/// Keeps what is written often off the cache lines of what is read often. Two lines of 64 bytes,
/// since some processors fetch them in pairs.
#[repr(align(128))]
pub struct Padded<T>(pub T);

/// A function that is `const` except under loom, whose types register themselves when they are
/// made.
macro_rules! const_unless_loom {
    ($(#[$meta:meta])* $visibility:vis fn $name:ident($($arguments:tt)*) -> $result:ty
        $body:block) => {
        #[cfg(not(loom))]
        $(#[$meta])* $visibility const fn $name($($arguments)*) -> $result $body
        #[cfg(loom)]
        $(#[$meta])* $visibility fn $name($($arguments)*) -> $result $body
    };
}
pub(super) use const_unless_loom;

#[cfg(not(loom))]
mod on_threads {
    pub use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
    pub use std::sync::{Condvar, Mutex};

    use std::cell::Cell;

    /// Counters a slot: more let more threads into one object without sharing a cache line, and
    /// cost whoever drops it a look at each.
    pub const STRIPES: usize = 4;
    /// Slots in the first chunk; each further one is twice as large.
    pub const FIRST_CHUNK: u32 = 32;
    pub const CHUNKS: usize = 19;

    /// [`std::cell::UnsafeCell`] in the shape that loom can check.
    pub struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        #[inline]
        pub fn with<R>(&self, reader: impl FnOnce(*const T) -> R) -> R {
            reader(self.0.get())
        }

        #[inline]
        pub fn with_mut<R>(&self, writer: impl FnOnce(*mut T) -> R) -> R {
            writer(self.0.get())
        }
    }

    pub const fn null_pointers<T, const N: usize>() -> [AtomicPtr<T>; N] {
        [const { AtomicPtr::new(std::ptr::null_mut()) }; N]
    }

    /// The stripe of the calling thread: threads are dealt out in turn, so that a few of them share
    /// none.
    #[inline]
    pub fn stripe() -> usize {
        let stripe = STRIPE.get();
        if stripe < STRIPES {
            stripe
        } else {
            deal_stripe()
        }
    }

    // Without a destructor, hence usable while its thread ends, when finalizers may still free
    // handles.
    thread_local! {
        static STRIPE: Cell<usize> = const { Cell::new(STRIPES) };
    }

    #[cold]
    fn deal_stripe() -> usize {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let stripe = NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES;
        STRIPE.set(stripe);
        stripe
    }
}

#[cfg(loom)]
mod on_loom {
    pub use loom::cell::UnsafeCell;
    pub use loom::sync::atomic::Ordering;
    pub use loom::sync::{Condvar, Mutex};

    use std::ops::Deref;

    pub const STRIPES: usize = 2;
    pub const FIRST_CHUNK: u32 = 1;
    pub const CHUNKS: usize = 3;

    /// loom lets a `SeqCst` load miss later `SeqCst` stores in favour of a value that an atomic was
    /// made with, which no machine does; so each is stored to once before it is used.
    macro_rules! atomic {
        ($name:ident $(<$parameter:ident>)?, $value:ty) => {
            pub struct $name $(<$parameter>)? (loom::sync::atomic::$name $(<$parameter>)?);

            impl $(<$parameter>)? $name $(<$parameter>)? {
                pub fn new(value: $value) -> Self {
                    let atomic = loom::sync::atomic::$name::new(value);
                    atomic.store(value, Ordering::SeqCst);
                    Self(atomic)
                }
            }

            impl $(<$parameter>)? Deref for $name $(<$parameter>)? {
                type Target = loom::sync::atomic::$name $(<$parameter>)?;

                fn deref(&self) -> &Self::Target {
                    &self.0
                }
            }
        };
    }

    atomic!(AtomicU32, u32);
    atomic!(AtomicU64, u64);
    atomic!(AtomicUsize, usize);
    atomic!(AtomicPtr<T>, *mut T);

    pub fn null_pointers<T, const N: usize>() -> [AtomicPtr<T>; N] {
        std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut()))
    }

    pub fn stripe() -> usize {
        STRIPE.with(|stripe| *stripe)
    }

    // loom makes both anew in each execution. The counter is std's, because the order in which
    // threads are dealt out is no schedule worth exploring.
    loom::lazy_static! {
        static ref NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    }
    loom::thread_local! {
        static STRIPE: usize = NEXT.fetch_add(1, Ordering::Relaxed) % STRIPES;
    }
}
