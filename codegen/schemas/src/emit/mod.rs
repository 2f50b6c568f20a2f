//! Tables of the snapshots and facts as Rust: what `aten2onnx-onnx` and `aten2onnx-rules` include.

pub mod facts;
pub mod schema_table;
