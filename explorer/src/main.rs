//! The command `aten2onnx-explorer`, which `aten2onnx-codegen site` and `serve` start.

use std::process::ExitCode;

fn main() -> ExitCode {
    aten2onnx_explorer::cli::main()
}
