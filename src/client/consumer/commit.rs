//! Committing offsets and reading back what is committed.

use super::denial::{Doubt, UNANSWERED};
use super::{Consumer, Core, Key, Partition, SLICE};
use crate::client::lifetime::{deadline_of, remaining_up_to};
use crate::error::{Error, Result};
use crate::rd::partitions::{Element, PartitionList};
use crate::rd::queue::EventKind;
use crate::status::{
    KABI_STATUS_GROUP_AUTHORIZATION_FAILED, KABI_STATUS_NO_OFFSET, KABI_STATUS_TIMED_OUT,
};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// What is committed for a partition, or why that can't be told.
#[derive(Debug, Clone)]
pub struct Committed {
    pub offset: i64,
    pub leader_epoch: i32,
    pub code: i32,
    pub metadata: Option<Vec<u8>>,
}

impl Committed {
    fn of(element: Element<'_>) -> Committed {
        Committed {
            offset: element.offset(),
            leader_epoch: element.leader_epoch(),
            code: element.code(),
            metadata: element.metadata().map(<[u8]>::to_vec),
        }
    }
}

/// How a commit ended: the whole's outcome, and that of each partition of librdkafka's list.
pub struct Outcome {
    pub result: Result<()>,
    pub partitions: Option<PartitionList>,
}

