//! Bounds of symbols, and what follows from them: the interval of an expression, and the bounds that a condition states.

use std::collections::{BTreeMap, HashMap};

use aten2onnx_core::sym::{Atom, Function, Kind, Relation, Special, SymInt};

/// Inclusive bounds; None where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interval {
    /// The smallest value.
    pub low: Option<i128>,
    /// The largest value.
    pub high: Option<i128>,
}

/// What is known of symbols.
pub type Bounds = BTreeMap<String, Interval>;

impl Interval {
    /// From one number to another.
    pub fn new(low: Option<i128>, high: Option<i128>) -> Interval {
        Interval { low, high }
    }

    fn of(value: i128) -> Interval {
        Interval { low: Some(value), high: Some(value) }
    }

    /// The only value.
    pub fn only(self) -> Option<i128> {
        self.low.filter(|low| self.high == Some(*low))
    }

    /// What is in both.
    pub fn and(self, other: Interval) -> Interval {
        let low = self.low.into_iter().chain(other.low).max();
        let high = self.high.into_iter().chain(other.high).min();
        Interval { low, high }
    }

    fn add(self, other: Interval) -> Interval {
        let sum = |a: Option<i128>, b: Option<i128>| a?.checked_add(b?);
        Interval { low: sum(self.low, other.low), high: sum(self.high, other.high) }
    }

    fn mul(self, other: Interval) -> Interval {
        if let (Some(a), Some(b), Some(c), Some(d)) = (self.low, self.high, other.low, other.high) {
            let corners: Option<Vec<i128>> =
                [(a, c), (a, d), (b, c), (b, d)].into_iter().map(|(x, y)| x.checked_mul(y)).collect();
            let Some(corners) = corners else { return Interval::default() };
            return Interval { low: corners.iter().min().copied(), high: corners.iter().max().copied() };
        }
        let is_nonnegative = |of: Interval| of.low.is_some_and(|low| low >= 0);
        if is_nonnegative(self) && is_nonnegative(other) {
            let product = |a: Option<i128>, b: Option<i128>| a?.checked_mul(b?);
            return Interval { low: product(self.low, other.low), high: product(self.high, other.high) };
        }
        for (factor, open) in [(self.only(), other), (other.only(), self)] {
            if let Some(factor) = factor {
                return open.times(factor);
            }
        }
        Interval::default()
    }

    fn times(self, factor: i128) -> Interval {
        let product = |bound: Option<i128>| bound?.checked_mul(factor);
        match factor {
            0 => Interval::of(0),
            1.. => Interval { low: product(self.low), high: product(self.high) },
            _ => Interval { low: product(self.high), high: product(self.low) },
        }
    }
}

/// The interval of an integer.
pub fn interval(value: &SymInt, bounds: &Bounds) -> Interval {
    let mut sum = Interval::of(0);
    for (coefficient, factors) in value.terms() {
        let mut product = Interval::of(1);
        for (atom, power) in factors {
            product = product.mul(power_of(of_atom(atom, bounds), *power));
        }
        sum = sum.add(product.times(coefficient.into()));
    }
    sum
}

fn power_of(base: Interval, power: u32) -> Interval {
    let is_signed = base.low.is_none_or(|low| low < 0);
    if is_signed && power.is_multiple_of(2) {
        return Interval { low: Some(0), high: None };
    }
    let raised = |bound: Option<i128>| bound?.checked_pow(power);
    // An odd power keeps the order.
    Interval { low: raised(base.low), high: raised(base.high) }
}

fn of_atom(atom: &Atom, bounds: &Bounds) -> Interval {
    match atom {
        Atom::Symbol(name) => bounds.get(&**name).copied().unwrap_or_default(),
        Atom::Function(function, args) => of_function(*function, args, bounds),
    }
}

