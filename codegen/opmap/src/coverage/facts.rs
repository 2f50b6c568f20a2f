//! What results of `extern fn`s are, by their declarations (`is rank(x)`). A function that declares nothing may return any value of its type.

use std::rc::Rc;

use super::Coverage;
use super::call::{ranks_of_length, vector};
use super::casts::{cast_elements, cast_value};
use super::conditions::dtypes_where;
use super::numbers::computed;
use super::opsets::Opsets;
use super::values::{Abs, Kinds, Known, List, Number, Optional, Ranks, Tensor, Truth, Values};
use crate::returned::Returned;
use crate::types::Ty;
use aten2onnx_schemas::dtypes::DtypeSet;

/// The dtypes of complex numbers, and those of their parts.
const COMPLEX: [(&str, &str); 3] = [("complex64", "float32"), ("complex128", "float64"), ("complex32", "float16")];

impl Coverage<'_> {
    /// The result of an `extern fn`.
    pub(super) fn fact(&self, name: &str, args: &[Abs], ty: &Ty, at: Opsets) -> Abs {
        if args.contains(&Abs::Never) {
            return Abs::Never;
        }
        let Some(returns) = self.program.results.get(name) else { return self.top(ty, at) };
        let args: Vec<Abs> = returns.args.iter().filter_map(|at| args.get(*at).cloned()).collect();
        let fact = self
            .of_tensors(returns.is, &args, at)
            .or_else(|| self.of_dtypes(returns.is, &args, at))
            .or_else(|| of_numbers(returns.is, &args));
        match fact {
            Some(value) => value.fit(ty, self.all, at),
            None => self.top(ty, at),
        }
    }

    fn of_tensors(&self, is: Returned, args: &[Abs], at: Opsets) -> Option<Abs> {
        let first = args.first();
        let tensor = || first.and_then(Abs::tensor);
        Some(match (is, args) {
            (Returned::Rank, _) => {
                let (low, high) = tensor()?.ranks.bounds();
                Abs::Number(Number::between(low, high))
            }
            (Returned::Dtype, _) => Abs::Dtype(tensor()?.dtypes),
            (Returned::Sizes, _) => {
                let (low, high) = tensor()?.ranks.bounds();
                Abs::List(List::between(low, high, size()))
            }
            (Returned::Size, [Abs::Tensor(x), Abs::Number(i)]) if i.integer() == Some(-1) => match size() {
                Abs::Number(size) => Abs::Number(Number { known: x.last, ..size }),
                other => other,
            },
            (Returned::Size, _) => size(),
            (Returned::IsKnown, _) => {
                let known = tensor()?.known;
                Abs::Truth(Truth::may(known.may(), known.may_not(), at))
            }
            (Returned::KnownElements, _) => contents(tensor()?),
            (Returned::Elements, _) => match tensor()?.elements.as_deref() {
                Some(list @ Abs::List(_)) => list.clone(),
                _ => return None,
            },
            (Returned::KnownElement, [Abs::Optional(optional)]) => match optional.present.tensor() {
                None => Abs::Optional(Optional::nothing()),
                Some(tensor) => only_element(tensor, optional.absent),
            },
            (Returned::KnownElement, [Abs::Tensor(tensor)]) => only_element(tensor, false),
            (Returned::Element, _) => match tensor()?.elements.as_deref() {
                Some(number @ Abs::Number(_)) => number.clone(),
                _ => Abs::Number(Number {
                    kinds: Kinds::of_dtypes(tensor()?.dtypes),
                    ..Number::any(tensor()?.known.of_graph(), Kinds::REAL)
                }),
            },
            (Returned::Cast, [Abs::Tensor(x), Abs::Dtype(to)]) => {
                Abs::Tensor(Tensor { dtypes: *to, elements: cast_elements(x, *to), is_given: false, ..x.clone() })
            }
            (Returned::Reshaped, [Abs::Tensor(x), Abs::List(size)]) => Abs::Tensor(Tensor {
                ranks: ranks_of_length(size),
                last: Known::MAYBE,
                elements: None,
                is_given: false,
                ..x.clone()
            }),
            (Returned::Expanded, [Abs::Tensor(x), Abs::List(size)]) => {
                let ranks = x.ranks.broadcast(ranks_of_length(size));
                Abs::Tensor(Tensor { ranks, last: Known::MAYBE, elements: None, is_given: false, ..x.clone() })
            }
            (Returned::Scalar, [value, Abs::Dtype(t)]) => Abs::Tensor(Tensor {
                ranks: Ranks::one(0),
                known: value.known(),
                elements: Some(Rc::new(cast_value(value, *t))),
                ..Tensor::of(*t)
            }),
            (Returned::Vector, [list]) => Abs::Tensor(vector(list.clone(), DtypeSet::one("int64"))),
            (Returned::Vector, [list, Abs::Dtype(t)]) => Abs::Tensor(vector(cast_value(list, *t), *t)),
            (Returned::Filled, [Abs::List(size), value, Abs::Dtype(t)]) => Abs::Tensor(Tensor {
                ranks: ranks_of_length(size),
                known: value.known().or(Known::MAYBE),
                ..Tensor::of(*t)
            }),
            (Returned::Real, [Abs::Tensor(x)]) => {
                let dtypes = self.parts(x.dtypes);
                Abs::Tensor(Tensor { dtypes, elements: cast_elements(x, dtypes), is_given: false, ..x.clone() })
            }
            (Returned::Complex, [Abs::Tensor(x), Abs::Tensor(y)]) => Abs::Tensor(Tensor {
                ranks: x.ranks.broadcast(y.ranks),
                known: x.known.with(y.known),
                ..Tensor::of(self.combined_parts(x.dtypes))
            }),
            (Returned::Parts, [Abs::Tensor(x)]) => {
                let (dtypes, ranks) = (self.parts(x.dtypes), x.ranks.plus(1, 1));
                Abs::Tensor(Tensor { dtypes, ranks, last: Known::YES, elements: None, is_given: false, ..x.clone() })
            }
            (Returned::OfParts, [Abs::Tensor(x)]) => {
                let (dtypes, ranks) = (self.combined_parts(x.dtypes), x.ranks.plus(-1, -1));
                Abs::Tensor(Tensor { dtypes, ranks, last: Known::MAYBE, elements: None, is_given: false, ..x.clone() })
            }
            _ => return None,
        })
    }

    fn of_dtypes(&self, is: Returned, args: &[Abs], at: Opsets) -> Option<Abs> {
        if let (Some(set), [Abs::Dtype(dtypes)]) = (dtypes_where(is), args) {
            return Some(Abs::Truth(Truth::may(dtypes.meets(set), !dtypes.is_within(set), at)));
        }
        Some(match (is, args) {
            (Returned::DefaultDtype, _) => Abs::Dtype(DtypeSet::default_float()),
            (Returned::OnnxType, [Abs::Dtype(set)]) => {
                Abs::Number(Number { known: Known::YES, values: Values::Codes(*set), kinds: Kinds::INT })
            }
            (Returned::Limit, [Abs::Dtype(set)]) => Abs::Number(Number::any(Known::YES, Kinds::of_dtypes(*set))),
            (Returned::RealDtype, [Abs::Dtype(set)]) => Abs::Dtype(self.parts(*set)),
            (Returned::PromotedDtype, [Abs::Dtype(a), Abs::Dtype(b)]) => Abs::Dtype(self.facts.promoted(*a, *b)),
            (Returned::DtypeOfNumber, [Abs::Number(number)]) => Abs::Dtype(number_dtypes(number.kinds)),
            (Returned::CommonDtypeWithNumber, [Abs::Tensor(x), Abs::Number(number)]) => {
                Abs::Dtype(self.facts.combined(x.dtypes, number_dtypes(number.kinds)))
            }
            (Returned::CommonDtype, [Abs::List(list)]) => Abs::Dtype(self.result_type(list)),
            _ => return None,
        })
    }

    /// The common dtypes of tensors, with and without dimensions.
    fn result_type(&self, list: &List) -> DtypeSet {
        let Some(items) = &list.items else {
            let each = list.each.dtypes();
            return self.facts.promoted(each, each).or(each);
        };
        let mut dtypes = items.iter().map(Abs::dtypes);
        let Some(first) = dtypes.next() else { return DtypeSet::NONE };
        dtypes.fold(first, |all, next| {
            let both = self.facts.combined(all, next).or(self.facts.combined(next, all));
            self.facts.promoted(all, next).or(both)
        })
    }

    /// The dtypes of the parts of complex dtypes; others are unchanged.
    pub(super) fn parts(&self, set: DtypeSet) -> DtypeSet {
        let met = COMPLEX.into_iter().filter(|(complex, _)| set.meets(DtypeSet::one(complex)));
        met.fold(set.without(DtypeSet::complex()), |all, (_, part)| all.or(DtypeSet::one(part)))
    }

    /// The complex dtypes with parts of these dtypes.
    fn combined_parts(&self, set: DtypeSet) -> DtypeSet {
        let met = COMPLEX.into_iter().filter(|(_, part)| set.meets(DtypeSet::one(part)));
        met.fold(set.and(DtypeSet::complex()), |all, (complex, _)| all.or(DtypeSet::one(complex)))
    }
}

