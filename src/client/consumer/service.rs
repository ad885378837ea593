//! The consumer's service thread: takes errors, log lines and statistics. Records never come this way.

use super::Core;
use crate::client::events::Events;
use crate::client::lifetime::Control;
use crate::client::service::{self, take_common, Served};
use crate::error::Result;
use crate::rd::client::Client;
use crate::rd::queue::Queue;
use std::sync::Arc;

pub(super) fn start(core: Arc<Core>) -> Result<()> {
    service::start("kafkabi-consumer", core, |core: &Core, event| take_common(core, &event))
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
        true
    }
}
