//! Sizes in the graph: where symbols are found, and how expressions of them become nodes.

use std::sync::Arc;

use super::{Builder, In, Scalar};
use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::graph::{Attr, Source, Value};
use crate::sym::{Atom, Function, SymInt};

/// Where a symbol's value is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// It is a dimension of a value.
    Dim(Value, usize),
    /// It is a tensor of one integer.
    Scalar(Value),
}

/// A binding as it is kept.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bound {
    At(Binding),
    /// The dimension is `a * symbol + b`.
    Solved {
        value: Value,
        axis: usize,
        a: i64,
        b: i64,
    },
}

impl Builder {
    /// States where a symbol's value is found.
    pub fn bind_symbol(&mut self, name: &str, binding: Binding) {
        self.scope_mut().bindings.insert(Arc::from(name), Bound::At(binding));
    }

    /// States the bounds of a symbol, inclusive.
    pub fn declare_range(&mut self, symbol: &str, low: Option<i64>, high: Option<i64>) {
        self.ranges.insert(Arc::from(symbol), (low, high));
    }

    /// The bounds of a symbol. What is a size is at least 0.
    pub(super) fn symbol_range(&self, symbol: &str) -> (Option<i64>, Option<i64>) {
        if let Some(range) = self.ranges.get(symbol) {
            return *range;
        }
        match self.bound(symbol) {
            Some(Bound::At(Binding::Dim(..))) => (Some(0), None),
            Some(_) => (None, None),
            None => (symbol.starts_with('?').then_some(0), None),
        }
    }

    /// Is it at least 0?
    pub(super) fn is_nonnegative(&self, n: &SymInt) -> bool {
        n.is_nonnegative(&|symbol| self.symbol_range(symbol).0.is_some_and(|low| low >= 0))
    }

    /// Is it at least 1?
    pub(super) fn is_positive(&self, n: &SymInt) -> bool {
        // Each symbol is its lower bound, if that is positive, and something at least 0.
        let shifted = n.substitute_with(&|symbol| {
            let low = self.symbol_range(symbol).0.filter(|low| *low > 0)?;
            Some(SymInt::symbol(symbol) + low)
        });
        self.is_nonnegative(&(shifted - 1))
    }

    /// The innermost scopes are asked last: a graph input is the best place to find a size.
    fn bound(&self, symbol: &str) -> Option<Bound> {
        self.scopes.iter().find_map(|s| s.bindings.get(symbol)).copied()
    }

    /// Notes the symbols that the dimensions of a value tell, unless they are known from elsewhere. Of inputs, also
    /// `a * symbol + b` tells it.
    pub(super) fn bind_sizes(&mut self, value: Value, is_input: bool) {
        let Some(shape) = self.ty(value).shape() else { return };
        let mut found: Vec<(Arc<str>, Bound)> = Vec::new();
        for (axis, size) in shape.iter().enumerate() {
            if size.known().is_some() {
                continue;
            }
            if let Some(name) = size.as_symbol() {
                if !matches!(self.bound(name), Some(Bound::At(_))) {
                    found.push((Arc::from(name), Bound::At(Binding::Dim(value, axis))));
                }
            } else if let Some((a, name, b)) = size.as_linear().filter(|_| is_input)
                && self.bound(name).is_none()
            {
                found.push((Arc::from(name), Bound::Solved { value, axis, a, b }));
            }
        }
        for (name, bound) in found {
            self.scope_mut().bindings.insert(name, bound);
        }
    }

