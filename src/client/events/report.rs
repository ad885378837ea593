//! Delivery reports while they wait: half the size of an event, in chunks that are used again, since
//! fresh memory for each would cost more than filling it.

use crate::error::flags_of;
use crate::record::{kabi_event_t, KABI_EVENT_REPORT, KABI_OFFSET_INVALID};
use crossbeam_channel::{Receiver, Sender};

/// Reports in a chunk: 96 KiB, which malloc does not fetch from the system and give back each time.
const CHUNK: usize = 2048;
/// Chunks that are kept to be used again.
const SPARES: usize = 16;

/// What became of a record.
#[derive(Clone, Copy)]
pub struct Report {
    pub token: u64,
    pub offset: i64,
    pub timestamp: i64,
    pub latency_us: i64,
    pub topic: i32,
    pub partition: i32,
    pub code: i32,
    pub persisted: i32,
}

impl Report {
    #[inline]
    pub fn event(&self) -> kabi_event_t {
        let delivered = self.code == 0;
        kabi_event_t {
            kind: KABI_EVENT_REPORT,
            code: self.code,
            token: self.token,
            offset: if delivered {
                self.offset
            } else {
                KABI_OFFSET_INVALID
            },
            timestamp: if delivered { self.timestamp } else { -1 },
            topic: self.topic,
            partition: self.partition,
            persisted: self.persisted,
            flags: if delivered { 0 } else { flags_of(self.code) },
            latency_us: self.latency_us,
            ..Default::default()
        }
    }
}

pub type Chunk = Vec<Report>;

/// Chunks on their way back from the reader to the service thread.
pub struct Spares {
    sender: Sender<Chunk>,
    receiver: Receiver<Chunk>,
}

impl Default for Spares {
    fn default() -> Spares {
        let (sender, receiver) = crossbeam_channel::bounded(SPARES);
        Spares { sender, receiver }
    }
}

impl Spares {
    /// An empty chunk with room for `CHUNK` reports.
    pub fn take(&self) -> Chunk {
        self.receiver
            .try_recv()
            .unwrap_or_else(|_| Vec::with_capacity(CHUNK))
    }

    pub fn give(&self, mut chunk: Chunk) {
        // One that grew, or never was one, is not worth keeping.
        if chunk.capacity() == CHUNK {
            chunk.clear();
            let _ = self.sender.try_send(chunk);
        }
    }
}

/// Fills chunks one after the other.
pub struct Filling<'a> {
    spares: &'a Spares,
    full: Vec<Chunk>,
    chunk: Chunk,
}

impl<'a> Filling<'a> {
    pub fn new(spares: &'a Spares) -> Filling<'a> {
        Filling {
            spares,
            full: Vec::new(),
            chunk: Vec::new(),
        }
    }

    #[inline]
    pub fn push(&mut self, report: Report) {
        if self.chunk.len() == self.chunk.capacity() {
            self.next();
        }
        self.chunk.push(report);
    }

    #[cold]
    fn next(&mut self) {
        let full = std::mem::replace(&mut self.chunk, self.spares.take());
        if !full.is_empty() {
            self.full.push(full);
        }
    }

    /// All that was pushed, in order.
    pub fn finish(self) -> impl Iterator<Item = Chunk> {
        let last = Some(self.chunk).filter(|c| !c.is_empty());
        self.full.into_iter().chain(last)
    }
}
