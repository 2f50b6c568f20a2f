//! Parses and proves the operator rules in `mappings/`, and writes each of them as a Rust function, which `src/compiled.rs` includes.

fn main() -> std::process::ExitCode {
    aten2onnx_build::compile_rules()
}
