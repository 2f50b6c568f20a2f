//! Sums, products, powers, minimum and maximum.

use std::iter;
use std::ops;

use super::{Atom, Function, MAX_TERMS, Monomial, Repr, SymInt, Term, compare_monomials};

/// Larger exponents are not expanded.
const MAX_EXPONENT: i64 = 64;

impl SymInt {
    /// `self + other`
    pub fn add(&self, other: &SymInt) -> SymInt {
        match (&self.0, &other.0) {
            (Repr::Known(0), _) => return other.clone(),
            (_, Repr::Known(0)) => return self.clone(),
            (Repr::Known(a), Repr::Known(b)) => {
                if let Some(sum) = a.checked_add(*b) {
                    return SymInt::from(sum);
                }
            }
            _ => {}
        }
        let mut terms = self.to_terms();
        terms.extend(other.to_terms());
        merged(terms).unwrap_or_else(|| commutative(Function::Add, self, other))
    }

    /// `self - other`
    pub fn sub(&self, other: &SymInt) -> SymInt {
        self.add(&other.neg())
    }

    /// `-self`
    pub fn neg(&self) -> SymInt {
        self.mul(&SymInt::from(-1))
    }

    /// `self * other`
    pub fn mul(&self, other: &SymInt) -> SymInt {
        match (&self.0, &other.0) {
            (Repr::Known(0), _) | (_, Repr::Known(0)) => return SymInt::from(0),
            (Repr::Known(1), _) => return other.clone(),
            (_, Repr::Known(1)) => return self.clone(),
            (Repr::Known(a), Repr::Known(b)) => {
                if let Some(product) = a.checked_mul(*b) {
                    return SymInt::from(product);
                }
            }
            _ => {}
        }
        multiplied_out(self, other).unwrap_or_else(|| commutative(Function::Mul, self, other))
    }

    /// `self ** exponent`
    pub fn pow(&self, exponent: &SymInt) -> SymInt {
        match (self.known(), exponent.known()) {
            (_, Some(0)) | (Some(1), _) => return SymInt::from(1),
            (_, Some(1)) => return self.clone(),
            (Some(base), Some(n)) => {
                if let Some(power) = u32::try_from(n).ok().and_then(|n| base.checked_pow(n)) {
                    return SymInt::from(power);
                }
            }
            (None, Some(n)) if (2..=MAX_EXPONENT).contains(&n) => {
                return (1..n).fold(self.clone(), |power, _| power.mul(self));
            }
            _ => {}
        }
        SymInt::opaque(Function::Pow, vec![self.clone(), exponent.clone()])
    }

    /// The smaller one.
    pub fn min(&self, other: &SymInt) -> SymInt {
        extreme(Function::Min, self, other)
    }

    /// The larger one.
    pub fn max(&self, other: &SymInt) -> SymInt {
        extreme(Function::Max, self, other)
    }
}

/// Sorts terms and combines those with equal monomials; None if that overflows or has too many terms.
pub(super) fn merged(mut terms: Vec<Term>) -> Option<SymInt> {
    terms.sort_by(|a, b| compare_monomials(&b.factors, &a.factors));
    let mut sums: Vec<Term> = Vec::with_capacity(terms.len());
    for term in terms {
        match sums.last_mut() {
            Some(last) if last.factors == term.factors => {
                last.coefficient = last.coefficient.checked_add(term.coefficient)?;
            }
            _ => sums.push(term),
        }
        if sums.last().is_some_and(|t| t.coefficient == 0) {
            sums.pop();
        }
    }
    SymInt::of_terms(sums)
}

fn multiplied_out(a: &SymInt, b: &SymInt) -> Option<SymInt> {
    let (a, b) = (a.to_terms(), b.to_terms());
    if a.len() * b.len() > MAX_TERMS * 4 {
        return None;
    }
    let mut terms = Vec::with_capacity(a.len() * b.len());
    for x in &a {
        for y in &b {
            terms.push(x.times(y)?);
        }
    }
    merged(terms)
}

impl Term {
    pub(super) fn times(&self, other: &Term) -> Option<Term> {
        let coefficient = self.coefficient.checked_mul(other.coefficient)?;
        Some(Term { coefficient, factors: product(&self.factors, &other.factors)? })
    }
}

