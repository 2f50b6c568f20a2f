//! Dtypes of inputs and outputs against the types that the operator takes and gives, and against one another.

use super::super::Coverage;
use super::super::call::{AbstractCall, Given, port_at};
use super::super::results::code_dtypes;
use super::super::values::{Abs, Number};
use super::Case;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::tree::{Expr, Kind, Lower, Stated};
use aten2onnx_operators::Function;
use aten2onnx_schemas::dtypes::DtypeSet;
use aten2onnx_schemas::onnx::{Port, Version};

/// More dtypes than this are not listed.
const MOST_NAMES: usize = 6;

/// Attributes that state the dtype of the result.
const STATED: [&str; 4] = ["to", "dtype", "output_dtype", "output_datatype"];

impl<'a> Coverage<'a> {
    pub(super) fn check_dtypes(&mut self, case: &mut Case<'_, 'a>) {
        for input in 0..case.call.inputs.len() {
            self.check_input(case, input);
        }
        self.check_variables(case);
        self.check_output_code(case);
        self.check_remainder(case);
    }

    /// An input of which no dtype is taken by any version, as it is or cast.
    fn check_input(&self, case: &mut Case<'_, 'a>, input: usize) {
        let Some(port) = port_at(&case.version.inputs, input).filter(|port| !port.is_heterogeneous()) else {
            return;
        };
        for dtypes in self.certain_dtypes(case.call.inputs.get(input)) {
            let is_taken = dtypes.is_empty() || self.takes(case, input, dtypes);
            if is_taken {
                continue;
            }
            let allowed = port.dtypes;
            let text = format!("`{}` of `{}` does not take {}", port.name, case.call.op, names(dtypes, "or"));
            let diagnostic = Diagnostic::new("E0311", case.place_of(input), text).label(names(dtypes, "or"));
            let fact = format!("`{}` of {} is {}", port.name, case.versioned(), names(allowed, "or"));
            let to = allowed.names().next().unwrap_or("float32");
            let help = format!("cast it to a dtype that it takes: `cast(x, {to})`");
            return case.report(diagnostic.note(fact).help(help));
        }
    }

    /// The dtypes of the tensors that are certainly among what is given for an input.
    fn certain_dtypes(&self, given: Option<&Given>) -> Vec<DtypeSet> {
        let sets = match given {
            Some(Given::Tensor(tensor) | Given::Optional(tensor)) => vec![tensor.dtypes],
            Some(Given::Spread(list)) => match &list.items {
                Some(items) => items.iter().map(Abs::dtypes).collect(),
                // Of an empty list there is another error.
                None => vec![list.each.dtypes()],
            },
            _ => Vec::new(),
        };
        sets.into_iter().map(|set| self.parts(set)).collect()
    }

    /// Whether the version of the call, or a newer one, takes one of the dtypes. Operators of other domains are not given casts.
    fn takes(&self, case: &Case<'_, 'a>, input: usize, dtypes: DtypeSet) -> bool {
        let op = case.call.op;
        let is_cast = op != "Cast" && !op.contains("::");
        let takes = |version: &Version| {
            let Some(port) = port_at(&version.inputs, input) else { return false };
            let allowed = port.dtypes;
            let wider = || dtypes.indices().any(|index| self.facts.wider_of(index).meets(allowed));
            allowed.is_empty() || dtypes.meets(allowed) || (is_cast && wider())
        };
        takes(case.version) || self.schemas.onnx.versions(op).iter().filter(|v| v.since > case.version.since).any(takes)
    }

    /// Inputs of one type variable that have no dtype in common.
    fn check_variables(&mut self, case: &mut Case<'_, 'a>) {
        for variable in &case.version.types {
            let mut seen: Option<(usize, DtypeSet)> = None;
            for (input, given) in case.call.inputs.iter().enumerate() {
                let is_of_it = |port: &&Port| port.ty == variable.name && port.homogeneous;
                let port = port_at(&case.version.inputs, input).filter(is_of_it);
                if port.is_none() || case.numbers.contains(&input) {
                    continue;
                }
                for dtypes in self.certain_dtypes(Some(given)).into_iter().filter(|set| !set.is_empty()) {
                    match seen {
                        None => seen = Some((input, dtypes)),
                        Some((_, other)) if other.meets(dtypes) => {
                            // Sets of several dtypes mostly follow from one another.
                            self.frame.may_differ |= other != dtypes && (other.len() == 1 || dtypes.len() == 1);
                        }
                        Some((first, other)) => {
                            return case.report(differing(case, (first, other), (input, dtypes), &variable.name));
                        }
                    }
                }
            }
        }
    }

