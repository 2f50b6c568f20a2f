//! Bounds of an expression, from the bounds of its symbols; sizes are never negative.

use aten2onnx_core::sym::{Atom, Function, SymInt};

use super::ctx::Ctx;

/// An inclusive interval; None where there is no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Interval {
    low: Option<i64>,
    high: Option<i64>,
}

const ANY: Interval = Interval { low: None, high: None };

impl Interval {
    fn of(n: i64) -> Interval {
        Interval { low: Some(n), high: Some(n) }
    }

    fn add(self, other: Interval) -> Interval {
        let sum = |a: Option<i64>, b: Option<i64>| a?.checked_add(b?);
        Interval { low: sum(self.low, other.low), high: sum(self.high, other.high) }
    }

    fn mul(self, other: Interval) -> Interval {
        if let (Some(a), Some(b), Some(c), Some(d)) = (self.low, self.high, other.low, other.high) {
            let corners: Option<Vec<i64>> =
                [(a, c), (a, d), (b, c), (b, d)].iter().map(|(x, y)| x.checked_mul(*y)).collect();
            let corners = corners.unwrap_or_default();
            return Interval { low: corners.iter().min().copied(), high: corners.iter().max().copied() };
        }
        let nonnegative = |i: Interval| i.low.is_some_and(|low| low >= 0);
        if nonnegative(self) && nonnegative(other) {
            let product = |a: Option<i64>, b: Option<i64>| a?.checked_mul(b?);
            return Interval { low: product(self.low, other.low), high: product(self.high, other.high) };
        }
        ANY
    }

    fn scale(self, by: i64) -> Interval {
        let scaled = |n: Option<i64>| n?.checked_mul(by);
        match by {
            0 => Interval::of(0),
            1.. => Interval { low: scaled(self.low), high: scaled(self.high) },
            _ => Interval { low: scaled(self.high), high: scaled(self.low) },
        }
    }

    fn floor_div(self, by: i64) -> Interval {
        if by <= 0 {
            return ANY;
        }
        Interval { low: self.low.map(|n| n.div_euclid(by)), high: self.high.map(|n| n.div_euclid(by)) }
    }
}

impl Ctx<'_> {
    pub fn at_least(&self, n: &SymInt, least: i64) -> bool {
        self.interval(n).low.is_some_and(|low| low >= least)
    }

    pub fn at_most(&self, n: &SymInt, most: i64) -> bool {
        self.interval(n).high.is_some_and(|high| high <= most)
    }

    /// The smaller one, without `Min` if the bounds decide.
    pub fn min(&self, a: &SymInt, b: &SymInt) -> SymInt {
        let difference = b - a;
        if self.at_least(&difference, 0) {
            a.clone()
        } else if self.at_most(&difference, 0) {
            b.clone()
        } else {
            a.min(b)
        }
    }

    /// The larger one, without `Max` if the bounds decide.
    pub fn max(&self, a: &SymInt, b: &SymInt) -> SymInt {
        let difference = b - a;
        if self.at_least(&difference, 0) {
            b.clone()
        } else if self.at_most(&difference, 0) {
            a.clone()
        } else {
            a.max(b)
        }
    }

    /// `n`, or 0 if it is negative.
    pub fn not_negative(&self, n: &SymInt) -> SymInt {
        self.max(n, &SymInt::from(0))
    }

    fn interval(&self, n: &SymInt) -> Interval {
        let terms = n.terms().map(|(coefficient, factors)| {
            let factors = factors.iter().map(|(atom, power)| self.power(atom, *power));
            factors.fold(Interval::of(1), Interval::mul).scale(coefficient)
        });
        let interval = terms.fold(Interval::of(0), Interval::add);
        if interval.low.is_none_or(|low| low < 0) && self.is_size(n) {
            return Interval { low: Some(0), ..interval };
        }
        interval
    }

    fn power(&self, atom: &Atom, power: u32) -> Interval {
        let base = self.atom(atom);
        let product = (1..power).fold(base, |product, _| product.mul(base));
        if power.is_multiple_of(2) && product.low.is_none_or(|low| low < 0) {
            return Interval { low: Some(0), ..product };
        }
        product
    }

    fn atom(&self, atom: &Atom) -> Interval {
        match atom {
            Atom::Symbol(name) => self.symbol(name),
            Atom::Function(function, args) => self.function(*function, args),
        }
    }

    fn symbol(&self, name: &str) -> Interval {
        let (low, high) = self.cx.range(name);
        if low.is_some_and(|low| low >= 0) || !self.is_size(&SymInt::symbol(name)) {
            return Interval { low, high };
        }
        Interval { low: Some(0), high }
    }

    fn function(&self, function: Function, args: &[SymInt]) -> Interval {
        let all = || args.iter().map(|a| self.interval(a));
        match (function, args) {
            (Function::FloorDiv, [a, b]) => match b.known() {
                Some(b) => self.interval(a).floor_div(b),
                None if self.at_least(a, 0) && self.at_least(b, 1) => {
                    Interval { low: Some(0), high: self.interval(a).high }
                }
                None => ANY,
            },
            (Function::Mod, [_, b]) => match b.known() {
                Some(b) if b > 0 => Interval { low: Some(0), high: Some(b - 1) },
                _ => ANY,
            },
            (Function::Max, _) => Interval {
                low: all().filter_map(|i| i.low).max(),
                high: all().map(|i| i.high).collect::<Option<Vec<_>>>().and_then(|h| h.into_iter().max()),
            },
            (Function::Min, _) => Interval {
                low: all().map(|i| i.low).collect::<Option<Vec<_>>>().and_then(|l| l.into_iter().min()),
                high: all().filter_map(|i| i.high).min(),
            },
            (Function::Add, _) => all().fold(Interval::of(0), Interval::add),
            (Function::Mul, _) => all().fold(Interval::of(1), Interval::mul),
            _ => ANY,
        }
    }

    /// Whether it is a size of an input.
    fn is_size(&self, n: &SymInt) -> bool {
        (0..self.inputs.len()).filter_map(|i| self.shape(i)).flatten().any(|dim| dim == n)
    }
}
