//! aten2onnx: PyTorch models to ONNX at any opset, from rules that the build proves.

pub mod builder;
pub mod check;
pub mod clean;
pub mod dtype;
pub mod error;
pub mod functional;
pub mod graph;
pub mod infer;
pub mod onnx;
pub mod inline;
pub mod program;
pub mod pt2;
pub mod schema;
pub mod sym;
pub mod walk;
pub mod weights;
