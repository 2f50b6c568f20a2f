//! Writes the tables of ONNX's schemas, of opsets and dtypes, and of runtimes from `mappings/`.

fn main() -> std::process::ExitCode {
    aten2onnx_schemas::build_script::compile_schemas()
}
