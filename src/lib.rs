//! aten2onnx: PyTorch models to ONNX at any opset, from rules that the build proves.

pub mod builder;
pub mod dtype;
pub mod error;
pub mod graph;
pub mod infer;
pub mod onnx;
pub mod program;
pub mod schema;
pub mod sym;
pub mod weights;
