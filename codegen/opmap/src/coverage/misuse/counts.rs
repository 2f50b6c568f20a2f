//! Numbers of inputs and of outputs.

use super::super::call::{AbstractCall, Bound, Given};
use super::super::values::Abs;
use super::{Case, are_apart, length, range_text};
use crate::diagnostic::Diagnostic;
use aten2onnx_operators::Shape;
use aten2onnx_schemas::onnx::PortOption;

impl Case<'_, '_> {
    pub(super) fn check_counts(&mut self, shape: Shape) {
        self.check_outputs();
        self.check_variadic();
        match shape {
            Shape::Split => self.check_parts(),
            Shape::Constant => self.check_constant(),
            _ => {}
        }
    }

    fn check_outputs(&mut self) {
        let (_, most) = requested(self.call);
        let least = i64::from(self.version.min_outputs.max(1));
        if most >= least {
            return;
        }
        let text = format!("`{}` has at least {}, but {most} are requested", self.call.op, counted(least, "output"));
        let diagnostic = Diagnostic::new("E0314", self.call.site, text).label("too few outputs");
        self.report(diagnostic.help("request as many as the operator gives; leave out the call if none is needed"));
    }

    /// A variadic input with fewer elements than the operator takes.
    fn check_variadic(&mut self) {
        let Some(at) = self.version.inputs.len().checked_sub(1) else { return };
        let Some(port) = self.version.inputs.get(at) else { return };
        let PortOption::Variadic(least) = port.option else { return };
        let counts = self.call.inputs.iter().skip(at).map(|given| match given {
            Given::Tensor(_) | Given::Optional(_) => 1,
            Given::Absent => 0,
            Given::Spread(list) => i64::from(list.most),
        });
        let most = counts.fold(0, i64::saturating_add);
        if most >= i64::from(least) || self.call.inputs.len() <= at {
            return;
        }
        let (op, name) = (self.call.op, &port.name);
        let text =
            format!("`{op}` needs at least {} for `{name}`, but gets {most}", counted(i64::from(least), "tensor"));
        let diagnostic = Diagnostic::new("E0314", self.place_of(at), text).label("too few tensors");
        self.report(diagnostic.help("give it one at least: refuse an empty list with `fail`, or write what it means"));
    }

    /// The parts of a tensor: their number is stated by the outputs, and by an attribute or an input.
    fn check_parts(&mut self) {
        let requested = requested(self.call);
        let stated = self.number_attribute("num_outputs").map(super::Number::bounds);
        if let Some(stated) = stated.filter(|stated| are_apart(*stated, requested)) {
            let (parts, outputs) = (range_text(stated), range_text(requested));
            let text = format!("`num_outputs` of `{}` is {parts}, but {outputs} are requested", self.call.op);
            let place = self.place_of_attribute("num_outputs");
            let diagnostic = Diagnostic::new("E0314", place, text).label("another number of outputs");
            self.report(diagnostic.help("`num_outputs_i` and `outputs` must be the same number"));
        }
        let sizes = self.elements(1).map(length);
        if let Some(sizes) = sizes.filter(|sizes| are_apart(*sizes, requested)) {
            let (parts, outputs) = (range_text(sizes), range_text(requested));
            let text = format!(
                "`{}` of `{}` has {parts} sizes, but {outputs} outputs are requested",
                self.name_of(1),
                self.call.op
            );
            let diagnostic = Diagnostic::new("E0314", self.place_of(1), text).label("another number of parts");
            self.report(diagnostic.help("give as many sizes as outputs"));
        }
        if stated.is_some() && self.tensor(1).is_some() {
            let text = format!("`{}` has both `num_outputs` and `{}`", self.call.op, self.name_of(1));
            let place = self.place_of_attribute("num_outputs");
            let diagnostic = Diagnostic::new("E0314", place, text).label("one of both is allowed");
            self.report(diagnostic.help("leave out one of them"));
        }
    }

    /// A constant has one value.
    fn check_constant(&mut self) {
        let is_given = |value: &Abs| !matches!(value, Abs::Optional(optional) if optional.absent);
        let given: Vec<&str> = self.call.attrs.iter().filter(|attr| is_given(&attr.1)).map(|attr| attr.0).collect();
        let text = match (given.as_slice(), self.call.attrs.is_empty()) {
            ([_, .., second], _) => {
                let place = self.place_of_attribute(second);
                let text = format!("`{}` has {} values", self.call.op, given.len());
                Diagnostic::new("E0314", place, text).label("one is allowed")
            }
            ([], true) => {
                let text = format!("`{}` has no value", self.call.op);
                Diagnostic::new("E0314", self.call.site, text).label("one is needed")
            }
            _ => return,
        };
        self.report(text.help("give one attribute: `value_t = ..`, `value_float_f = ..`"));
    }
}

/// The bounds of the number of outputs that a call requests.
pub(in crate::coverage) fn requested(call: &AbstractCall<'_>) -> (i64, i64) {
    let tuple = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    match (call.bound, &call.outputs) {
        (Bound::One, _) => (1, 1),
        (Bound::Tuple(count), _) => (tuple(count), tuple(count)),
        (Bound::List, Abs::Number(number)) => number.bounds(),
        (Bound::List, _) => (0, i64::MAX),
    }
}

fn counted(count: i64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
