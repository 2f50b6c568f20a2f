//! A model in parts that run one after the other: `aten2onnx split`.
//!
//! Each part is a run of nodes in an order in which each value is computed before it is read, so no part waits for a later one. What a part
//! gives to others keeps its name. Nodes that depend on no input of the model are copied into each part that reads them, as weights are.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::index::{Index, place_of};
use super::made::Made;
use super::part::{self, Part};
use super::places::{self, Place};
use super::types::Types;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::proto::TensorProto;
use aten2onnx_onnx::read::Source;
use aten2onnx_onnx::{ExternalData, Model, pack};
use aten2onnx_options::InputSpec;
use aten2onnx_rules::Rules;

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

/// How the parts of a model are wired: values of the same name are the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wiring {
    /// The version of this form.
    pub format: u32,
    /// The inputs of the model in order.
    pub inputs: Vec<String>,
    /// The outputs of the model in order.
    pub outputs: Vec<String>,
    /// The parts in the order in which they run.
    pub parts: Vec<Wired>,
    /// The values that one part gives to others.
    pub wires: Vec<Wire>,
}

/// A part, as the wiring names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wired {
    /// The file, beside that of the wiring.
    pub file: String,
    /// Its inputs in order.
    pub inputs: Vec<String>,
    /// Its outputs in order.
    pub outputs: Vec<String>,
    /// The number of its nodes.
    pub nodes: usize,
    /// The bytes of its weights.
    pub weights: u64,
}

/// A value that one part gives to others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wire {
    /// Its name.
    pub value: String,
    /// The file of the part that computes it.
    pub from: String,
    /// The files of the parts that read it.
    pub to: Vec<String>,
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
        let sizes = sizes(&model);
        let parts = parts(&index, &order, &sizes, &options.by)?;
        let models =
            parts.iter().map(|part| part::model_of(&model, &index, &types, part)).collect::<Result<Vec<_>>>()?;
        let wiring = wiring(&index, name, &parts, &models);
        Ok((models, wiring))
    })();
    let (models, wiring) = found.map_err(|error: Error| error.at(source.file.path.display().to_string()))?;
    let made = |model| Made::of(model, Vec::new(), &[source], options.external_data);
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

/// The parts, each with its copies of constants.
fn parts(index: &Index<'_>, order: &[usize], sizes: &FxHashMap<&str, u64>, by: &By) -> Result<Vec<Part>> {
    let constants = part::constants(index, order);
    let wanted = part::needed(index, &index.outputs, &[]);
    let movable: Vec<usize> =
        order.iter().copied().filter(|node| wanted.contains(node) && !constants.contains(node)).collect();
    if movable.is_empty() {
        return Err(Error::unsupported("no node of the model computes an output from its inputs")
            .help("only models with such nodes can be split"));
    }
    let runs = match by {
        By::Places(names) => at_places(index, &movable, names)?,
        By::Nodes(count) => movable.chunks((*count).max(1)).map(<[usize]>::to_vec).collect(),
        By::Bytes(limit) => by_bytes(index, sizes, &movable, *limit)?,
        By::Parts(count) => evenly(index, sizes, &movable, *count)?,
    };
    let last = runs.len().saturating_sub(1);
    let home: FxHashMap<usize, usize> =
        runs.iter().enumerate().flat_map(|(number, run)| run.iter().map(move |node| (*node, number))).collect();
    let part = |(number, run): (usize, &Vec<usize>)| {
        let mut nodes: FxHashSet<usize> = run.iter().copied().collect();
        let constant = |name: &&str| index.producer(name).is_none_or(|node| constants.contains(&node));
        let own = index
            .outputs
            .iter()
            .copied()
            .filter(|name| number == last && constant(name) && !index.inputs.contains(name));
        let own: Vec<&str> = own.collect();
        nodes.extend(own.iter().filter_map(|name| index.producer(name)));
        part::add_constants(index, &mut nodes, &constants, &[]);
        let nodes: Vec<usize> = order.iter().copied().filter(|node| nodes.contains(node)).collect();
        let is_given = |name: &&str| {
            let elsewhere = |node: &usize| home.get(node).is_some_and(|other| *other != number);
            index.outputs.contains(name) || index.readers(name).iter().any(elsewhere)
        };
        let given = run.iter().flat_map(|node| index.computes(*node)).filter(is_given);
        let outputs = given.chain(own).map(str::to_owned).collect();
        Part { inputs: part::inputs_of(index, &nodes, &index.inputs), nodes, outputs }
    };
    Ok(runs.iter().enumerate().map(part).collect())
}

