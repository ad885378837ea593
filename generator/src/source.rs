//! Finds the source files that make up the C interface and parses each with cbindgen.
//!
//! Files are parsed one by one, so that the header can be written in sections. cbindgen leaves
//! out silently what it can't express, hence every name that the text declares is collected too
//! and must turn up in the IR.

use cbindgen::bindgen::ir::ItemContainer;
use cbindgen::{Bindings, Builder, Config};
use std::fs;
use std::path::{Path, PathBuf};

/// The order of the header's sections; a file that is not named here comes after, by name.
const ORDER: &[&str] = &[
    "record/library",
    "status/own",
    "status/local",
    "status/broker",
    "record/error",
    "record/handle",
    "record/event",
    "record/message",
    "record/partition",
    "record/batch",
    "record/request",
    "abi/library",
    "abi/config",
    "abi/producer",
    "abi/consumer",
    "abi/batch",
    "abi/cluster",
    "abi/cluster_faults",
    "abi/cluster_placement",
    "abi/cluster_contents",
];

/// One source file with what cbindgen found in it.
pub struct Unit {
    /// The path below src/ without the extension, such as "abi/producer".
    pub name: String,
    pub text: String,
    pub bindings: Bindings,
}

/// Parses every file of the interface below `root`.
pub fn load(root: &Path) -> Result<Vec<Unit>, Vec<String>> {
    let config = Config::from_file(root.join("cbindgen.toml")).map_err(|error| vec![error])?;
    let mut names = Vec::new();
    for folder in ["record", "status", "abi"] {
        collect(&root.join("src"), folder, &mut names).map_err(|error| vec![error])?;
    }
    names.sort_by_key(|name| (rank(name), name.clone()));
    let mut units = Vec::new();
    let mut problems = Vec::new();
    for name in names {
        match parse(root, &name, &config) {
            Ok(unit) => {
                problems.extend(missing(&unit));
                problems.extend(optional_references(&unit));
                units.push(unit);
            }
            Err(error) => problems.push(error),
        }
    }
    if problems.is_empty() {
        Ok(units)
    } else {
        Err(problems)
    }
}

fn rank(name: &str) -> usize {
    let is_part_of = |section: &&str| name == *section || name.starts_with(&format!("{section}/"));
    ORDER.iter().position(is_part_of).unwrap_or(ORDER.len())
}

/// Adds the names of the Rust files in `src/folder` and below. Module roots (mod.rs) hold modules
/// that cbindgen would follow a second time, so they may declare nothing and are left out.
fn collect(src: &Path, folder: &str, names: &mut Vec<String>) -> Result<(), String> {
    let Ok(entries) = fs::read_dir(src.join(folder)) else {
        return Ok(());
    };
    for entry in entries {
        let path: PathBuf = entry
            .map_err(|error| format!("src/{folder}: {error}"))?
            .path();
        let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else {
            continue;
        };
        let name = format!("{folder}/{stem}");
        if path.is_dir() {
            collect(src, &name, names)?;
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !["mod", "tests", "table"].contains(&stem)
        {
            names.push(name);
        }
    }
    Ok(())
}

fn parse(root: &Path, name: &str, config: &Config) -> Result<Unit, String> {
    let path = root.join("src").join(format!("{name}.rs"));
    let text = fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
    let mut config = config.clone();
    // cbindgen writes only the types that a function mentions, unless they are named here.
    config.export.include = declared(&text)
        .filter(|name| name.starts_with("kabi_"))
        .collect();
    let bindings = Builder::new()
        .with_config(config)
        .with_src(&path)
        .generate()
        .map_err(|error| format!("{name}: {error}"))?;
    let mut unit = Unit {
        name: name.to_owned(),
        text,
        bindings,
    };
    unit.bindings
        .constants
        .retain(|constant| constant.export_name.starts_with("KABI_"));
    unit.bindings
        .items
        .retain(|item| item.deref().export_name().starts_with("kabi_"));
    Ok(unit)
}

/// The names of the interface that a source text declares, whatever cbindgen makes of them.
fn declared(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| {
            [
                "pub const ",
                "pub struct ",
                "pub type ",
                "pub enum ",
                "pub union ",
                "fn ",
            ]
            .into_iter()
            .filter_map(move |keyword| line.split_once(keyword))
            .map(|(_, rest)| rest)
            .map(|rest| {
                rest.chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect()
            })
            .filter(|name: &String| name.starts_with("kabi_") || name.starts_with("KABI_"))
        })
}

/// What the text declares and cbindgen left out.
fn missing(unit: &Unit) -> Vec<String> {
    let mut found: Vec<&str> = unit
        .bindings
        .functions
        .iter()
        .map(|f| f.path.name())
        .collect();
    found.extend(
        unit.bindings
            .constants
            .iter()
            .map(|constant| constant.export_name.as_str()),
    );
    found.extend(
        unit.bindings
            .items
            .iter()
            .map(|item: &ItemContainer| item.deref().export_name()),
    );
    declared(&unit.text)
        .filter(|name| !found.contains(&name.as_str()))
        .map(|name| {
            format!(
                "{}: {name} can't be understood. A function must be #[no_mangle] pub extern \"C\" \
                 and written out (no macro); a constant must be a literal or made of constants.",
                unit.name
            )
        })
        .collect()
}

/// Exports that take an Option: cbindgen shows a reference in it as a plain pointer, yet one that
/// is not aligned or not valid would be undefined behaviour before the export could check it.
fn optional_references(unit: &Unit) -> Vec<String> {
    let signature = |name: &str| {
        let (_, rest) = unit.text.split_once(&format!("fn {name}("))?;
        rest.split_once('{').map(|(signature, _)| signature)
    };
    unit.bindings
        .functions
        .iter()
        .map(|function| function.path.name())
        .filter(|name| signature(name).is_some_and(|signature| signature.contains("Option<")))
        .map(|name| {
            format!(
                "{}: {name}: an Option may not cross: take a raw pointer",
                unit.name
            )
        })
        .collect()
}
