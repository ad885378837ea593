//! A topic as the command line names it: `orders`, `orders:6`, `orders:6:2`.

use std::str::FromStr;

/// As Kafka's own default for topics that don't say.
const REPLICATION_MAX: i32 = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    pub name: String,
    pub partitions: i32,
    replication: Option<i32>,
}

impl Topic {
    pub fn replication(&self, brokers: i32) -> i32 {
        self.replication.unwrap_or(brokers.min(REPLICATION_MAX))
    }
}

impl FromStr for Topic {
    type Err = String;

    fn from_str(text: &str) -> Result<Topic, String> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        if name.is_empty() {
            return Err("the topic has no name".to_owned());
        }
        let partitions = number(parts.next(), "partitions")?.unwrap_or(1);
        let replication = number(parts.next(), "replication")?;
        if let Some(more) = parts.next() {
            return Err(format!("{more:?} is too much: NAME:PARTITIONS:REPLICATION"));
        }
        Ok(Topic {
            name: name.to_owned(),
            partitions,
            replication,
        })
    }
}

fn number(text: Option<&str>, what: &str) -> Result<Option<i32>, String> {
    text.map(|text| match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("{what} is {text:?}, not a number from 1 on")),
    })
    .transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms() {
        let topic = |text: &str| Topic::from_str(text).unwrap();
        assert_eq!(topic("a").partitions, 1);
        assert_eq!(topic("a").replication(2), 2);
        assert_eq!(topic("a:6").partitions, 6);
        assert_eq!(topic("a:6").replication(5), 3);
        assert_eq!(topic("a:6:1").replication(5), 1);
        for bad in [
            "", ":1", "a:", "a:0", "a:-1", "a:x", "a:1:", "a:1:0", "a:1:1:1",
        ] {
            assert!(Topic::from_str(bad).is_err(), "{bad}");
        }
    }
}
