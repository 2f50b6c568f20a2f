//! The names of a rule and what is known of their values on a path.

use super::values::{Abs, List, Number, Optional, Ranks, Tensor, Values};
use crate::tree::Expr;
use crate::types::Ty;
use aten2onnx_schemas::dtypes::DtypeSet;
use std::rc::Rc;

/// Names and values; the last one of a name counts.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope<'a> {
    bindings: Vec<Binding<'a>>,
    /// The number of outputs that were requested of a lowering.
    pub outputs: Option<Abs>,
}

#[derive(Debug, Clone)]
struct Binding<'a> {
    name: &'a str,
    value: Abs,
    /// What it is a fact about.
    origin: Option<ValuePlace>,
    /// Tensors of one group have the same dtype.
    group: Option<usize>,
    /// The expression that it was bound to, if that is a condition.
    condition: Option<&'a Expr>,
}

/// A part of the value of a name, which a condition may say something about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ValuePlace {
    binding: usize,
    part: Part,
}

/// The parts of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// The value itself.
    Whole,
    /// The value of an optional, if it is present.
    Present,
    /// `dtype_of(x)`
    Dtype,
    /// `rank(x)`
    Rank,
    /// `len(xs)`
    Length,
}

impl<'a> Scope<'a> {
    /// Adds a name.
    pub fn bind(&mut self, name: &'a str, value: Abs, origin: Option<ValuePlace>) {
        if name != "_" {
            self.bindings.push(Binding { name, value, origin, group: None, condition: None });
        }
    }

    /// Adds a name that is bound to an expression.
    pub fn bind_to(&mut self, name: &'a str, value: Abs, origin: Option<ValuePlace>, expr: &'a Expr) {
        if name != "_" {
            let condition = (expr.ty == Ty::Bool).then_some(expr);
            self.bindings.push(Binding { name, value, origin, group: None, condition });
        }
    }

