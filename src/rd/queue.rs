//! Owner of a `rd_kafka_queue_t` and of the events taken from it.

use super::client::Client;
use super::message::{name_of, MessageRef};
use super::partitions::PartitionList;
use super::received::Messages;
use super::{clamp_ms, sys, text_of};
use std::ffi::{c_char, c_int};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

/// Batches and single records are taken from a queue in portions of so many.
const AT_ONCE: usize = 128;

pub struct Queue {
    ptr: NonNull<sys::rd_kafka_queue_t>,
    client: Arc<Client>,
}

// SAFETY: librdkafka's queues are locked inside and may be used from any thread.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Queue {
    pub(super) fn from_raw(ptr: *mut sys::rd_kafka_queue_t, client: &Arc<Client>) -> Option<Queue> {
        NonNull::new(ptr).map(|ptr| Queue {
            ptr,
            client: Arc::clone(client),
        })
    }

    pub(super) fn as_ptr(&self) -> *mut sys::rd_kafka_queue_t {
        self.ptr.as_ptr()
    }

    /// Waits for the next event; `None` when the time is up or after `wake`.
    pub fn poll(&self, timeout: Option<Duration>) -> Option<Event> {
        // SAFETY: the queue is alive; the event is ours.
        let ptr = unsafe { sys::rd_kafka_queue_poll(self.as_ptr(), clamp_ms(timeout)) };
        NonNull::new(ptr).map(|ptr| Event { ptr })
    }

    /// Takes records until there are `max` or the time is up. Rebalance hooks run inside. `number` tells a topic's
    /// number by an identity, the same for all records of one topic of one client, and its name.
    pub fn consume(
        &self,
        timeout: Duration,
        max: usize,
        into: &mut Messages,
        mut number: impl FnMut(usize, &str) -> i32,
    ) {
        debug_assert!(into.is_of(&self.client));
        let end = into.len().saturating_add(max);
        let mut taken: Vec<sys::kafkabi_fetched_t> = Vec::with_capacity(max.min(AT_ONCE));
        let mut timeout = clamp_ms(Some(timeout));
        loop {
            let wanted = end.saturating_sub(into.len());
            let room = wanted.min(AT_ONCE);
            // SAFETY: the queue is alive; `room` were reserved, and as many written as it says.
            unsafe {
                let count = sys::kafkabi_inside_take(
                    self.as_ptr(),
                    timeout,
                    taken.as_mut_ptr(),
                    c_int::try_from(room).unwrap_or(0),
                    i64::try_from(wanted).unwrap_or(i64::MAX),
                );
                taken.set_len(usize::try_from(count).unwrap_or(0).min(room));
            }
            let promised: usize = taken.iter().map(promised_by).sum();
            let may_be_more = promised >= wanted || taken.len() == room;
            let mut taken = taken.drain(..);
            let mut rest = None;
            while into.len() < end && rest.is_none() {
                let Some(fetched) = taken.next() else { break };
                rest = self.read(fetched, end, into, &mut number);
            }
            for fetched in rest.into_iter().chain(taken).rev() {
                // SAFETY: taken from this queue, and given back once.
                unsafe { sys::kafkabi_inside_put_back(self.as_ptr(), &fetched) };
            }
            // A batch may hold fewer records than it promises.
            if !may_be_more || into.len() >= end {
                return;
            }
            timeout = 0;
        }
    }

    /// Reads what was taken, up to `end` records in all; one more where a batch ends in an error. Gives what is left.
    fn read(
        &self,
        mut fetched: sys::kafkabi_fetched_t,
        end: usize,
        into: &mut Messages,
        number: &mut impl FnMut(usize, &str) -> i32,
    ) -> Option<sys::kafkabi_fetched_t> {
        if fetched.is_batch == 0 {
            // SAFETY: taken from the queue, and given up to `into`.
            unsafe {
                let message = NonNull::new(sys::kafkabi_inside_message(&fetched))?;
                let view = MessageRef::new(message);
                let topic = match view.topic_id() {
                    0 => -1,
                    id => number(id, view.topic_name()),
                };
                into.push_message(message, topic);
            }
            return None;
        }
        // SAFETY: the topic is alive as long as the batch.
        let topic = number(fetched.topic as usize, unsafe { name_of(fetched.topic) });
        let before = into.len();
        let outcome = into.read(&mut fetched, topic, end.saturating_sub(before));
        // SAFETY: taken from this queue, and given back once; the error is given up to `into`.
        unsafe {
            if outcome.is_none() {
                match NonNull::new(sys::kafkabi_inside_spoilt(&fetched)) {
                    Some(error) => into.push_message(error, topic),
                    None => into.unread(before),
                }
            } else if sys::kafkabi_inside_read(&fetched) == 0 {
                into.unread(before);
            } else if fetched.size > 0 {
                return Some(fetched);
            } else {
                sys::kafkabi_inside_done(&fetched);
            }
        }
        None
    }

    /// Ends a wait on the queue, or else the next one.
    pub fn wake(&self) {
        // SAFETY: the queue is alive.
        unsafe { sys::rd_kafka_queue_yield(self.as_ptr()) };
    }

    pub fn is_empty(&self) -> bool {
        // SAFETY: the queue is alive.
        unsafe { sys::rd_kafka_queue_length(self.as_ptr()) == 0 }
    }

    /// Writes a 1 in eight bytes to `fd` whenever the queue goes from empty to not empty.
    pub fn signal_fd(&self, fd: i32) {
        const ONE: u64 = 1;
        // SAFETY: the queue is alive; the payload is copied.
        unsafe {
            sys::rd_kafka_queue_io_event_enable(
                self.as_ptr(),
                fd,
                std::ptr::from_ref(&ONE).cast(),
                size_of::<u64>(),
            );
        }
    }
}

