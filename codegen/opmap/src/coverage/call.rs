//! A call of an ONNX operator with what is known of its arguments.

use std::rc::Rc;

use super::Coverage;
use super::opsets::Opsets;
use super::scope::Scope;
use super::values::{Abs, List, Ranks, Tensor};
use super::walk::converted;
use crate::source::Span;
use crate::tree::{Expr, Input};
use crate::types::Ty;
use aten2onnx_schemas::dtypes::DtypeSet;
use aten2onnx_schemas::onnx::{Port, PortOption, Version};

/// A call of an operator.
pub(super) struct AbstractCall<'a> {
    /// The operator.
    pub op: &'a str,
    /// The opset whose form the call has.
    pub form: u32,
    /// Where it is written.
    pub site: Span,
    /// The place that [`super::said`] knows it by; 0 if no rule names it.
    pub place: usize,
    /// The outputs that are bound.
    pub bound: Bound,
    /// The values of the inputs, in order.
    pub inputs: Vec<Given>,
    /// The values of the attributes that are given.
    pub attrs: Vec<(&'a str, Abs)>,
    /// The number of outputs that are requested.
    pub outputs: Abs,
}

/// The outputs of a call that are bound.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bound {
    /// One value.
    One,
    /// A tuple of this length.
    Tuple(usize),
    /// A list.
    List,
}

/// The argument for an input.
#[derive(Debug, Clone)]
pub(super) enum Given {
    /// A tensor that is there.
    Tensor(Tensor),
    /// A tensor that may be absent.
    Optional(Tensor),
    /// Nothing.
    Absent,
    /// The rest of a variadic input.
    Spread(List),
}

impl Given {
    pub(super) fn tensor(&self) -> Option<&Tensor> {
        match self {
            Given::Tensor(tensor) | Given::Optional(tensor) => Some(tensor),
            Given::Absent | Given::Spread(_) => None,
        }
    }

    /// The dtypes of the tensors.
    pub(super) fn dtypes(&self) -> DtypeSet {
        match self {
            Given::Tensor(tensor) | Given::Optional(tensor) => tensor.dtypes,
            Given::Spread(list) => list.each.dtypes(),
            Given::Absent => DtypeSet::NONE,
        }
    }

    /// With other dtypes.
    pub(super) fn map_dtypes(&self, f: &dyn Fn(DtypeSet) -> DtypeSet) -> Given {
        let with = |tensor: &Tensor| Tensor { dtypes: f(tensor.dtypes), ..tensor.clone() };
        match self {
            Given::Tensor(tensor) => Given::Tensor(with(tensor)),
            Given::Optional(tensor) => Given::Optional(with(tensor)),
            Given::Absent => Given::Absent,
            Given::Spread(list) => Given::Spread(list.map(|item| match item {
                Abs::Tensor(tensor) => Abs::Tensor(with(tensor)),
                other => other.clone(),
            })),
        }
    }
}

impl<'a> Coverage<'a> {
    pub(super) fn input(&mut self, input: &'a Input, scope: &Scope<'a>, at: &mut Opsets) -> Given {
        let mut value = |this: &mut Self, e: &'a Expr| {
            let seen = this.expr(e, scope, *at);
            *at = seen.at;
            seen.value
        };
        match input {
            Input::Absent => Given::Absent,
            Input::Tensor(e) | Input::Optional(e) => match value(self, e) {
                Abs::Tensor(tensor) => Given::Tensor(tensor),
                Abs::Optional(optional) => match (&*optional.present, optional.absent) {
                    (Abs::Tensor(tensor), true) => Given::Optional(tensor.clone()),
                    (Abs::Tensor(tensor), false) => Given::Tensor(tensor.clone()),
                    (Abs::Never, _) => Given::Absent,
                    _ => Given::Optional(Tensor::of(self.all)),
                },
                Abs::Never => Given::Absent,
                _ => Given::Tensor(Tensor::of(self.all)),
            },
            // Its dtype follows from the other inputs: `fill_numbers`.
            Input::Number(e) | Input::OptionalNumber(e) => {
                let value = value(self, e);
                let may_be_absent = matches!(&value, Abs::Optional(optional) if optional.absent);
                let number = match value {
                    Abs::Optional(optional) => (*optional.present).clone(),
                    other => converted(other, &Ty::Scalar),
                };
                if number == Abs::Never {
                    return Given::Absent;
                }
                let known = number.known();
                let tensor = Tensor {
                    ranks: Ranks::one(0),
                    known,
                    elements: Some(Rc::new(number)),
                    ..Tensor::of(DtypeSet::NONE)
                };
                if may_be_absent { Given::Optional(tensor) } else { Given::Tensor(tensor) }
            }
            Input::Ints(e) => Given::Tensor(vector(value(self, e), DtypeSet::one("int64"))),
            Input::Floats(e) => Given::Tensor(vector(value(self, e), DtypeSet::one("float32"))),
            Input::Spread(e) => match value(self, e) {
                Abs::List(list) => Given::Spread(list),
                _ => Given::Spread(List::any(Abs::Tensor(Tensor::of(self.all)))),
            },
        }
    }
}

