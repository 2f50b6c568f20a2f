//! Types of results before there is a graph: runs the rules of single operators in a builder that is thrown away.
//!
//! A front end for programs without recorded types asks for them here. Rules are the shape functions, so nothing else
//! has to know what an operator returns.

use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::sync::Arc;

use super::{Known, Shared, Translation, preflight};
use crate::records::Doubts;
use crate::witness::Witness;
use aten2onnx_builder::{Binding, Builder, Out, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_core::weights::Weight;
use aten2onnx_onnx::facts::MAX_OPSET;
use aten2onnx_onnx::graph::{Type, Value};
use aten2onnx_options::Fallback;
use aten2onnx_program::Node;
use aten2onnx_rules::Rules;

/// Weights with at most so many elements are known numbers for the scratch builder.
const SMALL: i64 = 64;

/// Values by name, as the rules see them at the newest opset.
pub struct Scratch<'r> {
    builder: Builder,
    rules: &'r Rules,
    values: FxHashMap<String, Known>,
    ranges: FxHashMap<String, (Option<i64>, Option<i64>)>,
}

/// A result of an operator.
#[derive(Debug, Clone)]
pub enum Inferred {
    /// A tensor.
    Tensor(Handle),
    /// A list of tensors.
    Tensors(Vec<Handle>),
    /// A number, known or symbolic; None if only the graph computes it.
    Number(Option<Scalar>),
    /// No result.
    None,
}

/// A tensor of a [`Scratch`].
#[derive(Debug, Clone, Copy)]
pub struct Handle(Value);

