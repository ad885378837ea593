//! Administration: requests with a number, begun by a JSON document and answered by one. On a client of
//! its own, or on top of a producer or consumer, whose close ends it too.
//!
//! All answers arrive on the service thread, which settles the request: as an event, or for who waits. So a
//! wait can be cut short at any moment, and the request goes on.

mod arguments;
mod operations;
mod requests;
mod service;
mod steps;
#[cfg(test)]
mod tests;

pub use operations::{Operation, OPERATIONS};
pub use requests::How;

use crate::client::config::Config;
use crate::client::events::Events;
use crate::client::hints;
use crate::client::lifetime::{deadline_of, lock, Attached, Control, Held};
use crate::client::metrics::{document, OfEvents, Own};
use crate::client::service::throttled;
use crate::client::threads;
use crate::document::{MorePartitions, NewTopic, PartitionsCreate, TopicsCreate, TopicsDelete};
use crate::error::{Error, Result};
use crate::rd::admin::TIMEOUT_MAX;
use crate::rd::client::{Client, Hooks, Kind};
use crate::rd::queue::Queue;
use crate::rd::sasl::Token;
use crate::record::{KABI_ERROR_OUTCOME_UNKNOWN, KABI_EVENT_LOG, KABI_EVENT_REQUEST};
use crate::status::{KABI_STATUS_INTERRUPTED, KABI_STATUS_QUEUE_FULL, KABI_STATUS_STATE};
use once_cell::sync::OnceCell;
use operations::{Request, Work};
use requests::Requests;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

/// Requests of an admin on top of a client that may be under way or wait to be drained or fetched.
const REQUESTS_MAX: usize = 1024;
/// How long an admin that was freed without a close waits for answers, in the background.
const GOODBYE: Duration = Duration::from_secs(10);
/// librdkafka ends a request at its time-out. This is how late it may be before we do.
const GRACE: Duration = Duration::from_millis(100);

/// What a service thread shares with the calls. Fields are dropped in this order.
struct Core {
    /// Where answers arrive, and the main queue's events if the client is ours.
    queue: Queue,
    client: Arc<Client>,
    requests: Arc<Requests>,
    events: Arc<Events>,
    control: Arc<Control>,
    /// When the cluster's brokers may be asked for next.
    look_around: Mutex<Option<Instant>>,
    /// For threads that ask for them.
    myself: OnceCell<Weak<Core>>,
    /// Threads that take steps.
    walking: AtomicUsize,
    /// Keeps the client that this is on top of from ending before the rest is gone.
    _base: Option<Box<dyn Send + Sync>>,
}

/// What outlives the core: a client that closes takes the core away.
struct Link {
    core: Mutex<Option<Held<Core>>>,
    requests: Arc<Requests>,
    control: Arc<Control>,
}

/// What an admin on top of a client needs of it.
pub struct Base {
    pub client: Arc<Client>,
    pub control: Arc<Control>,
    pub hold: Box<dyn Send + Sync>,
    pub noun: &'static str,
    /// Its event mask has KABI_EVENT_REQUEST.
    pub wants_events: bool,
}

/// An open admin.
pub struct Admin {
    link: Arc<Link>,
    events: Arc<Events>,
}

impl Admin {
    pub fn new(config: &Config) -> Result<Admin> {
        let (conf, settings) = config.build(Kind::Admin)?;
        let events = Arc::new(Events::new(settings.mask, settings.events_max));
        let hooks = Hooks {
            throttled: throttled(&events),
            ..Hooks::default()
        };
        let client =
            Client::new(Kind::Admin, conf, settings.events, hooks).map_err(hints::making)?;
        if settings.mask & KABI_EVENT_LOG != 0 {
            client.logs_to_main_queue()?;
        }
        let queue = client.main_queue();
        Admin::start_service(client, queue, events, None)
    }

    /// On top of a producer or consumer.
    pub fn on(base: Base) -> Result<Admin> {
        let mask = if base.wants_events {
            KABI_EVENT_REQUEST
        } else {
            0
        };
        let events = Arc::new(Events::new(mask, REQUESTS_MAX));
        let queue = base.client.private_queue();
        let admin = Admin::start_service(base.client, queue, events, Some(base.hold))?;
        let link: Weak<Link> = Arc::downgrade(&admin.link);
        if base.control.attach(link) {
            return Ok(admin);
        }
        admin.link.end(Error::closed(base.noun));
        Err(Error::closed(base.noun))
    }

