//! From a `Config` to what a client is made of: librdkafka's configuration with kafkabi's defaults in
//! it, and the settings that the client layer reads itself.

use super::check::parse_integer;
use super::describe::{description, For};
use super::{check, own, Config};
use crate::error::{Error, Result};
use crate::rd;
use crate::rd::conf::{Conf, Events, Logs, Refused, Tokens};
use crate::record::{
    KABI_EVENT_LOG, KABI_EVENT_REPORT, KABI_EVENT_STATISTICS, KABI_EVENT_TOKEN,
    KABI_OFFSET_BEGINNING, KABI_OFFSET_END, KABI_OFFSET_INVALID,
};
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

/// What bootstrap.servers is an alias of.
const BOOTSTRAP: &str = "metadata.broker.list";
const GROUP: &str = "group.id";
const RESET: &str = "auto.offset.reset";
const AUTO_COMMIT: &str = "enable.auto.commit";
const TRANSACTIONAL: &str = "transactional.id";
const TRANSACTION_TIMEOUT: &str = "transaction.timeout.ms";
const MESSAGE_TIMEOUT: &str = "message.timeout.ms";
const STATISTICS_INTERVAL: &str = "statistics.interval.ms";
const QUEUE_MAX: &str = "queue.buffering.max.messages";

/// What the client layer needs to know of its configuration.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The kinds of events that are queued for the program.
    pub mask: u32,
    /// What librdkafka is to queue for the service thread. Errors always, because a fatal one matters
    /// to the client itself; a producer's failed reports too when the program wants no reports, so
    /// that failures are counted (librdkafka then reports nothing but failures).
    pub events: Events,
    /// Only kabi_consumer_handled() makes a record handled.
    pub handled_explicit: bool,
    /// Only kabi_consumer_assignment_apply() applies changes of the assignment.
    pub assignment_by_call: bool,
    pub events_max: usize,
    pub report_latency: bool,
    /// How long a record may take to be delivered; `None` is without end.
    pub message_timeout: Option<Duration>,
    pub transactional: bool,
    /// Offsets of handled records are committed every auto.commit.interval.ms.
    pub auto_commit: bool,
    /// `None` without a group, though librdkafka is given an invented one.
    pub group_id: Option<String>,
    /// Where auto.offset.reset leads: KABI_OFFSET_BEGINNING or _END, _INVALID where it is an error.
    pub beginning: i64,
}

impl Config {
    /// librdkafka's configuration for a client of `kind`, and the settings of the client layer.
    pub fn build(&self, kind: rd::client::Kind) -> Result<(Conf, Settings)> {
        let settings = self.settings(kind)?;
        let mut conf = Conf::new()?;
        self.set_defaults(&mut conf, kind)?;
        // First the plug-ins, whose properties are known only once they are loaded.
        const PLUGINS: &str = "plugin.library.paths";
        let plugins = self.entries.get_key_value(PLUGINS);
        let others = self
            .entries
            .iter()
            .filter(|(canonical, _)| *canonical != PLUGINS);
        for (canonical, entry) in plugins.into_iter().chain(others) {
            if self.is_for(canonical, kind)? {
                self.pass_on(&mut conf, &entry.name, &entry.value)?;
            }
        }
        self.set_managed(&mut conf, kind, &settings)?;
        Ok((conf, settings))
    }

