//! Explores the handle table's schedules with loom, every one of up to four preemptions:
//!
//! ```text
//! cargo test --release -p kafkabi-loom
//! ```
//!
//! A crate of its own, because `cfg(loom)` (set by build.rs) would otherwise rebuild librdkafka.
//! Here live the scenarios of two or three threads in which the order of single memory accesses
//! matters; what the table does in one thread or under load is tested in `src/handle/tests.rs` and
//! `tests/`.

#[path = "../src/handle/mod.rs"]
pub mod handle;

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use std::sync::Arc as StdArc;

    use loom::sync::Arc;
    use loom::thread;

    use super::handle::{Guard, Kind, Limits, Mode, Refusal, Table};

    const KIND: Kind = Kind::of::<1>();
    const LIMITS: Limits = Limits {
        slots: 3,
        generation_bits: 32,
        start: Some(5),
    };

    /// Counts its drops under its name, outside of what loom sees: a count is checked, not
    /// explored.
    struct Object {
        name: usize,
        drops: StdArc<[AtomicUsize; 5]>,
    }

    impl Drop for Object {
        fn drop(&mut self) {
            self.drops[self.name].fetch_add(1, SeqCst);
        }
    }

    struct World {
        table: Table<Object>,
        drops: StdArc<[AtomicUsize; 5]>,
    }

    impl World {
        fn new() -> Arc<World> {
            Arc::new(World {
                table: Table::with_limits(LIMITS),
                drops: StdArc::default(),
            })
        }

        fn insert(&self, name: usize) -> u64 {
            self.table
                .insert(
                    KIND,
                    Object {
                        name,
                        drops: self.drops.clone(),
                    },
                )
                .unwrap()
        }

        /// A call that lingers inside: the name of the object, still there, or why it wasn't let
        /// in.
        fn call(&self, handle: u64, mode: Mode) -> Result<usize, Refusal> {
            let guard = self.table.enter(handle, KIND, mode)?;
            thread::yield_now();
            assert_eq!(self.drops[guard.name].load(SeqCst), 0);
            Ok(guard.name)
        }

        fn assert_dropped_once(&self, names: &[usize]) {
            for &name in names {
                assert_eq!(self.drops[name].load(SeqCst), 1, "object {name}");
            }
            assert_eq!(self.table.alive(), 0);
        }
    }

    fn explore(scenario: impl Fn() + Send + Sync + 'static) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(4);
        model.check(scenario);
    }

    fn spawn<R: 'static>(
        world: &Arc<World>,
        call: impl FnOnce(&World) -> R + 'static,
    ) -> thread::JoinHandle<R> {
        let world = world.clone();
        thread::spawn(move || call(&world))
    }

    #[test]
    fn a_closing_call_waits_for_open_calls_and_is_always_woken() {
        explore(|| {
            let world = World::new();
            let handle = world.insert(1);
            let inside = StdArc::new(AtomicUsize::new(0));
            let callers: Vec<_> = (0..2)
                .map(|_| {
                    let inside = inside.clone();
                    spawn(&world, move |world| {
                        match world.table.enter(handle, KIND, Mode::Open) {
                            Ok(guard) => {
                                inside.fetch_add(1, SeqCst);
                                assert_eq!(guard.name, 1);
                                thread::yield_now();
                                inside.fetch_sub(1, SeqCst);
                            }
                            Err(refusal) => assert_eq!(refusal, Refusal::Closed),
                        }
                    })
                })
                .collect();
            let closer = world.table.enter(handle, KIND, Mode::Any).ok().unwrap();
            assert!(Guard::close(&closer));
            assert!(Guard::wait_idle(&closer, None));
            assert_eq!(inside.load(SeqCst), 0);
            assert_eq!(world.call(handle, Mode::Open), Err(Refusal::Closed));
            for caller in callers {
                caller.join().unwrap();
            }
        });
    }

    #[test]
    fn a_closing_call_is_woken_though_the_handle_is_removed_meanwhile() {
        explore(|| {
            let world = World::new();
            let handle = world.insert(1);
            let closer = world.table.enter(handle, KIND, Mode::Any).ok().unwrap();
            let caller = spawn(&world, move |world| world.call(handle, Mode::Open).is_ok());
            let remover = spawn(&world, move |world| {
                world.table.remove(handle, KIND).is_ok()
            });
            assert!(Guard::wait_idle(&closer, None));
            assert_eq!(world.drops[1].load(SeqCst), 0);
            drop(closer);
            caller.join().unwrap();
            assert!(remover.join().unwrap());
            world.assert_dropped_once(&[1]);
        });
    }

    #[test]
    fn a_removed_object_is_dropped_once_by_the_last_one_inside() {
        explore(|| {
            let world = World::new();
            let handle = world.insert(1);
            let callers = [Mode::Open, Mode::Any].map(|mode| {
                spawn(&world, move |world| {
                    let called = world.call(handle, mode);
                    assert!(
                        matches!(called, Ok(1) | Err(Refusal::Unknown)),
                        "{called:?}"
                    );
                })
            });
            world.table.remove(handle, KIND).unwrap();
            assert_eq!(world.call(handle, Mode::Any), Err(Refusal::Unknown));
            for caller in callers {
                caller.join().unwrap();
            }
            world.assert_dropped_once(&[1]);
        });
    }

    #[test]
    fn of_two_removals_one_succeeds() {
        explore(|| {
            let world = World::new();
            let handle = world.insert(1);
            let caller = spawn(&world, move |world| world.call(handle, Mode::Open).is_ok());
            let remover = spawn(&world, move |world| {
                world.table.remove(handle, KIND).is_ok()
            });
            let removed = world.table.remove(handle, KIND).is_ok();
            assert_ne!(remover.join().unwrap(), removed);
            caller.join().unwrap();
            world.assert_dropped_once(&[1]);
        });
    }

    #[test]
    fn closing_and_leaving_a_removed_object_still_drops_it() {
        explore(|| {
            let world = World::new();
            let handle = world.insert(1);
            let closer = spawn(&world, move |world| {
                if let Ok(guard) = world.table.enter(handle, KIND, Mode::Any) {
                    Guard::close(&guard);
                }
            });
            let caller = spawn(&world, move |world| world.call(handle, Mode::Open).is_ok());
            world.table.remove(handle, KIND).unwrap();
            closer.join().unwrap();
            caller.join().unwrap();
            world.assert_dropped_once(&[1]);
        });
    }

    #[test]
    fn a_stale_call_never_reaches_a_newer_object() {
        explore(|| {
            let world = World::new();
            let old = world.insert(1);
            let caller = spawn(&world, move |world| {
                let called = world.call(old, Mode::Open);
                assert!(
                    matches!(called, Ok(1) | Err(Refusal::Unknown)),
                    "{called:?}"
                );
            });
            world.table.remove(old, KIND).unwrap();
            let new = world.insert(2);
            assert_eq!(world.call(new, Mode::Open), Ok(2));
            world.table.remove(new, KIND).unwrap();
            caller.join().unwrap();
            world.assert_dropped_once(&[1, 2]);
        });
    }

    #[test]
    fn a_stale_call_does_not_strand_the_closer_of_a_newer_object() {
        explore(|| {
            let world = World::new();
            let old = world.insert(1);
            let caller = spawn(&world, move |world| world.call(old, Mode::Open).is_ok());
            world.table.remove(old, KIND).unwrap();
            let new = world.insert(2);
            let closer = world.table.enter(new, KIND, Mode::Any).ok().unwrap();
            assert!(Guard::wait_idle(&closer, None));
            drop(closer);
            world.table.remove(new, KIND).unwrap();
            caller.join().unwrap();
            world.assert_dropped_once(&[1, 2]);
        });
    }

    #[test]
    fn inserts_and_removals_never_share_a_slot() {
        explore(|| {
            let world = World::new();
            let cycle = |names: [usize; 2]| {
                move |world: &World| {
                    for name in names {
                        let handle = world.insert(name);
                        assert_eq!(world.call(handle, Mode::Open), Ok(name));
                        world.table.remove(handle, KIND).unwrap();
                    }
                }
            };
            let other = spawn(&world, cycle([1, 2]));
            cycle([3, 4])(&world);
            other.join().unwrap();
            world.assert_dropped_once(&[1, 2, 3, 4]);
        });
    }

    /// One thread is held up while it takes a slot off the free list; meanwhile the same slot is on
    /// top again, above another one than before.
    #[test]
    fn a_free_slot_that_comes_back_does_not_confuse_an_insert() {
        explore(|| {
            let world = World::new();
            let handles = [world.insert(0), world.insert(0)];
            for handle in handles {
                world.table.remove(handle, KIND).unwrap();
            }
            let other = spawn(&world, |world| world.insert(1));
            let (back, second) = (world.insert(2), world.insert(3));
            world.table.remove(back, KIND).unwrap();
            let first = other.join().unwrap();
            let third = world.insert(4);
            for (handle, name) in [(first, 1), (second, 3), (third, 4)] {
                assert_eq!(world.call(handle, Mode::Any), Ok(name));
            }
        });
    }
}