    fn start_service(
        client: Arc<Client>,
        queue: Option<Queue>,
        events: Arc<Events>,
        base: Option<Box<dyn Send + Sync>>,
    ) -> Result<Admin> {
        let core = Arc::new(Core {
            queue: queue.ok_or_else(|| Error::system("asking for a queue"))?,
            client,
            requests: Arc::new(Requests::new(Arc::clone(&events))),
            events: Arc::clone(&events),
            control: Arc::default(),
            look_around: Mutex::new(None),
            myself: OnceCell::new(),
            walking: AtomicUsize::new(0),
            _base: base,
        });
        let _ = core.myself.set(Arc::downgrade(&core));
        service::start(Arc::clone(&core))?;
        let (requests, control) = (Arc::clone(&core.requests), Arc::clone(&core.control));
        let held = Held::new(core, Arc::clone(&control));
        let link = Arc::new(Link {
            core: Mutex::new(Some(held)),
            requests,
            control,
        });
        Ok(Admin { link, events })
    }

    pub fn events(&self) -> &Arc<Events> {
        &self.events
    }

    pub fn control(&self) -> &Arc<Control> {
        &self.link.control
    }

    /// Statistics and counters, as JSON.
    pub fn metrics(&self, handles_alive: usize) -> String {
        let own = Own {
            client: "admin",
            events: OfEvents::of(&self.events),
            records: None,
            batches_alive: None,
            handles_alive,
        };
        document(&self.events, &own)
    }

    /// User and password for connections from now on.
    pub fn set_credentials(&self, user: &str, password: &str) -> Result<()> {
        self.core()?.client.set_credentials(user, password)
    }

    /// Hands a token for SASL/OAUTHBEARER over.
    pub fn set_token(&self, token: &Token<'_>) -> Result<()> {
        self.core()?.client.set_token(token)
    }

    /// Says that there is no token to be had.
    pub fn set_token_failure(&self, why: &str) -> Result<()> {
        self.core()?.client.set_token_failure(why)
    }

    /// The core, while its client is there.
    fn core(&self) -> Result<Held<Core>> {
        let core = lock(&self.link.core).clone();
        core.ok_or_else(|| self.link.requests.refusal())
    }

    /// Ends waits in progress and the poll for events in progress, or else the next one.
    pub fn wake(&self) {
        self.link.requests.wake();
        self.events.wake();
    }

    /// Calls that wait give up with CLOSED from now on.
    pub fn begin_close(&self) {
        self.link.requests.refuse(Error::closed("admin"));
        self.events.nudge();
    }

    /// Begins a request and gives its number.
    pub fn start(
        &self,
        operation: &str,
        arguments: &str,
        timeout: Option<Duration>,
        how: How,
    ) -> Result<u64> {
        self.begin(operations::request(operation, arguments)?, timeout, how)
    }

    fn begin(&self, request: Request, timeout: Option<Duration>, how: How) -> Result<u64> {
        if how == How::Event && !self.events.wants(KABI_EVENT_REQUEST) {
            return Err(Error::new(
                KABI_STATUS_STATE,
                "the outcome is to be an event, but KABI_EVENT_REQUEST is not in the event mask of \
                 the configuration that this client was made from",
            ));
        }
        let requests = &self.link.requests;
        let core = self.core()?;
        if self.events.slots().take(1) == 0 {
            return Err(Error::new(
                KABI_STATUS_QUEUE_FULL,
                format!(
                    "{}: too many requests are under way or wait to be drained or fetched",
                    request.operation
                ),
            ));
        }
        let timeout = timeout.unwrap_or(TIMEOUT_MAX).min(TIMEOUT_MAX);
        let operation = request.operation;
        let number = requests
            .add(
                how,
                operation,
                request.reader(),
                Instant::now() + timeout + GRACE,
            )
            .inspect_err(|_| self.events.slots().give(1))?;
        let begun = match request.work {
            Work::Ask { ask, .. } => core.ask(&*ask, number, timeout),
            Work::Steps(steps) => steps::start(core, steps, number, timeout),
        };
        // The service thread counts its time from now on.
        self.wake_service();
        begun.map(|()| number).map_err(|error| {
            requests.forget(number);
            error.about(operation)
        })
    }

    fn wake_service(&self) {
        if let Some(core) = &*lock(&self.link.core) {
            core.queue.wake();
        }
    }

    /// Waits for the outcome of a request whose outcome is kept, and hands it to `take`. If that fails, or
    /// nothing is there in time, it stays.
    pub fn result<T>(
        &self,
        number: u64,
        timeout: Option<Duration>,
        timeout_ms: i32,
        take: impl FnOnce(&str) -> Result<T>,
    ) -> Result<T> {
        let requests = &self.link.requests;
        requests.result(
            number,
            requests.wakes(),
            deadline_of(timeout),
            timeout_ms,
            take,
        )
    }

