//! Chores that are not part of a build: `cargo run -p xtask -- proto [--check]`.
#![expect(clippy::print_stderr, clippy::print_stdout, reason = "a program")]

mod api;
mod differences;
mod grammar;
mod graph;
mod proto;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

/// Chores of the project.
#[derive(Parser)]
enum Task {
    /// Writes docs/api.txt: the public interface of the library
    Api {
        /// Only say whether the file is as it would be written
        #[arg(long)]
        check: bool,
    },
    /// Writes docs/differences.md: where a model may give other numbers than PyTorch
    Differences {
        /// Only say whether the file is as it would be written
        #[arg(long)]
        check: bool,
    },
    /// Writes the parser of the rule language from codegen/opmap/src/syntax/grammar.pest.
    Grammar {
        /// Only say whether the file is as it would be written.
        #[arg(long)]
        check: bool,
    },
    /// Writes the diagram of docs/architecture.md: which modules import which
    Layers {
        /// Only say whether the file is as it would be written
        #[arg(long)]
        check: bool,
    },
    /// Writes src/onnx/src/proto.rs from mappings/schemas/onnx.proto.
    Proto {
        /// Only say whether the file is as it would be written.
        #[arg(long)]
        check: bool,
    },
}

fn main() -> ExitCode {
    let done = match Task::parse() {
        Task::Api { check } => generated(api::TARGET, api::generate, "api", check),
        Task::Differences { check } => generated(differences::TARGET, differences::generate, "differences", check),
        Task::Grammar { check } => generated(grammar::TARGET, grammar::generate, "grammar", check),
        Task::Layers { check } => generated(graph::TARGET, graph::generate, "layers", check),
        Task::Proto { check } => generated(proto::TARGET, proto::generate, "proto", check),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Makes the text of a generated file.
type Generate = fn(&Path) -> Result<String, Box<dyn Error>>;

/// Writes a generated file, or with `check` compares it.
fn generated(target: &str, generate: Generate, command: &str, check: bool) -> Result<(), Box<dyn Error>> {
    let root = root()?;
    let wanted = generate(root)?;
    let path = root.join(target);
    let found = fs::read_to_string(&path).unwrap_or_default();
    if found == wanted {
        return Ok(());
    }
    if check {
        return Err(format!("{target} is stale; run `cargo run -p xtask -- {command}`").into());
    }
    fs::write(&path, wanted)?;
    println!("wrote {target}");
    Ok(())
}

/// The root of the workspace.
fn root() -> Result<&'static Path, Box<dyn Error>> {
    Ok(Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the workspace has no root")?)
}
