//! Sending: one message with everything it may have, or a run of plain ones in one call.

use super::topic::Topic;
use super::{sys, take_error};
use crate::error::Error;
use crate::status::KABI_STATUS_QUEUE_FULL;
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::ops::Range;

/// A header to send. `name` ends with the NUL that librdkafka reads up to; none may be inside.
pub struct OutHeader<'a> {
    pub name_with_nul: &'a [u8],
    pub value: Option<&'a [u8]>,
}

/// A message to send. librdkafka copies all of it.
pub struct OutMessage<'a> {
    pub partition: i32,
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    /// Milliseconds since 1970, 0 for now.
    pub timestamp: i64,
    pub token: u64,
}

/// Arrays that librdkafka reads from, kept between sends so that none allocates.
#[derive(Default)]
pub struct Staging {
    vus: Vec<sys::rd_kafka_vu_t>,
    run: Vec<sys::rd_kafka_message_t>,
}

fn pointer(part: Option<&[u8]>) -> *mut c_void {
    // An empty slice has an address too, which is how librdkafka tells empty from null.
    part.map_or(std::ptr::null_mut(), |p| p.as_ptr().cast_mut().cast())
}

fn length(part: Option<&[u8]>) -> usize {
    part.map_or(0, <[u8]>::len)
}

fn plain(key: Option<&[u8]>, value: Option<&[u8]>, token: u64) -> sys::rd_kafka_message_t {
    sys::rd_kafka_message_t {
        err: sys::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR,
        rkt: std::ptr::null_mut(),
        partition: 0,
        payload: pointer(value),
        len: length(value),
        key: pointer(key),
        key_len: length(key),
        offset: 0,
        _private: token as *mut c_void,
    }
}

impl Staging {
    /// Sends one message.
    pub fn send<'h>(
        &mut self,
        topic: &Topic,
        message: &OutMessage<'_>,
        headers: impl Iterator<Item = OutHeader<'h>> + Clone,
    ) -> Result<(), Error> {
        use sys::rd_kafka_vtype_t as v;
        let is_plain = message.timestamp <= 0 && headers.clone().next().is_none();
        if is_plain {
            if let Some(outcome) = Self::send_plain(topic, message) {
                return outcome;
            }
        }
        self.vus.clear();
        let mem = |part| sys::rd_kafka_vu_s__bindgen_ty_1__bindgen_ty_1 {
            ptr: pointer(part),
            size: length(part),
        };
        self.push(v::RD_KAFKA_VTYPE_RKT, |u| u.rkt = topic.as_ptr());
        self.push(v::RD_KAFKA_VTYPE_PARTITION, |u| u.i32_ = message.partition);
        self.push(v::RD_KAFKA_VTYPE_MSGFLAGS, |u| {
            u.i = sys::RD_KAFKA_MSG_F_COPY
        });
        self.push(v::RD_KAFKA_VTYPE_VALUE, |u| u.mem = mem(message.value));
        self.push(v::RD_KAFKA_VTYPE_KEY, |u| u.mem = mem(message.key));
        self.push(v::RD_KAFKA_VTYPE_OPAQUE, |u| {
            u.ptr = message.token as *mut c_void
        });
        if message.timestamp > 0 {
            self.push(v::RD_KAFKA_VTYPE_TIMESTAMP, |u| u.i64_ = message.timestamp);
        }
        for header in headers {
            debug_assert_eq!(header.name_with_nul.last(), Some(&0));
            let size = isize::try_from(length(header.value)).unwrap_or(isize::MAX);
            self.push(v::RD_KAFKA_VTYPE_HEADER, |u| {
                u.header = sys::rd_kafka_vu_s__bindgen_ty_1__bindgen_ty_2 {
                    name: header.name_with_nul.as_ptr().cast(),
                    val: pointer(header.value),
                    size,
                };
            });
        }
        // SAFETY: the topic and its client are alive; every pointer in the array is too, until the
        // call returns, and librdkafka copies what they point at. The error object is ours.
        unsafe {
            let error =
                sys::rd_kafka_produceva(topic.client().as_ptr(), self.vus.as_ptr(), self.vus.len());
            take_error(error, "send")
        }
    }

    /// The short way, for a message that needs no closer look.
    fn send_plain(topic: &Topic, message: &OutMessage<'_>) -> Option<Result<(), Error>> {
        let mut plain = plain(message.key, message.value, message.token);
        // SAFETY: the topic is alive; what the message points at is too, and is copied.
        let taken = unsafe {
            sys::kafkabi_inside_produce(topic.as_ptr(), message.partition, &mut plain, 1)
        };
        match taken {
            1 => Some(Ok(())),
            0 => Some(Err(Error::of_code(KABI_STATUS_QUEUE_FULL, "send"))),
            _ => None,
        }
    }

    fn push(
        &mut self,
        kind: sys::rd_kafka_vtype_t,
        set: impl FnOnce(&mut sys::rd_kafka_vu_s__bindgen_ty_1),
    ) {
        let mut value = sys::rd_kafka_vu_s__bindgen_ty_1 { i64_: 0 };
        set(&mut value);
        self.vus.push(sys::rd_kafka_vu_t {
            vtype: kind,
            u: value,
        });
    }

    /// Starts a run of plain messages (no headers, no timestamps) for one topic and partition.
    pub fn run<'s, 'd>(&'s mut self) -> Run<'s, 'd> {
        self.run.clear();
        Run {
            messages: &mut self.run,
            data: PhantomData,
        }
    }
}

