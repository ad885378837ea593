//! Transactions. librdkafka's calls block and can't be cut short, so that each runs on a thread of its
//! own, as a job, while the caller waits for the job's outcome: a wake or a close ends the wait and not
//! the job. Whoever calls the same again joins the job, or is told the outcome that nobody was there to
//! hear. There is at most one job, as librdkafka wants it.
//!
//! A job asks librdkafka with time-outs of its own. Resuming a call too early can make librdkafka take
//! one step's answer for the next one's (rd_kafka_txn_op_req0 returns what is set already), so there are
//! few and long time-outs, whatever the caller's was.

use super::{Core, Producer};
use crate::client::consumer::{Consumer, Partition};
use crate::client::lifetime::{deadline_of, lock, remaining, remaining_up_to, wait_until, Held};
use crate::client::threads;
use crate::error::{Error, Result};
use crate::rd::partitions::PartitionList;
use crate::rd::transaction::GroupMetadata;
use crate::record::{KABI_ERROR_ABORT_REQUIRED, KABI_ERROR_FATAL, KABI_ERROR_RETRIABLE};
use crate::status::{
    KABI_STATUS_CONFLICT, KABI_STATUS_FATAL, KABI_STATUS_INTERRUPTED, KABI_STATUS_NOT_CONFIGURED,
    KABI_STATUS_PREV_IN_PROGRESS, KABI_STATUS_STATE, KABI_STATUS_TIMED_OUT,
};
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The time-outs that librdkafka is given lie between these.
const ASK_MIN: Duration = Duration::from_secs(1);
const ASK_MAX: Duration = Duration::from_secs(5);
/// librdkafka's answer to a time-out comes a little after it, and says more than "timed out".
const LAST_WORD: Duration = Duration::from_millis(25);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Init,
    Offsets,
    Commit,
    Abort,
}

impl Call {
    fn name(self) -> &'static str {
        match self {
            Call::Init => "transactions init",
            Call::Offsets => "transaction offsets",
            Call::Commit => "transaction commit",
            Call::Abort => "transaction abort",
        }
    }
}

/// What a job does.
enum Work {
    Init,
    Offsets(PartitionList, GroupMetadata),
    Commit,
    Abort,
}

impl Work {
    fn call(&self) -> Call {
        match self {
            Work::Init => Call::Init,
            Work::Offsets(..) => Call::Offsets,
            Work::Commit => Call::Commit,
            Work::Abort => Call::Abort,
        }
    }
}

struct Job {
    call: Call,
    /// When to give up asking; `None` is never.
    deadline: Option<Instant>,
    /// A caller waits for the outcome.
    awaited: bool,
    outcome: Option<Result<()>>,
}

#[derive(Default)]
struct State {
    /// A transaction was begun and is neither committed nor aborted.
    open: bool,
    /// Records delivered before it was begun.
    delivered_before: u64,
    job: Option<Job>,
}

#[derive(Default)]
pub(super) struct Transactions {
    enabled: bool,
    state: Mutex<State>,
    changed: Condvar,
}

