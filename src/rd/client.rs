//! Owner of a `rd_kafka_t`. Queues, topics and message batches hold it alive, so that it is destroyed
//! after all that points into it; who drops the last holder waits for librdkafka's threads, which is why
//! the layer above keeps that for the service thread.

use super::conf::{Conf, Events, Tokens};
use super::partitions::PartitionList;
use super::queue::Queue;
use super::topic::Topic;
use super::{check, clamp_ms, sys, take_error, text_of};
use crate::error::Error;
use std::ffi::{c_char, c_void};
use std::mem::ManuallyDrop;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Producer,
    Consumer,
    /// Neither sends nor receives.
    Admin,
}

/// A change of the assignment, told inside a call that polls the consumer queue, on its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Assign,
    Revoke,
    /// Like a revocation, but the group has given the partitions away already.
    Lost,
}

/// Applies changes of the assignment. It must finish each by one of the assign calls.
pub trait Rebalance: Send + Sync {
    fn rebalance(&self, client: &Client, change: Change, partitions: &PartitionList);
}

/// Told that a broker slows the client down: its name, its id, and for how many milliseconds. Called
/// inside a call that polls the main queue, on its thread.
pub type Throttled = Box<dyn Fn(&str, i32, i32) + Send + Sync>;

/// What librdkafka calls back for, inside calls of ours.
#[derive(Default)]
pub struct Hooks {
    pub rebalance: Option<Box<dyn Rebalance>>,
    pub throttled: Option<Throttled>,
}

pub struct Client {
    rk: NonNull<sys::rd_kafka_t>,
    kind: Kind,
    /// What librdkafka's opaque points at; freed after the client. None in a stand-in of a callback's.
    hooks: Option<NonNull<Hooks>>,
}

// SAFETY: librdkafka's handle may be used from any thread, several at once; the hooks are Send + Sync.
unsafe impl Send for Client {}
// SAFETY: as above.
unsafe impl Sync for Client {}

impl Client {
    pub fn new(
        kind: Kind,
        mut conf: Conf,
        events: Events,
        hooks: Hooks,
    ) -> Result<Arc<Client>, Error> {
        conf.set_events(events);
        // SAFETY: Box::into_raw never gives NULL.
        let hooks = unsafe { NonNull::new_unchecked(Box::into_raw(Box::new(hooks))) };
        // SAFETY: the conf is alive; the hooks are ours alone until the client is made, and outlive it.
        unsafe {
            sys::rd_kafka_conf_set_opaque(conf.as_ptr(), hooks.as_ptr().cast());
            if hooks.as_ref().rebalance.is_some() {
                sys::rd_kafka_conf_set_rebalance_cb(conf.as_ptr(), Some(on_rebalance));
            }
            if hooks.as_ref().throttled.is_some() {
                sys::rd_kafka_conf_set_throttle_cb(conf.as_ptr(), Some(on_throttle));
            }
        }
        let rk = Self::start(kind, conf).inspect_err(|_| {
            // SAFETY: made by Box::into_raw above, and no client came to use it.
            drop(unsafe { Box::from_raw(hooks.as_ptr()) });
        })?;
        let client = Client {
            rk,
            kind,
            hooks: Some(hooks),
        };
        if events.tokens == Tokens::Unsecured {
            client.refresh_tokens_in_background()?;
        }
        Ok(Arc::new(client))
    }

    fn start(kind: Kind, conf: Conf) -> Result<NonNull<sys::rd_kafka_t>, Error> {
        let c_kind = match kind {
            Kind::Producer | Kind::Admin => sys::rd_kafka_type_t::RD_KAFKA_PRODUCER,
            Kind::Consumer => sys::rd_kafka_type_t::RD_KAFKA_CONSUMER,
        };
        let mut text: [c_char; 512] = [0; 512];
        super::certificate::watch(&conf);
        let raw = conf.into_raw();
        // SAFETY: the conf is alive; the callback is a function of getaddrinfo's contract.
        unsafe { sys::rd_kafka_conf_set_resolve_cb(raw, super::resolve::resolve) };
        if kind == Kind::Consumer {
            // SAFETY: as above. Queue::consume() is all that asks a consumer for records.
            unsafe { sys::kafkabi_inside_receive_batches(raw) };
        }
        let _blocked = super::signals::Blocked::all();
        let _whole = super::fork::Whole::begin();
        // SAFETY: the conf is alive and given up on success; the buffer has the given size.
        let rk = unsafe { sys::rd_kafka_new(c_kind, raw, text.as_mut_ptr(), text.len()) };
        NonNull::new(rk).ok_or_else(|| {
            // SAFETY: no arguments. On failure the conf stays ours; the text is terminated.
            let (code, text) = unsafe {
                let code = sys::rd_kafka_last_error();
                sys::rd_kafka_conf_destroy(raw);
                (code, text_of(text.as_ptr()))
            };
            Error::new(
                code,
                format!("librdkafka refused the configuration: {text}"),
            )
        })
    }

