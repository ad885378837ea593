//! The floating-point environment. Lisp systems unmask floating-point traps; librdkafka computes (the
//! logarithm of zero, among others) where C programs never trap, and threads inherit the environment of
//! their creator. So exports run in the default environment and give the caller's back.
//!
//! Looking at the control words costs a few nanoseconds, switching the whole environment two hundred
//! (x86-64, measured), so the switch is done only where the caller's differs.

use std::mem::MaybeUninit;

/// glibc's and musl's fenv_t is 32 bytes on x86-64 and 8 on aarch64.
#[repr(C, align(8))]
struct Environment([u8; 32]);

extern "C" {
    fn feholdexcept(into: *mut Environment) -> i32;
    fn fesetenv(from: *const Environment) -> i32;
}

/// FE_DFL_ENV of glibc and musl.
const DEFAULT: *const Environment = usize::MAX as *const Environment;

/// The default environment is in force until this is dropped.
pub struct Default {
    callers: Option<Environment>,
}

impl Default {
    #[inline]
    pub fn enter() -> Default {
        if is_default() {
            return Default { callers: None };
        }
        Default { callers: switch() }
    }
}

impl Drop for Default {
    #[inline]
    fn drop(&mut self) {
        if let Some(callers) = &self.callers {
            // SAFETY: filled by feholdexcept. This also puts the caller's exception flags back.
            unsafe { fesetenv(callers) };
        }
    }
}

#[cold]
fn switch() -> Option<Environment> {
    let mut callers = MaybeUninit::<Environment>::zeroed();
    // SAFETY: room for an environment; the default one is always valid to set.
    unsafe {
        if feholdexcept(callers.as_mut_ptr()) != 0 {
            return None;
        }
        fesetenv(DEFAULT);
        Some(callers.assume_init())
    }
}

/// Masks and rounding as the platform starts a program with; raised flags don't matter here.
#[cfg(target_arch = "x86_64")]
#[inline]
fn is_default() -> bool {
    const SSE_DEFAULT: u32 = 0x1f80;
    const SSE_FLAGS: u32 = 0x3f;
    const X87_DEFAULT: u16 = 0x37f;
    let mut sse = 0u32;
    let mut x87 = 0u16;
    // SAFETY: both instructions only store a control word to the given place.
    unsafe {
        std::arch::asm!(
            "stmxcsr [{sse}]",
            "fnstcw [{x87}]",
            sse = in(reg) &mut sse,
            x87 = in(reg) &mut x87,
            options(nostack, preserves_flags)
        );
    }
    sse & !SSE_FLAGS == SSE_DEFAULT && x87 == X87_DEFAULT
}

#[cfg(target_arch = "aarch64")]
#[inline]
fn is_default() -> bool {
    let control: u64;
    // SAFETY: reads the control register.
    unsafe {
        std::arch::asm!("mrs {}, fpcr", out(reg) control, options(nomem, nostack, preserves_flags));
    }
    control == 0
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline]
fn is_default() -> bool {
    false
}
