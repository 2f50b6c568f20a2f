//! Floor division and modulo with Python's semantics. Results are valid wherever the divisor is not 0.

use super::arithmetic::merged;
use super::{Atom, Function, Monomial, SymInt, Term};

/// The maximal number of steps of polynomial division.
const MAX_STEPS: usize = 256;

impl SymInt {
    /// `self // divisor`, rounded down.
    pub fn floor_div(&self, divisor: &SymInt) -> SymInt {
        floor_div(self, divisor)
            .unwrap_or_else(|| SymInt::opaque(Function::FloorDiv, vec![self.clone(), divisor.clone()]))
    }

    /// `self % divisor`, with the sign of the divisor.
    pub fn modulo(&self, divisor: &SymInt) -> SymInt {
        modulo(self, divisor).unwrap_or_else(|| SymInt::opaque(Function::Mod, vec![self.clone(), divisor.clone()]))
    }

    /// `self / divisor`, rounded up.
    pub fn ceil_div(&self, divisor: &SymInt) -> SymInt {
        match divisor.known() {
            // One form for `(n + 3) // 4` and `ceil(n / 4)`.
            Some(n) if n > 0 => self.add(&SymInt::from(n - 1)).floor_div(divisor),
            _ => self.neg().floor_div(divisor).neg(),
        }
    }
}

/// Floor division of known integers; None for division by 0 or overflow.
pub(super) fn floor_div_known(a: i128, b: i128) -> Option<i128> {
    let quotient = a.checked_div(b)?;
    let inexact = a.checked_rem(b)? != 0;
    if inexact && (a < 0) != (b < 0) { quotient.checked_sub(1) } else { Some(quotient) }
}

/// The corresponding remainder.
pub(super) fn modulo_known(a: i128, b: i128) -> Option<i128> {
    a.checked_sub(floor_div_known(a, b)?.checked_mul(b)?)
}

fn narrow(n: Option<i128>) -> Option<SymInt> {
    i64::try_from(n?).ok().map(SymInt::from)
}

/// The simplified quotient; None if it cannot be simplified.
fn floor_div(a: &SymInt, b: &SymInt) -> Option<SymInt> {
    match (a.known(), b.known()) {
        (Some(a), Some(b)) => return narrow(floor_div_known(a.into(), b.into())),
        (_, Some(0)) => return None,
        (_, Some(1)) => return Some(a.clone()),
        (Some(0), _) => return Some(a.clone()),
        _ => {}
    }
    if leading_is_negative(b) {
        let (a, b) = (negated(a)?, negated(b)?);
        return Some(a.floor_div(&b));
    }
    match b.known() {
        Some(n) => floor_div_by_known(a, n),
        None => floor_div_by_symbolic(a, b),
    }
}

fn leading_is_negative(n: &SymInt) -> bool {
    n.terms().next().is_some_and(|(c, _)| c < 0)
}

/// `-n`, if it can be in normal form.
fn negated(n: &SymInt) -> Option<SymInt> {
    let terms = n.to_terms().into_iter().map(|t| Some(Term { coefficient: t.coefficient.checked_neg()?, ..t }));
    merged(terms.collect::<Option<_>>()?)
}

/// Moves multiples of `n > 1` out of the division; coefficients from 0 to `n - 1` stay.
fn floor_div_by_known(a: &SymInt, n: i64) -> Option<SymInt> {
    let (mut quotient, mut rest) = (Vec::new(), Vec::new());
    for term in a.to_terms() {
        let (q, r) = (term.coefficient.div_euclid(n), term.coefficient.rem_euclid(n));
        rest.push(Term { coefficient: r, factors: term.factors.clone() });
        quotient.push(Term { coefficient: q, factors: term.factors });
    }
    let quotient = without_zeros(quotient)?;
    let rest = without_zeros(rest)?;
    if rest.known().is_some() {
        return Some(quotient);
    }
    let (rest, n) = reduced(&rest, n)?;
    Some(quotient.add(&nested(&rest, n)))
}

fn without_zeros(mut terms: Vec<Term>) -> Option<SymInt> {
    terms.retain(|t| t.coefficient != 0);
    merged(terms)
}

/// Divides both by the common divisor of `n` and the coefficients; rounding the constant down does not change the
/// result.
fn reduced(rest: &SymInt, n: i64) -> Option<(SymInt, i64)> {
    let symbolic = rest.terms().filter(|(_, factors)| !factors.is_empty());
    let common = symbolic.fold(n, |g, (c, _)| gcd(g, c));
    let terms = rest.to_terms().into_iter().map(|t| Term { coefficient: t.coefficient / common, ..t });
    Some((without_zeros(terms.collect())?, n / common))
}

