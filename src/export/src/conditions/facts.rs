//! What the guards of a program state, without what follows from its shapes, from bounds and from one another.
//!
//! Everything that is dropped is proved to follow. Work is bounded: rounds, and values that are tried.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aten2onnx_core::sym::{Atom, Function, Relation, Special, SymInt};

use super::bounds::{Bounds, Interval, interval, is_int, stated, truth};
use super::rewrite::{mirrored, split, unite};
use aten2onnx_program::{InputKind, Program};

/// Each round may make a symbol a number.
const ROUNDS: usize = 16;
/// A symbol with more values is not tried.
const MAX_VALUES: i128 = 4096;
/// The values that are tried for all conditions together.
const MAX_TRIED: usize = 1 << 18;
/// Of more guards, the others are told as they are.
const MAX_GUARDS: usize = 4096;

/// What is known of a program.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Conditions that do not follow from anything else.
    pub conditions: Vec<SymInt>,
    /// Conditions that no sizes fulfil: guards that contradict one another, or the shapes.
    pub impossible: Vec<SymInt>,
    /// Bounds of symbols that guards mention.
    pub bounds: Bounds,
    /// Bounds that the user declared or PyTorch assumed.
    pub declared: Bounds,
    /// The symbols that guards mention.
    mentioned: BTreeSet<String>,
    /// Whether PyTorch may have assumed sizes of at least 2.
    may_be_assumed: bool,
    /// Symbols that have one value only.
    pub pins: BTreeMap<String, i64>,
}

impl Facts {
    /// The facts of a program with these guards.
    pub fn of(program: &Program, guards: Vec<SymInt>) -> Facts {
        let plain = smallest(program);
        let mut bounds = given(program, &plain);
        let mut facts = Facts { may_be_assumed: !program.is_recorded, ..Facts::default() };
        let mut pending = Vec::new();
        guards.into_iter().for_each(|guard| split(guard, true, &mut pending));
        let rest = pending.split_off(pending.len().min(MAX_GUARDS));
        // What holds for all sizes says nothing of the symbols in it. PyTorch never captures for a size of 0.
        pending.retain(|guard| truth(guard, &plain) != Some(true));
        for guard in &pending {
            guard.visit_symbols(&mut |symbol| _ = facts.mentioned.insert(symbol.to_owned()));
        }
        let own = own_bounds(&plain, &pending);
        let mut tries = MAX_TRIED;
        for _ in 0..ROUNDS {
            facts.reduce(&mut pending, &mut bounds);
            narrow(&mut pending, &mut bounds, &mut tries);
            unite(&mut pending);
            if !facts.pin(&mut pending, &mut bounds) {
                break;
            }
        }
        pending.retain(|condition| !is_tried(condition, &bounds, &mut tries));
        facts.conditions = independent(pending, &bounds);
        facts.conditions.extend(rest);
        // The user may have made numbers of the others.
        let left = crate::fixed::symbols(program);
        let is_told = |symbol: &String| left.contains(symbol) || facts.mentioned.contains(symbol);
        let bounds: Vec<(String, Interval)> = bounds.into_iter().filter(|(symbol, _)| is_told(symbol)).collect();
        for (symbol, found) in bounds {
            let found = without_derived(&symbol, found, &facts.conditions, &own);
            facts.tell(&plain, symbol, found);
        }
        facts
    }

    /// Takes what states bounds out of the conditions, and drops what follows.
    fn reduce(&mut self, pending: &mut Vec<SymInt>, bounds: &mut Bounds) {
        pending.retain(|condition| match stated(condition) {
            Some((symbol, found)) => {
                let known = bounds.entry(symbol).or_default();
                *known = known.and(found);
                false
            }
            None => true,
        });
        for condition in pending.iter() {
            if let Some((symbol, trimmed)) = trimmed(condition, bounds) {
                bounds.insert(symbol, trimmed);
            }
        }
        let mut seen = BTreeSet::new();
        pending.retain(|condition| {
            let known = truth(condition, bounds);
            if known == Some(false) {
                self.impossible.push(condition.clone());
            }
            known.is_none() && seen.insert(super::text(condition))
        });
    }

