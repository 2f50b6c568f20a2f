//! The schema snapshots: facts about PyTorch's and ONNX's operators, read from `mappings/schemas/`.

pub mod aten;
pub mod onnx;
