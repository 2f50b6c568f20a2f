//! Writes the tables of ONNX's schemas, of opsets and dtypes, and of runtimes from `mappings/`.

fn main() -> std::process::ExitCode {
    aten2onnx_build::compile_schemas()
}
