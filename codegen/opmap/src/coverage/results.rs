//! The results of a call of an ONNX operator: their dtypes by its schema, and other facts for some operators.

use super::Coverage;
use super::call::{AbstractCall, Bound, Given, port_at};
use super::ranks::output_ranks;
use super::values::{Abs, Known, List, Number, Ranks, Tensor, Values};
use aten2onnx_operators::{Linear, Shape};
use aten2onnx_schemas::dtypes::DtypeSet;
use aten2onnx_schemas::onnx::{AttrValue, Port, Version};

impl<'a> Coverage<'a> {
    /// The results of a call by the schema of its form.
    pub(super) fn results(&mut self, call: &AbstractCall<'a>, version: &Version) -> Abs {
        let facts = self.schemas.operators.facts(call.op);
        let ranks = output_ranks(call, facts.shape);
        let one = |this: &Self, i: usize| {
            let port = port_at(&version.outputs, i);
            let dtypes = port.map_or(this.all, |port| this.output_dtypes(call, version, port));
            Abs::Tensor(Tensor {
                ranks,
                known: output_known(call),
                last: output_last(call, facts.shape),
                ..Tensor::of(dtypes)
            })
        };
        match call.bound {
            Bound::One => one(self, 0),
            Bound::Tuple(count) => {
                // Only the first output has the ranks that are computed.
                let parts: Vec<Abs> = (0..count)
                    .map(|i| match one(self, i) {
                        Abs::Tensor(tensor) if i > 0 => {
                            Abs::Tensor(Tensor { ranks: Ranks::ALL, last: Known::MAYBE, ..tensor })
                        }
                        other => other,
                    })
                    .collect();
                Abs::Tuple(parts.into())
            }
            _ => {
                let each = match one(self, 0) {
                    Abs::Tensor(tensor) => Abs::Tensor(Tensor { ranks: Ranks::ALL, last: Known::MAYBE, ..tensor }),
                    other => other,
                };
                let (low, high) = match &call.outputs {
                    Abs::Number(number) => number.bounds(),
                    _ => (0, i64::MAX),
                };
                Abs::List(List::between(low, high, each))
            }
        }
    }

    /// The dtypes that an output may have.
    pub(super) fn output_dtypes(&self, call: &AbstractCall<'a>, version: &Version, port: &Port) -> DtypeSet {
        let allowed = port.dtypes;
        if port.is_heterogeneous() {
            return self.all;
        }
        if allowed.len() == 1 {
            return allowed;
        }
        let mut bound: Option<DtypeSet> = None;
        for (i, given) in call.inputs.iter().enumerate() {
            let Some(input) = port_at(&version.inputs, i).filter(|input| input.ty == port.ty) else { continue };
            let dtypes = given.dtypes();
            if dtypes.is_empty() || !input.homogeneous {
                continue;
            }
            bound = Some(match bound {
                Some(before) if before.meets(dtypes) => before.and(dtypes),
                Some(before) => before.or(dtypes),
                None => dtypes,
            });
        }
        if let Some(bound) = bound {
            // Of a complex number, what is not linear may be a real one, such as the absolute value.
            let is_linear = self.schemas.operators.facts(call.op).linear != Linear::No;
            return if is_linear { bound } else { bound.or(self.parts(bound)) };
        }
        // The names of attributes that state a dtype, in ONNX's schemas.
        let stated = ["to", "dtype", "output_dtype", "output_datatype"].into_iter().find_map(|name| {
            match (call.attr(name), version.attribute(name)?.default.as_ref()) {
                (Some(value), _) => code_dtypes(value, allowed),
                (None, Some(AttrValue::Int(code))) => code_dtypes(&Abs::Number(Number::between(*code, *code)), allowed),
                (None, _) => None,
            }
        });
        let by_value = || call.attr("value").map(Abs::dtypes).filter(|set| !set.is_empty());
        let by_like = || call.inputs.first().map(Given::dtypes).filter(|_| call.op.ends_with("Like"));
        match stated.or_else(by_value).or_else(by_like) {
            Some(set) => set,
            None if version.attribute("value").is_some() && call.attr("value").is_none() => DtypeSet::one("float32"),
            None => allowed.and(self.all),
        }
    }
}

/// Whether results are known during the export: never if an input is not.
fn output_known(call: &AbstractCall<'_>) -> Known {
    let all = call.inputs.iter().filter_map(Given::tensor).fold(Known::YES, |all, tensor| all.with(tensor.known));
    // What is known is not always computed.
    if all.may_not() { Known::MAYBE.of_graph() } else { Known::MAYBE }
}

/// Whether the size of the last dimension of the first result is known.
fn output_last(call: &AbstractCall<'_>, shape: Shape) -> Known {
    match shape {
        Shape::Cast | Shape::Identity => call.tensor(0).map_or(Known::MAYBE, |x| x.last),
        Shape::Unsqueeze => {
            // A new last dimension has the size 1.
            let at = call.tensor(1).and_then(|axes| only_number(axes.elements.as_deref()?));
            let rank = call.tensor(0).and_then(|x| x.ranks.only());
            if at == Some(-1) || (at.is_some() && at == rank) { Known::YES } else { Known::MAYBE }
        }
        Shape::Gather => {
            let axis = call.attr("axis").and_then(|axis| if let Abs::Number(n) = axis { n.integer() } else { None });
            match (call.tensor(0), axis.unwrap_or(0)) {
                (Some(x), axis) if axis >= 0 && x.ranks.bounds().0 > axis + 1 => x.last,
                _ => Known::MAYBE,
            }
        }
        Shape::Broadcast | Shape::BroadcastToFirst => {
            // A tensor without dimensions does not change it.
            let last = |x: &Tensor| if x.ranks == Ranks::one(0) { Known::YES } else { x.last };
            call.inputs.iter().filter_map(Given::tensor).map(last).fold(Known::YES, Known::with)
        }
        _ => Known::MAYBE,
    }
}

/// The number in a list of one known number.
fn only_number(list: &Abs) -> Option<i64> {
    let Abs::List(list) = list else { return None };
    match list.items.as_deref()? {
        [Abs::Number(number)] => number.integer(),
        _ => None,
    }
}

/// The dtypes for numbers of ONNX's dtypes.
pub(super) fn code_dtypes(value: &Abs, allowed: DtypeSet) -> Option<DtypeSet> {
    match value {
        Abs::Number(Number { values: Values::Codes(set), .. }) => Some(*set),
        Abs::Number(number) => match number.integer() {
            // An absent dtype is 0.
            Some(0) => None,
            Some(code) => Some(DtypeSet::of_code(code)),
            None => Some(allowed),
        },
        Abs::Optional(optional) if optional.may_be_present() => code_dtypes(&optional.present, allowed),
        _ => None,
    }
}