    fn settings(&self, kind: rd::client::Kind) -> Result<Settings> {
        let consumer = kind == rd::client::Kind::Consumer;
        let group_id = self.set_value(GROUP).map(str::to_owned);
        if consumer && group_id.is_none() && self.set_value(AUTO_COMMIT).is_some_and(is_true) {
            return Err(Error::argument(
                "property \"enable.auto.commit\" can't be true without \"group.id\": offsets are \
                 committed for a group",
            ));
        }
        if self.set_value(BOOTSTRAP).is_none() {
            return Err(Error::argument(
                "property \"bootstrap.servers\" is not set: a client has to know at least one broker",
            ));
        }
        let logs = if self.mask & KABI_EVENT_LOG != 0 {
            Logs::Queue
        } else if self.set_value(own::LOG) == Some("off") {
            Logs::Off
        } else {
            Logs::Stderr
        };
        let events = Events {
            reports: kind == rd::client::Kind::Producer,
            errors: true,
            // The latest is kept for the metrics, whether the program wants events of it or not.
            statistics: self.mask & KABI_EVENT_STATISTICS != 0
                || self.number(STATISTICS_INTERVAL)? > 0,
            tokens: self.tokens()?,
            logs,
        };
        Ok(Settings {
            mask: self.mask,
            events,
            handled_explicit: self.set_value(own::HANDLED) == Some("explicit"),
            assignment_by_call: self.set_value(own::ASSIGNMENT) == Some("apply"),
            events_max: usize::try_from(self.number(own::EVENTS_MAX)?).unwrap_or(1),
            report_latency: self.flag(own::REPORT_LATENCY)?,
            message_timeout: match self.number(MESSAGE_TIMEOUT)? {
                0 => None,
                ms => Some(millis(ms)),
            },
            transactional: self.set_value(TRANSACTIONAL).is_some(),
            auto_commit: group_id.is_some() && self.flag(AUTO_COMMIT)?,
            group_id,
            beginning: match self
                .effective(RESET)?
                .map(|v| v.to_ascii_lowercase())
                .as_deref()
            {
                Some("smallest" | "earliest" | "beginning") => KABI_OFFSET_BEGINNING,
                Some("largest" | "latest" | "end") => KABI_OFFSET_END,
                _ => KABI_OFFSET_INVALID,
            },
        })
    }

    /// Who is asked for tokens. Without SASL/OAUTHBEARER nobody is, whatever is set.
    fn tokens(&self) -> Result<Tokens> {
        let bearer = self
            .effective("sasl.mechanisms")?
            .is_some_and(|m| m.eq_ignore_ascii_case("OAUTHBEARER"));
        if !bearer || self.set_value("sasl.oauthbearer.method") == Some("oidc") {
            return Ok(Tokens::Nobody);
        }
        if self.flag("enable.sasl.oauthbearer.unsecure.jwt")? {
            return Ok(Tokens::Unsecured);
        }
        Ok(match self.mask & KABI_EVENT_TOKEN {
            0 => Tokens::Nobody,
            _ => Tokens::Queue,
        })
    }

    /// The defaults that differ from librdkafka's, unless the program or what it set says otherwise.
    fn set_defaults(&self, conf: &mut Conf, kind: rd::client::Kind) -> Result<()> {
        for changed in own::DEFAULTS {
            let unwanted = match changed.name {
                // transactional.id implies it, and librdkafka names what conflicts with that.
                own::IDEMPOTENCE => {
                    self.set_value(TRANSACTIONAL).is_some() || self.idempotence_conflicts()
                }
                own::CA_LOCATION => {
                    self.set_value("ssl.ca.pem").is_some() || own::environment_names_authorities()
                }
                _ => false,
            };
            let set = self.entries.contains_key(changed.name);
            if !set && !unwanted && self.is_for(changed.name, kind)? {
                self.pass_on(conf, changed.name, changed.value)?;
            }
        }
        Ok(())
    }

    /// What kafkabi sets because its own work depends on it.
    fn set_managed(&self, conf: &mut Conf, kind: rd::client::Kind, s: &Settings) -> Result<()> {
        if s.events.logs == Logs::Queue {
            self.pass_on(conf, "log.queue", "true")?;
        }
        match kind {
            rd::client::Kind::Producer if self.mask & KABI_EVENT_REPORT == 0 => {
                self.pass_on(conf, "delivery.report.only.error", "true")
            }
            rd::client::Kind::Producer | rd::client::Kind::Admin => Ok(()),
            rd::client::Kind::Consumer => {
                self.pass_on(conf, "enable.auto.offset.store", "false")?;
                if s.group_id.is_some() {
                    return Ok(());
                }
                // librdkafka gives a consumer without a group no queue to read from. The invented group
                // is never joined unless the program subscribes.
                self.pass_on(conf, GROUP, &invented_group())?;
                self.pass_on(conf, AUTO_COMMIT, "false")
            }
        }
    }

