//! What a received record costs, kafkabi against librdkafka alone: `cargo bench --bench consume`.
//!
//! Every round a fresh consumer of each side reads the same records of 100 bytes and an 8-byte key from the
//! same embedded cluster, a process of its own, with the same properties. CPU is that of the whole client,
//! from the assignment to the last record: fetching, parsing, handing out, looking at key, value and offset,
//! and freeing.
//!
//! Both sides store offsets for the next commit, librdkafka alone by enable.auto.offset.store (its default)
//! when it hands a record out, kafkabi when the next poll says that it was handled.

mod common;

use common::{
    compare, kabi_config, ok, raw_client, raw_config, rounds, timed, wanted, Cluster, Contender,
    Round, PARTITIONS,
};
use kafkabi::abi::{config, consumer, consumer_poll};
use kafkabi::record::{
    kabi_batch_info_t, kabi_batch_t, kabi_consumer_t, kabi_packed_t, kabi_partition_t,
    kabi_record_t, KABI_OFFSET_BEGINNING,
};
use rdkafka::bindings as raw;
use std::ffi::{c_void, CString};
use std::ptr::null_mut;

const TOPIC: &str = "bench";
/// The embedded cluster keeps 5 MiB a partition.
const PER_PARTITION: u64 = 40_000;
const TOTAL: u64 = PER_PARTITION * PARTITIONS as u64;
const BATCH: usize = 1000;

const TITLE: &str = "poll, batches of 1000";

fn main() {
    let cluster = Cluster::start(&[TOPIC]);
    fill(&cluster);
    if wanted(TITLE) {
        let address = &*cluster.bootstrap;
        let contenders: Vec<Contender> = vec![
            (
                "rd_kafka_consume_batch_queue, rd_kafka_message_destroy",
                Box::new(move || raw_round(address)),
            ),
            (
                "kabi_consumer_poll, kabi_batch_free",
                Box::new(move || our_round(address, views)),
            ),
            (
                "kabi_consumer_poll_packed",
                Box::new(move || our_round(address, packed())),
            ),
        ];
        compare(TITLE, rounds(31), contenders);
    }
}

/// What both sides set. fetch.queue.backoff.ms is kafkabi's default.
fn properties(address: &str) -> [(&str, &str); 3] {
    [
        ("bootstrap.servers", address),
        ("group.id", "bench"),
        ("fetch.queue.backoff.ms", "10"),
    ]
}

/// Writes the records that every round reads.
fn fill(cluster: &Cluster) {
    let conf = raw_config(&[
        ("bootstrap.servers", &cluster.bootstrap),
        ("linger.ms", "50"),
        ("queue.buffering.max.messages", "1000000"),
    ]);
    let name = CString::new(TOPIC).expect("no NUL");
    let value = [b'v'; 100];
    unsafe {
        let client = raw_client(raw::rd_kafka_type_t::RD_KAFKA_PRODUCER, conf);
        let topic = raw::rd_kafka_topic_new(client, name.as_ptr(), null_mut());
        for record in 0..TOTAL {
            let key = record.to_ne_bytes();
            let code = raw::rd_kafka_produce(
                topic,
                (record % PARTITIONS as u64) as i32,
                raw::RD_KAFKA_MSG_F_COPY,
                value.as_ptr().cast_mut().cast(),
                value.len(),
                key.as_ptr().cast(),
                key.len(),
                null_mut(),
            );
            assert_eq!(code, 0);
        }
        assert_eq!(raw::rd_kafka_flush(client, 60_000) as i32, 0);
        raw::rd_kafka_topic_destroy(topic);
        raw::rd_kafka_destroy(client);
    }
}

/// What a program does with a record: looks at each part, so that it is in the cache.
#[inline]
fn look(key: *const c_void, value: *const c_void, offset: i64) -> u64 {
    let byte = |pointer: *const c_void| u64::from(unsafe { pointer.cast::<u8>().read() });
    byte(key) + byte(value) + offset as u64
}

// ---- librdkafka alone ----

fn raw_round(address: &str) -> Round {
    let name = CString::new(TOPIC).expect("no NUL");
    unsafe {
        let conf = raw_config(&properties(address));
        let client = raw_client(raw::rd_kafka_type_t::RD_KAFKA_CONSUMER, conf);
        raw::rd_kafka_poll_set_consumer(client);
        let queue = raw::rd_kafka_queue_get_consumer(client);
        let list = raw::rd_kafka_topic_partition_list_new(PARTITIONS);
        for partition in 0..PARTITIONS {
            let element = raw::rd_kafka_topic_partition_list_add(list, name.as_ptr(), partition);
            (*element).offset = KABI_OFFSET_BEGINNING;
        }
        let round = timed(|| {
            assert_eq!(raw::rd_kafka_assign(client, list) as i32, 0);
            raw_read(queue)
        });
        raw::rd_kafka_topic_partition_list_destroy(list);
        raw::rd_kafka_queue_destroy(queue);
        raw::rd_kafka_consumer_close(client);
        raw::rd_kafka_destroy(client);
        round
    }
}

