//! What the table does in one thread, and the waiting of a closing call. Schedules are loom's
//! (`loom/`), sequences of operations proptest's and real threads the stress test's (`tests/`).

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::{word, Full, Guard, Kind, Limits, Mode, Refusal, Table};

const APPLE: Kind = Kind::of::<1>();
const PEAR: Kind = Kind::of::<255>();

/// Counts its drops.
#[derive(Clone, Default)]
struct Drops(Arc<AtomicUsize>);

struct Object(Drops);

impl Drop for Object {
    fn drop(&mut self) {
        self.0 .0.fetch_add(1, SeqCst);
    }
}

impl Drops {
    fn object(&self) -> Object {
        Object(self.clone())
    }

    fn count(&self) -> usize {
        self.0.load(SeqCst)
    }
}

fn small(slots: u32, generation_bits: u32, start: u32) -> Limits {
    Limits {
        slots,
        generation_bits,
        start: Some(start),
    }
}

/// Why not, or `None` for a call that was let in.
fn refused<O>(table: &Table<O>, handle: u64, kind: Kind, mode: Mode) -> Option<Refusal> {
    table.enter(handle, kind, mode).err()
}

#[test]
fn words_carry_kind_slot_and_generation() {
    for kind in [APPLE, PEAR] {
        for index in [0, 1, word::NO_SLOT - 1] {
            for generation in [0, 1, u32::MAX] {
                let handle = word::handle(kind, index, generation);
                assert_eq!(word::kind(handle), kind.number());
                assert_eq!(word::index(handle), index);
                assert_eq!(word::generation(handle), generation);
                let state = word::live(kind, generation);
                assert!(word::admits(state, handle, Mode::Open));
                assert_eq!(word::handle_of(state, index), Some(handle));
                assert_eq!(word::handle_of(state | word::CLOSED, index), Some(handle));
                assert_eq!(word::handle_of(state | word::REMOVED, index), None);
                assert_eq!(word::handle_of(word::free(generation), index), None);
            }
        }
    }
}

#[test]
fn what_was_never_a_handle_is_unknown() {
    let table = Table::with_limits(small(10, 32, 0));
    let handle = table.insert(APPLE, 1).unwrap();
    let local = 0_u64;
    let pointer = &raw const local as u64;
    // The last is the empty slot after the handle's, whose generation is known here.
    let next_slot = handle + (1 << 32);
    for garbage in [
        0,
        1,
        pointer,
        u64::MAX,
        handle ^ 1,
        handle & !(255 << 56),
        next_slot,
    ] {
        for kind in [APPLE, PEAR] {
            for mode in [Mode::Open, Mode::Any] {
                assert_eq!(refused(&table, garbage, kind, mode), Some(Refusal::Unknown));
            }
            assert_eq!(table.remove(garbage, kind), Err(Refusal::Unknown));
        }
    }
    assert_eq!(refused(&table, handle, APPLE, Mode::Open), None);
}

#[test]
fn a_handle_of_another_kind_is_told_from_a_stale_one() {
    let table = Table::new();
    let handle = table.insert(APPLE, 1).unwrap();
    assert_eq!(
        refused(&table, handle, PEAR, Mode::Any),
        Some(Refusal::WrongType)
    );
    assert_eq!(table.remove(handle, PEAR), Err(Refusal::WrongType));
    table.remove(handle, APPLE).unwrap();
    assert_eq!(
        refused(&table, handle, PEAR, Mode::Any),
        Some(Refusal::Unknown)
    );
    assert_eq!(table.remove(handle, APPLE), Err(Refusal::Unknown));
}

#[test]
fn a_closed_object_lets_in_only_calls_of_mode_any() {
    let table = Table::new();
    let handle = table.insert(APPLE, 7).unwrap();
    let guard = table.enter(handle, APPLE, Mode::Any).ok().unwrap();
    assert!(Guard::close(&guard));
    assert!(!Guard::close(&guard));
    assert_eq!(
        refused(&table, handle, APPLE, Mode::Open),
        Some(Refusal::Closed)
    );
    assert_eq!(
        refused(&table, handle, PEAR, Mode::Open),
        Some(Refusal::WrongType)
    );
    assert_eq!(*table.enter(handle, APPLE, Mode::Any).ok().unwrap(), 7);
    assert_eq!(table.handles(None), [handle]);
    table.remove(handle, APPLE).unwrap();
    assert_eq!(
        refused(&table, handle, APPLE, Mode::Open),
        Some(Refusal::Unknown)
    );
}

