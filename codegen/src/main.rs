//! The opmap compiler as a command: `cargo run -p aten2onnx-codegen -- check`.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
