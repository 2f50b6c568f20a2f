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

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::export::{Ir, check_opset, check_target};
use crate::graph::Graph;
use crate::onnx::read::Source;
use crate::onnx::{self, ExternalData, Model, Written, write::Progress};
use crate::passes::Passes;
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
        Passes { level: self.opt_level, keep_weights: self.external_data == ExternalData::Link }
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

/// A model that is ready to be written.
#[derive(Debug)]
pub struct Converted {
    /// The graph.
    pub graph: Graph,
    /// The same as messages, with a list of weights that still lie in the source.
    pub model: Model,
    /// Things worth telling the user.
    pub notes: Vec<String>,
    source: PathBuf,
    external_data: ExternalData,
}

/// Converts the model of a file.
///
/// # Errors
/// A damaged file, or all that the target cannot say.
pub fn convert_file(path: &Path, options: &Options) -> Result<Converted> {
    convert(&Source::open(path)?, options)
}

/// Converts a model.
///
/// # Errors
/// A damaged model, or all that the target cannot say.
pub fn convert(source: &Source, options: &Options) -> Result<Converted> {
    check_opset(options.opset)?;
    check_target(options.target, options.opset, options.ir)?;
    let path = source.file.path.clone();
    let mut converted = graph::convert(source, options).map_err(|error| error.at(path.display().to_string()))?;
    converted.source = path;
    Ok(converted)
}

impl Converted {
    /// Writes the model to a file, and perhaps `<name>.data` beside it. Both appear when they are whole.
    pub fn write_file(&self, path: impl AsRef<Path>, progress: &mut Progress<'_>) -> Result<Written> {
        let sources = std::slice::from_ref(&self.source);
        onnx::write_file(&self.model, path.as_ref(), self.external_data, sources, progress)
    }

    /// Writes the model to a stream, all in one.
    pub fn write_to(&self, out: &mut dyn Write, progress: &mut Progress<'_>) -> Result<Written> {
        if matches!(self.external_data, ExternalData::Always | ExternalData::Link) {
            let error = Error::unsupported("a stream can have no external data beside it");
            return Err(error.help("use `--external-data never`, or write to a file"));
        }
        onnx::write_to(&self.model, out, progress)
    }

    /// The IR version that was chosen.
    pub fn ir_version(&self) -> i64 {
        self.model.proto.ir_version()
    }

    /// The number of nodes, those in bodies too.
    pub fn nodes(&self) -> usize {
        let mut count = 0;
        self.graph.body.visit(&mut |_| count += 1);
        count
    }
}