#[test]
fn the_last_one_inside_drops_a_removed_object() {
    let (table, drops) = (Table::new(), Drops::default());
    let handle = table.insert(APPLE, drops.object()).unwrap();
    let first = table.enter(handle, APPLE, Mode::Open).ok().unwrap();
    let second = table.enter(handle, APPLE, Mode::Any).ok().unwrap();
    assert!(!Guard::is_removed(&first));
    table.remove(handle, APPLE).unwrap();
    assert!(Guard::is_removed(&first));
    assert_eq!(
        refused(&table, handle, APPLE, Mode::Any),
        Some(Refusal::Unknown)
    );
    assert_eq!(table.remove(handle, APPLE), Err(Refusal::Unknown));
    assert!(table.handles(None).is_empty());
    drop(first);
    assert_eq!((drops.count(), table.alive()), (0, 1));
    drop(second);
    assert_eq!((drops.count(), table.alive()), (1, 0));
}

#[test]
fn an_object_may_use_the_table_while_it_is_dropped() {
    struct Heir(Arc<Table<Option<Heir>>>, Arc<AtomicUsize>);
    impl Drop for Heir {
        fn drop(&mut self) {
            // In the very slot that this one had: it is the only one.
            let handle = self.0.insert(PEAR, None).unwrap();
            assert_eq!(refused(&self.0, handle, PEAR, Mode::Open), None);
            self.0.remove(handle, PEAR).unwrap();
            self.1.fetch_add(1, SeqCst);
        }
    }
    let table = Arc::new(Table::with_limits(small(1, 32, 0)));
    let dropped = Arc::new(AtomicUsize::new(0));
    let handle = table
        .insert(APPLE, Some(Heir(table.clone(), dropped.clone())))
        .unwrap();
    table.remove(handle, APPLE).unwrap();
    assert_eq!(dropped.load(SeqCst), 1);
}

#[test]
fn a_drop_that_panics_leaves_the_table_whole() {
    struct Fragile;
    impl Drop for Fragile {
        fn drop(&mut self) {
            panic!("as the test wants");
        }
    }
    let table = Table::with_limits(small(1, 32, 0));
    let handle = table.insert(APPLE, Some(Fragile)).unwrap();
    let removal = std::panic::AssertUnwindSafe(|| table.remove(handle, APPLE));
    assert!(std::panic::catch_unwind(removal).is_err());
    assert_eq!(
        refused(&table, handle, APPLE, Mode::Any),
        Some(Refusal::Unknown)
    );
    assert_eq!(table.alive(), 0);
    assert!(table.insert(PEAR, None).is_ok());
}

#[test]
fn a_slot_is_retired_with_its_last_generation() {
    let (table, drops) = (Table::with_limits(small(2, 2, 3)), Drops::default());
    let mut seen = HashSet::new();
    for _ in 0..8 {
        let handle = table.insert(APPLE, drops.object()).unwrap();
        assert!(seen.insert(handle));
        table.remove(handle, APPLE).unwrap();
    }
    assert_eq!(table.insert(APPLE, drops.object()), Err(Full));
    assert_eq!((drops.count(), table.alive()), (9, 0));
    for handle in seen {
        assert_eq!(
            refused(&table, handle, APPLE, Mode::Any),
            Some(Refusal::Unknown)
        );
    }
}

#[test]
fn generations_go_on_past_the_largest() {
    let table = Table::with_limits(small(1, 32, u32::MAX));
    let handles = [(); 2].map(|()| {
        let handle = table.insert(APPLE, ()).unwrap();
        table.remove(handle, APPLE).unwrap();
        handle
    });
    assert_eq!(handles.map(word::generation), [u32::MAX, 0]);
}

#[test]
fn generations_start_at_random() {
    let start = || word::generation(Table::new().insert(APPLE, ()).unwrap());
    assert!((0..4).map(|_| start()).collect::<HashSet<_>>().len() > 1);
}

#[test]
fn a_full_table_takes_more_once_a_handle_is_removed() {
    let table = Table::with_limits(small(3, 32, 0));
    let handles = [1, 2, 3].map(|object| table.insert(APPLE, object).unwrap());
    assert_eq!(table.insert(APPLE, 4), Err(Full));
    table.remove(handles[1], APPLE).unwrap();
    let fourth = table.insert(APPLE, 4).unwrap();
    assert_eq!(*table.enter(fourth, APPLE, Mode::Open).ok().unwrap(), 4);
}

#[test]
fn a_reserved_place_is_kept_and_given_back() {
    let (table, drops) = (Table::with_limits(small(2, 32, 7)), Drops::default());
    let first = table.insert(APPLE, drops.object()).unwrap();
    let place = table.reserve().ok().unwrap();
    assert!(table.reserve().is_err());
    assert_eq!(table.insert(APPLE, drops.object()), Err(Full));
    // It is no object and no handle yet.
    assert_eq!((table.alive(), table.handles(None)), (1, vec![first]));
    drop(place);
    // Given back without a generation spent, however often.
    for _ in 0..10 {
        drop(table.reserve().ok().unwrap());
    }
    let second = table.reserve().ok().unwrap().fill(PEAR, drops.object());
    assert_eq!(word::generation(second), 7);
    assert_eq!(refused(&table, second, PEAR, Mode::Open), None);
    assert_eq!(table.alive(), 2);
    table.remove(second, PEAR).unwrap();
    assert_eq!(
        refused(&table, second, PEAR, Mode::Open),
        Some(Refusal::Unknown)
    );
    // One of before a fork is not used again.
    let place = table.reserve().ok().unwrap();
    table.mark_forked();
    drop(place);
    assert!(table.reserve().is_err());
}

