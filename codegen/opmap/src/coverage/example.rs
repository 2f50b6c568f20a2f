//! What the proof says of one example: whether it works at each opset, and the branches that it may take.

use std::rc::Rc;

use super::call::{AbstractCall, Bound, Given, fill_numbers, vector};
use super::opsets::Opsets;
use super::said::AllSaid;
use super::scope::Scope;
use super::trace::{Log, Trace};
use super::values::{Abs, Kinds, Known, List, Number, Optional, Ranks, Tensor, Text, Truth, Values};
use super::walk::converted;
use super::{Coverage, Frame, Verdict};
use crate::source::Span;
use crate::syntax::ast::{self, ExampleSize, ExampleValue};
use crate::tree::{Example, Map, Program, Target, WITHOUT};
use crate::types::Ty;
use aten2onnx_schemas::Schemas;
use aten2onnx_schemas::dtypes::DtypeSet;
use aten2onnx_schemas::onnx::{PortOption, Version};

/// Asks the proof about examples.
pub struct Examiner<'a> {
    coverage: Coverage<'a>,
    /// The opsets that may reach each branch through nodes that no rule names.
    emitted: Vec<Opsets>,
    /// What is said of calls in the rules of nodes that no rule names.
    said: AllSaid,
}

/// What the proof says of an example.
#[derive(Debug, Clone, Default)]
pub struct Proof {
    /// What is refused at which opsets.
    pub verdict: Verdict,
    /// The opsets that may reach each branch, by its number.
    pub arms: Vec<Opsets>,
    /// What it says of the calls that rules name, by their place.
    pub said: AllSaid,
}

impl<'a> Examiner<'a> {
    /// For rules without errors.
    pub fn new(program: &'a Program, schemas: &'a Schemas) -> Self {
        let mut coverage = Coverage::new(program, schemas);
        coverage.any_dtype = true;
        coverage.said = Some(AllSaid::new());
        coverage.walk_emitted();
        let emitted = Trace::of(&coverage.log, program.arms.len()).arms;
        let said = coverage.said.take().unwrap_or_default();
        Examiner { coverage, emitted, said }
    }

    /// The branches that some call of a rule may reach at some opset, without those of nodes that no rule names.
    pub fn branches_of(&mut self, overload: &str) -> Vec<Opsets> {
        let coverage = &mut self.coverage;
        let Some(map) = coverage.program.map(overload) else { return Vec::new() };
        coverage.memo.clear();
        coverage.log = Log::default();
        coverage.all = coverage.dtypes_of(map);
        let args = coverage.any_arguments(&map.function);
        let at = coverage.opsets;
        coverage.root(&map.function, args, &[], at);
        Trace::of(&coverage.log, coverage.program.arms.len()).arms
    }

    /// What is said of calls in the rules of nodes that no rule names.
    pub fn unnamed_calls(&self) -> &AllSaid {
        &self.said
    }

    /// What the proof says of an example. None if there is no such rule or operator.
    pub fn examine(&mut self, example: &'a Example) -> Option<Proof> {
        let coverage = &mut self.coverage;
        coverage.memo.clear();
        coverage.log = Log::default();
        coverage.frame = Frame::default();
        coverage.said = Some(AllSaid::new());
        let program = coverage.program;
        let at = coverage.opsets;
        // Operators inside of values: sequences, and the nodes of bodies.
        let mut inner = Vec::new();
        example.args.iter().for_each(|(_, value)| inner_operators(value, &mut inner));
        coverage.all = DtypeSet::ALL;
        // The operator of the example may be given a sequence that they pack.
        if let Target::Lower(op) = &example.target {
            inner.extend(coverage.schemas.opsets.packed.operators.iter().filter(|packed| *packed == op).cloned());
        }
        inner.iter().for_each(|op| coverage.walk_lowerings(op, at));
        let lacking = example.with.iter().filter_map(|(name, _)| name.strip_prefix(WITHOUT));
        lacking.for_each(|op| coverage.walk_avoided(op, at));
        let works = match &example.target {
            Target::Map(name) => coverage.example_of_map(program.map(name)?, example, at),
            Target::Lower(op) => {
                let version = coverage.schemas.onnx.versions(op).last()?;
                coverage.example_of_operator(op, version, example, at)
            }
            Target::Raise(op, from) => {
                let versions = coverage.schemas.onnx.versions(op);
                let version = versions.iter().rev().find(|v| v.since < *from)?;
                coverage.example_of_operator(op, version, example, at)
            }
        };
        coverage.refuse_new_dtypes(example, at);
        let frame = std::mem::take(&mut coverage.frame);
        let verdict = Verdict::of(frame, works);
        let own = Trace::of(&coverage.log, program.arms.len()).arms;
        let arms = own.iter().zip(&self.emitted).map(|(own, emitted)| own.or(*emitted)).collect();
        let mut said = coverage.said.take().unwrap_or_default();
        for (place, own) in &mut said {
            if let Some(other) = self.said.get(place) {
                own.merge(other);
            }
        }
        Some(Proof { verdict, arms, said })
    }
}

