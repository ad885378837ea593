//! The admin's service thread: reads answers and settles their requests.

use super::Core;
use crate::client::events::Events;
use crate::client::lifetime::Control;
use crate::client::service::{self, take_common, Served};
use crate::error::{Error, Result};
use crate::rd::admin::Asked;
use crate::rd::client::Client;
use crate::rd::queue::{Event, EventKind, Queue};
use crate::status::KABI_STATUS_FAIL;
use std::sync::Arc;
use std::time::Duration;

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
}

impl Core {
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
