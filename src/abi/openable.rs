//! The part of an object that is there only while it is open. A call that entered the handle table as
//! "open" may use it; a close takes it out once no such call is left, and it is gone on the spot, while
//! the rest of the object (its events above all) stays for who drains them.

use std::cell::UnsafeCell;

pub struct Openable<T>(UnsafeCell<Option<T>>);

// SAFETY: shared access gives &T to several threads, taking out moves a T between threads.
unsafe impl<T: Send + Sync> Sync for Openable<T> {}

impl<T> Openable<T> {
    pub fn new(part: T) -> Openable<T> {
        Openable(UnsafeCell::new(Some(part)))
    }

    /// # Safety
    /// For as long as the result is used, the caller holds an "open" guard of the object that this
    /// belongs to, or a lock that everybody holds who takes the part out.
    #[inline]
    pub unsafe fn get(&self) -> Option<&T> {
        // SAFETY: nobody takes the part out while an open guard is held.
        unsafe { (*self.0.get()).as_ref() }
    }

    /// # Safety
    /// The object is marked closed, no "open" guard of it is left, and only one thread calls this.
    pub unsafe fn take(&self) -> Option<T> {
        // SAFETY: nobody has a reference to the part, and nobody can get one any more.
        unsafe { (*self.0.get()).take() }
    }

    pub fn take_mut(&mut self) -> Option<T> {
        self.0.get_mut().take()
    }
}
