//! Converts ONNX models to another opset: `aten2onnx convert`.
//!
//! Takes a model as it was read and returns one that is valid at the requested opset, or an error that lists all nodes
//! that cannot be converted. Nodes whose version is the same at both opsets are kept with their names; others go
//! through the lowerings, like nodes of rules. Only values that a lowering no longer uses are removed (such as a
//! constant with axes that became an attribute). Weights are not copied before writing.
//!
//! `tensors`, `types` and `attributes` read messages; `scope` resolves names; `graph`, `node`, `loops` and `functions`
//! traverse the model; `finish` restores names, texts and metadata;
//! `own` copies what is kept as it was.

mod attributes;
mod dims;
mod finish;
mod functions;
mod graph;
mod loops;
mod node;
mod own;
mod report;
mod scope;
mod tensors;
mod types;

use std::path::Path;
use std::time::Instant;

use crate::options::ConvertOptions;
use aten2onnx_core::error::Result;
pub use aten2onnx_onnx::read::Source;
use aten2onnx_onnx::{Exported, Summary};

/// Converts ONNX models with the given options.
///
/// ```
/// use aten2onnx::Converter;
///
/// # let model = "tests/data/models/mobilenet_like.pt2";
/// # let folder = tempfile::tempdir()?;
/// # let (newer, older) = (folder.path().join("newer.onnx"), folder.path().join("older.onnx"));
/// # aten2onnx::Exporter::new().opset(18).export(model, &newer)?;
/// let summary = Converter::new().opset(11).convert(newer, older)?;
/// assert_eq!(summary.opset, 11);
/// # Ok::<(), aten2onnx::error::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Converter {
    options: ConvertOptions,
}

impl Converter {
    /// A converter with the default options.
    pub fn new() -> Converter {
        Converter::default()
    }

    /// The opset of the default domain.
    #[must_use]
    pub fn opset(mut self, opset: u32) -> Converter {
        self.options.output.opset = Some(opset);
        self
    }

    /// The runtime that the model is for, by name (`tensorrt-8.6`). It determines the opset, unless
    /// [`Converter::opset`] sets one that it supports.
    ///
    /// # Errors
    /// No runtime has this name.
    pub fn target(mut self, name: &str) -> Result<Converter> {
        self.options.output.target = Some(aten2onnx_onnx::targets::find(name)?);
        Ok(self)
    }

    /// Reads a model and converts it, without writing it. Weights are not read.
    ///
    /// # Errors
    /// A damaged file, or everything that the target lacks.
    pub fn read(&self, source: impl AsRef<Path>) -> Result<Exported> {
        convert(&Source::open(source.as_ref())?, &self.options)
    }

    /// Converts an `.onnx` file to another one.
    ///
    /// # Errors
    /// Those of [`Converter::read`], or a file that cannot be written.
    pub fn convert(&self, source: impl AsRef<Path>, destination: impl AsRef<Path>) -> Result<Summary> {
        let start = Instant::now();
        let converted = self.read(source)?;
        let written = converted.write_file(destination, &mut |_, _| Ok(()))?;
        Ok(converted.summary(written, start))
    }
}

impl From<ConvertOptions> for Converter {
    fn from(options: ConvertOptions) -> Converter {
        Converter { options }
    }
}

/// Converts a model.
///
/// # Errors
/// A damaged model, or everything that the target does not support.
pub fn convert(source: &Source, options: &ConvertOptions) -> Result<Exported> {
    let opset = options.output.checked_opset()?;
    let path = source.file.path.clone();
    let mut converted = graph::convert(source, options, opset).map_err(|error| error.at(path.display().to_string()))?;
    converted.source = path;
    Ok(converted)
}
