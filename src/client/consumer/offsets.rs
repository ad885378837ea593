//! Offsets that are stored for the next commit, and questions about offsets: at a time, first and last, and
//! how far behind the consumer is.

use super::{Consumer, Core, Key, Partition};
use crate::client::lifetime::{deadline_of, remaining};
use crate::error::{Error, Result};
use crate::rd::partitions::PartitionList;
use crate::record::{KABI_OFFSET_END, KABI_OFFSET_INVALID};
use crate::status::{
    KABI_STATUS_NO_OFFSET, KABI_STATUS_OK, KABI_STATUS_STATE, KABI_STATUS_UNKNOWN_PARTITION,
};
use std::time::Duration;

/// An offset of a partition, or why it can't be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    pub offset: i64,
    pub leader_epoch: i32,
    pub code: i32,
}

impl Consumer {
    /// Stores offsets for the next commit. `status` is told of each one's outcome; the result is the first
    /// that failed.
    pub fn store(
        &self,
        partitions: &[Partition<'_>],
        mut status: impl FnMut(usize, i32),
    ) -> Result<()> {
        self.need_group("store")?;
        super::commit::check_offsets(partitions)?;
        let core = &*self.core;
        let mut list = core.list(partitions)?;
        core.tracking.with(|_| core.client.store_offsets(&mut list));
        let mut first_error = Ok(());
        for (i, (element, p)) in list.iter().zip(partitions).enumerate() {
            let code = match element.code() {
                KABI_STATUS_UNKNOWN_PARTITION => KABI_STATUS_STATE,
                code => code,
            };
            status(i, code);
            if code != KABI_STATUS_OK && first_error.is_ok() {
                first_error = Err(match code {
                    KABI_STATUS_STATE => core.wrong_state(p.key, "is not assigned"),
                    code => Error::of_code(code, &format!("store for {}", element.topic())),
                });
            }
        }
        first_error
    }

    /// The first offset at or after each partition's timestamp; KABI_OFFSET_END where there is none.
    pub fn offsets_for_times(
        &self,
        times: &[(Key, i64)],
        timeout: Option<Duration>,
        timeout_ms: i32,
    ) -> Result<Vec<Answer>> {
        if let Some((_, time)) = times.iter().find(|(_, time)| *time < 0) {
            return Err(Error::argument(format!(
                "timestamp {time}: it is milliseconds since 1970, 0 or more"
            )));
        }
        self.ask_offsets("offsets for times", times, timeout, timeout_ms)
    }

    /// By timestamp, or the end with KABI_OFFSET_END for one: Kafka's own question knows both.
    fn ask_offsets(
        &self,
        doing: &'static str,
        times: &[(Key, i64)],
        timeout: Option<Duration>,
        timeout_ms: i32,
    ) -> Result<Vec<Answer>> {
        let partitions: Vec<Partition<'_>> = times
            .iter()
            .map(|&(key, time)| Partition {
                key,
                offset: time,
                leader_epoch: -1,
                metadata: None,
            })
            .collect();
        let list = self.core.list(&partitions)?;
        if times.is_empty() {
            return Ok(Vec::new());
        }
        self.aside(doing, timeout, timeout_ms, move |core: &Core, left| {
            let mut list = list.duplicate();
            core.client.offsets_for_times(&mut list, left)?;
            Ok(answers(&list))
        })
    }

    /// A partition's first offset and its end, asked from its leader.
    pub fn watermarks(
        &self,
        key: Key,
        timeout: Option<Duration>,
        timeout_ms: i32,
    ) -> Result<(i64, i64)> {
        self.core.list_of(&[key])?;
        self.aside(
            "watermarks",
            timeout,
            timeout_ms,
            move |core: &Core, left| {
                let name = &core.topics.get(key.0)?.name;
                core.client.query_watermarks(name, key.1, left)
            },
        )
    }

    /// The same as last heard of; KABI_OFFSET_INVALID for what was not.
    pub fn cached_watermarks(&self, key: Key) -> Result<(i64, i64)> {
        self.core.list_of(&[key])?;
        let name = &self.core.topics.get(key.0)?.name;
        let (low, high) = match self.core.client.cached_watermarks(name, key.1) {
            Err(e) if e.code == KABI_STATUS_UNKNOWN_PARTITION => (-1, -1),
            other => other?,
        };
        let known = |offset: i64| {
            if offset < 0 {
                KABI_OFFSET_INVALID
            } else {
                offset
            }
        };
        Ok((known(low), known(high)))
    }

    /// How many offsets each partition's end is ahead of the program's position, or of what is committed
    /// where it has none. With no time to ask only what is known already counts.
    pub fn lag(
        &self,
        keys: &[Key],
        timeout: Option<Duration>,
        timeout_ms: i32,
    ) -> Result<Vec<Answer>> {
        self.core.list_of(keys)?;
        let deadline = deadline_of(timeout);
        let ask = timeout != Some(Duration::ZERO);
        let ends = if ask {
            let times: Vec<(Key, i64)> = keys.iter().map(|&key| (key, KABI_OFFSET_END)).collect();
            self.ask_offsets("lag", &times, timeout, timeout_ms)?
        } else {
            keys.iter()
                .map(|&key| Ok(Answer::of(self.cached_watermarks(key)?.1)))
                .collect::<Result<Vec<Answer>>>()?
        };
        let mut places = keys
            .iter()
            .map(|&key| Ok(Answer::of(self.position(key)?)))
            .collect::<Result<Vec<Answer>>>()?;
        if ask && self.core.has_group {
            self.fill_committed(keys, &mut places, remaining(deadline), timeout_ms)?;
        }
        Ok(ends.iter().zip(&places).map(lag_of).collect())
    }

    /// What is committed, where there is no position.
    fn fill_committed(
        &self,
        keys: &[Key],
        places: &mut [Answer],
        timeout: Option<Duration>,
        timeout_ms: i32,
    ) -> Result<()> {
        let without = |place: &Answer| place.code == KABI_STATUS_NO_OFFSET;
        let asked: Vec<Key> = keys
            .iter()
            .zip(&*places)
            .filter(|(_, place)| without(place))
            .map(|(&key, _)| key)
            .collect();
        if asked.is_empty() {
            return Ok(());
        }
        let committed = self.committed(&asked, timeout, timeout_ms)?;
        let empty = places.iter_mut().filter(|place| without(place));
        for (place, answer) in empty.zip(committed) {
            *place = match answer.code {
                KABI_STATUS_OK => Answer::of(answer.offset),
                code => Answer {
                    code,
                    ..Answer::of(KABI_OFFSET_INVALID)
                },
            };
        }
        Ok(())
    }
}

impl Answer {
    /// An offset, if it is one.
    fn of(offset: i64) -> Answer {
        Answer {
            offset,
            leader_epoch: -1,
            code: if offset < 0 {
                KABI_STATUS_NO_OFFSET
            } else {
                KABI_STATUS_OK
            },
        }
    }
}

fn lag_of((end, place): (&Answer, &Answer)) -> Answer {
    let code = if end.code != KABI_STATUS_OK {
        end.code
    } else {
        place.code
    };
    Answer {
        offset: if code == KABI_STATUS_OK {
            (end.offset - place.offset).max(0)
        } else {
            -1
        },
        leader_epoch: -1,
        code,
    }
}

fn answers(list: &PartitionList) -> Vec<Answer> {
    list.iter()
        .map(|e| Answer {
            offset: e.offset(),
            leader_epoch: e.leader_epoch(),
            code: e.code(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lag_is_the_end_less_the_place() {
        assert_eq!(lag_of((&Answer::of(10), &Answer::of(4))), Answer::of(6));
        assert_eq!(
            lag_of((&Answer::of(3), &Answer::of(4))),
            Answer::of(0),
            "an end that is known from before"
        );
        let unknown = lag_of((&Answer::of(10), &Answer::of(KABI_OFFSET_INVALID)));
        assert_eq!((unknown.offset, unknown.code), (-1, KABI_STATUS_NO_OFFSET));
        let failed = Answer {
            code: 3,
            ..Answer::of(0)
        };
        assert_eq!(lag_of((&failed, &Answer::of(4))).code, 3);
    }
}
