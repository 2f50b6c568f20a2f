//! Changes of a model that leave what it computes: `aten2onnx edit`.

mod equal;
mod free;
mod interface;
mod strip;
mod weights;

use rustc_hash::FxHashSet;

use super::dims;
use super::index::{Index, graph_of, sort};
use super::made::{Made, raise_ir};
use super::names;
use super::part;
use super::places::no_such;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::read::Source;
use aten2onnx_onnx::{ExternalData, Model, pack};
use aten2onnx_options::{DimName, Rename};
use aten2onnx_rules::Rules;
pub use strip::Strip;

/// What to change. All names are those that the model has before.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// New names of inputs.
    pub input_names: Vec<Rename>,
    /// New names of outputs.
    pub output_names: Vec<Rename>,
    /// New names of dimensions, or numbers.
    pub dims: Vec<DimName>,
    /// Outputs to leave out, with all that only they need.
    pub drop_outputs: Vec<String>,
    /// The dtypes of inputs, which are cast to what they were.
    pub input_types: Vec<(String, Dtype)>,
    /// The dtypes of outputs, which are cast from what they were.
    pub output_types: Vec<(String, Dtype)>,
    /// Weights that become inputs.
    pub to_inputs: Vec<String>,
    /// Whether these keep their values as defaults.
    pub keep_defaults: bool,
    /// Inputs that become weights, with their elements; without them the input has a default.
    pub to_weights: Vec<(String, Option<Vec<f64>>)>,
    /// What to remove.
    pub strip: Vec<Strip>,
    /// Entries of the model's metadata to remove.
    pub drop_metadata: Vec<String>,
    /// Whether nodes are put in an order in which each value is computed before it is read.
    pub sort: bool,
    /// Whether equal weights become one.
    pub deduplicate: bool,
    /// Where the weights go.
    pub external_data: ExternalData,
}

/// Changes a model.
///
/// # Errors
/// Names that the model does not have, and changes that it does not allow.
pub fn edit(source: &Source, options: &Options, rules: &Rules) -> Result<Made> {
    let mut model = pack::streamed(source)?;
    let mut notes = Vec::new();
    let done = change(&mut model, source, options, rules, &mut notes);
    done.map_err(|error| error.at(source.file.path.display().to_string()))?;
    Ok(Made::of(model, notes, &[source], options.external_data))
}

fn change(model: &mut Model, source: &Source, options: &Options, rules: &Rules, notes: &mut Vec<String>) -> Result<()> {
    Index::of(model)?;
    let renamed = interface::names(graph_of(&model.proto)?, options)?;
    free::free(model, source, &options.dims, rules, notes)?;
    dims::change(model, &options.dims)?;
    drop_outputs(model, &options.drop_outputs)?;
    weights::to_inputs(model, &options.to_inputs, options.keep_defaults)?;
    weights::to_weights(model, &options.to_weights)?;
    interface::cast(model, &options.input_types, &options.output_types)?;
    names::check_unique(model, &renamed)?;
    names::rename(model, &renamed);
    drop_metadata(model, &options.drop_metadata)?;
    if options.deduplicate {
        notes.push(equal::deduplicate(model)?);
    }
    if let Some(graph) = model.proto.graph.as_mut().filter(|_| options.sort) {
        sort(&mut graph.node)?;
    }
    strip::strip(model, &options.strip);
    raise_ir(model);
    Ok(())
}

/// Leaves outputs out, and then the nodes and weights that only they need.
fn drop_outputs(model: &mut Model, dropped: &[String]) -> Result<()> {
    if dropped.is_empty() {
        return Ok(());
    }
    let index = Index::of(model)?;
    if let Some(name) = dropped.iter().find(|name| !index.outputs.contains(&name.as_str())) {
        return Err(no_such("output", name, index.outputs.iter().copied()));
    }
    let kept: Vec<&str> = index.outputs.iter().copied().filter(|name| !dropped.iter().any(|d| d == name)).collect();
    if kept.is_empty() {
        return Err(Error::unsupported("no output of the model would be left").help("keep at least one output"));
    }
    let kept: FxHashSet<String> = kept.into_iter().map(str::to_owned).collect();
    let ends: Vec<&str> = kept.iter().map(String::as_str).collect();
    let wanted = part::needed(&index, &ends, &[]);
    let read: FxHashSet<String> =
        wanted.iter().flat_map(|node| index.reads(*node)).map(|name| (*name).to_owned()).collect();
    let computed: FxHashSet<String> = wanted.iter().flat_map(|node| index.computes(*node)).map(str::to_owned).collect();
    let is_used = |name: &str| read.contains(name) || kept.contains(name);
    model.weights.retain(|weight| is_used(&weight.name));
    let Some(graph) = &mut model.proto.graph else { return Ok(()) };
    let mut number = 0..;
    graph.node.retain(|_| number.next().is_some_and(|number| wanted.contains(&number)));
    graph.output.retain(|output| kept.contains(output.name()));
    graph.initializer.retain(|tensor| is_used(tensor.name()));
    graph.sparse_initializer.retain(|tensor| tensor.values.as_ref().is_some_and(|values| is_used(values.name())));
    graph.value_info.retain(|info| computed.contains(info.name()) || is_used(info.name()));
    graph.quantization_annotation.retain(|note| computed.contains(note.tensor_name()) || is_used(note.tensor_name()));
    let functions = part::called(&model.proto.functions, &graph.node);
    model.proto.functions = functions;
    Ok(())
}

fn drop_metadata(model: &mut Model, keys: &[String]) -> Result<()> {
    for key in keys {
        let count = model.proto.metadata_props.len();
        model.proto.metadata_props.retain(|entry| entry.key() != key);
        if model.proto.metadata_props.len() == count {
            let known = model.proto.metadata_props.iter().map(|entry| entry.key());
            return Err(no_such("entry of metadata", key, known));
        }
    }
    Ok(())
}
