//! The program's event handlers: function pointers, their user pointers, and the finalizers of those.

use crate::record::{kabi_event_handler_t, kabi_event_t, kabi_finalizer_t};
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::Arc;

/// One bit of an event mask each.
const KINDS: usize = 32;

/// A user pointer, which its finalizer gets exactly once: when the last configuration or client that
/// holds it goes, on the thread that lets it go.
struct User {
    pointer: *mut c_void,
    finalizer: kabi_finalizer_t,
}

// SAFETY: the pointer is only handed back to the program's own functions, on threads that it calls us
// from; that it may be used there is the program's promise when it sets a handler.
unsafe impl Send for User {}
// SAFETY: as above.
unsafe impl Sync for User {}

impl Drop for User {
    fn drop(&mut self) {
        if let Some(finalizer) = self.finalizer {
            // SAFETY: the program gave the function for this pointer, and this is the only call of it.
            unsafe { finalizer(self.pointer) };
        }
    }
}

#[derive(Clone)]
struct Handler {
    function: kabi_event_handler_t,
    user: Arc<User>,
}

/// The handlers of a configuration or a client, by kind.
#[derive(Clone, Default)]
pub struct Handlers {
    by_kind: Box<[Option<Handler>; KINDS]>,
}

impl Handlers {
    /// Sets the handler of each kind in the mask; a NULL function means none.
    pub fn set(
        &mut self,
        kinds: u32,
        function: kabi_event_handler_t,
        pointer: *mut c_void,
        finalizer: kabi_finalizer_t,
    ) -> Vec<impl Drop> {
        let user = Arc::new(User { pointer, finalizer });
        let mut replaced = Vec::new();
        for (kind, place) in self.by_kind.iter_mut().enumerate() {
            if kinds & (1 << kind) != 0 {
                replaced.extend(place.take().map(|old| old.user));
                *place = Some(Handler {
                    function,
                    user: Arc::clone(&user),
                });
            }
        }
        // The caller drops these when it holds no lock: finalizers may call us.
        replaced.push(user);
        replaced
    }

    /// Kinds that have a handler.
    pub fn any(&self) -> bool {
        self.by_kind
            .iter()
            .any(|h| h.as_ref().is_some_and(|h| h.function.is_some()))
    }

    /// Whether events of this kind have a handler.
    pub fn has(&self, kind: u32) -> bool {
        usize::try_from(kind.trailing_zeros())
            .ok()
            .and_then(|k| self.by_kind.get(k)?.as_ref())
            .is_some_and(|h| h.function.is_some())
    }

    /// Hands events of one kind over. Those without a handler are dropped.
    pub fn call(&self, events: &[kabi_event_t], bytes: &[u8]) -> i32 {
        let Some(kind) = events.first().map(|e| e.kind.trailing_zeros()) else {
            return 0;
        };
        let handler = usize::try_from(kind)
            .ok()
            .and_then(|k| self.by_kind.get(k)?.as_ref());
        let Some(Handler {
            function: Some(function),
            user,
        }) = handler
        else {
            return 0;
        };
        let bytes = if bytes.is_empty() {
            std::ptr::null()
        } else {
            bytes.as_ptr()
        };
        let _inside = Inside::enter();
        // SAFETY: the program gave the function for events; the arrays outlive the call; the user
        // pointer is not finalized while `self` holds it.
        unsafe { function(events.as_ptr(), events.len(), bytes, user.pointer) }
    }
}

thread_local!(static DEPTH: Cell<u32> = const { Cell::new(0) });

/// This thread is inside a handler until it is dropped.
struct Inside;

impl Inside {
    fn enter() -> Inside {
        DEPTH.set(DEPTH.get() + 1);
        Inside
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get().saturating_sub(1));
    }
}

/// Whether this thread is inside a handler, of whatever client.
pub fn inside() -> bool {
    DEPTH.get() > 0
}