    pub(super) fn as_ptr(&self) -> *mut sys::rd_kafka_t {
        self.rk.as_ptr()
    }

    /// The queue of reports, errors, statistics and logs.
    pub fn main_queue(self: &Arc<Client>) -> Option<Queue> {
        // SAFETY: the client is alive; the call adds a reference that Queue gives back.
        Queue::from_raw(unsafe { sys::rd_kafka_queue_get_main(self.as_ptr()) }, self)
    }

    /// The queue of records, assignment changes and consumer errors; none without a group.
    pub fn consumer_queue(self: &Arc<Client>) -> Option<Queue> {
        // SAFETY: as above.
        Queue::from_raw(
            unsafe { sys::rd_kafka_queue_get_consumer(self.as_ptr()) },
            self,
        )
    }

    /// A queue of its own for the answer to one request.
    pub fn private_queue(self: &Arc<Client>) -> Option<Queue> {
        // SAFETY: as above.
        Queue::from_raw(unsafe { sys::rd_kafka_queue_new(self.as_ptr()) }, self)
    }

    /// Log lines become events of the main queue (with `log.queue=true`).
    pub fn logs_to_main_queue(&self) -> Result<(), Error> {
        // SAFETY: the client is alive; NULL means the main queue.
        check(
            unsafe { sys::rd_kafka_set_log_queue(self.as_ptr(), std::ptr::null_mut()) },
            "sending the log to the event queue",
        )
    }

    /// Sends what waits without lingering. True when nothing is left in librdkafka's queues.
    pub fn flush(&self, timeout: Option<Duration>) -> bool {
        // SAFETY: the client is alive.
        unsafe { sys::rd_kafka_flush(self.as_ptr(), clamp_ms(timeout)) == 0 }
    }

    pub fn purge(&self, queued: bool, in_flight: bool) -> Result<(), Error> {
        let mut flags = 0;
        if queued {
            flags |= sys::RD_KAFKA_PURGE_F_QUEUE;
        }
        if in_flight {
            flags |= sys::RD_KAFKA_PURGE_F_INFLIGHT;
        }
        // SAFETY: the client is alive.
        check(
            unsafe { sys::rd_kafka_purge(self.as_ptr(), flags) },
            "purge",
        )
    }

    /// Messages, requests and events that librdkafka still holds.
    pub fn outstanding(&self) -> usize {
        // SAFETY: the client is alive.
        usize::try_from(unsafe { sys::rd_kafka_outq_len(self.as_ptr()) }).unwrap_or(0)
    }

    /// What tells this client from others while it lives.
    pub(super) fn address(&self) -> usize {
        self.rk.addr().get()
    }

    /// A property's value in this client.
    pub fn property(&self, name: &str) -> Option<String> {
        // SAFETY: the client is alive, and its configuration with it.
        super::conf::value_of(unsafe { sys::rd_kafka_conf(self.as_ptr()) }, name)
    }

    /// The fatal error that was raised, with its original code.
    pub fn fatal_error(&self) -> Option<(i32, String)> {
        let mut text: [c_char; 512] = [0; 512];
        // SAFETY: the client is alive, the buffer has the given size and is terminated.
        unsafe {
            let code = sys::rd_kafka_fatal_error(self.as_ptr(), text.as_mut_ptr(), text.len());
            (code != 0).then(|| (code, text_of(text.as_ptr())))
        }
    }

    /// What the cluster's metadata says of a topic: its error, 0 for none, and how many partitions it has.
    pub fn ask_topic(&self, topic: &Topic, timeout: Duration) -> Result<(i32, i32), Error> {
        let mut metadata = std::ptr::null();
        // SAFETY: both are alive; what is written is ours to destroy.
        let code = unsafe {
            sys::rd_kafka_metadata(
                self.as_ptr(),
                0,
                topic.as_ptr(),
                &mut metadata,
                clamp_ms(Some(timeout)),
            )
        };
        check(code, "asking for a topic's metadata")?;
        // SAFETY: on success there is a metadata object with `topic_cnt` topics. The error is read as the
        // integer that C wrote, which the Rust enum may not know.
        unsafe {
            let topics = std::ptr::addr_of!((*metadata).topics).read();
            let count = std::ptr::addr_of!((*metadata).topic_cnt).read();
            let told = (count > 0).then(|| {
                (
                    std::ptr::addr_of!((*topics).err).cast::<i32>().read(),
                    std::ptr::addr_of!((*topics).partition_cnt).read(),
                )
            });
            sys::rd_kafka_metadata_destroy(metadata);
            Ok(told.unwrap_or((0, 0)))
        }
    }