/// Offsets to commit or to store.
pub(super) fn check_offsets(partitions: &[Partition<'_>]) -> Result<()> {
    match partitions.iter().find(|p| p.offset < 0) {
        None => Ok(()),
        Some(bad) => Err(Error::argument(format!(
            "a commit of offset {}: it is the offset of the next record to read, 0 or more",
            bad.offset
        ))),
    }
}

impl Consumer {
    /// Commits everything that is handled. Nothing new to commit is a success.
    pub fn commit_handled(&self, timeout: Option<Duration>, timeout_ms: i32) -> Result<()> {
        self.need_group("commit")?;
        let wakes = self.core.wakes.load(Ordering::SeqCst);
        let go_on = || self.core.go_on(wakes, "commit");
        match self
            .core
            .commit(None, deadline_of(timeout), timeout_ms, go_on)
            .result
        {
            Err(e) if e.code == KABI_STATUS_NO_OFFSET => Ok(()),
            other => other,
        }
    }

    /// Commits these offsets. `status` is told of each one's outcome, unless the answer never came.
    pub fn commit(
        &self,
        partitions: &[Partition<'_>],
        timeout: Option<Duration>,
        timeout_ms: i32,
        mut status: impl FnMut(usize, i32),
    ) -> Result<()> {
        self.need_group("commit")?;
        check_offsets(partitions)?;
        let deadline = deadline_of(timeout);
        let wakes = self.core.wakes.load(Ordering::SeqCst);
        let mut codes = self.commit_list(partitions, deadline, timeout_ms, wakes)?;
        // librdkafka gives all partitions the code of the last one that failed. A commit can be
        // repeated, so ask for each one's own.
        if codes.len() > 1 && codes.iter().all(|&code| code != 0) {
            for (code, partition) in codes.iter_mut().zip(partitions) {
                let one = std::slice::from_ref(partition);
                let own = self.commit_list(one, deadline, timeout_ms, wakes)?;
                *code = own.first().copied().unwrap_or(*code);
            }
        }
        let mut result = Ok(());
        for (i, (&code, p)) in codes.iter().zip(partitions).enumerate() {
            status(i, code);
            if code != 0 && result.is_ok() {
                let name = &self.core.topics.get(p.key.0)?.name;
                result = Err(Error::of_code(
                    code,
                    &format!("commit of {name}[{}]", p.key.1),
                ));
            }
        }
        result
    }

    /// Commits these offsets: each partition's code, in the order given.
    fn commit_list(
        &self,
        partitions: &[Partition<'_>],
        deadline: Option<Instant>,
        timeout_ms: i32,
        wakes: u64,
    ) -> Result<Vec<i32>> {
        let list = self.core.list(partitions)?;
        let go_on = || self.core.go_on(wakes, "commit");
        let outcome = self.core.commit(Some(&list), deadline, timeout_ms, go_on);
        let Some(answers) = outcome.partitions else {
            // Without an answer for each, there is one for all.
            return outcome.result.map(|()| vec![0; partitions.len()]);
        };
        // The answer is in an order of its own.
        let code_of = |p: &Partition<'_>| -> Result<i32> {
            let name = &*self.core.topics.get(p.key.0)?.name;
            let same = |e: &Element<'_>| e.partition() == p.key.1 && e.topic() == name;
            Ok(answers.iter().find(same).map_or(0, |e| e.code()))
        };
        partitions.iter().map(code_of).collect()
    }

    /// Asks what is committed, a result for each partition.
    pub fn committed(
        &self,
        keys: &[Key],
        timeout: Option<Duration>,
        timeout_ms: i32,
    ) -> Result<Vec<Committed>> {
        self.need_group("committed")?;
        let partitions: Vec<Partition<'_>> = keys
            .iter()
            .map(|&key| Partition {
                key,
                offset: -1001,
                leader_epoch: -1,
                metadata: None,
            })
            .collect();
        if partitions.is_empty() {
            return Ok(Vec::new());
        }
        let list = self.core.list(&partitions)?;
        let mut patience = match self.core.denial.is_group_denied() {
            true => Duration::ZERO,
            false => UNANSWERED,
        };
        let ask = move |core: &Core, left: Duration| {
            let mut list = list.duplicate();
            if patience.is_zero() {
                core.need_group_allowed(left, "committed")?;
                patience = Duration::MAX;
            }
            let outcome = core.client.committed(&mut list, left.min(patience));
            if matches!(&outcome, Err(e) if e.code == KABI_STATUS_TIMED_OUT) {
                patience = Duration::ZERO;
            }
            outcome.map(|()| {
                core.denial.group_was_used();
                list.iter().map(Committed::of).collect()
            })
        };
        self.aside("committed", timeout, timeout_ms, ask)
    }
}

impl Core {
    /// Commits and waits for the answer while `go_on` says so.
    pub(super) fn commit(
        &self,
        offsets: Option<&PartitionList>,
        deadline: Option<Instant>,
        timeout_ms: i32,
        mut go_on: impl FnMut() -> Result<()>,
    ) -> Outcome {
        let failed = |error| Outcome {
            result: Err(error),
            partitions: None,
        };
        let Some(queue) = self.client.private_queue() else {
            return failed(Error::system("making a queue"));
        };
        // One that librdkafka has for a denied group stays in there, so that is asked before.
        let mut denied = self.denial.is_group_denied() && self.ask_group(&queue);
        let mut doubt = Doubt::new();
        let mut handed = false;
        loop {
            if !denied && !handed {
                if let Err(error) = self.client.commit(offsets, &queue) {
                    return failed(error);
                }
                handed = true;
            }
            doubt.look(self, &queue);
            let slice = remaining_up_to(deadline, SLICE);
            match queue.poll(Some(slice)) {
                Some(event) if event.kind() == EventKind::Commit => {
                    if event.code() == 0 {
                        self.denial.group_was_used();
                    }
                    return outcome_of(event.code(), event.partitions());
                }
                Some(event) if event.kind() == EventKind::Answer => {
                    denied = self.learn_of_group(&event);
                    if denied {
                        if handed {
                            self.denial.set_stuck();
                        }
                        let code = KABI_STATUS_GROUP_AUTHORIZATION_FAILED;
                        return failed(Error::of_code(code, "commit"));
                    }
                }
                Some(_) => {}
                None if slice.is_zero() => return failed(Error::timed_out("commit", timeout_ms)),
                None => {}
            }
            if let Err(error) = go_on() {
                return failed(error);
            }
        }
    }
}

/// The answer's own code, else the first partition's that failed.
fn outcome_of(code: i32, partitions: Option<PartitionList>) -> Outcome {
    let broken = partitions
        .as_ref()
        .and_then(|list| list.iter().find(|e| e.code() != 0))
        .map(|e| {
            Error::of_code(
                e.code(),
                &format!("commit of {}[{}]", e.topic(), e.partition()),
            )
        });
    let result = match (code, broken) {
        (0, None) => Ok(()),
        (0, Some(error)) => Err(error),
        (code, _) => Err(Error::of_code(code, "commit")),
    };
    Outcome { result, partitions }
}
