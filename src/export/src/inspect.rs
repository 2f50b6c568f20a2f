//! Inspects a program and determines which opsets support it, without exporting it.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use serde::Serialize;

use super::conditions::Conditions;
use super::fixed;
use super::quantized::Quantized;
use aten2onnx_core::error::{Details, Error, Result};
use aten2onnx_core::weights::Weight;
use aten2onnx_frontend::Contents;
use aten2onnx_frontend_torchscript::about::{About, Facts};
use aten2onnx_onnx::facts::{MAX_OPSET, MIN_OPSET};
use aten2onnx_onnx::graph::Graph as OnnxGraph;
use aten2onnx_onnx::targets::Target;
use aten2onnx_onnx::without_folders;
use aten2onnx_options::{Options, OutputOptions};
use aten2onnx_prepare::{Keep, prepare};
use aten2onnx_program::{Arg, Graph, InputKind, Node, OutputKind, Program, TensorMeta};
use aten2onnx_rules::Rules;
use aten2onnx_translate::{Blocker, preflight, translate};

/// The contents of a program.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Inspection {
    /// The file.
    pub source: String,
    /// The version of torch that wrote it.
    pub torch_version: Option<String>,
    /// The methods of a TorchScript archive; None for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub torchscript: Option<Facts>,
    /// What an ONNX model says of itself; None for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub described: Option<Described>,
    /// Inputs in order.
    pub inputs: Vec<Port>,
    /// Outputs in order.
    pub outputs: Vec<Port>,
    /// Bounds of symbolic dimensions, by symbol.
    pub symbols: BTreeMap<String, Bounds>,
    /// Where the model is right, if not for all sizes within these bounds: `s77 % 16 == 0`.
    pub conditions: Vec<String>,
    /// Weights.
    pub weights: Weights,
    /// Operators, the most frequent first.
    pub operators: Vec<Operator>,
    /// The verdict for each opset.
    pub opsets: Vec<Verdict>,
    /// The runtime that the opsets are judged for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// What an ONNX model says of itself.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Described {
    /// The program that made it.
    pub producer_name: String,
    /// The version of that program.
    pub producer_version: String,
    /// The documentation of the model.
    pub doc_string: String,
    /// The documentation of inputs and outputs that have one, by name.
    pub value_docs: BTreeMap<String, String>,
    /// The entries of its metadata, by key.
    pub metadata: BTreeMap<String, String>,
}

/// An input or output.
#[derive(Debug, Clone, Serialize)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// `tensor`, `int`, `float`, `bool`, `constant`, `none`; for an output also `buffer mutation`, `input mutation`.
    pub kind: &'static str,
    /// The element type of a tensor, with its name in PyTorch.
    pub dtype: Option<String>,
    /// The sizes of a tensor: numbers, or expressions in symbols.
    pub shape: Option<Vec<String>>,
}

/// Inclusive bounds; None if unbounded.
#[derive(Debug, Clone, Serialize)]
pub struct Bounds {
    /// The smallest value.
    pub min: Option<i64>,
    /// The largest value.
    pub max: Option<i64>,
}

/// The number of weights; tied weights count once.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Weights {
    /// Tensors.
    pub tensors: usize,
    /// Elements.
    pub elements: u64,
    /// Bytes when written.
    pub bytes: u64,
    /// The number of tensors of each dtype.
    pub dtypes: BTreeMap<String, usize>,
}

/// An operator that the program calls.
#[derive(Debug, Clone, Serialize)]
pub struct Operator {
    /// `aten::add.Tensor`
    pub operator: String,
    /// The number of calls.
    pub count: usize,
    /// The calls.
    pub calls: Vec<Place>,
}

/// The location of a call.
#[derive(Debug, Clone, Serialize)]
pub struct Place {
    /// The node: `relu_1`.
    pub node: String,
    /// The path of the module.
    pub module: Option<String>,
    /// The source line of the user, without directories.
    pub source_line: Option<String>,
}

/// Whether an opset supports the program.
#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    /// The opset.
    pub opset: u32,
    /// Whether it does.
    pub ok: bool,
    /// Why it does not.
    pub reasons: Vec<Reason>,
    /// What is replaced because the runtime lacks it or gets it wrong, and how often.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub replaced: BTreeMap<String, usize>,
    /// The quantized weights, as they are written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantized: Option<Quantized>,
}

/// What a program is judged for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Aim {
    /// The opset; None for all, or that of the runtime.
    pub opset: Option<u32>,
    /// The runtime.
    pub target: Option<&'static Target>,
}

impl Aim {
    /// The opsets to try.
    pub(super) fn opsets(self) -> Result<std::ops::RangeInclusive<u32>> {
        match (self.target, self.opset) {
            (None, None) => Ok(MIN_OPSET..=MAX_OPSET),
            (None, Some(opset)) => Ok(opset..=opset),
            (Some(target), opset) => target.opset(opset).map(|opset| opset..=opset),
        }
    }
}