    /// A size as an int64 0-dim value.
    pub fn sym_value(&mut self, size: &SymInt) -> Result<Value> {
        if let Some(known) = size.known() {
            return self.scalar(&Scalar::Int(known), Dtype::Int64);
        }
        if let Some(value) = self.scopes.iter().find_map(|s| s.sizes.get(size)) {
            return Ok(*value);
        }
        let value = match size.as_symbol() {
            Some(symbol) => self.symbol_value(symbol)?,
            None => self.sum_value(size)?,
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
                    _ => self.node1("Reshape", vec![value.into(), Vec::<i64>::new().into()], vec![], 1),
                }
            }
            Some(Bound::Solved { value, axis, a, b }) => {
                let size = self.dim_value(value, axis)?;
                let shifted = if b == 0 { size } else { self.node1("Sub", vec![size.into(), b.into()], vec![], 1)? };
                if a == 1 { Ok(shifted) } else { self.node1("Div", vec![shifted.into(), a.into()], vec![], 1) }
            }
            None if symbol.starts_with("?too_long") => Err(Error::unsupported("an expression of sizes is too long")),
            None => Err(Error::unsupported(format!("no input tells the size `{symbol}`"))),
        }
    }

    /// One dimension of a value, 0-dim.
    fn dim_value(&mut self, value: Value, axis: usize) -> Result<Value> {
        let shape = self.node1("Shape", vec![value.into()], vec![], 1)?;
        self.node1("Gather", vec![shape.into(), (axis as i64).into()], vec![], 1)
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
                        self.node1("Sub", vec![sum.into(), term.into()], vec![], 1)?
                    }
                    None => {
                        let term = self.term_value(coefficient, &factors)?;
                        self.node1("Add", vec![sum.into(), term.into()], vec![], 1)?
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
                    Some(p) => self.node1("Mul", vec![p.into(), value.into()], vec![], 1)?,
                });
            }
        }
        match product {
            Some(product) if coefficient == 1 => Ok(product),
            Some(product) => self.node1("Mul", vec![product.into(), coefficient.into()], vec![], 1),
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
                    return self.node1("Div", vec![a.into(), b.into()], vec![], 1);
                }
                // Div rounds to 0: what is left over is taken away first.
                let rest = self.node1("Mod", vec![a.into(), b.into()], vec![], 1)?;
                let exact = self.node1("Sub", vec![a.into(), rest.into()], vec![], 1)?;
                self.node1("Div", vec![exact.into(), b.into()], vec![], 1)
            }
            Atom::Function(function, args) => {
                let op = match function {
                    Function::FloorDiv => "Div",
                    Function::Mod => "Mod",
                    Function::Min => "Min",
                    Function::Max => "Max",
                    Function::Pow => "Pow",
                    Function::Add => "Add",
                    Function::Mul => "Mul",
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

    /// Of two 0-dim int64 values. Min and Max take int64 from opset 12 on.
    fn integer_op(&mut self, op: &'static str, a: Value, b: Value) -> Result<Value> {
        if self.opset >= 12 || !matches!(op, "Min" | "Max") {
            return self.node1(op, vec![a.into(), b.into()], vec![], 1);
        }
        let less = self.node1("Less", vec![a.into(), b.into()], vec![], 1)?;
        let (yes, no) = if op == "Min" { (a, b) } else { (b, a) };
        self.node1("Where", vec![less.into(), yes.into(), no.into()], vec![], 1)
    }

    /// Sizes as a one-dimensional int64 value: a constant, or one Concat.
    pub fn tensor1(&mut self, sizes: &[SymInt]) -> Result<Value> {
        if let Some(known) = sizes.iter().map(SymInt::known).collect::<Option<Vec<i64>>>() {
            return Ok(self.ints(&known));
        }
        let mut pieces = Vec::new();
        let mut left = sizes;
        while !left.is_empty() {
            let (piece, count) = self.piece(left)?;
            pieces.push(piece);
            left = left.get(count..).unwrap_or_default();
        }
        match pieces.as_slice() {
            [only] => Ok(*only),
            _ => self.node1("Concat", vec![pieces.into()], vec![("axis", Attr::Int(0))], 1),
        }
    }

    /// The longest start of a list of sizes that is one value, and its length.
    fn piece(&mut self, sizes: &[SymInt]) -> Result<(Value, usize)> {
        let known: Vec<i64> = sizes.iter().map_while(SymInt::known).collect();
        if !known.is_empty() {
            return Ok((self.ints(&known), known.len()));
        }
        let count = self.run(sizes);
        if let Some(Bound::At(Binding::Dim(value, axis))) = sizes.first().and_then(|s| self.bound(s.as_symbol()?)) {
            return Ok((self.shape_part(value, axis, axis + count)?, count));
        }
        let size = sizes.first().cloned().unwrap_or_default();
        let value = self.sym_value(&size)?;
        let axes: In = vec![0i64].into();
        Ok((self.node1("Unsqueeze", vec![value.into(), axes], vec![], 1)?, 1))
    }

    /// The number of sizes at the start that are consecutive dimensions of one value, at least 1.
    fn run(&self, sizes: &[SymInt]) -> usize {
        let place = |size: &SymInt| match self.bound(size.as_symbol()?)? {
            Bound::At(Binding::Dim(value, axis)) => Some((value, axis)),
            _ => None,
        };
        let Some((value, start)) = sizes.first().and_then(place) else { return 1 };
        sizes.iter().enumerate().take_while(|(i, size)| place(size) == Some((value, start + i))).count().max(1)
    }

    /// Some dimensions of a value, one-dimensional.
    fn shape_part(&mut self, value: Value, start: usize, end: usize) -> Result<Value> {
        let rank = self.ty(value).rank();
        if self.opset >= 15 {
            let mut attrs = Vec::new();
            if start != 0 {
                attrs.push(("start", Attr::Int(start as i64)));
            }
            if rank != Some(end) {
                attrs.push(("end", Attr::Int(end as i64)));
            }
            return self.node1("Shape", vec![value.into()], attrs, 1);
        }
        let shape = self.node1("Shape", vec![value.into()], vec![], 1)?;
        if start == 0 && rank == Some(end) {
            return Ok(shape);
        }
        let list = |n: usize| In::from(vec![n as i64]);
        self.node1("Slice", vec![shape.into(), list(start), list(end), list(0)], vec![], 1)
    }

    /// Sizes in a dtype, one-dimensional.
    pub(super) fn vector(&mut self, sizes: &[SymInt], dtype: Dtype) -> Result<Value> {
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

    /// May a value be read here?
    pub(super) fn check_visible(&self, value: Value) -> Result<()> {
        let Some(data) = self.values.get(value.index()) else {
            return Err(self.fault("a value of another graph"));
        };
        match data.source {
            Source::Constant(_) | Source::Weight(_) => Ok(()),
            _ if self.scopes.iter().any(|s| s.id == data.scope) => Ok(()),
            _ => Err(self.fault("a value of a body is read outside of it")),
        }
    }
}
