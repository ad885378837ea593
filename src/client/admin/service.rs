//! The admin's service thread: reads answers and settles their requests.

use super::Core;
use crate::client::events::Events;
use crate::client::lifetime::{lock, Control, Held};
use crate::client::service::{self, take_common, Served};
use crate::client::threads;
use crate::error::{Error, Result};
use crate::rd::admin::Asked;
use crate::rd::client::Client;
use crate::rd::queue::{Event, EventKind, Queue};
use crate::rd::topic::Topic;
use crate::status::KABI_STATUS_FAIL;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How long a request goes unanswered before the cluster is looked at anew, how often then, and how long
/// that may take.
const UNANSWERED: Duration = Duration::from_secs(1);
const AGAIN: Duration = Duration::from_secs(2);
const ASK: Duration = Duration::from_secs(1);

pub(super) fn start(core: Arc<Core>) -> Result<()> {
    service::start("kafkabi-admin", core, |core: &Core, event| {
        match event.kind() {
            EventKind::Answer => take_answer(core, &event),
            _ => take_common(core, &event),
        }
    })
}

impl Served for Core {
    fn control(&self) -> &Arc<Control> {
        &self.control
    }

    fn events(&self) -> &Arc<Events> {
        &self.events
    }

    fn queue(&self) -> &Queue {
        &self.queue
    }

    fn client(&self) -> &Client {
        &self.client
    }

    /// What was not answered is given up before the thread is told to stop.
    fn is_settled(&self) -> bool {
        true
    }

    /// Most requests go to the broker that was last heard to be the controller, and librdkafka waits for
    /// that one even if it is dead. Who the controller is comes with any answer on the cluster.
    fn look(&self) -> Option<Duration> {
        let (now, oldest) = (Instant::now(), self.requests.oldest()?);
        let mut next = lock(&self.look_around);
        let due = (oldest + UNANSWERED).max(next.unwrap_or(oldest));
        if due > now {
            return Some(due - now);
        }
        *next = Some(now + AGAIN);
        drop(next);
        if let Some(core) = self.myself.get().and_then(Weak::upgrade) {
            let core = Held::new(core, Arc::clone(&self.control));
            // Without a thread it is asked the next time.
            let _ = threads::spawn("kafkabi-ask", move || core.look_around());
        }
        Some(AGAIN)
    }
}

impl Core {
    /// Lets librdkafka ask for the brokers and the controller.
    fn look_around(&self) {
        // The call wants a topic, and lists all without one. No topic can have this name, so that none is
        // made by asking for it.
        if let Ok(none) = Topic::new(&self.client, "?") {
            let _ = self.client.ask_topic(&none, ASK);
        }
    }

    pub(super) fn ask(
        &self,
        ask: &dyn Fn(&Asked<'_>) -> Result<()>,
        number: u64,
        timeout: Duration,
    ) -> Result<()> {
        ask(&Asked {
            client: &self.client,
            queue: &self.queue,
            number,
            timeout,
            broker: None,
        })
    }
}

fn take_answer(core: &Core, event: &Event) {
    let number = event.asked_number();
    if let Some(read) = core.requests.reader(number) {
        core.requests.settle(number, read(event));
    }
}

/// The error in an answer to the whole request.
pub(super) fn refusal_of(event: &Event) -> Result<()> {
    match event.code() {
        0 => Ok(()),
        code => Err(Error::new(code, event.error_text())),
    }
}

/// For an answer that is not what the request asks for.
pub(super) fn unexpected() -> Error {
    Error::new(
        KABI_STATUS_FAIL,
        "librdkafka gave an answer of another kind",
    )
}
