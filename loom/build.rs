//! Sets `cfg(loom)` for this crate alone, so that nothing else (librdkafka least of all) is built
//! anew.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(loom)");
    println!("cargo::rustc-cfg=loom");
    println!("cargo::rerun-if-changed=build.rs");
}
