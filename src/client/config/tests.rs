//! What the configuration accepts, refuses, tells and hides.

use super::describe::parse;
use super::*;
use crate::rd::client::{Client, Hooks, Kind as ClientKind};
use crate::rd::conf::{self as rd_conf, properties_table, Logs};
use crate::status::KABI_STATUS_ARGUMENT;
use std::time::Duration;

fn config(properties: &[(&str, &str)]) -> Config {
    let mut config = Config::new();
    for (name, value) in properties {
        config.set(name, value).unwrap();
    }
    config
}

fn refusal(name: &str, value: &str) -> String {
    let mut config = Config::new();
    let error = config.set(name, value).unwrap_err();
    assert_eq!(error.code, KABI_STATUS_ARGUMENT);
    assert_eq!(config.dump(), "{}", "a refused value changes nothing");
    error.message
}

fn built(config: &Config, kind: ClientKind) -> (rd_conf::Conf, Settings) {
    let mut config = config.clone();
    config.set("bootstrap.servers", "127.0.0.1:1").unwrap();
    config.build(kind).unwrap()
}

#[test]
fn a_client_needs_a_broker_to_begin_with() {
    for kind in [ClientKind::Producer, ClientKind::Consumer] {
        let error = Config::new().build(kind).err().unwrap();
        assert_eq!(error.code, KABI_STATUS_ARGUMENT);
        assert!(
            error.message.contains("bootstrap.servers"),
            "{}",
            error.message
        );
    }
}

fn property(name: &str) -> &'static Property {
    description().unwrap().find(name).unwrap()
}