fn promised_by(fetched: &sys::kafkabi_fetched_t) -> usize {
    usize::try_from(fetched.left).unwrap_or(0).max(1)
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: this reference is ours; the client, which is still held, outlives it.
        unsafe { sys::rd_kafka_queue_destroy(self.as_ptr()) };
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    Reports,
    Error,
    Log,
    Statistics,
    Commit,
    Rebalance,
    Token,
    Answer,
    Other,
}

pub struct LogLine {
    pub level: i32,
    pub facility: String,
    pub text: String,
    /// Words of the property debug, with commas between them; empty for a line that comes without it.
    pub contexts: String,
}

pub struct Event {
    ptr: NonNull<sys::rd_kafka_event_t>,
}

impl Event {
    pub(super) fn as_ptr(&self) -> *mut sys::rd_kafka_event_t {
        self.ptr.as_ptr()
    }

    pub fn kind(&self) -> EventKind {
        // SAFETY: the event is alive.
        match unsafe { sys::rd_kafka_event_type(self.ptr.as_ptr()) } {
            sys::RD_KAFKA_EVENT_DR => EventKind::Reports,
            sys::RD_KAFKA_EVENT_ERROR => EventKind::Error,
            sys::RD_KAFKA_EVENT_LOG => EventKind::Log,
            sys::RD_KAFKA_EVENT_STATS => EventKind::Statistics,
            sys::RD_KAFKA_EVENT_OFFSET_COMMIT => EventKind::Commit,
            sys::RD_KAFKA_EVENT_REBALANCE => EventKind::Rebalance,
            sys::RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH => EventKind::Token,
            kind if super::admin::is_answer(kind) => EventKind::Answer,
            _ => EventKind::Other,
        }
    }

    pub fn message_count(&self) -> usize {
        // SAFETY: the event is alive.
        unsafe { sys::rd_kafka_event_message_count(self.ptr.as_ptr()) }
    }

    /// Visits the messages of a report event.
    pub fn for_each_message(&mut self, mut visit: impl FnMut(MessageRef<'_>)) {
        loop {
            // SAFETY: the event is alive and owns the messages until it is destroyed.
            let message = unsafe { sys::rd_kafka_event_message_next(self.ptr.as_ptr()) };
            let Some(message) = NonNull::new(message.cast_mut()) else {
                return;
            };
            // SAFETY: valid for as long as the event, which the closure cannot outlive.
            visit(unsafe { MessageRef::new(message) });
        }
    }

    /// Frees a report event and its messages, and so makes space in the client's queue.
    pub fn settle(self) {
        // SAFETY: the event is alive and of reports, whose messages nobody refers to any more.
        unsafe { sys::kafkabi_inside_settle(self.ptr.as_ptr()) };
    }

    pub fn code(&self) -> i32 {
        // SAFETY: the event is alive.
        unsafe { sys::rd_kafka_event_error(self.ptr.as_ptr()) }
    }

    pub fn is_fatal(&self) -> bool {
        // SAFETY: the event is alive.
        unsafe { sys::rd_kafka_event_error_is_fatal(self.ptr.as_ptr()) != 0 }
    }

    /// The number that an asynchronous commit was started with.
    pub fn number(&self) -> u64 {
        // SAFETY: the event is alive.
        unsafe { sys::rd_kafka_event_opaque(self.ptr.as_ptr()) as u64 }
    }

    pub fn error_text(&self) -> String {
        // SAFETY: the event is alive; the text is terminated and copied.
        unsafe { text_of(sys::rd_kafka_event_error_string(self.ptr.as_ptr())) }
    }

    pub fn statistics(&self) -> String {
        // SAFETY: as above.
        unsafe { text_of(sys::rd_kafka_event_stats(self.ptr.as_ptr())) }
    }

    /// The property sasl.oauthbearer.config, with an event that asks for a token.
    pub fn token_config(&self) -> String {
        // SAFETY: as above.
        unsafe { text_of(sys::rd_kafka_event_config_string(self.ptr.as_ptr())) }
    }

    pub fn log(&self) -> Option<LogLine> {
        let mut facility: *const c_char = std::ptr::null();
        let mut text: *const c_char = std::ptr::null();
        let mut level = 0;
        // SAFETY: the event is alive; what it writes points into it and is copied at once.
        unsafe {
            let code =
                sys::rd_kafka_event_log(self.ptr.as_ptr(), &mut facility, &mut text, &mut level);
            (code == 0).then(|| LogLine {
                level,
                facility: text_of(facility),
                text: text_of(text),
                contexts: self.contexts(),
            })
        }
    }

    /// The words of the property debug that a log line belongs to, with commas.
    fn contexts(&self) -> String {
        let mut words: [c_char; 256] = [0; 256];
        // SAFETY: the event is alive; the buffer has this size, and what is written is terminated.
        unsafe {
            let code = sys::rd_kafka_event_debug_contexts(
                self.ptr.as_ptr(),
                words.as_mut_ptr(),
                words.len(),
            );
            match code {
                0 => text_of(words.as_ptr()),
                _ => String::new(),
            }
        }
    }

    /// The partitions of a commit's outcome or of a rebalance, a copy.
    pub fn partitions(&self) -> Option<PartitionList> {
        // SAFETY: the event is alive and owns the list, which is only read here.
        unsafe {
            let list = sys::rd_kafka_event_topic_partition_list(self.ptr.as_ptr());
            PartitionList::borrow(list).map(|l| l.duplicate())
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: owned.
        unsafe { sys::rd_kafka_event_destroy(self.ptr.as_ptr()) };
    }
}
