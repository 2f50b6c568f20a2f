//! Symbolic integers: expressions in named symbols, in a normal form so that equal expressions compare equal.
//!
//! An expression is a sum of terms; a term is an integer coefficient times a product of powers of atoms; an atom is a
//! symbol or an opaque function (floor division, modulo, minimum, ...). Arithmetic never overflows or panics: a result
//! that does not fit an `i64` or grows too large becomes an opaque function of its operands.

mod arithmetic;
mod display;
mod division;
mod eval;
mod special;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

pub use special::{Kind, Relation, Special, UNARY, Unary};

/// A known integer, or a symbolic expression.
///
/// It does not implement `Ord`, because `a.min(b)` would then compare normal forms.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SymInt(Repr);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Repr {
    Known(i64),
    Sum(Arc<Sum>),
}

/// Terms in descending order of their monomials, without zero coefficients; never a known number.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Sum {
    terms: Vec<Term>,
    /// The number of atoms at all depths: the cost of traversing the expression.
    size: u32,
}

/// `coefficient * factors`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Term {
    coefficient: i64,
    /// Sorted by atom, with positive powers; empty for the constant term.
    factors: Monomial,
}

type Monomial = Vec<(Atom, u32)>;

/// A factor of a term.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Atom {
    /// A symbol by name.
    Symbol(Arc<str>),
    /// A function of other expressions.
    Function(Function, Vec<SymInt>),
}

/// Functions that are opaque to the normal form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Function {
    /// Division, rounded down.
    FloorDiv,
    /// The remainder of floor division, with the sign of the divisor.
    Mod,
    /// The minimum of two or more.
    Min,
    /// The maximum of two or more.
    Max,
    /// Base and exponent.
    Pow,
    /// A sum that does not fit the normal form.
    Add,
    /// A product that does not fit the normal form.
    Mul,
    /// A function on real numbers or booleans.
    Special(Special),
}

/// Larger sums become opaque.
const MAX_TERMS: usize = 64;
/// Larger expressions are replaced by a new symbol.
const MAX_SIZE: u32 = 256;

impl SymInt {
    /// A symbol.
    pub fn symbol(name: impl Into<Arc<str>>) -> SymInt {
        SymInt::of_atom(Atom::Symbol(name.into()))
    }

    /// The value, if it is known.
    pub fn known(&self) -> Option<i64> {
        match self.0 {
            Repr::Known(n) => Some(n),
            Repr::Sum(_) => None,
        }
    }

    /// The name, if this is a single symbol.
    pub fn as_symbol(&self) -> Option<&str> {
        match self.only_atom()? {
            Atom::Symbol(name) => Some(name),
            Atom::Function(..) => None,
        }
    }

    /// Whether this is a single symbol for an unknown dimension (or one beyond the limits). Such symbols start with
    /// `?`.
    pub fn is_anonymous(&self) -> bool {
        self.as_symbol().is_some_and(|name| name.starts_with('?'))
    }

    /// Whether it contains such a symbol, so that its text means nothing to a user.
    pub fn has_anonymous(&self) -> bool {
        let mut found = false;
        self.visit_symbols(&mut |name| found |= name.starts_with('?'));
        found
    }

    /// The terms: a coefficient and its factors, each an atom with its power. Zero has no terms.
    pub fn terms(&self) -> impl Iterator<Item = (i64, &[(Atom, u32)])> {
        let known = self.known().filter(|n| *n != 0).map(|n| (n, [].as_slice()));
        let terms = match &self.0 {
            Repr::Known(_) => [].as_slice(),
            Repr::Sum(sum) => sum.terms.as_slice(),
        };
        known.into_iter().chain(terms.iter().map(|t| (t.coefficient, t.factors.as_slice())))
    }

    /// All symbols in the expression.
    pub fn symbols(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        self.visit_symbols(&mut |name| {
            names.insert(name.to_owned());
        });
        names
    }

    /// Calls `f` for each occurrence of a symbol.
    pub fn visit_symbols(&self, f: &mut dyn FnMut(&str)) {
        for (_, factors) in self.terms() {
            for (atom, _) in factors {
                match atom {
                    Atom::Symbol(name) => f(name),
                    Atom::Function(_, args) => args.iter().for_each(|a| a.visit_symbols(f)),
                }
            }
        }
    }

