//! The packed record format, the same in both directions: a fixed header (`kabi_packed_t`), then key,
//! value, headers, and zeros up to a multiple of eight. Each header is two 32-bit lengths, the name, one
//! NUL and the value. All numbers are in native byte order.
//!
//! Bytes from a caller are not trusted: every length is checked against what is there.

use crate::bytes::Cursor;
use crate::error::{Error, Result};
use crate::rd::produce::OutHeader;
use crate::rd::received::Received;
use crate::record::kabi_packed_t;
use std::mem::offset_of;

pub const HEADER: usize = size_of::<kabi_packed_t>();
const HEADER_SIZE: u16 = 64;
const _: () = assert!(HEADER == HEADER_SIZE as usize);
const ALIGN: usize = 8;

/// A record in a packed buffer, checked.
pub struct Packed<'a> {
    pub topic: i32,
    pub partition: i32,
    pub timestamp: i64,
    pub token: u64,
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    pub headers: PackedHeaders<'a>,
}

#[inline]
fn length(from: &mut Cursor<'_>) -> Option<i32> {
    from.take(4)?.try_into().ok().map(i32::from_ne_bytes)
}

#[inline]
fn field<const N: usize>(record: &[u8], at: usize) -> [u8; N] {
    record
        .get(at..)
        .and_then(|r| r.first_chunk::<N>())
        .copied()
        .unwrap_or([0; N])
}

macro_rules! read {
    ($type:ty, $record:expr, $field:ident) => {
        <$type>::from_ne_bytes(field($record, offset_of!(kabi_packed_t, $field)))
    };
}

/// The headers of a record in a packed buffer, checked when the record was.
#[derive(Clone, Copy)]
pub struct PackedHeaders<'a> {
    rest: Cursor<'a>,
    left: usize,
}

impl<'a> Iterator for PackedHeaders<'a> {
    type Item = OutHeader<'a>;

    fn next(&mut self) -> Option<OutHeader<'a>> {
        self.left = self.left.checked_sub(1)?;
        let name_length = length(&mut self.rest)?;
        let value_length = length(&mut self.rest)?;
        let name_with_nul = self
            .rest
            .take(usize::try_from(name_length).ok()?.checked_add(1)?)?;
        let value = self.rest.part(value_length.into())?;
        Some(OutHeader {
            name_with_nul,
            value,
        })
    }
}

impl PackedHeaders<'_> {
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }
}

/// Walks the records of a packed buffer.
pub struct Decoder<'a> {
    rest: &'a [u8],
    left: usize,
    index: usize,
    /// A record lied about its size, so that nothing after it can be found.
    lost: bool,
}

impl<'a> Decoder<'a> {
    pub fn new(buffer: &'a [u8], count: usize) -> Decoder<'a> {
        Decoder {
            rest: buffer,
            left: count,
            index: 0,
            lost: false,
        }
    }

    /// What is left after the last record.
    pub fn left_over(&self) -> usize {
        if self.lost {
            0
        } else {
            self.rest.len()
        }
    }
}

impl<'a> Iterator for Decoder<'a> {
    type Item = Result<Packed<'a>>;

    #[inline]
    fn next(&mut self) -> Option<Result<Packed<'a>>> {
        self.left = self.left.checked_sub(1)?;
        let index = self.index;
        self.index += 1;
        if self.lost {
            return Some(Err(bad(
                index,
                "an earlier record's size is wrong, so it can't be found",
            )));
        }
        match frame(self.rest) {
            Ok((record, rest)) => {
                self.rest = rest;
                Some(decode(record).map_err(|why| bad(index, why)))
            }
            Err(why) => {
                self.lost = true;
                Some(Err(bad(index, why)))
            }
        }
    }
}

#[cold]
fn bad(index: usize, why: &str) -> Error {
    Error::argument(format!("packed record {index}: {why}"))
}

/// Cuts off one record by its size.
#[inline]
fn frame(rest: &[u8]) -> std::result::Result<(&[u8], &[u8]), &'static str> {
    if rest.len() < HEADER {
        return Err("the buffer ends before its 64 bytes of header");
    }
    let Ok(size) = usize::try_from(read!(u32, rest, size)) else {
        return Err("its size is more than memory holds");
    };
    if size < HEADER {
        return Err("its size is smaller than its header");
    }
    if size % ALIGN != 0 {
        return Err("its size is not a multiple of 8");
    }
    rest.split_at_checked(size)
        .ok_or("its size goes past the end of the buffer")
}