fn of_function(function: Function, args: &[SymInt], bounds: &Bounds) -> Interval {
    let of = |arg: &SymInt| interval(arg, bounds);
    match (function, args) {
        (Function::FloorDiv, [a, b]) => {
            let (a, divisor) = (of(a), of(b));
            match divisor.only().filter(|divisor| *divisor > 0) {
                Some(divisor) => Interval {
                    low: a.low.map(|low| low.div_euclid(divisor)),
                    high: a.high.map(|high| high.div_euclid(divisor)),
                },
                // A number that is not negative does not grow.
                None if a.low.is_some_and(|low| low >= 0) && divisor.low.is_some_and(|low| low > 0) => {
                    Interval { low: Some(0), high: a.high }
                }
                None => Interval::default(),
            }
        }
        (Function::Mod, [a, b]) => {
            let (a, divisor) = (of(a), of(b));
            if divisor.low.is_none_or(|low| low <= 0) {
                return Interval::default();
            }
            let most = divisor.high.and_then(|high| high.checked_sub(1));
            match (a.low, a.high, divisor.low) {
                (Some(low), Some(high), Some(divisor)) if low >= 0 && high < divisor => a,
                _ => Interval { low: Some(0), high: most },
            }
        }
        (Function::Min, args) => {
            let all: Vec<Interval> = args.iter().map(of).collect();
            let low = highest(all.iter().map(|one| one.low.and_then(i128::checked_neg))).map(|low| -low);
            Interval { low, high: all.iter().filter_map(|one| one.high).min() }
        }
        (Function::Max, args) => {
            let all: Vec<Interval> = args.iter().map(of).collect();
            Interval { low: all.iter().filter_map(|one| one.low).max(), high: highest(all.iter().map(|one| one.high)) }
        }
        (Function::Special(Special::Where), [condition, yes, no]) => match truth(condition, bounds) {
            Some(true) => of(yes),
            Some(false) => of(no),
            None => {
                let (yes, no) = (of(yes), of(no));
                let pair = |a: Option<i128>, b: Option<i128>| Some((a?, b?));
                Interval {
                    low: pair(yes.low, no.low).map(|(a, b)| a.min(b)),
                    high: pair(yes.high, no.high).map(|(a, b)| a.max(b)),
                }
            }
        },
        _ => Interval::default(),
    }
}

/// The largest of several bounds; None if one is missing.
fn highest(all: impl Iterator<Item = Option<i128>>) -> Option<i128> {
    all.collect::<Option<Vec<i128>>>()?.into_iter().max()
}

/// Whether a condition holds for all values within the bounds, or for none; None if it depends, or is not known.
pub fn truth(condition: &SymInt, bounds: &Bounds) -> Option<bool> {
    if let Some(known) = condition.known() {
        return Some(known != 0);
    }
    let (special, args) = condition.as_special()?;
    match (special, args) {
        (Special::Not, [of]) => truth(of, bounds).map(|of| !of),
        (Special::And, all) => {
            let known: Vec<Option<bool>> = all.iter().map(|one| truth(one, bounds)).collect();
            if known.contains(&Some(false)) { Some(false) } else { known.iter().all(Option::is_some).then_some(true) }
        }
        (Special::Or, all) => {
            let known: Vec<Option<bool>> = all.iter().map(|one| truth(one, bounds)).collect();
            if known.contains(&Some(true)) { Some(true) } else { known.iter().all(Option::is_some).then_some(false) }
        }
        (Special::Relation(relation), [a, b]) if is_int(a) && is_int(b) => {
            compared(relation, interval(&a.sub(b), bounds))
        }
        (Special::Relation(_), _) if condition.symbols().is_empty() => {
            condition.eval(&HashMap::<String, i64>::new()).map(|value| value != 0)
        }
        _ => None,
    }
}

/// Whether it is an integer, not a real number or a truth value.
pub fn is_int(value: &SymInt) -> bool {
    value.as_special().is_none_or(|(special, _)| special.kind() == Kind::Int)
}

