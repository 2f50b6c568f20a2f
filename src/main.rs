//! The command `aten2onnx`.

fn main() -> std::process::ExitCode {
    aten2onnx::cli::main()
}
