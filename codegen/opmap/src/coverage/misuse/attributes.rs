//! Values of attributes: they are known during the export, and those that `operators.toml` lists. `check` looks at what is written in the
//! call; here are values that come to it by names and through helpers.

use super::super::Coverage;
use super::super::call::AbstractCall;
use super::super::opsets::Opsets;
use super::super::values::{Abs, Known, Text};
use super::{Case, are_apart, range_text};
use crate::diagnostic::Diagnostic;
use aten2onnx_schemas::operators::Values;

impl<'a> Coverage<'a> {
    pub(super) fn check_attributes(&self, case: &mut Case<'_, 'a>) {
        for (name, value) in &case.call.attrs {
            if let Some(diagnostic) = unknown(case, name, value) {
                case.found.push(diagnostic);
            }
            let values = self.schemas.operators.get(case.call.op).and_then(|entry| entry.values.get(*name));
            if let Some(diagnostic) = values.and_then(|values| outside(case, name, value, values)) {
                case.found.push(diagnostic);
            }
        }
    }

    /// Notes that a call is refused if a number that was given for an attribute is not known.
    pub(super) fn note_unknown_attributes(&mut self, call: &AbstractCall<'a>, at: Opsets) {
        for (name, value) in &call.attrs {
            if numbers_known(value).is_some_and(Known::may_not) {
                self.failed(&format!("`{name}` of `{}` must be known during the export", call.op), false, at);
            }
        }
    }
}

/// Whether numbers are known. None for other values.
fn numbers_known(value: &Abs) -> Option<Known> {
    match value {
        Abs::Number(number) => Some(number.known),
        Abs::Optional(optional) => numbers_known(&optional.present),
        Abs::List(list) => numbers_known(&list.each),
        Abs::Tensor(tensor) if tensor.known.may_be_of_graph() => Some(tensor.known),
        _ => None,
    }
}

/// A value that nodes compute.
fn unknown(case: &Case<'_, '_>, name: &str, value: &Abs) -> Option<Diagnostic> {
    numbers_known(value).filter(|known| known.may_be_of_graph())?;
    let text = format!("`{name}` of `{}` must be known during the export", case.call.op);
    let diagnostic = Diagnostic::new("E0313", case.place_of_attribute(name), text).label("the graph computes it");
    let help = match value.tensor() {
        Some(_) => "give a constant: `constant([0], float32)`",
        None => "write `known_float(x) ?? fail \"why\"`, or express the call with operators that take it as a tensor",
    };
    Some(diagnostic.help(help))
}

/// A value that an attribute cannot have.
fn outside(case: &Case<'_, '_>, name: &str, value: &Abs, values: &Values) -> Option<Diagnostic> {
    let op = case.call.op;
    let wrong = |text: String, label: &str| Diagnostic::new("E0310", case.place_of_attribute(name), text).label(label);
    match (value, values) {
        (Abs::Optional(optional), _) => outside(case, name, &optional.present, values),
        (Abs::List(list), _) => outside(case, name, &list.each, values).filter(|_| list.least > 0),
        (Abs::Text(Text::These(texts)), Values::Words(words)) => {
            let text = texts.iter().find(|text| !words.contains(text))?;
            let known = words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
            let diagnostic = wrong(format!("`{name}` of `{op}` is never \"{text}\""), "it may be that here");
            Some(diagnostic.note(format!("its values: {known}")).help("give one of its values"))
        }
        (Abs::Number(number), Values::Integers(limits)) => {
            let bounds = number.bounds();
            if number.known.may_not() || !are_apart(bounds, (limits.first, limits.last)) {
                return None;
            }
            let text = format!("`{name}` of `{op}` is {limits}, not {}", range_text(bounds));
            Some(wrong(text, "out of range").help("give a number in this range"))
        }
        _ => None,
    }
}