/// Whether a difference is in a relation with 0.
fn compared(relation: Relation, difference: Interval) -> Option<bool> {
    let Interval { low, high } = difference;
    let is_above = |least: i128| low.is_some_and(|low| low >= least);
    let is_below = |most: i128| high.is_some_and(|high| high <= most);
    let (yes, no) = match relation {
        Relation::Equal => (difference.only() == Some(0), is_above(1) || is_below(-1)),
        Relation::Unequal => (is_above(1) || is_below(-1), difference.only() == Some(0)),
        Relation::Less => (is_below(-1), is_above(0)),
        Relation::LessOrEqual => (is_below(0), is_above(1)),
        Relation::Greater => (is_above(1), is_below(0)),
        Relation::GreaterOrEqual => (is_above(0), is_below(-1)),
    };
    if yes { Some(true) } else { no.then_some(false) }
}

/// The symbol and the bounds that a condition states, if it states nothing else: `2*n + 1 > 8`, `n // 16 == 2`.
pub fn stated(condition: &SymInt) -> Option<(String, Interval)> {
    let (Special::Relation(relation), [a, b]) = condition.as_special()? else { return None };
    if !is_int(a) || !is_int(b) {
        return None;
    }
    let wanted = match relation {
        Relation::Equal => Interval::of(0),
        Relation::Less => Interval::new(None, Some(-1)),
        Relation::LessOrEqual => Interval::new(None, Some(0)),
        Relation::Greater => Interval::new(Some(1), None),
        Relation::GreaterOrEqual => Interval::new(Some(0), None),
        Relation::Unequal => return None,
    };
    solved(&a.sub(b), wanted)
}

