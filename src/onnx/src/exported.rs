//! A model that is built but not yet written: the result of exports and conversions.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::graph::Graph;
use crate::model::Model;
use crate::write::{self, Progress};
use crate::write::{ExternalData, Written};
use aten2onnx_core::error::Result;

/// A model that is ready to be written; its weights are still in the source.
#[derive(Debug)]
pub struct Exported {
    /// The graph.
    pub graph: Graph,
    /// The same as messages, with the list of weights that are still in the source.
    pub model: Model,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Where the model is right, if not for all sizes that its inputs name: `n % 16 == 0`.
    pub conditions: Vec<String>,
    /// The source file, which must not be overwritten while its weights are copied.
    pub source: PathBuf,
    /// Where the weights go.
    pub external_data: ExternalData,
}

/// The summary of an export or conversion.
#[derive(Debug, Clone)]
pub struct Summary {
    /// The opset of the default domain.
    pub opset: u32,
    /// The IR version.
    pub ir: i64,
    /// The number of nodes, including those of subgraphs.
    pub nodes: usize,
    /// The sizes of the files.
    pub written: Written,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// From opening the source to closing the destination.
    pub took: Duration,
}

impl Exported {
    /// Writes the model to a file, and external data to `<name>.data` next to it if needed. Both files appear when they
    /// are complete.
    pub fn write_file(&self, path: impl AsRef<Path>, progress: &mut Progress<'_>) -> Result<Written> {
        let sources = std::slice::from_ref(&self.source);
        write::write_file(&self.model, path.as_ref(), self.external_data, sources, progress)
    }

    /// Writes the model to a stream, including the weights.
    pub fn write_to(&self, out: &mut dyn Write, progress: &mut Progress<'_>) -> Result<Written> {
        write::write_stream(&self.model, self.external_data, out, progress)
    }

    /// Changes where the weights are stored.
    pub fn set_external_data(&mut self, external_data: ExternalData) {
        self.external_data = external_data;
    }

    /// The IR version of the model.
    pub fn ir_version(&self) -> i64 {
        self.model.proto.ir_version()
    }

    /// The number of nodes, including those of subgraphs.
    pub fn nodes(&self) -> usize {
        let mut count = 0;
        self.graph.body.visit(&mut |_| count += 1);
        count
    }

    /// The summary of an export or conversion that started at `start`.
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
