//! Translates an ATen program to an ONNX graph: finds and runs the rule of each node, in order.
//!
//! Takes a functional program. Before any rule runs, `preflight` lists everything that the target lacks. Integers of
//! the program are symbolic expressions, which the archive records: the nodes that compute them need no rule, and the
//! graph computes an expression only if a rule needs its value.

mod arguments;
mod both_sides;
mod control;
mod default_dtype;
mod fallback;
mod nested;
mod numbers;
mod preflight;
mod records;
pub mod scratch;
mod symbolic;
mod witness;

pub use control::is_known;
pub use default_dtype::default_float;
pub use fallback::DOMAIN as ATEN_DOMAIN;
pub use preflight::{Blocker, called, fallback_note, preflight};

use std::cell::Cell;

use rustc_hash::FxHashMap;

use aten2onnx_builder::{AVOIDED, Args, Binding, Builder, Event, Out, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Call, Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Graph, Origin, Type, Value};
use aten2onnx_options::{Fallback, Options};
use aten2onnx_program as program;
use aten2onnx_program::{Arg, InputKind, Node, NodeOutput, Output, OutputKind, Program};
use aten2onnx_rules::{RuleRef, Rules};

use crate::records::Doubts;
use crate::witness::Witness;

/// Translates a functional program.
///
/// # Errors
/// Everything that the target does not support, or the refusal of a rule with its node.
pub fn translate(program: &Program, options: &Options) -> Result<Graph> {
    translate_with(program, options, &mut |_| {})
}

/// The same; `inspect` receives the builder before it is finished.
pub fn translate_with(program: &Program, options: &Options, inspect: &mut dyn FnMut(&mut Builder)) -> Result<Graph> {
    let opset = options.output.opset()?;
    let rules = &options.output.rules;
    let mut blockers = preflight(program, rules, opset);
    blockers.retain(|blocker| !blocker.can_be_kept(options));
    if !blockers.is_empty() {
        return Err(preflight::report(&blockers, opset));
    }
    let mut builder = rules.builder(opset);
    match options.output.target {
        Some(target) => builder.set_target(target),
        None => builder.avoid_missing_kernels(),
    }
    builder.set_exact_nan(options.exact_nan);
    if !options.trace.is_empty() {
        builder.trace().enable();
    }
    builder.set_default_float(default_float(program));
    for (symbol, (low, high)) in &program.ranges {
        builder.declare_range(symbol, *low, *high);
    }
    let shared = Shared {
        trace: &options.trace,
        on_trace: options.on_trace,
        rules,
        fallback: options.fallback,
        ranges: &program.ranges,
        renamed: Cell::new(0),
        doubts: Doubts::default(),
        witness: Witness::of(program),
    };
    let mut translation =
        Translation { builder: &mut builder, env: FxHashMap::default(), shared: &shared, symbols: None };
    translation.inputs(&program.graph)?;
    translation.weights(program, options.adapters.as_deref())?;
    translation.nodes(&program.graph)?;
    translation.outputs(program)?;
    inspect(&mut builder);
    let mut quantized = Ok(Vec::new());
    let mut graph =
        builder.finish_after(|builder| quantized = options.output.run_passes(options.opt_level, builder, None))?;
    graph.quantized = quantized?;
    graph.contradicted = shared.doubts.into_notes();
    Ok(graph)
}

/// The value of a name in the program.
#[derive(Debug, Clone)]
enum Known {
    Tensor(Value),
    Number(Scalar),
    /// A user input that was specialized to a constant.
    Constant(Arg),
}

/// The translation of one graph; nested graphs have their own.
struct Translation<'a> {
    builder: &'a mut Builder,
    env: FxHashMap<String, Known>,
    shared: &'a Shared<'a>,
    /// In a nested graph: the values of its symbols.
    symbols: Option<nested::Symbols>,
}

/// State shared by the translations of all graphs of a program.
struct Shared<'a> {
    /// Overloads to trace.
    trace: &'a [String],
    on_trace: Option<fn(&str)>,
    rules: &'a Rules,
    fallback: Fallback,
    /// Bounds of symbols, inclusive.
    ranges: &'a FxHashMap<String, (Option<i64>, Option<i64>)>,
    /// The number of symbols renamed so far.
    renamed: Cell<usize>,
    /// Where PyTorch recorded something else than there is.
    doubts: Doubts,
    /// Sizes at which records are held against what nodes compute.
    witness: Witness,
}

impl Shared<'_> {
    /// An unused name for a symbol.
    fn fresh(&self, symbol: &str) -> String {
        self.renamed.set(self.renamed.get() + 1);
        format!("{symbol}_{}", self.renamed.get())
    }
}