    /// Keeps the bounds of a symbol. PyTorch captures for sizes of at least 1 without a guard, so that is where every program is right; that a
    /// size is at least 2 is its own assumption, which may decide what the model does.
    fn tell(&mut self, plain: &Bounds, symbol: String, found: Interval) {
        let every = plain.get(&symbol).and_then(|every| every.low);
        let low = found.low.filter(|low| *low == 2 || Some(*low) != every);
        let assumed = found.low.filter(|low| *low == 1 && Some(*low) == every);
        let none = Interval::default();
        // No tensor has so many elements.
        let high = found.high.filter(|high| *high < LARGEST);
        let told = Interval::new(low, high);
        let (told, declared) = match self.mentioned.contains(&symbol) {
            true => (told, Interval::new(assumed, None)),
            false if low == Some(2) && self.may_be_assumed => (Interval::new(low, None), Interval::new(None, high)),
            false => (none, Interval::new(low.or(assumed), high)),
        };
        if declared != none {
            self.declared.insert(symbol.clone(), declared);
        }
        if told != none {
            self.bounds.insert(symbol, told);
        }
    }

    /// Makes symbols with one value numbers. Returns whether there was one.
    fn pin(&mut self, pending: &mut [SymInt], bounds: &mut Bounds) -> bool {
        let only = |(symbol, found): (&String, &Interval)| {
            let value = i64::try_from(found.only()?).ok().filter(|value| *value >= 0)?;
            Some((symbol.clone(), value))
        };
        let found: HashMap<String, i64> = bounds.iter().filter_map(only).collect();
        bounds.retain(|symbol, known| match (known.low, known.high) {
            (Some(low), Some(high)) if low > high => {
                let least = SymInt::special(
                    Special::Relation(Relation::GreaterOrEqual),
                    vec![SymInt::symbol(symbol.as_str()), SymInt::from(i64::try_from(low).unwrap_or(i64::MAX))],
                );
                self.impossible.push(least);
                false
            }
            _ => !found.contains_key(symbol),
        });
        let sizes: HashMap<String, SymInt> =
            found.iter().map(|(symbol, value)| (symbol.clone(), SymInt::from(*value))).collect();
        for condition in pending.iter_mut() {
            *condition = condition.substitute(&sizes);
        }
        self.pins.extend(found);
        !sizes.is_empty()
    }
}

/// Whether a condition follows from the bounds of a program, those that the user declared among them.
pub fn follows(program: &Program, condition: &SymInt) -> bool {
    truth(condition, &given(program, &smallest(program))) == Some(true)
}

/// Larger sizes are not told as bounds.
const LARGEST: i128 = 1 << 60;

/// What holds for every size: it is at least 0, or 1. A recorded program says which. PyTorch assumes that a size is at least 2, if it does not capture for smaller ones.
fn smallest(program: &Program) -> Bounds {
    let mut bounds = Bounds::new();
    let mut add = |symbol: &str, low: Option<i128>| _ = bounds.insert(symbol.to_owned(), Interval::new(low, None));
    for input in &program.graph.inputs {
        if matches!(input.kind, InputKind::Tensor) {
            let sizes = program.graph.tensors.get(&input.name).map(|tensor| tensor.sizes.as_slice());
            let symbols = sizes.unwrap_or_default().iter().filter_map(SymInt::as_symbol);
            let least = if program.is_recorded { 0 } else { 1 };
            symbols.for_each(|symbol| add(symbol, Some(least)));
        }
    }
    for (symbol, (low, _)) in &program.ranges {
        if let Some(low) = low.filter(|low| *low <= 2) {
            let known = bounds.entry(symbol.clone()).or_default();
            known.low = known.low.max(Some(low.into()));
        }
    }
    bounds
}

/// The bounds that the program has for its symbols.
fn given(program: &Program, plain: &Bounds) -> Bounds {
    let mut bounds = plain.clone();
    for symbol in crate::fixed::symbols(program) {
        let (low, high) = program.ranges.get(&symbol).copied().unwrap_or_default();
        let known = bounds.entry(symbol).or_default();
        *known = known.and(Interval::new(low.map(i128::from), high.map(i128::from)));
    }
    bounds
}