/// Whose offsets a transaction is to commit.
pub enum OffsetsOf<'a> {
    /// Those of a member of a group, whose topic numbers the partitions have.
    Consumer(&'a Consumer),
    /// Those of a member that wrote these bytes of itself; topic numbers are the producer's.
    Metadata(&'a [u8]),
    /// Those of a group that is known by its id alone; topic numbers are the producer's.
    Group(&'a str),
}

impl Producer {
    /// Makes this producer the only one with its transactional.id.
    pub fn transactions_init(&self, timeout: Option<Duration>, timeout_ms: i32) -> Result<()> {
        self.transact(timeout, timeout_ms, || Ok(Work::Init))
    }

    pub fn transaction_begin(&self) -> Result<()> {
        let transactions = &self.core.transactions;
        transactions.need_enabled("transaction begin")?;
        let mut state = lock(&transactions.state);
        state.make_room(None)?;
        self.core.client.transaction_begin()?;
        state.open = true;
        state.delivered_before = self.core.events.counts.delivered.get();
        Ok(())
    }

    pub fn transaction_commit(&self, timeout: Option<Duration>, timeout_ms: i32) -> Result<()> {
        self.transact(timeout, timeout_ms, || Ok(Work::Commit))
    }

    pub fn transaction_abort(&self, timeout: Option<Duration>, timeout_ms: i32) -> Result<()> {
        self.transact(timeout, timeout_ms, || Ok(Work::Abort))
    }

    pub fn transaction_offsets(
        &self,
        of: OffsetsOf<'_>,
        partitions: &[Partition<'_>],
        timeout: Option<Duration>,
        timeout_ms: i32,
    ) -> Result<()> {
        self.core.transactions.need_enabled("transaction offsets")?;
        if let Some(bad) = partitions.iter().find(|p| p.offset < 0) {
            return Err(Error::argument(format!(
                "transaction offsets: {} is no offset of a next record to read, which is 0 or more",
                bad.offset
            )));
        }
        self.transact(timeout, timeout_ms, || {
            let (list, group) = match of {
                OffsetsOf::Consumer(consumer) => consumer.for_transaction(partitions)?,
                OffsetsOf::Metadata(bytes) => {
                    (self.core.list(partitions)?, GroupMetadata::read(bytes)?)
                }
                OffsetsOf::Group(group) => {
                    (self.core.list(partitions)?, GroupMetadata::of_group(group)?)
                }
            };
            Ok(Work::Offsets(list, group))
        })
    }

    fn transact(
        &self,
        timeout: Option<Duration>,
        timeout_ms: i32,
        work: impl FnOnce() -> Result<Work>,
    ) -> Result<()> {
        let core = &self.core;
        let work = work()?;
        let call = work.call();
        core.transactions.need_enabled(call.name())?;
        let wakes = core.wakes.load(Ordering::SeqCst);
        let go_on = || {
            if core.closing.load(Ordering::SeqCst) {
                Err(Error::closed("producer"))
            } else if core.wakes.load(Ordering::SeqCst) != wakes {
                Err(Error::interrupted(call.name()))
            } else {
                Ok(())
            }
        };
        let deadline = deadline_of(timeout);
        let outcome = run(core, work, deadline, timeout, go_on);
        match outcome {
            Err(e) if is_timeout(call, &e) => Err(timed_out(call, timeout_ms, &e)),
            other => other,
        }
    }
}

/// Joins or starts the job and waits for its outcome.
fn run(
    core: &Held<Core>,
    work: Work,
    deadline: Option<Instant>,
    timeout: Option<Duration>,
    go_on: impl Fn() -> Result<()>,
) -> Result<()> {
    let call = work.call();
    let transactions = &core.transactions;
    let patience = match timeout {
        Some(timeout) if timeout < ASK_MIN => deadline,
        _ => deadline.and_then(|d| d.checked_add(LAST_WORD)),
    };
    let mut state = lock(&transactions.state);
    let joined = match &mut state.job {
        Some(job) if job.call == call => {
            job.join(deadline)?;
            true
        }
        _ => false,
    };
    if joined {
        let (next, outcome) = transactions.wait(state, patience, &go_on);
        state = next;
        match outcome? {
            // Its time was another call's.
            Some(Err(e)) if is_timeout(call, &e) => {}
            // Other offsets, perhaps: a transaction takes the last it is given.
            Some(Ok(())) if call == Call::Offsets => {}
            Some(outcome) => return outcome,
            None => return Err(goes_on()),
        }
    }
    state.make_room(Some(call))?;
    state.start(core, work, deadline)?;
    let (_state, outcome) = transactions.wait(state, patience, &go_on);
    outcome?.unwrap_or_else(|| Err(goes_on()))
}

impl Job {
    /// The caller is the one who waits for the outcome now.
    fn join(&mut self, deadline: Option<Instant>) -> Result<()> {
        if self.awaited {
            return Err(Error::new(
                KABI_STATUS_PREV_IN_PROGRESS,
                format!("{}: another thread waits for it already", self.call.name()),
            ));
        }
        self.deadline = deadline;
        self.awaited = true;
        Ok(())
    }
}

impl State {
    /// Forgets a job that has ended, if `call` may begin after it (`None`: a new transaction).
    fn make_room(&mut self, call: Option<Call>) -> Result<()> {
        let Some(job) = &self.job else { return Ok(()) };
        match &job.outcome {
            // The way out of a failure that the program was not there to hear of.
            Some(Err(e)) if call.is_some() || e.flags & KABI_ERROR_RETRIABLE == 0 => {}
            Some(_) if Some(job.call) == call || job.call == Call::Offsets => {}
            _ => {
                return Err(Error::new(
                    KABI_STATUS_CONFLICT,
                    format!(
                        "{} was called before and its outcome is not known yet: call it again",
                        job.call.name()
                    ),
                )
                .with_flags(KABI_ERROR_RETRIABLE))
            }
        }
        self.job = None;
        Ok(())
    }

    fn start(&mut self, core: &Held<Core>, work: Work, deadline: Option<Instant>) -> Result<()> {
        let theirs = core.clone();
        let call = work.call();
        threads::spawn("kafkabi-txn", move || {
            work_on(&theirs, &work);
        })
        .map_err(|_| Error::system("starting a thread"))?;
        self.job = Some(Job {
            call,
            deadline,
            awaited: true,
            outcome: None,
        });
        Ok(())
    }

    /// A job has ended.
    fn settle(&mut self, call: Call, outcome: Result<()>) {
        match (&outcome, call) {
            (Ok(()), Call::Commit | Call::Abort) => self.open = false,
            // Nothing more can be done about it from here; the coordinator ends it.
            (Err(e), _) if e.flags & KABI_ERROR_FATAL != 0 => self.open = false,
            _ => {}
        }
        if let Some(job) = &mut self.job {
            job.outcome = Some(outcome);
        }
    }
}

impl Transactions {
    pub(super) fn new(enabled: bool) -> Transactions {
        Transactions {
            enabled,
            ..Transactions::default()
        }
    }

    /// Ends waits in progress, so that they look again.
    pub(super) fn nudge(&self) {
        let _state = lock(&self.state);
        self.changed.notify_all();
    }

    /// Something would be lost by an end right now.
    pub(super) fn are_busy(&self) -> bool {
        let state = lock(&self.state);
        state.open || state.job.as_ref().is_some_and(|j| j.outcome.is_none())
    }

    /// librdkafka takes no records though a transaction is open and stays so: it has failed.
    pub(super) fn has_failed(&self) -> bool {
        let state = lock(&self.state);
        let ending = |job: &Job| matches!(job.call, Call::Commit | Call::Abort);
        state.open && !state.job.as_ref().is_some_and(ending)
    }

    fn need_enabled(&self, doing: &str) -> Result<()> {
        if self.enabled {
            return Ok(());
        }
        Err(Error::new(
            KABI_STATUS_NOT_CONFIGURED,
            format!("{doing} needs the property transactional.id, which is not set"),
        ))
    }

    /// Waits for the job's outcome, which it takes. `None` when the time is up; a wait that ends early
    /// leaves the job to the next caller.
    #[allow(clippy::type_complexity)]
    fn wait<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        deadline: Option<Instant>,
        go_on: impl Fn() -> Result<()>,
    ) -> (MutexGuard<'a, State>, Result<Option<Result<()>>>) {
        loop {
            if let Some(outcome) = state.job.as_mut().and_then(|job| job.outcome.take()) {
                state.job = None;
                return (state, Ok(Some(outcome)));
            }
            let interrupted = go_on().err();
            let mut in_time = true;
            if interrupted.is_none() {
                (state, in_time) = wait_until(&self.changed, state, deadline);
            }
            if interrupted.is_some() || !in_time {
                if let Some(job) = &mut state.job {
                    job.awaited = false;
                }
                return (state, interrupted.map_or(Ok(None), Err));
            }
        }
    }
}

/// The body of a job's thread.
fn work_on(core: &Core, work: &Work) {
    let transactions = &core.transactions;
    let call = work.call();
    let deadline = || {
        let state = lock(&transactions.state);
        state.job.as_ref().and_then(|job| job.deadline)
    };
    if call == Call::Abort {
        wait_until_known(core, deadline());
    }
    let outcome = loop {
        let left = remaining(deadline());
        let slice = left.map_or(ASK_MAX, |left| left.clamp(ASK_MIN, ASK_MAX));
        let outcome = match work {
            Work::Init => core.client.transactions_init(Some(slice)),
            Work::Commit => core.client.transaction_commit(Some(slice)),
            Work::Abort => core.client.transaction_abort(Some(slice)),
            Work::Offsets(list, group) => {
                let whole = left.map(|left| left.max(ASK_MIN));
                break core.client.transaction_offsets(list, group, whole);
            }
        };
        let in_time = remaining(deadline()).is_none_or(|left| !left.is_zero());
        match &outcome {
            Err(e) if in_time && is_timeout(call, e) => {}
            _ => break outcome,
        }
    };
    lock(&transactions.state).settle(call, outcome);
    transactions.changed.notify_all();
}

/// Waits, not for long, until the coordinator knows of the transaction. librdkafka aborts one that it has
/// tried to make known, but that the coordinator has put off because the one before was not quite over;
/// the coordinator then refuses the abort, which is fatal for the producer (librdkafka's issue 4849). The
/// first record delivered shows that it is known.
fn wait_until_known(core: &Core, deadline: Option<Instant>) {
    const STEP: Duration = Duration::from_millis(5);
    let before = lock(&core.transactions.state).delivered_before;
    let patience = deadline_of(Some(remaining_up_to(deadline, ASK_MIN)));
    while core.client.outstanding() > 0 && core.events.counts.delivered.get() == before {
        let step = remaining_up_to(patience, STEP);
        if step.is_zero() || core.client.flush(Some(step)) {
            return;
        }
    }
}

/// The end of a time-out of librdkafka's: the call can be resumed. Where init has a reason, it gives that
/// one's code.
fn is_timeout(call: Call, error: &Error) -> bool {
    let ours = matches!(
        error.code,
        KABI_STATUS_CONFLICT | KABI_STATUS_PREV_IN_PROGRESS | KABI_STATUS_INTERRUPTED
    );
    error.flags & KABI_ERROR_RETRIABLE != 0
        && (error.code == KABI_STATUS_TIMED_OUT || (call == Call::Init && !ours))
}

fn goes_on() -> Error {
    Error::new(KABI_STATUS_TIMED_OUT, "it goes on in the background")
}

fn timed_out(call: Call, timeout_ms: i32, why: &Error) -> Error {
    let error = Error::timed_out(call.name(), timeout_ms);
    let why = &why.message;
    let message = format!("{}; call it again to wait on ({why})", error.message);
    Error { message, ..error }
}

/// Ends what a closing producer has begun: a commit is waited for, and a transaction that is open aborted.
pub(super) fn finish(
    core: &Held<Core>,
    deadline: Option<Instant>,
    timeout: Option<Duration>,
) -> Result<()> {
    let transactions = &core.transactions;
    if !transactions.enabled {
        return Ok(());
    }
    let pending = {
        let mut state = lock(&transactions.state);
        state.job.as_mut().map(|job| {
            // Whoever waited is gone: calls end before a close does.
            job.awaited = false;
            job.deadline = deadline;
            job.call
        })
    };
    match pending {
        // librdkafka aborts no transaction that is being committed.
        Some(Call::Commit) => match run(core, Work::Commit, deadline, timeout, || Ok(())) {
            Err(e) if is_timeout(Call::Commit, &e) => return Err(e),
            _ => {}
        },
        Some(Call::Init | Call::Offsets) => {
            drop(transactions.wait(lock(&transactions.state), deadline, || Ok(())));
        }
        Some(Call::Abort) | None => {}
    }
    if !lock(&transactions.state).open {
        return Ok(());
    }
    run(core, Work::Abort, deadline, timeout, || Ok(()))
}

impl Core {
    /// A list of librdkafka's with these partitions.
    fn list(&self, partitions: &[Partition<'_>]) -> Result<PartitionList> {
        crate::client::partitions::list(&self.topics, partitions)
    }

    /// Says more of a send that was refused for the state that the producer is in.
    #[cold]
    pub(super) fn explain(&self, error: Error) -> Error {
        match error.code {
            KABI_STATUS_FATAL => match self.client.fatal_error() {
                Some((code, text)) => Error::new(code, format!("send: {text}")),
                None => error,
            }
            .with_flags(KABI_ERROR_FATAL),
            KABI_STATUS_STATE if self.transactions.has_failed() => Error::new(
                KABI_STATUS_STATE,
                "send: the transaction has failed: abort it",
            )
            .with_flags(KABI_ERROR_ABORT_REQUIRED),
            KABI_STATUS_STATE if self.transactions.enabled => Error::new(
                KABI_STATUS_STATE,
                format!(
                    "send: no transaction is open to send in: begin one ({})",
                    error.message
                ),
            ),
            _ => error,
        }
    }
}