impl<'a> Coverage<'a> {
    /// Walks a rule once more for the calls of its examples, whose dtypes are known: inputs that may have different dtypes for any arguments may have
    /// different ones for each.
    pub(super) fn check_examples_of(&mut self, map: &'a Map) {
        let (program, at) = (self.program, self.opsets);
        let is_own = |example: &&Example| matches!(&example.target, Target::Map(name) if *name == map.function.name);
        for example in program.examples.iter().filter(is_own) {
            // What is empty takes branches of its own, which the sizes decide.
            if example.args.iter().any(|(_, value)| is_empty(value)) {
                continue;
            }
            self.example = Some(example.span);
            self.example_of_map(map, example, at);
            self.frame = Frame::default();
        }
        self.example = None;
    }

    /// A dtype that ONNX does not have yet may be refused by any operator; the builder says so for Cast.
    fn refuse_new_dtypes(&mut self, example: &Example, at: Opsets) {
        let mut used = DtypeSet::NONE;
        for (name, value) in &example.args {
            let is_code = name.ends_with("to_i") || name.ends_with("type_i");
            used = used.or(match value {
                ExampleValue::Int(code) if is_code => DtypeSet::of_code(*code),
                value => dtypes_in(value),
            });
        }
        for index in used.indices() {
            let own = DtypeSet::at(index);
            let without: Opsets = at.iter().filter(|opset| !own.is_within(self.facts.existing_at(*opset))).collect();
            let (Some(last), Some(name)) = (without.last(), own.names().next()) else { continue };
            let since = last + 1;
            for verb in ["take", "give"] {
                self.refuse(since, &format!("`Cast` does not {verb} {name} before opset {since}"), without);
            }
        }
    }

    fn example_of_map(&mut self, map: &'a Map, example: &'a Example, at: Opsets) -> Opsets {
        self.all = self.dtypes_of(map);
        let mut at = at;
        if let Some((since, reason)) = &map.since {
            self.refuse(*since, reason, at.below(*since));
            at = at.from(*since);
        }
        let mut args = Vec::new();
        for param in &map.function.params {
            let given = example.args.iter().find(|(name, _)| *name == param.name).map(|(_, value)| value);
            let value = match (given, &param.default) {
                (Some(value), _) => argument(value, &param.ty, example, at),
                (None, Some(default)) => self.expr(default, &Scope::default(), at).value,
                (None, None) => self.top(&param.ty, at),
            };
            args.push(converted(value, &param.ty).fit(&param.ty, self.all, at));
        }
        self.call(&map.function, args, None, at).at
    }

    /// A call of an operator in the form of a version.
    fn example_of_operator(&mut self, op: &'a str, version: &'a Version, example: &'a Example, at: Opsets) -> Opsets {
        self.all = DtypeSet::ALL;
        let given = |name: &str| example.args.iter().find(|a| a.0 == name).map(|a| &a.1);
        let mut inputs = Vec::new();
        let mut numbers = Vec::new();
        for port in &version.inputs {
            match (given(&port.name), port.option) {
                (Some(ExampleValue::List(items)), PortOption::Variadic(_)) => {
                    inputs.extend(items.iter().map(|item| operand(item, example)));
                }
                (Some(value), _) => {
                    if is_number(value, example) {
                        numbers.push(inputs.len());
                    }
                    inputs.push(operand(value, example));
                }
                (None, PortOption::Variadic(_)) => {}
                (None, _) => inputs.push(Given::Absent),
            }
        }
        let outputs = match given("outputs") {
            Some(ExampleValue::Int(n)) => *n,
            _ => i64::from(version.min_outputs.max(1)),
        };
        let bound = usize::try_from(outputs).map_or(Bound::List, Bound::Tuple);
        let outputs = Abs::Number(Number::between(outputs, outputs));
        let attrs = attributes(version, example, at);
        let mut call =
            AbstractCall { op, form: version.since, site: Span::NOWHERE, place: 0, bound, inputs, attrs, outputs };
        fill_numbers(&mut call, version, &numbers);
        self.dispatched(call, at)
    }
}

