//! A descriptor that a program's event loop can sleep on: an eventfd, or a pipe where there is none.

use crate::error::Error;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

pub struct Descriptor {
    read: OwnedFd,
    /// The other end of a pipe; an eventfd has but one.
    write: Option<OwnedFd>,
}

impl Descriptor {
    #[cfg(target_os = "linux")]
    pub fn new() -> Result<Descriptor, Error> {
        // SAFETY: no pointers; the result is checked.
        let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(Error::system("making an eventfd"));
        }
        // SAFETY: a descriptor that was just opened and is nobody else's.
        Ok(Descriptor { read: unsafe { OwnedFd::from_raw_fd(fd) }, write: None })
    }

    #[cfg(not(target_os = "linux"))]
    pub fn new() -> Result<Descriptor, Error> {
        let mut ends = [0; 2];
        // SAFETY: room for two descriptors; the result is checked.
        if unsafe { libc::pipe(ends.as_mut_ptr()) } != 0 {
            return Err(Error::system("making a pipe"));
        }
        let [read, write] = ends.map(|fd| {
            // SAFETY: just opened and nobody else's; the flags of an open descriptor can be set.
            unsafe {
                libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK);
                libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
                OwnedFd::from_raw_fd(fd)
            }
        });
        Ok(Descriptor { read, write: Some(write) })
    }

    /// What the program waits on.
    pub fn fd(&self) -> i32 {
        self.read.as_raw_fd()
    }

    /// What is written to make it readable.
    pub fn write_fd(&self) -> i32 {
        self.write.as_ref().unwrap_or(&self.read).as_raw_fd()
    }

    /// Makes it readable.
    pub fn signal(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: eight bytes are there. The descriptor doesn't block: a full one is readable already.
        unsafe { libc::write(self.write_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Makes it unreadable, until the next signal.
    pub fn clear(&self) {
        let mut bytes = [0u8; 512];
        // SAFETY: room for what is read; the descriptor doesn't block. One read empties an eventfd.
        while unsafe { libc::read(self.fd(), bytes.as_mut_ptr().cast(), bytes.len()) } > 0 {}
    }
}