    /// A dtype that an attribute states and that no version gives.
    fn check_output_code(&self, case: &mut Case<'_, 'a>) {
        let Some(port) = case.version.outputs.first() else { return };
        if case.version.inputs.iter().any(|input| input.ty == port.ty) {
            return;
        }
        let Some(name) = STATED.into_iter().find(|name| case.call.attr(name).is_some()) else { return };
        let Some(stated) = case.call.attr(name).and_then(|value| code_dtypes(value, DtypeSet::ALL)) else { return };
        let stated = self.parts(stated);
        let allowed_in = |version: &Version| {
            let port = version.outputs.first();
            port.map_or(DtypeSet::ALL, |port| port.dtypes)
        };
        let newer = self.schemas.onnx.versions(case.call.op).iter().filter(|v| v.since >= case.version.since);
        let allowed = newer.map(allowed_in).fold(DtypeSet::NONE, DtypeSet::or);
        if stated.is_empty() || allowed.is_empty() || stated.meets(allowed) {
            return;
        }
        let text = format!("`{}` does not give {}", case.call.op, names(stated, "or"));
        let diagnostic = Diagnostic::new("E0311", case.place_of_attribute(name), text).label(names(stated, "or"));
        let fact = format!("`{}` of {} is {}", port.name, case.versioned(), names(allowed, "or"));
        case.report(diagnostic.note(fact).help("state a dtype that it gives, and cast the result"));
    }

    /// The remainder of floats exists with the sign of the dividend alone.
    fn check_remainder(&self, case: &mut Case<'_, 'a>) {
        let is_remainder = self.schemas.operators.facts(case.call.op).computes == Some(Function::Mod);
        let Some(first) = case.tensor(0).filter(|_| is_remainder) else { return };
        let of_floats = !first.dtypes.is_empty() && first.dtypes.is_within(DtypeSet::float());
        let is_zero = |number: &Number| number.integer() == Some(0);
        let is_plain = case.call.attr("fmod").is_none() || case.number_attribute("fmod").is_some_and(is_zero);
        if !(of_floats && is_plain) {
            return;
        }
        let text = format!("`{}` of {} needs `fmod_i = 1`", case.call.op, names(first.dtypes, "or"));
        let fact = "without it the result has the sign of the divisor, which ONNX defines for integers only";
        let help = "write `fmod_i = 1`, or `a - b * Floor(a / b)` for the sign of the divisor";
        case.report(Diagnostic::new("E0311", case.call.site, text).label("floats").note(fact).help(help));
    }

