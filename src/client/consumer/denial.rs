//! What brokers do not let a consumer use. librdkafka asks for the coordinator of a denied group over and
//! over, and commits wait for it; it tells of the denial once, to who polls for records. Of a topic that is
//! denied and was assigned by hand it tells nothing. So who waits in vain for a while asks by itself.

use super::{Consumer, Core, SLICE};
use crate::client::lifetime::{deadline_of, lock, remaining_up_to, Held};
use crate::client::threads;
use crate::document::{GroupOffsetsList, TopicPartition};
use crate::error::{flags_of, Error, Result};
use crate::rd::admin::{Ask, Asked};
use crate::rd::queue::{Event, EventKind, Queue};
use crate::status::{
    KABI_STATUS_GROUP_AUTHORIZATION_FAILED as GROUP_DENIED, KABI_STATUS_TIMED_OUT,
    KABI_STATUS_TOPIC_AUTHORIZATION_FAILED as TOPIC_DENIED,
};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// How long a request to the group's coordinator goes unanswered, or a partition that was assigned by hand
/// unheard of, before it is asked why.
pub(super) const UNANSWERED: Duration = Duration::from_secs(1);
/// How long that question may take, and how often it is asked.
const ASK: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(super) struct Denial {
    /// The group may not be used, as last heard.
    group: AtomicBool,
    /// A commit waits inside librdkafka for the coordinator of a denied group.
    stuck: AtomicBool,
    watch: Mutex<Watch>,
}

/// When the service thread is to ask.
#[derive(Default)]
struct Watch {
    /// Why commits that nobody waits for are not answered: not before then.
    commits: Option<Instant>,
    /// Why nothing is heard of partitions that were assigned by hand.
    partitions: Option<Instant>,
    /// That was asked, and nothing was assigned since.
    asked: bool,
}

impl Denial {
    pub fn is_group_denied(&self) -> bool {
        self.group.load(Ordering::SeqCst)
    }

    /// A poll for records was told of it.
    pub fn heard_of_group(&self) {
        self.group.store(true, Ordering::SeqCst);
    }

    /// The group's coordinator did what this consumer asked for.
    pub fn group_was_used(&self) {
        self.group.store(false, Ordering::SeqCst);
        self.stuck.store(false, Ordering::SeqCst);
    }

    pub fn set_stuck(&self) {
        self.stuck.store(true, Ordering::SeqCst);
    }

    pub fn is_stuck(&self) -> bool {
        self.stuck.load(Ordering::SeqCst)
    }
}

/// Counts the time of a wait for the group's coordinator, and asks when it is long.
pub(super) struct Doubt(Instant);

impl Doubt {
    pub fn new() -> Doubt {
        Doubt(Instant::now() + UNANSWERED)
    }

    /// The answer arrives on the queue that the wait polls.
    pub fn look(&mut self, core: &Core, queue: &Queue) {
        let now = Instant::now();
        if now >= self.0 {
            self.0 = now + ASK;
            core.ask_group(queue);
        }
    }
}

impl Consumer {
    /// Partitions were assigned by hand: if nothing is heard of them, the service thread asks why.
    pub(super) fn watch_partitions(&self) {
        {
            let mut watch = lock(&self.core.denial.watch);
            watch.partitions = Some(Instant::now() + UNANSWERED);
            watch.asked = false;
        }
        self.core.main_queue.wake();
    }
}

impl Core {
    /// Asks the group's coordinator something small. False if there is nothing to ask about.
    pub(super) fn ask_group(&self, queue: &Queue) -> bool {
        // Any topic does; who commits has one.
        let (Ok(entry), Some(group)) = (self.topics.get(0), self.client.property("group.id"))
        else {
            return false;
        };
        let question = GroupOffsetsList {
            group,
            partitions: Some(vec![TopicPartition {
                topic: entry.name.to_string(),
                partition: 0,
            }]),
            require_stable: false,
        };
        let to = Asked {
            client: &self.client,
            queue,
            number: 0,
            timeout: ASK,
            broker: None,
        };
        question.ask(&to).is_ok()
    }

    /// Whether the answer to `ask_group` says that the group is denied. Other failures say nothing.
    pub(super) fn learn_of_group(&self, event: &Event) -> bool {
        let code = match event.code() {
            0 => GroupOffsetsList::answer(event).map_or(0, |a| a.status.code),
            code => code,
        };
        if matches!(code, 0 | GROUP_DENIED) {
            self.denial.group.store(code != 0, Ordering::SeqCst);
        }
        code == GROUP_DENIED
    }

