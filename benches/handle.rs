//! What the handle table costs a call: `cargo bench --bench handle`. Prints the median over several
//! rounds of the nanoseconds for one enter and leave, by one thread and by several on one handle
//! and on a handle each.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;

use kafkabi::handle::{Kind, Mode, Table};

const KIND: Kind = Kind::of::<1>();
const ROUNDS: usize = 15;
const CALLS: u32 = 1_000_000;

static TABLE: Table<u64> = Table::new();

fn main() {
    let handles: Vec<u64> = (0..4)
        .map(|n| TABLE.insert(KIND, n).expect("a slot"))
        .collect();
    println!("{:<44}{:>8}", "enter and leave", "ns");
    for mode in [Mode::Open, Mode::Any] {
        report(&format!("one thread, Mode::{mode:?}"), || {
            round(&handles[..1], calls(mode))
        });
    }
    for threads in [2, 4] {
        let one = vec![handles[0]; threads];
        report(&format!("{threads} threads, one handle"), || {
            round(&one, calls(Mode::Open))
        });
        report(&format!("{threads} threads, a handle each"), || {
            round(&handles[..threads], calls(Mode::Open))
        });
    }
    report("a stale handle refused", || {
        round(&[handles[0] ^ 1], refusals)
    });
    report("insert and remove", || round(&handles[..1], lifetimes));
}

fn report(what: &str, round: impl Fn() -> f64) {
    let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| round()).collect();
    rounds.sort_by(f64::total_cmp);
    println!("{what:<44}{:>8.2}", rounds[ROUNDS / 2]);
}

/// One thread a handle, all at once; the mean of what an operation took each of them.
fn round(handles: &[u64], work: impl Fn(u64) + Sync) -> f64 {
    let start = Barrier::new(handles.len());
    let timed = |handle| {
        start.wait();
        let begin = Instant::now();
        work(handle);
        begin.elapsed().as_nanos() as f64 / f64::from(CALLS)
    };
    let times: Vec<f64> = std::thread::scope(|scope| {
        let timed = &timed;
        let threads: Vec<_> = handles
            .iter()
            .map(|&handle| scope.spawn(move || timed(handle)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect()
    });
    times.iter().sum::<f64>() / times.len() as f64
}

fn calls(mode: Mode) -> impl Fn(u64) + Sync {
    move |handle| {
        for _ in 0..CALLS {
            let guard = TABLE.enter(black_box(handle), KIND, mode).expect("live");
            black_box(*guard);
        }
    }
}

fn refusals(handle: u64) {
    for _ in 0..CALLS {
        assert!(TABLE.enter(black_box(handle), KIND, Mode::Open).is_err());
    }
}

fn lifetimes(_: u64) {
    for _ in 0..CALLS {
        let handle = TABLE.insert(KIND, black_box(7)).expect("a slot");
        TABLE.remove(black_box(handle), KIND).expect("live");
    }
}
