//! Looks for the pattern of a `fuse` rule above a node, and finds the arguments of its replacement.
//!
//! A number is that of a pattern if it is the same at the precision of its dtype.

use super::rewriter::Rewriter;
use crate::build::{ArgValue, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::{Attr, Node, Value};
use aten2onnx_onnx::schema::pattern::{AttrPattern, Fusion, NodePattern, Pattern, Terms};
use aten2onnx_onnx::schema::{self, Default, Function, Port, Version};

/// The depth to which products and sums are taken apart.
const DEPTH: usize = 6;

/// The largest power that is taken for a product.
const MOST_FACTORS: f64 = 8.0;

/// A search for the pattern of a rule.
pub(super) struct Search<'s, 'c> {
    cx: &'s Rewriter<'c>,
    fusion: &'s Fusion,
    opset: u32,
    /// The arguments found so far.
    found: Vec<Option<Found>>,
}

/// An argument.
#[derive(Debug, Clone, PartialEq)]
enum Found {
    Tensor(Value),
    None,
    Float(f64),
    Int(i64),
    Ints(Vec<i64>),
    Attr(Attr),
}

/// What a node has for an input of the newest version of its operator.
#[derive(Clone)]
enum Given {
    Value(Value),
    /// In the version of the node it is an attribute.
    Attr(Attr),
}

/// What is left to be found.
#[derive(Clone)]
enum Goal<'p> {
    /// An input that has to be like this.
    Input(&'p Pattern, Option<Given>),
    /// Operands, each of which is one of these values, in any order.
    Operands(&'p [Pattern], Vec<Value>),
}

impl<'s, 'c> Search<'s, 'c> {
    pub(super) fn new(cx: &'s Rewriter<'c>, fusion: &'s Fusion) -> Search<'s, 'c> {
        let opset = u32::try_from(cx.builder.opset()).unwrap_or(0);
        Search { cx, fusion, opset, found: vec![None; fusion.params.len()] }
    }

    /// The arguments by name, if the pattern ends with this node.
    pub(super) fn arguments(mut self, node: &Node) -> Option<Vec<(String, ArgValue)>> {
        let fusion = self.fusion;
        let is_found = match &fusion.pattern {
            Pattern::Node(pattern) => self.is_node(pattern, node, Vec::new()),
            Pattern::Product(terms) => self.is_product(terms, node, Vec::new()),
            Pattern::Sum(terms) => self.is_sum(terms, node, Vec::new()),
            _ => false,
        };
        if !is_found {
            return None;
        }
        let named = |(name, found): (&String, Option<Found>)| Some((name.clone(), argument(found?)?));
        fusion.params.iter().zip(self.found).map(named).collect()
    }

    /// Whether all goals can be reached. What was found on the way stays found only then.
    fn is_reached(&mut self, mut goals: Vec<Goal<'s>>) -> bool {
        match goals.pop() {
            None => true,
            Some(Goal::Input(pattern, value)) => self.is_input(pattern, value, goals),
            Some(Goal::Operands(patterns, values)) => {
                let [first, rest @ ..] = patterns else { return values.is_empty() && self.is_reached(goals) };
                (0..values.len()).any(|at| {
                    let mut left = values.clone();
                    let value = left.remove(at);
                    let goals = goals.iter().cloned();
                    let more = [Goal::Operands(rest, left), Goal::Input(first, Some(Given::Value(value)))];
                    self.is_tried(goals.chain(more).collect())
                })
            }
        }
    }

    /// The same, and what was found is forgotten if they cannot.
    fn is_tried(&mut self, goals: Vec<Goal<'s>>) -> bool {
        let before = self.found.clone();
        let is_reached = self.is_reached(goals);
        if !is_reached {
            self.found = before;
        }
        is_reached
    }

    fn is_input(&mut self, pattern: &'s Pattern, given: Option<Given>, goals: Vec<Goal<'s>>) -> bool {
        match given {
            Some(Given::Value(value)) => self.is_value(pattern, value, goals),
            Some(Given::Attr(attr)) => self.is_list(pattern, &attr, goals),
            None => match pattern {
                Pattern::Absent => self.is_reached(goals),
                Pattern::Optional(param) => self.is_argument(*param, Found::None, goals),
                _ => false,
            },
        }
    }

    /// An attribute that is an input of newer versions.
    fn is_list(&mut self, pattern: &'s Pattern, attr: &Attr, goals: Vec<Goal<'s>>) -> bool {
        match (pattern, attr) {
            (Pattern::Ints(wanted), Attr::Ints(ints)) => wanted == ints && self.is_reached(goals),
            (Pattern::AnyInts(param), Attr::Ints(ints)) => self.is_argument(*param, Found::Ints(ints.clone()), goals),
            (Pattern::Number(wanted), Attr::Float(number)) => {
                is_near(Dtype::Float32, *number, *wanted) && self.is_reached(goals)
            }
            (Pattern::Float(param), Attr::Float(number)) => self.is_argument(*param, Found::Float(*number), goals),
            _ => false,
        }
    }

    fn is_value(&mut self, pattern: &'s Pattern, value: Value, goals: Vec<Goal<'s>>) -> bool {
        match pattern {
            Pattern::Absent => false,
            Pattern::Tensor(param) | Pattern::Optional(param) => self.is_argument(*param, Found::Tensor(value), goals),
            Pattern::Number(wanted) => {
                let number = self.cx.builder.constant_scalar(value).and_then(|number| number.as_float());
                number.is_some_and(|x| is_near(self.cx.dtype(value), x, *wanted)) && self.is_reached(goals)
            }
            Pattern::Float(param) => match self.float(value) {
                Some(number) => self.is_argument(*param, Found::Float(number), goals),
                None => false,
            },
            Pattern::Int(param) => match self.cx.ints(value).as_deref() {
                Some([number]) => self.is_argument(*param, Found::Int(*number), goals),
                _ => false,
            },
            Pattern::Ints(wanted) => {
                self.cx.ints(value).as_ref() == Some(wanted) && self.cx.rank(value) == Some(1) && self.is_reached(goals)
            }
            Pattern::AnyInts(param) => match self.cx.ints(value).filter(|_| self.cx.rank(value) == Some(1)) {
                Some(ints) => self.is_argument(*param, Found::Ints(ints), goals),
                None => false,
            },
            Pattern::Node(node) => match self.producer(value, node.shared) {
                Some(found) => self.is_node(node, found, goals),
                None => false,
            },
            Pattern::Product(terms) => match self.producer(value, false) {
                Some(found) => self.is_product(terms, found, goals),
                None => false,
            },
            Pattern::Sum(terms) => match self.producer(value, false) {
                Some(found) => self.is_sum(terms, found, goals),
                None => false,
            },
        }
    }

    /// The node that computes a value, if nothing else reads it or may.
    fn producer(&self, value: Value, is_shared: bool) -> Option<&'s Node> {
        self.cx.producer(value).filter(|_| is_shared || self.cx.is_read_once(value))
    }

    fn is_argument(&mut self, param: usize, found: Found, goals: Vec<Goal<'s>>) -> bool {
        let Some(slot) = self.found.get_mut(param) else { return false };
        match slot {
            Some(other) if *other != found => return false,
            Some(_) => {}
            None => *slot = Some(found),
        }
        self.is_reached(goals)
    }

    fn is_node(&mut self, pattern: &'s NodePattern, node: &Node, goals: Vec<Goal<'s>>) -> bool {
        let is_alone = matches!(node.outputs.as_slice(), [Some(_)]);
        let Some(given) = is_alone.then(|| self.given(pattern, node)).flatten() else { return false };
        let before = self.found.clone();
        if !self.has_attributes(pattern, node) {
            self.found = before;
            return false;
        }
        let orders: &[[usize; 2]] = if pattern.swaps { &[[0, 1], [1, 0]] } else { &[[0, 1]] };
        let is_found = orders.iter().any(|order| {
            let place = |at: usize| if pattern.swaps { order.get(at).copied().unwrap_or(at) } else { at };
            let inputs = pattern.inputs.iter().enumerate();
            let inputs = inputs.rev().map(|(at, input)| Goal::Input(input, given.get(place(at)).cloned().flatten()));
            self.is_tried(goals.iter().cloned().chain(inputs).collect())
        });
        if !is_found {
            self.found = before;
        }
        is_found
    }

    /// The inputs of a node in the order of the newest version of its operator, if the pattern has as many.
    fn given(&self, pattern: &NodePattern, node: &Node) -> Option<Vec<Option<Given>>> {
        let op = schema::find(node.op).filter(|op| op.name == pattern.op)?;
        let (newest, version) = (op.versions.last()?, op.at(self.opset)?);
        let value = |at: usize| node.input(at).map(Given::Value);
        let given: Vec<Option<Given>> = if newest.since == version.since {
            (0..node.inputs.len()).map(value).collect()
        } else {
            let of = |port: &Port| match version.inputs.iter().position(|own| own.name == port.name) {
                Some(at) => value(at),
                None => node.attr(port.name).cloned().map(Given::Attr),
            };
            newest.inputs.iter().map(of).collect()
        };
        given.iter().skip(pattern.inputs.len()).all(Option::is_none).then_some(given)
    }

    /// Whether the attributes that the pattern names are so, and all others have their default.
    fn has_attributes(&mut self, pattern: &NodePattern, node: &Node) -> bool {
        let Some(version) = schema::find(node.op).and_then(|op| op.at(self.opset)) else { return false };
        let newest = schema::find(node.op).and_then(|op| op.versions.last());
        let is_input = |name: &str| newest.is_some_and(|newest| newest.inputs.iter().any(|port| port.name == name));
        let is_named = |name: &str| is_input(name) || pattern.attrs.iter().any(|(named, _)| named == name);
        let is_default = |name: &str, attr: &Attr| default_of(version, name).is_some_and(|default| default == *attr);
        node.attrs.iter().all(|(name, attr)| is_named(name) || is_default(name, attr))
            && pattern.attrs.iter().all(|(name, wanted)| {
                let attr = node.attr(name).cloned().or_else(|| default_of(version, name));
                self.is_attribute(wanted, attr)
            })
    }

    fn is_attribute(&mut self, wanted: &AttrPattern, attr: Option<Attr>) -> bool {
        match (wanted, attr) {
            (AttrPattern::Any(param), attr) => {
                self.is_argument(*param, attr.map_or(Found::None, Found::Attr), Vec::new())
            }
            (AttrPattern::Int(wanted), Some(Attr::Int(found))) => *wanted == found,
            (AttrPattern::Float(wanted), Some(Attr::Float(found))) => is_near(Dtype::Float32, found, *wanted),
            (AttrPattern::Int(wanted), Some(Attr::Float(found))) => is_near(Dtype::Float32, found, *wanted as f64),
            (AttrPattern::Str(wanted), Some(Attr::Str(found))) => *wanted == found,
            (AttrPattern::Ints(wanted), Some(Attr::Ints(found))) => *wanted == found,
            _ => false,
        }
    }

    fn is_product(&mut self, terms: &'s Terms, node: &Node, goals: Vec<Goal<'s>>) -> bool {
        let mut flat = Flat { number: 1.0, operands: Vec::new() };
        self.add_factors(node, &mut flat, DEPTH) && self.are_terms(terms, flat, goals)
    }

    fn is_sum(&mut self, terms: &'s Terms, node: &Node, goals: Vec<Goal<'s>>) -> bool {
        let mut flat = Flat { number: 0.0, operands: Vec::new() };
        self.add_terms(node, &mut flat, DEPTH) && self.are_terms(terms, flat, goals)
    }

    fn are_terms(&mut self, terms: &'s Terms, flat: Flat, mut goals: Vec<Goal<'s>>) -> bool {
        let Some(first) = flat.operands.first().filter(|_| flat.operands.len() == terms.operands.len()) else {
            return false;
        };
        if !is_near(self.cx.dtype(*first), flat.number, terms.number) {
            return false;
        }
        goals.push(Goal::Operands(&terms.operands, flat.operands));
        self.is_tried(goals)
    }

    /// Adds the factors of a node; whether it is a product.
    fn add_factors(&self, node: &Node, flat: &mut Flat, depth: usize) -> bool {
        let (Some(a), Some(b)) = (node.input(0), node.input(1)) else { return false };
        match (schema::facts(node.op).computes, self.float(b)) {
            (Some(Function::Mul), _) => {
                self.add_factor(a, flat, depth);
                self.add_factor(b, flat, depth);
            }
            (Some(Function::Div), Some(number)) => {
                self.add_factor(a, flat, depth);
                flat.number /= number;
            }
            (Some(Function::Pow), Some(exponent))
                if (2.0..=MOST_FACTORS).contains(&exponent) && exponent.fract() == 0.0 =>
            {
                for _ in 0..exponent as usize {
                    self.add_factor(a, flat, depth);
                }
            }
            _ => return false,
        }
        true
    }

    fn add_factor(&self, value: Value, flat: &mut Flat, depth: usize) {
        if let Some(number) = self.float(value) {
            flat.number *= number;
            return;
        }
        let inner = self.cx.producer(value).filter(|inner| depth > 0 && self.is_free(value, inner));
        if !inner.is_some_and(|inner| self.add_factors(inner, flat, depth - 1)) {
            flat.operands.push(value);
        }
    }

    /// Whether a factor may be taken apart: nothing else reads it, or it is a power of a value.
    fn is_free(&self, value: Value, node: &Node) -> bool {
        let is_power = || match schema::facts(node.op).computes {
            Some(Function::Pow) => true,
            Some(Function::Mul) => node.input(0) == node.input(1),
            _ => false,
        };
        self.cx.is_read_once(value) || is_power()
    }

    /// Adds the terms of a node; whether it is a sum.
    fn add_terms(&self, node: &Node, flat: &mut Flat, depth: usize) -> bool {
        let (Some(a), Some(b)) = (node.input(0), node.input(1)) else { return false };
        match (schema::facts(node.op).computes, self.float(b)) {
            (Some(Function::Add), _) => {
                self.add_term(a, flat, depth);
                self.add_term(b, flat, depth);
            }
            (Some(Function::Sub), Some(number)) => {
                self.add_term(a, flat, depth);
                flat.number -= number;
            }
            _ => return false,
        }
        true
    }

    fn add_term(&self, value: Value, flat: &mut Flat, depth: usize) {
        if let Some(number) = self.float(value) {
            flat.number += number;
            return;
        }
        let inner = self.producer(value, false).filter(|_| depth > 0);
        if !inner.is_some_and(|inner| self.add_terms(inner, flat, depth - 1)) {
            flat.operands.push(value);
        }
    }

    /// The only element of a constant of floats.
    fn float(&self, value: Value) -> Option<f64> {
        match self.cx.builder.constant_scalar(value)? {
            Scalar::Float(number) => Some(number),
            _ => None,
        }
    }
}

/// The operands of a product or a sum.
struct Flat {
    number: f64,
    operands: Vec<Value>,
}

/// Whether it is this number, at the precision of the dtype.
fn is_near(dtype: Dtype, x: f64, wanted: f64) -> bool {
    let rounding = match dtype {
        Dtype::Float16 => 1e-3,
        Dtype::Bfloat16 => 8e-3,
        Dtype::Float64 => 1e-12,
        _ => 1e-6,
    };
    (x - wanted).abs() <= rounding * wanted.abs()
}

fn default_of(version: &Version, name: &str) -> Option<Attr> {
    Some(match version.attribute(name)?.default? {
        Default::Float(x) => Attr::Float(x.into()),
        Default::Int(n) => Attr::Int(n),
        Default::Str(text) => Attr::Str(text.to_owned()),
        Default::Floats(xs) => Attr::Floats(xs.iter().map(|x| f64::from(*x)).collect()),
        Default::Ints(ns) => Attr::Ints(ns.to_vec()),
        Default::Strs(texts) => Attr::Strs(texts.iter().map(|text| (*text).to_owned()).collect()),
    })
}

/// As the argument of a rule.
fn argument(found: Found) -> Option<ArgValue> {
    Some(match found {
        Found::Tensor(value) => value.into(),
        Found::None => ArgValue::None,
        Found::Float(number) | Found::Attr(Attr::Float(number)) => number.into(),
        Found::Int(number) | Found::Attr(Attr::Int(number)) => number.into(),
        Found::Ints(numbers) | Found::Attr(Attr::Ints(numbers)) => numbers.into(),
        Found::Attr(Attr::Str(text)) => ArgValue::Str(text),
        Found::Attr(Attr::Floats(numbers)) => numbers.into(),
        Found::Attr(_) => return None,
    })
}
