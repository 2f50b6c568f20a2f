//! Writes what is known of PyTorch's operators from the rules and schemas in `mappings/`, the table of functions behind `extern fn`, and
//! the list of the files that mapping files of users are checked against.

#[cfg(not(aten2onnx_single))]
fn main() -> std::process::ExitCode {
    aten2onnx_build::compile_facts()
}

/// An exporter for one opset has them beside its rules.
#[cfg(aten2onnx_single)]
fn main() {}