/// The bounds that hold for every size, and those that a guard states.
fn own_bounds(plain: &Bounds, guards: &[SymInt]) -> Bounds {
    let mut bounds = plain.clone();
    for (symbol, found) in guards.iter().filter_map(stated) {
        let known = bounds.entry(symbol).or_default();
        *known = known.and(found);
    }
    bounds
}

/// The bounds of a symbol without those that PyTorch derived from a condition: of `h > w` and a size of at least 2 that `h` is at least 3.
fn without_derived(symbol: &str, found: Interval, conditions: &[SymInt], own: &Bounds) -> Interval {
    let mut derived = Interval::default();
    for condition in conditions.iter().take(MAX_GUARDS) {
        if let Some(more) = of_others(symbol, condition, own) {
            derived = derived.and(more);
        }
    }
    let known = own.get(symbol).copied().unwrap_or_default();
    let low = found.low.filter(|low| known.low == Some(*low) || derived.low.is_none_or(|derived| derived < *low));
    let high =
        found.high.filter(|high| known.high == Some(*high) || derived.high.is_none_or(|derived| derived > *high));
    Interval::new(low.or(known.low), high.or(known.high))
}

/// The bounds of a symbol that follow from those of the others in a condition.
fn of_others(symbol: &str, condition: &SymInt, bounds: &Bounds) -> Option<Interval> {
    let (Special::Relation(relation), [a, b]) = condition.as_special()? else { return None };
    if !is_int(a) || !is_int(b) {
        return None;
    }
    let own = SymInt::symbol(symbol);
    let (rest, relation) = match (b.sub(a).add(&own), a.sub(b).add(&own)) {
        (rest, _) if !rest.symbols().contains(symbol) => (rest, relation),
        (_, rest) if !rest.symbols().contains(symbol) => (rest, mirrored(relation)),
        _ => return None,
    };
    let others = interval(&rest, bounds);
    let (low, high) = (others.low, others.high);
    Some(match relation {
        Relation::Equal => others,
        Relation::Greater => Interval::new(low.map(|low| low + 1), None),
        Relation::GreaterOrEqual => Interval::new(low, None),
        Relation::Less => Interval::new(None, high.map(|high| high - 1)),
        Relation::LessOrEqual => Interval::new(None, high),
        Relation::Unequal => return None,
    })
}

/// The bounds without the value at one end, if the condition is that the symbol is not that value.
fn trimmed(condition: &SymInt, bounds: &Bounds) -> Option<(String, Interval)> {
    let (Special::Relation(Relation::Unequal), [a, b]) = condition.as_special()? else { return None };
    if !is_int(a) || !is_int(b) {
        return None;
    }
    let equal = SymInt::special(Special::Relation(Relation::Equal), vec![a.clone(), b.clone()]);
    let (symbol, excluded) = stated(&equal)?;
    let known = *bounds.get(&symbol)?;
    let (first, last) = (excluded.low?, excluded.high?);
    if first > last {
        return None;
    }
    if known.low.is_some_and(|low| first <= low && low <= last) {
        return Some((symbol, Interval::new(last.checked_add(1), known.high)));
    }
    if known.high.is_some_and(|high| first <= high && high <= last) {
        return Some((symbol, Interval::new(known.low, first.checked_sub(1))));
    }
    None
}

/// Tries the values of symbols that have few: if those that fulfil the conditions on one symbol are consecutive, they are bounds.
fn narrow(pending: &mut Vec<SymInt>, bounds: &mut Bounds, tries: &mut usize) {
    let mut of: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, condition) in pending.iter().enumerate() {
        let mut symbols = condition.symbols().into_iter();
        if let (Some(only), None) = (symbols.next(), symbols.next()) {
            of.entry(only).or_default().push(index);
        }
    }
    let mut done = BTreeSet::new();
    for (symbol, conditions) in of {
        let Some(known) = bounds.get_mut(&symbol) else { continue };
        let Some(values) = values(*known, conditions.len(), tries) else { continue };
        let about = || conditions.iter().filter_map(|index| pending.get(*index));
        let fulfils =
            |value: &i64| about().map(|condition| at(condition, &symbol, *value)).collect::<Option<Vec<bool>>>();
        let Some(each) = values.iter().map(fulfils).collect::<Option<Vec<_>>>() else { continue };
        let kept: Vec<i64> =
            values.iter().zip(&each).filter(|(_, all)| all.iter().all(|yes| *yes)).map(|(value, _)| *value).collect();
        let (Some(first), Some(last)) = (kept.first(), kept.last()) else { continue };
        *known = Interval::new(Some((*first).into()), Some((*last).into()));
        if i128::from(*last) - i128::from(*first) + 1 == kept.len() as i128 {
            done.extend(conditions);
        }
    }
    let mut index = 0;
    pending.retain(|_| {
        index += 1;
        !done.contains(&(index - 1))
    });
}

