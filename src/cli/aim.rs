//! `--opset`, `--target`, `--ir`: what the model that is written is for.

use crate::error::Result;
use crate::export::Ir;
use crate::rules::{DEFAULT_OPSET, MAX_OPSET, MIN_OPSET};
use crate::targets::{self, Target};

/// What the model is for.
#[derive(Debug, Clone, clap::Args)]
pub struct Aim {
    /// The opset of the model, 9 to 28 [default: 18, or the nearest that the target takes]
    #[arg(long, value_name = "N", value_parser = opset)]
    opset: Option<u32>,
    /// The runtime that the model is for, such as `tensorrt-8.6`; `aten2onnx targets` lists them
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// The IR version: a number, `lowest` that holds the model, or that of the opset's `release` of ONNX
    #[arg(long, value_name = "N", default_value = "lowest")]
    pub ir: Ir,
}

impl Aim {
    /// The runtime, if one is named.
    pub fn target(&self) -> Result<Option<&'static Target>> {
        self.target.as_deref().map(targets::find).transpose()
    }

    /// The opset that is asked for, if the target takes it, or the one for it.
    pub fn opset(&self) -> Result<u32> {
        match self.target()? {
            Some(target) => target.opset(self.opset),
            None => Ok(self.opset.unwrap_or(DEFAULT_OPSET)),
        }
    }
}

/// Reads an opset, with advice for those that we do not have.
pub fn opset(text: &str) -> Result<u32, String> {
    let supported = format!("supported are {MIN_OPSET} to {MAX_OPSET}, the default is {DEFAULT_OPSET}");
    match text.parse::<u32>() {
        Ok(opset) if opset < MIN_OPSET => Err(format!("it is too old; {supported}")),
        Ok(opset) if opset > MAX_OPSET => Err(format!("it is not known yet; {supported}")),
        Ok(opset) => Ok(opset),
        Err(_) => Err(format!("it is not a number; {supported}")),
    }
}
