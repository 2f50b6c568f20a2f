//! Lists: literals, comprehensions, slices, and the built-in functions on lists and numbers.

use std::rc::Rc;

use super::numbers::computed;
use super::opsets::Opsets;
use super::scope::Scope;
use super::values::{Abs, List, MOST_ITEMS, Number, Values};
use super::walk::{bind, converted};
use super::{Coverage, Path, Seen};
use crate::tree::{Builtin, Expr, Item, Names};
use crate::types::Ty;

/// A `fold` over a list of unknown length is walked so often before its state may be anything.
const MOST_ROUNDS: usize = 4;

impl<'a> Coverage<'a> {
    pub(super) fn list(&mut self, items: &'a [Item], scope: &Scope<'a>, mut at: Opsets) -> Seen {
        let mut list = List::of(Vec::new());
        for item in items {
            let (Item::One(e) | Item::Spread(e)) = item;
            let seen = self.expr(e, scope, at);
            at = seen.at;
            let next = match (item, seen.value) {
                (Item::Spread(_), Abs::List(list)) => list,
                (Item::Spread(_), _) => List::any(Abs::Any),
                (Item::One(_), value) => List::of(vec![value]),
            };
            list = list.then(&next);
        }
        Seen { value: Abs::List(list), at }
    }

    pub(super) fn comprehension(
        &mut self,
        element: &'a Expr,
        names: &'a Names,
        list: &'a Expr,
        condition: Option<&'a Expr>,
        scope: &Scope<'a>,
        at: Opsets,
    ) -> Seen {
        let over = self.expr(list, scope, at);
        let at = over.at;
        let Abs::List(over) = over.value else { return Seen { value: Abs::List(List::any(Abs::Any)), at } };
        let one = |this: &mut Self, value: &Abs| {
            let mut inner = scope.clone();
            bind(&mut inner, names, value);
            let mut path = Path { scope: inner, at };
            let mut left_out = false;
            if let Some(condition) = condition {
                this.expr(condition, &path.scope, at);
                left_out = this.assume(condition, false, &path.scope, at).is_some();
                match this.assume(condition, true, &path.scope, at) {
                    Some(taken) => path = taken,
                    None => return (Seen { value: Abs::Never, at }, true),
                }
            }
            (this.expr(element, &path.scope, path.at), left_out)
        };
        match &over.items {
            Some(items) => {
                let mut done = at;
                let mut all = List::of(Vec::new());
                for item in items.iter() {
                    let (seen, left_out) = one(self, item);
                    done = if left_out { done } else { done.and(seen.at) };
                    let next = match (&seen.value, left_out) {
                        (Abs::Never, true) => continue,
                        (value, true) => List { least: 0, items: None, ..List::of(vec![value.clone()]) },
                        (value, false) => List::of(vec![value.clone()]),
                    };
                    all = all.then(&next);
                }
                Seen { value: Abs::List(all), at: done }
            }
            None if over.most == 0 => Seen { value: Abs::List(List::of(Vec::new())), at },
            None => {
                let (seen, _) = one(self, &over.each.clone());
                let least = if condition.is_some() { 0 } else { over.least };
                let list = List { least, most: over.most, items: None, each: Rc::new(seen.value) };
                // The list may be empty, so a refusal in its elements does not refuse every call.
                let done = if over.least == 0 { at } else { seen.at };
                Seen { value: Abs::List(list), at: done }
            }
        }
    }

