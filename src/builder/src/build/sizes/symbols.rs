//! Symbols: where their values are in the graph, and their bounds.

use std::cell::Cell;
use std::sync::Arc;

use crate::build::Builder;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use rustc_hash::FxHashMap;

use aten2onnx_onnx::graph::{Source, Type, Value};

/// Where the value of a symbol is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// A dimension of a value.
    Dim(Value, usize),
    /// A tensor of one integer.
    Scalar(Value),
}

/// A stored binding.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bound {
    At(Binding),
    /// The dimension is `a * symbol + b`.
    Solved {
        value: Value,
        axis: usize,
        a: i64,
        b: i64,
    },
}

/// Known facts about symbols, and the number of new ones.
#[derive(Default)]
pub(crate) struct Symbols {
    /// Bounds, inclusive.
    pub(crate) ranges: FxHashMap<Arc<str>, (Option<i64>, Option<i64>)>,
    /// The number of symbols made for unknown sizes.
    pub(crate) fresh: Cell<u32>,
}

impl Builder {
    /// Sets where the value of a symbol is.
    pub fn bind_symbol(&mut self, name: &str, binding: Binding) {
        if let Binding::Scalar(value) = binding
            && self.content(value).is_none()
            && *self.ty(value) == Type::sized(Dtype::Int64, &[])
        {
            self.data_mut(value).content = Some([SymInt::symbol(name)].into());
        }
        self.bind(name, Bound::At(binding));
    }

    /// Sets the bounds of a symbol, inclusive.
    pub fn declare_range(&mut self, symbol: &str, low: Option<i64>, high: Option<i64>) {
        self.symbols.ranges.insert(Arc::from(symbol), (low, high));
    }

    /// The bounds of a symbol. A dimension is at least 0.
    pub(crate) fn symbol_range(&self, symbol: &str) -> (Option<i64>, Option<i64>) {
        if let Some(range) = self.symbols.ranges.get(symbol) {
            return *range;
        }
        match self.bound(symbol) {
            Some(Bound::At(Binding::Dim(..))) => (Some(0), None),
            // The dimension `a * symbol + b` is at least 0.
            Some(Bound::Solved { a, b, .. }) if a > 0 => {
                (SymInt::from(b).neg().ceil_div(&SymInt::from(a)).known(), None)
            }
            Some(_) => (None, None),
            None => (symbol.starts_with('?').then_some(0), None),
        }
    }

    /// The bounds of a linear expression of one symbol, if both are known.
    pub fn bounds(&self, n: &SymInt) -> Option<(i64, i64)> {
        let (a, symbol, b) = n.as_linear()?;
        let (low, high) = self.symbol_range(symbol);
        let (x, y) = (a.checked_mul(low?)?.checked_add(b)?, a.checked_mul(high?)?.checked_add(b)?);
        Some((x.min(y), x.max(y)))
    }

    /// Whether it is at least 0.
    pub(crate) fn is_nonnegative(&self, n: &SymInt) -> bool {
        n.is_nonnegative(&|symbol| self.symbol_range(symbol).0.is_some_and(|low| low >= 0))
    }

    /// Whether the bounds of its symbols say that it is at least this.
    pub fn is_at_least(&self, n: &SymInt, least: i64) -> bool {
        match n.known() {
            Some(known) => known >= least,
            None => least.checked_sub(1).is_some_and(|below| self.is_positive(&(n.clone() - below))),
        }
    }

    /// Whether it is at least 1.
    pub(crate) fn is_positive(&self, n: &SymInt) -> bool {
        // Substitutes the positive lower bound plus a nonnegative symbol for each symbol.
        let shifted = n.substitute_with(&|symbol| {
            let low = self.symbol_range(symbol).0.filter(|low| *low > 0)?;
            Some(SymInt::symbol(symbol) + low)
        });
        self.is_nonnegative(&(shifted - 1))
    }

    /// Whether the value of a symbol is available here.
    pub fn knows_symbol(&self, symbol: &str) -> bool {
        self.bound(symbol).is_some()
    }

    /// Outer scopes are searched first, because a size is best read from a graph input.
    pub(crate) fn bound(&self, symbol: &str) -> Option<Bound> {
        self.scopes.iter().find_map(|s| s.bindings.get(symbol)).copied()
    }

    /// The value and axis that a size is a dimension of.
    pub(crate) fn place(&self, size: &SymInt) -> Option<(Value, usize)> {
        match size.as_symbol() {
            Some(symbol) => match self.bound(symbol)? {
                Bound::At(Binding::Dim(value, axis)) => Some((value, axis)),
                _ => None,
            },
            None => self.scopes.iter().find_map(|s| s.dims.get(size)).copied(),
        }
    }

    /// Records the symbols that the dimensions of a value define, unless they are already known. For inputs, also
    /// solves `a * symbol + b` for the symbol.
    pub(crate) fn bind_sizes(&mut self, value: Value, is_input: bool) {
        let Some(shape) = self.ty(value).shape() else { return };
        let symbolic = shape.iter().enumerate().filter(|(_, size)| size.known().is_none());
        let found: Vec<(usize, SymInt)> = symbolic.map(|(axis, size)| (axis, size.clone())).collect();
        for (axis, size) in found {
            if self.place(&size).is_some() {
                continue;
            }
            let Some(symbol) = size.as_symbol() else {
                if let Some((a, symbol, b)) = size.as_linear().filter(|_| is_input)
                    && self.bound(symbol).is_none()
                {
                    self.bind(symbol, Bound::Solved { value, axis, a, b });
                }
                self.scope_mut().dims.insert(size, (value, axis));
                continue;
            };
            if !matches!(self.bound(symbol), Some(Bound::At(_))) {
                self.bind(symbol, Bound::At(Binding::Dim(value, axis)));
            }
        }
    }

    fn bind(&mut self, symbol: &str, bound: Bound) {
        self.scope_mut().bindings.insert(Arc::from(symbol), bound);
    }

    /// Checks that a value may be read in this scope.
    pub(crate) fn check_visible(&self, value: Value) -> Result<()> {
        let Some(data) = self.values.get(value.index()) else {
            return Err(self.fault("a value of another graph"));
        };
        match data.source {
            Source::Constant(_) | Source::Weight(_) => Ok(()),
            _ if self.scopes.iter().any(|s| s.id == data.scope) => Ok(()),
            _ => Err(self.fault("a value of a body is used outside of it")),
        }
    }
}
