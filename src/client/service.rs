//! The service thread that each client owns: it blocks on librdkafka's event queue, turns what comes into
//! events of ours, and at the end waits until it is alone with the client and destroys it.

use crate::client::contexts;
use crate::client::events::{Events, Told};
use crate::client::hints;
use crate::client::lifetime::Control;
use crate::client::threads;
use crate::error::{flags_from, flags_of, Error, Result};
use crate::rd::client::{Client, Throttled};
use crate::rd::queue::{Event, EventKind, Queue};
use crate::record::{KABI_EVENT_THROTTLE, KABI_EVENT_TOKEN};
use crate::status::{KABI_STATUS_FATAL, KABI_STATUS_SYSTEM};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// While stopping: how long to wait for the last events. Those of purged records come within
/// milliseconds.
const LAST_EVENTS: Duration = Duration::from_secs(10);

/// How often to look whether more come.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// What a client has to have for its service thread.
pub trait Served: Send + Sync + 'static {
    fn control(&self) -> &Arc<Control>;
    fn events(&self) -> &Arc<Events>;
    fn queue(&self) -> &Queue;
    fn client(&self) -> &Client;
    /// Nothing is under way any more that an event is to tell of.
    fn is_settled(&self) -> bool;
    /// Does what is due, and tells when to look again if nothing comes before.
    fn look(&self) -> Option<Duration> {
        None
    }
    /// The last moment to tell of what is not settled.
    fn give_up(&self) {}
}

/// Starts the thread. `take` is given all events.
pub fn start<C: Served>(
    name: &str,
    core: Arc<C>,
    take: impl FnMut(&C, Event) + Send + 'static,
) -> Result<()> {
    threads::spawn(name, move || run(core, take))
        .map_err(|e| Error::new(KABI_STATUS_SYSTEM, format!("starting a thread: {e}")))
}

fn run<C: Served>(core: Arc<C>, mut take: impl FnMut(&C, Event)) {
    let mut serve = |timeout| {
        let Some(event) = core.queue().poll(timeout) else {
            return false;
        };
        // A fault of ours must not take the thread away that everybody waits for.
        if catch_unwind(AssertUnwindSafe(|| take(&core, event))).is_err() {
            eprintln!("kafkabi: a fault in a service thread was caught, please report it");
        }
        true
    };
    while !core.control().is_stopping() {
        serve(core.look());
    }
    let deadline = Instant::now() + LAST_EVENTS;
    while Instant::now() < deadline && (serve(Some(LOOK_AGAIN)) || !core.is_settled()) {
        core.look();
    }
    let control = Arc::clone(core.control());
    core.give_up();
    core.events().finish();
    control.set_finished();
    control.wait_for_sole(&core);
    drop(core);
    control.set_ended();
}

/// Errors, log lines, statistics and requests for a token. Others are of no use here and dropped.
pub fn take_common<C: Served>(core: &C, event: &Event) {
    let events = core.events();
    match event.kind() {
        EventKind::Error => take_error(core.client(), events, event),
        EventKind::Log => {
            if let Some(line) = event.log() {
                let text = format!("{}: {}", line.facility, line.text);
                events.push_line(line.level, contexts::bits_of(&line.contexts), text);
            }
        }
        EventKind::Statistics => events.push_statistics(event.statistics()),
        EventKind::Token => {
            events.push_token(Told::new(KABI_EVENT_TOKEN, 0, event.token_config()));
        }
        _ => {}
    }
}

fn take_error(client: &Client, events: &Events, event: &Event) {
    let mut code = event.code();
    let mut text = event.error_text();
    let fatal = event.is_fatal() || code == KABI_STATUS_FATAL;
    if fatal {
        // The code that says what happened, not that something did.
        if let Some((original, why)) = client.fatal_error() {
            code = original;
            text = why;
        }
    }
    let (code, text) = hints::connecting(client, code, text);
    events.push_error(code, flags_of(code) | flags_from(false, fatal, false), text);
}

/// What librdkafka is to call when a broker slows the client down; nothing if nobody wants to know.
pub fn throttled(events: &Arc<Events>) -> Option<Throttled> {
    if !events.wants(KABI_EVENT_THROTTLE) {
        return None;
    }
    let events = Arc::clone(events);
    Some(Box::new(move |broker, id, ms| {
        let mut told = Told::new(KABI_EVENT_THROTTLE, 0, broker.to_owned());
        told.event.token = u64::try_from(id).unwrap_or(0);
        told.event.latency_us = i64::from(ms) * 1000;
        events.push_throttle(told);
    }))
}
