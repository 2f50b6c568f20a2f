//! ONNX models to another opset: `aten2onnx convert`.
//!
//! Takes a model as it was read, gives one that is valid at the opset that is asked for, or an error that lists every node that
//! stands in the way. Each node that the opset has in the very same version stays as it is, under its name; the others go through
//! the lowerings, as the nodes of rules do. Nothing is pruned but what a lowering no longer reads (the constant that held the axes,
//! once they are an attribute). Weights stay where they lie.
//!
//! `tensors`, `types` and `attributes` read messages; `scope` knows what names stand for; `graph`, `node` and `functions` go
//! through the model; `finish` puts back what is not computed: names, texts, metadata.

mod attributes;
mod finish;
mod functions;
mod graph;
mod node;
mod report;
mod scope;
mod tensors;
mod types;

use std::path::Path;

use crate::error::Result;
use crate::export::{Ir, check_opset, check_target};
use crate::onnx::ExternalData;
use crate::onnx::read::Source;
use crate::passes::Passes;
use crate::ready::Ready;
use crate::rules::{DEFAULT_OPSET, Rules};
use crate::targets::Target;

/// What a user may choose.
#[derive(Debug, Clone)]
pub struct Options {
    /// The opset of the default domain.
    pub opset: u32,
    /// The IR version.
    pub ir: Ir,
    /// The runtime that the model is for: what it lacks is said otherwise.
    pub target: Option<&'static Target>,
    /// Where the weights go; `Auto` is as in the source, as long as protobuf's limit allows it.
    pub external_data: ExternalData,
    /// Put the bodies of local functions where they are called.
    pub inline_functions: bool,
    /// How much is done to the graph: 0 changes nothing but what the opset asks for, 1 runs all passes.
    pub opt_level: u8,
    /// The rules: their lowerings come before those of the build.
    pub rules: Rules,
}

impl Options {
    /// What the passes may do.
    fn passes(&self) -> Passes {
        Passes::of(self.opt_level, self.external_data)
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            opset: DEFAULT_OPSET,
            ir: Ir::Lowest,
            target: None,
            external_data: ExternalData::Auto,
            inline_functions: false,
            opt_level: 0,
            rules: Rules::default(),
        }
    }
}

/// Converts the model of a file.
///
/// # Errors
/// A damaged file, or all that the target cannot say.
pub fn convert_file(path: &Path, options: &Options) -> Result<Ready> {
    convert(&Source::open(path)?, options)
}

/// Converts a model.
///
/// # Errors
/// A damaged model, or all that the target cannot say.
pub fn convert(source: &Source, options: &Options) -> Result<Ready> {
    check_opset(options.opset)?;
    check_target(options.target, options.opset, options.ir)?;
    let path = source.file.path.clone();
    let mut converted = graph::convert(source, options).map_err(|error| error.at(path.display().to_string()))?;
    converted.source = path;
    Ok(converted)
}
