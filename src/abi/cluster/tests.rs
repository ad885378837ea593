//! The embedded cluster's exports as C calls them.

use super::*;
use crate::abi::cluster_faults::kabi_cluster_inject_errors;
use crate::record::KABI_BROKER_ALL;
use crate::status::{
    KABI_STATUS_ARGUMENT, KABI_STATUS_BUFFER_TOO_SMALL, KABI_STATUS_HANDLE, KABI_STATUS_OK,
    KABI_STATUS_TOPIC_ALREADY_EXISTS, KABI_STATUS_WRONG_TYPE,
};
use std::ptr::null_mut;

#[test]
fn a_cluster_lives_and_ends() {
    let none = null_mut();
    // SAFETY: terminated texts, valid outputs, and handles of ours or NULL.
    unsafe {
        let mut k = null_mut();
        assert_eq!(kabi_cluster_new(0, &mut k, none), KABI_STATUS_ARGUMENT);
        assert!(k.is_null());
        assert_eq!(kabi_cluster_new(2, null_mut(), none), KABI_STATUS_ARGUMENT);
        assert_eq!(kabi_cluster_new(2, &mut k, none), KABI_STATUS_OK);
        let mut length = 0;
        let mut buffer = [0; 64];
        let status = kabi_cluster_bootstrap(k, null_mut(), 0, &mut length, none);
        assert_eq!(status, KABI_STATUS_BUFFER_TOO_SMALL);
        let status = kabi_cluster_bootstrap(k, buffer.as_mut_ptr(), 64, &mut length, none);
        assert_eq!(status, KABI_STATUS_OK);
        let topic = |name: *const c_char| kabi_cluster_topic_create(k, name, 3, 2, none);
        assert_eq!(topic(c"t".as_ptr()), KABI_STATUS_OK);
        assert_eq!(topic(c"t".as_ptr()), KABI_STATUS_TOPIC_ALREADY_EXISTS);
        assert_eq!(topic(std::ptr::null()), KABI_STATUS_ARGUMENT);
        assert_eq!(
            kabi_cluster_broker_down(k, KABI_BROKER_ALL, none),
            KABI_STATUS_OK
        );
        assert_eq!(kabi_cluster_broker_up(k, 1, none), KABI_STATUS_OK);
        assert_eq!(kabi_cluster_broker_up(k, 3, none), KABI_STATUS_ARGUMENT);
        assert_eq!(kabi_cluster_latency(k, 2, 5, none), KABI_STATUS_OK);
        assert_eq!(kabi_cluster_inject_errors(k, 0, 7, 1, none), KABI_STATUS_OK);
        assert_eq!(
            kabi_cluster_inject_errors(k, 0, -192, 1, none),
            KABI_STATUS_ARGUMENT
        );
        let wrong = crate::abi::config::kabi_config_unset(k.cast(), c"acks".as_ptr(), none);
        assert_eq!(wrong, KABI_STATUS_WRONG_TYPE);
        kabi_cluster_free(k);
        kabi_cluster_free(k);
        kabi_cluster_free(null_mut());
        assert_eq!(kabi_cluster_broker_up(k, 1, none), KABI_STATUS_HANDLE);
    }
}