/// Whether a tensor of an example has no elements.
fn is_empty(value: &ExampleValue) -> bool {
    match value {
        ExampleValue::Tensor { sizes, .. } => sizes.iter().any(|size| matches!(size, ExampleSize::Known(0))),
        ExampleValue::List(items) => items.iter().any(is_empty),
        _ => false,
    }
}

/// The operators that a value of an example calls.
fn inner_operators(value: &ExampleValue, ops: &mut Vec<String>) {
    match value {
        ExampleValue::Node(op, args) => {
            ops.push(op.text.clone());
            args.iter().for_each(|arg| inner_operators(&arg.value, ops));
        }
        ExampleValue::List(items) => items.iter().for_each(|item| inner_operators(item, ops)),
        ExampleValue::Graph(body) => nodes_in(body, ops),
        _ => {}
    }
}

fn nodes_in(expr: &ast::Expr, ops: &mut Vec<String>) {
    ast::walk::walk_expr(&mut expr.clone(), &mut |inner| {
        if let ast::ExprKind::Node(name, _) = &inner.kind {
            ops.push(name.name.text.clone());
        }
    });
}

/// The dtypes of the tensors in a value of an example, and those that it names.
pub(super) fn dtypes_in(value: &ExampleValue) -> DtypeSet {
    match value {
        ExampleValue::Tensor { dtype, .. } | ExampleValue::Literal { dtype, .. } => of_short_name(dtype),
        ExampleValue::Name(name) => DtypeSet::one(name),
        ExampleValue::List(items) => items.iter().map(dtypes_in).fold(DtypeSet::NONE, DtypeSet::or),
        ExampleValue::Node(_, args) => args.iter().map(|arg| dtypes_in(&arg.value)).fold(DtypeSet::NONE, DtypeSet::or),
        _ => DtypeSet::NONE,
    }
}

fn attributes<'a>(version: &'a Version, example: &'a Example, at: Opsets) -> Vec<(&'a str, Abs)> {
    let mut attrs = Vec::new();
    for attribute in &version.attributes {
        let is_it = |name: &str| name.rsplit_once('_').is_some_and(|(stem, _)| stem == attribute.name);
        let Some((_, value)) = example.args.iter().find(|(name, _)| is_it(name)) else { continue };
        let is_list = attribute.kind.name().ends_with('S');
        let value = match value {
            ExampleValue::Name(name) if DtypeSet::one(name).len() == 1 => {
                Abs::Number(Number { known: Known::YES, values: Values::Codes(DtypeSet::one(name)), kinds: Kinds::INT })
            }
            ExampleValue::Graph(_) => Abs::Any,
            value => argument(value, if is_list { &Ty::Never } else { &Ty::Scalar }, example, at),
        };
        let value = match value {
            Abs::List(_) | Abs::Any | Abs::Tensor(_) => value,
            one if is_list => Abs::List(List::of(vec![one])),
            one => one,
        };
        attrs.push((attribute.name.as_str(), value));
    }
    attrs
}

/// The value of an argument of a rule.
fn argument(value: &ExampleValue, ty: &Ty, example: &Example, at: Opsets) -> Abs {
    if let Some(tensor) = tensor(value) {
        return match ty {
            // A number that the graph computes.
            Ty::Scalar | Ty::SymInt => number_of(&tensor),
            Ty::Optional(of) if matches!(**of, Ty::Scalar | Ty::SymInt) => number_of(&tensor),
            _ => Abs::Tensor(tensor),
        };
    }
    match value {
        ExampleValue::Int(i) => Abs::Number(Number::between(*i, *i)),
        ExampleValue::Float(x) => {
            Abs::Number(Number { known: Known::YES, values: Values::Float(x.to_bits()), kinds: Kinds::FLOAT })
        }
        ExampleValue::Bool(b) => match ty {
            Ty::Bool => Abs::Truth(Truth::always(*b, at)),
            Ty::Optional(of) if **of == Ty::Bool => Abs::Truth(Truth::always(*b, at)),
            _ => converted(Abs::Truth(Truth::always(*b, at)), &Ty::Scalar),
        },
        ExampleValue::Str(text) => Abs::Text(Text::one(text)),
        ExampleValue::None => Abs::Optional(Optional::nothing()),
        ExampleValue::Name(name) if is_symbol(name, example) => symbol(),
        ExampleValue::Name(name) if DtypeSet::one(name).len() == 1 => Abs::Dtype(DtypeSet::one(name)),
        ExampleValue::List(items) => {
            let of = match ty {
                Ty::List(of) => of,
                Ty::Optional(of) => match &**of {
                    Ty::List(of) => of,
                    _ => &Ty::Never,
                },
                _ => &Ty::Never,
            };
            Abs::List(List::of(items.iter().map(|item| converted(argument(item, of, example, at), of)).collect()))
        }
        _ => Abs::Any,
    }
}

