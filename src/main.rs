//! The command `aten2onnx`.

/// Exports allocate millions of names and shapes.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    aten2onnx::cli::main()
}