/// Cuts before the first node of each place.
fn at_places(index: &Index<'_>, movable: &[usize], names: &[String]) -> Result<Vec<Vec<usize>>> {
    let mut cuts: FxHashMap<usize, &str> = FxHashMap::default();
    for name in names {
        let nodes: FxHashSet<usize> = match places::find(index, name)? {
            Place::Value(value) => index.producer(value).into_iter().collect(),
            Place::Nodes(nodes) => nodes.into_iter().collect(),
        };
        let Some(at) = movable.iter().position(|node| nodes.contains(node)) else {
            return Err(Error::unsupported(format!("no output of the model depends on `{name}`"))
                .help("name modules, nodes or values that the outputs are computed from"));
        };
        if let Some(other) = cuts.insert(at, name).filter(|_| at > 0) {
            return Err(
                Error::unsupported(format!("`{other}` and `{name}` begin with the same node")).help("name one of them")
            );
        }
    }
    let mut runs: Vec<Vec<usize>> = Vec::new();
    for (at, node) in movable.iter().enumerate() {
        match runs.last_mut().filter(|_| !cuts.contains_key(&at)) {
            Some(run) => run.push(*node),
            None => runs.push(vec![*node]),
        }
    }
    Ok(runs)
}

/// The bytes of the weights that a node reads and that are not `known` yet.
fn added<'a>(index: &Index<'a>, sizes: &FxHashMap<&str, u64>, node: usize, known: &mut FxHashSet<&'a str>) -> u64 {
    let read = index.reads(node).iter().filter(|name| sizes.contains_key(*name) && known.insert(*name));
    read.filter_map(|name| sizes.get(name)).fold(0, |sum, size| sum.saturating_add(*size))
}

fn by_bytes(index: &Index<'_>, sizes: &FxHashMap<&str, u64>, movable: &[usize], limit: u64) -> Result<Vec<Vec<usize>>> {
    let mut runs: Vec<Vec<usize>> = Vec::new();
    let (mut known, mut bytes) = (FxHashSet::default(), 0u64);
    for node in movable {
        let alone = added(index, sizes, *node, &mut FxHashSet::default());
        if alone > limit {
            let place = index.nodes.get(*node).map(place_of).unwrap_or_default();
            return Err(Error::unsupported(format!("the weights of one node take {alone} bytes, more than {limit}"))
                .at(place)
                .help(format!("allow at least {alone} bytes: a node is not cut")));
        }
        let more = added(index, sizes, *node, &mut known);
        bytes = bytes.saturating_add(more);
        match runs.last_mut().filter(|_| bytes <= limit) {
            Some(run) => run.push(*node),
            None => {
                runs.push(vec![*node]);
                known.clear();
                bytes = added(index, sizes, *node, &mut known);
            }
        }
    }
    Ok(runs)
}

fn evenly(index: &Index<'_>, sizes: &FxHashMap<&str, u64>, movable: &[usize], count: usize) -> Result<Vec<Vec<usize>>> {
    if count > movable.len() {
        return Err(
            Error::unsupported(format!("{} nodes cannot be {count} parts", movable.len())).help("ask for fewer parts")
        );
    }
    let mut known = FxHashSet::default();
    // Nodes count a little, so that models without weights are split, too.
    let costs: Vec<u128> = movable.iter().map(|node| u128::from(added(index, sizes, *node, &mut known)) + 1).collect();
    let (all, parts) = (costs.iter().sum::<u128>(), count.max(1) as u128);
    let mut runs: Vec<Vec<usize>> = Vec::new();
    let mut done = 0u128;
    for (at, (node, cost)) in movable.iter().zip(&costs).enumerate() {
        let missing = count.saturating_sub(runs.len());
        let is_due = done * parts >= all * runs.len() as u128 || movable.len() - at == missing;
        match runs.last_mut().filter(|_| !is_due || missing == 0) {
            Some(run) => run.push(*node),
            None => runs.push(vec![*node]),
        }
        done += cost;
    }
    Ok(runs)
}

fn wiring(index: &Index<'_>, name: &str, parts: &[Part], models: &[Model]) -> Wiring {
    let file = |number: usize| format!("{name}-{}.onnx", number + 1);
    let wired = parts.iter().zip(models).enumerate().map(|(number, (part, model))| Wired {
        file: file(number),
        inputs: part.inputs.clone(),
        outputs: part.outputs.clone(),
        nodes: part.nodes.len(),
        weights: sizes(model).values().fold(0, |sum, size| sum.saturating_add(*size)),
    });
    let wire = |(number, value): (usize, &String)| {
        let readers = parts.iter().enumerate().filter(|(_, part)| part.inputs.contains(value));
        let to: Vec<String> = readers.map(|(reader, _)| file(reader)).collect();
        (!to.is_empty()).then(|| Wire { value: value.clone(), from: file(number), to })
    };
    let given =
        parts.iter().enumerate().flat_map(|(number, part)| part.outputs.iter().map(move |value| (number, value)));
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Wiring {
        format: 1,
        inputs: own(&index.inputs),
        outputs: own(&index.outputs),
        parts: wired.collect(),
        wires: given.filter_map(wire).collect(),
    }
}
