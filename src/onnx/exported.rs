//! A model that is made and not yet written: what exports and conversions end in.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::graph::Graph;
use crate::model::Model;
use crate::write::{self, Progress};
use crate::write::{ExternalData, Written};
use aten2onnx_core::error::{Error, Result};

/// A model that is ready to be written; its weights still lie in the source.
#[derive(Debug)]
pub struct Exported {
    /// The graph.
    pub graph: Graph,
    /// The same as messages, with a list of weights that still lie in the source.
    pub model: Model,
    /// Things worth telling the user.
    pub notes: Vec<String>,
    /// The file that it was made from, which must not be overwritten while its weights are copied.
    pub source: PathBuf,
    /// Where the weights go.
    pub external_data: ExternalData,
}

/// What was done, once it is written.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The opset of the default domain.
    pub opset: u32,
    /// The IR version.
    pub ir: i64,
    /// Nodes, those in bodies too.
    pub nodes: usize,
    /// Sizes.
    pub written: Written,
    /// Things worth knowing.
    pub notes: Vec<String>,
    /// From opening the source to closing the destination.
    pub took: Duration,
}

impl Exported {
    /// Writes the model to a file, and perhaps `<name>.data` beside it. Both appear when they are whole.
    pub fn write_file(&self, path: impl AsRef<Path>, progress: &mut Progress<'_>) -> Result<Written> {
        let sources = std::slice::from_ref(&self.source);
        write::write_file(&self.model, path.as_ref(), self.external_data, sources, progress)
    }

    /// Writes the model to a stream, all in one.
    pub fn write_to(&self, out: &mut dyn Write, progress: &mut Progress<'_>) -> Result<Written> {
        let asked = match self.external_data {
            ExternalData::Always => "always",
            ExternalData::Link => "link",
            ExternalData::Auto | ExternalData::Never => return write::write_to(&self.model, out, progress),
        };
        let error = Error::unsupported("a stream can have no external data beside it");
        Err(error.help(format!("leave out `--external-data {asked}`, or write to a file")))
    }

    /// Chooses anew where the weights go.
    pub fn set_external_data(&mut self, external_data: ExternalData) {
        self.external_data = external_data;
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

    /// What an export or a conversion that began at `start` did.
    pub fn summary(&self, written: Written, start: Instant) -> Summary {
        Summary {
            opset: self.graph.opset,
            ir: self.ir_version(),
            nodes: self.nodes(),
            written,
            notes: self.notes.clone(),
            took: start.elapsed(),
        }
    }
}