/// A reason why an opset does not support the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The message.
    pub message: String,
    /// The location, from the outermost part.
    pub place: Vec<String>,
    /// How to fix it.
    pub help: Option<String>,
    /// The lowest opset that would work.
    pub needs_opset: Option<u32>,
}

/// Inspects a program for one opset, for all supported ones, or for a runtime.
///
/// # Errors
/// The runtime does not support the opset.
pub fn inspect(program: &Program, rules: &Rules, aim: Aim) -> Result<Inspection> {
    let tried = aim.opsets()?;
    let (conditions, pins) = conditions(program);
    let mut prepared = program.clone();
    let prepared = prepare(&mut prepared, Keep::default()).map(|()| prepared);
    let symbols = program.ranges.iter().map(|(name, (min, max))| (name.clone(), Bounds { min: *min, max: *max }));
    Ok(Inspection {
        source: program.source.clone(),
        torch_version: program.torch_version.clone(),
        torchscript: None,
        described: None,
        inputs: inputs(&program.graph),
        outputs: outputs(&program.graph),
        symbols: symbols.collect(),
        conditions,
        weights: weights(program.weights.iter().map(|bound| &bound.weight)),
        operators: operators(program),
        opsets: tried.map(|opset| verdict(&prepared, rules, opset, aim.target)).collect(),
        target: aim.target.map(Target::name),
        notes: program.notes.iter().cloned().chain(pins).collect(),
    })
}

/// Where a program is right, in its symbols, and notes on symbols that have one value only.
fn conditions(program: &Program) -> (Vec<String>, Vec<String>) {
    // Without sizes that a user chose there is no error.
    let found = Conditions::of(program, &Options::default()).unwrap_or_default();
    let names = fixed::names(program, &[]);
    let told = found.texts(&names);
    let notes = found.pin_notes(&names).into_iter().chain(found.layout_note()).collect();
    (told.conditions.into_iter().map(|(text, _)| text).collect(), notes)
}

/// Inspects what a file contains. A TorchScript archive whose inputs are not described has its methods, operators and
/// weights; opsets are known once it is a program.
///
/// # Errors
/// There is neither a program nor anything else to show.
pub fn inspect_contents(contents: Contents, rules: &Rules, aim: Aim) -> Result<Inspection> {
    let Contents { source, about, program } = contents;
    match (about, program) {
        (None, program) => inspect(&program?, rules, aim),
        (Some(about), Ok(program)) => {
            Ok(Inspection { torchscript: Some(about.facts), ..inspect(&program, rules, aim)? })
        }
        (Some(about), Err(error)) => without_program(source, about, error, aim),
    }
}

fn without_program(source: String, about: About, error: Error, aim: Aim) -> Result<Inspection> {
    // The file is named at the top.
    let place = error.place.iter().filter(|place| **place != source).cloned().collect();
    let reason = Reason { place, ..error.into() };
    let tried = aim.opsets()?;
    let verdict = |opset| Verdict::refused(opset, vec![reason.clone()]);
    let operator = |(operator, functions): (String, Vec<String>)| {
        let place = |node| Place { node, module: None, source_line: None };
        Operator { operator, count: functions.len(), calls: functions.into_iter().map(place).collect() }
    };
    let mut operators: Vec<Operator> = about.operators.into_iter().map(operator).collect();
    operators.sort_by_key(|operator| std::cmp::Reverse(operator.count));
    Ok(Inspection {
        source,
        torch_version: None,
        torchscript: Some(about.facts),
        described: None,
        inputs: Vec::new(),
        outputs: Vec::new(),
        symbols: BTreeMap::new(),
        conditions: Vec::new(),
        weights: weights(about.weights.iter()),
        operators,
        opsets: tried.map(verdict).collect(),
        target: aim.target.map(Target::name),
        notes: vec!["operators are counted in the code, and inputs are not known".to_owned()],
    })
}

fn verdict(program: &Result<Program>, rules: &Rules, opset: u32, target: Option<&'static Target>) -> Verdict {
    let tried = match program {
        Ok(program) => tried(program, rules, opset, target),
        Err(error) => Err(vec![error.clone().into()]),
    };
    match tried {
        Ok(graph) => {
            let quantized = Quantized::of(&graph);
            Verdict { opset, ok: true, reasons: Vec::new(), replaced: graph.replaced, quantized }
        }
        Err(reasons) => Verdict::refused(opset, reasons),
    }
}

impl Verdict {
    pub(super) fn refused(opset: u32, reasons: Vec<Reason>) -> Verdict {
        Verdict { opset, ok: false, reasons, replaced: BTreeMap::new(), quantized: None }
    }
}

