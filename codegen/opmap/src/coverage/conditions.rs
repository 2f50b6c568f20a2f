//! What a condition says about the values of names: the scope in which it is true, and the one in which it is false.

use std::rc::Rc;

use super::opsets::Opsets;
use super::scope::{Part, Scope, ValuePlace, narrowed};
use super::values::{Abs, Known, Number, Tensor, Text, Truth, Values};
use super::{Coverage, Path};
use crate::returned::Returned;
use crate::syntax::ast::{BinaryOp, UnaryOp};
use crate::tree::{Builtin, Expr, Kind, Names, Statement};
use crate::types::Ty;
use aten2onnx_schemas::dtypes::DtypeSet;

/// Conditions inside helpers are followed up to this depth of calls.
const MOST_CALLS: u32 = 4;

/// How many parts of a condition are followed: `a || b` follows `a` twice, so a deep condition has exponentially many.
pub(super) const MOST_STEPS: u32 = 10_000;

impl<'a> Coverage<'a> {
    /// The scope in which a condition has an outcome, and the opsets at which it may have it. None if it cannot have it.
    pub(super) fn assume(
        &mut self,
        condition: &'a Expr,
        outcome: bool,
        scope: &Scope<'a>,
        at: Opsets,
    ) -> Option<Path<'a>> {
        if self.quiet == 0 {
            self.steps_left = MOST_STEPS;
        }
        self.quiet += 1;
        let path = self.assumed(condition, outcome, scope, at, 0);
        self.quiet -= 1;
        path.filter(|path| !path.at.is_empty())
    }

    fn assumed(
        &mut self,
        condition: &'a Expr,
        outcome: bool,
        scope: &Scope<'a>,
        at: Opsets,
        depth: u32,
    ) -> Option<Path<'a>> {
        if at.is_empty() {
            return None;
        }
        let Some(left) = self.steps_left.checked_sub(1) else {
            // Without more steps the condition says nothing.
            return Some(Path { scope: scope.clone(), at });
        };
        self.steps_left = left;
        match &condition.kind {
            Kind::Convert(inner) => self.assumed(inner, outcome, scope, at, depth),
            Kind::Unary(UnaryOp::Not, inner) => self.assumed(inner, !outcome, scope, at, depth),
            Kind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                // `!(a && b)` is `!a || !b`, and `a || b` is `a`, or `b` if not `a`.
                let all = (*op == BinaryOp::And) == outcome;
                let first = self.assumed(a, outcome, scope, at, depth);
                if all {
                    let first = first?;
                    return self.assumed(b, outcome, &first.scope, first.at, depth);
                }
                let not_first = self.assumed(a, !outcome, scope, at, depth);
                let second = not_first.and_then(|path| self.assumed(b, outcome, &path.scope, path.at, depth));
                either(first, second)
            }
            Kind::Binary(op, a, b) if is_comparison(*op) => self.compared(*op, [a, b], outcome, scope, at),
            Kind::Extern(name, args) => match (self.program.returned(name).and_then(dtypes_where), args.as_slice()) {
                (Some(set), [dtype]) => {
                    self.assume_dtype(dtype, if outcome { set } else { DtypeSet::ALL.without(set) }, scope, at)
                }
                _ if self.program.returned(name) == Some(Returned::IsKnown) => {
                    let path = self.plainly(condition, outcome, scope, at)?;
                    let place = args.first().and_then(|arg| self.place(arg, scope));
                    know(path, place, outcome)
                }
                _ => self.plainly(condition, outcome, scope, at),
            },
            Kind::Fn(name, args) if depth < MOST_CALLS => {
                let Some(function) = self.program.helper(name) else {
                    return self.plainly(condition, outcome, scope, at);
                };
                let mut inner = scope.clone();
                let bound: Vec<(Abs, Option<ValuePlace>)> =
                    args.iter().map(|arg| (self.peek(arg, scope, at), self.place(arg, scope))).collect();
                for (param, (value, origin)) in function.params.iter().zip(bound) {
                    inner.bind(&param.name, value.fit(&param.ty, self.all, at), origin);
                }
                outside(scope, self.assumed(&function.body, outcome, &inner, at, depth + 1))
            }
            Kind::If { condition, then, other, .. } => {
                let mut branch = |taken: bool, value: &'a Expr| {
                    let path = self.assumed(condition, taken, scope, at, depth)?;
                    self.assumed(value, outcome, &path.scope, path.at, depth)
                };
                let (then, other) = (branch(true, then), branch(false, other));
                either(then, other)
            }
            Kind::IfLet { name, value, then, other, .. } => {
                let present = self.present(value, scope, at);
                let then = present.and_then(|(value, origin, mut path)| {
                    path.scope.bind(name, value, origin);
                    outside(scope, self.assumed(then, outcome, &path.scope, path.at, depth))
                });
                let absent = self.absent(value, scope, at);
                let other = absent.and_then(|path| self.assumed(other, outcome, &path.scope, path.at, depth));
                either(then, other)
            }
            Kind::Block(statements, result) => {
                let mut inner = scope.clone();
                for statement in statements {
                    let Statement::Let(Names::One(name), value) = statement else {
                        return self.plainly(condition, outcome, scope, at);
                    };
                    let origin = self.place(value, &inner);
                    let seen = self.peek(value, &inner, at);
                    inner.bind_to(name, seen, origin, value);
                }
                outside(scope, self.assumed(result, outcome, &inner, at, depth))
            }
            Kind::Local(name) => {
                let path = self.plainly(condition, outcome, scope, at)?;
                let to = Abs::Truth(Truth::always(outcome, path.at));
                let mut path = narrow(path, self.place(condition, scope), &to)?;
                if let Some((condition, before)) = path.scope.condition(name) {
                    let told = self.assumed(condition, outcome, &before, path.at, depth)?;
                    path.at = told.at;
                    return path.scope.learn(&told.scope).then_some(path);
                }
                Some(path)
            }
            _ => self.plainly(condition, outcome, scope, at),
        }
    }

    /// The opsets at which a condition may have an outcome; nothing is known of the names.
    fn plainly(&mut self, condition: &'a Expr, outcome: bool, scope: &Scope<'a>, at: Opsets) -> Option<Path<'a>> {
        let Abs::Truth(truth) = self.peek(condition, scope, at) else { return Some(Path { scope: scope.clone(), at }) };
        let at = if outcome { truth.yes } else { truth.no }.and(at);
        (!at.is_empty()).then(|| Path { scope: scope.clone(), at })
    }

    /// The value of an expression, without noting what it reaches.
    fn peek(&mut self, expr: &'a Expr, scope: &Scope<'a>, at: Opsets) -> Abs {
        self.quiet += 1;
        let kept = std::mem::take(&mut self.frame);
        let seen = self.expr(expr, scope, at);
        self.frame = kept;
        self.quiet -= 1;
        seen.value
    }

    fn assume_dtype(&mut self, dtype: &'a Expr, set: DtypeSet, scope: &Scope<'a>, at: Opsets) -> Option<Path<'a>> {
        let Abs::Dtype(now) = self.peek(dtype, scope, at) else { return Some(Path { scope: scope.clone(), at }) };
        if !now.meets(set) {
            return None;
        }
        narrow(Path { scope: scope.clone(), at }, self.place(dtype, scope), &Abs::Dtype(set))
    }

    /// The scope in which a comparison has an outcome.
    fn compared(
        &mut self,
        op: BinaryOp,
        sides: [&'a Expr; 2],
        outcome: bool,
        scope: &Scope<'a>,
        at: Opsets,
    ) -> Option<Path<'a>> {
        let [a, b] = sides;
        if let Some(truth) = opset_comparison(op, a, b, at) {
            let at = if outcome { truth.yes } else { truth.no };
            return (!at.is_empty()).then(|| Path { scope: scope.clone(), at });
        }
        let (left, right) = (self.peek(a, scope, at), self.peek(b, scope, at));
        let truth = compare(op, &left, &right, at);
        let at = if outcome { truth.yes } else { truth.no }.and(at);
        if at.is_empty() {
            return None;
        }
        let mut path = Path { scope: scope.clone(), at };
        if let Some(to) = constraint(op, outcome, &left, &right) {
            path = narrow(path, self.place(a, scope), &to)?;
        }
        if op != BinaryOp::In
            && let Some(to) = constraint(mirrored(op), outcome, &right, &left)
        {
            path = narrow(path, self.place(b, scope), &to)?;
        }
        Some(path)
    }

    /// The place whose value an expression is.
    pub(super) fn place(&self, expr: &'a Expr, scope: &Scope<'a>) -> Option<ValuePlace> {
        match &expr.kind {
            Kind::Convert(inner) => {
                let wraps = matches!(expr.ty, Ty::Optional(_)) && !matches!(inner.ty, Ty::Optional(_));
                if wraps { None } else { self.place(inner, scope) }
            }
            Kind::Local(name) => scope.place(name),
            Kind::Extern(name, args) => {
                let part = match self.program.returned(name)? {
                    Returned::Dtype => Part::Dtype,
                    Returned::Rank => Part::Rank,
                    _ => return None,
                };
                scope.part(self.place(args.first()?, scope)?, part)
            }
            Kind::Builtin(Builtin::Len, args) => scope.part(self.place(args.first()?, scope)?, Part::Length),
            _ => None,
        }
    }

    /// The value of an optional expression if it is present, its place, and the scope in which it is.
    pub(super) fn present(
        &mut self,
        value: &'a Expr,
        scope: &Scope<'a>,
        at: Opsets,
    ) -> Option<(Abs, Option<ValuePlace>, Path<'a>)> {
        if let Kind::Block(statements, result) = &value.kind
            && statements.is_empty()
        {
            return self.present(result, scope, at);
        }
        if let Kind::If { condition, then, other, .. } = &value.kind {
            let mut branch = |outcome: bool, value: &'a Expr| {
                let path = self.assume(condition, outcome, scope, at)?;
                let (value, _, path) = self.present(value, &path.scope, path.at)?;
                Some((value, path))
            };
            return match (branch(true, then), branch(false, other)) {
                (Some((a, p)), Some((b, q))) => Some((a.or(&b), None, either(Some(p), Some(q))?)),
                (a, b) => a.or(b).map(|(value, path)| (value, None, path)),
            };
        }
        let seen = self.peek(value, scope, at);
        let found = match &seen {
            Abs::Optional(optional) if !optional.may_be_present() => return None,
            Abs::Optional(optional) => (*optional.present).clone(),
            other => other.clone(),
        };
        let mut path = Path { scope: scope.clone(), at };
        let place = self.place(value, scope);
        if let (Some(place), Abs::Optional(optional)) = (place, &seen) {
            let to = Abs::Optional(super::values::Optional { absent: false, ..optional.clone() });
            path = narrow(path, Some(place), &to)?;
        }
        path = self.known_elements(value, true, path)?;
        let origin = place.and_then(|place| path.scope.part(place, Part::Present));
        Some((found, origin, path))
    }

    /// The scope in which an optional expression is absent.
    pub(super) fn absent(&mut self, value: &'a Expr, scope: &Scope<'a>, at: Opsets) -> Option<Path<'a>> {
        if let Kind::Block(statements, result) = &value.kind
            && statements.is_empty()
        {
            return self.absent(result, scope, at);
        }
        if let Kind::If { condition, then, other, .. } = &value.kind {
            let mut branch = |outcome: bool, value: &'a Expr| {
                let path = self.assume(condition, outcome, scope, at)?;
                self.absent(value, &path.scope, path.at)
            };
            let (then, other) = (branch(true, then), branch(false, other));
            return either(then, other);
        }
        let seen = self.peek(value, scope, at);
        let path = Path { scope: scope.clone(), at };
        match seen {
            Abs::Optional(optional) if !optional.absent => None,
            Abs::Optional(_) => {
                let nothing = Abs::Optional(super::values::Optional::nothing());
                let path = narrow(path, self.place(value, scope), &nothing)?;
                self.known_elements(value, false, path)
            }
            Abs::Never => None,
            _ => Some(path),
        }
    }

    /// `contents(x)` and `value_of(x)` are present if the elements of `x` are known. They may also be absent for known elements:
    /// those of floats, or several.
    fn known_elements(&mut self, value: &'a Expr, present: bool, path: Path<'a>) -> Option<Path<'a>> {
        let Kind::Extern(name, args) = &value.kind else { return Some(path) };
        let reads = matches!(self.program.returned(name), Some(Returned::KnownElements | Returned::KnownElement));
        if !present || !reads {
            return Some(path);
        }
        let place = args.first().and_then(|arg| self.place(arg, &path.scope));
        know(path, place, true)
    }
}

