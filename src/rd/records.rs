//! Reads the records of a batch as the broker stores them (https://kafka.apache.org/documentation/#record). Bytes from
//! a broker are not trusted: a length is checked against what is there.

use crate::bytes::Cursor;

/// A record, its offset and timestamp counted from those of its batch.
#[derive(Debug, PartialEq, Eq)]
pub struct Record<'a> {
    pub offset_delta: i64,
    pub timestamp_delta: i64,
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    /// For `RawHeaders`; empty if there are none.
    pub headers: &'a [u8],
}

/// A number in zigzag form, seven bits a byte from the lowest.
#[inline]
fn number(from: &mut Cursor<'_>) -> Option<i64> {
    match *from.take(1)? {
        [first] if first < 0x80 => Some(zigzag(u64::from(first))),
        [first] => longer(first, from),
        _ => None,
    }
}

fn longer(first: u8, from: &mut Cursor<'_>) -> Option<i64> {
    let mut bits = u64::from(first & 0x7f);
    for shift in (7..64).step_by(7) {
        let &byte = from.take(1)?.first()?;
        bits |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(zigzag(bits));
        }
    }
    None
}

/// As many bytes as the number before them says.
#[inline]
fn counted<'a>(from: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let length = usize::try_from(number(from)?).ok()?;
    from.take(length)
}

/// The same, which may be null.
#[inline]
fn part<'a>(from: &mut Cursor<'a>) -> Option<Option<&'a [u8]>> {
    let length = number(from)?;
    from.part(length)
}

#[inline]
fn zigzag(bits: u64) -> i64 {
    let half = i64::from_ne_bytes((bits >> 1).to_ne_bytes());
    match bits & 1 {
        0 => half,
        _ => !half,
    }
}

/// Takes the first record off `rest`; `None` if it is damaged, and then nothing behind it can be found.
#[inline]
pub fn next<'a>(rest: &mut &'a [u8]) -> Option<Record<'a>> {
    let mut whole = Cursor(rest);
    let mut record = Cursor(counted(&mut whole)?);
    record.take(1)?; // attributes, of which there are none
    let timestamp_delta = number(&mut record)?;
    let offset_delta = number(&mut record)?;
    let key = part(&mut record)?;
    let value = part(&mut record)?;
    *rest = whole.0;
    Some(Record {
        offset_delta,
        timestamp_delta,
        key,
        value,
        headers: match record.0 {
            [0] => &[],
            bytes => sound(bytes),
        },
    })
}

/// The headers if all of them can be read, as librdkafka does with them.
fn sound(bytes: &[u8]) -> &[u8] {
    let mut headers = RawHeaders::new(bytes);
    let count = headers.left;
    match headers.by_ref().count() == count {
        true => bytes,
        false => &[],
    }
}

/// The headers of a record: name and value.
#[derive(Clone)]
pub struct RawHeaders<'a> {
    rest: Cursor<'a>,
    left: usize,
}

impl<'a> RawHeaders<'a> {
    pub fn new(bytes: &'a [u8]) -> RawHeaders<'a> {
        let mut rest = Cursor(bytes);
        let left = number(&mut rest)
            .and_then(|n| usize::try_from(n).ok())
            .unwrap_or(0);
        RawHeaders { rest, left }
    }
}

impl<'a> Iterator for RawHeaders<'a> {
    type Item = (&'a [u8], Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        Some((counted(&mut self.rest)?, part(&mut self.rest)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn put_number(to: &mut Vec<u8>, number: i64) {
        let mut bits = ((number << 1) ^ (number >> 63)) as u64;
        while bits >= 0x80 {
            to.push(bits as u8 | 0x80);
            bits >>= 7;
        }
        to.push(bits as u8);
    }

    fn put_part(to: &mut Vec<u8>, part: Option<&[u8]>) {
        put_number(to, part.map_or(-1, |p| p.len() as i64));
        to.extend(part.unwrap_or_default());
    }

    type Parts = (
        i64,
        i64,
        Option<Vec<u8>>,
        Option<Vec<u8>>,
        Vec<(Vec<u8>, Option<Vec<u8>>)>,
    );

    fn encode((offset, timestamp, key, value, headers): &Parts) -> Vec<u8> {
        let mut body = vec![0];
        put_number(&mut body, *timestamp);
        put_number(&mut body, *offset);
        put_part(&mut body, key.as_deref());
        put_part(&mut body, value.as_deref());
        put_number(&mut body, headers.len() as i64);
        for (name, value) in headers {
            put_number(&mut body, name.len() as i64);
            body.extend(name);
            put_part(&mut body, value.as_deref());
        }
        let mut whole = Vec::new();
        put_number(&mut whole, body.len() as i64);
        whole.extend(body);
        whole
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(any::<u8>(), 0..300)
    }

    fn parts() -> impl Strategy<Value = Parts> {
        let headers = prop::collection::vec((bytes(), prop::option::of(bytes())), 0..4);
        (
            any::<i64>(),
            any::<i64>(),
            prop::option::of(bytes()),
            prop::option::of(bytes()),
            headers,
        )
    }

    proptest! {
        #[test]
        fn records_are_read_as_they_were_written(records in prop::collection::vec(parts(), 0..20)) {
            let batch: Vec<u8> = records.iter().flat_map(encode).collect();
            let mut rest = &batch[..];
            for (offset, timestamp, key, value, headers) in &records {
                let record = next(&mut rest).unwrap();
                prop_assert_eq!(record.offset_delta, *offset);
                prop_assert_eq!(record.timestamp_delta, *timestamp);
                prop_assert_eq!(record.key, key.as_deref());
                prop_assert_eq!(record.value, value.as_deref());
                let read: Vec<_> = RawHeaders::new(record.headers)
                    .map(|(name, value)| (name.to_vec(), value.map(<[u8]>::to_vec)))
                    .collect();
                prop_assert_eq!(&read, headers);
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn any_bytes_end(batch in bytes()) {
            let mut rest = &batch[..];
            while let Some(record) = next(&mut rest) {
                RawHeaders::new(record.headers).for_each(drop);
            }
        }

        #[test]
        fn a_record_that_is_cut_off_is_none(parts in parts(), cut in any::<prop::sample::Index>()) {
            let batch = encode(&parts);
            prop_assert_eq!(next(&mut &batch[..cut.index(batch.len())]), None);
        }
    }

    #[test]
    fn damaged_headers_are_none() {
        let headers = vec![(b"name".to_vec(), None); 3];
        let mut batch = encode(&(0, 0, None, Some(b"value".to_vec()), headers));
        let last = batch.len() - 1;
        batch[last] = 0x20; // the length of a value that is not there
        let record = next(&mut &batch[..]).unwrap();
        assert_eq!(record.value, Some(&b"value"[..]));
        assert!(record.headers.is_empty());
    }
}