fn of_numbers(is: Returned, args: &[Abs]) -> Option<Abs> {
    let optional = |known: Known, present: Abs| {
        let present = if known.may() { present } else { Abs::Never };
        Abs::Optional(Optional { absent: known.may_not(), present: Rc::new(present) })
    };
    Some(match (is, args) {
        (Returned::IfKnown, [Abs::Number(n)]) => {
            optional(n.known, Abs::Number(Number { known: Known::YES, ..n.clone() }))
        }
        (Returned::AllIfKnown, [Abs::List(list)]) => {
            let known = args[0].known();
            let present = list.map(|item| match item {
                Abs::Number(n) => Abs::Number(Number { known: Known::YES, ..n.clone() }),
                other => other.clone(),
            });
            optional(known, Abs::List(present))
        }
        (Returned::FloatIfKnown, [Abs::Number(n)]) => {
            let known = if n.kinds.meets(Kinds::COMPLEX) { n.known.or(Known::NO) } else { n.known };
            let values = match n.values {
                Values::Between(low, high) if low == high => Values::Float((low as f64).to_bits()),
                Values::Float(bits) => Values::Float(bits),
                _ => Values::Any,
            };
            optional(known, Abs::Number(Number { known: Known::YES, values, kinds: Kinds::FLOAT }))
        }
        (Returned::Fitted, [Abs::Number(n), Abs::Dtype(t)]) => {
            let values = if t.meets(DtypeSet::int()) && !matches!(n.values, Values::Between(..)) {
                Values::Any
            } else {
                n.values
            };
            Abs::Number(Number { kinds: n.kinds.or(Kinds::of_dtypes(*t)), values, ..n.clone() })
        }
        (Returned::Product, [list @ Abs::List(_)]) => {
            let values = Values::Between(i64::MIN, i64::MAX);
            Abs::Number(Number { known: computed(list.known()), values, kinds: Kinds::INT })
        }
        (Returned::Same, [Abs::Number(n)]) => Abs::Number(n.clone()),
        (Returned::BroadcastSizes, [Abs::List(shapes)]) => {
            let lengths = |shape: &Abs| match shape {
                Abs::List(list) => ranks_of_length(list),
                _ => Ranks::ALL,
            };
            let ranks = match &shapes.items {
                Some(items) => items.iter().map(lengths).reduce(Ranks::broadcast).unwrap_or(Ranks::one(0)),
                None => lengths(&shapes.each),
            };
            let (low, high) = ranks.bounds();
            Abs::List(List::between(low, high, size()))
        }
        _ => return None,
    })
}

