//! A model that is ready to be written, and where its weights go.

use std::io::Write;
use std::path::{Path, PathBuf};

use aten2onnx_core::error::Result;
use aten2onnx_onnx::proto::tensor_proto::DataLocation;
use aten2onnx_onnx::read::Source;
use aten2onnx_onnx::write::{Progress, write_stream};
use aten2onnx_onnx::{ExternalData, Model, Written, ir, write_file};

/// The first IR version in which a weight need not be an input.
pub const FIRST_WITH_WEIGHTS: u32 = 4;

/// A model that is ready to be written; its weights are still in the source.
#[derive(Debug)]
pub struct Made {
    /// The model.
    pub model: Model,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// The files that it is made of, which must not be overwritten.
    pub sources: Vec<PathBuf>,
    /// Where the weights go.
    pub external_data: ExternalData,
    /// Whether they go there because those of the source do.
    pub is_beside_by_default: bool,
}

impl Made {
    /// Writes the model to a file, and external data to `<name>.data` next to it if needed. Both files appear when they are complete.
    ///
    /// # Errors
    /// Weights that cannot be linked or are too large, and whatever prevents writing.
    pub fn write_file(&self, path: &Path, progress: &mut Progress<'_>) -> Result<Written> {
        write_file(&self.model, path, self.external_data, &self.sources, progress)
    }

    /// Writes the model to a stream, including the weights.
    ///
    /// # Errors
    /// External data that was asked for, and whatever prevents writing.
    pub fn write_to(&self, out: &mut dyn Write, progress: &mut Progress<'_>) -> Result<Written> {
        write_stream(&self.model, self.external_data, out, progress)
    }
}

impl Made {
    /// A model that is made of others. By default weights go beside it if those of a source are beside it.
    pub fn of(model: Model, notes: Vec<String>, sources: &[&Source], asked: ExternalData) -> Made {
        let is_beside_by_default =
            asked == ExternalData::Auto && sources.iter().any(|source| has_external_data(source));
        let external_data = if is_beside_by_default { ExternalData::Always } else { asked };
        let sources = sources.iter().map(|source| source.file.path.clone()).collect();
        Made { model, notes, sources, external_data, is_beside_by_default }
    }
}

/// Raises the IR version to what the model needs. Up to 3, weights are inputs as well; a model where they are may keep that version.
pub fn raise_ir(model: &mut Model) {
    let needed = ir::needed(model).version;
    let graph = model.proto.graph.as_ref();
    let is_input = |name: &str| graph.is_some_and(|graph| graph.input.iter().any(|input| input.name() == name));
    let mut inside = graph.iter().flat_map(|graph| &graph.initializer).map(|tensor| tensor.name());
    let may_stay = needed <= FIRST_WITH_WEIGHTS
        && inside.all(is_input)
        && model.weights.iter().all(|weight| is_input(&weight.name));
    if !may_stay {
        model.proto.ir_version = Some(model.proto.ir_version().max(needed.into()));
    }
}

fn has_external_data(source: &Source) -> bool {
    let tensors = source.proto.graph.iter().flat_map(|graph| &graph.initializer);
    tensors.into_iter().any(|tensor| tensor.data_location() == DataLocation::External)
}