    /// Dtypes that a call states for its outputs, and that the operator does not give.
    pub(super) fn wrong_stated(
        &self,
        stated: &'a [Stated],
        results: &Abs,
        call: &AbstractCall<'a>,
        version: &'a Version,
    ) -> Vec<Diagnostic> {
        let parts = match results {
            Abs::Tuple(parts) => parts.to_vec(),
            one => vec![one.clone()],
        };
        let of_output = |(i, (part, stated)): (usize, (Abs, &'a Stated))| {
            let port = port_at(&version.outputs, i)?;
            let given = part.dtypes();
            let allowed = self.given_by(call, version, port);
            if given.is_empty() || allowed.is_empty() || given.meets(allowed) || port.is_heterogeneous() {
                return None;
            }
            let (op, given) = (call.op, names(given, "or"));
            let text = format!("`{}` of `{op}` is {}, not {given}", port.name, names(allowed, "or"));
            let diagnostic = Diagnostic::new("E0311", stated.dtype.span, text).label(given);
            Some(diagnostic.help("state the dtype that the operator gives, and cast the result"))
        };
        parts.into_iter().zip(stated).enumerate().filter_map(of_output).collect()
    }

    /// Errors for results of a lowering that have none of the dtypes of the operator's outputs.
    pub(in crate::coverage) fn check_results(&mut self, lower: &'a Lower, args: &[Abs], results: &Abs) {
        let Some(version) = self.version_of_lowering(lower) else { return };
        let parts = match results {
            Abs::Tuple(parts) => parts.to_vec(),
            one @ Abs::Tensor(_) => vec![one.clone()],
            _ => return,
        };
        for (i, (part, port)) in parts.iter().zip(&version.outputs).enumerate() {
            let allowed = port.dtypes;
            let inputs = version.inputs.iter().zip(args).filter(|(input, _)| input.ty == port.ty && input.homogeneous);
            let bound = inputs.map(|(_, arg)| arg.dtypes()).fold(DtypeSet::NONE, DtypeSet::or);
            let wanted = self.parts(if bound.is_empty() { allowed } else { bound });
            let given = self.parts(part.dtypes());
            if given.is_empty() || wanted.is_empty() || given.meets(wanted) || port.is_heterogeneous() {
                continue;
            }
            let place = place_of_result(&lower.function.body, i);
            let (given, wanted) = (names(given, "or"), names(wanted, "or"));
            let text = format!("`{}` returns {given}, but `{}` is {wanted}", lower.function.name, port.name);
            let diagnostic = Diagnostic::new("E0311", place, text).label(given);
            let help = "cast the result to the dtype that the operator gives: `cast(y, dtype_of(X))`";
            self.wrong(diagnostic.help(help), &lower.op);
        }
    }

    /// The dtypes of an output: those of the inputs of its type variable, or those that the schema allows.
    fn given_by(&self, call: &AbstractCall<'a>, version: &Version, port: &Port) -> DtypeSet {
        let allowed = port.dtypes;
        let is_of_it = |i: usize| port_at(&version.inputs, i).is_some_and(|input| input.ty == port.ty);
        let inputs = call.inputs.iter().enumerate().filter(|(i, _)| is_of_it(*i)).map(|(_, given)| given.dtypes());
        let bound = inputs.filter(|set| !set.is_empty()).reduce(DtypeSet::and).filter(|set| set.meets(allowed));
        bound.map_or(allowed, |bound| bound.and(allowed))
    }
}

/// The place of a result of a body.
fn place_of_result(body: &Expr, i: usize) -> Span {
    match &body.kind {
        Kind::Block(_, result) => place_of_result(result, i),
        Kind::Convert(inner) => place_of_result(inner, i),
        Kind::Tuple(parts) => parts.get(i).map_or(body.span, |part| part.span),
        _ => body.span,
    }
}

fn differing(
    case: &Case<'_, '_>,
    (first, one): (usize, DtypeSet),
    (second, other): (usize, DtypeSet),
    variable: &str,
) -> Diagnostic {
    let op = case.call.op;
    let place = case.place_of(second);
    let (one, other) = (names(one, "or"), names(other, "or"));
    let is_one_input = case.name_of(first) == case.name_of(second);
    let text = match is_one_input {
        true => format!("the inputs of `{op}` have different dtypes: {one} and {other}"),
        false => {
            let (a, b) = (case.name_of(first), case.name_of(second));
            format!("`{a}` and `{b}` of `{op}` have different dtypes: {one} and {other}")
        }
    };
    let diagnostic = Diagnostic::new("E0312", place, text).label(other);
    let diagnostic = also(diagnostic, case.place_of(first), place, &one);
    let fact = format!("both have the type `{variable}` in {}", case.versioned());
    diagnostic
        .note(fact)
        .help("cast one of them, `cast(b, dtype_of(a))`, or both to their common dtype: `promote(a, b)`")
}

/// Adds another place, if it is one.
fn also(diagnostic: Diagnostic, place: Span, primary: Span, label: &str) -> Diagnostic {
    if place == primary { diagnostic } else { diagnostic.also(place, label) }
}

/// `float32`, `float16 or float32`, `one of 12 dtypes`
pub(super) fn names(set: DtypeSet, and: &str) -> String {
    let all: Vec<&str> = set.names().collect();
    match all.as_slice() {
        [] => "no dtype".to_owned(),
        [one] => (*one).to_owned(),
        all if all.len() > MOST_NAMES => format!("one of {} dtypes", all.len()),
        [first @ .., last] => format!("{} {and} {last}", first.join(", ")),
    }
}
