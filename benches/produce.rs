//! What a send and its report cost, kafkabi against librdkafka alone: `cargo bench --bench produce`.
//!
//! Both send the same records of 100 bytes with the same properties to the same embedded cluster, which is
//! a process of its own, in turns. CPU is that of the whole client: the calls, librdkafka's threads and the
//! kernel's share of the sockets, from the send until the program has seen every report.
//!
//! librdkafka alone is driven the way that costs it least: the thread that sends serves the delivery
//! callback by rd_kafka_poll(0) after each batch. A thread that only polls, which bindings prefer, is there
//! too. Both sides fill the array or buffer that they hand over beforehand and write new tokens per batch.

mod common;

use common::{
    compare, kabi_config, ok, raw_client, raw_config, rounds, timed, wanted, Cluster, Contender,
    Round,
};
use kafkabi::abi::{config, producer, producer_send};
use kafkabi::record::{
    kabi_event_t, kabi_message_t, kabi_packed_t, kabi_producer_t, KABI_EVENT_REPORT,
    KABI_PARTITION_RECORD, KABI_TOPIC_RECORD,
};
use rdkafka::bindings as raw;
use std::ffi::{c_void, CString};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

const TOPIC: &str = "bench";
const BATCH: usize = 512;
const VALUE: usize = 100;
const BATCHES: usize = 400;
/// Records under way at most; librdkafka's own queue takes 100,000.
const WINDOW: u64 = 40_000;
const ANY: i32 = -1;

/// What both sides set. kafkabi's default of enable.idempotence=true is set for librdkafka as well.
const PROPERTIES: &[(&str, &str)] = &[("enable.idempotence", "true"), ("linger.ms", "5")];

static VALUES: [u8; VALUE] = [b'v'; VALUE];

fn main() {
    let cluster = Cluster::start(&[TOPIC]);
    let rounds = rounds(15);
    for (title, partition) in [
        ("send, partition chosen by librdkafka", ANY),
        ("send, one partition", 3),
    ] {
        if wanted(title) {
            let contenders: Vec<Contender> = vec![
                raw_batch(&cluster, partition),
                raw_polled(&cluster, partition),
                packed(&cluster, partition, Reports::Drain),
                packed(&cluster, partition, Reports::Poll),
                packed(&cluster, partition, Reports::Off),
                many(&cluster, partition),
            ];
            compare(title, rounds, contenders);
        }
    }
    let title = "send one record a call";
    if wanted(title) {
        compare(title, rounds, vec![raw_single(&cluster), single(&cluster)]);
    }
}

/// One side, as the loop below drives it.
trait Side {
    /// Sends the next records; how many.
    fn send(&mut self) -> u64;
    /// Takes reports, waiting up to so many milliseconds for the first; how many since the last time.
    fn reports(&mut self, timeout_ms: i32) -> u64;
}

/// Sends a round's records, with a window of them under way, and waits for the last report.
fn round(side: &mut impl Side) -> Round {
    const TOTAL: u64 = (BATCHES * BATCH) as u64;
    timed(|| {
        let (mut sent, mut reported) = (0, 0);
        while sent < TOTAL {
            sent += side.send();
            reported += side.reports(0);
            while sent - reported > WINDOW {
                reported += side.reports(100);
            }
        }
        while reported < sent {
            reported += side.reports(100);
        }
        sent
    })
}

fn contender<'a>(name: &'a str, mut side: impl Side + 'a) -> Contender<'a> {
    (name, Box::new(move || round(&mut side)))
}

// ---- librdkafka alone ----

struct Raw {
    client: *mut raw::rd_kafka_t,
    topic: *mut raw::rd_kafka_topic_t,
    partition: i32,
    messages: Vec<raw::rd_kafka_message_t>,
    tokens: u64,
    seen: Arc<Seen>,
    taken: u64,
    /// Another thread polls.
    polled: bool,
    single: bool,
}

/// What the delivery callback leaves.
#[derive(Default)]
struct Seen {
    reports: AtomicU64,
    tokens: AtomicU64,
}

unsafe extern "C" fn on_report(
    _client: *mut raw::rd_kafka_t,
    message: *const raw::rd_kafka_message_t,
    opaque: *mut c_void,
) {
    let (seen, message) = unsafe { (&*opaque.cast::<Seen>(), &*message) };
    assert_eq!(message.err as i32, 0);
    // One thread runs the callback.
    let bump = |to: &AtomicU64, by| to.store(to.load(Ordering::Relaxed) + by, Ordering::Release);
    bump(&seen.tokens, message._private as u64);
    bump(&seen.reports, 1);
}

