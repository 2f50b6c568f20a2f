//! Other forms of conditions that say the same: parts of a conjunction, divisibility, equations of two inequations.

use std::collections::{BTreeSet, HashMap};

use aten2onnx_core::sym::{Atom, Function, Relation, Special, SymInt};

use super::bounds::is_int;

/// Splits conjunctions, and moves negations into relations.
pub(super) fn split(condition: SymInt, holds: bool, all: &mut Vec<SymInt>) {
    match condition.as_special() {
        Some((Special::Not, [inner])) => split(inner.clone(), !holds, all),
        Some((Special::And, parts)) if holds => parts.iter().for_each(|part| split(part.clone(), true, all)),
        Some((Special::Or, parts)) if !holds => parts.iter().for_each(|part| split(part.clone(), false, all)),
        // `not (x < y)` is `x >= y` for integers only: real numbers may be NaN.
        Some((Special::Relation(relation), [a, b])) if !holds && is_int(a) && is_int(b) => {
            all.push(SymInt::special(Special::Relation(negated(relation)), vec![a.clone(), b.clone()]));
        }
        _ if holds => match extremes(&condition) {
            Some(parts) => all.extend(parts),
            None => all.push(divisible(condition)),
        },
        _ => all.push(SymInt::special(Special::Not, vec![condition])),
    }
}

fn negated(relation: Relation) -> Relation {
    match relation {
        Relation::Equal => Relation::Unequal,
        Relation::Unequal => Relation::Equal,
        Relation::Less => Relation::GreaterOrEqual,
        Relation::LessOrEqual => Relation::Greater,
        Relation::Greater => Relation::LessOrEqual,
        Relation::GreaterOrEqual => Relation::Less,
    }
}

/// `n == min(512, n)` as `n <= 512`, and the like for maxima.
fn extremes(condition: &SymInt) -> Option<Vec<SymInt>> {
    let (Special::Relation(Relation::Equal), [a, b]) = condition.as_special()? else { return None };
    for (value, extreme) in [(a, b), (b, a)] {
        let mut terms = extreme.terms();
        let (Some((1, [(Atom::Function(function, args), 1)])), None) = (terms.next(), terms.next()) else { continue };
        let relation = match function {
            Function::Min => Relation::LessOrEqual,
            Function::Max => Relation::GreaterOrEqual,
            _ => continue,
        };
        if args.contains(value) {
            let others = args.iter().filter(|arg| *arg != value);
            let compared =
                others.map(|arg| SymInt::special(Special::Relation(relation), vec![value.clone(), arg.clone()]));
            return Some(compared.collect());
        }
    }
    None
}

/// Makes equations of `a <= b` and `b <= a`.
pub(super) fn unite(pending: &mut Vec<SymInt>) {
    let mut known: HashMap<SymInt, usize> = HashMap::new();
    let mut equal: Vec<(usize, usize)> = Vec::new();
    for (index, condition) in pending.iter().enumerate() {
        let Some(difference) = at_most_zero(condition) else { continue };
        if let Some(other) = known.get(&difference.neg()) {
            equal.push((*other, index));
        }
        known.entry(difference).or_insert(index);
    }
    let mut done = BTreeSet::new();
    for (first, second) in equal {
        let Some((Special::Relation(_), [a, b])) = pending.get(second).and_then(SymInt::as_special) else { continue };
        let equation = SymInt::special(Special::Relation(Relation::Equal), vec![a.clone(), b.clone()]);
        if let Some(place) = pending.get_mut(first).filter(|_| done.insert(second)) {
            *place = equation;
        }
    }
    let mut index = 0;
    pending.retain(|_| {
        index += 1;
        !done.contains(&(index - 1))
    });
}

/// The difference that a condition says is not positive.
fn at_most_zero(condition: &SymInt) -> Option<SymInt> {
    let (Special::Relation(relation), [a, b]) = condition.as_special()? else { return None };
    match relation {
        _ if !is_int(a) || !is_int(b) => None,
        Relation::LessOrEqual => Some(a.sub(b)),
        Relation::GreaterOrEqual => Some(b.sub(a)),
        _ => None,
    }
}

/// `x == 3*(x // 3)` as `x % 3 == 0`.
fn divisible(condition: SymInt) -> SymInt {
    let Some((Special::Relation(Relation::Equal), [a, b])) = condition.as_special() else { return condition };
    if !is_int(a) || !is_int(b) {
        return condition;
    }
    let difference = a.sub(b);
    for (_, factors) in difference.terms() {
        let [(Atom::Function(Function::FloorDiv, args), 1)] = factors else { continue };
        let [of, by] = args.as_slice() else { continue };
        let Some(number) = by.known().filter(|by| *by > 1) else { continue };
        let remainder = of.sub(&(&of.floor_div(by) * number));
        if remainder == difference || remainder == difference.neg() {
            return SymInt::special(Special::Relation(Relation::Equal), vec![of.modulo(by), SymInt::from(0)]);
        }
    }
    condition
}

/// The relation of `b` and `a`, given that of `a` and `b`.
pub(super) fn mirrored(relation: Relation) -> Relation {
    match relation {
        Relation::Less => Relation::Greater,
        Relation::LessOrEqual => Relation::GreaterOrEqual,
        Relation::Greater => Relation::Less,
        Relation::GreaterOrEqual => Relation::LessOrEqual,
        same => same,
    }
}