/// A path outside of a helper or a block: the names inside are those of other values.
fn outside<'a>(scope: &Scope<'a>, path: Option<Path<'a>>) -> Option<Path<'a>> {
    path.map(|path| Path { scope: path.scope.without_names_after(scope), at: path.at })
}

/// The dtypes for which a function of a dtype is true.
pub(super) fn dtypes_where(is: Returned) -> Option<DtypeSet> {
    Some(match is {
        Returned::IsFloat => DtypeSet::float(),
        Returned::IsInt => DtypeSet::int(),
        Returned::IsUnsigned => DtypeSet::unsigned(),
        Returned::IsComplex => DtypeSet::complex(),
        _ => return None,
    })
}

fn either<'a>(a: Option<Path<'a>>, b: Option<Path<'a>>) -> Option<Path<'a>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(Path { scope: a.scope.or(&b.scope), at: a.at.or(b.at) }),
        (a, b) => a.or(b),
    }
}

/// The path on which the value at a place is also one of `to`.
pub(super) fn narrow<'a>(mut path: Path<'a>, place: Option<ValuePlace>, to: &Abs) -> Option<Path<'a>> {
    match place {
        Some(place) => path.scope.narrow(place, to).then_some(path),
        None => Some(path),
    }
}

fn know(mut path: Path<'_>, place: Option<ValuePlace>, known: bool) -> Option<Path<'_>> {
    match place {
        Some(place) => path.scope.know(place, known).then_some(path),
        None => Some(path),
    }
}

fn is_comparison(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge | BinaryOp::In)
}

