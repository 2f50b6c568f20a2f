//! Models of the crate `tch`, traced and exported in this process: what they compute in ONNX Runtime, and what is refused.
//!
//! They need libtorch: `tests/run` says how it is found.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../tests/common/mod.rs"]
mod common;
mod layers;
mod lost;
mod memory;
mod names;
mod runtime;
mod sizes;
mod vision;