/// All values within bounds, if they are few.
fn values(bounds: Interval, conditions: usize, tries: &mut usize) -> Option<Vec<i64>> {
    let (low, high) = (i64::try_from(bounds.low?).ok()?, i64::try_from(bounds.high?).ok()?);
    let count = i128::from(high) - i128::from(low) + 1;
    if !(1..=MAX_VALUES).contains(&count) {
        return None;
    }
    *tries = tries.checked_sub((count as usize).checked_mul(conditions)?)?;
    Some((low..=high).collect())
}

fn at(condition: &SymInt, symbol: &str, value: i64) -> Option<bool> {
    let at = condition.eval(&HashMap::from([(symbol.to_owned(), value)]))?;
    Some(at != 0)
}

/// Whether a condition on one symbol with few values holds for all of them.
fn is_tried(condition: &SymInt, bounds: &Bounds, tries: &mut usize) -> bool {
    let symbols = condition.symbols();
    let mut names = symbols.iter();
    let (Some(symbol), None) = (names.next(), names.next()) else { return false };
    let Some(values) = bounds.get(symbol).and_then(|known| values(*known, 1, tries)) else { return false };
    values.iter().all(|value| at(condition, symbol, *value) == Some(true))
}

/// Drops what follows from `n % 16 == 0`, which is tried with `16*k` in place of `n`.
fn independent(pending: Vec<SymInt>, bounds: &Bounds) -> Vec<SymInt> {
    let mut multiples: BTreeMap<String, i64> = BTreeMap::new();
    for (symbol, divisor) in pending.iter().filter_map(multiple) {
        let known = multiples.entry(symbol).or_insert(divisor);
        *known = divisor.max(*known);
    }
    if multiples.is_empty() {
        return pending;
    }
    let mut within = bounds.clone();
    let mut sizes: HashMap<String, SymInt> = HashMap::new();
    for (symbol, divisor) in &multiples {
        let of_symbol = bounds.get(symbol).copied().unwrap_or_default();
        let by = i128::from(*divisor);
        let up = |bound: i128| -((-bound).div_euclid(by));
        let quotient = format!("{symbol}//{divisor}");
        within.insert(
            quotient.clone(),
            Interval::new(of_symbol.low.map(up), of_symbol.high.map(|high| high.div_euclid(by))),
        );
        sizes.insert(symbol.clone(), &SymInt::symbol(quotient) * *divisor);
    }
    let follows = |condition: &SymInt| {
        let is_source = multiple(condition).is_some_and(|(symbol, divisor)| multiples.get(&symbol) == Some(&divisor));
        !is_source && truth(&condition.substitute(&sizes), &within) == Some(true)
    };
    pending.into_iter().filter(|condition| !follows(condition)).collect()
}

/// The symbol and the divisor of `n % 16 == 0`.
fn multiple(condition: &SymInt) -> Option<(String, i64)> {
    let (Special::Relation(Relation::Equal), [a, b]) = condition.as_special()? else { return None };
    let (value, zero) = if b.known() == Some(0) { (a, b) } else { (b, a) };
    let mut terms = value.terms();
    let (1, [(Atom::Function(Function::Mod, args), 1)]) = terms.next()? else { return None };
    let ([of, by], None, Some(0)) = (args.as_slice(), terms.next(), zero.known()) else { return None };
    Some((of.as_symbol()?.to_owned(), by.known().filter(|by| *by > 1)?))
}
