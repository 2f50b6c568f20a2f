//! What the support matrix says of an overload, and whether it knows of a refusal.

use aten2onnx_examples as examples;
use aten2onnx_opmap::Checked;
use aten2onnx_opmap::coverage::Verdict;
use aten2onnx_opmap::coverage::by_dtype::{ByDtype, Level, by_dtype_of, holds_tensors};
use aten2onnx_opmap::syntax::ast::ExampleValue;
use aten2onnx_opmap::tree::{Example, Program, is_setting};

use crate::check::SYMBOLIC_RESULTS;
use crate::edit::{dtype_of, values_of};
use crate::rule::Rule;

/// Refusals that depend on how large a call is, which no row tells.
const LIMITS: [&str; 3] = [SYMBOLIC_RESULTS, "would create too many nodes", "an expression of sizes is too long"];

/// The row of an overload.
pub(super) struct Row {
    /// The parameter whose dtype it tells apart. None of a rule without tensors.
    first: Option<String>,
    levels: ByDtype,
}

impl Row {
    /// Finds it. Operators with lowerings have none.
    pub fn find(checked: &Checked, overload: &str) -> Option<Row> {
        let levels = by_dtype_of(&checked.program, &checked.schemas, &|name| name == overload).remove(overload)?;
        Some(Row { first: first_tensor(&checked.program, overload), levels })
    }

    /// What contradicts it in a refusal: the cell says that no call is refused, or that calls are for other reasons.
    pub fn contradiction(&self, call: &Example, opset: u32, reason: &str) -> Option<String> {
        let dtype = self.dtype(call);
        let is_own = |torch_name: &str| examples::short_name(torch_name) == dtype;
        let (dtype, verdict) = self.levels.rows.iter().find(|row| is_own(row.0))?;
        // Of runtimes that lack operators it says nothing.
        let of_runtime = call.with.iter().any(|(name, _)| is_setting(name));
        let is_left_out =
            of_runtime || !dtype.starts_with("complex") && has_complex(call) || self.has_absent_dtype(call, opset);
        if is_left_out || LIMITS.iter().any(|limit| reason.contains(limit)) {
            return None;
        }
        // It knows of dtypes that an operator lacks also where it does not show them, because other arguments change the dtype.
        if reasons(verdict, opset).iter().any(|known| says(reason, known)) {
            return None;
        }
        match self.levels.level(dtype, opset) {
            Level::Absent => None,
            Level::Native | Level::Lowered => Some(format!("the matrix knows of no refusal, but: {reason}")),
            Level::Partial | Level::Refused => Some(format!("the matrix knows of other refusals than: {reason}")),
        }
    }

    /// Whether a call names a dtype that the opset lacks.
    fn has_absent_dtype(&self, call: &Example, opset: u32) -> bool {
        let values = values_of(&call.args);
        let is_named = |torch_name: &str| {
            values.iter().any(|value| match value {
                ExampleValue::Name(name) => name == torch_name,
                value => dtype_of(value).is_some_and(|own| Some(own.as_str()) == examples::short_name(torch_name)),
            })
        };
        let names = self.levels.rows.iter().map(|row| row.0);
        names.filter(|name| self.levels.level(name, opset) == Level::Absent).any(is_named)
    }

    /// The dtype of the first tensor of a call, as examples write it.
    fn dtype<'c>(&self, call: &'c Example) -> Option<&'c str> {
        let own = call.args.iter().find(|(name, _)| Some(name) == self.first.as_ref())?;
        values_of(std::slice::from_ref(own)).into_iter().find_map(dtype_of).map(String::as_str)
    }
}

/// The parameter whose dtype the matrix tells apart. None of a rule without tensors.
pub(super) fn first_tensor(program: &Program, overload: &str) -> Option<String> {
    let rule = Rule::find(program, overload)?;
    rule.params.iter().find(|param| holds_tensors(&param.ty)).map(|param| param.name.clone())
}

/// Whether an argument is complex, or names a complex dtype: such calls have a rule of their own, or count as its calls.
pub(super) fn has_complex(call: &Example) -> bool {
    let names = values_of(&call.args).into_iter().any(|value| match value {
        ExampleValue::Name(name) => name.starts_with("complex"),
        _ => false,
    });
    names || call.has_complex()
}

/// Why calls are refused at an opset, as a verdict says.
pub(super) fn reasons(verdict: &Verdict, opset: u32) -> Vec<String> {
    let refusals =
        verdict.refusals.iter().filter(|(_, at)| at.has(opset)).map(|(refusal, _)| refusal.reason.to_string());
    let fails = verdict.fails.iter().filter(|(_, at)| at.has(opset)).map(|(failure, _)| failure.reason.to_string());
    refusals.chain(fails).collect()
}

/// Whether an error has a reason in it. `..` in the reason stands for any text: what the rule puts there.
pub(super) fn says(error: &str, reason: &str) -> bool {
    let mut rest = error;
    reason.split("..").all(|part| match rest.find(part) {
        Some(at) => {
            rest = rest.get(at + part.len()..).unwrap_or_default();
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::says;

    #[test]
    fn a_reason_with_numbers_is_that_of_an_error_with_other_ones() {
        assert!(says("513 steps are too many (in the rule for `x`)", ".. steps are too many"));
        assert!(says("unknown mode `a`", "unknown mode `..`") && says("no", "no"));
        assert!(!says("unknown kind `a`", "unknown mode `..`") && !says("9 steps", ".. steps are too many"));
    }
}