#[test]
fn many_objects_are_each_found_under_their_handle() {
    let table = Table::new();
    let handles: Vec<u64> = (0..5_000)
        .map(|object| {
            table
                .insert(if object % 5 == 0 { PEAR } else { APPLE }, object)
                .unwrap()
        })
        .collect();
    assert_eq!(table.handles(None), handles);
    assert_eq!(table.handles(Some(PEAR)).len(), 1_000);
    for (object, &handle) in handles.iter().enumerate() {
        let kind = if object % 5 == 0 { PEAR } else { APPLE };
        assert_eq!(*table.enter(handle, kind, Mode::Open).ok().unwrap(), object);
    }
    assert_eq!(table.alive(), 5_000);
}

#[test]
fn a_table_drops_what_is_left_in_it() {
    let (table, drops) = (Table::new(), Drops::default());
    let handles = [(); 50].map(|()| table.insert(APPLE, drops.object()).unwrap());
    table.remove(handles[7], APPLE).unwrap();
    std::mem::forget(table.enter(handles[8], APPLE, Mode::Open));
    table.remove(handles[8], APPLE).unwrap();
    assert_eq!(drops.count(), 1);
    drop(table);
    assert_eq!(drops.count(), 50);
}

#[test]
fn a_closing_call_waits_for_calls_of_mode_open_alone() {
    let table = Table::new();
    let handle = table.insert(APPLE, ()).unwrap();
    let closer = table.enter(handle, APPLE, Mode::Any).ok().unwrap();
    let poll = table.enter(handle, APPLE, Mode::Any).ok().unwrap();
    let send = table.enter(handle, APPLE, Mode::Open).ok().unwrap();
    // For itself it would wait for ever.
    assert!(!Guard::wait_idle(&send, None));
    let in_a_moment = Instant::now() + Duration::from_millis(20);
    assert!(!Guard::wait_idle(&closer, Some(in_a_moment)));
    assert!(Instant::now() >= in_a_moment);
    thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(Duration::from_millis(20));
            drop(send);
        });
        assert!(Guard::wait_idle(&closer, None));
    });
    assert!(Guard::wait_idle(&closer, Some(Instant::now())));
    drop(poll);
}

#[test]
fn nothing_of_before_a_fork_works_in_the_child() {
    let (table, drops) = (Table::with_limits(small(8, 32, 0)), Drops::default());
    let [live, closed, held, freed] =
        [(); 4].map(|()| table.insert(APPLE, drops.object()).unwrap());
    table.remove(freed, APPLE).unwrap();
    Guard::close(&table.enter(closed, APPLE, Mode::Any).ok().unwrap());
    let guard = table.enter(held, APPLE, Mode::Any).ok().unwrap();
    let removed = table.enter(live, APPLE, Mode::Any).ok().unwrap();
    table.mark_forked();

    for handle in [live, closed, held] {
        for kind in [APPLE, PEAR] {
            assert_eq!(
                refused(&table, handle, kind, Mode::Open),
                Some(Refusal::Forked)
            );
            assert_eq!(
                refused(&table, handle, kind, Mode::Any),
                Some(Refusal::Forked)
            );
            assert_eq!(table.remove(handle, kind), Err(Refusal::Forked));
        }
    }
    assert_eq!(
        refused(&table, freed, APPLE, Mode::Any),
        Some(Refusal::Unknown)
    );
    assert_eq!((table.alive(), table.handles(None).len()), (0, 0));
    assert!(!Guard::wait_idle(&guard, None));
    drop((guard, removed));
    assert_eq!(drops.count(), 1);
}

#[test]
fn a_forked_child_makes_handles_in_slots_of_its_own() {
    let (table, drops) = (Table::with_limits(small(4, 32, 0)), Drops::default());
    let before = [(); 3].map(|()| table.insert(APPLE, drops.object()).unwrap());
    table.remove(before[2], APPLE).unwrap();
    table.mark_forked();

    let new = table.insert(APPLE, drops.object()).unwrap();
    assert_eq!(word::index(new), 3);
    assert_eq!(table.insert(APPLE, drops.object()), Err(Full));
    assert_eq!(table.handles(None), [new]);
    let guard = table.enter(new, APPLE, Mode::Any).ok().unwrap();
    assert!(Guard::wait_idle(&guard, None));
    table.remove(new, APPLE).unwrap();
    drop(guard);
    assert_eq!(table.alive(), 0);
    // The child of the child.
    let new = table.insert(APPLE, drops.object()).unwrap();
    table.mark_forked();
    assert_eq!(
        refused(&table, new, APPLE, Mode::Any),
        Some(Refusal::Forked)
    );
    drop(table);
    assert_eq!(drops.count(), 3);
}
