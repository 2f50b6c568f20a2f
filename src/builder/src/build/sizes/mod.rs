//! Sizes in the graph: turns symbols and expressions into nodes, and lists of sizes into one vector.

pub(crate) mod arithmetic;
mod shapes;
mod special;
pub(crate) mod symbols;

use crate::build::sizes::symbols::{Binding, Bound};
use crate::build::{Builder, In, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::{Atom, Function, SymInt};
use aten2onnx_onnx::graph::{Attr, Value};

impl Builder {
    /// A size as a 0-dim int64 value.
    pub fn sym_value(&mut self, size: &SymInt) -> Result<Value> {
        if let Some(known) = size.known() {
            return self.scalar(&Scalar::Int(known), Dtype::Int64);
        }
        if let Some(value) = self.scopes.iter().find_map(|s| s.sizes.get(size)) {
            return Ok(*value);
        }
        let value = match (self.place(size), size.as_symbol()) {
            (Some((value, axis)), _) => self.dim_value(value, axis)?,
            (None, Some(symbol)) => self.symbol_value(symbol)?,
            (None, None) => self.sum_value(size)?,
        };
        self.scope_mut().sizes.insert(size.clone(), value);
        Ok(value)
    }

    fn symbol_value(&mut self, symbol: &str) -> Result<Value> {
        match self.bound(symbol) {
            Some(Bound::At(Binding::Dim(value, axis))) => self.dim_value(value, axis),
            Some(Bound::At(Binding::Scalar(value))) => {
                let value = self.cast(value, Dtype::Int64)?;
                match self.ty(value).rank() {
                    Some(0) => Ok(value),
                    _ => self.node1("Reshape", vec![value.into(), Vec::<i64>::new().into()], vec![]),
                }
            }
            Some(Bound::Solved { value, axis, a, b }) => {
                let size = self.dim_value(value, axis)?;
                let shifted = if b == 0 { size } else { self.node1("Sub", vec![size.into(), b.into()], vec![])? };
                if a == 1 { Ok(shifted) } else { self.node1("Div", vec![shifted.into(), a.into()], vec![]) }
            }
            None if symbol.starts_with("?too_long") => Err(Error::unsupported("an expression of sizes is too long")),
            None => Err(Error::unsupported(format!("the size `{symbol}` is not a dimension of any input"))),
        }
    }

    /// One dimension of a value, as a 0-dim value.
    fn dim_value(&mut self, value: Value, axis: usize) -> Result<Value> {
        let shape = self.node1("Shape", vec![value.into()], vec![])?;
        self.node1("Gather", vec![shape.into(), (axis as i64).into()], vec![])
    }

    fn sum_value(&mut self, size: &SymInt) -> Result<Value> {
        let mut terms: Vec<(i64, Vec<(Atom, u32)>)> = size.terms().map(|(c, factors)| (c, factors.to_vec())).collect();
        // A sum that starts with a positive term needs no negation.
        if let Some(first) = terms.iter().position(|(c, factors)| *c > 0 && !factors.is_empty()) {
            terms.swap(0, first);
        }
        let mut sum: Option<Value> = None;
        for (coefficient, factors) in terms {
            sum = Some(match sum {
                None => self.term_value(coefficient, &factors)?,
                Some(sum) => match coefficient.checked_neg().filter(|c| *c > 0) {
                    Some(positive) => {
                        let term = self.term_value(positive, &factors)?;
                        self.node1("Sub", vec![sum.into(), term.into()], vec![])?
                    }
                    None => {
                        let term = self.term_value(coefficient, &factors)?;
                        self.node1("Add", vec![sum.into(), term.into()], vec![])?
                    }
                },
            });
        }
        sum.ok_or_else(|| self.fault("a sum without terms"))
    }

    fn term_value(&mut self, coefficient: i64, factors: &[(Atom, u32)]) -> Result<Value> {
        let mut product: Option<Value> = None;
        for (atom, power) in factors {
            let value = self.atom_value(atom)?;
            for _ in 0..*power {
                product = Some(match product {
                    None => value,
                    Some(p) => self.node1("Mul", vec![p.into(), value.into()], vec![])?,
                });
            }
        }
        match product {
            Some(product) if coefficient == 1 => Ok(product),
            Some(product) => self.node1("Mul", vec![product.into(), coefficient.into()], vec![]),
            None => self.sym_value(&SymInt::from(coefficient)),
        }
    }

    fn atom_value(&mut self, atom: &Atom) -> Result<Value> {
        match atom {
            Atom::Symbol(name) => self.sym_value(&SymInt::symbol(name.clone())),
            Atom::Function(Function::FloorDiv, args) if args.len() == 2 => {
                let plain = args.iter().all(|a| self.is_nonnegative(a));
                let (a, b) = (self.sym_value(&args[0])?, self.sym_value(&args[1])?);
                if plain {
                    return self.node1("Div", vec![a.into(), b.into()], vec![]);
                }
                // Div truncates, so the remainder is subtracted first.
                let rest = self.node1("Mod", vec![a.into(), b.into()], vec![])?;
                let exact = self.node1("Sub", vec![a.into(), rest.into()], vec![])?;
                self.node1("Div", vec![exact.into(), b.into()], vec![])
            }
            Atom::Function(Function::Special(special), args) => self.special_value(*special, args),
            Atom::Function(function, args) => {
                let op = match function {
                    Function::FloorDiv => "Div",
                    Function::Mod => "Mod",
                    Function::Min => "Min",
                    Function::Max => "Max",
                    Function::Pow => "Pow",
                    Function::Mul => "Mul",
                    Function::Add | Function::Special(_) => "Add",
                };
                let mut values = Vec::with_capacity(args.len());
                for arg in args {
                    values.push(self.sym_value(arg)?);
                }
                let mut values = values.into_iter();
                let first = values.next().ok_or_else(|| self.fault("a function without arguments"))?;
                values.try_fold(first, |a, b| self.integer_op(op, a, b))
            }
        }
    }

    /// An operator on two 0-dim int64 values. Min and Max take int64 from opset 12 on.
    fn integer_op(&mut self, op: &'static str, a: Value, b: Value) -> Result<Value> {
        if self.limits.opset >= 12 || !matches!(op, "Min" | "Max") {
            return self.node1(op, vec![a.into(), b.into()], vec![]);
        }
        let less = self.node1("Less", vec![a.into(), b.into()], vec![])?;
        let (yes, no) = if op == "Min" { (a, b) } else { (b, a) };
        self.choice(less, yes, no)
    }

    /// Sizes as a one-dimensional int64 value: a constant, or one Concat.
    pub fn tensor1(&mut self, sizes: &[SymInt]) -> Result<Value> {
        if let Some(known) = sizes.iter().map(SymInt::known).collect::<Option<Vec<i64>>>() {
            return Ok(self.ints(&known));
        }
        let mut pieces = Vec::new();
        let mut left = sizes;
        while !left.is_empty() {
            let (piece, count) = self.prefix_value(left)?;
            pieces.push(piece);
            left = left.get(count..).unwrap_or_default();
        }
        match pieces.as_slice() {
            [only] => Ok(*only),
            _ => self.node1("Concat", vec![pieces.into()], vec![("axis", Attr::Int(0))]),
        }
    }

    /// The longest prefix of a list of sizes that is one value, and its length.
    fn prefix_value(&mut self, sizes: &[SymInt]) -> Result<(Value, usize)> {
        let known: Vec<i64> = sizes.iter().map_while(SymInt::known).collect();
        if !known.is_empty() {
            return Ok((self.ints(&known), known.len()));
        }
        if let Some((value, axis)) = sizes.first().and_then(|size| self.place(size)) {
            let run = sizes.iter().enumerate().take_while(|(i, size)| self.place(size) == Some((value, axis + i)));
            let count = run.count().max(1);
            return Ok((self.shape_part(value, axis, axis + count)?, count));
        }
        let size = sizes.first().cloned().unwrap_or_default();
        let value = self.sym_value(&size)?;
        let axes: In = vec![0i64].into();
        Ok((self.node1("Unsqueeze", vec![value.into(), axes], vec![])?, 1))
    }

    /// A range of dimensions of a value, one-dimensional.
    fn shape_part(&mut self, value: Value, start: usize, end: usize) -> Result<Value> {
        let rank = self.ty(value).rank();
        if self.limits.opset >= 15 {
            let mut attrs = Vec::new();
            if start != 0 {
                attrs.push(("start", Attr::Int(start as i64)));
            }
            if rank != Some(end) {
                attrs.push(("end", Attr::Int(end as i64)));
            }
            return self.node1("Shape", vec![value.into()], attrs);
        }
        let shape = self.node1("Shape", vec![value.into()], vec![])?;
        if start == 0 && rank == Some(end) {
            return Ok(shape);
        }
        let list = |n: usize| In::from(vec![n as i64]);
        self.node1("Slice", vec![shape.into(), list(start), list(end), list(0)], vec![])
    }

    /// Sizes in a dtype, one-dimensional.
    pub(crate) fn vector(&mut self, sizes: &[SymInt], dtype: Dtype) -> Result<Value> {
        match sizes.iter().map(SymInt::known).collect::<Option<Vec<i64>>>() {
            Some(known) => {
                let numbers: Vec<Scalar> = known.into_iter().map(Scalar::Int).collect();
                self.numbers(&numbers, dtype)
            }
            None => {
                let value = self.tensor1(sizes)?;
                self.cast(value, dtype)
            }
        }
    }
}
