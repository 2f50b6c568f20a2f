//! Where the rules and the snapshots of schemas are: data for build scripts. There is no code here.

/// The folder that holds `aten/`, `onnx/`, `lib/`, `schemas/`, `targets/` and the `.toml` files beside them.
pub const FOLDER: &str = env!("CARGO_MANIFEST_DIR");

/// `schemas/torchscript.txt`: overloads in the order in which libtorch tries them, for programs that read TorchScript.
pub const TORCHSCRIPT: &str = include_str!("schemas/torchscript.txt");