fn raw_producer(cluster: &Cluster, partition: i32) -> Raw {
    let seen: Arc<Seen> = Arc::default();
    let conf = raw_config(PROPERTIES);
    let conf_too = [("bootstrap.servers", &*cluster.bootstrap)];
    let name = CString::new(TOPIC).expect("no NUL");
    unsafe {
        for (key, value) in conf_too {
            let (key, value) = (CString::new(key), CString::new(value));
            let (key, value) = (key.expect("no NUL"), value.expect("no NUL"));
            raw::rd_kafka_conf_set(conf, key.as_ptr(), value.as_ptr(), null_mut(), 0);
        }
        raw::rd_kafka_conf_set_opaque(conf, Arc::as_ptr(&seen).cast_mut().cast());
        raw::rd_kafka_conf_set_dr_msg_cb(conf, Some(on_report));
        let client = raw_client(raw::rd_kafka_type_t::RD_KAFKA_PRODUCER, conf);
        let topic = raw::rd_kafka_topic_new(client, name.as_ptr(), null_mut());
        let message = || raw::rd_kafka_message_t {
            err: raw::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR,
            rkt: null_mut(),
            partition: 0,
            payload: VALUES.as_ptr().cast_mut().cast(),
            len: VALUE,
            key: null_mut(),
            key_len: 0,
            offset: 0,
            _private: null_mut(),
        };
        Raw {
            client,
            topic,
            partition,
            messages: std::iter::repeat_with(message).take(BATCH).collect(),
            tokens: 0,
            seen,
            taken: 0,
            polled: false,
            single: false,
        }
    }
}

impl Raw {
    fn send_single(&mut self) {
        use raw::rd_kafka_vtype_t as v;
        self.tokens += 1;
        let code = unsafe {
            raw::rd_kafka_producev(
                self.client,
                v::RD_KAFKA_VTYPE_RKT,
                self.topic,
                v::RD_KAFKA_VTYPE_PARTITION,
                self.partition,
                v::RD_KAFKA_VTYPE_MSGFLAGS,
                raw::RD_KAFKA_MSG_F_COPY,
                v::RD_KAFKA_VTYPE_VALUE,
                VALUES.as_ptr(),
                VALUE,
                v::RD_KAFKA_VTYPE_OPAQUE,
                self.tokens as *mut c_void,
                v::RD_KAFKA_VTYPE_END,
            )
        };
        assert_eq!(code as i32, 0);
    }
}

impl Side for Raw {
    fn send(&mut self) -> u64 {
        if self.single {
            for _ in 0..BATCH {
                self.send_single();
            }
            return BATCH as u64;
        }
        for message in &mut self.messages {
            self.tokens += 1;
            message._private = self.tokens as *mut c_void;
        }
        let sent = unsafe {
            raw::rd_kafka_produce_batch(
                self.topic,
                self.partition,
                raw::RD_KAFKA_MSG_F_COPY,
                self.messages.as_mut_ptr(),
                BATCH as i32,
            )
        };
        assert_eq!(sent, BATCH as i32);
        BATCH as u64
    }

    fn reports(&mut self, timeout_ms: i32) -> u64 {
        if !self.polled {
            unsafe { raw::rd_kafka_poll(self.client, timeout_ms) };
        } else if timeout_ms > 0 && self.seen.reports.load(Ordering::Acquire) == self.taken {
            // The polling thread unparks this one.
            std::thread::park_timeout(Duration::from_millis(100));
        }
        let seen = self.seen.reports.load(Ordering::Acquire);
        seen - std::mem::replace(&mut self.taken, seen)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        unsafe {
            raw::rd_kafka_topic_destroy(self.topic);
            raw::rd_kafka_destroy(self.client);
        }
    }
}

fn raw_batch(cluster: &Cluster, partition: i32) -> Contender<'static> {
    contender(
        "rd_kafka_produce_batch, rd_kafka_poll by the sender",
        raw_producer(cluster, partition),
    )
}

