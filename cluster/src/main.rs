//! `kafkabi-cluster`: starts the embedded cluster, says where it is, and keeps it until somebody wants it
//! gone: the end of standard input (the parent is gone, or closed the pipe) or a signal.

mod topic;

use clap::Parser;
use kafkabi::client::cluster::{Cluster, BROKERS_MAX};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::mpsc::{channel, Receiver, Sender};
use topic::Topic;

const EXAMPLES: &str = "\
Examples:
  kafkabi-cluster --topic orders:6
      one broker, the topic \"orders\" of 6 partitions; ends with Ctrl-C or Ctrl-D
  kafkabi-cluster --brokers 3 --topic orders:6:2 --topic audit:1 --json
      three brokers, \"orders\" with two copies of each partition; says it in JSON
  kafkabi-cluster --no-stdin > address &
      in the background of a script: ends with `kill`

What it prints, one line, once clients can connect:
  bootstrap.servers=127.0.0.1:40103,127.0.0.1:45211
or with --json:
  {\"bootstrap_servers\":\"...\",\"brokers\":3,\"pid\":4711,
   \"topics\":[{\"name\":\"orders\",\"partitions\":6,\"replication\":2}]}

Records are kept in memory and are gone when it ends. Transactions are not carried out.

Exit status: 0 ended as asked, 1 it could not start or say so, 2 wrong arguments.";

/// Starts an embedded Kafka cluster on free ports of 127.0.0.1, for shells, REPLs and tests.
#[derive(Parser)]
#[command(version, after_help = EXAMPLES)]
struct Arguments {
    /// How many brokers, 1 to 100. Their ids are 1, 2, ...
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(i32).range(1..=i64::from(BROKERS_MAX)))]
    brokers: i32,

    /// A topic to make; may be repeated. Without partitions it has 1; without a replication, up to 3
    /// copies, as there are brokers.
    #[arg(long = "topic", value_name = "NAME[:PARTITIONS[:REPLICATION]]")]
    topics: Vec<Topic>,

    /// Print one JSON object instead of a line for people.
    #[arg(long)]
    json: bool,

    /// Don't end at the end of standard input, only by a signal.
    #[arg(long)]
    no_stdin: bool,
}

/// Why it ends.
enum End {
    Signal,
    Stdin,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("kafkabi-cluster: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    // Before the address is out: who reads it may send a signal at once.
    let ends = watch(arguments)?;
    let cluster = Cluster::new(arguments.brokers).map_err(|e| e.message)?;
    for topic in &arguments.topics {
        cluster
            .create_topic(
                &topic.name,
                topic.partitions,
                topic.replication(arguments.brokers),
            )
            .map_err(|e| e.message)?;
    }
    say(&announcement(&cluster, arguments))?;
    // The senders are never all gone: the one for signals stays.
    if let Ok(End::Stdin) = ends.recv() {
        eprintln!("kafkabi-cluster: standard input ended (--no-stdin goes on without it)");
    }
    Ok(())
}

fn announcement(cluster: &Cluster, arguments: &Arguments) -> String {
    if !arguments.json {
        return format!("bootstrap.servers={}", cluster.bootstrap());
    }
    let topics: Vec<_> = arguments
        .topics
        .iter()
        .map(|topic| {
            json!({
                "name": topic.name,
                "partitions": topic.partitions,
                "replication": topic.replication(arguments.brokers),
            })
        })
        .collect();
    json!({
        "bootstrap_servers": cluster.bootstrap(),
        "brokers": arguments.brokers,
        "pid": std::process::id(),
        "topics": topics,
    })
    .to_string()
}

fn say(line: &str) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")
        .and_then(|()| out.flush())
        .map_err(|e| format!("standard output: {e}"))
}

fn watch(arguments: &Arguments) -> Result<Receiver<End>, String> {
    let (sender, ends) = channel();
    let mut signals =
        Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(|e| format!("watching signals: {e}"))?;
    let told = sender.clone();
    spawn("signals", move || {
        for _ in signals.forever() {
            let _ = told.send(End::Signal);
        }
    })?;
    if !arguments.no_stdin {
        spawn("stdin", move || wait_for_stdin(&sender))?;
    }
    Ok(ends)
}

fn wait_for_stdin(sender: &Sender<End>) {
    let mut ignored = [0; 4096];
    let mut stdin = std::io::stdin().lock();
    loop {
        match stdin.read(&mut ignored) {
            Ok(0) => break,
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    let _ = sender.send(End::Stdin);
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), String> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(body)
        .map(drop)
        .map_err(|e| format!("starting a thread: {e}"))
}
