//! The handle table under load: real threads that call, close, remove and replace the same few
//! objects, and a process that forks in the midst of it.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use kafkabi::handle::{Guard, Kind, Mode, Refusal, Table};

const KIND: Kind = Kind::of::<9>();
const THREADS: u64 = 4;

/// Knows its handle, and whether it was dropped.
struct Object<'w> {
    handle: AtomicU64,
    dropped: AtomicBool,
    drops: &'w AtomicUsize,
}

impl Drop for Object<'_> {
    fn drop(&mut self) {
        assert!(!self.dropped.swap(true, SeqCst), "dropped twice");
        self.drops.fetch_add(1, SeqCst);
    }
}

/// A few handles that all threads work on.
struct World<'w> {
    table: Table<Object<'w>>,
    handles: [AtomicU64; 6],
    inserts: AtomicUsize,
    drops: &'w AtomicUsize,
    stop: AtomicBool,
}

impl<'w> World<'w> {
    fn new(drops: &'w AtomicUsize) -> Self {
        let world = World {
            table: Table::new(),
            handles: Default::default(),
            inserts: AtomicUsize::new(0),
            drops,
            stop: AtomicBool::new(false),
        };
        for place in &world.handles {
            place.store(world.insert(), SeqCst);
        }
        world
    }

    fn object(&self) -> Object<'w> {
        Object {
            handle: AtomicU64::new(0),
            dropped: AtomicBool::new(false),
            drops: self.drops,
        }
    }

    fn insert(&self) -> u64 {
        let handle = self.table.insert(KIND, self.object()).unwrap();
        self.table
            .enter(handle, KIND, Mode::Open)
            .ok()
            .unwrap()
            .handle
            .store(handle, SeqCst);
        self.inserts.fetch_add(1, SeqCst);
        handle
    }

    /// Whatever comes up, until it is told to stop.
    fn work(&self, seed: u64) {
        let mut random = seed;
        while !self.stop.load(SeqCst) {
            // Marsaglia's xorshift.
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let place = &self.handles[(random >> 8) as usize % self.handles.len()];
            match random % 16 {
                0 => self.replace(place),
                1 => self.close(place.load(SeqCst)),
                choice => self.call(
                    place.load(SeqCst),
                    [Mode::Open, Mode::Any][choice as usize & 1],
                ),
            }
        }
    }

    fn call(&self, handle: u64, mode: Mode) {
        match self.table.enter(handle, KIND, mode) {
            Ok(guard) => {
                assert_eq!(
                    guard.handle.load(SeqCst),
                    handle,
                    "a handle led to another object"
                );
                std::hint::spin_loop();
                assert!(!guard.dropped.load(SeqCst), "dropped with a guard inside");
            }
            Err(refusal) => {
                assert!(
                    matches!(refusal, Refusal::Unknown | Refusal::Closed),
                    "{refusal:?}"
                );
            }
        }
    }

    fn close(&self, handle: u64) {
        if let Ok(guard) = self.table.enter(handle, KIND, Mode::Any) {
            // Nobody stays inside for long: a time-out would be a lost wake-up.
            let deadline = Instant::now() + Duration::from_secs(10);
            assert!(Guard::wait_idle(&guard, Some(deadline)));
        }
    }

    fn replace(&self, place: &AtomicU64) {
        let old = place.swap(self.insert(), SeqCst);
        assert_eq!(self.table.remove(old, KIND), Ok(()));
        assert_eq!(self.table.remove(old, KIND), Err(Refusal::Unknown));
    }
}

/// Runs `meanwhile` in this thread while the others work, and checks that every object was dropped
/// once in the end.
fn under_load(meanwhile: impl FnOnce(&World)) {
    let drops = AtomicUsize::new(0);
    let world = World::new(&drops);
    thread::scope(|scope| {
        for number in 1..=THREADS {
            let world = &world;
            scope.spawn(move || world.work(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        }
        meanwhile(&world);
        world.stop.store(true, SeqCst);
    });
    for place in &world.handles {
        world.table.remove(place.load(SeqCst), KIND).unwrap();
    }
    assert_eq!(world.table.alive(), 0);
    assert_eq!(drops.load(SeqCst), world.inserts.load(SeqCst));
}

#[test]
fn threads_that_call_close_and_replace_the_same_objects() {
    under_load(|_| thread::sleep(Duration::from_secs(1)));
}

#[test]
#[cfg(unix)]
fn children_forked_in_the_midst_of_it_can_work_on() {
    under_load(|world| {
        for _ in 0..50 {
            // SAFETY: the child calls the table and _exit, and allocates, which the C library
            // allows after a fork.
            match unsafe { libc::fork() } {
                0 => in_child(world),
                child => assert_eq!(exit_status(child), 0, "the step of in_child that failed"),
            }
        }
    });
}

/// Never returns to the test harness, of which the child has but this thread.
#[cfg(unix)]
fn in_child(world: &World) -> ! {
    let table = &world.table;
    let works = || {
        let Ok(handle) = table.insert(KIND, world.object()) else {
            return false;
        };
        let Ok(guard) = table.enter(handle, KIND, Mode::Any) else {
            return false;
        };
        let idle = Guard::wait_idle(&guard, None);
        drop(guard);
        idle && table.remove(handle, KIND).is_ok() && table.alive() == 0
    };
    let refused = |place: &AtomicU64| {
        let handle = place.load(SeqCst);
        // Unknown: another thread was between removing it and putting the next one in its place, or
        // the reverse.
        let forked = |refusal| matches!(refusal, Refusal::Forked | Refusal::Unknown);
        table.enter(handle, KIND, Mode::Any).is_err_and(forked)
            && table.remove(handle, KIND).is_err_and(forked)
    };
    // SAFETY: calls without memory of ours. The alarm ends a child that hangs.
    unsafe { libc::alarm(10) };
    table.mark_forked();
    let failed = match () {
        () if !world.handles.iter().all(refused) => 1,
        () if !(0..100).all(|_| works()) => 2,
        () if !table.handles(None).is_empty() => 3,
        () => 0,
    };
    // SAFETY: as above.
    unsafe { libc::_exit(failed) }
}

#[cfg(unix)]
fn exit_status(child: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: a child of ours, and our memory.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    status
}