/// A thread that runs the delivery callback.
struct Polled {
    side: Raw,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Side for Polled {
    fn send(&mut self) -> u64 {
        self.side.send()
    }

    fn reports(&mut self, timeout_ms: i32) -> u64 {
        self.side.reports(timeout_ms)
    }
}

impl Drop for Polled {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn raw_polled(cluster: &Cluster, partition: i32) -> Contender<'static> {
    let mut side = raw_producer(cluster, partition);
    side.polled = true;
    let stop: Arc<AtomicBool> = Arc::default();
    let (stopped, client) = (Arc::clone(&stop), side.client as usize);
    let sender = std::thread::current();
    let thread = std::thread::spawn(move || {
        while !stopped.load(Ordering::SeqCst) {
            if unsafe { raw::rd_kafka_poll(client as *mut raw::rd_kafka_t, 100) } > 0 {
                sender.unpark();
            }
        }
    });
    contender(
        "rd_kafka_produce_batch, rd_kafka_poll by a thread",
        Polled {
            side,
            stop,
            thread: Some(thread),
        },
    )
}

fn raw_single(cluster: &Cluster) -> Contender<'static> {
    let mut side = raw_producer(cluster, ANY);
    side.single = true;
    contender("rd_kafka_producev, rd_kafka_poll by the sender", side)
}

// ---- kafkabi ----

#[derive(Clone, Copy, PartialEq)]
enum Reports {
    Drain,
    Poll,
    Off,
}

#[derive(Clone, Copy, PartialEq)]
enum Call {
    Packed,
    Many,
    One,
}

struct Ours {
    producer: *mut kabi_producer_t,
    call: Call,
    how: Reports,
    packed: Vec<u64>,
    messages: Vec<kabi_message_t>,
    statuses: Vec<i32>,
    events: Vec<kabi_event_t>,
    tokens: u64,
    seen: Arc<Seen>,
    taken: u64,
    unreported: u64,
}

const STRIDE: usize = (size_of::<kabi_packed_t>() + VALUE).div_ceil(8);
const TOKEN: usize = std::mem::offset_of!(kabi_packed_t, token) / 8;

unsafe extern "C" fn on_events(
    events: *const kabi_event_t,
    count: usize,
    _bytes: *const u8,
    user: *mut c_void,
) -> i32 {
    let (seen, events) = unsafe {
        (
            &*user.cast::<Seen>(),
            std::slice::from_raw_parts(events, count),
        )
    };
    look(events, seen);
    0
}

/// Reads each report as the raw side's callback does.
fn look(events: &[kabi_event_t], seen: &Seen) {
    for event in events {
        assert_eq!((event.kind, event.code), (KABI_EVENT_REPORT, 0));
        seen.tokens.store(
            seen.tokens.load(Ordering::Relaxed) + event.token,
            Ordering::Relaxed,
        );
    }
    let reports = seen.reports.load(Ordering::Relaxed) + events.len() as u64;
    seen.reports.store(reports, Ordering::Relaxed);
}

fn our_producer(cluster: &Cluster, partition: i32, call: Call, how: Reports) -> Ours {
    let seen: Arc<Seen> = Arc::default();
    let config = kabi_config(PROPERTIES);
    let (name, value) = (c"bootstrap.servers", CString::new(&*cluster.bootstrap));
    let value = value.expect("no NUL");
    let mut producer: *mut kabi_producer_t = null_mut();
    let mut topic = 0;
    let topic_name = CString::new(TOPIC).expect("no NUL");
    unsafe {
        ok(|e| config::kabi_config_set(config, name.as_ptr(), value.as_ptr(), e));
        let user = Arc::as_ptr(&seen).cast_mut().cast();
        ok(|e| {
            config::kabi_config_handler(config, KABI_EVENT_REPORT, Some(on_events), user, None, e)
        });
        if how == Reports::Off {
            ok(|e| config::kabi_config_events(config, 0, e));
        }
        ok(|e| producer::kabi_producer_new(config, &mut producer, e));
        config::kabi_config_free(config);
        ok(|e| producer::kabi_producer_topic(producer, topic_name.as_ptr(), &mut topic, e));
    }
    let message = kabi_message_t {
        topic,
        partition,
        value: VALUES.as_ptr().cast(),
        value_length: VALUE as i64,
        ..Default::default()
    };
    Ours {
        producer,
        call,
        how,
        packed: pack(topic, partition),
        messages: vec![message; BATCH],
        statuses: vec![0; BATCH],
        events: vec![kabi_event_t::default(); 4096],
        tokens: 0,
        seen,
        taken: 0,
        unreported: 0,
    }
}