#[test]
fn keeps_what_was_set() {
    let mut c = config(&[("linger.ms", "7.5"), ("bootstrap.servers", "a:1")]);
    assert_eq!(c.get("linger.ms").unwrap().as_deref(), Some("7.5"));
    assert_eq!(
        c.get("queue.buffering.max.ms").unwrap().as_deref(),
        Some("7.5")
    );
    assert_eq!(c.dump(), r#"{"bootstrap.servers":"a:1","linger.ms":"7.5"}"#);
    c.set("queue.buffering.max.ms", "8").unwrap();
    assert_eq!(
        c.get("linger.ms").unwrap().as_deref(),
        Some("8"),
        "the alias set last holds"
    );
    let copy = c.clone();
    c.unset("linger.ms").unwrap();
    c.unset("linger.ms").unwrap();
    assert_eq!(c.get("linger.ms").unwrap().as_deref(), Some("5"));
    assert_eq!(copy.get("linger.ms").unwrap().as_deref(), Some("8"));
    assert_eq!(c.get("group.id").unwrap(), None);
    assert!(c
        .get("grup.id")
        .unwrap_err()
        .message
        .contains("\"group.id\""));
    assert!(c.unset("grup.id").is_err());
}

#[test]
fn unknown_names_get_the_nearest() {
    let near = |name| refusal(name, "x");
    assert_eq!(
        near("bootstrap.server"),
        "there is no property \"bootstrap.server\"; did you mean \"bootstrap.servers\"?"
    );
    assert!(near("group_id").contains("\"group.id\""));
    assert!(near("Linger.Ms").contains("\"linger.ms\""));
    assert!(near("auto.offset.rset").contains("\"auto.offset.reset\""));
    assert!(near("kafkabi.handeld").contains("\"kafkabi.handled\""));
    let far = near("something.else.entirely");
    assert!(
        !far.contains("did you mean") && far.contains("kabi_config_describe"),
        "{far}"
    );
    assert!(
        !near("rebalance_bc").contains("rebalance_cb"),
        "managed names are not offered"
    );
    assert!(refusal("", "x").contains("empty"));
    assert!(refusal("a\0b", "x").contains("NUL"));
    assert!(refusal("linger.ms", "1\0").contains("NUL"));
    let long = "x".repeat(256);
    assert!(!refusal(&long, "x").contains(&long));
    assert!(refusal("client.id", &"x".repeat(1024 * 1024 + 1)).contains("bytes long"));
}

#[test]
fn values_are_checked() {
    for (name, value, says) in [
        ("linger.ms", "abc", "is a number from 0 to 900000"),
        ("linger.ms", "nan", "is a number from 0 to 900000"),
        ("linger.ms", "900001", "is a number from 0 to 900000"),
        (
            "session.timeout.ms",
            "12abc",
            "is a whole number from 1 to 3600000",
        ),
        (
            "session.timeout.ms",
            "4294967297",
            "is a whole number from 1 to 3600000",
        ),
        (
            "session.timeout.ms",
            "99999999999999999999",
            "is a whole number",
        ),
        ("session.timeout.ms", "010", "is a whole number"),
        ("session.timeout.ms", "", "is a whole number"),
        ("session.timeout.ms", "-", "is a whole number"),
        ("acks", "some", "from -1 to 1000, or all"),
        ("enable.idempotence", "maybe", "are true and false"),
        (
            "compression.type",
            "rar",
            "are none, gzip, snappy, lz4, zstd",
        ),
        (
            "debug",
            "generic,nothing",
            "separated by commas: generic, broker",
        ),
        (
            "partitioner",
            "roundrobin",
            "are random, consistent, consistent_random, murmur2",
        ),
        ("auto.offset.reset", "", "smallest, earliest"),
        ("kafkabi.handled", "never", "are poll, explicit"),
        ("kafkabi.events.max", "0", "from 1 to 10000000"),
        ("kafkabi.events.max", "all", "from 1 to 10000000"),
        ("kafkabi.log", "", "are stderr, off"),
        ("kafkabi.report.latency", "1", "are true and false"),
    ] {
        let text = refusal(name, value);
        assert!(
            text.contains(&format!("\"{name}\"")) && text.contains(says),
            "{text}"
        );
        assert!(text.contains(&format!("{value:?}")), "{text}");
    }
    let long = refusal("compression.type", &"é".repeat(100));
    assert!(
        long.contains(&"é".repeat(64)) && !long.contains(&"é".repeat(65)),
        "{long}"
    );
    config(&[
        ("acks", "all"),
        ("session.timeout.ms", "0x1770"),
        ("debug", "msg,cgrp"),
    ]);
    config(&[
        ("topic.acks", "1"),
        ("auto.offset.reset", "earliest"),
        ("linger.ms", "0.5"),
    ]);
}

#[test]
fn managed_properties_say_what_to_use() {
    for (name, says) in [
        ("enable.auto.offset.store", "kafkabi.handled"),
        ("delivery.report.only.error", "kabi_config_events"),
        ("log.queue", "KABI_EVENT_LOG"),
        ("dr_msg_cb", "kabi_config_handler"),
        ("rebalance_cb", "kabi_consumer_poll"),
        ("opaque", "kabi_config_handler"),
        ("default_topic_conf", "by their names"),
        ("test.mock.num.brokers", "kabi_cluster_new"),
    ] {
        let text = refusal(name, "1");
        assert!(text.contains(name) && text.contains(says), "{text}");
    }
    // Settable as text in librdkafka, which would call what the text points at.
    refusal("ut_handle_ProduceResponse", "x");
    for p in &description().unwrap().properties {
        assert!(p.kind != Kind::Pointer || p.managed.is_some(), "{}", p.name);
    }
    let c = Config::new();
    assert_eq!(
        c.get("enable.auto.offset.store").unwrap().as_deref(),
        Some("false")
    );
}

#[test]
fn secrets_are_never_shown() {
    const SECRET: &str = "hunter2-secret";
    let mut c = Config::new();
    for p in description()
        .unwrap()
        .properties
        .iter()
        .filter(|p| p.secret)
    {
        match c.set(&p.name, SECRET) {
            Ok(()) => assert_eq!(c.get(&p.name).unwrap().as_deref(), Some(SECRET)),
            Err(e) => assert!(!e.message.contains(SECRET), "{e:?}"),
        }
        let nul = c.set(&p.name, &format!("{SECRET}\0")).unwrap_err();
        assert!(!nul.message.contains(SECRET), "{nul:?}");
    }
    assert!(
        !c.dump().contains(SECRET) && c.dump().contains("[redacted]"),
        "{}",
        c.dump()
    );
    assert!(!format!("{c:?}").contains(SECRET) && format!("{c:?}").contains("sasl.password"));
    c.set("bootstrap.servers", "127.0.0.1:1").unwrap();
    let error = match c.build(ClientKind::Producer) {
        Ok((conf, s)) => Client::new(ClientKind::Producer, conf, s.events, Hooks::default()).err(),
        Err(error) => Some(error),
    };
    assert!(!format!("{error:?}").contains(SECRET), "{error:?}");
    let unknown = refusal("sasl.pasword", SECRET);
    assert!(unknown.contains("sasl.password") && !unknown.contains(SECRET));
    for name in [
        "sasl.password",
        "ssl.key.pem",
        "sasl.oauthbearer.client.credentials.client.secret",
    ] {
        assert!(property(name).secret, "{name}");
    }
    assert!(!property("bootstrap.servers").secret && !property("ssl.certificate.pem").secret);
}

#[test]
fn the_event_mask_is_checked() {
    let mut c = Config::new();
    assert_eq!(c.events(), KABI_EVENT_DEFAULT);
    assert!(c.set_events(512).unwrap_err().message.contains("0x200"));
    assert_eq!(c.events(), KABI_EVENT_DEFAULT);
    c.set_events(KABI_EVENT_LOG).unwrap();
    let (conf, s) = built(&c, ClientKind::Producer);
    assert_eq!(conf.get("log.queue").as_deref(), Some("true"));
    assert_eq!(
        conf.get("delivery.report.only.error").as_deref(),
        Some("true")
    );
    assert!(s.events.logs == Logs::Queue && s.events.errors && s.events.reports);
    assert!(!s.events.statistics);
}

#[test]
fn defaults_match_the_table() {
    let (producer, s) = built(&Config::new(), ClientKind::Producer);
    let (consumer, _) = built(&config(&[("group.id", "g")]), ClientKind::Consumer);
    for d in own::DEFAULTS {
        let p = property(d.name);
        assert_eq!(p.default.as_deref(), Some(d.value));
        assert_eq!(p.why, Some(d.why));
        assert_ne!(
            p.librdkafka_default.as_deref(),
            Some(d.value),
            "{} is no change",
            d.name
        );
        assert_eq!(Config::new().get(d.name).unwrap().as_deref(), Some(d.value));
        let get = |kind_is: bool, conf: &rd_conf::Conf| {
            kind_is.then(|| assert_eq!(conf.get(d.name).as_deref(), Some(d.value), "{}", d.name))
        };
        get(p.for_ != For::Consumer, &producer);
        get(p.for_ != For::Producer, &consumer);
    }
    assert_eq!(
        property("fetch.queue.backoff.ms")
            .librdkafka_default
            .as_deref(),
        Some("1000")
    );
    assert_eq!(s.message_timeout, Some(Duration::from_secs(300)));
    assert_eq!(s.events_max, 100_000);
    assert!(!s.report_latency && !s.transactional && s.mask == KABI_EVENT_DEFAULT);
    assert_eq!(s.events.logs, Logs::Stderr);
}

/// How that is tried: scripts/test-portable.
#[cfg(feature = "portable")]
#[test]
fn an_openssl_of_its_own_looks_for_the_systems_authorities() {
    let location = |config: &Config| {
        let (conf, _) = built(config, ClientKind::Producer);
        conf.get("ssl.ca.location")
    };
    let pem = ("ssl.ca.pem", "-----BEGIN CERTIFICATE-----");
    assert_eq!(location(&Config::new()).as_deref(), Some("probe"));
    assert_eq!(
        location(&config(&[pem])),
        None,
        "librdkafka takes one of them"
    );
    let own = location(&config(&[("ssl.ca.location", "/etc/own.pem")]));
    assert_eq!(own.as_deref(), Some("/etc/own.pem"));
}

#[test]
fn idempotence_gives_way_to_what_conflicts() {
    for (name, value) in [
        ("acks", "1"),
        ("request.required.acks", "0"),
        ("topic.acks", "1"),
        ("retries", "0"),
        ("max.in.flight", "6"),
        ("max.in.flight.requests.per.connection", "0x10"),
        ("queuing.strategy", "LIFO"),
        ("queue.buffering.backpressure.threshold", "2"),
    ] {
        let c = config(&[(name, value), ("kafkabi.log", "off")]);
        let (conf, s) = built(&c, ClientKind::Producer);
        assert_eq!(
            conf.get("enable.idempotence").as_deref(),
            Some("false"),
            "{name}"
        );
        assert_eq!(
            c.get("enable.idempotence").unwrap().as_deref(),
            Some("false")
        );
        Client::new(ClientKind::Producer, conf, s.events, Hooks::default()).unwrap();
        // Asked for explicitly, the conflict is the program's, and librdkafka names it.
        let mut c = c.clone();
        c.set("enable.idempotence", "true").unwrap();
        let (conf, s) = built(&c, ClientKind::Producer);
        assert!(
            Client::new(ClientKind::Producer, conf, s.events, Hooks::default()).is_err(),
            "{name}"
        );
    }
    for (name, value) in [
        ("acks", "ALL"),
        ("acks", "-1"),
        ("retries", "3"),
        ("max.in.flight", "5"),
    ] {
        let (conf, s) = built(&config(&[(name, value)]), ClientKind::Producer);
        assert_eq!(
            conf.get("enable.idempotence").as_deref(),
            Some("true"),
            "{name}"
        );
        Client::new(ClientKind::Producer, conf, s.events, Hooks::default()).unwrap();
    }
    let c = config(&[
        ("transactional.id", "t"),
        ("transaction.timeout.ms", "5000"),
    ]);
    let (conf, s) = built(&c, ClientKind::Producer);
    assert_eq!(s.message_timeout, Some(Duration::from_secs(5)));
    assert!(s.transactional);
    Client::new(ClientKind::Producer, conf, s.events, Hooks::default()).unwrap();
}

#[test]
fn each_kind_of_client_gets_its_own() {
    let c = config(&[
        ("acks", "1"),
        ("group.id", "g"),
        ("auto.offset.reset", "earliest"),
        ("enable.partition.eof", "true"),
        ("message.timeout.ms", "0"),
        ("queue.buffering.max.messages", "0"),
        ("kafkabi.handled", "explicit"),
        ("kafkabi.report.latency", "true"),
        ("kafkabi.log", "off"),
        ("session.timeout.ms", "6000"),
        ("client.software.name", "mine"),
    ]);
    let (conf, s) = built(&c, ClientKind::Consumer);
    assert_eq!(
        conf.get("enable.auto.offset.store").as_deref(),
        Some("false")
    );
    assert_eq!(
        conf.get("request.required.acks").as_deref(),
        Some("-1"),
        "left out"
    );
    assert_eq!(conf.get("client.software.name").as_deref(), Some("mine"));
    assert!(s.auto_commit && s.handled_explicit && !s.events.reports);
    assert_eq!(s.group_id.as_deref(), Some("g"));
    assert_eq!(conf.get("enable.partition.eof").as_deref(), Some("true"));
    assert_eq!(conf.get("session.timeout.ms").as_deref(), Some("6000"));
    let client = Client::new(ClientKind::Consumer, conf, s.events, Hooks::default()).unwrap();
    assert!(client.consumer_queue().is_some());

    let (conf, s) = built(&c, ClientKind::Producer);
    assert_eq!(conf.get("group.id"), None);
    assert_eq!(s.message_timeout, None);
    assert_eq!(s.events_max, 10_000_000);
    assert!(s.report_latency && s.events.reports && s.events.logs == Logs::Off);
}

#[test]
fn a_consumer_without_a_group_reads_all_the_same() {
    let c = config(&[("kafkabi.log", "off"), ("group.id", "")]);
    let (conf, s) = built(&c, ClientKind::Consumer);
    assert!(conf.get("group.id").unwrap().starts_with("kafkabi-"));
    assert_ne!(
        conf.get("group.id"),
        built(&c, ClientKind::Consumer).0.get("group.id")
    );
    assert_eq!(conf.get("enable.auto.commit").as_deref(), Some("false"));
    assert!(s.group_id.is_none() && !s.auto_commit);
    let client = Client::new(ClientKind::Consumer, conf, s.events, Hooks::default()).unwrap();
    assert!(client.consumer_queue().is_some());
    let c = config(&[("enable.auto.commit", "true")]);
    assert!(c
        .build(ClientKind::Consumer)
        .unwrap_err_text()
        .contains("group.id"));
}

/// `unwrap_err` without asking for Debug of a conf.
trait ErrText {
    fn unwrap_err_text(self) -> String;
}
impl<T> ErrText for crate::error::Result<T> {
    fn unwrap_err_text(self) -> String {
        self.err().unwrap().message
    }
}

#[test]
fn everything_is_described() {
    let all = &description().unwrap().properties;
    assert!(all.len() > 180, "{}", all.len());
    for p in all {
        assert!(!p.text.is_empty() || p.deprecated, "{}", p.name);
        assert_eq!(
            all.iter().filter(|q| q.name == p.name).count(),
            1,
            "{}",
            p.name
        );
        let numeric = matches!(p.kind, Kind::Integer | Kind::Float);
        assert!(
            !numeric || p.range.is_some() || p.managed.is_some(),
            "{}",
            p.name
        );
        if let Some(of) = &p.alias_of {
            assert!(all.iter().any(|q| &q.name == of), "{}", p.name);
        }
        // What is listed as the default can be set. (Idempotence and the like hold for all.)
        if let (None, None, Some(default)) = (p.managed, &p.unsupported, &p.default) {
            Config::new().set(&p.name, default).unwrap();
        }
    }
    let linger = property("linger.ms");
    assert_eq!(linger.kind, Kind::Float);
    assert_eq!(linger.alias_of.as_deref(), Some("queue.buffering.max.ms"));
    assert_eq!(linger.for_, For::Producer);
    assert_eq!(linger.importance, Importance::High);
    assert_eq!(linger.default.as_deref(), Some("5"));
    assert!(
        linger.text.starts_with("Delay in milliseconds"),
        "{}",
        linger.text
    );
    assert_eq!(property("acks").level, Level::Topic);
    assert_eq!(property("acks").range.as_ref().unwrap().min, (-1).into());
    assert_eq!(property("topic.blacklist").kind, Kind::PatternList);
    assert!(property("queuing.strategy").deprecated && property("queuing.strategy").experimental);
    assert_eq!(
        property("compression.codec").level,
        Level::Global,
        "the one that set reaches"
    );
    assert!(property("builtin.features")
        .default
        .as_deref()
        .unwrap()
        .contains("zstd"));
    assert!(property("sasl.kerberos.kinit.cmd")
        .default
        .as_deref()
        .unwrap()
        .contains("|| kinit"));
}

#[test]
fn the_table_is_read_whole() {
    let table = properties_table().unwrap();
    let rows = table.lines().filter(|l| l.contains("<br>*Type: ")).count();
    assert_eq!(parse(&table).len(), rows);
    let row = "a.b | C/P | x";
    assert!(parse(row).is_empty());
    let row =
        "a.b   |  C  | 0 .. 1e+06      |   x | y | low        | Text | more. <br>*Type: float*";
    let p = &parse(row)[0];
    assert_eq!(
        (p.default.as_deref(), p.text.as_str()),
        (Some("x | y"), "Text | more.")
    );
    assert_eq!(p.range.as_ref().unwrap().max.as_f64(), Some(1e6));
}

#[test]
fn the_document_is_json() {
    let document: serde_json::Value = serde_json::from_str(describe().unwrap()).unwrap();
    let properties = document["properties"].as_array().unwrap();
    let find = |name: &str| properties.iter().find(|p| p["name"] == name).unwrap();
    let p = find("fetch.queue.backoff.ms");
    assert_eq!(p["default"], "10");
    assert_eq!(p["librdkafka_default"], "1000");
    assert_eq!(p["for"], "consumer");
    assert_eq!(p["range"]["max"], 300_000);
    assert_eq!(find("sasl.password")["secret"], true);
    assert_eq!(find("kafkabi.handled")["values"][1], "explicit");
    assert!(find("log.queue")["managed"].is_string());
}
