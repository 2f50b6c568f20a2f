//! A part of a model between values, nodes or modules: `aten2onnx extract`.
//!
//! The part consists of the nodes on all ways from the start to the end. What else they need becomes an input, except for what depends on
//! no input of the model, which the part computes itself.

use rustc_hash::FxHashSet;

use super::index::Index;
use super::made::Made;
use super::part::{self, Part};
use super::places::{self, NamedPlace};
use super::types::Types;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::read::Source;
use aten2onnx_onnx::{ExternalData, pack};
use aten2onnx_options::InputSpec;
use aten2onnx_rules::Rules;

/// What to extract.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where the part begins: at values, or with nodes or modules; by default at the inputs of the model.
    pub from: Vec<String>,
    /// Where it ends: with values, nodes or modules; by default with the outputs of the model.
    pub to: Vec<String>,
    /// Types of values that the model does not declare.
    pub types: Vec<InputSpec>,
    /// Where the weights go.
    pub external_data: ExternalData,
}

/// Extracts a part of a model.
///
/// # Errors
/// Names that the model does not have, places without anything between them, and types that are not known.
pub fn extract(source: &Source, options: &Options, rules: &Rules) -> Result<Made> {
    let path = source.file.path.clone();
    let model = pack::streamed(source)?;
    let found = (|| {
        let index = Index::of(&model)?;
        let order = index.order()?;
        let types = Types::of(source, &model, &order, rules, &options.types)?;
        let (part, notes) = part_of(&index, &order, options)?;
        Ok((part::model_of(&model, &index, &types, &part)?, notes))
    })();
    let (model, notes) = found.map_err(|error: Error| error.at(path.display().to_string()))?;
    Ok(Made::of(model, notes, &[source], options.external_data))
}

/// Where a part begins.
#[derive(Default)]
struct Start<'a> {
    /// The values that become inputs, in order.
    cuts: Vec<&'a str>,
    /// The nodes that it begins with.
    nodes: FxHashSet<usize>,
    /// The values that the user named.
    named: Vec<&'a str>,
}

fn part_of(index: &Index<'_>, order: &[usize], options: &Options) -> Result<(Part, Vec<String>)> {
    let constants = part::constants(index, order);
    let start = start(index, &options.from, &constants)?;
    let reached = match options.from.is_empty() {
        true => order.iter().copied().collect(),
        false => reached(index, order, &start),
    };
    let ends = match options.to.is_empty() {
        true => outputs(index, &reached),
        false => ends(index, &options.to)?,
    };
    if let Some(end) = ends.iter().find(|end| start.cuts.contains(end)) {
        return Err(Error::unsupported(format!("the part would begin and end at `{end}`"))
            .help("choose places with nodes between them"));
    }
    let needed = part::needed(index, &ends, &start.cuts);
    let mut nodes: FxHashSet<usize> = needed.iter().copied().filter(|node| reached.contains(node)).collect();
    check_ends(index, &ends, &nodes, &start)?;
    part::add_constants(index, &mut nodes, &constants, &start.cuts);
    let nodes: Vec<usize> = order.iter().copied().filter(|node| nodes.contains(node)).collect();
    let asked = if options.from.is_empty() { index.inputs.clone() } else { start.cuts.clone() };
    let inputs = part::inputs_of(index, &nodes, &asked);
    if let Some(unused) = start.named.iter().find(|name| !inputs.iter().any(|input| input == *name)) {
        return Err(Error::unsupported(format!("`{}` does not depend on `{unused}`", ends.join("`, `")))
            .help(format!("leave `{unused}` out of `--from`, or add what depends on it to `--to`")));
    }
    let others: Vec<&String> = inputs.iter().filter(|name| !asked.contains(&name.as_str())).collect();
    let mut notes = Vec::new();
    if !others.is_empty() {
        let others = others.iter().map(|name| name.as_str()).collect::<Vec<_>>().join("`, `");
        notes.push(format!("the part also needs `{others}`, which is computed outside of it: inputs of the part"));
    }
    let left = index.outputs.iter().copied().filter(|name| options.to.is_empty() && !ends.contains(name));
    let left: Vec<&str> = left.collect();
    if !left.is_empty() {
        notes.push(format!("`{}` does not depend on the start: no output of the part", left.join("`, `")));
    }
    let outputs = ends.iter().map(|name| (*name).to_owned()).collect();
    Ok((Part { nodes, inputs, outputs }, notes))
}