pub struct Run<'s, 'd> {
    messages: &'s mut Vec<sys::rd_kafka_message_t>,
    data: PhantomData<&'d [u8]>,
}

impl<'d> Run<'_, 'd> {
    #[inline]
    pub fn push(&mut self, key: Option<&'d [u8]>, value: Option<&'d [u8]>, token: u64) {
        self.messages.push(plain(key, value, token));
    }

    pub fn len(&self) -> usize {
        self.messages.len()
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Sends the messages of `range`; `failed(i, code)` is told of each that was not taken, by its place
    /// in the run; after QUEUE_FULL perhaps of none. Returns how many were taken.
    pub fn send(
        &mut self,
        topic: &Topic,
        partition: i32,
        range: Range<usize>,
        mut failed: impl FnMut(usize, i32),
    ) -> usize {
        let start = range.start;
        let Some(messages) = self.messages.get_mut(range) else {
            return 0;
        };
        let count = c_int::try_from(messages.len()).unwrap_or(c_int::MAX);
        // SAFETY: the topic is alive; the messages point at data that lives for 'd and is copied.
        let taken = unsafe {
            sys::kafkabi_inside_produce(topic.as_ptr(), partition, messages.as_mut_ptr(), count)
        };
        if let Ok(taken) = usize::try_from(taken) {
            if taken < messages.len() {
                failed(start + taken, KABI_STATUS_QUEUE_FULL);
            }
            return taken;
        }
        // SAFETY: as above, where the flag makes librdkafka copy the data. The partition is given for all of
        // them (a flag for a partition each would leak a message whose partition is unknown).
        let taken = unsafe {
            sys::rd_kafka_produce_batch(
                topic.as_ptr(),
                partition,
                sys::RD_KAFKA_MSG_F_COPY,
                messages.as_mut_ptr(),
                count,
            )
        };
        let taken = usize::try_from(taken).unwrap_or(0);
        if taken < messages.len() {
            for (i, message) in messages.iter().enumerate() {
                // SAFETY: the code as the integer that C wrote.
                let code = unsafe { std::ptr::addr_of!(message.err).cast::<i32>().read() };
                if code != 0 {
                    failed(start + i, code);
                }
            }
        }
        taken
    }
}

impl Drop for Run<'_, '_> {
    fn drop(&mut self) {
        // The array outlives the run in `Staging`, the pointers in it must not.
        self.messages.clear();
    }
}
