//! The command as others use it: what it prints, that clients reach it, and how it ends.

use kafkabi::client::config::Config;
use kafkabi::client::consumer::{Consumer, Partition};
use kafkabi::client::producer::{Producer, Record};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

/// Ends with the test, whatever happens in it.
struct Running {
    child: Child,
    line: String,
}

impl Running {
    fn start(arguments: &[&str], stdin: Stdio) -> Running {
        let mut child = command()
            .args(arguments)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        Running { child, line }
    }

    fn signal(&self, number: i32) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill")
            .args([&format!("-{number}"), &pid])
            .status()
            .unwrap();
        assert!(status.success());
    }

    fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn stderr(&mut self) -> String {
        let mut text = String::new();
        let stderr = self.child.stderr.as_mut().unwrap();
        stderr.read_to_string(&mut text).unwrap();
        text
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_kafkabi-cluster"))
}

fn config(servers: &str) -> Config {
    let mut config = Config::new();
    config.set("bootstrap.servers", servers).unwrap();
    config
}

/// Sends a record to the last partition and reads it back.
fn round_trip(servers: &str, topic: &str, partition: i32) {
    let producer = Producer::new(&config(servers)).unwrap();
    let record = Record {
        topic: producer.topic(topic).unwrap(),
        partition,
        key: None,
        value: Some(b"through another process"),
        timestamp: 0,
        token: 7,
    };
    producer
        .send(&record, std::iter::empty(), Some(PATIENCE))
        .unwrap();
    assert_eq!(producer.flush(Some(PATIENCE), 30_000).unwrap(), 0);
    producer.abandon();

    let consumer = Consumer::new(&config(servers), None).unwrap();
    let place = Partition {
        key: (consumer.topic(topic).unwrap(), partition),
        offset: kafkabi::record::KABI_OFFSET_BEGINNING,
        leader_epoch: -1,
        metadata: None,
    };
    consumer.assign(&[place]).unwrap();
    let batch = consumer
        .poll(10, Some(PATIENCE), || Ok(()))
        .unwrap()
        .expect("a record");
    assert_eq!(batch.views().len(), 1);
    assert_eq!(
        (batch.views()[0].code, batch.views()[0].partition),
        (0, partition)
    );
    drop(batch);
    consumer.abandon();
}

#[test]
fn a_line_for_people_and_the_end_of_stdin() {
    let mut running = Running::start(&["--topic", "orders:6"], Stdio::piped());
    let servers = running
        .line
        .trim_end()
        .strip_prefix("bootstrap.servers=")
        .unwrap()
        .to_owned();
    round_trip(&servers, "orders", 5);
    assert!(running.child.try_wait().unwrap().is_none());
    drop(running.child.stdin.take());
    assert_eq!(running.wait().code(), Some(0));
    assert!(running.stderr().contains("--no-stdin"));
}

#[test]
fn json_and_signals() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        let arguments = [
            "--brokers",
            "3",
            "--topic",
            "orders:6",
            "--topic",
            "audit:2:1",
            "--json",
        ];
        let mut running = Running::start(&arguments, Stdio::piped());
        let said: Value = serde_json::from_str(&running.line).unwrap();
        assert_eq!(said["brokers"], 3);
        assert_eq!(said["pid"], running.child.id());
        let orders = serde_json::json!({"name": "orders", "partitions": 6, "replication": 3});
        let audit = serde_json::json!({"name": "audit", "partitions": 2, "replication": 1});
        assert_eq!(said["topics"], serde_json::json!([orders, audit]));
        let servers = said["bootstrap_servers"].as_str().unwrap();
        assert_eq!(servers.split(',').count(), 3);
        if signal == libc::SIGTERM {
            round_trip(servers, "audit", 1);
        }
        running.signal(signal);
        assert_eq!(running.wait().code(), Some(0), "signal {signal}");
        assert_eq!(running.stderr(), "");
    }
}

#[test]
fn without_stdin_only_a_signal_ends_it() {
    let mut running = Running::start(&["--no-stdin"], Stdio::null());
    let servers = running
        .line
        .trim_end()
        .strip_prefix("bootstrap.servers=")
        .unwrap()
        .to_owned();
    round_trip(&servers, "made-by-asking", 0);
    assert!(running.child.try_wait().unwrap().is_none());
    running.signal(libc::SIGTERM);
    assert_eq!(running.wait().code(), Some(0));
}

#[test]
fn an_empty_stdin_ends_it_with_a_hint() {
    let mut running = Running::start(&[], Stdio::null());
    assert_eq!(running.wait().code(), Some(0));
    assert!(running.stderr().contains("--no-stdin"));
}

#[test]
fn wrong_arguments() {
    for arguments in [
        &["--brokers", "0"][..],
        &["--brokers", "101"],
        &["--brokers", "x"],
        &["--topic", ""],
        &["--topic", "a:0"],
        &["--port", "9092"],
        &["extra"],
    ] {
        let output = command()
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
    // What only the cluster itself can refuse.
    for arguments in [
        &["--topic", "a b"][..],
        &["--topic", "a:1:2"],
        &["--topic", "a", "--topic", "a"],
    ] {
        let output = command()
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(output.stdout.is_empty());
        assert!(output.stderr.starts_with(b"kafkabi-cluster: "));
    }
}

#[test]
fn help_has_examples() {
    let output = command().arg("--help").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "--brokers",
        "--topic",
        "--json",
        "--no-stdin",
        "Examples:",
        "Exit status",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn a_closed_output_is_an_error() {
    let (reader, writer) = std::os::unix::net::UnixStream::pair().unwrap();
    drop(reader);
    let output = command()
        .stdin(Stdio::piped())
        .stdout(std::os::fd::OwnedFd::from(writer))
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
}
