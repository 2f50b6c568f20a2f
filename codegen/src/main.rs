//! The command of the opmap compiler: `cargo run -p aten2onnx-codegen -- check`.

mod cli;

use std::process::ExitCode;

/// The proof makes many small values.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::main()
}