    /// Asks and waits for the answer: an error if the group is denied, or if there is no answer.
    pub(super) fn need_group_allowed(&self, timeout: Duration, doing: &str) -> Result<()> {
        let deadline = deadline_of(Some(timeout));
        let queue = self
            .client
            .private_queue()
            .ok_or_else(|| Error::system("making a queue"))?;
        if !self.ask_group(&queue) {
            return Ok(());
        }
        loop {
            let left = remaining_up_to(deadline, ASK);
            match queue.poll(Some(left)) {
                Some(event) if event.kind() == EventKind::Answer => {
                    return match self.learn_of_group(&event) {
                        true => Err(Error::of_code(GROUP_DENIED, doing)),
                        false => Ok(()),
                    };
                }
                None if left.is_zero() => return Err(Error::of_code(KABI_STATUS_TIMED_OUT, doing)),
                _ => {}
            }
        }
    }
}

/// On the service thread.
impl Core {
    /// Asks what is due, and tells when to look again.
    pub(super) fn look_for_denials(&self) -> Option<Duration> {
        let (now, oldest) = (Instant::now(), self.commits.oldest());
        let (ask_group, ask_topics, next) = {
            let mut watch = lock(&self.denial.watch);
            let wait = match self.denial.is_group_denied() {
                true => Duration::ZERO,
                false => UNANSWERED,
            };
            let commits = oldest.map(|began| match watch.commits {
                Some(not_before) => not_before.max(began + wait),
                None => began + wait,
            });
            let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
            let (ask_group, ask_topics) = (due(commits), due(watch.partitions));
            let again = now + ASK;
            if ask_group {
                watch.commits = Some(again);
            }
            if ask_topics {
                watch.partitions = Some(again);
                watch.asked = true;
            }
            let later = |at: Option<Instant>, asked| if asked { Some(again) } else { at };
            let next = [
                later(commits, ask_group),
                later(watch.partitions, ask_topics),
            ];
            (ask_group, ask_topics, next.into_iter().flatten().min())
        };
        if ask_group {
            self.ask_group(&self.main_queue);
        }
        if ask_topics {
            self.ask_silent_topics();
        }
        next.map(|at| at.saturating_duration_since(now))
    }

    /// Asks about the topics of partitions assigned by hand of which nothing was heard yet. librdkafka's
    /// question blocks, hence the thread; its administrative one would wait for one certain broker.
    fn ask_silent_topics(&self) {
        let by_hand = self.tracking.with(|state| state.by_hand);
        let list = self.client.assignment().ok().filter(|_| by_hand);
        let topics: BTreeSet<String> = list
            .iter()
            .flat_map(|list| list.iter())
            .filter(|e| {
                let known = self.client.cached_watermarks(e.topic(), e.partition());
                !matches!(known, Ok((_, end)) if end >= 0)
            })
            .map(|e| e.topic().to_owned())
            .collect();
        if topics.is_empty() {
            self.forget_partitions();
        } else if let Some(core) = self.myself.get().and_then(Weak::upgrade) {
            let core = Held::new(core, Arc::clone(&self.control));
            // Without a thread it is asked the next time.
            let _ = threads::spawn("kafkabi-ask", move || core.ask_topics(&topics));
        }
    }

    fn forget_partitions(&self) {
        let mut watch = lock(&self.denial.watch);
        if watch.asked {
            watch.partitions = None;
        }
    }

    /// The answer to a question of `look_for_denials`.
    pub(super) fn take_answer(&self, event: &Event) {
        if self.learn_of_group(event) {
            lock(&self.denial.watch).commits = None;
            if !self.commits.is_empty() {
                self.denial.set_stuck();
                self.end_commits(GROUP_DENIED);
            }
        }
    }
}

/// On a thread of its own.
impl Core {
    fn ask_topics(&self, names: &BTreeSet<String>) {
        let topics = names
            .iter()
            .filter_map(|name| self.topics.number(&self.client, name).ok())
            .filter_map(|number| self.topics.get(number).ok());
        for entry in topics {
            let code = loop {
                if self.closing.load(Ordering::SeqCst) {
                    return;
                }
                match self.client.ask_topic(&entry.topic, SLICE) {
                    Ok((code, _)) => break code,
                    Err(e) if e.code == KABI_STATUS_TIMED_OUT => {}
                    // Asked again when the time comes.
                    Err(_) => return,
                }
            };
            if code == TOPIC_DENIED {
                let text = format!(
                    "topic {}, whose partitions are assigned: {}",
                    entry.name,
                    crate::error::text(code)
                );
                self.events.push_error(code, flags_of(code), text);
            }
        }
        self.forget_partitions();
    }
}
