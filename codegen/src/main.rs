//! The command of the opmap compiler: `cargo run -p aten2onnx-codegen -- check`.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
