//! The command `aten2onnx`.

/// Millions of names and shapes come and go.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    aten2onnx::cli::main()
}
