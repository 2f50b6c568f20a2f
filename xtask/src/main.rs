//! Chores that are not part of a build: `cargo run -p xtask -- proto [--check]`.

mod proto;

use std::process::ExitCode;

use clap::Parser;

/// Chores of the project.
#[derive(Parser)]
enum Task {
    /// Writes src/onnx/proto.rs from mappings/schemas/onnx.proto.
    Proto {
        /// Only say whether the file is as it would be written.
        #[arg(long)]
        check: bool,
    },
}

fn main() -> ExitCode {
    let done = match Task::parse() {
        Task::Proto { check } => proto::run(check),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
