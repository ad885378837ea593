//! Topic numbers. A client gives each topic name a number once, so that names don't cross with every
//! record. Numbers count from 0 and are the client's own: another client numbers as it likes.

use crate::client::lifetime::lock;
use crate::error::{Error, Result};
use crate::rd::client::Client;
use crate::rd::topic::Topic;
use once_cell::sync::OnceCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Kafka's own limit (`org.apache.kafka.common.internals.Topic`).
const NAME_MAX: usize = 249;
const BLOCK: usize = 256;
const BLOCKS: usize = 4096;

pub struct Entry {
    pub name: Box<str>,
    pub topic: Topic,
}

type Block = Box<[OnceCell<Entry>]>;

/// Entries never move or go, so that looking one up takes no lock.
pub struct Topics {
    blocks: Box<[OnceCell<Block>]>,
    numbers: Mutex<HashMap<Box<str>, i32>>,
}

impl Topics {
    pub fn new() -> Topics {
        Topics {
            blocks: std::iter::repeat_with(OnceCell::new).take(BLOCKS).collect(),
            numbers: Mutex::default(),
        }
    }

    #[inline]
    pub fn get(&self, number: i32) -> Result<&Entry> {
        usize::try_from(number)
            .ok()
            .and_then(|n| self.blocks.get(n / BLOCK)?.get()?.get(n % BLOCK)?.get())
            .ok_or_else(|| unknown(number))
    }

    /// The number that a topic has already.
    pub fn find(&self, name: &str) -> Option<i32> {
        lock(&self.numbers).get(name).copied()
    }

    /// The number of a topic, a new one for a new name.
    pub fn number(&self, client: &Arc<Client>, name: &str) -> Result<i32> {
        let mut numbers = lock(&self.numbers);
        if let Some(&number) = numbers.get(name) {
            return Ok(number);
        }
        check_name(name)?;
        let index = numbers.len();
        let (Some(block), Ok(number)) = (self.blocks.get(index / BLOCK), i32::try_from(index))
        else {
            return Err(Error::argument(format!("more than {} topics", BLOCK * BLOCKS)));
        };
        let block =
            block.get_or_init(|| std::iter::repeat_with(OnceCell::new).take(BLOCK).collect());
        let entry = Entry { name: name.into(), topic: Topic::new(client, name)? };
        if let Some(cell) = block.get(index % BLOCK) {
            // Only who holds the lock fills cells, each once.
            let _ = cell.set(entry);
        }
        numbers.insert(name.into(), number);
        Ok(number)
    }
}

#[cold]
fn unknown(number: i32) -> Error {
    Error::argument(format!(
        "topic number {number} was not given out by this client: ask it for the topic's number by name"
    ))
}

/// Kafka's rule for topic names: 1 to 249 of ASCII letters, digits, '.', '_' and '-', not "." or "..".
pub fn check_name(name: &str) -> Result<()> {
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    let why = if name.is_empty() {
        "is empty"
    } else if name.len() > NAME_MAX {
        "is longer than 249 characters"
    } else if name == "." || name == ".." {
        "must not be \".\" or \"..\""
    } else if !name.bytes().all(legal) {
        "may only have ASCII letters, digits, '.', '_' and '-'"
    } else {
        return Ok(());
    };
    let shown: String = name.chars().take(64).collect();
    Err(Error::argument(format!("topic name {shown:?} {why}")))
}

/// Topic numbers by the identity that messages carry, kept by one thread.
pub struct Numbers {
    last: (usize, i32),
    known: HashMap<usize, i32>,
}

impl Numbers {
    pub fn new() -> Numbers {
        Numbers { last: (0, -1), known: HashMap::new() }
    }

    /// The number of the topic with this identity, found by `find` at first sight.
    #[inline]
    pub fn get(&mut self, id: usize, find: impl FnOnce() -> i32) -> i32 {
        if self.last.0 != id {
            self.last = (id, *self.known.entry(id).or_insert_with(find));
        }
        self.last.1
    }
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn names_follow_kafkas_rule() {
        for good in ["a", "orders.v1_x-2", &"x".repeat(249)] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "a b", "ä", "a/b", &"x".repeat(250)] {
            let error = check_name(bad).unwrap_err();
            assert_eq!(error.code, crate::status::KABI_STATUS_ARGUMENT, "{bad}");
        }
    }
}
