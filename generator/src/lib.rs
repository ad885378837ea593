//! Reads the exports, records and constants of kafkabi's sources through cbindgen's IR, refuses
//! what may not cross a C boundary, and writes all that is generated from them.
//!
//! `source` parses, `doc` reads doc comments and their tags, `resolve` checks and turns the IR into
//! the `model`, `layout` computes C layouts. Each emitter is a file that turns the model into
//! text: `header`, `java`, `json`, `lisp`, `statuses`.

mod constant;
mod doc;
mod header;
mod java;
mod json;
mod layout;
mod lisp;
mod model;
mod resolve;
mod source;
mod statuses;
mod types;

use std::fs;
use std::path::{Path, PathBuf};

/// The command that regenerates everything, as generated files name it.
pub const COMMAND: &str = "cargo run --release -p kafkabi-generator";

/// A generated file: its path in the repository and its whole text.
pub struct Output {
    pub path: &'static str,
    pub text: String,
}

/// The repository that this generator was built in.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Generates every file in memory, or lists what is wrong with the sources.
pub fn generate(root: &Path) -> Result<Vec<Output>, Vec<String>> {
    let mut units = source::load(root)?;
    let model = resolve::model(&units)?;
    let mut outputs = vec![
        Output {
            path: "include/kafkabi.h",
            text: header::emit(&mut units, &model),
        },
        Output {
            path: "api/kafkabi.json",
            text: json::emit(&model),
        },
        Output {
            path: "src/status/table.rs",
            text: statuses::emit(&model),
        },
    ];
    outputs.extend(lisp::emit(&model)?);
    outputs.extend(java::emit(&model));
    Ok(outputs)
}

/// Writes the files that are not up to date and returns their paths.
pub fn write(root: &Path) -> Result<Vec<&'static str>, Vec<String>> {
    let mut written = Vec::new();
    for output in generate(root)?
        .iter()
        .filter(|output| is_stale(root, output))
    {
        let path = root.join(output.path);
        let folder = path.parent().unwrap_or(root);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, &output.text))
            .map_err(|error| vec![format!("{}: {error}", output.path)])?;
        written.push(output.path);
    }
    Ok(written)
}

/// The paths of the files that are missing or differ from what would be generated now.
pub fn stale(root: &Path) -> Result<Vec<&'static str>, Vec<String>> {
    let outputs = generate(root)?;
    Ok(outputs
        .iter()
        .filter(|output| is_stale(root, output))
        .map(|output| output.path)
        .collect())
}

fn is_stale(root: &Path, output: &Output) -> bool {
    fs::read_to_string(root.join(output.path)).map_or(true, |text| text != output.text)
}
