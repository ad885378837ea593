//! The consumer's service thread: takes errors, log lines, statistics and the outcomes of commits that
//! nobody waits for. Records never come this way.

use super::Core;
use crate::client::events::Events;
use crate::client::lifetime::Control;
use crate::client::service::{self, take_common, Served};
use crate::error::Result;
use crate::rd::client::Client;
use crate::rd::queue::{EventKind, Queue};
use std::sync::Arc;
use std::time::Duration;

pub(super) fn start(core: Arc<Core>) -> Result<()> {
    service::start("kafkabi-consumer", core, |core: &Core, event| {
        match event.kind() {
            EventKind::Commit => core.commit_ended(&event),
            EventKind::Answer => core.take_answer(&event),
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
        &self.main_queue
    }

    fn client(&self) -> &Client {
        &self.client
    }

    fn is_settled(&self) -> bool {
        self.commits.is_empty()
    }

    fn look(&self) -> Option<Duration> {
        let next = [self.look_for_denials(), self.look_for_starts()];
        next.into_iter().flatten().min()
    }

    fn give_up(&self) {
        self.give_up_commits();
    }
}