/// The operator with both sides exchanged.
fn mirrored(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Ge => BinaryOp::Le,
        other => other,
    }
}

/// The operator that is true where this one is false.
fn negated(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Eq => BinaryOp::Ne,
        BinaryOp::Ne => BinaryOp::Eq,
        BinaryOp::Lt => BinaryOp::Ge,
        BinaryOp::Le => BinaryOp::Gt,
        BinaryOp::Gt => BinaryOp::Le,
        BinaryOp::Ge => BinaryOp::Lt,
        other => other,
    }
}

/// A comparison of the opset with a literal.
pub(super) fn opset_comparison(op: BinaryOp, a: &Expr, b: &Expr, at: Opsets) -> Option<Truth> {
    let int = |e: &Expr| if let Kind::Int(n) = e.kind { Some(n) } else { None };
    let (op, n) = match (&a.kind, &b.kind) {
        (Kind::Opset, _) => (op, int(b)?),
        (_, Kind::Opset) => (mirrored(op), int(a)?),
        _ => return None,
    };
    let holds = |opset: i64| match op {
        BinaryOp::Eq => opset == n,
        BinaryOp::Ne => opset != n,
        BinaryOp::Lt => opset < n,
        BinaryOp::Le => opset <= n,
        BinaryOp::Gt => opset > n,
        _ => opset >= n,
    };
    let yes = at.iter().filter(|opset| holds(i64::from(*opset))).collect::<Opsets>();
    Some(Truth { yes, no: at.without(yes) })
}

