//! Random sequences of operations on the handle table against a model of it: who is let in, who is
//! refused and why, when objects are dropped, when the table is full. In one thread; tables of few
//! slots and few generations, so that slots are reused and retired all the time.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::Arc;

use kafkabi::handle::{Guard, Kind, Limits, Mode, Refusal, Table};
use proptest::prelude::*;
use proptest::sample::Index;

const KINDS: [Kind; 3] = [Kind::of::<1>(), Kind::of::<2>(), Kind::of::<200>()];

#[derive(Clone, Debug)]
enum Step {
    Insert {
        kind: usize,
    },
    Enter {
        handle: Index,
        kind: usize,
        open: bool,
    },
    Leave {
        guard: Index,
    },
    Close {
        guard: Index,
    },
    Remove {
        handle: Index,
        kind: usize,
    },
    EnterGarbage {
        word: u64,
        kind: usize,
    },
    Fork,
}

fn step() -> impl Strategy<Value = Step> {
    let (index, kind) = (any::<Index>, || 0..KINDS.len());
    prop_oneof![
        6 => kind().prop_map(|kind| Step::Insert { kind }),
        6 => (index(), kind(), any::<bool>())
            .prop_map(|(handle, kind, open)| Step::Enter { handle, kind, open }),
        3 => index().prop_map(|guard| Step::Leave { guard }),
        1 => index().prop_map(|guard| Step::Close { guard }),
        5 => (index(), kind()).prop_map(|(handle, kind)| Step::Remove { handle, kind }),
        1 => (any::<u64>(), kind()).prop_map(|(word, kind)| Step::EnterGarbage { word, kind }),
        1 => Just(Step::Fork),
    ]
}

fn limits() -> impl Strategy<Value = Limits> {
    (1..5_u32, 1..4_u32, any::<u32>()).prop_map(|(slots, generation_bits, start)| Limits {
        slots,
        generation_bits,
        start: Some(start),
    })
}

/// The real object: its number in the model, and whether it was dropped.
struct Object(usize, Arc<AtomicBool>);

impl Drop for Object {
    fn drop(&mut self) {
        assert!(!self.1.swap(true, SeqCst), "dropped twice");
    }
}

/// What the model knows of an object.
struct Entry {
    handle: u64,
    kind: usize,
    closed: bool,
    removed: bool,
    forked: bool,
    inside: usize,
    dropped: Arc<AtomicBool>,
}

impl Entry {
    fn refusal(&self, kind: usize, open: bool) -> Option<Refusal> {
        match () {
            () if self.removed => Some(Refusal::Unknown),
            () if self.forked => Some(Refusal::Forked),
            () if self.kind != kind => Some(Refusal::WrongType),
            () if self.closed && open => Some(Refusal::Closed),
            () => None,
        }
    }

    fn is_gone(&self) -> bool {
        self.removed && self.inside == 0 && !self.forked
    }

    fn slot(&self) -> u64 {
        self.handle >> 32 & 0xff_ffff
    }
}

struct Model<'t> {
    table: &'t Table<Object>,
    limits: Limits,
    entries: Vec<Entry>,
    /// The slots used before a fork.
    lost: HashSet<u64>,
    guards: Vec<Guard<'t, Object>>,
}

impl<'t> Model<'t> {
    fn take(&mut self, step: Step) {
        match step {
            Step::Insert { kind } => self.insert(kind),
            Step::Enter { handle, kind, open } if !self.entries.is_empty() => {
                self.enter(handle.index(self.entries.len()), kind, open);
            }
            Step::Leave { guard } if !self.guards.is_empty() => {
                let guard = self.guards.swap_remove(guard.index(self.guards.len()));
                self.entries[guard.0].inside -= 1;
            }
            Step::Close { guard } if !self.guards.is_empty() => {
                let guard = &self.guards[guard.index(self.guards.len())];
                let entry = &mut self.entries[guard.0];
                assert_eq!(Guard::close(guard), !entry.closed);
                entry.closed = true;
            }
            Step::Remove { handle, kind } if !self.entries.is_empty() => {
                self.remove(handle.index(self.entries.len()), kind);
            }
            Step::EnterGarbage { word, kind } => self.enter_garbage(word, kind),
            Step::Fork => {
                self.table.mark_forked();
                self.lost.extend(self.entries.iter().map(Entry::slot));
                // What is gone stays gone; all else can neither be used nor dropped.
                let remaining = self.entries.iter_mut().filter(|entry| !entry.is_gone());
                remaining.for_each(|entry| entry.forked = true);
            }
            _ => {}
        }
    }

