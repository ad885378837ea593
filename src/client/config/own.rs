//! What kafkabi adds to librdkafka's list of properties: its own properties, the defaults that differ,
//! the properties that it manages itself, those that hold secrets, and hidden ones worth knowing.

use super::describe::{For, Importance, Kind};

/// A property that kafkabi reads and librdkafka never sees.
pub(super) struct Own {
    pub name: &'static str,
    pub kind: Kind,
    pub default: &'static str,
    pub values: &'static [&'static str],
    pub range: Option<(i64, i64)>,
    pub for_: For,
    pub text: &'static str,
}

pub(super) const HANDLED: &str = "kafkabi.handled";
pub(super) const ASSIGNMENT: &str = "kafkabi.assignment";
pub(super) const EVENTS_MAX: &str = "kafkabi.events.max";
pub(super) const LOG: &str = "kafkabi.log";
pub(super) const REPORT_LATENCY: &str = "kafkabi.report.latency";

/// The bounds of `kafkabi.events.max`, which also bound the default that is taken from
/// `queue.buffering.max.messages` (where 0 means no bound at all).
pub(super) const EVENTS_MAX_RANGE: (i64, i64) = (1, 10_000_000);

pub(super) const OWN: &[Own] = &[
    Own {
        name: HANDLED,
        kind: Kind::Enum,
        default: "poll",
        values: &["poll", "explicit"],
        range: None,
        for_: For::Consumer,
        text: "When a record counts as handled, so that its offset may be committed. poll: when the \
               next poll begins. explicit: only when kabi_consumer_handled() says so.",
    },
    Own {
        name: ASSIGNMENT,
        kind: Kind::Enum,
        default: "poll",
        values: &["poll", "apply"],
        range: None,
        for_: For::Consumer,
        text: "When a change of the assignment that the group decides is applied. poll: inside the poll \
               that meets it, when a handler of it has returned. apply: the poll returns without \
               records, and kabi_consumer_assignment_apply() applies it; polls give STATE until then.",
    },
    Own {
        name: EVENTS_MAX,
        kind: Kind::Integer,
        default: "",
        values: &[],
        range: Some(EVENTS_MAX_RANGE),
        for_: For::Both,
        text: "How many events a client may owe its program: each accepted record counts until its \
               report is drained. At this number a send gives QUEUE_FULL or waits its time-out. The \
               default is the value of queue.buffering.max.messages.",
    },
    Own {
        name: LOG,
        kind: Kind::Enum,
        default: "stderr",
        values: &["stderr", "off"],
        range: None,
        for_: For::Both,
        text: "Where log lines go while KABI_EVENT_LOG is not in the event mask.",
    },
    Own {
        name: REPORT_LATENCY,
        kind: Kind::Boolean,
        default: "false",
        values: &["true", "false"],
        range: None,
        for_: For::Producer,
        text: "Whether reports tell the time from send to acknowledgement. It costs a clock reading \
               a record.",
    },
];

/// A default that differs from librdkafka's. A new line needs a reason that was measured or shown.
pub(super) struct Changed {
    pub name: &'static str,
    pub value: &'static str,
    pub why: &'static str,
}

pub(super) const IDEMPOTENCE: &str = "enable.idempotence";
pub(super) const CA_LOCATION: &str = "ssl.ca.location";

pub(super) const DEFAULTS: &[Changed] = &[
    Changed {
        name: IDEMPOTENCE,
        value: "true",
        why: "No duplicates and no reordering by retries, as in Apache's client since 3.0. Left off \
              when the program sets what conflicts with it: acks other than all, retries=0, \
              max.in.flight above 5, queuing.strategy=lifo, or \
              queue.buffering.backpressure.threshold above 1.",
    },
    Changed {
        name: "fetch.queue.backoff.ms",
        value: "10",
        why: "At 1000 a consumer stalls each time its local queue is full: 1 KiB records over 6 \
              partitions came at 369,000 a second, with 10 at 1,050,000.",
    },
    Changed {
        name: "reconnect.backoff.max.ms",
        value: "1000",
        why: "As in Apache's client. At 10000 a client whose only broker came back needed up to 10 s \
              to notice, and reports of records that timed out meanwhile came 3 s late; at 1000 it \
              took 0.9 s and reports were on time.",
    },
    Changed {
        name: "client.software.name",
        value: "kafkabi",
        why: "Brokers list their clients by software (KIP-511).",
    },
    Changed {
        name: "client.software.version",
        value: env!("CARGO_PKG_VERSION"),
        why: "Brokers list their clients by software (KIP-511).",
    },
    #[cfg(feature = "portable")]
    Changed {
        name: CA_LOCATION,
        value: "probe",
        why: "The OpenSSL inside this library does not know where the system keeps its certificates. \
              Left alone when ssl.ca.pem is set, or SSL_CERT_FILE or SSL_CERT_DIR in the environment, \
              which OpenSSL reads.",
    },
];

