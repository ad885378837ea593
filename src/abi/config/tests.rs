//! The configuration's exports as C calls them.

use super::*;
use crate::status::{
    KABI_STATUS_ARGUMENT, KABI_STATUS_BUFFER_TOO_SMALL, KABI_STATUS_HANDLE, KABI_STATUS_OK,
};
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, Ordering};

fn new() -> *mut kabi_config_t {
    let mut config = null_mut();
    // SAFETY: the output is valid, the error not wanted.
    let status = unsafe { kabi_config_new(&mut config, null_mut()) };
    assert_eq!(status, KABI_STATUS_OK);
    config
}

fn set(config: *mut kabi_config_t, name: &CStr, value: &CStr) -> kabi_status_t {
    // SAFETY: terminated texts.
    unsafe { kabi_config_set(config, name.as_ptr(), value.as_ptr(), null_mut()) }
}

fn get(config: *mut kabi_config_t, name: &CStr, size: usize) -> (kabi_status_t, usize, Vec<u8>) {
    let mut buffer = vec![1u8; size];
    let mut length = usize::MAX;
    let pointer = if size == 0 {
        null_mut()
    } else {
        buffer.as_mut_ptr().cast()
    };
    // SAFETY: the buffer has the size given.
    let status = unsafe {
        kabi_config_get(
            config,
            name.as_ptr(),
            pointer,
            size,
            &mut length,
            null_mut(),
        )
    };
    (status, length, buffer)
}

#[test]
fn values_cross() {
    let c = new();
    assert_eq!(set(c, c"linger.ms", c"25"), KABI_STATUS_OK);
    assert_eq!(
        get(c, c"linger.ms", 3),
        (KABI_STATUS_OK, 2, b"25\0".to_vec())
    );
    assert_eq!(
        get(c, c"linger.ms", 2),
        (KABI_STATUS_BUFFER_TOO_SMALL, 2, vec![1, 1])
    );
    assert_eq!(get(c, c"linger.ms", 0).0, KABI_STATUS_BUFFER_TOO_SMALL);
    assert_eq!(get(c, c"group.id", 2), (KABI_STATUS_NOENT, 0, vec![0, 1]));
    assert_eq!(get(c, c"group.id", 0), (KABI_STATUS_NOENT, 0, vec![]));
    assert_eq!(get(c, c"grup.id", 0).0, KABI_STATUS_ARGUMENT);
    // SAFETY: terminated texts and valid outputs, or the NULLs that are to be refused.
    unsafe {
        assert_eq!(
            kabi_config_unset(c, c"linger.ms".as_ptr(), null_mut()),
            KABI_STATUS_OK
        );
        assert_eq!(
            get(c, c"linger.ms", 2),
            (KABI_STATUS_OK, 1, b"5\0".to_vec())
        );
        for (name, value) in [
            (std::ptr::null(), c"1".as_ptr()),
            (c"linger.ms".as_ptr(), std::ptr::null()),
        ] {
            assert_eq!(
                kabi_config_set(c, name, value, null_mut()),
                KABI_STATUS_ARGUMENT
            );
        }
        assert_eq!(
            kabi_config_new(null_mut(), null_mut()),
            KABI_STATUS_ARGUMENT
        );
        let name = c"linger.ms".as_ptr();
        let status = kabi_config_get(c, name, null_mut(), 0, null_mut(), null_mut());
        assert_eq!(status, KABI_STATUS_ARGUMENT);
        assert_eq!(kabi_config_events(c, 512, null_mut()), KABI_STATUS_ARGUMENT);
        let mut length = 0;
        let status = kabi_config_describe(null_mut(), 0, &mut length, null_mut());
        assert_eq!(status, KABI_STATUS_BUFFER_TOO_SMALL);
        assert!(length > 50_000, "{length}");
        kabi_config_free(c);
        kabi_config_free(c);
        kabi_config_free(null_mut());
    }
    assert_eq!(set(c, c"linger.ms", c"5"), KABI_STATUS_HANDLE);
}

#[test]
fn secrets_stay_out_of_errors() {
    let c = new();
    // SAFETY: all zeros is a kabi_error_t.
    let mut error: kabi_error_t = unsafe { std::mem::zeroed() };
    error.size = 512;
    for (name, value) in [
        (c"sasl.password", c"hunter2\xff"),
        (c"sasl.pasword", c"hunter2"),
    ] {
        // SAFETY: terminated texts and a valid error.
        let message = unsafe {
            let status = kabi_config_set(c, name.as_ptr(), value.as_ptr(), &mut error);
            assert_eq!(status, KABI_STATUS_ARGUMENT);
            CStr::from_ptr(error.message.as_ptr())
        };
        assert!(
            !message.to_str().unwrap().contains("hunter2"),
            "{message:?}"
        );
    }
    // SAFETY: a handle of ours.
    unsafe { kabi_config_free(c) };
}

static FINALIZED: AtomicI32 = AtomicI32::new(0);

unsafe extern "C" fn finalize(_user: *mut c_void) {
    FINALIZED.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn finalizers_run_once() {
    let c = new();
    // SAFETY: the finalizer takes any pointer.
    let handler = |c, kinds, finalizer| unsafe {
        kabi_config_handler(c, kinds, None, null_mut(), finalizer, null_mut())
    };
    let finalized = || FINALIZED.load(Ordering::SeqCst);
    assert_eq!(handler(c, 0, Some(finalize)), KABI_STATUS_ARGUMENT);
    assert_eq!(handler(c, 512, Some(finalize)), KABI_STATUS_ARGUMENT);
    assert_eq!(handler(null_mut(), 1, Some(finalize)), KABI_STATUS_HANDLE);
    assert_eq!(
        finalized(),
        0,
        "after a failure the user pointer is the program's"
    );
    assert_eq!(handler(c, 3, Some(finalize)), KABI_STATUS_OK);
    assert_eq!(handler(c, 1, Some(finalize)), KABI_STATUS_OK);
    assert_eq!(finalized(), 0, "kind 2 holds the first still");
    assert_eq!(handler(c, 3, None), KABI_STATUS_OK);
    assert_eq!(finalized(), 2);
    assert_eq!(handler(c, 3, Some(finalize)), KABI_STATUS_OK);
    // SAFETY: a handle of ours.
    unsafe { kabi_config_free(c) };
    assert_eq!(finalized(), 3);
}
