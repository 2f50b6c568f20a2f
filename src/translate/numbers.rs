//! Nodes that compute numbers of the program: sizes, `item()`, Python arithmetic on them.
//!
//! An integer's value is an expression that torch.export recorded, so its node does nothing. Floats and booleans that depend on
//! data are values of the graph.

use super::{Known, Translation};
use crate::builder::{Builder, Scalar, ScalarOp};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::program::{Arg, Graph, Node, NodeOutput, SymNumber};
use crate::sym::{SymInt, UNARY, Unary};

/// Operators of ATen that give a number.
const GIVE_NUMBERS: &[&str] = &[
    "aten::sym_size.int",
    "aten::sym_size",
    "aten::sym_numel",
    "aten::sym_stride.int",
    "aten::sym_storage_offset",
    "aten::item",
    "aten::_local_scalar_dense",
];

/// Does the node compute a number of the program?
pub(super) fn is_number_node(node: &Node) -> bool {
    is_number_target(&node.target)
}

/// Is it an operator on numbers of the program?
pub(super) fn is_number_target(target: &str) -> bool {
    let namespace = target.split(':').next().unwrap_or("");
    matches!(namespace, "_operator" | "math" | "torch") || GIVE_NUMBERS.contains(&target)
}

impl Translation<'_> {
    /// Binds the results of a number node; false if a rule must do it.
    pub(super) fn number_node(&mut self, node: &Node, graph: &Graph) -> Result<bool> {
        let [NodeOutput::Sym(name)] = node.outputs.as_slice() else { return Ok(false) };
        if let Some(size) = graph.sym_ints.get(name) {
            let size = self.size(size);
            let known = self.size_node(node, &size)?;
            self.env.insert(name.clone(), Known::Number(known));
            return Ok(true);
        }
        let recorded = graph.sym_floats.get(name).or_else(|| graph.sym_bools.get(name));
        let number = match recorded {
            Some(SymNumber::Float(f)) => Scalar::Float(*f),
            Some(SymNumber::Bool(b)) => Scalar::Bool(*b),
            _ => self.computed(node)?,
        };
        self.env.insert(name.clone(), Known::Number(number));
        Ok(true)
    }

    /// An integer by its recorded expression. One that comes out of the data is bound to its value in the graph.
    fn size_node(&mut self, node: &Node, size: &SymInt) -> Result<Scalar> {
        let from_data = matches!(node.target.as_str(), "aten::item" | "aten::_local_scalar_dense");
        let is_known = size.symbols().iter().all(|symbol| self.builder.knows_symbol(symbol));
        // An expression that nothing here can read.
        let is_opaque = size.has_anonymous() && !node.target.starts_with("aten::");
        if from_data || is_opaque || (!is_known && !self.computable(node)) {
            let value = match from_data {
                true => self.operand_tensor(node)?,
                false => match self.computed(node)? {
                    Scalar::Value(value) => value,
                    known => return Ok(known),
                },
            };
            let value = self.builder.cast(value, Dtype::Int64)?;
            let value = self.builder.reshape(value, &[])?;
            self.bind(size, value);
        }
        Ok(Scalar::from(size.clone()))
    }

    /// Are all operands integers, so that the recorded expression says it all?
    fn computable(&self, node: &Node) -> bool {
        node.args.iter().all(|(_, arg)| match arg {
            Arg::Sym(name) | Arg::Tensor(name) => match self.env.get(name) {
                Some(Known::Number(Scalar::Value(_) | Scalar::Float(_))) => false,
                Some(Known::Tensor(_)) => node.target.starts_with("aten::sym_"),
                _ => true,
            },
            _ => true,
        })
    }

    fn operand_tensor(&mut self, node: &Node) -> Result<Value> {
        match node.args.first() {
            Some((_, Arg::Tensor(name))) => self.value_of(name),
            _ => Err(Error::input("an operand that is no tensor")),
        }
    }

    /// A number that the graph computes.
    fn computed(&mut self, node: &Node) -> Result<Scalar> {
        if matches!(node.target.as_str(), "aten::item" | "aten::_local_scalar_dense") {
            let value = self.operand_tensor(node)?;
            return Ok(Scalar::Value(self.builder.reshape(value, &[])?));
        }
        let operands = node.args.iter().map(|(_, arg)| self.operand(arg)).collect::<Result<Vec<Scalar>>>()?;
        let operator = node.target.rsplit("::").next().unwrap_or("");
        arithmetic(self.builder, operator, &operands)
    }

    fn operand(&mut self, arg: &Arg) -> Result<Scalar> {
        match arg {
            Arg::Int(i) => Ok(Scalar::Int(*i)),
            Arg::Float(f) => Ok(Scalar::Float(*f)),
            Arg::Bool(b) => Ok(Scalar::Bool(*b)),
            Arg::Sym(name) | Arg::Tensor(name) => self.number(name),
            other => Err(Error::input(format!("{other:?} in arithmetic on numbers"))),
        }
    }

    /// Binds a number that a rule gave.
    pub(super) fn bind_number(&mut self, name: &str, number: Scalar, graph: &Graph) -> Result<()> {
        if let (Some(size), Scalar::Value(value)) = (graph.sym_ints.get(name), &number) {
            let size = self.size(size);
            let value = self.builder.cast(*value, Dtype::Int64)?;
            let value = self.builder.reshape(value, &[])?;
            self.bind(&size, value);
            self.env.insert(name.to_owned(), Known::Number(Scalar::from(size)));
            return Ok(());
        }
        self.env.insert(name.to_owned(), Known::Number(number));
        Ok(())
    }

    /// A number as a 0-dim value of the graph.
    pub(super) fn number_value(&mut self, number: &Scalar) -> Result<Value> {
        match number {
            Scalar::Value(value) => Ok(*value),
            Scalar::Sym(size) => self.builder.sym_value(size),
            Scalar::Int(_) => self.builder.scalar(number, Dtype::Int64),
            Scalar::Bool(_) => self.builder.scalar(number, Dtype::Bool),
            _ => self.builder.scalar(number, self.builder.default_float()),
        }
    }
}