/// The outcomes that a comparison may have. A value that is not known is not equal to any.
pub(super) fn compare(op: BinaryOp, a: &Abs, b: &Abs, at: Opsets) -> Truth {
    let known = a.known().with(b.known());
    if op == BinaryOp::In {
        return is_in(a, b, at);
    }
    let may = match op {
        BinaryOp::Ne => return compare(BinaryOp::Eq, a, b, at).negated(),
        BinaryOp::Eq => may_equal(a, b),
        _ => match (a, b) {
            (Abs::Number(x), Abs::Number(y)) => may_order(op, x, y),
            _ => (true, true),
        },
    };
    let (yes, no) = (may.0 && known.may(), may.1 || (op == BinaryOp::Eq && known.may_not()));
    Truth::may(yes, no, at)
}

/// Whether two known values may be equal, and whether they may differ.
fn may_equal(a: &Abs, b: &Abs) -> (bool, bool) {
    match (a, b) {
        (Abs::Never, _) | (_, Abs::Never) => (false, false),
        (Abs::Number(x), Abs::Number(y)) => numbers_may_equal(x, y),
        (Abs::Dtype(x), Abs::Dtype(y)) => (x.meets(*y), x.len() > 1 || y.len() > 1 || x != y),
        (Abs::Text(Text::These(x)), Abs::Text(Text::These(y))) => {
            (x.iter().any(|text| y.contains(text)), x.len() > 1 || y.len() > 1 || x != y)
        }
        (Abs::Optional(x), Abs::Optional(y)) => {
            let (yes, no) = may_equal(&x.present, &y.present);
            let mixed = (x.absent && y.may_be_present()) || (y.absent && x.may_be_present());
            let unknown = x.present.known().may_not() || y.present.known().may_not();
            (yes || (x.absent && y.absent), no || mixed || (unknown && x.may_be_present() && y.may_be_present()))
        }
        (Abs::Optional(x), value) | (value, Abs::Optional(x)) => {
            let (yes, no) = may_equal(&x.present, value);
            (yes, no || x.absent)
        }
        _ => (true, true),
    }
}