    /// `fold state = init for item in list { body }`. A list of unknown length is walked until nothing new is found.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn fold(
        &mut self,
        (state, init): (&'a Names, &'a Expr),
        (item, list): (&'a Names, &'a Expr),
        body: &'a Expr,
        ty: &Ty,
        scope: &Scope<'a>,
        at: Opsets,
    ) -> Seen {
        let over = self.expr(list, scope, at);
        let first = self.expr(init, scope, over.at);
        let Abs::List(over) = over.value else { return Seen { value: self.top(ty, first.at), at: first.at } };
        let step = |this: &mut Self, now: &Seen, value: &Abs| {
            let mut inner = scope.clone();
            bind(&mut inner, state, &now.value);
            bind(&mut inner, item, value);
            let next = this.expr(body, &inner, now.at);
            Seen { value: converted(next.value, ty), at: next.at }.or_top(this, ty)
        };
        let mut now = Seen { value: converted(first.value, ty), at: first.at };
        if let Some(items) = &over.items {
            for item in items.iter() {
                now = step(self, &now, item);
            }
            return now;
        }
        for _ in 0..MOST_ROUNDS {
            let next = now.clone().or(step(self, &now, &over.each));
            if next.value == now.value {
                return next;
            }
            now = next;
        }
        let widest = Seen { value: self.top(ty, now.at), at: now.at };
        widest.clone().or(step(self, &widest, &over.each))
    }

    pub(super) fn slice(
        &mut self,
        list: &'a Expr,
        from: Option<&'a Expr>,
        to: Option<&'a Expr>,
        scope: &Scope<'a>,
        at: Opsets,
    ) -> Seen {
        let seen = self.expr(list, scope, at);
        let mut at = seen.at;
        let mut bound = |this: &mut Self, e: Option<&'a Expr>| -> Option<Option<i64>> {
            let Some(e) = e else { return Some(None) };
            let seen = this.expr(e, scope, at);
            at = seen.at;
            match seen.value {
                Abs::Number(number) => number.integer().map(Some),
                _ => None,
            }
        };
        let bounds = (bound(self, from), bound(self, to));
        let Abs::List(list) = seen.value else { return Seen { value: Abs::List(List::any(Abs::Any)), at } };
        Seen { value: Abs::List(sliced(&list, bounds)), at }
    }
}

/// `xs[i]`
pub(super) fn element(list: &Abs, index: &Abs, ty: &Ty) -> Abs {
    let Abs::List(list) = list else { return Abs::Any };
    let items = list.items.as_ref();
    let at = match index {
        Abs::Number(number) => number.integer(),
        _ => None,
    };
    let exact = items.zip(at).and_then(|(items, at)| {
        let length = i64::try_from(items.len()).ok()?;
        let at = if at < 0 { at + length } else { at };
        items.get(usize::try_from(at).ok()?)
    });
    match exact {
        Some(item) => item.clone(),
        // An index out of range is an error of the call.
        None if *list.each == Abs::Never && !matches!(ty, Ty::Never) => Abs::Never,
        None => (*list.each).clone(),
    }
}

/// `xs[a .. b]`; a bound is None if it is not known, Some(None) if it is absent.
fn sliced(list: &List, (from, to): (Option<Option<i64>>, Option<Option<i64>>)) -> List {
    let (Some(from), Some(to)) = (from, to) else {
        return List { least: 0, items: None, ..list.clone() };
    };
    if let Some(items) = &list.items {
        let length = items.len() as i64;
        let place = |n: i64| if n < 0 { (n + length).max(0) } else { n.min(length) };
        let (from, to) = (place(from.unwrap_or(0)), place(to.unwrap_or(length)));
        let part: Vec<Abs> =
            (from..to.max(from)).filter_map(|i| items.get(usize::try_from(i).ok()?).cloned()).collect();
        return List::of(part);
    }
    let (least, most) = (i64::from(list.least), i64::from(list.most));
    let (least, most) = match (from.unwrap_or(0), to) {
        (from, None) if from >= 0 => (least - from, most - from),
        (from, None) => (least.min(-from), most.min(-from)),
        (0, Some(to)) if to >= 0 => (least.min(to), most.min(to)),
        (0, Some(to)) => (least + to, most + to),
        _ => (0, most),
    };
    let each = (*list.each).clone();
    List { items: None, ..List::between(least.max(0), most.max(0), each) }
}

