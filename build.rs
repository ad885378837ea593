//! Link arguments of the shared library, and its files of C. librdkafka is built by the crate rdkafka-sys.

use std::path::Path;
use std::{env, fs};

/// The file that holds the ABI's version; the soname's number is read from it.
const VERSION_SOURCE: &str = "src/record/library.rs";

/// What librdkafka's public header does not tell or let mend or do at once, by its internal ones.
const INSIDE_SOURCES: [&str; 5] = [
    "src/rd/inside.c",
    "src/rd/run.c",
    "src/rd/blocks.c",
    "src/rd/fetch.c",
    "src/rd/take.c",
];

/// Functions of librdkafka's that are reached through ours; these files say why, scripts/install tells who links statically.
const WRAPPED: [&str; 8] = [
    "rd_kafka_ListOffsetsRequest",
    "rd_kafka_dr_msgq0",
    "rd_kafka_msg_destroy",
    "rd_kafka_msgset_parse",
    "rd_kafka_msgq_allow_wakeup_at",
    "rd_kafka_offset_reset",
    "rd_kafka_toppar_broker_delegate",
    "rd_kafka_topic_partition_list_query_leaders_async",
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={VERSION_SOURCE}");
    println!("cargo:rerun-if-changed=src/rd/blocks.h");
    println!("cargo:rerun-if-changed=src/rd/fetch.h");
    for source in INSIDE_SOURCES {
        println!("cargo:rerun-if-changed={source}");
    }
    compile_inside();
    let target = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if target == "linux" {
        // The soname carries the ABI's major number, so that two majors can be installed side by
        // side. nodelete: threads and atfork handlers of ours must not outlive their code.
        println!(
            "cargo:rustc-cdylib-link-arg=-Wl,-soname,libkafkabi.so.{}",
            abi_major()
        );
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete,-z,relro,-z,now");
        for function in WRAPPED {
            println!("cargo:rustc-link-arg=-Wl,--wrap={function}");
        }
    }
}

/// Compiled against the very sources, with the very config.h, that librdkafka itself is built from.
fn compile_inside() {
    let root = env::var("DEP_RDKAFKA_ROOT").expect("rdkafka-sys tells where it builds librdkafka");
    let sources = Path::new(&root).join("src");
    cc::Build::new()
        .files(INSIDE_SOURCES)
        .include(sources)
        .opt_level(2)
        .warnings(false) // of librdkafka's headers
        .compile("kafkabi_inside");
}

/// Reads the major number out of `KABI_ABI_VERSION: u32 = 0xMMMM_mmmm`.
fn abi_major() -> u32 {
    let source = fs::read_to_string(VERSION_SOURCE).expect("read the ABI's version");
    let digits = source
        .split_once("pub const KABI_ABI_VERSION: u32 = 0x")
        .and_then(|(_, rest)| rest.split_once(';'))
        .map(|(digits, _)| digits.replace('_', ""))
        .expect("KABI_ABI_VERSION as a hexadecimal literal");
    u32::from_str_radix(&digits, 16).expect("a hexadecimal number") >> 16
}