impl Translation<'_> {
    fn inputs(&mut self, graph: &program::Graph) -> Result<()> {
        for input in &graph.inputs {
            let name = &input.name;
            let known = match &input.kind {
                InputKind::Tensor => {
                    let meta = graph
                        .tensors
                        .get(name)
                        .ok_or_else(|| Error::input(format!("the input `{name}` has no recorded type")))?;
                    Known::Tensor(self.builder.program_input(name, Type::tensor(meta.dtype, meta.sizes.clone())))
                }
                InputKind::SymInt => {
                    let value = self.builder.input(name, Type::tensor(Dtype::Int64, Vec::new()));
                    let size = graph.sym_ints.get(name).cloned().unwrap_or_else(|| SymInt::symbol(name.as_str()));
                    self.bind(&size, value);
                    Known::Number(Scalar::from(size))
                }
                InputKind::SymFloat => {
                    Known::Number(Scalar::Value(self.builder.input(name, Type::tensor(Dtype::Float64, Vec::new()))))
                }
                InputKind::SymBool => {
                    Known::Number(Scalar::Value(self.builder.input(name, Type::tensor(Dtype::Bool, Vec::new()))))
                }
                InputKind::Constant(arg) => Known::Constant(arg.clone()),
            };
            self.env.insert(name.clone(), known);
        }
        Ok(())
    }

    /// Weights are initializers, except those whose new value is an output, and those of adapters: they are inputs.
    fn weights(&mut self, program: &Program, adapters: Option<&str>) -> Result<()> {
        let kept = program.graph.outputs.iter().filter_map(|output| match &output.kind {
            OutputKind::BufferMutation(name) => Some(name.as_str()),
            _ => None,
        });
        let mut kept: FxHashMap<&str, Option<Value>> = kept.map(|name| (name, None)).collect();
        let names = program.weights.iter().map(|bound| bound.weight.name.as_str());
        kept.extend(names.filter(|name| adapters.is_some_and(|part| name.contains(part))).map(|name| (name, None)));
        for bound in &program.weights {
            let weight = &bound.weight;
            let value = match kept.get_mut(weight.name.as_str()) {
                None => self.builder.program_weight(weight.clone()),
                Some(Some(input)) => *input,
                Some(none) => {
                    let sizes = weight.sizes.iter().map(|size| SymInt::from(*size)).collect();
                    *none.insert(self.builder.program_input(&weight.name, Type::tensor(weight.dtype, sizes)))
                }
            };
            self.env.insert(bound.value.clone(), Known::Tensor(value));
        }
        match kept.iter().find(|(_, input)| input.is_none()) {
            Some((name, _)) => Err(Error::unsupported(format!(
                "the new value of the buffer `{name}` cannot be kept, because the buffer is tied"
            ))),
            None => Ok(()),
        }
    }

    /// Binds a symbolic integer to a 0-dim value of the graph.
    fn bind(&mut self, size: &SymInt, value: Value) {
        if let Some(symbol) = size.as_symbol() {
            self.builder.bind_symbol(symbol, Binding::Scalar(value));
        }
    }

    fn nodes(&mut self, graph: &program::Graph) -> Result<()> {
        for node in &graph.nodes {
            self.node(node, graph).map_err(|error| at_node(error, node))?;
        }
        Ok(())
    }

    fn node(&mut self, node: &Node, graph: &program::Graph) -> Result<()> {
        if numbers::returns_numbers(&node.target) && !self.reads_doubtful(node) && self.number_node(node, graph)? {
            return Ok(());
        }
        if let Some(operator) = node.target.strip_prefix("higher_order::") {
            return self.higher_order(operator, node, graph);
        }
        if symbolic::is_symbolic(&node.target) {
            return self.symbolic(node, graph);
        }
        let rules = self.shared.rules;
        if self.shared.fallback == Fallback::Aten && rules.rule_for(&node.target).is_none() {
            return self.keep(node, graph);
        }
        self.builder.set_origin(origin(node));
        let args = self.arguments(node)?;
        let rule = match args.has_complex(self.builder) {
            true => {
                rules.complex_rule_for(&node.target).ok_or_else(|| preflight::no_complex_rule(rules, &node.target))?
            }
            false => rules.rule_for(&node.target).ok_or_else(|| preflight::no_rule(rules, &node.target))?,
        };
        let traced = self.shared.trace.iter().any(|t| t == rule.name());
        if !traced && !self.shared.trace.is_empty() {
            self.builder.trace().take();
        }
        let outs = rule.call(self.builder, &args)?;
        if traced {
            self.print_trace(node, &rule, &outs);
        }
        self.bind_outputs(node, outs, graph)
    }

    /// Binds the results of a rule to the names in the program, and checks them against the recorded types.
    fn bind_outputs(&mut self, node: &Node, outs: Vec<Out>, graph: &program::Graph) -> Result<()> {
        if outs.len() < node.outputs.len() {
            let message = format!("the rule returns {} results, the program has {}", outs.len(), node.outputs.len());
            return Err(self.builder.contradiction(message));
        }
        for (output, out) in node.outputs.iter().zip(outs) {
            match (output, out) {
                (NodeOutput::None, _) => {}
                (NodeOutput::Tensor(name), Out::Tensor(value)) => self.bind_tensor(node, name, value, graph)?,
                (NodeOutput::Tensor(name), Out::Scalar(number)) => {
                    self.env.insert(name.clone(), Known::Number(number));
                }
                (NodeOutput::Tensors(names), Out::Tensors(values)) => {
                    if names.len() != values.len() {
                        let message =
                            format!("the rule returns a list of {}, the program has {}", values.len(), names.len());
                        return Err(self.builder.contradiction(message));
                    }
                    for (name, value) in names.iter().zip(values) {
                        self.bind_tensor(node, name, value, graph)?;
                    }
                }
                (NodeOutput::Sym(name), Out::SymInt(size)) => {
                    self.env.insert(name.clone(), Known::Number(Scalar::from(size)));
                }
                (NodeOutput::Sym(name), Out::Scalar(number)) => self.bind_number(name, number, graph)?,
                (NodeOutput::Sym(name), Out::Tensor(value)) => self.bind_number(name, Scalar::Value(value), graph)?,
                (output, out) => {
                    return Err(self
                        .builder
                        .contradiction(format!("returns {out:?} where the program has {output:?}")));
                }
            }
        }
        Ok(())
    }

    fn bind_tensor(&mut self, node: &Node, name: &str, value: Value, graph: &program::Graph) -> Result<()> {
        if let Some(meta) = graph.tensors.get(name) {
            let recorded = self.recorded(meta);
            if let Err(error) = self.accept(value, &recorded) {
                self.judge(node, (name, value), &recorded, graph, error)?;
            }
        }
        self.builder.name_value(value, name);
        self.env.insert(name.to_owned(), Known::Tensor(value));
        Ok(())
    }

    /// Accepts the recorded type of a value, unless it contradicts the inferred one.
    fn accept(&mut self, value: Value, recorded: &Type) -> Result<()> {
        let inferred = self.builder.ty(value);
        match self.shared.witness.contradiction(inferred, recorded) {
            false => self.builder.set_type(value, recorded),
            true => {
                let message = format!("returns {inferred} where PyTorch recorded {recorded}");
                Err(self.builder.contradiction(message))
            }
        }
    }

    fn outputs(&mut self, program: &Program) -> Result<()> {
        let graph = &program.graph;
        let names = output_names(program);
        for (i, output) in graph.outputs.iter().enumerate() {
            let value = self.output_value(output).map_err(|error| error.at(format!("output {i}")))?;
            let Some(mut value) = value else { continue };
            // A Python float as an output tensor has PyTorch's default dtype.
            if matches!(&output.value, Arg::Sym(name) if graph.sym_floats.contains_key(name)) {
                value = self.builder.cast(value, self.builder.default_float())?;
            }
            let written = match &output.kind {
                OutputKind::User => None,
                OutputKind::InputMutation(name) => Some(name),
                OutputKind::BufferMutation(name) => {
                    program.weights.iter().find(|bound| bound.weight.name == *name).map(|bound| &bound.value)
                }
            };
            if let Some(written) = written {
                value = self.fit_to_written(value, written)?;
            }
            let own = match (&output.kind, &output.value) {
                (OutputKind::BufferMutation(name) | OutputKind::InputMutation(name), _) => format!("{name}_out"),
                (OutputKind::User, Arg::Tensor(name) | Arg::Sym(name)) => name.clone(),
                _ => format!("output_{i}"),
            };
            let name = names.get(i).and_then(Option::as_ref).unwrap_or(&own);
            self.builder.output(name, value);
        }
        Ok(())
    }

    /// Converts a new value to the dtype and shape of the written tensor, which torch leaves to the write.
    fn fit_to_written(&mut self, value: Value, written: &str) -> Result<Value> {
        let written = self.value_of(written)?;
        let value = self.builder.cast(value, self.builder.dtype(written))?;
        match (self.builder.shape(value)?, self.builder.shape(written)?) {
            (own, wanted) if own == wanted => Ok(value),
            (_, wanted) => self.builder.expand(value, &wanted),
        }
    }

    /// The value of an output; None if it is `None`, which ONNX does not have.
    fn output_value(&mut self, output: &Output) -> Result<Option<Value>> {
        match &output.value {
            Arg::None => Ok(None),
            Arg::Tensor(name) | Arg::Sym(name) => self.value_of(name).map(Some),
            Arg::Int(i) => self.builder.scalar(&Scalar::Int(*i), Dtype::Int64).map(Some),
            Arg::Float(f) => self.builder.scalar(&Scalar::Float(*f), self.builder.default_float()).map(Some),
            Arg::Bool(b) => self.builder.scalar(&Scalar::Bool(*b), Dtype::Bool).map(Some),
            other => {
                let what = match other {
                    Arg::Str(text) => format!("the string {text:?}"),
                    other => format!("{other:?}"),
                };
                let error = Error::unsupported(format!("it is {what}, but an ONNX model only returns tensors"));
                Err(error.help("make the model return only tensors and numbers"))
            }
        }
    }

    /// The value of a name; numbers become 0-dim tensors.
    fn value_of(&mut self, name: &str) -> Result<Value> {
        match self.known(name)?.clone() {
            Known::Tensor(value) => Ok(value),
            Known::Number(number) => self.number_value(&number),
            Known::Constant(_) => Err(Error::input(format!("`{name}` is used as a tensor, but is a constant"))),
        }
    }

    fn known(&self, name: &str) -> Result<&Known> {
        self.env.get(name).ok_or_else(|| Error::input(format!("the graph has no value `{name}`")))
    }

    fn print_trace(&mut self, node: &Node, rule: &RuleRef<'_>, outs: &[Out]) {
        let events = self.builder.trace().take();
        let Some(tell) = self.shared.on_trace else { return };
        tell(&format!("{} `{}` ({})", node.name, rule.name(), rule.location()));
        for event in events {
            tell(&format!("    {}", described(&event, self.shared.rules)));
        }
        for out in outs {
            if let Out::Tensor(value) = out {
                tell(&format!("    -> {}", self.builder.ty(*value)));
            }
        }
    }
}