/// Python's operators on numbers of which some are in the graph.
fn arithmetic(cx: &mut Builder, operator: &str, operands: &[Scalar]) -> Result<Scalar> {
    let op = match operator {
        "add" => ScalarOp::Add,
        "sub" => ScalarOp::Sub,
        "mul" => ScalarOp::Mul,
        "truediv" => ScalarOp::Div,
        "floordiv" => ScalarOp::FloorDiv,
        "mod" => ScalarOp::Mod,
        "pow" => ScalarOp::Pow,
        _ => return other_operators(cx, operator, operands),
    };
    match operands {
        [a, b] => cx.scalar_op(op, a, b),
        _ => Err(Error::input(format!("`{operator}` with {} operands", operands.len()))),
    }
}

fn other_operators(cx: &mut Builder, operator: &str, operands: &[Scalar]) -> Result<Scalar> {
    let comparison = match operator {
        "eq" => Some("Equal"),
        "lt" => Some("Less"),
        "le" => Some("LessOrEqual"),
        "gt" => Some("Greater"),
        "ge" => Some("GreaterOrEqual"),
        "sym_max" => Some("Max"),
        "sym_min" => Some("Min"),
        _ => None,
    };
    match (operator, operands) {
        (_, [a, b]) if comparison.is_some() => {
            let (a, b) = in_graph(cx, a, b)?;
            cx.node1(comparison.unwrap_or("Equal"), vec![a.into(), b.into()], vec![]).map(Scalar::Value)
        }
        ("and_" | "or_" | "xor", [a, b]) => bits(cx, operator, a, b),
        ("lshift", [a, b]) => {
            let factor = cx.scalar_op(ScalarOp::Pow, &Scalar::Int(2), b)?;
            cx.scalar_op(ScalarOp::Mul, a, &factor)
        }
        ("rshift", [a, b]) => {
            let divisor = cx.scalar_op(ScalarOp::Pow, &Scalar::Int(2), b)?;
            cx.scalar_op(ScalarOp::FloorDiv, a, &divisor)
        }
        ("abs", [a]) => {
            let negative = cx.scalar_neg(a)?;
            let (a, negative) = in_graph(cx, a, &negative)?;
            cx.node1("Max", vec![a.into(), negative.into()], vec![]).map(Scalar::Value)
        }
        ("ne", [a, b]) => {
            let (a, b) = in_graph(cx, a, b)?;
            let equal = cx.node1("Equal", vec![a.into(), b.into()], vec![])?;
            cx.node1("Not", vec![equal.into()], vec![]).map(Scalar::Value)
        }
        ("neg", [a]) => cx.scalar_neg(a),
        ("pos" | "sym_float" | "sym_int" | "trunc", [a]) => converted(cx, operator, a),
        ("sym_not", [a]) => {
            let a = value(cx, a, Dtype::Bool)?;
            cx.node1("Not", vec![a.into()], vec![]).map(Scalar::Value)
        }
        ("floor" | "ceil" | "round", [a]) => {
            let a = value(cx, a, Dtype::Float64)?;
            let op = match operator {
                "floor" => "Floor",
                "ceil" => "Ceil",
                _ => "Round",
            };
            let rounded = cx.node1(op, vec![a.into()], vec![])?;
            cx.cast(rounded, Dtype::Int64).map(Scalar::Value)
        }
        (_, [a]) if unary(operator).is_some() => {
            let a = value(cx, a, Dtype::Float64)?;
            cx.function_of_real(unary(operator).unwrap_or(Unary::Sqrt), a).map(Scalar::Value)
        }
        ("sym_ite", [b, t, f]) => {
            let b = value(cx, b, Dtype::Bool)?;
            let (t, f) = in_graph(cx, t, f)?;
            cx.node1("Where", vec![b.into(), t.into(), f.into()], vec![]).map(Scalar::Value)
        }
        _ => Err(Error::unsupported(format!("no arithmetic on numbers that the data decide for `{operator}`"))),
    }
}