fn raw_read(queue: *mut raw::rd_kafka_queue_t) -> u64 {
    let mut messages: Vec<*mut raw::rd_kafka_message_t> = vec![null_mut(); BATCH];
    let (mut read, mut sum) = (0, 0u64);
    while read < TOTAL {
        // It waits for a full batch or the time-out, so wait only for one and take the rest as it is.
        let took = |timeout, from: usize, messages: &mut [*mut raw::rd_kafka_message_t]| unsafe {
            let room = &mut messages[from..];
            let most = if timeout > 0 { 1 } else { room.len() };
            raw::rd_kafka_consume_batch_queue(queue, timeout, room.as_mut_ptr(), most) as usize
        };
        let mut count = took(0, 0, &mut messages);
        if count == 0 {
            count = took(1000, 0, &mut messages);
            count += took(0, count, &mut messages);
        }
        for &message in &messages[..count] {
            unsafe {
                let seen = &*message;
                assert_eq!(seen.err as i32, 0);
                sum = sum.wrapping_add(look(seen.key, seen.payload, seen.offset));
                raw::rd_kafka_message_destroy(message);
            }
        }
        read += count as u64;
    }
    std::hint::black_box(sum);
    read
}

// ---- kafkabi ----

fn our_round(
    address: &str,
    mut poll: impl FnMut(*mut kabi_consumer_t, &mut u64) -> usize,
) -> Round {
    let name = CString::new(TOPIC).expect("no NUL");
    let mut handle: *mut kabi_consumer_t = null_mut();
    let mut topic = 0;
    unsafe {
        let conf = kabi_config(&properties(address));
        ok(|e| consumer::kabi_consumer_new(conf, &mut handle, e));
        config::kabi_config_free(conf);
        ok(|e| consumer::kabi_consumer_topic(handle, name.as_ptr(), &mut topic, e));
    }
    let partitions: Vec<kabi_partition_t> = (0..PARTITIONS)
        .map(|partition| kabi_partition_t {
            topic,
            partition,
            offset: KABI_OFFSET_BEGINNING,
            ..Default::default()
        })
        .collect();
    let round = timed(|| {
        ok(|e| unsafe {
            consumer::kabi_consumer_assign(handle, partitions.as_ptr(), partitions.len(), e)
        });
        let (mut read, mut sum) = (0, 0);
        while read < TOTAL {
            read += poll(handle, &mut sum) as u64;
        }
        std::hint::black_box(sum);
        read
    });
    unsafe {
        ok(|e| consumer::kabi_consumer_close(handle, 10_000, e));
        consumer::kabi_consumer_free(handle);
    }
    round
}

fn views(handle: *mut kabi_consumer_t, sum: &mut u64) -> usize {
    let mut batch: *mut kabi_batch_t = null_mut();
    let mut info = kabi_batch_info_t::default();
    ok(|e| unsafe {
        consumer_poll::kabi_consumer_poll(handle, BATCH, 1000, &mut batch, &mut info, e)
    });
    if info.count > 0 {
        let records: &[kabi_record_t] =
            unsafe { std::slice::from_raw_parts(info.records, info.count) };
        for record in records {
            assert_eq!(record.code, 0);
            *sum = sum.wrapping_add(look(record.key, record.value, record.offset));
        }
    }
    unsafe { consumer_poll::kabi_batch_free(batch) };
    info.count
}

fn packed() -> impl FnMut(*mut kabi_consumer_t, &mut u64) -> usize {
    const HEAD: usize = size_of::<kabi_packed_t>();
    let mut buffer = vec![0u64; 32 * 1024];
    move |handle, sum| {
        let mut info = kabi_batch_info_t::default();
        ok(|e| unsafe {
            consumer_poll::kabi_consumer_poll_packed(
                handle,
                BATCH,
                1000,
                buffer.as_mut_ptr().cast(),
                buffer.len() * 8,
                &mut info,
                e,
            )
        });
        let mut at = buffer.as_ptr().cast::<u8>();
        for _ in 0..info.count {
            unsafe {
                let head = &*at.cast::<kabi_packed_t>();
                assert_eq!(head.code, 0);
                let key = at.add(HEAD);
                let value = key.add(head.key_length as usize);
                *sum = sum.wrapping_add(look(key.cast(), value.cast(), head.offset));
                at = at.add(head.size as usize);
            }
        }
        info.count
    }
}