/// The names that the model has for its outputs. Inputs and outputs need different names, and names that do not fit the outputs are none.
fn output_names(program: &Program) -> Vec<Option<String>> {
    let graph = &program.graph;
    let count = graph.outputs.iter().filter(|output| output.kind == OutputKind::User).count();
    if program.output_names.len() != count {
        return Vec::new();
    }
    let is_input = |name: &str| graph.inputs.iter().any(|input| input.name == name);
    let unlike_inputs = |name: &String| if is_input(name) { format!("output.{name}") } else { name.clone() };
    program.output_names.iter().map(|name| name.as_ref().map(unlike_inputs)).collect()
}

fn origin(node: &Node) -> Origin {
    Origin {
        node_name: node.name.clone(),
        module: node.module.clone(),
        module_type: node.module_type.clone(),
        source_line: node.source_line.clone(),
        rule: node.target.clone(),
        metadata: Vec::new(),
    }
}

/// A step of a rule in the format of `--trace`.
fn described(event: &Event, rules: &Rules) -> String {
    match event {
        Event::Arm(arm, condition) => match rules.arm(*arm) {
            Some((location, text)) => format!("{location}: `{text}` is {condition}"),
            None => format!("arm {arm}: {condition}"),
        },
        Event::Node(op) => format!("node {op}"),
        Event::Lower(op, AVOIDED) => format!("lowered: {op} avoided"),
        Event::Lower(op, before) => format!("lowered: {op} before {before}"),
        Event::Raise(op, from) => format!("raised: {op} from {from}"),
    }
}

