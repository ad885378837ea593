//! What one call costs apart from its work: `cargo bench --bench calls`. Exports are called through
//! pointers that the compiler can't see through, as from another language. Prints the median of the
//! nanoseconds of CPU over several rounds.

mod common;

use common::{cpu_ns, kabi_config, median, ok, Cluster};
use kafkabi::abi::{config, consumer, library, producer};
use kafkabi::record::{
    kabi_consumer_t, kabi_error_t, kabi_event_t, kabi_partition_t, kabi_producer_t,
};
use std::ffi::c_char;
use std::hint::black_box;
use std::ptr::{null, null_mut};

const ROUNDS: usize = 15;

type Position = unsafe extern "C" fn(
    *mut kabi_consumer_t,
    *mut kabi_partition_t,
    usize,
    *mut kabi_error_t,
) -> i32;
type Find =
    unsafe extern "C" fn(*mut kabi_producer_t, *const c_char, *mut i32, *mut kabi_error_t) -> i32;
type Drain = unsafe extern "C" fn(
    *mut kabi_producer_t,
    i32,
    *mut kabi_event_t,
    usize,
    *mut usize,
    *mut u8,
    usize,
    *mut usize,
    *mut kabi_error_t,
) -> i32;

fn main() {
    let cluster = Cluster::start(&["bench"]);
    let properties = [("bootstrap.servers", &*cluster.bootstrap)];
    let mut sender: *mut kabi_producer_t = null_mut();
    let mut reader: *mut kabi_consumer_t = null_mut();
    let mut topic = 0;
    unsafe {
        let conf = kabi_config(&properties);
        ok(|e| producer::kabi_producer_new(conf, &mut sender, e));
        ok(|e| consumer::kabi_consumer_new(conf, &mut reader, e));
        config::kabi_config_free(conf);
        ok(|e| producer::kabi_producer_topic(sender, c"bench".as_ptr(), &mut topic, e));
    }
    println!("{:<64}{:>8}", "a call", "ns");
    calls(sender, reader);
    unsafe {
        ok(|e| producer::kabi_producer_close(sender, -1, null_mut(), e));
        ok(|e| consumer::kabi_consumer_close(reader, -1, e));
        producer::kabi_producer_free(sender);
        consumer::kabi_consumer_free(reader);
    }
}

fn calls(sender: *mut kabi_producer_t, reader: *mut kabi_consumer_t) {
    let version = black_box(library::kabi_abi_version as extern "C" fn() -> u32);
    report("kabi_abi_version: an export that does nothing", || {
        black_box(version());
    });
    let position = black_box(consumer::kabi_consumer_position as Position);
    report(
        "kabi_consumer_position of nothing: boundary and handle",
        || {
            let status: i32 = unsafe { position(reader, null_mut(), 0, null_mut()) };
            black_box(status);
        },
    );
    let find = black_box(producer::kabi_producer_topic as Find);
    let mut topic = 0;
    report("kabi_producer_topic of a known name", || {
        let status: i32 = unsafe { find(sender, c"bench".as_ptr(), &mut topic, null_mut()) };
        black_box(status);
    });
    let drain = black_box(producer::kabi_producer_drain as Drain);
    let mut count = 0;
    report("kabi_producer_drain with nothing there", || {
        let (no_bytes, no_size) = (null_mut(), null_mut());
        let status: i32 = unsafe {
            drain(
                sender,
                0,
                null_mut(),
                0,
                &mut count,
                no_bytes,
                0,
                no_size,
                null_mut(),
            )
        };
        black_box(status);
    });
    let mut error = kabi_error_t::default();
    report("an error, with its message", || {
        let status: i32 = unsafe { find(sender, null(), &mut topic, &mut error) };
        black_box(status);
    });
    report("an error, with no kabi_error_t to fill", || {
        let status: i32 = unsafe { find(sender, null(), &mut topic, null_mut()) };
        black_box(status);
    });
    report("a handle that is not one, with its message", || {
        let no_handle = black_box(12_345usize) as *mut kabi_producer_t;
        let status: i32 = unsafe { find(no_handle, c"bench".as_ptr(), &mut topic, &mut error) };
        black_box(status);
    });
}

fn report(what: &str, mut call: impl FnMut()) {
    const CALLS: u32 = 300_000;
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let begin = cpu_ns();
            (0..CALLS).for_each(|_| call());
            (cpu_ns() - begin) as f64 / f64::from(CALLS)
        })
        .collect();
    println!("{what:<64}{:>8.1}", median(&mut rounds));
}