/// The values of the only symbol of a linear expression for which it is in an interval.
fn solved(value: &SymInt, wanted: Interval) -> Option<(String, Interval)> {
    let mut constant = 0;
    let mut linear = None;
    for (coefficient, factors) in value.terms() {
        match factors {
            [] => constant = i128::from(coefficient),
            [(atom, 1)] if linear.is_none() => linear = Some((i128::from(coefficient), atom)),
            _ => return None,
        }
    }
    let (coefficient, atom) = linear?;
    let moved = |bound: Option<i128>| match bound {
        Some(bound) => bound.checked_sub(constant).map(Some),
        None => Some(None),
    };
    let (low, high) = (moved(wanted.low)?, moved(wanted.high)?);
    // Beyond these limits nothing is said.
    let is_small = |bound: Option<i128>| bound.is_none_or(|bound| bound.unsigned_abs() < 1 << 100);
    if !is_small(low) || !is_small(high) {
        return None;
    }
    let (low, high, divisor) = match coefficient {
        1.. => (low, high, coefficient),
        _ => (high.map(|bound| -bound), low.map(|bound| -bound), -coefficient),
    };
    let up = |bound: i128| -((-bound).div_euclid(divisor));
    let inner = Interval::new(low.map(up), high.map(|bound| bound.div_euclid(divisor)));
    match atom {
        Atom::Symbol(name) => Some((name.to_string(), inner)),
        Atom::Function(Function::FloorDiv, args) => {
            let [of, by] = args.as_slice() else { return None };
            let by = i128::from(by.known().filter(|by| *by > 0)?);
            let scaled = |bound: Option<i128>, more: i128| match bound {
                Some(bound) => bound.checked_mul(by)?.checked_add(more).map(Some),
                None => Some(None),
            };
            solved(of, Interval::new(scaled(inner.low, 0)?, scaled(inner.high, by - 1)?))
        }
        Atom::Function(..) => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    use super::*;

    fn n() -> SymInt {
        SymInt::symbol("n")
    }

    fn is(relation: Relation, a: &SymInt, b: i64) -> SymInt {
        SymInt::special(Special::Relation(relation), vec![a.clone(), SymInt::from(b)])
    }

    fn bounds(low: i128, high: Option<i128>) -> Bounds {
        Bounds::from([("n".to_owned(), Interval::new(Some(low), high)), ("m".to_owned(), Interval::new(Some(0), None))])
    }

    #[test]
    fn intervals_contain_every_value() {
        let m = SymInt::symbol("m");
        let four = SymInt::from(4);
        let values = [
            &n() * 3 - 7,
            &n() * &n() - n(),
            n().floor_div(&four),
            n().modulo(&four),
            n().min(&m),
            n().max(&four),
            &n() * &m,
            &n() * -1,
            n().floor_div(&(&m + 1)),
            n().modulo(&(&m + 1)),
            (&n() - 3) * (&n() - 5),
        ];
        for value in values {
            for (low, high) in [(0, Some(9)), (2, None), (5, Some(5))] {
                let found = interval(&value, &bounds(low, high));
                for (n, m) in (low..=high.unwrap_or(40)).flat_map(|n| (0..12).map(move |m| (n, m))) {
                    let at = [("n".to_owned(), n as i64), ("m".to_owned(), m)].into_iter();
                    let Some(value) = value.eval(&at.collect::<HashMap<_, _>>()) else { continue };
                    let value = i128::from(value);
                    assert!(found.low.is_none_or(|low| low <= value) && found.high.is_none_or(|high| value <= high));
                }
            }
        }
    }

    #[test]
    fn conditions_within_bounds_are_known() {
        let product = &n() * &SymInt::symbol("m");
        assert_eq!(truth(&is(Relation::Less, &n(), 8), &bounds(0, Some(7))), Some(true));
        assert_eq!(truth(&is(Relation::Less, &n(), 8), &bounds(8, None)), Some(false));
        assert_eq!(truth(&is(Relation::Less, &n(), 8), &bounds(7, None)), None);
        assert_eq!(truth(&is(Relation::GreaterOrEqual, &product, 0), &bounds(0, None)), Some(true));
        assert_eq!(truth(&is(Relation::Unequal, &product, -1), &bounds(0, None)), Some(true));
        assert_eq!(truth(&is(Relation::Equal, &n().min(&SymInt::from(7)), 7), &bounds(7, None)), Some(true));
        let either = SymInt::special(Special::Or, vec![is(Relation::Less, &n(), 0), is(Relation::Greater, &n(), 3)]);
        assert_eq!(truth(&either, &bounds(4, None)), Some(true));
        assert_eq!(truth(&either, &bounds(0, Some(3))), Some(false));
        assert_eq!(truth(&either, &bounds(0, None)), None);
    }

    #[test]
    fn conditions_state_bounds_exactly() {
        let four = SymInt::from(4);
        let all = [
            is(Relation::Less, &(&n() * 2 + SymInt::from(1)), 8),
            is(Relation::Greater, &(&n() * -3), -20),
            is(Relation::Equal, &n().floor_div(&four), 2),
            is(Relation::LessOrEqual, &((&n() * 3 + SymInt::from(1)).floor_div(&four) * 5), 40),
            is(Relation::GreaterOrEqual, &(&n() - 3), 0),
            is(Relation::Equal, &(&n() * 2), 9),
        ];
        for condition in all {
            let (symbol, found) = stated(&condition).unwrap_or_else(|| panic!("{condition}"));
            assert_eq!(symbol, "n");
            for value in -50..50 {
                let inside = found.low.is_none_or(|low| low <= value) && found.high.is_none_or(|high| value <= high);
                let at = HashMap::from([("n".to_owned(), value as i64)]);
                assert_eq!(condition.eval(&at), Some(i64::from(inside)), "{condition} at {value}");
            }
        }
        for other in [
            is(Relation::Unequal, &n(), 3),
            is(Relation::Less, &(&n() * &n()), 9),
            is(Relation::Equal, &n().modulo(&four), 0),
        ] {
            assert!(stated(&other).is_none(), "{other}");
        }
    }
}