/// A batch of records in one buffer.
fn pack(topic: i32, partition: i32) -> Vec<u64> {
    let head = kabi_packed_t {
        size: STRIDE as u32 * 8,
        topic,
        partition,
        value_length: VALUE as i32,
        timestamp: 0,
        ..Default::default()
    };
    let mut words = vec![0u64; STRIDE * BATCH];
    for record in words.chunks_exact_mut(STRIDE) {
        unsafe {
            record.as_mut_ptr().cast::<kabi_packed_t>().write(head);
            let body = record.as_mut_ptr().cast::<u8>().add(size_of_val(&head));
            body.copy_from_nonoverlapping(VALUES.as_ptr(), VALUE);
        }
    }
    words
}

impl Ours {
    fn send_packed(&mut self) {
        for record in self.packed.chunks_exact_mut(STRIDE) {
            self.tokens += 1;
            record[TOKEN] = self.tokens;
        }
        let mut accepted = 0;
        ok(|e| unsafe {
            producer_send::kabi_producer_send_packed(
                self.producer,
                self.packed.as_ptr().cast(),
                self.packed.len() * 8,
                BATCH,
                KABI_TOPIC_RECORD,
                KABI_PARTITION_RECORD,
                -1,
                self.statuses.as_mut_ptr(),
                &mut accepted,
                e,
            )
        });
        assert_eq!(accepted, BATCH);
    }

    fn send_many(&mut self) {
        for message in &mut self.messages {
            self.tokens += 1;
            message.token = self.tokens;
        }
        let mut accepted = 0;
        ok(|e| unsafe {
            producer_send::kabi_producer_send_many(
                self.producer,
                self.messages.as_ptr(),
                BATCH,
                -1,
                self.statuses.as_mut_ptr(),
                &mut accepted,
                e,
            )
        });
        assert_eq!(accepted, BATCH);
    }

    fn send_ones(&mut self) {
        for _ in 0..BATCH {
            self.tokens += 1;
            self.messages[0].token = self.tokens;
            // Filling a fresh kabi_error_t would be a cost of the benchmark's own.
            let status = unsafe {
                producer_send::kabi_producer_send(
                    self.producer,
                    self.messages.as_ptr(),
                    -1,
                    null_mut(),
                )
            };
            assert_eq!(status, 0);
        }
    }

    fn drain(&mut self, timeout_ms: i32) {
        let mut count = 0;
        ok(|e| unsafe {
            producer::kabi_producer_drain(
                self.producer,
                timeout_ms,
                self.events.as_mut_ptr(),
                self.events.len(),
                &mut count,
                null_mut(),
                0,
                null_mut(),
                e,
            )
        });
        look(&self.events[..count], &self.seen);
    }
}

impl Side for Ours {
    fn send(&mut self) -> u64 {
        match self.call {
            Call::Packed => self.send_packed(),
            Call::Many => self.send_many(),
            Call::One => self.send_ones(),
        }
        self.unreported += BATCH as u64;
        BATCH as u64
    }

    fn reports(&mut self, timeout_ms: i32) -> u64 {
        match self.how {
            Reports::Drain => self.drain(timeout_ms),
            Reports::Poll => ok(|e| unsafe {
                producer::kabi_producer_poll(self.producer, timeout_ms, null_mut(), e)
            }),
            Reports::Off if timeout_ms == 0 => return 0,
            Reports::Off => {
                let null = null::<u64>().cast_mut();
                ok(|e| unsafe { producer::kabi_producer_flush(self.producer, -1, null, e) });
                return std::mem::take(&mut self.unreported);
            }
        }
        let seen = self.seen.reports.load(Ordering::Relaxed);
        seen - std::mem::replace(&mut self.taken, seen)
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        unsafe {
            ok(|e| producer::kabi_producer_close(self.producer, -1, null_mut(), e));
            producer::kabi_producer_free(self.producer);
        }
    }
}

fn packed(cluster: &Cluster, partition: i32, how: Reports) -> Contender<'static> {
    let name = match how {
        Reports::Drain => "kabi_producer_send_packed, kabi_producer_drain",
        Reports::Poll => "kabi_producer_send_packed, kabi_producer_poll",
        Reports::Off => "kabi_producer_send_packed, reports off, kabi_producer_flush",
    };
    contender(name, our_producer(cluster, partition, Call::Packed, how))
}

fn many(cluster: &Cluster, partition: i32) -> Contender<'static> {
    contender(
        "kabi_producer_send_many, kabi_producer_drain",
        our_producer(cluster, partition, Call::Many, Reports::Drain),
    )
}

fn single(cluster: &Cluster) -> Contender<'static> {
    contender(
        "kabi_producer_send, kabi_producer_drain",
        our_producer(cluster, ANY, Call::One, Reports::Drain),
    )
}