fn decode(record: &[u8]) -> std::result::Result<Packed<'_>, &'static str> {
    if usize::from(read!(u16, record, header_size)) != HEADER {
        return Err("its header_size is not 64");
    }
    if read!(u16, record, flags) != 0 {
        return Err("its flags are not 0");
    }
    if read!(i32, record, code) != 0 {
        return Err("its code is not 0: an entry that tells of an error can't be sent");
    }
    let mut body = Cursor(record.get(HEADER..).unwrap_or_default());
    let key = body
        .part(read!(i32, record, key_length).into())
        .ok_or("its key_length is wrong")?;
    let value = body
        .part(read!(i32, record, value_length).into())
        .ok_or("its value_length is wrong")?;
    let left = usize::try_from(read!(i32, record, header_count))
        .map_err(|_| "its header_count is negative")?;
    let headers = PackedHeaders { rest: body, left };
    if check_headers(headers)? >= ALIGN {
        return Err("its parts end before its size does");
    }
    Ok(Packed {
        topic: read!(i32, record, topic),
        partition: read!(i32, record, partition),
        timestamp: read!(i64, record, timestamp),
        token: read!(u64, record, token),
        key,
        value,
        headers,
    })
}

/// How many bytes follow the headers.
fn check_headers(mut headers: PackedHeaders<'_>) -> std::result::Result<usize, &'static str> {
    while !headers.is_empty() {
        let header = headers.next().ok_or("a header goes past its end")?;
        match header.name_with_nul.split_last() {
            Some((0, name)) if name.contains(&0) => return Err("a header's name has a NUL inside"),
            Some((0, name)) if std::str::from_utf8(name).is_err() => {
                return Err("a header's name is not UTF-8")
            }
            Some((0, _)) => {}
            _ => return Err("a header's name is not followed by a NUL"),
        }
    }
    Ok(headers.rest.0.len())
}

fn part_length(part: Option<&[u8]>) -> i32 {
    // Kafka's own lengths are 32 bits.
    part.map_or(-1, |p| i32::try_from(p.len()).unwrap_or(i32::MAX))
}

/// How many bytes a record takes, and how many headers it has.
fn measure(record: &Received) -> (usize, i32) {
    let length = |part: Option<&[u8]>| part.map_or(0, <[u8]>::len);
    let mut size = HEADER + length(record.key()) + length(record.value());
    let mut count = 0;
    if record.code() == 0 {
        record.headers(|header| {
            size += 8 + header.name.len() + 1 + length(header.value);
            count += 1;
        });
    }
    (size.next_multiple_of(ALIGN), count)
}

/// Writes runs of bytes one after the other.
struct Writer<'a> {
    rest: &'a mut [u8],
}

impl Writer<'_> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        let rest = std::mem::take(&mut self.rest);
        if let Some((front, rest)) = rest.split_at_mut_checked(bytes.len()) {
            front.copy_from_slice(bytes);
            self.rest = rest;
        }
    }
}

/// Packs a record at the front of `buffer`: how many bytes it took, or would need.
pub fn encode(received: &Received, buffer: &mut [u8]) -> std::result::Result<usize, usize> {
    let (size, header_count) = measure(received);
    let Some(record) = buffer.get_mut(..size) else {
        return Err(size);
    };
    let view = received.view();
    let (key, value) = (received.key(), received.value());
    let mut head = [0; HEADER];
    let mut fields = Writer { rest: &mut head };
    // The fields in the order of kabi_packed_t, which has no padding between them.
    fields.put(&u32::try_from(size).unwrap_or(u32::MAX).to_ne_bytes());
    fields.put(&HEADER_SIZE.to_ne_bytes());
    fields.put(&0u16.to_ne_bytes());
    fields.put(&view.topic.to_ne_bytes());
    fields.put(&view.partition.to_ne_bytes());
    fields.put(&view.offset.to_ne_bytes());
    fields.put(&view.timestamp.to_ne_bytes());
    fields.put(&0u64.to_ne_bytes());
    fields.put(&part_length(key).to_ne_bytes());
    fields.put(&part_length(value).to_ne_bytes());
    fields.put(&header_count.to_ne_bytes());
    fields.put(&view.leader_epoch.to_ne_bytes());
    fields.put(&view.code.to_ne_bytes());
    fields.put(&view.timestamp_type.to_ne_bytes());
    let mut writer = Writer { rest: record };
    writer.put(&head);
    writer.put(key.unwrap_or_default());
    writer.put(value.unwrap_or_default());
    if header_count > 0 {
        received.headers(|header| {
            writer.put(&part_length(Some(header.name)).to_ne_bytes());
            writer.put(&part_length(header.value).to_ne_bytes());
            writer.put(header.name);
            writer.put(&[0]);
            writer.put(header.value.unwrap_or_default());
        });
    }
    writer.rest.fill(0);
    Ok(size)
}