/// The value of an input of an operator: numbers and lists are constants.
fn operand(value: &ExampleValue, example: &Example) -> Given {
    if let Some(tensor) = tensor(value) {
        return Given::Tensor(tensor);
    }
    match value {
        ExampleValue::None => Given::Absent,
        ExampleValue::List(items) => {
            let list = List::of(items.iter().map(|item| argument(item, &Ty::Never, example, Opsets::NONE)).collect());
            let is = |f: fn(&ExampleValue) -> bool| items.iter().any(f);
            let dtype = match () {
                () if is(|i| matches!(i, ExampleValue::Float(_))) => "float32",
                () if is(|i| matches!(i, ExampleValue::Str(_))) => "string",
                () => "int64",
            };
            Given::Tensor(vector(Abs::List(list), DtypeSet::one(dtype)))
        }
        value if is_number(value, example) => {
            let number = argument(value, &Ty::Scalar, example, Opsets::NONE);
            let known = number.known();
            let elements = Some(Rc::new(number));
            Given::Tensor(Tensor { ranks: Ranks::one(0), known, elements, ..Tensor::of(DtypeSet::NONE) })
        }
        _ => Given::Tensor(Tensor::of(DtypeSet::ALL)),
    }
}

fn is_number(value: &ExampleValue, example: &Example) -> bool {
    match value {
        ExampleValue::Int(_) | ExampleValue::Float(_) | ExampleValue::Bool(_) => true,
        ExampleValue::Name(name) => is_symbol(name, example),
        _ => false,
    }
}

fn is_symbol(name: &str, example: &Example) -> bool {
    example.with.iter().any(|(symbol, _)| symbol == name)
}

fn symbol() -> Abs {
    Abs::Number(Number { known: Known::NO, values: Values::Between(0, i64::MAX), kinds: Kinds::INT })
}

/// A tensor of an example is an input of the graph.
fn tensor(value: &ExampleValue) -> Option<Tensor> {
    let (dtype, rank, last) = match value {
        ExampleValue::Tensor { dtype, sizes, .. } => {
            let last = if matches!(sizes.last(), Some(ExampleSize::Symbolic(_))) { Known::NO } else { Known::YES };
            (dtype, sizes.len(), last)
        }
        ExampleValue::Literal { dtype, sizes, .. } => (dtype, sizes.len(), Known::YES),
        _ => return None,
    };
    let ranks = Ranks::one(i64::try_from(rank).unwrap_or(i64::MAX));
    // A tensor without elements is a constant.
    Some(Tensor { ranks, known: Known::MAYBE, last, ..Tensor::of(of_short_name(dtype)) })
}

fn number_of(tensor: &Tensor) -> Abs {
    Abs::Number(Number::any(Known::MAYBE, Kinds::of_dtypes(tensor.dtypes)))
}

/// The dtype of `f32`, `i64`, `bool`.
fn of_short_name(short: &str) -> DtypeSet {
    let long = match short.split_at_checked(1) {
        _ if short == "bf16" => "bfloat16".to_owned(),
        _ if short == "str" => "string".to_owned(),
        Some(("f", bits)) if bits.parse::<u32>().is_ok() => format!("float{bits}"),
        Some(("i", bits)) if bits.parse::<u32>().is_ok() => format!("int{bits}"),
        Some(("u", bits)) if bits.parse::<u32>().is_ok() => format!("uint{bits}"),
        Some(("c", bits)) if bits.parse::<u32>().is_ok() => format!("complex{bits}"),
        _ => short.to_owned(),
    };
    DtypeSet::one(&long)
}