impl AbstractCall<'_> {
    /// The value of an attribute that is given.
    pub fn attr(&self, name: &str) -> Option<&Abs> {
        self.attrs.iter().find(|a| a.0 == name).map(|a| &a.1)
    }

    /// The tensor of an input.
    pub fn tensor(&self, i: usize) -> Option<&Tensor> {
        self.inputs.get(i).and_then(Given::tensor)
    }
}

impl<'a> AbstractCall<'a> {
    pub(super) fn with_inputs(&self, inputs: Vec<Given>) -> AbstractCall<'a> {
        AbstractCall { inputs, attrs: self.attrs.clone(), outputs: self.outputs.clone(), ..*self }
    }
}

impl AbstractCall<'_> {
    /// The call with other dtypes of its tensors.
    pub(super) fn map_dtypes(&self, f: impl Fn(DtypeSet) -> DtypeSet) -> Self {
        self.with_inputs(self.inputs.iter().map(|given| given.map_dtypes(&f)).collect())
    }
}

/// The port of the input or output `i`; the last one may be variadic.
pub(super) fn port_at(ports: &[Port], i: usize) -> Option<&Port> {
    ports.get(i).or_else(|| ports.last().filter(|port| matches!(port.option, PortOption::Variadic(_))))
}

/// A one-dimensional tensor of numbers.
pub(super) fn vector(list: Abs, dtypes: DtypeSet) -> Tensor {
    let known = list.known();
    Tensor { ranks: Ranks::one(1), known, elements: Some(Rc::new(list)), ..Tensor::of(dtypes) }
}

/// The ranks that shapes of these lengths have.
pub(super) fn ranks_of_length(list: &List) -> Ranks {
    Ranks::between(i64::from(list.least), i64::from(list.most))
}

/// The dtypes of numbers in place of tensors.
pub(super) fn fill_numbers(call: &mut AbstractCall<'_>, version: &Version, numbers: &[usize]) {
    for i in numbers {
        let Some(port) = port_at(&version.inputs, *i) else { continue };
        let allowed = port.dtypes;
        let mut same = DtypeSet::NONE;
        for (j, given) in call.inputs.iter().enumerate() {
            if !numbers.contains(&j) && port_at(&version.inputs, j).is_some_and(|other| other.ty == port.ty) {
                same = same.or(given.dtypes());
            }
        }
        let first = call.inputs.iter().filter_map(Given::tensor).map(|t| t.dtypes).find(|set| !set.is_empty());
        let dtypes = match (same.is_empty(), allowed.len()) {
            (false, _) => same,
            (true, 1) => allowed,
            (true, _) => match first.map(|set| set.and(allowed)).filter(|set| !set.is_empty()) {
                Some(set) => set,
                None => allowed.and(DtypeSet::one("int64")),
            },
        };
        if let Some(Given::Tensor(tensor) | Given::Optional(tensor)) = call.inputs.get_mut(*i) {
            tensor.dtypes = dtypes;
        }
    }
}
