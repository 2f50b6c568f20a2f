//! Nested graphs: translates one call of a graph inside of the outer graph.
//!
//! A nested graph has its own names, bound by position. Its symbols belong to the whole program, but their values may
//! differ between calls: sizes of inputs come from the operands, and symbols that are created inside are renamed for
//! each call, so that a size of one call or iteration is not confused with another.

use rustc_hash::FxHashMap;

use super::{Known, Translation};
use aten2onnx_builder::{Binding, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Type, Value};
use aten2onnx_program::{Arg, Graph, InputKind, IntArg, Output, TensorMeta};

/// The values of a nested graph's symbols in one call.
pub(super) type Symbols = FxHashMap<String, SymInt>;

impl Translation<'_> {
    /// Translates a graph in place of its call.
    pub(super) fn call(&mut self, graph: &Graph, operands: Vec<Known>) -> Result<Vec<Known>> {
        let mut inner = self.inside(graph, operands)?;
        inner.nodes(graph)?;
        graph.outputs.iter().map(|output| inner.result(output)).collect()
    }

    /// The same for a graph whose results must all be values; `None` results are omitted.
    pub(super) fn call_for_values(&mut self, graph: &Graph, operands: Vec<Known>) -> Result<Vec<Value>> {
        let results = self.call(graph, operands)?;
        let values = results.into_iter().filter(|known| !matches!(known, Known::Constant(Arg::None)));
        values.map(|known| self.known_value(known)).collect()
    }

    /// A translation of the graph with its inputs bound.
    fn inside<'s>(&'s mut self, graph: &Graph, operands: Vec<Known>) -> Result<Translation<'s>> {
        if operands.len() != graph.inputs.len() {
            let message = format!("a graph with {} inputs has {} operands", operands.len(), graph.inputs.len());
            return Err(Error::input(message));
        }
        let symbols = Some(self.symbols.clone().unwrap_or_default());
        let mut inner =
            Translation { builder: &mut *self.builder, env: FxHashMap::default(), shared: self.shared, symbols };
        for (input, operand) in graph.inputs.iter().zip(&operands) {
            inner.unify(graph, &input.name, operand)?;
        }
        for (input, operand) in graph.inputs.iter().zip(operands) {
            inner.env.insert(input.name.clone(), operand);
        }
        Ok(inner)
    }

    /// Derives the symbols in the recorded sizes of an input from its operand.
    fn unify(&mut self, graph: &Graph, input: &str, operand: &Known) -> Result<()> {
        if let Some(expected) = graph.sym_ints.get(input) {
            let actual = match operand {
                Known::Number(Scalar::Sym(size)) => size.clone(),
                Known::Number(Scalar::Int(number)) => SymInt::from(*number),
                Known::Number(Scalar::Value(value)) | Known::Tensor(value) => self.named_size(*value)?,
                _ => return Ok(()),
            };
            self.learn(expected, actual);
            return Ok(());
        }
        let (Some(meta), Known::Tensor(value)) = (graph.tensors.get(input), operand) else { return Ok(()) };
        let Some(actual) = self.builder.ty(*value).shape().map(<[SymInt]>::to_vec) else { return Ok(()) };
        for (expected, actual) in meta.sizes.iter().zip(actual) {
            self.learn(expected, actual);
        }
        Ok(())
    }

    /// Solves `a * symbol + b` for the symbol. An anonymous size does not replace a named one.
    fn learn(&mut self, expected: &SymInt, actual: SymInt) {
        let Some((a, symbol, b)) = expected.as_linear() else { return };
        let is_learnt = self.symbols.as_ref().is_some_and(|known| known.contains_key(symbol));
        let is_known = is_learnt || self.builder.knows_symbol(symbol);
        if (!is_learnt && *expected == actual) || (is_known && actual.has_anonymous()) {
            return;
        }
        let (scaled, a) = (actual - b, SymInt::from(a));
        if let Some(known) = self.symbols.as_mut().filter(|_| scaled.modulo(&a) == 0) {
            known.insert(symbol.to_owned(), scaled.floor_div(&a));
        }
    }

    /// A symbol for an integer that only the graph knows.
    fn named_size(&mut self, value: Value) -> Result<SymInt> {
        let value = self.builder.cast(value, Dtype::Int64)?;
        let value = self.builder.reshape(value, &[])?;
        let name = self.shared.fresh("n");
        self.builder.bind_symbol(&name, Binding::Scalar(value));
        Ok(SymInt::symbol(name))
    }

    /// The value of a recorded size in this call.
    pub(super) fn size(&mut self, recorded: &SymInt) -> SymInt {
        if self.symbols.is_none() || recorded.known().is_some() {
            return recorded.clone();
        }
        for symbol in recorded.symbols() {
            let is_known = self.symbols.as_ref().is_none_or(|known| known.contains_key(&symbol));
            if is_known || symbol.starts_with('?') || self.builder.knows_symbol(&symbol) {
                continue;
            }
            let name = self.shared.fresh(&symbol);
            if let Some((low, high)) = self.shared.ranges.get(&symbol) {
                self.builder.declare_range(&name, *low, *high);
            }
            if let Some(known) = &mut self.symbols {
                known.insert(symbol, SymInt::symbol(name));
            }
        }
        self.symbols.as_ref().map_or_else(|| recorded.clone(), |known| recorded.substitute(known))
    }

    /// The recorded type of a tensor, with the sizes of this call.
    pub(super) fn recorded(&mut self, meta: &TensorMeta) -> Type {
        let sizes = meta.sizes.iter().map(|size| self.size(size)).collect();
        Type::tensor(meta.dtype, sizes)
    }

    /// The type of a nested graph's input, as an input of a body.
    pub(super) fn parameter(&mut self, graph: &Graph, index: usize) -> Result<Type> {
        let input = graph.inputs.get(index).ok_or_else(|| Error::input("a nested graph has too few inputs"))?;
        match &input.kind {
            InputKind::Tensor => match graph.tensors.get(&input.name) {
                Some(meta) => Ok(self.recorded(meta)),
                None => Err(Error::input(format!("the input `{}` has no recorded type", input.name))),
            },
            InputKind::SymInt => Ok(Type::tensor(Dtype::Int64, Vec::new())),
            InputKind::SymFloat => Ok(Type::tensor(Dtype::Float64, Vec::new())),
            InputKind::SymBool => Ok(Type::tensor(Dtype::Bool, Vec::new())),
            InputKind::Constant(_) => Err(Error::unsupported("a loop cannot carry a constant")),
        }
    }

    /// Checks that a nested graph gets the dtype that it is recorded to take: the parameters of a body have it.
    pub(super) fn check_operand(&self, graph: &Graph, index: usize, value: Value) -> Result<()> {
        let Some(input) = graph.inputs.get(index).filter(|input| matches!(input.kind, InputKind::Tensor)) else {
            return Ok(());
        };
        let given = self.builder.dtype(value);
        match graph.tensors.get(&input.name).filter(|meta| meta.dtype != given) {
            None => Ok(()),
            Some(meta) => {
                let name = &input.name;
                let message = format!("a nested graph gets {given} for `{name}`, which is recorded as {}", meta.dtype);
                Err(Error::input(message).help("the file is damaged: save the program again"))
            }
        }
    }

    /// The value of a nested graph's input that is bound to an input of the body.
    pub(super) fn bound_parameter(graph: &Graph, index: usize, value: Value) -> Known {
        match graph.inputs.get(index).map(|input| &input.kind) {
            Some(InputKind::Tensor) => Known::Tensor(value),
            _ => Known::Number(Scalar::Value(value)),
        }
    }

    /// The operands in an argument; a list contains several.
    pub(super) fn operands(&self, arg: &Arg) -> Result<Vec<Known>> {
        match arg {
            Arg::Tensor(name) | Arg::Sym(name) => Ok(vec![self.known(name)?.clone()]),
            Arg::Tensors(names) => names
                .iter()
                .map(|name| match name {
                    Some(name) => self.known(name).cloned(),
                    None => Ok(Known::Constant(Arg::None)),
                })
                .collect(),
            Arg::Ints(numbers) => numbers
                .iter()
                .map(|number| match number {
                    IntArg::Known(number) => Ok(Known::Number(Scalar::Int(*number))),
                    IntArg::Named(name) => self.known(name).cloned(),
                })
                .collect(),
            other => Ok(vec![literal(other)]),
        }
    }

    fn result(&self, output: &Output) -> Result<Known> {
        match &output.value {
            Arg::Tensor(name) | Arg::Sym(name) => self.known(name).cloned(),
            other => Ok(literal(other)),
        }
    }

    /// Converts a tensor or number to a value.
    pub(super) fn known_value(&mut self, known: Known) -> Result<Value> {
        match known {
            Known::Tensor(value) => Ok(value),
            Known::Number(number) => self.number_value(&number),
            Known::Constant(arg) => Err(Error::unsupported(format!("a nested graph cannot return {arg:?}"))),
        }
    }
}

fn literal(arg: &Arg) -> Known {
    match arg {
        Arg::Int(number) => Known::Number(Scalar::Int(*number)),
        Arg::Float(number) => Known::Number(Scalar::Float(*number)),
        Arg::Bool(flag) => Known::Number(Scalar::Bool(*flag)),
        other => Known::Constant(other.clone()),
    }
}
