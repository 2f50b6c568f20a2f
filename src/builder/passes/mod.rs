//! Passes over the ONNX graph: the same results with fewer and faster nodes.
//!
//! They take the graph as the rules wrote it, still in the builder's hands, and give one that is valid at the same opset:
//! new nodes are made by the builder, which knows versions, dtypes and types. No pass changes a dtype or a shape, or a number
//! by more than rounding. Each file is one pass: a function that looks at one node and what it reads, and gives a value that
//! can stand for the node's. The walk here goes over the nodes in order until nothing changes; after it the graph is again in
//! topological order, and no node is left that nobody reads.

mod algebra;
mod casts;
mod common;
mod constants;
mod convolution;
mod dead;
mod fusions;
mod gemm;
mod identity;
mod reshapes;
mod rewriter;
mod sizes;
mod splits;
mod transposes;
mod weights;

use rewriter::{Rewriter, Rule};

use crate::build::Builder;
use aten2onnx_onnx::ExternalData;

/// What the passes may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passes {
    /// 0: nothing but dropping what nobody reads, 1: all.
    pub level: u8,
    /// Weights stay as they lie in their file: what would write them anew is left to the runtime.
    pub keep_weights: bool,
}

impl Passes {
    /// The graph stays as the rules wrote it.
    pub const NONE: Passes = Passes { level: 0, keep_weights: false };
    /// All passes.
    pub const ALL: Passes = Passes { level: 1, keep_weights: false };

    /// Those of a level that suit where the weights go.
    pub fn of(level: u8, external_data: ExternalData) -> Passes {
        Passes { level, keep_weights: external_data == ExternalData::Link }
    }
}

impl Default for Passes {
    fn default() -> Passes {
        Passes::ALL
    }
}

/// In the order in which a node is shown to them: those that drop it first.
const RULES: &[Rule] = &[
    identity::apply,
    casts::apply,
    constants::apply,
    weights::apply,
    sizes::apply,
    transposes::apply,
    reshapes::apply,
    algebra::apply,
    fusions::norm,
    fusions::activation,
    fusions::rotary,
    fusions::attention,
    fusions::heads,
    convolution::apply,
    gemm::apply,
    splits::apply,
];

/// Each round sees what the one before made. Few models need more than four.
const MAX_ROUNDS: usize = 12;

impl Passes {
    /// Runs the passes over the graph of a builder.
    pub fn run(self, builder: &mut Builder) {
        if self.level == 0 {
            return;
        }
        for _ in 0..MAX_ROUNDS {
            let nodes = dead::swept(builder);
            if Rewriter::new(builder, self, &nodes).run(nodes, RULES) == 0 {
                return;
            }
        }
    }
}