    fn pass_on(&self, conf: &mut Conf, name: &str, value: &str) -> Result<()> {
        let description = description()?;
        conf.set(name, value)
            .map_err(|refused| match (refused, description.find(name)) {
                (Refused::UnknownName(_), _) => check::unknown(name, description),
                (Refused::InvalidValue(text), Some(property)) => {
                    check::refused(property, value, &text)
                }
                (Refused::InvalidValue(text), None) if own::is_secret(name) => {
                    let _ = text; // may repeat the value
                    Error::argument(format!(
                        "a plug-in refused the value of property \"{name}\""
                    ))
                }
                (Refused::InvalidValue(text), None) => {
                    Error::argument(format!("property \"{name}\": {text}"))
                }
            })
    }

    /// Whether a client of `kind` reads the property. One configuration may serve both kinds, so what
    /// is the other's is left out rather than refused; librdkafka would log a warning for each.
    fn is_for(&self, canonical: &str, kind: rd::client::Kind) -> Result<bool> {
        let Some(property) = description()?.find(canonical) else {
            return Ok(true);
        };
        let reads = match property.for_ {
            For::Both => true,
            For::Producer => kind == rd::client::Kind::Producer,
            For::Consumer => kind == rd::client::Kind::Consumer,
        };
        Ok(reads && !property.is_own())
    }

    /// The value in force of the property with this canonical name.
    pub(super) fn effective(&self, canonical: &str) -> Result<Option<String>> {
        if let Some(entry) = self.entries.get(canonical) {
            return Ok(Some(entry.value.clone()));
        }
        match canonical {
            own::IDEMPOTENCE if self.idempotence_conflicts() => {
                let implied = self.set_value(TRANSACTIONAL).is_some();
                return Ok(Some(implied.to_string()));
            }
            // librdkafka keeps a record no longer than its transaction.
            MESSAGE_TIMEOUT if self.set_value(TRANSACTIONAL).is_some() => {
                return self.effective(TRANSACTION_TIMEOUT);
            }
            own::EVENTS_MAX => {
                let (min, max) = own::EVENTS_MAX_RANGE;
                let queue = match self.number(QUEUE_MAX)? {
                    0 => max, // without bound
                    messages => messages.clamp(min, max),
                };
                return Ok(Some(queue.to_string()));
            }
            _ => {}
        }
        Ok(description()?
            .find(canonical)
            .and_then(|p| p.default.clone()))
    }

    /// The program set something that librdkafka refuses together with enable.idempotence (see
    /// rd_kafka_conf_finalize and rd_kafka_topic_conf_finalize).
    fn idempotence_conflicts(&self) -> bool {
        let number = |name| self.set_value(name).and_then(parse_integer);
        let acks = self.set_value("request.required.acks");
        acks.is_some_and(|v| !v.eq_ignore_ascii_case("all") && parse_integer(v) != Some(-1))
            || number("message.send.max.retries").is_some_and(|n| n < 1)
            || number("max.in.flight.requests.per.connection").is_some_and(|n| n > 5)
            || number("queue.buffering.backpressure.threshold").is_some_and(|n| n > 1)
            || self
                .set_value("queuing.strategy")
                .is_some_and(|v| v.eq_ignore_ascii_case("lifo"))
    }

    fn number(&self, name: &str) -> Result<i64> {
        Ok(self
            .effective(name)?
            .as_deref()
            .and_then(parse_integer)
            .unwrap_or(0))
    }

    fn flag(&self, name: &str) -> Result<bool> {
        Ok(self.effective(name)?.as_deref().is_some_and(is_true))
    }
}

/// As librdkafka reads booleans.
fn is_true(value: &str) -> bool {
    value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("t") || value == "1"
}

fn millis(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

/// A name that no other consumer has. The standard library's hash keys are random, and each new hasher's
/// differ; that is enough, for nothing secret hangs on it.
fn invented_group() -> String {
    let random = || std::hash::RandomState::new().build_hasher().finish();
    format!(
        "kafkabi-{:016x}{:016x}",
        random(),
        random() ^ u64::from(std::process::id())
    )
}