    /// The scope without the names that were added to an outer one, of which it keeps what was learnt.
    #[must_use]
    pub fn without_names_after(mut self, outer: &Scope<'a>) -> Scope<'a> {
        self.bindings.truncate(outer.bindings.len());
        self
    }

    /// The condition that a name was bound to, with what is known now of the names before it.
    pub fn condition(&self, name: &str) -> Option<(&'a Expr, Scope<'a>)> {
        let at = self.bindings.iter().rposition(|b| b.name == name)?;
        let condition = self.bindings.get(at)?.condition?;
        let bindings = self.bindings.iter().take(at).cloned().collect();
        Some((condition, Scope { bindings, outputs: self.outputs.clone() }))
    }

    /// Takes over what is known of the first names. False if some name has no value left.
    pub fn learn(&mut self, first: &Scope<'a>) -> bool {
        for (own, other) in self.bindings.iter_mut().zip(&first.bindings) {
            own.value = other.value.clone();
        }
        (0..first.bindings.len()).all(|binding| self.tell_others(ValuePlace { binding, part: Part::Whole }))
    }

    /// Adds tensors that have the same dtype as all others of their group.
    pub fn bind_in_group(&mut self, name: &'a str, value: Abs, group: Option<usize>) {
        self.bindings.push(Binding { name, value, origin: None, group, condition: None });
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&Abs> {
        self.bindings.iter().rev().find(|b| b.name == name).map(|b| &b.value)
    }

    /// The place of a name's value.
    pub fn place(&self, name: &str) -> Option<ValuePlace> {
        let binding = self.bindings.iter().rposition(|b| b.name == name)?;
        Some(ValuePlace { binding, part: Part::Whole })
    }

    /// The place of a part of a value.
    pub fn part(&self, place: ValuePlace, part: Part) -> Option<ValuePlace> {
        match place.part {
            Part::Whole => Some(ValuePlace { part, ..place }),
            // The optional tensor's dtype is that of the tensor.
            Part::Present if matches!(part, Part::Dtype | Part::Rank) => Some(ValuePlace { part, ..place }),
            _ => None,
        }
    }

    /// The value at a place.
    pub fn at(&self, place: ValuePlace) -> Option<Abs> {
        let value = &self.bindings.get(place.binding)?.value;
        Some(match place.part {
            Part::Whole => value.clone(),
            Part::Present => match value {
                Abs::Optional(optional) => (*optional.present).clone(),
                other => other.clone(),
            },
            Part::Dtype => Abs::Dtype(value.tensor()?.dtypes),
            Part::Rank => {
                let (low, high) = value.tensor()?.ranks.bounds();
                Abs::Number(Number::between(low, high))
            }
            Part::Length => match value {
                Abs::List(list) => Abs::Number(Number::between(i64::from(list.least), i64::from(list.most))),
                _ => return None,
            },
        })
    }

    /// Says that the value at a place is also one of `to`. False if there is no such value.
    pub fn narrow(&mut self, place: ValuePlace, to: &Abs) -> bool {
        let Some(binding) = self.bindings.get_mut(place.binding) else { return true };
        let narrowed = match place.part {
            Part::Whole => narrowed(&binding.value, to),
            Part::Present => match &binding.value {
                Abs::Optional(optional) => {
                    let present = narrowed(&optional.present, to);
                    Abs::Optional(Optional { absent: false, present: Rc::new(present) })
                }
                other => narrowed(other, to),
            },
            part => with_tensor_or_list(&binding.value, part, to),
        };
        let dead = is_never(&narrowed);
        binding.value = narrowed.clone();
        let origin = binding.origin;
        if dead {
            return false;
        }
        if let (Some(origin), Part::Whole) = (origin, place.part)
            && !self.narrow(origin, &narrowed)
        {
            return false;
        }
        self.tell_group(place) && self.tell_others(place)
    }

    /// Narrows the dtypes of the other tensors of a group.
    fn tell_group(&mut self, place: ValuePlace) -> bool {
        let Some((group, dtypes)) = self.bindings.get(place.binding).and_then(|b| Some((b.group?, b.value.dtypes())))
        else {
            return true;
        };
        if dtypes.is_empty() {
            // An optional tensor that is absent.
            return true;
        }
        let to = Abs::Dtype(dtypes);
        let mut alive = true;
        for (i, binding) in self.bindings.iter_mut().enumerate() {
            if i != place.binding && binding.group == Some(group) {
                binding.value = with_tensor_or_list(&binding.value, Part::Dtype, &to);
                alive &= !is_never(&binding.value);
            }
        }
        alive
    }

    /// Narrows the names that are facts about the same value.
    fn tell_others(&mut self, place: ValuePlace) -> bool {
        for i in 0..self.bindings.len() {
            let Some(origin) = self.bindings.get(i).and_then(|b| b.origin) else { continue };
            if origin.binding != place.binding || i == place.binding {
                continue;
            }
            let Some(fact) = self.at(origin) else { continue };
            let Some(binding) = self.bindings.get_mut(i) else { continue };
            binding.value = narrowed(&binding.value, &fact);
            if is_never(&binding.value) {
                return false;
            }
        }
        true
    }

    /// Sets whether the elements of a tensor at a place are known. False if that cannot be.
    pub fn know(&mut self, place: ValuePlace, known: bool) -> bool {
        let Some(binding) = self.bindings.get_mut(place.binding) else { return true };
        let set =
            |tensor: &Tensor| tensor.known.only(known).map(|k| Abs::Tensor(Tensor { known: k, ..tensor.clone() }));
        let value = match (&binding.value, place.part) {
            (Abs::Tensor(tensor), Part::Whole) => set(tensor),
            (Abs::Optional(o), Part::Present) => o
                .present
                .tensor()
                .map(set)
                .unwrap_or(Some(Abs::Never))
                .map(|value| Abs::Optional(Optional { absent: o.absent, present: Rc::new(value) })),
            _ => return true,
        };
        match value {
            Some(value) => {
                binding.value = value;
                true
            }
            None => false,
        }
    }

    /// Either of both: scopes of two branches.
    #[must_use]
    pub fn or(mut self, other: &Scope<'a>) -> Scope<'a> {
        let length = self.bindings.len().min(other.bindings.len());
        self.bindings.truncate(length);
        for (own, other) in self.bindings.iter_mut().zip(&other.bindings) {
            own.value = own.value.or(&other.value);
        }
        self
    }
}

/// Whether no value is left.
fn is_never(value: &Abs) -> bool {
    match value {
        Abs::Never => true,
        Abs::Dtype(set) => set.is_empty(),
        Abs::Tensor(tensor) => tensor.dtypes.is_empty() || tensor.ranks.is_empty(),
        Abs::Optional(optional) => !optional.absent && is_never(&optional.present),
        Abs::Truth(truth) => truth.yes.is_empty() && truth.no.is_empty(),
        _ => false,
    }
}

/// The values that are in both.
pub(super) fn narrowed(value: &Abs, to: &Abs) -> Abs {
    match (value, to) {
        (_, Abs::Never) => Abs::Never,
        (Abs::Any, to) => to.clone(),
        (Abs::Dtype(a), Abs::Dtype(b)) => Abs::Dtype(a.and(*b)),
        (Abs::Number(a), Abs::Number(b)) => narrowed_number(a, b),
        (Abs::Truth(a), Abs::Truth(b)) => {
            Abs::Truth(super::values::Truth { yes: a.yes.and(b.yes), no: a.no.and(b.no) })
        }
        (Abs::Text(super::values::Text::Any), Abs::Text(b)) => Abs::Text(b.clone()),
        (Abs::Text(super::values::Text::These(a)), Abs::Text(super::values::Text::These(b))) => {
            let both: Vec<String> = a.iter().filter(|text| b.contains(text)).cloned().collect();
            if both.is_empty() { Abs::Never } else { Abs::Text(super::values::Text::These(both.into())) }
        }
        (Abs::Optional(a), Abs::Optional(b)) => {
            let present = narrowed(&a.present, &b.present);
            Abs::Optional(Optional { absent: a.absent && b.absent, present: Rc::new(present) })
        }
        // A number compared with an optional one is present.
        (Abs::Optional(a), b) => Abs::Optional(Optional { absent: false, present: Rc::new(narrowed(&a.present, b)) }),
        (Abs::Tensor(a), Abs::Tensor(b)) => {
            Abs::Tensor(Tensor { dtypes: a.dtypes.and(b.dtypes), ranks: a.ranks.and(b.ranks), ..a.clone() })
        }
        _ => value.clone(),
    }
}

fn narrowed_number(a: &Number, b: &Number) -> Abs {
    // Equal to a known number: it is known.
    let known = if b.known.may_not() { a.known } else { super::values::Known::YES };
    if known.may() && !a.known.may() {
        return Abs::Never;
    }
    let values = match (a.values, b.values) {
        (Values::Between(low, high), Values::Between(least, most)) => {
            if low.max(least) > high.min(most) {
                return Abs::Never;
            }
            Values::Between(low.max(least), high.min(most))
        }
        (Values::Codes(x), Values::Codes(y)) if !x.meets(y) => return Abs::Never,
        (Values::Codes(x), Values::Codes(y)) => Values::Codes(x.and(y)),
        (Values::Any, other) => other,
        (own, _) => own,
    };
    Abs::Number(Number { known, values, kinds: a.kinds })
}

fn with_tensor_or_list(value: &Abs, part: Part, to: &Abs) -> Abs {
    match (value, part, to) {
        (Abs::Optional(o), _, _) => {
            Abs::Optional(Optional { absent: o.absent, present: Rc::new(with_tensor_or_list(&o.present, part, to)) })
        }
        (Abs::Tensor(tensor), Part::Dtype, Abs::Dtype(set)) => {
            let dtypes: DtypeSet = tensor.dtypes.and(*set);
            if dtypes.is_empty() { Abs::Never } else { Abs::Tensor(Tensor { dtypes, ..tensor.clone() }) }
        }
        (Abs::Tensor(tensor), Part::Rank, Abs::Number(number)) => {
            let (low, high) = number.bounds();
            let ranks = tensor.ranks.and(Ranks::between(low, high));
            if ranks.is_empty() { Abs::Never } else { Abs::Tensor(Tensor { ranks, ..tensor.clone() }) }
        }
        (Abs::List(list), Part::Length, Abs::Number(number)) => {
            let (low, high) = number.bounds();
            let (least, most) = (i64::from(list.least).max(low), i64::from(list.most).min(high));
            if least > most {
                return Abs::Never;
            }
            match &list.items {
                Some(_) => value.clone(),
                None => Abs::List(List { ..list.with_length(least, most) }),
            }
        }
        _ => value.clone(),
    }
}
