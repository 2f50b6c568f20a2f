//! Quantization of weights by option.

use std::str::FromStr;

use aten2onnx_builder::passes::{BlockLength, Operands, ValueRanges, WeightQuantization};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::{CodeFormat, ScaleSearch};
use aten2onnx_onnx::ExternalData;
use serde::Deserialize;

use super::Precision;

/// The block of formats of 4 bits.
const BLOCK: i64 = 32;

/// What the weights of a model are quantized to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct QuantizeOptions {
    /// Quantize the weights of products, convolutions and lookups, while they are written; what computes stays as it is
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "FORMAT"))]
    pub quantize_weights: Option<QuantizeFormat>,
    /// Quantize more than weights: products and convolutions multiply integers of 8 bits
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "HOW"))]
    pub quantize: Option<QuantizeKind>,
    /// So many numbers of a weight have a common scale, or all of a `channel` [default: 32 for 4 bits, else channel]
    #[cfg_attr(feature = "clap", arg(long, value_name = "N|channel"))]
    #[serde(deserialize_with = "super::read::some_text")]
    pub block_size: Option<BlockSize>,
    /// How the scales of quantized weights are chosen [default: nearest]
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "HOW"))]
    pub scales: Option<QuantizeScales>,
    /// Do not quantize what has this name: weights, operators, nodes, or modules with all below them. `*` is any text
    #[cfg_attr(feature = "clap", arg(long, value_name = "PATTERN"))]
    pub skip: Vec<String>,
}

/// What is quantized beside weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum QuantizeKind {
    /// The other operand of products and convolutions, to 8 bits with the range that it has when the model runs
    Dynamic,
    /// Values between operators too, to 8 bits with ranges that were measured before (`convert --ranges`)
    Static,
}

/// What weights are quantized to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum QuantizeFormat {
    /// 8 bits with the same scale on both sides of 0
    Int8,
    /// 8 bits with a zero point
    Uint8,
    /// 4 bits with the same scale on both sides of 0
    Int4,
    /// 4 bits with a zero point
    Uint4,
    /// Floats of 8 bits (E4M3FN); opset 19 or newer
    Fp8,
}

/// How scales are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum QuantizeScales {
    /// From the least and the largest number; each number is rounded to the nearest
    Nearest,
    /// With the least squared error, which takes longer
    Mse,
    /// With few large errors in place of many small ones, by the method of HQQ, which takes longest
    Hqq,
}

/// The number of numbers with a common scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockSize(pub BlockLength);

impl FromStr for BlockSize {
    type Err = String;

    fn from_str(text: &str) -> Result<BlockSize, String> {
        if text == "channel" {
            return Ok(BlockSize(BlockLength::Channel));
        }
        let length = text.parse::<i64>().ok().filter(|length| (2..=1 << 20).contains(length));
        let length = length.ok_or("`channel`, or a number of at least 2, such as 32 or 128")?;
        Ok(BlockSize(BlockLength::Of(length)))
    }
}

impl QuantizeFormat {
    fn codes(self) -> CodeFormat {
        match self {
            QuantizeFormat::Int8 => CodeFormat::Int8,
            QuantizeFormat::Uint8 => CodeFormat::Uint8,
            QuantizeFormat::Int4 => CodeFormat::Int4,
            QuantizeFormat::Uint4 => CodeFormat::Uint4,
            QuantizeFormat::Fp8 => CodeFormat::Float8,
        }
    }

    /// The block that is usual for it.
    fn block(self) -> BlockLength {
        match self {
            QuantizeFormat::Int4 | QuantizeFormat::Uint4 => BlockLength::Of(BLOCK),
            QuantizeFormat::Int8 | QuantizeFormat::Uint8 | QuantizeFormat::Fp8 => BlockLength::Channel,
        }
    }
}

impl QuantizeOptions {
    /// Whether anything is to be quantized.
    pub fn is_asked(&self) -> bool {
        self.quantize_weights.is_some() || self.quantize.is_some()
    }

    /// What is asked for, if anything is.
    ///
    /// # Errors
    /// Options that contradict each other.
    pub fn request(
        &self,
        external_data: ExternalData,
        precision: Option<Precision>,
        ranges: Option<ValueRanges>,
    ) -> Result<Option<WeightQuantization>> {
        let Some(format) = self.quantize_weights.or(self.quantize.map(|_| QuantizeFormat::Int8)) else {
            let given = [
                ("--block-size", self.block_size.is_some()),
                ("--scales", self.scales.is_some()),
                ("--skip", !self.skip.is_empty()),
            ];
            return match given.iter().find(|(_, is_given)| *is_given) {
                None => Ok(None),
                Some((name, _)) => {
                    let error = format!("`{name}` is about quantized weights, and none are asked for");
                    Err(Error::unsupported(error).help("add `--quantize-weights int8`"))
                }
            };
        };
        if external_data == ExternalData::Link {
            let error = Error::unsupported("quantized weights cannot be linked: the linked file has floats");
            return Err(error.help("leave `--external-data link` out, so that they are written"));
        }
        let operands = match self.quantize {
            None => Operands::Floats,
            Some(kind) => {
                self.check_integers(kind, format, precision)?;
                match kind {
                    QuantizeKind::Dynamic => Operands::Dynamic,
                    QuantizeKind::Static => Operands::Measured(ranges.ok_or_else(without_ranges)?),
                }
            }
        };
        let search = match self.scales {
            None | Some(QuantizeScales::Nearest) => ScaleSearch::Nearest,
            Some(QuantizeScales::Mse) => ScaleSearch::Mse,
            Some(QuantizeScales::Hqq) => ScaleSearch::Hqq,
        };
        Ok(Some(WeightQuantization {
            format: format.codes(),
            block: self.block_size.map_or(format.block(), |size| size.0),
            search,
            operands,
            skip: self.skip.clone(),
            half: precision.map(Precision::dtype),
        }))
    }

    /// Products of integers have 8 bits, and a scale for each column.
    fn check_integers(&self, kind: QuantizeKind, format: QuantizeFormat, precision: Option<Precision>) -> Result<()> {
        let kind = match kind {
            QuantizeKind::Dynamic => "dynamic",
            QuantizeKind::Static => "static",
        };
        if !matches!(format, QuantizeFormat::Int8 | QuantizeFormat::Uint8) {
            let error = Error::unsupported(format!("`--quantize {kind}` multiplies integers of 8 bits"));
            return Err(error.help("leave `--quantize-weights` out, or write `int8` or `uint8`"));
        }
        if matches!(self.block_size, Some(BlockSize(BlockLength::Of(_)))) {
            let error = Error::unsupported(format!("`--quantize {kind}` has a scale for each channel, not for blocks"));
            return Err(error.help("leave `--block-size` out"));
        }
        if precision.is_some() {
            let error = Error::unsupported(format!("`--quantize {kind}` computes in float32 around its products"));
            return Err(error.help("leave `--precision` out, or quantize weights alone: `--quantize-weights int8`"));
        }
        Ok(())
    }
}

/// There is nothing to round values with.
fn without_ranges() -> Error {
    Error::unsupported("`--quantize static` takes the ranges of values, which are measured in runs of the model").help(
        "export the float model, measure it (`aten2onnx.calibrate` in Python), and convert it with `--quantize static --ranges FILE`; \
         in Python, `calibrate=` of `export` and `convert` does all three",
    )
}
