//! Half precision by option.

use aten2onnx_core::dtype::Dtype;
#[cfg(feature = "precision")]
use aten2onnx_core::error::{Error, Result};
#[cfg(feature = "precision")]
use aten2onnx_onnx::ExternalData;
#[cfg(feature = "precision")]
use aten2onnx_onnx::targets::Target;
#[cfg(feature = "precision")]
use aten2onnx_precision::{Extent, Outside, Request};
use serde::Deserialize;

/// In what precision a float32 model computes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PrecisionOptions {
    /// Compute in half precision, with weights of it, but for what must stay float32: sums, exponentials, positions, large numbers
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "DTYPE"))]
    pub precision: Option<Precision>,
    /// Give float32 inputs and outputs the dtype of `--precision` [default: float32]
    #[cfg_attr(feature = "clap", arg(long = "io", value_name = "DTYPE", value_parser = super::parse_dtype))]
    #[serde(deserialize_with = "super::read::some_dtype")]
    pub io: Option<Dtype>,
    /// Keep in float32 what has this name: operators, modules with all below them, nodes or values. `*` is any text
    #[cfg_attr(feature = "clap", arg(long = "keep-float32", value_name = "PATTERN"))]
    pub keep_float32: Vec<String>,
}

/// The precision of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Precision {
    /// float16
    Float16,
    /// bfloat16, which has the range of float32 and fewer digits than float16
    Bfloat16,
    /// Products in float16, all else in float32
    Mixed,
}

impl Precision {
    /// Its dtype.
    pub fn dtype(self) -> Dtype {
        match self {
            Precision::Float16 | Precision::Mixed => Dtype::Float16,
            Precision::Bfloat16 => Dtype::Bfloat16,
        }
    }
}

#[cfg(feature = "precision")]
impl PrecisionOptions {
    /// What is asked for, if anything is.
    ///
    /// # Errors
    /// Options that contradict each other.
    pub fn request(&self, external_data: ExternalData, target: Option<&'static Target>) -> Result<Option<Request>> {
        let Some(precision) = self.precision else {
            return if self.io.is_some_and(|dtype| dtype != Dtype::Float32) || !self.keep_float32.is_empty() {
                let error = Error::unsupported("`--io` and `--keep-float32` belong to a precision, and none is given");
                Err(error.help("add `--precision float16`"))
            } else {
                Ok(None)
            };
        };
        let dtype = precision.dtype();
        let outside = match self.io {
            None | Some(Dtype::Float32) => Outside::Float32,
            Some(io) if io == dtype => Outside::Half,
            Some(io) => {
                let error =
                    Error::unsupported(format!("inputs and outputs cannot be {io} where a model computes in {dtype}"));
                return Err(error.help(format!("write `--io {dtype}`, or leave it out for float32")));
            }
        };
        if external_data == ExternalData::Link {
            let error =
                Error::unsupported("weights in another precision cannot be linked: the linked file has float32");
            return Err(error.help("leave `--external-data link` out, so that they are written"));
        }
        let extent = if precision == Precision::Mixed { Extent::Products } else { Extent::Most };
        Ok(Some(Request {
            dtype,
            extent,
            outside,
            keep: self.keep_float32.clone(),
            target,
            ranges: Default::default(),
        }))
    }
}