/// `math.sqrt`, `torch.sym_sqrt`, `torch._sym_sqrt` and the like.
fn unary(operator: &str) -> Option<Unary> {
    let name = operator.trim_start_matches('_');
    let name = name.strip_prefix("sym_").unwrap_or(name);
    UNARY.iter().find(|(known, _)| *known == name).map(|(_, unary)| *unary)
}

/// Logic on booleans, bits of integers.
fn bits(cx: &mut Builder, operator: &str, a: &Scalar, b: &Scalar) -> Result<Scalar> {
    let (a, b) = in_graph(cx, a, b)?;
    let op = match (operator, cx.dtype(a) == Dtype::Bool) {
        ("and_", true) => "And",
        ("or_", true) => "Or",
        (_, true) => "Xor",
        ("and_", false) => "BitwiseAnd",
        ("or_", false) => "BitwiseOr",
        (_, false) => "BitwiseXor",
    };
    cx.node1(op, vec![a.into(), b.into()], vec![]).map(Scalar::Value)
}

fn converted(cx: &mut Builder, operator: &str, a: &Scalar) -> Result<Scalar> {
    match operator {
        "pos" => Ok(a.clone()),
        "sym_float" => value(cx, a, Dtype::Float64).map(Scalar::Value),
        // A cast to an integer cuts the fraction off, as Python does.
        _ => value(cx, a, Dtype::Int64).map(Scalar::Value),
    }
}

/// Two numbers as values of one dtype.
fn in_graph(cx: &mut Builder, a: &Scalar, b: &Scalar) -> Result<(Value, Value)> {
    let dtype_of = |cx: &Builder, x: &Scalar| match x {
        Scalar::Value(v) => cx.dtype(*v),
        Scalar::Int(_) | Scalar::Sym(_) => Dtype::Int64,
        Scalar::Bool(_) => Dtype::Bool,
        _ => Dtype::Float64,
    };
    let (x, y) = (dtype_of(cx, a), dtype_of(cx, b));
    let wider =
        if x.is_float() == y.is_float() && x.bits() < y.bits() || !x.is_float() && y.is_float() { y } else { x };
    Ok((value(cx, a, wider)?, value(cx, b, wider)?))
}

fn value(cx: &mut Builder, number: &Scalar, dtype: Dtype) -> Result<Value> {
    match number {
        Scalar::Value(v) => cx.cast(*v, dtype),
        Scalar::Sym(size) => {
            let size = cx.sym_value(size)?;
            cx.cast(size, dtype)
        }
        known => cx.scalar(known, dtype),
    }
}
