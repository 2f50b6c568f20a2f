//! Passes over the ONNX graph: they compute the same results with fewer and faster nodes.
//!
//! They take the graph from the builder and keep it valid at the same opset: new nodes are made by the builder, which
//! handles versions, dtypes and types. No pass changes a dtype or a shape, or a number by more than rounding. Each file
//! is one pass: a function that looks at one node and its inputs and returns a value that replaces the node's. The
//! rewriter visits the nodes in order until nothing changes; afterwards the graph is in topological order and has no
//! unused nodes.

mod arithmetic;
mod casts;
mod common;
mod constants;
mod convolution;
mod dead;
mod filled;
mod fuse;
mod fusions;
mod gemm;
mod identity;
mod joined;
mod layouts;
mod patterns;
mod quantize;
mod quantized;
mod reshapes;
mod rewriter;
mod sizes;
mod splits;
mod transposes;
mod weights;

use std::sync::Arc;

use fuse::Fusions;
pub use quantize::{BlockLength, Operands, ValueRanges, WeightQuantization};
use rewriter::{Pass, Rewriter};

use crate::build::Builder;
use aten2onnx_onnx::ExternalData;

/// What the passes may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passes {
    /// 0: only drop unused nodes, 1: all passes.
    pub level: u8,
    /// Weights are not rewritten; the runtime has to transform them.
    pub keep_weights: bool,
}

impl Passes {
    /// Keeps the graph as the rules built it.
    pub const NONE: Passes = Passes { level: 0, keep_weights: false };
    /// All passes.
    pub const ALL: Passes = Passes { level: 1, keep_weights: false };

    /// The passes of a level, given how weights are stored.
    pub fn of(level: u8, external_data: ExternalData) -> Passes {
        Passes { level, keep_weights: external_data == ExternalData::Link }
    }
}

impl Default for Passes {
    fn default() -> Passes {
        Passes::ALL
    }
}

/// The order in which passes see a node: those that remove it come first.
const PASSES: &[Pass] = &[
    identity::drop_identity,
    casts::merge_casts,
    arithmetic::scale_weights,
    constants::fold_constants,
    weights::view_weights,
    arithmetic::compute_weights,
    arithmetic::compute_chains,
    joined::join_weights,
    quantized::look_up_tables,
    quantized::raise_exponents,
    quantized::raise_dequantization,
    quantized::narrow_integers,
    quantized::multiply_integers,
    quantized::multiply_nbits,
    quantized::scale_columns,
    quantized::look_up_rows,
    quantized::fuse_experts,
    quantized::unsigned_activations,
    sizes::merge_sizes,
    transposes::simplify_transposes,
    reshapes::simplify_reshapes,
    fuse::apply_fusions,
    fusions::fuse_rotary_embedding,
    fusions::fuse_attention,
    fusions::fuse_heads,
    convolution::fold_into_convolution,
    gemm::share_layouts,
    filled::fill_own_size,
    splits::merge_slices,
];

/// The passes of the last round, whose results the others would not recognize.
const LAST_PASSES: &[Pass] = &[quantized::quantize_convolutions, quantized::pack_integers];

/// Each round sees the results of the previous one. Few models need more than four.
const MAX_ROUNDS: usize = 12;

impl Passes {
    /// Runs the passes over the graph of a builder.
    pub fn run(self, builder: &mut Builder) {
        if self.level == 0 {
            return;
        }
        let fusions = Arc::new(Fusions::of(builder));
        for _ in 0..MAX_ROUNDS {
            let nodes = dead::live_nodes(builder);
            if Rewriter::new(builder, self, &fusions, &nodes).run(nodes, PASSES) == 0 {
                break;
            }
        }
        let nodes = dead::live_nodes(builder);
        Rewriter::new(builder, self, &fusions, &nodes).run(nodes, LAST_PASSES);
    }
}
