//! The values that attributes can have, as far as they are written in a rule: `operators.toml` has the words and the limits, and numbers of
//! dtypes must be those of a dtype.

use super::super::{Checker, did_you_mean};
use crate::diagnostic::Diagnostic;
use crate::tree::{Expr, Item, Kind};
use crate::types::Ty;
use aten2onnx_schemas::dtypes::DTYPES;
use aten2onnx_schemas::nearest::nearest;
use aten2onnx_schemas::onnx::Attribute;
use aten2onnx_schemas::operators::Values;

impl Checker<'_> {
    /// Errors for each written value that the attribute cannot have.
    pub(in crate::check) fn check_domain(&mut self, op: &str, attribute: &Attribute, value: &Expr) {
        let operators = &self.context.schemas.operators;
        let is_dtype = operators.is_dtype(&attribute.name);
        let values = operators.get(op).and_then(|entry| entry.values.get(&attribute.name));
        let mut wrong = Vec::new();
        leaves(value, &mut |leaf| {
            let found = match (&leaf.kind, values) {
                _ if leaf.ty == Ty::ScalarType => (!is_dtype).then(|| no_dtype(op, attribute, leaf)),
                (Kind::Int(code), _) if is_dtype => unknown_code(op, attribute, *code, leaf),
                (Kind::Int(n), Some(Values::Integers(limits))) if !(limits.first..=limits.last).contains(n) => {
                    let text = format!("`{}` of `{op}` is {limits}, not {n}", attribute.name);
                    Some(Diagnostic::new("E0310", leaf.span, text).label("out of range"))
                }
                (Kind::Str(word), Some(Values::Words(words))) if !words.contains(word) => {
                    let text = format!("`{}` of `{op}` is never \"{word}\"", attribute.name);
                    let known = words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
                    let diagnostic = Diagnostic::new("E0310", leaf.span, text).label("no such value");
                    let diagnostic = diagnostic.note(format!("its values: {known}"));
                    Some(did_you_mean(diagnostic, nearest(word, words.iter().map(String::as_str))))
                }
                _ => None,
            };
            wrong.extend(found);
        });
        self.out.extend(wrong);
    }
}

fn no_dtype(op: &str, attribute: &Attribute, leaf: &Expr) -> Diagnostic {
    let text = format!("`{}` of `{op}` is not the number of a dtype", attribute.name);
    Diagnostic::new("E0310", leaf.span, text).label("a dtype").help("give an int")
}

/// The numbers of dtypes are their places in the table, from 1 on; the last one is none of ONNX. An absent dtype is 0.
fn unknown_code(op: &str, attribute: &Attribute, code: i64, leaf: &Expr) -> Option<Diagnostic> {
    let is_known =
        usize::try_from(code).is_ok_and(|code| (1..DTYPES.len()).contains(&code)) || (code == 0 && !attribute.required);
    (!is_known).then(|| {
        let text = format!("`{}` of `{op}` is {code}, which is the number of no dtype", attribute.name);
        Diagnostic::new("E0310", leaf.span, text).label("no dtype").help("write the dtype: `onnx_type(float32)`")
    })
}

/// The values that an expression may be: those of branches, and the elements of lists.
fn leaves<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    match &expr.kind {
        Kind::Convert(inner) => leaves(inner, f),
        Kind::Block(_, result) => leaves(result, f),
        Kind::If { then, other, .. } | Kind::IfLet { then, other, .. } => {
            leaves(then, f);
            leaves(other, f);
        }
        Kind::Coalesce { value, other, .. } => {
            leaves(value, f);
            leaves(other, f);
        }
        Kind::Match { arms, .. } => arms.iter().for_each(|arm| leaves(&arm.value, f)),
        Kind::List(items) => items.iter().for_each(|item| match item {
            Item::One(one) => leaves(one, f),
            Item::Spread(list) => leaves(list, f),
        }),
        _ => f(expr),
    }
}
