//! What becomes of a poll when the table of handles is full: nothing is pulled, so nothing is lost. Sixteen
//! million handles fill it, which is what the hook is for: `cargo test --features test-hooks --test full_table`.

use kafkabi::abi::cluster::{kabi_cluster_bootstrap, kabi_cluster_new, kabi_cluster_topic_create};
use kafkabi::abi::config::{kabi_config_new, kabi_config_set};
use kafkabi::abi::consumer::{
    kabi_consumer_assign, kabi_consumer_close, kabi_consumer_commit, kabi_consumer_committed,
    kabi_consumer_new, kabi_consumer_topic,
};
use kafkabi::abi::consumer_poll::{kabi_batch_free, kabi_consumer_poll};
use kafkabi::abi::library::kabi_shutdown;
use kafkabi::abi::producer::{kabi_producer_flush, kabi_producer_new, kabi_producer_topic};
use kafkabi::abi::producer_send::kabi_producer_send;
use kafkabi::abi::test_hooks::kabi_test_no_handles;
use kafkabi::record::{
    kabi_batch_info_t, kabi_config_t, kabi_consumer_t, kabi_message_t, kabi_partition_t,
};
use kafkabi::status::{KABI_STATUS_OK, KABI_STATUS_SYSTEM};
use std::ffi::CStr;
use std::ptr::null_mut;

const RECORDS: usize = 10;
const PATIENCE_MS: i32 = 30_000;

/// A call that has to work.
macro_rules! ok {
    ($call:expr) => {
        // SAFETY: what is handed over is this function's own, and alive during the call.
        assert_eq!(unsafe { $call }, KABI_STATUS_OK, stringify!($call))
    };
}

/// A cluster with some records in the only partition of "t", and a configuration for it.
fn prepare() -> *mut kabi_config_t {
    let (mut cluster, mut config, mut producer) = (null_mut(), null_mut(), null_mut());
    let mut servers = [0; 256];
    let (mut length, mut topic) = (0, -1);
    ok!(kabi_cluster_new(1, &mut cluster, null_mut()));
    ok!(kabi_cluster_topic_create(
        cluster,
        c"t".as_ptr(),
        1,
        1,
        null_mut()
    ));
    ok!(kabi_cluster_bootstrap(
        cluster,
        servers.as_mut_ptr(),
        servers.len(),
        &mut length,
        null_mut()
    ));
    ok!(kabi_config_new(&mut config, null_mut()));
    let properties = [
        // SAFETY: the text was terminated.
        (c"bootstrap.servers", unsafe {
            CStr::from_ptr(servers.as_ptr())
        }),
        (c"group.id", c"g"),
        (c"enable.auto.commit", c"false"),
    ];
    for (name, value) in properties {
        ok!(kabi_config_set(
            config,
            name.as_ptr(),
            value.as_ptr(),
            null_mut()
        ));
    }
    ok!(kabi_producer_new(config, &mut producer, null_mut()));
    ok!(kabi_producer_topic(
        producer,
        c"t".as_ptr(),
        &mut topic,
        null_mut()
    ));
    for _ in 0..RECORDS {
        let message = kabi_message_t {
            topic,
            ..Default::default()
        };
        ok!(kabi_producer_send(
            producer,
            &message,
            PATIENCE_MS,
            null_mut()
        ));
    }
    ok!(kabi_producer_flush(
        producer,
        PATIENCE_MS,
        null_mut(),
        null_mut()
    ));
    config
}

/// Polls, and tells the status and the offsets handed out.
fn poll(consumer: *mut kabi_consumer_t, most: usize) -> (i32, Vec<i64>) {
    let (mut batch, mut info) = (null_mut(), kabi_batch_info_t::default());
    // SAFETY: as above.
    let status = unsafe {
        kabi_consumer_poll(
            consumer,
            most,
            PATIENCE_MS,
            &mut batch,
            &mut info,
            null_mut(),
        )
    };
    let records = match info.records.is_null() {
        true => &[][..],
        // SAFETY: the batch is alive, and has so many.
        false => unsafe { std::slice::from_raw_parts(info.records, info.count) },
    };
    let offsets = records.iter().map(|record| record.offset).collect();
    // SAFETY: the records are not looked at any more.
    unsafe { kabi_batch_free(batch) };
    (status, offsets)
}

fn committed(consumer: *mut kabi_consumer_t, topic: i32) -> i64 {
    let mut one = kabi_partition_t {
        topic,
        partition: 0,
        ..Default::default()
    };
    let mut used = 0;
    ok!(kabi_consumer_commit(
        consumer,
        null_mut(),
        0,
        PATIENCE_MS,
        null_mut()
    ));
    ok!(kabi_consumer_committed(
        consumer,
        &mut one,
        1,
        PATIENCE_MS,
        null_mut(),
        0,
        &mut used,
        null_mut()
    ));
    one.offset
}

#[test]
fn a_poll_without_a_handle_to_give_loses_nothing() {
    let config = prepare();
    let (mut consumer, mut topic) = (null_mut(), -1);
    ok!(kabi_consumer_new(config, &mut consumer, null_mut()));
    ok!(kabi_consumer_topic(
        consumer,
        c"t".as_ptr(),
        &mut topic,
        null_mut()
    ));
    let one = kabi_partition_t {
        topic,
        partition: 0,
        offset: 0,
        ..Default::default()
    };
    ok!(kabi_consumer_assign(consumer, &one, 1, null_mut()));
    let (status, offsets) = poll(consumer, 3);
    assert_eq!(status, KABI_STATUS_OK);
    let first = offsets.len();
    assert!((1..=3).contains(&first));

    kabi_test_no_handles(1);
    for _ in 0..3 {
        assert_eq!(poll(consumer, RECORDS), (KABI_STATUS_SYSTEM, vec![]));
    }
    // Nor does a poll that was refused say that what came before is handled.
    assert_eq!(committed(consumer, topic), -1001);
    kabi_test_no_handles(0);

    let mut seen = offsets;
    while seen.len() < RECORDS {
        let (status, offsets) = poll(consumer, RECORDS);
        assert_eq!(status, KABI_STATUS_OK);
        assert!(!offsets.is_empty(), "the rest comes in time");
        seen.extend(offsets);
    }
    assert!(seen.iter().copied().eq(0..RECORDS as i64), "{seen:?}");
    ok!(kabi_consumer_close(consumer, PATIENCE_MS, null_mut()));
    ok!(kabi_shutdown(PATIENCE_MS, null_mut()));
}
