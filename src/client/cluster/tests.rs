//! What the embedded cluster checks, that its faults arrive at clients, and how fast its calls return.

use super::*;
use crate::client::config::Config;
use crate::rd::client::{Client, Hooks, Kind};
use crate::rd::partitions::PartitionList;
use crate::rd::produce::{OutMessage, Staging};
use crate::rd::queue::{EventKind, Queue};
use crate::rd::topic::Topic;
use crate::record::KABI_BROKER_ALL;
use crate::record::KABI_REQUEST_PRODUCE;
use crate::status::{KABI_STATUS_ARGUMENT, KABI_STATUS_MSG_TIMED_OUT, KABI_STATUS_TRANSPORT};
use std::sync::Arc;

const TOPIC_ALREADY_EXISTS: i32 = 36;

fn argument(result: Result<()>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.code, KABI_STATUS_ARGUMENT, "{error:?}");
    error.message
}

#[test]
fn arguments_are_checked() {
    for brokers in [i32::MIN, -1, 0, BROKERS_MAX + 1] {
        assert_eq!(
            Cluster::new(brokers).err().unwrap().code,
            KABI_STATUS_ARGUMENT
        );
    }
    let c = Cluster::new(3).unwrap();
    assert_eq!(c.bootstrap().split(',').count(), 3);
    for name in [
        "",
        ".",
        "..",
        "a b",
        "a/b",
        "é",
        "a\0",
        "a\n",
        &"x".repeat(250),
    ] {
        argument(c.create_topic(name, 1, 1));
    }
    c.create_topic(&"x".repeat(249), 1, 1).unwrap();
    c.create_topic("A.z_0-9", 1, 3).unwrap();
    for (partitions, replication) in [(0, 1), (-1, 1), (PARTITIONS_MAX + 1, 1), (1, 0), (1, 4)] {
        argument(c.create_topic("t", partitions, replication));
    }
    c.create_topic("t", 6, 2).unwrap();
    let again = c.create_topic("t", 6, 2).unwrap_err();
    assert_eq!(again.code, TOPIC_ALREADY_EXISTS);
    assert!(again.message.contains("\"t\""), "{again:?}");
    for broker in [i32::MIN, -2, 0, 4] {
        assert!(argument(c.broker_down(broker)).contains(&broker.to_string()));
        argument(c.broker_up(broker));
        argument(c.latency(broker, 1));
    }
    argument(c.latency(1, -1));
    argument(c.latency(1, LATENCY_MAX_MS + 1));
    for request in [-1, 4, 1000, i32::MAX] {
        argument(c.inject_errors(request, 6, 1));
    }
    for code in [-1001, -192, 30_000, i32::MIN] {
        argument(c.inject_errors(KABI_REQUEST_PRODUCE, code, 1));
    }
    argument(c.inject_errors(KABI_REQUEST_PRODUCE, 6, 0));
    argument(c.inject_errors(KABI_REQUEST_PRODUCE, 6, ERRORS_MAX + 1));
}

/// Freeing joins threads, but none of them sleeps.
#[test]
fn freeing_is_quick() {
    let mut slowest = [Duration::ZERO; 2];
    for _ in 0..20 {
        let began = Instant::now();
        let c = Cluster::new(3).unwrap();
        slowest[0] = slowest[0].max(began.elapsed());
        let began = Instant::now();
        drop(c);
        slowest[1] = slowest[1].max(began.elapsed());
    }
    eprintln!(
        "slowest of 20 clusters of 3: start {:?}, free {:?}",
        slowest[0], slowest[1]
    );
    assert!(slowest[1] < Duration::from_secs(3), "{slowest:?}");
}

#[test]
fn the_largest_cluster_starts() {
    let c = Cluster::new(BROKERS_MAX).unwrap();
    c.create_topic("t", 10, BROKERS_MAX).unwrap();
    c.broker_down(KABI_BROKER_ALL).unwrap();
    c.broker_up(KABI_BROKER_ALL).unwrap();
}