/// Where the part begins. Nodes and modules begin with what they take from outside.
fn start<'a>(index: &Index<'a>, from: &[String], constants: &FxHashSet<usize>) -> Result<Start<'a>> {
    let mut start = Start::default();
    for name in from {
        match places::find(index, name)? {
            NamedPlace::Value(value) => {
                start.cuts.push(value);
                start.named.push(value);
            }
            NamedPlace::Nodes(nodes) => {
                let inside: FxHashSet<&str> = nodes.iter().flat_map(|node| index.computes(*node)).collect();
                let is_computed = |name: &&str| match index.producer(name) {
                    Some(producer) => !constants.contains(&producer) && !inside.contains(name),
                    None => !index.initializers.contains(name),
                };
                let taken = nodes.iter().flat_map(|node| index.reads(*node)).copied();
                start.cuts.extend(taken.filter(is_computed));
                start.nodes.extend(nodes);
            }
        }
    }
    // What one of the places computes is not an input of another.
    let inside: FxHashSet<&str> = start.nodes.iter().flat_map(|node| index.computes(*node)).collect();
    let mut known = FxHashSet::default();
    let named: FxHashSet<&str> = start.named.iter().copied().collect();
    start.cuts.retain(|name| (named.contains(name) || !inside.contains(name)) && known.insert(*name));
    Ok(start)
}

/// The outputs of the model that the start leads to.
fn outputs<'a>(index: &Index<'a>, reached: &FxHashSet<usize>) -> Vec<&'a str> {
    let is_reached = |name: &&str| index.producer(name).is_some_and(|node| reached.contains(&node));
    index.outputs.iter().copied().filter(is_reached).collect()
}

/// The values that the part ends with.
fn ends<'a>(index: &Index<'a>, to: &[String]) -> Result<Vec<&'a str>> {
    let mut ends = Vec::new();
    for name in to {
        match places::find(index, name)? {
            NamedPlace::Value(value) if index.producer(value).is_none() => {
                let what = if index.initializers.contains(value) { "a weight" } else { "an input of the model" };
                return Err(Error::unsupported(format!("the part cannot end at `{value}`, which is {what}"))
                    .help("name values that nodes compute, nodes, or modules"));
            }
            NamedPlace::Value(value) => ends.push(value),
            NamedPlace::Nodes(nodes) => {
                let given = given(index, &nodes);
                if given.is_empty() {
                    return Err(Error::unsupported(format!("nothing reads what `{name}` computes"))
                        .help("name a value that it computes"));
                }
                ends.extend(given);
            }
        }
    }
    let mut known = FxHashSet::default();
    ends.retain(|name| known.insert(*name));
    Ok(ends)
}

/// What nodes compute that is read outside of them, or is an output of the model; of a single node all that is read at all.
fn given<'a>(index: &Index<'a>, nodes: &[usize]) -> Vec<&'a str> {
    let own: FxHashSet<usize> = nodes.iter().copied().collect();
    let is_read =
        |name: &&str| index.outputs.contains(name) || index.readers(name).iter().any(|reader| !own.contains(reader));
    nodes.iter().flat_map(|node| index.computes(*node)).filter(is_read).collect()
}

/// The nodes that depend on the start, and those that it names.
fn reached(index: &Index<'_>, order: &[usize], start: &Start<'_>) -> FxHashSet<usize> {
    let mut known: FxHashSet<&str> = start.cuts.iter().copied().collect();
    let mut found = FxHashSet::default();
    for node in order {
        if start.nodes.contains(node) || index.reads(*node).iter().any(|name| known.contains(name)) {
            found.insert(*node);
            known.extend(index.computes(*node));
        }
    }
    found
}

/// Checks that the part computes its ends.
fn check_ends(index: &Index<'_>, ends: &[&str], nodes: &FxHashSet<usize>, start: &Start<'_>) -> Result<()> {
    let is_inside = |end: &&&str| index.producer(end).is_some_and(|node| nodes.contains(&node));
    if ends.is_empty() {
        return Err(Error::unsupported("no output of the model depends on the start of the part")
            .help("name the end with `--to`, or an earlier start with `--from`"));
    }
    match ends.iter().find(|end| !is_inside(end)) {
        Some(end) => {
            let begin = start.cuts.join("`, `");
            Err(Error::unsupported(format!("`{end}` does not depend on the start of the part, `{begin}`"))
                .help("name an earlier start with `--from`, or leave it out for the inputs of the model"))
        }
        None => Ok(()),
    }
}