fn numbers_may_equal(a: &Number, b: &Number) -> (bool, bool) {
    match (a.values, b.values) {
        (Values::Between(x, y), Values::Between(u, v)) => (x.max(u) <= y.min(v), !(x == y && u == v && x == u)),
        (Values::Float(x), Values::Float(y)) => {
            let equal = f64::from_bits(x) == f64::from_bits(y);
            (equal, !equal)
        }
        (Values::Float(x), Values::Between(u, v)) | (Values::Between(u, v), Values::Float(x)) => {
            let x = f64::from_bits(x);
            (u as f64 <= x && x <= v as f64, !(u == v && u as f64 == x))
        }
        (Values::Codes(x), Values::Codes(y)) => (x.meets(y), x.len() > 1 || y.len() > 1 || x != y),
        (Values::Codes(x), Values::Between(u, v)) | (Values::Between(u, v), Values::Codes(x)) => {
            let within = |i: usize| i64::try_from(i).is_ok_and(|i| u <= i + 1 && i < v);
            (x.indices().any(within), x.len() > 1 || u != v || !x.indices().any(within))
        }
        _ => (true, true),
    }
}

fn may_order(op: BinaryOp, a: &Number, b: &Number) -> (bool, bool) {
    let bounds = |n: &Number| match n.values {
        Values::Between(low, high) => Some((low as f64, high as f64)),
        // NaN is neither less than a number nor not less.
        Values::Float(bits) if !f64::from_bits(bits).is_nan() => Some((f64::from_bits(bits), f64::from_bits(bits))),
        _ => None,
    };
    let (Some((x, y)), Some((u, v))) = (bounds(a), bounds(b)) else { return (true, true) };
    let less = |strict: bool, x: f64, y: f64, u: f64, v: f64| match strict {
        true => (x < v, y >= u),
        false => (x <= v, y > u),
    };
    match op {
        BinaryOp::Lt => less(true, x, y, u, v),
        BinaryOp::Le => less(false, x, y, u, v),
        BinaryOp::Gt => less(true, u, v, x, y),
        _ => less(false, u, v, x, y),
    }
}

/// `a in b`
fn is_in(a: &Abs, b: &Abs, at: Opsets) -> Truth {
    let Abs::List(list) = b else { return Truth::either(at) };
    let (yes, _) = may_equal(a, &list.each);
    let certain = list.items.as_ref().is_some_and(|items| {
        let known = a.known().with(b.known());
        !known.may_not() && items.iter().any(|item| !may_equal(a, item).1)
    });
    let all = list.items.as_ref().is_some_and(|items| covers(items, a));
    Truth::may(yes && list.most > 0, !certain && !all, at)
}

/// Whether every dtype of a set is an element for certain.
fn covers(items: &[Abs], value: &Abs) -> bool {
    stated(value).zip(singles(items)).is_some_and(|(set, all)| set.is_within(all))
}

/// The dtypes of a list of single dtypes, or of their numbers.
fn singles(items: &[Abs]) -> Option<DtypeSet> {
    items.iter().try_fold(DtypeSet::NONE, |all, item| stated(item).filter(|set| set.len() == 1).map(|set| all.or(set)))
}

/// The dtypes that a value states, or their numbers.
fn stated(value: &Abs) -> Option<DtypeSet> {
    match value {
        Abs::Dtype(set) | Abs::Number(Number { known: Known::YES, values: Values::Codes(set), .. }) => Some(*set),
        _ => None,
    }
}

