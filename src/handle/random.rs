//! Where generations start. Nothing secret: it must only differ from process to process, so that a
//! handle which was saved with a program's memory (a Lisp image) is not taken for one of this
//! process.

/// A number that differs in each process.
#[cfg(not(loom))]
pub fn start() -> u32 {
    from_system().unwrap_or_else(mixed)
}

#[cfg(loom)]
pub fn start() -> u32 {
    7
}

#[cfg(all(target_os = "linux", not(loom)))]
fn from_system() -> Option<u32> {
    let mut bytes = [0; 4];
    // SAFETY: the buffer is ours and as long as we say. Never blocks: early in boot it fails
    // instead.
    let filled =
        unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), libc::GRND_NONBLOCK) };
    (filled == bytes.len() as isize).then_some(u32::from_ne_bytes(bytes))
}

#[cfg(all(target_vendor = "apple", not(loom)))]
fn from_system() -> Option<u32> {
    let mut bytes = [0; 4];
    // SAFETY: the buffer is ours and as long as we say.
    let status = unsafe { libc::getentropy(bytes.as_mut_ptr().cast(), bytes.len()) };
    (status == 0).then_some(u32::from_ne_bytes(bytes))
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple", loom)))]
fn from_system() -> Option<u32> {
    None
}

/// Time, process and the place of the stack, for a system that gives no random bytes.
#[cfg(not(loom))]
fn mixed() -> u32 {
    use std::hash::{DefaultHasher, Hash, Hasher};

    let mut hasher = DefaultHasher::new();
    std::time::SystemTime::now().hash(&mut hasher);
    std::process::id().hash(&mut hasher);
    (&raw const hasher as usize).hash(&mut hasher);
    hasher.finish() as u32
}
