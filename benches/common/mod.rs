//! What the benchmarks share: an embedded cluster in a child process, CPU time, and rounds of several
//! contenders in turn.

#![allow(dead_code)] // each benchmark uses a part of it

use std::ffi::CString;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::ptr::null_mut;
use std::time::Instant;

use kafkabi::abi::{cluster, config};
use kafkabi::record::{kabi_cluster_t, kabi_config_t, kabi_error_t};
use rdkafka::bindings as raw;

pub const PARTITIONS: i32 = 8;
const IS_CLUSTER: &str = "KAFKABI_BENCH_CLUSTER";

/// An embedded cluster in a process of its own, so that this process's CPU time is the client's alone.
pub struct Cluster {
    child: Child,
    pub bootstrap: String,
}

impl Cluster {
    /// To be called first in `main`: in the child it is the cluster and does not return.
    pub fn start(topics: &[&str]) -> Cluster {
        if let Ok(topics) = std::env::var(IS_CLUSTER) {
            serve(topics.split(','));
        }
        let mut child = Command::new(std::env::current_exe().expect("the program's path"))
            .env(IS_CLUSTER, topics.join(","))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child process");
        let mut bootstrap = String::new();
        BufReader::new(child.stdout.as_mut().expect("piped"))
            .read_line(&mut bootstrap)
            .expect("the cluster's address");
        let bootstrap = bootstrap.trim().to_owned();
        Cluster { child, bootstrap }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Runs until stdin ends.
fn serve<'a>(topics: impl Iterator<Item = &'a str>) -> ! {
    let mut handle: *mut kabi_cluster_t = null_mut();
    ok(|e| unsafe { cluster::kabi_cluster_new(1, &mut handle, e) });
    for topic in topics {
        let name = CString::new(topic).expect("no NUL");
        ok(|e| unsafe {
            cluster::kabi_cluster_topic_create(handle, name.as_ptr(), PARTITIONS, 1, e)
        });
    }
    let mut text = [0u8; 256];
    let mut length = 0;
    ok(|e| unsafe {
        let into = text.as_mut_ptr().cast();
        cluster::kabi_cluster_bootstrap(handle, into, text.len(), &mut length, e)
    });
    println!("{}", String::from_utf8_lossy(&text[..length]));
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    unsafe { cluster::kabi_cluster_free(handle) };
    std::process::exit(0);
}

/// Runs an export that has to succeed.
pub fn ok(export: impl FnOnce(*mut kabi_error_t) -> i32) {
    let mut error = kabi_error_t::default();
    let status = export(&mut error);
    let text = unsafe { std::ffi::CStr::from_ptr(error.message.as_ptr()) };
    assert_eq!(status, 0, "{}", text.to_string_lossy());
}

/// A configuration for kafkabi. Its caller frees it.
pub fn kabi_config(properties: &[(&str, &str)]) -> *mut kabi_config_t {
    let mut handle = null_mut();
    ok(|e| unsafe { config::kabi_config_new(&mut handle, e) });
    for (name, value) in properties {
        let (name, value) = (CString::new(*name), CString::new(*value));
        let (name, value) = (name.expect("no NUL"), value.expect("no NUL"));
        ok(|e| unsafe { config::kabi_config_set(handle, name.as_ptr(), value.as_ptr(), e) });
    }
    handle
}

/// A configuration for librdkafka alone. The client made from it owns it.
pub fn raw_config(properties: &[(&str, &str)]) -> *mut raw::rd_kafka_conf_t {
    unsafe {
        let conf = raw::rd_kafka_conf_new();
        for (name, value) in properties {
            let (name, value) = (CString::new(*name), CString::new(*value));
            let (name, value) = (name.expect("no NUL"), value.expect("no NUL"));
            let set = raw::rd_kafka_conf_set(conf, name.as_ptr(), value.as_ptr(), null_mut(), 0);
            assert_eq!(set as i32, 0, "{name:?}");
        }
        conf
    }
}

/// A client made by librdkafka alone.
pub fn raw_client(
    kind: raw::rd_kafka_type_t,
    conf: *mut raw::rd_kafka_conf_t,
) -> *mut raw::rd_kafka_t {
    let client = unsafe { raw::rd_kafka_new(kind, conf, null_mut(), 0) };
    assert!(!client.is_null());
    client
}

/// Nanoseconds of CPU that all threads of this process have used.
pub fn cpu_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// What a round took.
pub struct Round {
    pub messages: u64,
    pub cpu_ns: u64,
    pub seconds: f64,
}

/// Times `work`, which returns how many messages it handled.
pub fn timed(work: impl FnOnce() -> u64) -> Round {
    let (cpu, clock) = (cpu_ns(), Instant::now());
    let messages = work();
    Round {
        messages,
        cpu_ns: cpu_ns() - cpu,
        seconds: clock.elapsed().as_secs_f64(),
    }
}

pub type Contender<'a> = (&'a str, Box<dyn FnMut() -> Round + 'a>);

/// Lets the contenders take turns, each round beginning with another, and prints the medians. Ratios are
/// those of the CPU in the same round to the first contender's, so what slows a whole round down cancels
/// out.
///
/// With KAFKABI_BENCH_ONLY in the environment only contenders whose names it is part of run, for a profile
/// of one.
pub fn compare(title: &str, rounds: usize, mut contenders: Vec<Contender>) {
    if let Ok(only) = std::env::var("KAFKABI_BENCH_ONLY") {
        contenders.retain(|(name, _)| name.contains(&only));
    }
    let count = contenders.len();
    let mut cpu = vec![Vec::new(); count];
    let mut rate = vec![Vec::new(); count];
    for (_, round) in &mut contenders {
        round(); // connections, caches and allocators warm up
    }
    for turn in 0..rounds {
        for place in 0..count {
            let which = (place + turn) % count;
            let round = contenders[which].1();
            cpu[which].push(round.cpu_ns as f64 / round.messages as f64);
            rate[which].push(round.messages as f64 / round.seconds);
        }
    }
    println!(
        "{title:<58}{:>7}{:>8}{:>13}{:>10}",
        "CPU ns", "ratio", "(quartiles)", "1000/s"
    );
    for (which, (name, _)) in contenders.iter().enumerate() {
        let mut ratios: Vec<f64> = cpu[which]
            .iter()
            .zip(&cpu[0])
            .map(|(own, base)| own / base)
            .collect();
        let (ns, per_second) = (median(&mut cpu[which].clone()), median(&mut rate[which]));
        let middle = median(&mut ratios);
        let (low, high) = (
            ratios[ratios.len() / 4],
            ratios[(ratios.len() * 3 / 4).min(ratios.len() - 1)],
        );
        println!(
            "  {name:<56}{ns:>7.0}{middle:>8.3}{:>13}{:>10.0}",
            format!("{low:.2}-{high:.2}"),
            per_second / 1000.0
        );
    }
}

/// Sorts, and gives the middle.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// How many rounds: the environment's KAFKABI_BENCH_ROUNDS, or `usual`.
pub fn rounds(usual: usize) -> usize {
    std::env::var("KAFKABI_BENCH_ROUNDS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(usual)
}

/// Whether a group of contenders is wanted: all, or those that an argument is part of the title of.
pub fn wanted(title: &str) -> bool {
    let mut words = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with('-'))
        .peekable();
    words.peek().is_none() || words.any(|w| title.contains(&w))
}