impl<'r> Scratch<'r> {
    /// An empty one.
    pub fn new(rules: &'r Rules) -> Scratch<'r> {
        let builder = rules.builder(MAX_OPSET);
        Scratch { builder, rules, values: FxHashMap::default(), ranges: FxHashMap::default() }
    }

    /// Sets the default dtype of PyTorch.
    pub fn set_default_float(&mut self, dtype: Dtype) {
        self.builder.set_default_float(dtype);
    }

    /// The default dtype of PyTorch.
    #[must_use]
    pub fn default_float(&self) -> Dtype {
        self.builder.default_float()
    }

    /// Defines a tensor of which only the type is known.
    pub fn define(&mut self, name: &str, dtype: Dtype, sizes: Vec<SymInt>) {
        let value = self.builder.program_input(name, Type::tensor(dtype, sizes));
        self.values.insert(name.to_owned(), Known::Tensor(value));
    }

    /// Defines a weight.
    pub fn define_weight(&mut self, name: &str, weight: Arc<Weight>) {
        let value = self.builder.program_weight(weight);
        self.values.insert(name.to_owned(), Known::Tensor(value));
    }

    /// Defines a weight; of a small one the elements are known.
    pub fn define_bound(&mut self, name: &str, weight: &Arc<Weight>) -> Result<()> {
        match small_constant(weight) {
            Some(bytes) => self.define_constant(name, weight.dtype, &weight.sizes, bytes),
            None => {
                self.define_weight(name, Arc::clone(weight));
                Ok(())
            }
        }
    }

    /// Defines a tensor of known elements.
    pub fn define_constant(&mut self, name: &str, dtype: Dtype, sizes: &[i64], bytes: Vec<u8>) -> Result<()> {
        let value = self.builder.constant(dtype, sizes, bytes)?;
        self.values.insert(name.to_owned(), Known::Tensor(value));
        Ok(())
    }

    /// Defines a number by name.
    pub fn define_number(&mut self, name: &str, number: Scalar) {
        self.values.insert(name.to_owned(), Known::Number(number));
    }

    /// Defines a number that only the graph computes, of this dtype.
    pub fn define_unknown(&mut self, name: &str, dtype: Dtype) {
        let value = self.builder.input(name, Type::tensor(dtype, Vec::new()));
        self.values.insert(name.to_owned(), Known::Number(Scalar::Value(value)));
    }

    /// Declares a symbol for an integer that only the graph computes.
    pub fn define_symbol(&mut self, symbol: &str) {
        if !self.builder.knows_symbol(symbol) {
            let value = self.builder.input(symbol, Type::tensor(Dtype::Int64, Vec::new()));
            self.builder.bind_symbol(symbol, Binding::Scalar(value));
        }
    }

    /// Gives a name to a result.
    pub fn name(&mut self, name: &str, of: Handle) {
        self.values.insert(name.to_owned(), Known::Tensor(of.0));
    }

    /// The dtype and sizes; None if the number of dimensions is unknown. Unknown sizes are anonymous symbols.
    pub fn ty(&self, of: Handle) -> (Dtype, Option<Vec<SymInt>>) {
        let ty = self.builder.ty(of.0);
        (ty.dtype(), ty.shape().map(<[SymInt]>::to_vec))
    }

    /// Refines a type.
    pub fn refine(&mut self, of: Handle, dtype: Dtype, sizes: &[SymInt]) -> Result<()> {
        self.builder.set_type(of.0, &Type::tensor(dtype, sizes.to_vec()))
    }

    /// The elements of a tensor of integers with at most one dimension, if sizes and constants determine them.
    pub fn content(&self, name: &str) -> Option<Vec<SymInt>> {
        match self.values.get(name)? {
            Known::Tensor(value) => match self.builder.content(*value) {
                Some(content) => Some(content.to_vec()),
                None => Some(self.builder.constant_ints(*value)?.into_iter().map(SymInt::from).collect()),
            },
            _ => None,
        }
    }

    /// The elements of a constant of real numbers.
    pub fn floats(&self, name: &str) -> Option<Vec<f64>> {
        match self.values.get(name)? {
            Known::Tensor(value) => self.builder.constant_floats(*value),
            _ => None,
        }
    }

    /// The bounds of an expression, if both are known.
    pub fn bounds(&self, n: &SymInt) -> Option<(i64, i64)> {
        self.builder.bounds(n)
    }

    /// Sets the bounds of a symbol, inclusive.
    pub fn declare_range(&mut self, symbol: &str, low: Option<i64>, high: Option<i64>) {
        self.builder.declare_range(symbol, low, high);
        self.ranges.insert(symbol.to_owned(), (low, high));
    }

    /// The names of the parameters of a rule in a mapping file.
    pub fn params(&self, target: &str) -> Option<Vec<String>> {
        Some(self.rules.rule_for(target)?.params()?.into_iter().map(str::to_owned).collect())
    }

    /// Runs the rule of an operator on the named values.
    ///
    /// # Errors
    /// There is no rule, or it refuses the arguments.
    pub fn call(&mut self, node: &Node) -> Result<Vec<Inferred>> {
        let shared = Shared {
            trace: &[],
            on_trace: None,
            rules: self.rules,
            fallback: Fallback::None,
            ranges: &self.ranges,
            renamed: Cell::new(0),
            doubts: Doubts::default(),
            witness: Witness::default(),
        };
        let env = std::mem::take(&mut self.values);
        let mut translation = Translation { builder: &mut self.builder, env, shared: &shared, symbols: None };
        let outs = translation.outs(node);
        self.values = translation.env;
        Ok(outs?.into_iter().map(inferred).collect())
    }
}

impl Translation<'_> {
    /// The results of a node's rule.
    fn outs(&mut self, node: &Node) -> Result<Vec<Out>> {
        let rules = self.shared.rules;
        if aten2onnx_program::is_python(&node.target) {
            return Ok(vec![Out::Scalar(self.computed(node)?)]);
        }
        let args = self.arguments(node)?;
        let rule = match args.has_complex(self.builder) {
            true => rules.complex_rule_for(&node.target).ok_or_else(|| preflight::no_complex_rule(rules, &node.target)),
            false => rules.rule_for(&node.target).ok_or_else(|| preflight::no_rule(rules, &node.target)),
        };
        rule.and_then(|rule| rule.call(self.builder, &args))
    }
}

fn inferred(out: Out) -> Inferred {
    match out {
        Out::Tensor(value) => Inferred::Tensor(Handle(value)),
        Out::Tensors(values) => Inferred::Tensors(values.into_iter().map(Handle).collect()),
        Out::SymInt(size) => Inferred::Number(Some(Scalar::Sym(size))),
        Out::Scalar(Scalar::Value(_)) => Inferred::Number(None),
        Out::Scalar(number) => Inferred::Number(Some(number)),
        Out::None => Inferred::None,
    }
}

/// The bytes of a weight that is small and whole.
pub fn small_constant(weight: &Weight) -> Option<Vec<u8>> {
    let count = weight.sizes.iter().try_fold(1_i64, |count, size| count.checked_mul(*size)).filter(|n| *n <= SMALL)?;
    let mut expected = 1;
    for (size, stride) in weight.sizes.iter().zip(&weight.strides).rev() {
        if *size != 1 && *stride != expected {
            return None;
        }
        expected *= size;
    }
    if weight.storage.is_computed() || weight.dtype.is_complex() {
        return None;
    }
    let width = usize::try_from(weight.dtype.bits() / 8).ok()?;
    let start = usize::try_from(weight.offset).ok()?.checked_mul(width)?;
    let end = start.checked_add(usize::try_from(count).ok()?.checked_mul(width)?)?;
    weight.storage.read().ok()?.get(start..end).map(<[u8]>::to_vec)
}