    /// `a`, symbol and `b`, if this is `a * symbol + b`.
    pub fn as_linear(&self) -> Option<(i64, &str, i64)> {
        let mut constant = 0;
        let mut linear = None;
        for (coefficient, factors) in self.terms() {
            match factors {
                [] => constant = coefficient,
                [(Atom::Symbol(name), 1)] if linear.is_none() => linear = Some((coefficient, &**name)),
                _ => return None,
            }
        }
        linear.map(|(a, name)| (a, name, constant))
    }

    /// Whether it is at least 0 for all values of the symbols, given that those with `nonnegative` are.
    pub fn is_nonnegative(&self, nonnegative: &dyn Fn(&str) -> bool) -> bool {
        self.terms().all(|(c, factors)| {
            c >= 0 && factors.iter().all(|(atom, power)| power % 2 == 0 || atom.is_nonnegative(nonnegative))
        })
    }

    /// Substitutes symbols.
    pub fn substitute(&self, map: &HashMap<String, SymInt, impl BuildHasher>) -> SymInt {
        self.substitute_with(&|name| map.get(name).cloned())
    }

    /// Substitutes the symbols for which `f` returns an expression.
    pub fn substitute_with(&self, f: &dyn Fn(&str) -> Option<SymInt>) -> SymInt {
        if self.known().is_some() {
            return self.clone();
        }
        let mut sum = SymInt::from(0);
        for (coefficient, factors) in self.terms() {
            let mut product = SymInt::from(coefficient);
            for (atom, power) in factors {
                let value = match atom {
                    Atom::Symbol(name) => f(name).unwrap_or_else(|| SymInt::of_atom(atom.clone())),
                    Atom::Function(function, args) => {
                        let args: Vec<SymInt> = args.iter().map(|a| a.substitute_with(f)).collect();
                        SymInt::function(*function, &args)
                    }
                };
                product = product.mul(&value.pow(&SymInt::from(i64::from(*power))));
            }
            sum = sum.add(&product);
        }
        sum
    }

    /// Applies a function, simplified if possible.
    pub fn function(function: Function, args: &[SymInt]) -> SymInt {
        match (function, args) {
            (Function::FloorDiv, [a, b]) => a.floor_div(b),
            (Function::Mod, [a, b]) => a.modulo(b),
            (Function::Pow, [a, b]) => a.pow(b),
            (Function::Min, [first, rest @ ..]) => rest.iter().fold(first.clone(), |a, b| a.min(b)),
            (Function::Max, [first, rest @ ..]) => rest.iter().fold(first.clone(), |a, b| a.max(b)),
            (Function::Add, _) => args.iter().fold(SymInt::from(0), |a, b| a.add(b)),
            (Function::Mul, _) => args.iter().fold(SymInt::from(1), |a, b| a.mul(b)),
            (Function::Special(special), _) => SymInt::special(special, args.to_vec()),
            _ => SymInt::opaque(function, args.to_vec()),
        }
    }

    fn of_atom(atom: Atom) -> SymInt {
        let size = atom.size();
        if size > MAX_SIZE {
            return SymInt::beyond_limits(&atom);
        }
        let term = Term { coefficient: 1, factors: vec![(atom, 1)] };
        SymInt(Repr::Sum(Arc::new(Sum { terms: vec![term], size })))
    }

    /// The function as an atom, without simplification.
    fn opaque(function: Function, args: Vec<SymInt>) -> SymInt {
        SymInt::of_atom(Atom::Function(function, args))
    }

    /// The sum of merged and sorted terms; None if it is too large.
    fn of_terms(terms: Vec<Term>) -> Option<SymInt> {
        match terms.as_slice() {
            [] => return Some(SymInt::from(0)),
            [only] if only.factors.is_empty() => return Some(SymInt::from(only.coefficient)),
            _ => {}
        }
        let size = terms.iter().flat_map(|t| &t.factors).fold(0u32, |n, (atom, _)| n.saturating_add(atom.size()));
        (terms.len() <= MAX_TERMS && size <= MAX_SIZE).then(|| SymInt(Repr::Sum(Arc::new(Sum { terms, size }))))
    }