    fn insert(&mut self, kind: usize) {
        let dropped = Arc::new(AtomicBool::new(false));
        let object = Object(self.entries.len(), dropped.clone());
        let Ok(handle) = self.table.insert(KINDS[kind], object) else {
            assert!(dropped.load(SeqCst));
            assert!(self.is_full());
            return;
        };
        assert!(!self.is_full());
        let [closed, removed, forked] = [false; 3];
        let entry = Entry {
            handle,
            kind,
            closed,
            removed,
            forked,
            inside: 0,
            dropped,
        };
        assert_ne!(handle, 0);
        assert!(
            !self.lost.contains(&entry.slot()),
            "a slot of before a fork was given out"
        );
        for older in &self.entries {
            assert_ne!(older.handle, handle, "a handle was given out twice");
            assert!(
                older.slot() != entry.slot() || older.is_gone(),
                "a slot was given out twice"
            );
        }
        self.entries.push(entry);
    }

    /// Whether every slot is in use, retired or lost in a fork.
    fn is_full(&self) -> bool {
        let mut served = HashMap::<u64, u32>::new();
        for entry in &self.entries {
            *served.entry(entry.slot()).or_default() += 1;
        }
        let busy = |slot| {
            self.entries
                .iter()
                .any(|entry| entry.slot() == slot && !entry.is_gone())
        };
        let retired = |objects| objects == 1 << self.limits.generation_bits;
        let taken = |(&slot, &objects)| self.lost.contains(&slot) || retired(objects) || busy(slot);
        served.len() == self.limits.slots as usize && served.iter().all(taken)
    }

    fn enter(&mut self, number: usize, kind: usize, open: bool) {
        let entry = &mut self.entries[number];
        let mode = if open { Mode::Open } else { Mode::Any };
        match self.table.enter(entry.handle, KINDS[kind], mode) {
            Ok(guard) => {
                assert_eq!(entry.refusal(kind, open), None);
                assert_eq!(guard.0, number, "a handle led to another object");
                entry.inside += 1;
                self.guards.push(guard);
            }
            Err(refusal) => assert_eq!(entry.refusal(kind, open), Some(refusal)),
        }
    }

    fn remove(&mut self, number: usize, kind: usize) {
        let entry = &mut self.entries[number];
        let expected = entry.refusal(kind, false);
        assert_eq!(self.table.remove(entry.handle, KINDS[kind]).err(), expected);
        entry.removed |= expected.is_none();
    }

    fn enter_garbage(&self, word: u64, kind: usize) {
        if self.entries.iter().all(|entry| entry.handle != word) {
            let refusal = self.table.enter(word, KINDS[kind], Mode::Any).err();
            assert_eq!(refusal, Some(Refusal::Unknown));
            assert_eq!(self.table.remove(word, KINDS[kind]), Err(Refusal::Unknown));
        }
    }

    fn check(&self) {
        for entry in &self.entries {
            assert_eq!(entry.dropped.load(SeqCst), entry.is_gone());
        }
        for guard in &self.guards {
            assert_eq!(Guard::is_removed(guard), self.entries[guard.0].removed);
        }
        let here = self
            .entries
            .iter()
            .filter(|entry| !entry.forked && !entry.is_gone());
        assert_eq!(self.table.alive(), here.count());
        for kind in [None, Some(0), Some(1), Some(2)] {
            let in_force = self
                .entries
                .iter()
                .filter(|entry| !entry.removed && !entry.forked);
            let of_kind = in_force.filter(|entry| kind.is_none_or(|kind| entry.kind == kind));
            let mut expected: Vec<u64> = of_kind.map(|entry| entry.handle).collect();
            expected.sort_by_key(|handle| handle << 8);
            let mut listed = self.table.handles(kind.map(|kind| KINDS[kind]));
            listed.sort_by_key(|handle| handle << 8);
            assert_eq!(listed, expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 10_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_table_does_what_its_model_does(
        limits in limits(),
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let table = Table::with_limits(limits);
        let mut model = Model {
            table: &table,
            limits,
            entries: Vec::new(),
            lost: HashSet::new(),
            guards: Vec::new(),
        };
        for step in steps {
            model.take(step);
            model.check();
        }
    }
}