/// Whether the environment tells OpenSSL where certificates of authorities are.
pub(super) fn environment_names_authorities() -> bool {
    ["SSL_CERT_FILE", "SSL_CERT_DIR"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// A property that programs can't set because kafkabi depends on its value.
pub(super) struct Managed {
    pub name: &'static str,
    /// The value in force, if it is always the same.
    pub value: Option<&'static str>,
    pub why: &'static str,
}

const HANDLER: &str = "use kabi_config_handler() or drain the events";
const NOT_OFFERED: &str = "it takes a C function of librdkafka's, which kafkabi does not offer";

const fn managed(name: &'static str, value: Option<&'static str>, why: &'static str) -> Managed {
    Managed { name, value, why }
}

pub(super) const MANAGED: &[Managed] = &[
    managed(
        "enable.auto.offset.store",
        Some("false"),
        "kafkabi stores an offset when its record was handled; kafkabi.handled says when that is",
    ),
    managed(
        "delivery.report.only.error",
        None,
        "each accepted record gets its report; to have none, leave KABI_EVENT_REPORT out of the mask \
         of kabi_config_events(), and kabi_producer_flush() counts the failures",
    ),
    managed("log.queue", None, "use kabi_config_events() with KABI_EVENT_LOG"),
    managed(
        "test.mock.num.brokers",
        None,
        "use kabi_cluster_new(), whose cluster other clients can reach as well",
    ),
    managed("test.mock.broker.rtt", None, "use kabi_cluster_latency()"),
    managed("error_cb", None, HANDLER),
    managed("stats_cb", None, HANDLER),
    managed("log_cb", None, HANDLER),
    managed("dr_cb", None, HANDLER),
    managed("dr_msg_cb", None, HANDLER),
    managed("background_event_cb", None, HANDLER),
    managed("opaque", None, "use the user pointer of kabi_config_handler()"),
    managed("rebalance_cb", None, "kabi_consumer_poll() applies changes of the assignment"),
    managed("offset_commit_cb", None, "use kabi_consumer_commit(), which tells the outcome"),
    managed("consume_cb", None, "use kabi_consumer_poll()"),
    managed("default_topic_conf", None, "set the topic's properties by their names in this config"),
    managed(
        "partitioner_cb",
        None,
        "set the property partitioner, or give the partition with each record",
    ),
    managed("ssl_key", None, "use ssl.key.pem"),
    managed("ssl_certificate", None, "use ssl.certificate.pem"),
    managed("ssl_ca", None, "use ssl.ca.pem"),
    managed("throttle_cb", None, HANDLER),
    managed("socket_cb", None, NOT_OFFERED),
    managed("connect_cb", None, NOT_OFFERED),
    managed("closesocket_cb", None, NOT_OFFERED),
    managed("open_cb", None, NOT_OFFERED),
    managed("resolve_cb", None, NOT_OFFERED),
    managed("ssl_engine_callback_data", None, NOT_OFFERED),
    managed("ssl.certificate.verify_cb", None, NOT_OFFERED),
    managed("oauthbearer_token_refresh_cb", None, HANDLER),
    managed("interceptors", None, "use plugin.library.paths"),
    managed("msg_order_cmp", None, NOT_OFFERED),
];

/// Why a property with a pointer for a value is refused that a newer librdkafka may bring.
pub(super) const POINTER: &str = NOT_OFFERED;

/// The properties that librdkafka's rdkafka_conf.c marks _RK_SENSITIVE.
const SECRETS: &[&str] = &[
    "ssl.key.location",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl_key",
    "ssl.ca.pem",
    "ssl.keystore.password",
    "sasl.username",
    "sasl.password",
    "sasl.oauthbearer.config",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.assertion.private.key.file",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.assertion.private.key.pem",
];

/// Whether a value must never be shown. Names that librdkafka does not mark but that read like a secret
/// (a plug-in's, or a later librdkafka's) are taken for one.
pub(super) fn is_secret(canonical: &str) -> bool {
    SECRETS.contains(&canonical)
        || ["password", "passphrase", "secret", "private.key"]
            .iter()
            .any(|w| canonical.contains(w))
}

/// Properties that librdkafka takes but does not list.
pub(super) struct Hidden {
    pub name: &'static str,
    pub kind: Kind,
    pub default: &'static str,
    pub importance: Importance,
    pub text: &'static str,
}

pub(super) const HIDDEN: &[Hidden] = &[
    Hidden {
        name: "client.software.name",
        kind: Kind::String,
        default: "librdkafka",
        importance: Importance::Low,
        text: "Client software name as reported to brokers of version 2.4.0 or newer. Characters \
               other than a-zA-Z0-9.- are replaced by -.",
    },
    Hidden {
        name: "client.software.version",
        kind: Kind::String,
        default: "",
        importance: Importance::Low,
        text:
            "Client software version as reported to brokers of version 2.4.0 or newer. Characters \
               other than a-zA-Z0-9.- are replaced by -.",
    },
    Hidden {
        name: "enable.sparse.connections",
        kind: Kind::Boolean,
        default: "true",
        importance: Importance::Medium,
        text: "Whether to connect only to the brokers that are needed.",
    },
    Hidden {
        name: "test.mock.num.brokers",
        kind: Kind::Integer,
        default: "0",
        importance: Importance::Low,
        text: "Number of mock brokers inside the client.",
    },
    Hidden {
        name: "test.mock.broker.rtt",
        kind: Kind::Integer,
        default: "0",
        importance: Importance::Low,
        text: "Latency of the mock brokers inside the client, in milliseconds.",
    },
];
