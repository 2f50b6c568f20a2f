//! Tests the passes on small graphs: one file per file of `src/builder/src/passes/`. They are in this crate because they
//! need lowerings.

#![allow(clippy::unwrap_used, missing_docs)]

mod activations;
mod algebra;
mod arithmetic;
mod attention;
mod casts;
mod common;
mod constants;
mod convolution;
mod dead;
mod experts;
mod filled;
mod gemm;
mod heads;
mod identity;
mod integers;
mod levels;
mod measured;
mod net;
mod norms;
mod quantized;
mod reshapes;
mod rotary;
mod sizes;
mod splits;
mod transposes;
mod weights;