fn at_node(mut error: Error, node: &Node) -> Error {
    let place = match &node.source_line {
        Some(line) => format!("`{}` ({}), {line}", node.name, node.target),
        None => format!("`{}` ({})", node.name, node.target),
    };
    let call = Call { operator: node.target.clone(), node: node.name.clone(), source_line: node.source_line.clone() };
    error.call.get_or_insert_with(|| Box::new(call));
    error.at(place)
}

impl Translation<'_> {
    fn arguments(&mut self, node: &Node) -> Result<Args> {
        let mut values = Vec::with_capacity(node.args.len());
        for (name, arg) in &node.args {
            let value = self.argument(arg).map_err(|e| e.at(format!("argument `{name}`")))?;
            values.push((name.clone(), value));
        }
        Ok(Args::new(values))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_output_that_is_no_tensor_is_named() {
        let mut program = Program::default();
        program.graph.outputs.push(Output { value: Arg::Int(3), kind: OutputKind::User });
        program.graph.outputs.push(Output { value: Arg::Str("s".to_owned()), kind: OutputKind::User });
        let error = translate(&program, &Options::default()).unwrap_err();
        assert_eq!(error.to_string(), "output 1: it is the string \"s\", but an ONNX model only returns tensors");
        assert!(error.help.clone().unwrap().contains("return only tensors and numbers"));
    }
}
