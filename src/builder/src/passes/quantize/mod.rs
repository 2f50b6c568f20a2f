//! Quantizes weights of floats: a product, a convolution or a lookup reads integers of few bits with a scale for each block, and `DequantizeLinear` before it
//! makes floats of them. The integers are computed while they are written. The passes for quantized weights then write them as the opset and the target
//! have them.
//!
//! It must not quantize what something else reads as floats, nor store a weight twice.

mod choice;
mod dynamic;
mod form;
mod measured;
mod sites;
mod tied;
mod told;

use std::sync::Arc;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::{CodeFormat, ScaleSearch};

use super::dead::live_nodes;
use super::fuse::Fusions;
use super::rewriter::{Pass, Rewriter};
use super::{LAST_PASSES, MAX_ROUNDS, PASSES, Passes, quantized};
use crate::build::Builder;
pub(super) use choice::Choices;
use form::quantize_node;
pub use measured::ValueRanges;
use measured::{Rounding, round_values};

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
    /// What becomes of the other operands of products, and of values between operators.
    pub operands: Operands,
    /// Patterns with `*` and `?` of weights, operators, nodes or modules that stay as they are. A module stands for all below it.
    pub skip: Vec<String>,
    /// The half precision that the model gets afterwards.
    pub half: Option<Dtype>,
}

/// What becomes of operands that are no weights.
#[derive(Debug, Clone)]
pub enum Operands {
    /// They stay floats.
    Floats,
    /// Products and convolutions multiply integers, to which the other operand is rounded with the range that it has when the model runs.
    Dynamic,
    /// They are rounded to integers with ranges that were measured before.
    Measured(ValueRanges),
}

/// How many numbers have a common scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockLength {
    /// All that one channel of the result is a sum of.
    Channel,
    /// So many of them.
    Of(i64),
}

/// The passes that only write what is quantized.
const WRITING: &[Pass] = &[quantized::multiply_nbits, quantized::look_up_rows];

impl Passes {
    /// Quantizes the weights of a builder's graph, and returns what to know of it, for people.
    ///
    /// # Errors
    /// A pattern of [`WeightQuantization::skip`] that names nothing, an opset without the dtype, or weights that cannot be read.
    pub fn quantize(self, builder: &mut Builder, wanted: &WeightQuantization) -> Result<Vec<String>> {
        check(builder, wanted)?;
        let fusions = Arc::new(Fusions::of(builder));
        let mut nodes = live_nodes(builder);
        let choices = match Choices::of(builder, &nodes, wanted) {
            Ok(choices) => Arc::new(choices),
            Err(error) => {
                builder.nodes_mut().extend(nodes);
                return Err(error);
            }
        };
        let mut rounding: Option<Rounding> = None;
        if let Operands::Measured(ranges) = &wanted.operands {
            let (rounded, what) = round_values(builder, nodes, &choices, ranges)?;
            (nodes, rounding) = (rounded, Some(what));
        }
        let mut rewriter = Rewriter::new(builder, self, &fusions, &nodes);
        rewriter.choices = Some(Arc::clone(&choices));
        rewriter.run(nodes, &[quantize_node]);
        // Sums of integers that are scaled later overflow half precision, and are products of floats.
        let is_scaled_later = wanted.half.is_none() && rounding.is_none();
        let is_wide = |pass: &Pass| is_scaled_later || !std::ptr::fn_addr_eq(*pass, quantized::scale_columns as Pass);
        let passes: Vec<Pass> =
            if self.level == 0 { WRITING } else { PASSES }.iter().copied().filter(is_wide).collect();
        for _ in 0..MAX_ROUNDS {
            let nodes = live_nodes(builder);
            let mut rewriter = Rewriter::new(builder, self, &fusions, &nodes);
            rewriter.choices = Some(Arc::clone(&choices));
            if rewriter.run(nodes, &passes) == 0 {
                break;
            }
        }
        for passes in [LAST_PASSES, &[]] {
            let nodes = live_nodes(builder);
            Rewriter::new(builder, self, &fusions, &nodes).run(nodes, passes);
            tied::tie(builder);
        }
        Ok(told::notes(&choices, wanted, rounding.as_ref()))
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