    /// A symbol that is equal for equal expressions.
    fn beyond_limits(atom: &Atom) -> SymInt {
        let mut hasher = rustc_hash::FxHasher::default();
        atom.hash(&mut hasher);
        let first = hasher.finish();
        0x5eed_u64.hash(&mut hasher);
        SymInt::symbol(format!("?too_long_{first:016x}{:016x}", hasher.finish()))
    }

    fn only_atom(&self) -> Option<&Atom> {
        match &self.0 {
            Repr::Sum(sum) => match sum.terms.as_slice() {
                [Term { coefficient: 1, factors }] => match factors.as_slice() {
                    [(atom, 1)] => Some(atom),
                    _ => None,
                },
                _ => None,
            },
            Repr::Known(_) => None,
        }
    }

    fn size(&self) -> u32 {
        match &self.0 {
            Repr::Known(_) => 1,
            Repr::Sum(sum) => sum.size,
        }
    }

    fn to_terms(&self) -> Vec<Term> {
        match &self.0 {
            Repr::Known(0) => Vec::new(),
            Repr::Known(n) => vec![Term { coefficient: *n, factors: Vec::new() }],
            Repr::Sum(sum) => sum.terms.clone(),
        }
    }
}

impl Atom {
    fn size(&self) -> u32 {
        match self {
            Atom::Symbol(_) => 1,
            Atom::Function(_, args) => args.iter().fold(1u32, |n, a| n.saturating_add(a.size())),
        }
    }

    fn is_nonnegative(&self, nonnegative: &dyn Fn(&str) -> bool) -> bool {
        match self {
            Atom::Symbol(name) => nonnegative(name),
            Atom::Function(Function::Max, args) => args.iter().any(|a| a.is_nonnegative(nonnegative)),
            Atom::Function(Function::Mod, args) => args.last().is_some_and(|b| b.is_nonnegative(nonnegative)),
            Atom::Function(Function::Pow, args) => args.first().is_some_and(|b| b.is_nonnegative(nonnegative)),
            Atom::Function(Function::Special(special), _) if !special.keeps_sign() => false,
            Atom::Function(_, args) => args.iter().all(|a| a.is_nonnegative(nonnegative)),
        }
    }
}

/// The lexicographic order of monomials, which multiplication preserves: division relies on it.
fn compare_monomials(a: &[(Atom, u32)], b: &[(Atom, u32)]) -> Ordering {
    for ((x, p), (y, q)) in a.iter().zip(b) {
        // A monomial with an earlier atom is greater than one without it.
        match y.cmp(x).then(p.cmp(q)) {
            Ordering::Equal => {}
            order => return order,
        }
    }
    a.len().cmp(&b.len())
}

impl Ord for Atom {
    fn cmp(&self, other: &Atom) -> Ordering {
        match (self, other) {
            (Atom::Symbol(a), Atom::Symbol(b)) => a.cmp(b),
            (Atom::Symbol(_), Atom::Function(..)) => Ordering::Less,
            (Atom::Function(..), Atom::Symbol(_)) => Ordering::Greater,
            (Atom::Function(f, a), Atom::Function(g, b)) => {
                f.cmp(g).then_with(|| a.iter().map(|n| &n.0).cmp(b.iter().map(|n| &n.0)))
            }
        }
    }
}

impl PartialOrd for Atom {
    fn partial_cmp(&self, other: &Atom) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Default for SymInt {
    fn default() -> Self {
        SymInt::from(0)
    }
}

impl From<i64> for SymInt {
    fn from(n: i64) -> Self {
        SymInt(Repr::Known(n))
    }
}

impl From<&SymInt> for SymInt {
    fn from(n: &SymInt) -> Self {
        n.clone()
    }
}

impl PartialEq<i64> for SymInt {
    fn eq(&self, other: &i64) -> bool {
        self.known() == Some(*other)
    }
}