/// A size of a tensor.
fn size() -> Abs {
    Abs::Number(Number { known: Known::MAYBE, values: Values::Between(0, i64::MAX), kinds: Kinds::INT })
}

/// The elements of an integer tensor, if they are known.
fn contents(tensor: &Tensor) -> Abs {
    let any = || Abs::List(List::any(Abs::Number(Number::between(i64::MIN, i64::MAX))));
    let (known, list) = match tensor.elements.as_deref() {
        Some(list @ Abs::List(_)) => (list.known(), list.clone()),
        Some(number @ Abs::Number(_)) => (number.known(), Abs::List(List::of(vec![number.clone()]))),
        _ => (Known::MAYBE, any()),
    };
    let list = match list {
        Abs::List(list) => Abs::List(list.map(|item| match item {
            Abs::Number(n) => Abs::Number(Number { known: Known::YES, ..n.clone() }),
            other => other.clone(),
        })),
        other => other,
    };
    let known = match tensor.known.only(true) {
        None => Known::NO,
        Some(_) => known,
    };
    let present = if known.may() { list } else { Abs::Never };
    Abs::Optional(Optional { absent: known.may_not(), present: Rc::new(present) })
}

/// The only element of a tensor, if it is known.
fn only_element(tensor: &Tensor, absent: bool) -> Abs {
    let kinds = Kinds::of_dtypes(tensor.dtypes);
    let number = match tensor.elements.as_deref() {
        Some(Abs::Number(number)) => number.clone(),
        _ => Number { kinds, ..Number::any(Known::MAYBE, Kinds::REAL) },
    };
    let known = number.known;
    let present = if known.may() { Abs::Number(Number { known: Known::YES, ..number }) } else { Abs::Never };
    Abs::Optional(Optional { absent: absent || known.may_not(), present: Rc::new(present) })
}

/// The dtypes of Python numbers.
fn number_dtypes(kinds: Kinds) -> DtypeSet {
    let mut set = DtypeSet::NONE;
    for (kind, dtypes) in [
        (Kinds::BOOL, DtypeSet::one("bool")),
        (Kinds::INT, DtypeSet::one("int64")),
        (Kinds::FLOAT, DtypeSet::default_float()),
        (Kinds::COMPLEX, DtypeSet::complex()),
    ] {
        if kinds.meets(kind) {
            set = set.or(dtypes);
        }
    }
    set
}
