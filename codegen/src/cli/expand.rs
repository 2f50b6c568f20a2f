//! `expand`: a rule as it is at an opset.

use std::path::Path;

use aten2onnx_codegen::expand::expand;

use super::report::{Stop, print, sound_rules};

/// Print a rule as it is at an opset, with lowerings in place of operators that the opset lacks
#[derive(Debug, clap::Args)]
pub struct Args {
    /// An overload, such as aten::gelu, or an ONNX operator, such as Gelu
    #[arg(value_name = "OP")]
    op: String,
    /// The opset [default: the newest]
    #[arg(long, value_name = "N")]
    opset: Option<u32>,
}

/// Runs the command.
pub fn expand_operator(mappings: &Path, args: &Args) -> Result<(), Stop> {
    let checked = sound_rules(mappings)?;
    let opset = args.opset.unwrap_or(checked.schemas.opsets.max);
    print(&expand(&checked, &args.op, opset)?)
}
