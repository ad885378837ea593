//! The producer's service thread: makes reports of librdkafka's delivery events.

use super::Core;
use crate::client::events::Events;
use crate::client::lifetime::Control;
use crate::client::service::{self, take_common, Served};
use crate::client::topics::Numbers;
use crate::error::{flags_of, Result};
use crate::rd::client::Client;
use crate::rd::message::{MessageRef, STATUS_PERSISTED, STATUS_POSSIBLY_PERSISTED};
use crate::rd::queue::{Event, EventKind, Queue};
use crate::record::{
    kabi_event_t, KABI_EVENT_REPORT, KABI_OFFSET_INVALID, KABI_PERSISTED_NO,
    KABI_PERSISTED_POSSIBLY, KABI_PERSISTED_YES,
};
use std::sync::Arc;

pub(super) fn start(core: Arc<Core>) -> Result<()> {
    let mut numbers = Numbers::default();
    service::start(
        "kafkabi-producer",
        core,
        move |core: &Core, event| match event.kind() {
            EventKind::Reports => take_reports(core, &mut numbers, event),
            _ => take_common(core, &event),
        },
    )
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

    fn is_settled(&self) -> bool {
        self.client.outstanding() == 0
    }
}

fn take_reports(core: &Core, numbers: &mut Numbers, mut event: Event) {
    let mut reports = Vec::with_capacity(if core.reporting {
        event.message_count()
    } else {
        0
    });
    let count = event.message_count() as u64;
    let mut failed = 0;
    event.for_each_message(|message| {
        failed += u64::from(message.code() != 0);
        if core.reporting {
            reports.push(report(core, numbers, message));
        }
    });
    core.events.count_failed(failed);
    core.events
        .counts
        .delivered
        .add(count.saturating_sub(failed));
    core.events.push_reports(reports);
    event.settle();
    core.events.slots().notify();
}

#[inline]
fn report(core: &Core, numbers: &mut Numbers, message: MessageRef<'_>) -> kabi_event_t {
    let code = message.code();
    // Known already: only who has the number can have sent to the topic.
    let topic = numbers.get(message.topic_id(), || {
        core.topics.find(message.topic_name()).unwrap_or(-1)
    });
    let persisted = match message.status() {
        STATUS_PERSISTED => KABI_PERSISTED_YES,
        STATUS_POSSIBLY_PERSISTED => KABI_PERSISTED_POSSIBLY,
        _ => KABI_PERSISTED_NO,
    };
    let delivered = code == 0;
    kabi_event_t {
        kind: KABI_EVENT_REPORT,
        code,
        token: message.token(),
        offset: if delivered {
            message.offset()
        } else {
            KABI_OFFSET_INVALID
        },
        timestamp: if delivered { message.timestamp().0 } else { -1 },
        topic,
        partition: message.partition(),
        persisted,
        flags: if delivered { 0 } else { flags_of(code) },
        latency_us: if core.report_latency {
            message.latency_us()
        } else {
            -1
        },
        ..Default::default()
    }
}