    /// Drops a request's outcome, now or when it comes. The request itself goes on.
    pub fn discard(&self, number: u64) -> Result<()> {
        self.link.requests.discard(number)
    }

    /// Begins a request and waits for its outcome. `number` is told at once: with it the outcome can be
    /// fetched if the wait is cut short or `take` fails.
    pub fn call<T>(
        &self,
        operation: &str,
        arguments: &str,
        timeout: Option<Duration>,
        number: &mut u64,
        take: impl FnOnce(&str) -> Result<T>,
    ) -> Result<T> {
        // Before the request begins, so that no wake during the call is lost.
        let wakes = self.link.requests.wakes();
        *number = self.start(operation, arguments, timeout, How::Kept)?;
        self.link.requests.result(*number, wakes, None, -1, take)
    }

    /// The same for requests of one item, whose status becomes the result.
    fn call_for_one(&self, request: Request, timeout: Option<Duration>) -> Result<()> {
        let operation = request.operation;
        let wakes = self.link.requests.wakes();
        let number = self.begin(request, timeout, How::Kept)?;
        let outcome = self
            .link
            .requests
            .result(number, wakes, None, -1, operations::first_status);
        match outcome {
            Ok(status) if status.code == 0 => Ok(()),
            Ok(status) => Err(Error::new(status.code, status.text).about(operation)),
            Err(error) => {
                // Nobody knows the number.
                self.link.requests.forget(number);
                if error.code != KABI_STATUS_INTERRUPTED {
                    return Err(error);
                }
                let error = Error::new(
                    KABI_STATUS_INTERRUPTED,
                    "cut short by a wake; whether it is done is not known, calling again tells",
                );
                Err(error
                    .with_flags(KABI_ERROR_OUTCOME_UNKNOWN)
                    .about(operation))
            }
        }
    }

    pub fn create_topic(
        &self,
        name: &str,
        partitions: i32,
        replication: i32,
        timeout: Option<Duration>,
    ) -> Result<()> {
        let given = |n: i32| (n != -1).then_some(n);
        let topic = NewTopic {
            topic: name.to_owned(),
            partitions: given(partitions),
            replication: given(replication),
            ..NewTopic::default()
        };
        let request = operations::typed(TopicsCreate {
            topics: vec![topic],
            validate_only: false,
        })?;
        self.call_for_one(request, timeout)
    }

    pub fn delete_topic(&self, name: &str, timeout: Option<Duration>) -> Result<()> {
        let request = operations::typed(TopicsDelete {
            topics: vec![name.to_owned()],
        })?;
        self.call_for_one(request, timeout)
    }

    pub fn add_partitions(&self, name: &str, total: i32, timeout: Option<Duration>) -> Result<()> {
        let topic = MorePartitions {
            topic: name.to_owned(),
            total,
            ..MorePartitions::default()
        };
        let request = operations::typed(PartitionsCreate {
            topics: vec![topic],
            validate_only: false,
        })?;
        self.call_for_one(request, timeout)
    }

    /// The first part of a close, with no other call inside: waits for answers until the deadline, then
    /// gives up the rest. Returns how many that were.
    pub fn finish(self, deadline: Option<Instant>) -> usize {
        self.link.requests.wait_for_answers(deadline);
        self.link.end(Error::closed("admin"))
    }

    /// A free without a close: requests under way are answered in the background.
    pub fn abandon(self) {
        self.link.requests.refuse(Error::closed("admin"));
        if self.link.requests.unanswered() == 0 {
            self.finish(deadline_of(Some(Duration::ZERO)));
            return;
        }
        let cell = Arc::new(Mutex::new(Some(self)));
        let theirs = Arc::clone(&cell);
        let finish = |cell: &Mutex<Option<Admin>>, patience| {
            if let Some(admin) = lock(cell).take() {
                admin.finish(deadline_of(Some(patience)));
            }
        };
        if threads::spawn("kafkabi-free", move || finish(&theirs, GOODBYE)).is_err() {
            finish(&cell, Duration::ZERO);
        }
    }
}

impl Link {
    /// Gives up what is not answered, and lets go of the client. Returns how many requests that were.
    fn end(&self, why: Error) -> usize {
        self.requests.refuse(why.clone());
        let given_up = self.requests.give_up(&why);
        let core = lock(&self.core).take();
        self.control.stop();
        if let Some(core) = core {
            core.queue.wake();
        }
        given_up
    }
}

impl Attached for Link {
    fn client_stops(&self) {
        self.end(Error::new(
            crate::status::KABI_STATUS_CLOSED,
            "the client that this admin is on top of is closed",
        ));
    }
}