/// What a comparison with an outcome says about its left side.
fn constraint(op: BinaryOp, outcome: bool, value: &Abs, other: &Abs) -> Option<Abs> {
    if op == BinaryOp::In {
        let Abs::List(list) = other else { return None };
        return match outcome {
            true => Some((*list.each).clone()),
            false => {
                let left = DtypeSet::ALL.without(singles(list.items.as_ref()?)?);
                Some(match value {
                    Abs::Number(number) => Abs::Number(Number { values: Values::Codes(left), ..number.clone() }),
                    _ => Abs::Dtype(left),
                })
            }
        };
    }
    let op = if outcome { op } else { negated(op) };
    match (op, value, other) {
        (BinaryOp::Eq, Abs::Optional(_), Abs::Optional(_)) => Some(other.clone()),
        (BinaryOp::Ne, Abs::Optional(optional), Abs::Optional(other)) if !other.may_be_present() => {
            Some(Abs::Optional(super::values::Optional { absent: false, present: optional.present.clone() }))
        }
        (BinaryOp::Eq, _, _) => Some(other.clone()),
        (BinaryOp::Ne, Abs::Dtype(set), Abs::Dtype(one)) if one.len() == 1 => Some(Abs::Dtype(set.without(*one))),
        (BinaryOp::Ne, Abs::Text(Text::These(texts)), Abs::Text(Text::These(one))) if one.len() == 1 => {
            let left: Vec<String> = texts.iter().filter(|text| !one.contains(text)).cloned().collect();
            Some(Abs::Text(Text::These(left.into())))
        }
        (_, Abs::Number(value), Abs::Number(other)) => number_constraint(op, value, other),
        _ => None,
    }
}

fn number_constraint(op: BinaryOp, value: &Number, other: &Number) -> Option<Abs> {
    let (Values::Between(low, high), Values::Between(least, most)) = (value.values, other.values) else {
        return match (op, value.values, other.values) {
            (BinaryOp::Ne, Values::Codes(set), Values::Codes(one)) if one.len() == 1 => {
                Some(Abs::Number(Number { values: Values::Codes(set.without(one)), ..value.clone() }))
            }
            _ => None,
        };
    };
    let (low, high) = match op {
        BinaryOp::Ne if least == most && low == least => (low.saturating_add(1), high),
        BinaryOp::Ne if least == most && high == least => (low, high.saturating_sub(1)),
        BinaryOp::Lt => (i64::MIN, most.saturating_sub(1)),
        BinaryOp::Le => (i64::MIN, most),
        BinaryOp::Gt => (least.saturating_add(1), i64::MAX),
        BinaryOp::Ge => (least, i64::MAX),
        _ => return None,
    };
    // Values that are not known stay.
    Some(Abs::Number(Number { known: value.known, values: Values::Between(low, high), kinds: value.kinds }))
}

/// The rest of a value after a pattern that takes `taken`.
pub(super) fn rest(value: &Abs, taken: &Abs) -> Abs {
    match (value, taken) {
        (Abs::Dtype(set), Abs::Dtype(one)) => Abs::Dtype(set.without(*one)),
        (Abs::Text(Text::These(texts)), Abs::Text(Text::These(one))) => {
            let left: Vec<String> = texts.iter().filter(|text| !one.contains(text)).cloned().collect();
            if left.is_empty() { Abs::Never } else { Abs::Text(Text::These(left.into())) }
        }
        (Abs::Truth(truth), Abs::Truth(one)) => {
            Abs::Truth(Truth { yes: truth.yes.without(one.yes), no: truth.no.without(one.no) })
        }
        (Abs::Number(number), Abs::Number(one)) if !number.known.may_not() => match (number.values, one.values) {
            (Values::Between(low, high), Values::Between(a, b)) if a <= low && high <= b => Abs::Never,
            _ => number_constraint(BinaryOp::Ne, number, one).map_or_else(|| value.clone(), |to| narrowed(value, &to)),
        },
        (Abs::Optional(optional), _) => {
            let present = rest(&optional.present, taken);
            Abs::Optional(super::values::Optional { absent: optional.absent, present: Rc::new(present) })
        }
        (Abs::Tensor(tensor), Abs::Tensor(one)) => {
            Abs::Tensor(Tensor { ranks: tensor.ranks.without(one.ranks), ..tensor.clone() })
        }
        _ => value.clone(),
    }
}