/// The greatest common divisor of positive numbers.
fn gcd(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

/// `(x // y + c) // n` is `(x + c * y) // (y * n)`.
fn nested(rest: &SymInt, n: i64) -> SymInt {
    let opaque = || SymInt::opaque(Function::FloorDiv, vec![rest.clone(), SymInt::from(n)]);
    let constant = rest.terms().find(|(_, factors)| factors.is_empty()).map_or(0, |(c, _)| c);
    let quotient = rest.sub(&SymInt::from(constant));
    let Some(Atom::Function(Function::FloorDiv, args)) = quotient.only_atom() else { return opaque() };
    let [x, y] = args.as_slice() else { return opaque() };
    let Some(y) = y.known().filter(|y| *y > 0) else { return opaque() };
    match (y.checked_mul(n), y.checked_mul(constant)) {
        (Some(n), Some(c)) => x.add(&SymInt::from(c)).floor_div(&SymInt::from(n)),
        _ => opaque(),
    }
}

fn floor_div_by_symbolic(a: &SymInt, b: &SymInt) -> Option<SymInt> {
    let (quotient, rest) = divided(a, b)?;
    if rest == 0 {
        return Some(quotient);
    }
    let (numerator, denominator) = cancelled(&rest, b)?;
    let fraction = match denominator.known() {
        Some(_) => numerator.floor_div(&denominator),
        None => SymInt::opaque(Function::FloorDiv, vec![numerator, denominator]),
    };
    Some(quotient.add(&fraction))
}

/// Quotient and remainder. For a divisor of several terms only an exact quotient is used, because others would be
/// harder to read.
fn divided(a: &SymInt, b: &SymInt) -> Option<(SymInt, SymInt)> {
    let divisor = b.to_terms();
    let [leading, others @ ..] = divisor.as_slice() else { return None };
    let mut quotient = Vec::new();
    let mut rest = Vec::new();
    let mut left = a.to_terms();
    for _ in 0..MAX_STEPS {
        if left.is_empty() {
            let exact = rest.is_empty() || others.is_empty();
            return if exact { Some((merged(quotient)?, merged(rest)?)) } else { Some((SymInt::from(0), a.clone())) };
        }
        let first = left.remove(0);
        let Some(factor) = first.divided_by(leading) else {
            rest.push(first);
            continue;
        };
        let minus = Term { coefficient: factor.coefficient.checked_neg()?, factors: factor.factors.clone() };
        for other in others {
            left.push(other.times(&minus)?);
        }
        left = merged(left)?.to_terms();
        quotient.push(factor);
    }
    None
}

impl Term {
    /// The exact quotient.
    fn divided_by(&self, divisor: &Term) -> Option<Term> {
        if self.coefficient.checked_rem(divisor.coefficient)? != 0 {
            return None;
        }
        let coefficient = self.coefficient.checked_div(divisor.coefficient)?;
        Some(Term { coefficient, factors: monomial_quotient(&self.factors, &divisor.factors)? })
    }
}

fn monomial_quotient(a: &[(Atom, u32)], b: &[(Atom, u32)]) -> Option<Monomial> {
    let mut factors = a.to_vec();
    for (atom, power) in b {
        let i = factors.binary_search_by(|(known, _)| known.cmp(atom)).ok()?;
        let known = factors.get_mut(i)?;
        known.1 = known.1.checked_sub(*power)?;
    }
    factors.retain(|(_, power)| *power > 0);
    Some(factors)
}

/// Removes the factors that all terms of both share.
fn cancelled(a: &SymInt, b: &SymInt) -> Option<(SymInt, SymInt)> {
    let terms = || a.terms().chain(b.terms());
    let coefficient = terms().try_fold(0i64, |g, (c, _)| Some(gcd(c.checked_abs()?, g)))?.max(1);
    let factors = terms().map(|(_, factors)| factors.to_vec()).reduce(|x, y| shared(&x, &y))?;
    let common = Term { coefficient, factors };
    let divide = |n: &SymInt| merged(n.to_terms().iter().map(|t| t.divided_by(&common)).collect::<Option<_>>()?);
    Some((divide(a)?, divide(b)?))
}

fn shared(a: &[(Atom, u32)], b: &[(Atom, u32)]) -> Monomial {
    let power = |atom: &Atom| b.iter().find(|(other, _)| other == atom).map_or(0, |(_, p)| *p);
    let factors = a.iter().map(|(atom, p)| (atom.clone(), (*p).min(power(atom))));
    factors.filter(|(_, p)| *p > 0).collect()
}

/// The simplified remainder; None if it cannot be simplified.
fn modulo(a: &SymInt, b: &SymInt) -> Option<SymInt> {
    let Some(n) = b.known() else {
        let (_, rest) = divided(a, b)?;
        return if rest == 0 { Some(rest) } else { Some(SymInt::opaque(Function::Mod, vec![rest, b.clone()])) };
    };
    if let Some(a) = a.known() {
        return narrow(modulo_known(a.into(), n.into()));
    }
    let size = n.checked_abs().filter(|n| *n > 0)?;
    let terms =
        a.to_terms().into_iter().map(|t| Term { coefficient: t.coefficient.rem_euclid(size), factors: t.factors });
    let rest = without_zeros(terms.collect())?;
    if let Some(rest) = rest.known() {
        return narrow(modulo_known(rest.into(), n.into()));
    }
    if let Some(Atom::Function(Function::Mod, args)) = rest.only_atom()
        && args.last() == Some(b)
    {
        return Some(rest);
    }
    Some(SymInt::opaque(Function::Mod, vec![rest, b.clone()]))
}

#[cfg(test)]
mod tests {
    use super::super::compare_monomials;
    use super::*;

    #[test]
    fn monomials_are_ordered_for_division() {
        let (x, y) = (Atom::Symbol("x".into()), Atom::Symbol("y".into()));
        let x2 = vec![(x.clone(), 2)];
        let xy = vec![(x, 1), (y.clone(), 1)];
        let y3 = vec![(y, 3)];
        assert!(compare_monomials(&x2, &xy).is_gt());
        assert!(compare_monomials(&xy, &y3).is_gt());
        assert!(compare_monomials(&y3, &[]).is_gt());
    }
}