impl Coverage<'_> {
    /// The built-in functions of the language.
    pub(super) fn builtin(&self, builtin: Builtin, args: &[Abs], ty: &Ty, at: Opsets) -> Abs {
        let known = |builtin: Builtin| -> Option<Abs> {
            match (builtin, args) {
                (_, args) if args.contains(&Abs::Never) => Some(Abs::Never),
                (Builtin::Len, [Abs::List(list)]) => {
                    Some(Abs::Number(Number::between(i64::from(list.least), i64::from(list.most))))
                }
                (Builtin::Range, [Abs::Number(stop)]) => {
                    let (low, high) = stop.bounds();
                    Some(Abs::List(numbers(0, low, high)))
                }
                (Builtin::Range, [Abs::Number(from), Abs::Number(stop)]) => {
                    let from = from.integer()?;
                    let (low, high) = stop.bounds();
                    Some(Abs::List(numbers(from, low, high)))
                }
                (Builtin::Enumerate, [Abs::List(list)]) => Some(Abs::List(enumerated(list))),
                (Builtin::Zip, [Abs::List(a), Abs::List(b)]) => Some(Abs::List(zipped(a, b))),
                (Builtin::Reversed, [Abs::List(list)]) => {
                    let items = list.items.as_ref().map(|items| items.iter().rev().cloned().collect());
                    Some(Abs::List(List { items, ..list.clone() }))
                }
                (Builtin::Min | Builtin::Max, [Abs::Number(a), Abs::Number(b)]) => {
                    let values = match (a.values, b.values) {
                        (Values::Between(p, q), Values::Between(u, v)) if builtin == Builtin::Min => {
                            Values::Between(p.min(u), q.min(v))
                        }
                        (Values::Between(p, q), Values::Between(u, v)) => Values::Between(p.max(u), q.max(v)),
                        _ => Values::Any,
                    };
                    let known = computed(a.known.with(b.known));
                    Some(Abs::Number(Number { known, values, kinds: a.kinds.or(b.kinds) }))
                }
                (Builtin::MinOf | Builtin::MaxOf | Builtin::Sum, [list @ Abs::List(_)]) => {
                    let top = self.top(ty, at);
                    match top {
                        Abs::Number(number) => Some(Abs::Number(Number { known: computed(list.known()), ..number })),
                        top => Some(top),
                    }
                }
                (Builtin::Abs, [Abs::Number(number)]) => {
                    let (low, high) = number.bounds();
                    let most = low.saturating_abs().max(high.saturating_abs());
                    let least = if low <= 0 && high >= 0 { 0 } else { low.saturating_abs().min(high.saturating_abs()) };
                    let values = if ty == &Ty::Float { Values::Any } else { Values::Between(least, most) };
                    Some(Abs::Number(Number { values, ..number.clone() }))
                }
                _ => None,
            }
        };
        known(builtin).unwrap_or_else(|| self.top(ty, at))
    }
}

/// The numbers from `from` up to a stop between two bounds.
fn numbers(from: i64, low: i64, high: i64) -> List {
    if low == high && high.checked_sub(from).is_some_and(|count| count <= MOST_ITEMS as i64) {
        return List::of((from..high.max(from)).map(|i| Abs::Number(Number::between(i, i))).collect());
    }
    let each = Abs::Number(Number::between(from, high.saturating_sub(1).max(from)));
    List { items: None, ..List::between(low.saturating_sub(from), high.saturating_sub(from), each) }
}

fn enumerated(list: &List) -> List {
    let pair = |i: Abs, value: &Abs| Abs::Tuple([i, value.clone()].into());
    match &list.items {
        Some(items) => List::of(
            items.iter().enumerate().map(|(i, v)| pair(Abs::Number(Number::between(i as i64, i as i64)), v)).collect(),
        ),
        None => {
            let index = Abs::Number(Number::between(0, i64::from(list.most)));
            let each = Rc::new(pair(index, &list.each));
            List { least: list.least, most: list.most, items: None, each }
        }
    }
}

fn zipped(a: &List, b: &List) -> List {
    let pair = |x: &Abs, y: &Abs| Abs::Tuple([x.clone(), y.clone()].into());
    match (&a.items, &b.items) {
        (Some(x), Some(y)) => List::of(x.iter().zip(y.iter()).map(|(x, y)| pair(x, y)).collect()),
        _ => List {
            least: a.least.min(b.least),
            most: a.most.min(b.most),
            items: None,
            each: Rc::new(pair(&a.each, &b.each)),
        },
    }
}