/// The model; or all operators that the opset lacks, or else the first refusal of a rule.
fn tried(
    program: &Program,
    rules: &Rules,
    opset: u32,
    target: Option<&'static Target>,
) -> Result<OnnxGraph, Vec<Reason>> {
    let blockers = preflight(program, rules, opset);
    if !blockers.is_empty() {
        return Err(blockers.into_iter().map(Reason::from).collect());
    }
    let options = Options::from(OutputOptions::of_rules(rules, opset, target));
    translate(program, &options).map_err(|error| vec![error.into()])
}

impl From<Blocker> for Reason {
    fn from(blocker: Blocker) -> Reason {
        let Blocker { target, reason, node, source_line, count, needs_opset } = blocker;
        let more = match count.saturating_sub(1) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let place = [format!("node `{node}` ({target}){more}")];
        let place = place.into_iter().chain(source_line.as_deref().map(without_folders)).collect();
        Reason { message: reason, place, help: None, needs_opset }
    }
}

impl From<Error> for Reason {
    fn from(error: Error) -> Reason {
        let Details { message, place, help, needs_opset, .. } = error.into_details();
        Reason { message, place, help, needs_opset }
    }
}

fn inputs(graph: &Graph) -> Vec<Port> {
    let port = |name: &str, kind: &InputKind| match kind {
        InputKind::Tensor => tensor(graph, name, "tensor"),
        InputKind::SymInt => Port::plain(name, "int"),
        InputKind::SymFloat => Port::plain(name, "float"),
        InputKind::SymBool => Port::plain(name, "bool"),
        InputKind::Constant(_) => Port::plain(name, "constant"),
    };
    graph.inputs.iter().map(|input| port(&input.name, &input.kind)).collect()
}

fn outputs(graph: &Graph) -> Vec<Port> {
    let port = |value: &Arg, kind: &OutputKind| {
        let kind = match kind {
            OutputKind::User => "tensor",
            OutputKind::BufferMutation(_) => "buffer mutation",
            OutputKind::InputMutation(_) => "input mutation",
        };
        match value {
            Arg::Tensor(name) => tensor(graph, name, kind),
            Arg::Sym(name) if graph.sym_ints.contains_key(name) => Port::plain(name, "int"),
            Arg::Sym(name) if graph.sym_floats.contains_key(name) => Port::plain(name, "float"),
            Arg::Sym(name) => Port::plain(name, "bool"),
            Arg::None => Port::plain("", "none"),
            _ => Port::plain("", "constant"),
        }
    };
    graph.outputs.iter().map(|output| port(&output.value, &output.kind)).collect()
}

fn tensor(graph: &Graph, name: &str, kind: &'static str) -> Port {
    let meta: Option<&TensorMeta> = graph.tensors.get(name);
    Port {
        name: name.to_owned(),
        kind,
        dtype: meta.map(|meta| meta.dtype.to_string()),
        shape: meta.map(|meta| meta.sizes.iter().map(ToString::to_string).collect()),
    }
}

impl Port {
    fn plain(name: &str, kind: &'static str) -> Port {
        Port { name: name.to_owned(), kind, dtype: None, shape: None }
    }
}

pub(super) fn weights<'a>(weights: impl Iterator<Item = &'a Arc<Weight>>) -> Weights {
    let mut seen = FxHashSet::default();
    let mut total = Weights::default();
    for weight in weights.filter(|weight| seen.insert(Arc::as_ptr(weight))) {
        let sizes = weight.sizes.iter().map(|size| u64::try_from(*size).unwrap_or(0));
        total.tensors += 1;
        total.elements = total.elements.saturating_add(sizes.fold(1, u64::saturating_mul));
        total.bytes = total.bytes.saturating_add(weight.byte_len().unwrap_or(u64::MAX));
        *total.dtypes.entry(weight.dtype.to_string()).or_default() += 1;
    }
    total
}

fn operators(program: &Program) -> Vec<Operator> {
    let mut found: BTreeMap<&str, Vec<Place>> = BTreeMap::new();
    visit(&program.graph, &mut |node| found.entry(&node.target).or_default().push(place(node)));
    let operator =
        |(name, calls): (&str, Vec<Place>)| Operator { operator: name.to_owned(), count: calls.len(), calls };
    let mut operators: Vec<Operator> = found.into_iter().map(operator).collect();
    operators.sort_by_key(|operator| std::cmp::Reverse(operator.count));
    operators
}

fn place(node: &Node) -> Place {
    Place {
        node: node.name.clone(),
        module: node.module.clone(),
        source_line: node.source_line.as_deref().map(without_folders),
    }
}

/// Calls `f` for every node, including those of nested graphs.
fn visit<'a>(graph: &'a Graph, f: &mut dyn FnMut(&'a Node)) {
    for node in &graph.nodes {
        f(node);
        for (_, arg) in &node.args {
            if let Arg::Graph(nested) = arg {
                visit(nested, f);
            }
        }
    }
}
