//! aten2onnx: PyTorch models to ONNX at any opset, from rules that the build proves.

pub mod builder;
pub mod check;
pub mod clean;
pub mod dtype;
pub mod error;
pub mod export;
pub mod externs;
pub mod functional;
pub mod graph;
pub mod infer;
pub mod onnx;
pub mod program;
pub mod pt2;
pub mod rules;
pub mod schema;
pub mod sym;
pub mod translate;
pub mod walk;
pub mod weights;
