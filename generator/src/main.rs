//! `cargo run --release -p kafkabi-generator` writes every generated file of the repository;
//! with `--check` it writes nothing, names each file that is stale and exits with 1.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let check = match arguments.as_slice() {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => {
            eprintln!("usage: kafkabi-generator [--check]");
            return ExitCode::from(2);
        }
    };
    let root = kafkabi_generator::repository();
    match if check {
        check_files(&root)
    } else {
        write_files(&root)
    } {
        Ok(code) => code,
        Err(problems) => {
            for problem in &problems {
                eprintln!("error: {problem}");
            }
            ExitCode::FAILURE
        }
    }
}

fn write_files(root: &Path) -> Result<ExitCode, Vec<String>> {
    for path in kafkabi_generator::write(root)? {
        println!("wrote {path}");
    }
    Ok(ExitCode::SUCCESS)
}

fn check_files(root: &Path) -> Result<ExitCode, Vec<String>> {
    let stale = kafkabi_generator::stale(root)?;
    for path in &stale {
        eprintln!("stale: {path}; run {}", kafkabi_generator::COMMAND);
    }
    Ok(if stale.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
