//! A model in parts that run one after the other: `aten2onnx split`.
//!
//! Each part is a run of nodes in an order in which each value is computed before it is read, so no part waits for a later one. What a part
//! gives to others keeps its name. Nodes that depend on no input of the model are copied into each part that reads them, as weights are.

mod cuts;
mod target;
mod wiring;

use std::path::Path;

use rustc_hash::{FxHashMap, FxHashSet};

use super::index::Index;
use super::made::Made;
use super::part::{self, Part};
use super::types::Types;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::proto::TensorProto;
use aten2onnx_onnx::read::Source;
use aten2onnx_onnx::targets::Target;
use aten2onnx_onnx::write::{Listed, Progress, write_apart};
use aten2onnx_onnx::{ExternalData, Model, Written, pack};
use aten2onnx_options::InputSpec;
use aten2onnx_rules::Rules;
pub use wiring::{PartWire, WiredPart, Wiring};

/// Where a model is cut.
#[derive(Debug, Clone)]
pub enum By {
    /// Before each of these modules, nodes or values.
    Places(Vec<String>),
    /// After so many nodes.
    Nodes(usize),
    /// Where the weights of a part would take more bytes.
    Bytes(u64),
    /// Into so many parts, whose weights take about the same number of bytes.
    Parts(usize),
    /// Around what a runtime does not run.
    Target(&'static Target),
}

/// How to split.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the model is cut.
    pub by: By,
    /// Types of values that the model does not declare.
    pub types: Vec<InputSpec>,
    /// Where the weights go.
    pub external_data: ExternalData,
}

/// The parts of a model, and how they are wired.
#[derive(Debug)]
pub struct Split {
    /// The parts in the order in which they run.
    pub parts: Vec<Made>,
    /// How they are wired.
    pub wiring: Wiring,
}

impl Split {
    /// Writes the parts and `NAME.json` into a folder. All files appear when all are complete.
    ///
    /// # Errors
    /// Weights that cannot be linked or are too large, and whatever prevents writing. The files that were there before are there then.
    pub fn write(&self, folder: &Path, name: &str, progress: &mut Progress<'_>) -> Result<Vec<Written>> {
        let files = self.parts.iter().zip(&self.wiring.parts);
        let models: Vec<_> =
            files.map(|(made, wired)| (&made.model, made.external_data, folder.join(&wired.file))).collect();
        let sources: Vec<_> = self.parts.iter().flat_map(|made| made.sources.clone()).collect();
        let (path, text) = (folder.join(format!("{name}.json")), self.wiring.json());
        write_apart(&models, Listed { path: &path, text: &text }, &sources, progress)
    }
}

/// Splits a model. The files of its parts are `NAME-1.onnx` and so on.
///
/// # Errors
/// Places that the model does not have, parts that cannot be so small, and types that are not known.
pub fn split(source: &Source, name: &str, options: &Options, rules: &Rules) -> Result<Split> {
    let model = pack::streamed(source)?;
    let found = (|| {
        let index = Index::of(&model)?;
        let order = index.order()?;
        let types = Types::of(source, &model, &order, rules, &options.types)?;
        match &options.by {
            By::Target(runtime) => {
                let split = target::Splitting { source, model: &model, index: &index, order: &order, types: &types };
                split.around(runtime, name, options.external_data, rules)
            }
            by => plain(source, &model, &index, &order, &types, (name, by, options.external_data)),
        }
    })();
    found.map_err(|error: Error| error.at(source.file.path.display().to_string()))
}

/// The parts of a model as it is.
fn plain(
    source: &Source,
    model: &Model,
    index: &Index<'_>,
    order: &[usize],
    types: &Types<'_>,
    (name, by, external_data): (&str, &By, ExternalData),
) -> Result<Split> {
    let constants = part::constants(index, order);
    let movable = movable(index, order, &constants)?;
    let runs = cuts::runs(index, &movable, &sizes(model), by)?;
    let parts = parts(index, order, &runs, &constants);
    let models = parts.iter().map(|part| part::model_of(model, index, types, part)).collect::<Result<Vec<_>>>()?;
    let wiring = Wiring::of(index, name, &parts, &models);
    let made = |model| Made::of(model, Vec::new(), &[source], external_data);
    Ok(Split { parts: models.into_iter().map(made).collect(), wiring })
}

/// The bytes of each initializer.
fn sizes(model: &Model) -> FxHashMap<&str, u64> {
    let inside = model.proto.graph.iter().flat_map(|graph| &graph.initializer);
    let inside = inside.map(|tensor| (tensor.name(), byte_len(tensor)));
    let outside = model.weights.iter().map(|weight| (weight.name.as_str(), weight.weight.byte_len().unwrap_or(0)));
    inside.chain(outside).collect()
}

fn byte_len(tensor: &TensorProto) -> u64 {
    let count = tensor.dims.iter().try_fold(1u64, |count, size| count.checked_mul(u64::try_from(*size).ok()?));
    Dtype::from_onnx(tensor.data_type()).zip(count).and_then(|(dtype, count)| dtype.bytes(count)).unwrap_or(0)
}

/// The nodes that outputs depend on, without those that parts copy.
fn movable(index: &Index<'_>, order: &[usize], constants: &FxHashSet<usize>) -> Result<Vec<usize>> {
    let wanted = part::needed(index, &index.outputs, &[]);
    let movable: Vec<usize> =
        order.iter().copied().filter(|node| wanted.contains(node) && !constants.contains(node)).collect();
    match movable.is_empty() {
        true => Err(Error::unsupported("no node of the model computes an output from its inputs")
            .help("only models with such nodes can be split")),
        false => Ok(movable),
    }
}

/// The parts, each with its copies of constants.
fn parts(index: &Index<'_>, order: &[usize], runs: &[cuts::Run], constants: &FxHashSet<usize>) -> Vec<Part> {
    let last = runs.len().saturating_sub(1);
    let home: FxHashMap<usize, usize> =
        runs.iter().enumerate().flat_map(|(number, run)| run.iter().map(move |node| (*node, number))).collect();
    let part = |(number, run): (usize, &cuts::Run)| {
        let mut nodes: FxHashSet<usize> = run.iter().copied().collect();
        let constant = |name: &&str| index.producer(name).is_none_or(|node| constants.contains(&node));
        let own = index
            .outputs
            .iter()
            .copied()
            .filter(|name| number == last && constant(name) && !index.inputs.contains(name));
        let own: Vec<&str> = own.collect();
        nodes.extend(own.iter().filter_map(|name| index.producer(name)));
        part::add_constants(index, &mut nodes, constants, &[]);
        let nodes: Vec<usize> = order.iter().copied().filter(|node| nodes.contains(node)).collect();
        let is_given = |name: &&str| {
            let elsewhere = |node: &usize| home.get(node).is_some_and(|other| *other != number);
            index.outputs.contains(name) || index.readers(name).iter().any(elsewhere)
        };
        let given = run.iter().flat_map(|node| index.computes(*node)).filter(is_given);
        let outputs = given.chain(own).map(str::to_owned).collect();
        Part { inputs: part::inputs_of(index, &nodes, &index.inputs), nodes, outputs }
    };
    runs.iter().enumerate().map(part).collect()
}