fn product(a: &[(Atom, u32)], b: &[(Atom, u32)]) -> Option<Monomial> {
    let mut factors = a.to_vec();
    for (atom, power) in b {
        match factors.binary_search_by(|(known, _)| known.cmp(atom)) {
            Ok(i) => {
                let known = factors.get_mut(i)?;
                known.1 = known.1.checked_add(*power)?;
            }
            Err(i) => factors.insert(i, (atom.clone(), *power)),
        }
    }
    Some(factors)
}

/// An opaque sum or product with its operands in a fixed order.
fn commutative(function: Function, a: &SymInt, b: &SymInt) -> SymInt {
    let mut args = vec![a.clone(), b.clone()];
    args.sort_by(|a, b| a.0.cmp(&b.0));
    SymInt::opaque(function, args)
}

fn extreme(function: Function, a: &SymInt, b: &SymInt) -> SymInt {
    let mut kept: Vec<SymInt> = Vec::new();
    for candidate in operands(function, a).iter().chain(operands(function, b)) {
        keep_extreme(function, &mut kept, candidate);
    }
    kept.sort_by(|a, b| a.0.cmp(&b.0));
    match kept.as_slice() {
        [only] => only.clone(),
        _ => SymInt::opaque(function, kept),
    }
}

fn operands(function: Function, of: &SymInt) -> &[SymInt] {
    match of.only_atom() {
        Some(Atom::Function(f, args)) if *f == function => args,
        _ => std::slice::from_ref(of),
    }
}

/// Adds `candidate` unless an existing operand is known to dominate it; removes operands that it dominates.
fn keep_extreme(function: Function, kept: &mut Vec<SymInt>, candidate: &SymInt) {
    let beats = |a: &SymInt, b: &SymInt| {
        let difference = match (a.known(), b.known()) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => a.sub(b).known().map(|d| d.cmp(&0)),
        };
        difference.is_some_and(|d| if function == Function::Max { d.is_ge() } else { d.is_le() })
    };
    if kept.iter().any(|k| beats(k, candidate)) {
        return;
    }
    kept.retain(|k| !beats(candidate, k));
    kept.push(candidate.clone());
}

macro_rules! operator {
    ($($trait:ident $method:ident),*) => {$(
        impl ops::$trait for &SymInt {
            type Output = SymInt;
            fn $method(self, other: &SymInt) -> SymInt {
                SymInt::$method(self, other)
            }
        }
        impl ops::$trait for SymInt {
            type Output = SymInt;
            fn $method(self, other: SymInt) -> SymInt {
                SymInt::$method(&self, &other)
            }
        }
        impl ops::$trait<&SymInt> for SymInt {
            type Output = SymInt;
            fn $method(self, other: &SymInt) -> SymInt {
                SymInt::$method(&self, other)
            }
        }
        impl ops::$trait<i64> for &SymInt {
            type Output = SymInt;
            fn $method(self, other: i64) -> SymInt {
                SymInt::$method(self, &SymInt::from(other))
            }
        }
        impl ops::$trait<i64> for SymInt {
            type Output = SymInt;
            fn $method(self, other: i64) -> SymInt {
                SymInt::$method(&self, &SymInt::from(other))
            }
        }
    )*};
}
operator!(Add add, Sub sub, Mul mul);

impl ops::Neg for &SymInt {
    type Output = SymInt;
    fn neg(self) -> SymInt {
        SymInt::neg(self)
    }
}

impl ops::Neg for SymInt {
    type Output = SymInt;
    fn neg(self) -> SymInt {
        SymInt::neg(&self)
    }
}

impl iter::Sum for SymInt {
    fn sum<I: Iterator<Item = SymInt>>(terms: I) -> SymInt {
        terms.fold(SymInt::from(0), |a, b| a.add(&b))
    }
}

impl<'a> iter::Sum<&'a SymInt> for SymInt {
    fn sum<I: Iterator<Item = &'a SymInt>>(terms: I) -> SymInt {
        terms.fold(SymInt::from(0), |a, b| a.add(b))
    }
}

impl iter::Product for SymInt {
    fn product<I: Iterator<Item = SymInt>>(factors: I) -> SymInt {
        factors.fold(SymInt::from(1), |a, b| a.mul(&b))
    }
}

impl<'a> iter::Product<&'a SymInt> for SymInt {
    fn product<I: Iterator<Item = &'a SymInt>>(factors: I) -> SymInt {
        factors.fold(SymInt::from(1), |a, b| a.mul(b))
    }
}
