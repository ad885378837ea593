//! What C hands over, checked and turned into Rust types. Each function names the argument in its error.

use crate::error::{Error, Result};
use crate::status::KABI_STATUS_BUFFER_TOO_SMALL;
use std::ffi::{c_char, c_void};
use std::time::Duration;

/// Longer names are refused: Kafka's topic names end at 249 characters, property names far below.
pub const NAME_MAX: usize = 32 * 1024;
/// Property values may be certificates.
pub const VALUE_MAX: usize = 4 * 1024 * 1024;

fn null(what: &str) -> Error {
    Error::argument(format!("{what} is NULL"))
}

/// A place where a result is to be written.
pub struct Out<'a, T>(&'a mut std::mem::MaybeUninit<T>);

impl<T> Out<'_, T> {
    pub fn set(&mut self, value: T) {
        self.0.write(value);
    }
}

fn checked<T>(pointer: *const T, what: &str) -> Result<()> {
    if pointer.is_null() {
        return Err(null(what));
    }
    if !pointer.is_aligned() {
        return Err(Error::argument(format!(
            "{what} is not aligned to {} bytes",
            align_of::<T>()
        )));
    }
    Ok(())
}

/// An output that must be given.
///
/// # Safety
/// `pointer` is NULL or valid for writes of a `T` during the export.
pub unsafe fn out<'a, T>(pointer: *mut T, what: &str) -> Result<Out<'a, T>> {
    checked(pointer, what)?;
    // SAFETY: not NULL, aligned, and valid by the contract.
    Ok(Out(unsafe { &mut *pointer.cast() }))
}

/// An output that may be NULL.
///
/// # Safety
/// As `out`.
pub unsafe fn out_optional<'a, T>(pointer: *mut T, what: &str) -> Result<Option<Out<'a, T>>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: by the contract.
    unsafe { out(pointer, what) }.map(Some)
}

/// A record that must be given.
///
/// # Safety
/// `pointer` is NULL or valid for reads of a `T` during the export.
pub unsafe fn reference<'a, T>(pointer: *const T, what: &str) -> Result<&'a T> {
    checked(pointer, what)?;
    // SAFETY: not NULL, aligned, and valid by the contract.
    Ok(unsafe { &*pointer })
}

fn array_size<T>(count: usize, what: &str) -> Result<()> {
    match count.checked_mul(size_of::<T>()) {
        Some(size) if isize::try_from(size).is_ok() => Ok(()),
        _ => Err(Error::argument(format!(
            "{what}: a count of {count} is more than memory holds"
        ))),
    }
}

/// An array; NULL is allowed with a count of 0.
///
/// # Safety
/// `pointer` is NULL or valid for reads of `count` elements during the export.
pub unsafe fn slice<'a, T>(pointer: *const T, count: usize, what: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    checked(pointer, what)?;
    array_size::<T>(count, what)?;
    // SAFETY: not NULL, aligned, of a possible size, and valid by the contract.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// An array that is written; NULL is allowed with a count of 0.
///
/// # Safety
/// `pointer` is NULL or valid for reads and writes of `count` elements during the export.
pub unsafe fn slice_mut<'a, T>(pointer: *mut T, count: usize, what: &str) -> Result<&'a mut [T]> {
    if count == 0 {
        return Ok(&mut []);
    }
    checked(pointer, what)?;
    array_size::<T>(count, what)?;
    // SAFETY: not NULL, aligned, of a possible size, and valid by the contract.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, count) })
}

/// A part of a record: NULL with 0 is null, not NULL with 0 is empty.
///
/// # Safety
/// `pointer` is NULL or valid for reads of `length` bytes during the export.
#[inline]
pub unsafe fn part<'a>(
    pointer: *const c_void,
    length: i64,
    what: &str,
) -> Result<Option<&'a [u8]>> {
    let Ok(size) = usize::try_from(length) else {
        return Err(Error::argument(format!(
            "the length of {what} is negative: {length}"
        )));
    };
    if i32::try_from(length).is_err() {
        return Err(Error::argument(format!(
            "the length of {what} is {length}; Kafka's own lengths end at {}",
            i32::MAX
        )));
    }
    if pointer.is_null() {
        if size == 0 {
            return Ok(None);
        }
        return Err(Error::argument(format!(
            "{what} is NULL, but its length is {length}"
        )));
    }
    // SAFETY: not NULL, of a possible size (a positive i64), and valid by the contract.
    Ok(Some(unsafe {
        std::slice::from_raw_parts(pointer.cast(), size)
    }))
}

/// A terminated text of at most `max` bytes.
///
/// # Safety
/// `pointer` is NULL or a NUL-terminated string that does not change during the export.
pub unsafe fn text<'a>(pointer: *const c_char, max: usize, what: &str) -> Result<&'a str> {
    if pointer.is_null() {
        return Err(null(what));
    }
    // SAFETY: terminated by the contract, so strnlen stops at its end or at the limit.
    let length = unsafe { libc::strnlen(pointer, max + 1) };
    if length > max {
        return Err(Error::argument(format!(
            "{what} is longer than {max} bytes"
        )));
    }
    // SAFETY: strnlen just read that many bytes.
    let bytes = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), length) };
    utf8(bytes, what)
}

pub fn utf8<'a>(bytes: &'a [u8], what: &str) -> Result<&'a str> {
    std::str::from_utf8(bytes)
        .map_err(|e| Error::argument(format!("{what} is not UTF-8 (at byte {})", e.valid_up_to())))
}

/// Writes a text to the caller's buffer: terminated, with its length, or else BUFFER_TOO_SMALL with the
/// length that it has.
///
/// # Safety
/// `buffer` is NULL or valid for writes of `size` bytes; `length` is NULL or valid for a write.
pub unsafe fn write_text(
    text: &str,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
) -> Result<()> {
    // SAFETY: by the contract.
    let (mut length, buffer) = unsafe {
        (
            out(length, "length")?,
            slice_mut(buffer.cast::<u8>(), size, "buffer")?,
        )
    };
    length.set(text.len());
    match (buffer.get_mut(..text.len()), size > text.len()) {
        (Some(start), true) => {
            start.copy_from_slice(text.as_bytes());
            if let Some(end) = buffer.get_mut(text.len()) {
                *end = 0;
            }
            Ok(())
        }
        _ => Err(Error::new(
            KABI_STATUS_BUFFER_TOO_SMALL,
            format!(
                "a buffer of {size} bytes was given, the text needs {}",
                text.len() + 1
            ),
        )),
    }
}

/// A time-out: -1 waits for ever, 0 does not wait.
pub fn timeout(ms: i32) -> Result<Option<Duration>> {
    match u64::try_from(ms) {
        Ok(ms) => Ok(Some(Duration::from_millis(ms))),
        Err(_) if ms == -1 => Ok(None),
        Err(_) => Err(Error::argument(format!(
            "timeout_ms is {ms}; it is a number of milliseconds, 0 (don't wait) or -1 (for ever)"
        ))),
    }
}
