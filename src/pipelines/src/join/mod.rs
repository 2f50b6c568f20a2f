//! Models as one: outputs of some are inputs of others, or they stand side by side. `aten2onnx join`.

mod apart;
mod common;
mod head;
mod wires;

use rustc_hash::FxHashSet;

use super::index::{Index, sort};
use super::made::{FIRST_WITH_WEIGHTS, Made, raise_ir};
use super::types::opset_of;
use aten2onnx_convert::convert;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::proto::GraphProto;
use aten2onnx_onnx::read::Source;
use aten2onnx_onnx::{ExternalData, Model, pack};
use aten2onnx_options::{ConvertOptions, OutputOptions};
use aten2onnx_rules::Rules;
pub use wires::Wire;

/// How to join.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Which outputs are which inputs.
    pub wires: Vec<Wire>,
    /// Inputs that several models have, and that are one.
    pub share: Vec<String>,
    /// Outputs that stay although they are wired.
    pub keep: Vec<String>,
    /// The opset of the result; by default the newest of the models.
    pub opset: Option<u32>,
    /// Where the weights go.
    pub external_data: ExternalData,
}

/// A model on its way into another one.
#[derive(Debug)]
pub struct Joined {
    /// The name of its file, which is put before names that clash.
    pub name: String,
    /// The model.
    pub model: Model,
}

/// Joins models, each with its name. Their names stay, except where they clash.
///
/// # Errors
/// Wires that do not fit, and what a conversion to one opset does not support.
pub fn join(sources: &[(String, Source)], options: &Options, rules: &Rules) -> Result<Made> {
    let newest = sources.iter().map(|(_, source)| opset_of(&source.proto)).max().unwrap_or(1);
    let opset = options.opset.unwrap_or(newest);
    let mut notes = Vec::new();
    let mut parts = Vec::with_capacity(sources.len());
    for (name, source) in sources {
        let own = opset_of(&source.proto);
        let model = match own == opset {
            true => pack::streamed(source)?,
            false => {
                notes.push(format!("`{name}` is converted from opset {own} to {opset}"));
                let converted = ConvertOptions::from(OutputOptions::of_rules(rules, opset, None));
                convert(source, &converted)?.model
            }
        };
        Index::of(&model).map_err(|error| error.at(source.file.path.display().to_string()))?;
        parts.push(Joined { name: name.clone(), model });
    }
    let mut wired = wires::find(&parts, &options.wires)?;
    wired.extend(wires::shared(&parts, &options.share, &wired)?);
    wires::unite_dims(&mut parts, &wired, &mut notes)?;
    apart::keep_apart(&mut parts, &wired)?;
    let model = one(parts, options, opset)?;
    let sources: Vec<&Source> = sources.iter().map(|(_, source)| source).collect();
    Ok(Made::of(model, notes, &sources, options.external_data))
}

/// The models as one, after names were told apart: a wired input has the name of the output.
fn one(parts: Vec<Joined>, options: &Options, opset: u32) -> Result<Model> {
    let mut model = Model { proto: head::head_of(&parts, opset)?, weights: Vec::new() };
    let old_ir = |part: &Joined| part.model.proto.ir_version() < i64::from(FIRST_WITH_WEIGHTS);
    let is_old = parts.iter().all(old_ir);
    let computed = computed(&parts);
    let given: FxHashSet<String> = parts.iter().flat_map(inputs).filter(|name| computed.contains(name)).collect();
    let mut known: FxHashSet<String> = FxHashSet::default();
    let mut graph = GraphProto { name: Some("joined".to_owned()), ..GraphProto::default() };
    for part in parts {
        let drop_weights = old_ir(&part) && !is_old;
        let weights: FxHashSet<String> = weights(&part).collect();
        let own = part.model.proto.graph.unwrap_or_default();
        graph.node.extend(own.node);
        // A default of a wired input is never used.
        graph.initializer.extend(own.initializer.into_iter().filter(|tensor| !given.contains(tensor.name())));
        model.weights.extend(part.model.weights.into_iter().filter(|weight| !given.contains(&weight.name)));
        graph.sparse_initializer.extend(own.sparse_initializer);
        let is_kept = |name: &str| !(given.contains(name) || drop_weights && weights.contains(name));
        // Shared inputs have one name.
        graph.input.extend(own.input.into_iter().filter(|i| is_kept(i.name()) && known.insert(i.name().to_owned())));
        let is_wired = |name: &str| given.contains(name) && !options.keep.iter().any(|kept| kept == name);
        let (wired, outputs): (Vec<_>, Vec<_>) = own.output.into_iter().partition(|output| is_wired(output.name()));
        graph.output.extend(outputs);
        graph.value_info.extend(own.value_info.into_iter().chain(wired));
        graph.quantization_annotation.extend(own.quantization_annotation);
        graph.metadata_props.extend(own.metadata_props);
    }
    let stated: FxHashSet<&str> = graph.input.iter().chain(&graph.output).map(|value| value.name()).collect();
    let is_stated: Vec<bool> = graph.value_info.iter().map(|info| stated.contains(info.name())).collect();
    let mut is_stated = is_stated.into_iter();
    graph.value_info.retain(|_| !is_stated.next().unwrap_or_default());
    sort(&mut graph.node).map_err(|error| {
        Error::unsupported("the wires make a circle")
            .help("an output cannot depend on an input that it is wired to")
            .at(error.place.first().cloned().unwrap_or_default())
    })?;
    check_outputs(&graph, &options.keep)?;
    model.proto.graph = Some(graph);
    raise_ir(&mut model);
    Index::of(&model)?;
    Ok(model)
}

fn check_outputs(graph: &GraphProto, keep: &[String]) -> Result<()> {
    if let Some(name) = keep.iter().find(|name| !graph.output.iter().any(|output| output.name() == **name)) {
        let known: Vec<&str> = graph.output.iter().map(|output| output.name()).collect();
        return Err(Error::unsupported(format!("no model has an output `{name}` to keep"))
            .help(format!("the outputs are `{}`", known.join("`, `"))));
    }
    match graph.output.is_empty() {
        true => Err(Error::unsupported("all outputs are wired, so that none would be left")
            .help("name one that stays an output: `--keep NAME`")),
        false => Ok(()),
    }
}

/// What nodes of all models compute.
fn computed(parts: &[Joined]) -> FxHashSet<String> {
    let nodes = parts.iter().filter_map(|part| part.model.proto.graph.as_ref()).flat_map(|graph| &graph.node);
    nodes.flat_map(|node| &node.output).filter(|name| !name.is_empty()).cloned().collect()
}

fn inputs(part: &Joined) -> impl Iterator<Item = String> {
    part.model.proto.graph.iter().flat_map(|graph| &graph.input).map(|input| input.name().to_owned())
}

fn weights(part: &Joined) -> impl Iterator<Item = String> {
    let inside = part.model.proto.graph.iter().flat_map(|graph| &graph.initializer).map(|t| t.name().to_owned());
    inside.chain(part.model.weights.iter().map(|weight| weight.name.clone()))
}
