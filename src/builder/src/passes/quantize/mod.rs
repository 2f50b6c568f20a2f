//! Quantizes weights of floats: a product, a convolution or a lookup reads integers of few bits with a scale for each block, and `DequantizeLinear` before it
//! makes floats of them. The integers are computed while they are written. The passes for quantized weights then write them as the opset and the target
//! have them.
//!
//! It must not quantize what something else reads as floats, nor store a weight twice.

mod choice;
mod dynamic;
mod form;
mod sites;
mod tied;
mod told;

use std::sync::Arc;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::{CodeFormat, ScaleSearch};

use super::dead::live_nodes;
use super::fuse::Fusions;
use super::rewriter::{Rewriter, Rule};
use super::{LAST, MAX_ROUNDS, Passes, RULES, quantized};
use crate::build::Builder;
pub(super) use choice::Choices;
pub(super) use form::apply;

/// The first opset with float8.
const FLOAT8_OPSET: i64 = 19;

/// What weights are quantized to.
#[derive(Debug, Clone)]
pub struct WeightQuantization {
    /// The integers.
    pub format: CodeFormat,
    /// The numbers that have a common scale.
    pub block: BlockLength,
    /// How scales are chosen.
    pub search: ScaleSearch,
    /// Products and convolutions multiply integers, to which the other operand is rounded when the model runs.
    pub is_dynamic: bool,
    /// Patterns with `*` and `?` of weights, operators, nodes or modules that stay as they are. A module stands for all below it.
    pub skip: Vec<String>,
    /// The half precision that the model gets afterwards.
    pub half: Option<Dtype>,
}

/// How many numbers have a common scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockLength {
    /// All that one channel of the result is a sum of.
    Channel,
    /// So many of them.
    Of(i64),
}

/// The rules that only write what is quantized.
const WRITING: &[Rule] = &[quantized::nbits, quantized::lookup];

impl Passes {
    /// Quantizes the weights of a builder's graph, and returns what to know of it, for people.
    ///
    /// # Errors
    /// A pattern of [`WeightQuantization::skip`] that names nothing, an opset without the dtype, or weights that cannot be read.
    pub fn quantize(self, builder: &mut Builder, wanted: &WeightQuantization) -> Result<Vec<String>> {
        check(builder, wanted)?;
        let fusions = Arc::new(Fusions::of(builder));
        let nodes = live_nodes(builder);
        let choices = match Choices::of(builder, &nodes, wanted) {
            Ok(choices) => Arc::new(choices),
            Err(error) => {
                builder.nodes_mut().extend(nodes);
                return Err(error);
            }
        };
        let mut rewriter = Rewriter::new(builder, self, &fusions, &nodes);
        rewriter.choices = Some(Arc::clone(&choices));
        rewriter.run(nodes, &[apply]);
        // Sums of integers that are scaled later overflow half precision.
        let is_wide = |rule: &Rule| wanted.half.is_none() || !std::ptr::fn_addr_eq(*rule, quantized::columns as Rule);
        let rules: Vec<Rule> = if self.level == 0 { WRITING } else { RULES }.iter().copied().filter(is_wide).collect();
        for _ in 0..MAX_ROUNDS {
            let nodes = live_nodes(builder);
            let mut rewriter = Rewriter::new(builder, self, &fusions, &nodes);
            rewriter.choices = Some(Arc::clone(&choices));
            if rewriter.run(nodes, &rules) == 0 {
                break;
            }
        }
        for rules in [LAST, &[]] {
            let nodes = live_nodes(builder);
            Rewriter::new(builder, self, &fusions, &nodes).run(nodes, rules);
            tied::tie(builder);
        }
        Ok(told::notes(&choices, wanted))
    }
}

fn check(builder: &Builder, wanted: &WeightQuantization) -> Result<()> {
    let opset = builder.opset();
    if wanted.format == CodeFormat::Float8 && opset < FLOAT8_OPSET {
        let error = Error::unsupported(format!("opset {opset} has no float8"));
        return Err(error.help(format!("use opset {FLOAT8_OPSET} or newer, or quantize to int8")));
    }
    Ok(())
}