    pub fn subscribe(&self, topics: &PartitionList) -> Result<(), Error> {
        // SAFETY: both are alive; the list is copied.
        check(
            unsafe { sys::rd_kafka_subscribe(self.as_ptr(), topics.as_ptr()) },
            "subscribe",
        )
    }

    pub fn unsubscribe(&self) -> Result<(), Error> {
        // SAFETY: the client is alive.
        check(
            unsafe { sys::rd_kafka_unsubscribe(self.as_ptr()) },
            "unsubscribe",
        )
    }

    /// `None` clears the assignment.
    pub fn assign(&self, partitions: Option<&PartitionList>) -> Result<(), Error> {
        let list = partitions.map_or(std::ptr::null(), |p| p.as_ptr().cast_const());
        // SAFETY: the client is alive; the list is copied.
        check(
            unsafe { sys::rd_kafka_assign(self.as_ptr(), list) },
            "assign",
        )
    }

    pub fn incremental_assign(&self, partitions: &PartitionList) -> Result<(), Error> {
        // SAFETY: both are alive; the list is copied, the error object is ours.
        unsafe {
            let error = sys::rd_kafka_incremental_assign(self.as_ptr(), partitions.as_ptr());
            take_error(error, "incremental assign")
        }
    }

    pub fn incremental_unassign(&self, partitions: &PartitionList) -> Result<(), Error> {
        // SAFETY: both are alive; the list is copied, the error object is ours.
        unsafe {
            let error = sys::rd_kafka_incremental_unassign(self.as_ptr(), partitions.as_ptr());
            take_error(error, "incremental unassign")
        }
    }

    /// The assignment is to be changed by the incremental calls only.
    pub fn is_cooperative(&self) -> bool {
        self.rebalance_protocol() == c"COOPERATIVE"
    }

    pub fn assignment(&self) -> Result<PartitionList, Error> {
        let mut list = std::ptr::null_mut();
        // SAFETY: the client is alive; the list written is ours.
        check(
            unsafe { sys::rd_kafka_assignment(self.as_ptr(), &mut list) },
            "assignment",
        )?;
        PartitionList::from_raw(list)
    }

    /// Stores offsets for the next commit. Each partition's own outcome is in the list; the call fails
    /// only if all did.
    pub fn store_offsets(&self, offsets: &mut PartitionList) -> i32 {
        // SAFETY: both are alive; elements are updated in place.
        unsafe { sys::rd_kafka_offsets_store(self.as_ptr(), offsets.as_ptr()) }
    }

    /// Starts a commit (`None`: of what is stored) whose outcome arrives on `queue`.
    pub fn commit(&self, offsets: Option<&PartitionList>, queue: &Queue) -> Result<(), Error> {
        let list = offsets.map_or(std::ptr::null(), |p| p.as_ptr().cast_const());
        // SAFETY: all are alive; the list is copied; no callback, so the outcome is an event.
        let code = unsafe {
            sys::rd_kafka_commit_queue(
                self.as_ptr(),
                list,
                queue.as_ptr(),
                None,
                std::ptr::null_mut(),
            )
        };
        check(code, "commit")
    }

    /// Fills in the committed offsets.
    pub fn committed(&self, list: &mut PartitionList, timeout: Duration) -> Result<(), Error> {
        // SAFETY: both are alive; elements are updated in place.
        let code = unsafe {
            sys::rd_kafka_committed(self.as_ptr(), list.as_ptr(), clamp_ms(Some(timeout)))
        };
        check(code, "committed")
    }

    /// Has the group's coordinator asked again where assigned partitions begin that have not begun.
    pub fn ask_committed_again(&self) {
        // SAFETY: the client is alive and a consumer; what is queued goes with it.
        unsafe { sys::kafkabi_inside_ask_committed_again(self.as_ptr()) }
    }

    /// Moves the read positions. Each partition's own outcome is in the list.
    pub fn seek(&self, list: &mut PartitionList, timeout: Duration) -> Result<(), Error> {
        // SAFETY: both are alive; elements are updated in place, the error object is ours.
        unsafe {
            let error = sys::rd_kafka_seek_partitions(
                self.as_ptr(),
                list.as_ptr(),
                clamp_ms(Some(timeout)),
            );
            take_error(error, "seek")
        }
    }