#[test]
fn calls_from_many_threads_return_at_once() {
    let c = Arc::new(Cluster::new(3).unwrap());
    let began = Instant::now();
    let threads: Vec<_> = (0..4)
        .map(|t| {
            let c = Arc::clone(&c);
            std::thread::spawn(move || {
                for i in 0..25 {
                    c.create_topic(&format!("t{t}-{i}"), 2, 1).unwrap();
                    c.latency(KABI_BROKER_ALL, 0).unwrap();
                    c.broker_down(t % 3 + 1).unwrap();
                    c.broker_up(t % 3 + 1).unwrap();
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let took = began.elapsed();
    eprintln!("400 calls from 4 threads: {took:?}");
    assert!(took < Duration::from_secs(5), "{took:?}");
    let began = Instant::now();
    drop(c);
    eprintln!("freeing an idle cluster: {:?}", began.elapsed());
    assert!(began.elapsed() < Duration::from_secs(2));
}

fn client(kind: Kind, cluster: &Cluster, properties: &[(&str, &str)]) -> (Arc<Client>, Queue) {
    let mut config = Config::new();
    config
        .set("bootstrap.servers", cluster.bootstrap())
        .unwrap();
    config.set("kafkabi.log", "off").unwrap();
    for (name, value) in properties {
        config.set(name, value).unwrap();
    }
    let (conf, settings) = config.build(kind).unwrap();
    let client = Client::new(kind, conf, settings.events, Hooks::default()).unwrap();
    let queue = client.main_queue().unwrap();
    (client, queue)
}

/// Sends a record and waits for its report's code.
fn send(queue: &Queue, topic: &Topic) -> i32 {
    let message = OutMessage {
        partition: 0,
        key: None,
        value: Some(b"v"),
        timestamp: 0,
        token: 0,
    };
    Staging::default()
        .send(topic, &message, std::iter::empty())
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        let Some(mut event) = queue.poll(Some(Duration::from_millis(100))) else {
            continue;
        };
        let mut code = None;
        if event.kind() == EventKind::Reports {
            event.for_each_message(|m| code = Some(m.code()));
        }
        if let Some(code) = code {
            return code;
        }
    }
    panic!("no report");
}

#[test]
fn faults_reach_clients() {
    let c = Cluster::new(1).unwrap();
    c.create_topic("t", 1, 1).unwrap();
    let properties = [
        ("message.timeout.ms", "1500"),
        ("enable.idempotence", "false"),
        // While a client waits to reconnect it times no record out either: 10 s by default.
        ("reconnect.backoff.max.ms", "200"),
    ];
    let (client, queue) = client(Kind::Producer, &c, &properties);
    let topic = Topic::new(&client, "t").unwrap();
    assert_eq!(send(&queue, &topic), 0);

    c.inject_errors(KABI_REQUEST_PRODUCE, 10, 2).unwrap();
    assert_eq!(send(&queue, &topic), 10);
    assert_eq!(send(&queue, &topic), 10);
    assert_eq!(send(&queue, &topic), 0, "no more than were asked for");
    c.inject_errors(KABI_REQUEST_PRODUCE, KABI_STATUS_TRANSPORT, 1)
        .unwrap();
    assert_eq!(send(&queue, &topic), 0, "retried on a new connection");

    c.latency(KABI_BROKER_ALL, 300).unwrap();
    let began = Instant::now();
    assert_eq!(send(&queue, &topic), 0);
    assert!(
        began.elapsed() >= Duration::from_millis(300),
        "{:?}",
        began.elapsed()
    );
    c.latency(1, 0).unwrap();

    c.broker_down(1).unwrap();
    assert_eq!(send(&queue, &topic), KABI_STATUS_MSG_TIMED_OUT);
    c.broker_up(1).unwrap();
    assert_eq!(
        send(&queue, &topic),
        0,
        "back within reconnect.backoff.max.ms"
    );
    let began = Instant::now();
    drop(c);
    eprintln!(
        "freeing a cluster with a client connected: {:?}",
        began.elapsed()
    );
}

#[test]
fn a_group_of_one_starts_soon() {
    let c = Cluster::new(1).unwrap();
    c.create_topic("t", 1, 1).unwrap();
    let (client, _queue) = client(Kind::Consumer, &c, &[("group.id", "g")]);
    let queue = client.consumer_queue().unwrap();
    let mut topics = PartitionList::new(1).unwrap();
    topics.add("t", -1).unwrap();
    let began = Instant::now();
    client.subscribe(&topics).unwrap();
    while client.assignment().unwrap().is_empty() {
        drop(queue.poll(Some(Duration::from_millis(10))));
        assert!(began.elapsed() < Duration::from_secs(10));
    }
    eprintln!("from subscribe to the assignment: {:?}", began.elapsed());
}
