//! The command `aten2onnx`: the commands of `aten2onnx-commands`, with the rules that the library was built with.

/// Exports allocate millions of names and shapes.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    aten2onnx_commands::main(&aten2onnx::rules())
}