    /// Starts leaving the group; what there is to answer on the way arrives on `queue`.
    pub fn close_consumer(&self, queue: &Queue) -> Result<(), Error> {
        // SAFETY: both are alive; the error object is ours.
        unsafe {
            let error = sys::rd_kafka_consumer_close_queue(self.as_ptr(), queue.as_ptr());
            take_error(error, "close")
        }
    }

    pub fn is_consumer_closed(&self) -> bool {
        // SAFETY: the client is alive.
        unsafe { sys::rd_kafka_consumer_closed(self.as_ptr()) != 0 }
    }
}

impl Client {
    /// At the end, lets go of commits that wait for a coordinator which can't be had. librdkafka would keep
    /// them, and spin on a thread, until `session.timeout.ms` has passed; nothing else needs that any more.
    fn give_up_commits(&self) {
        if self.is_consumer_closed() {
            return;
        }
        let mut text: [c_char; 128] = [0; 128];
        // SAFETY: the client is alive, and its configuration with it; the strings are terminated, the buffer
        // has the given size. librdkafka calls this configuration read-only, since most of it is only used
        // when a client is made. This property is one aligned int, which its main thread reads anew at each
        // look whether the group has ended, so that it sees the one value or the other.
        unsafe {
            sys::rd_kafka_conf_set(
                sys::rd_kafka_conf(self.as_ptr()).cast_mut(),
                c"session.timeout.ms".as_ptr(),
                c"1".as_ptr(),
                text.as_mut_ptr(),
                text.len(),
            );
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A consumer that could not leave its group in time would make a plain destroy wait for the
        // session time-out; one that has left has nothing more to close.
        let flags = match self.kind {
            Kind::Producer | Kind::Admin => 0,
            Kind::Consumer => {
                self.give_up_commits();
                sys::RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE
            }
        };
        // SAFETY: the last holder is gone, so nothing points into the client any more.
        unsafe { sys::rd_kafka_destroy_flags(self.as_ptr(), flags) };
        super::certificate::forget(self.address());
        if let Some(hooks) = self.hooks {
            // SAFETY: made by Box::into_raw in `new`; librdkafka's threads have ended.
            drop(unsafe { Box::from_raw(hooks.as_ptr()) });
        }
    }
}

/// librdkafka's rebalance callback: on the thread that polls the consumer queue, inside that call.
unsafe extern "C" fn on_rebalance(
    rk: *mut sys::rd_kafka_t,
    err: sys::rd_kafka_resp_err_t,
    partitions: *mut sys::rd_kafka_topic_partition_list_t,
    opaque: *mut c_void,
) {
    let (Some(rk), false) = (NonNull::new(rk), opaque.is_null()) else {
        return;
    };
    // SAFETY: the opaque is the hooks that `new` set, alive as long as the client.
    let hooks = unsafe { &*opaque.cast::<Hooks>() };
    let Some(hook) = &hooks.rebalance else { return };
    // Never dropped: the client and the list are librdkafka's for the length of this call.
    let client = ManuallyDrop::new(Client {
        rk,
        kind: Kind::Consumer,
        hooks: None,
    });
    // SAFETY: librdkafka gives a valid list for the length of this call.
    let Some(list) = (unsafe { PartitionList::borrow(partitions) }) else {
        return;
    };
    let change = if err == sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS {
        Change::Assign
    } else if client.is_assignment_lost() {
        Change::Lost
    } else {
        Change::Revoke
    };
    let applied = catch_unwind(AssertUnwindSafe(|| hook.rebalance(&client, change, &list))).is_ok();
    if !applied {
        // A fault of ours must not leave the group waiting for an answer: give the partitions up.
        let _ = client.assign(None);
    }
}

/// librdkafka's throttle callback: on the thread that polls the main queue, inside that call.
unsafe extern "C" fn on_throttle(
    _rk: *mut sys::rd_kafka_t,
    broker: *const c_char,
    id: i32,
    ms: i32,
    opaque: *mut c_void,
) {
    if opaque.is_null() {
        return;
    }
    // SAFETY: the opaque is the hooks that `new` set, alive as long as the client; the name is
    // terminated and copied.
    let (hooks, broker) = unsafe { (&*opaque.cast::<Hooks>(), text_of(broker)) };
    if let Some(throttled) = &hooks.throttled {
        // A fault of ours must not unwind into C; the news is lost.
        let _ = catch_unwind(AssertUnwindSafe(|| throttled(&broker, id, ms)));
    }
}
