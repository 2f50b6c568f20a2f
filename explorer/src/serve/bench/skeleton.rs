//! A rule that nobody wrote yet: its header from PyTorch's schema, a body to be replaced, and an example.

use aten2onnx_core::error::{Error, Result};
use aten2onnx_opmap::Checked;
use aten2onnx_schemas::aten::{Arg, Schema};

/// The text of a new rule.
///
/// # Errors
/// PyTorch has no such overload, or there is a rule for it.
pub fn skeleton(checked: &Checked, overload: &str) -> Result<String> {
    if checked.program.map(overload).is_some() {
        return Err(Error::input(format!("`{overload}` has a rule already")).help("open it by its name"));
    }
    let Some(schema) = checked.schemas.aten.get(overload) else {
        let error = Error::input(format!("PyTorch has no overload `{overload}`"));
        return Err(error.help("the page \"New rule\" lists those without a rule"));
    };
    let header = aten2onnx_lsp::header_of(schema);
    let example = call(schema).map(|call| format!("example {call}\n")).unwrap_or_default();
    Ok(format!("map {header} {{\n    fail \"{TODO}\"\n}}\n{example}"))
}

/// What the body says until it is written.
const TODO: &str = "this rule is not written yet";

/// A call with the arguments that have no default. None if there is one of a type that only people can fill.
fn call(schema: &Schema) -> Option<String> {
    let required = schema.args.iter().filter(|arg| arg.default.is_none());
    let values: Option<Vec<String>> = required.map(value).collect();
    Some(format!("{}({})", schema.name, values?.join(", ")))
}

fn value(arg: &Arg) -> Option<String> {
    let text = match arg.ty.as_str() {
        "Tensor" => "f32[2, 3]",
        "Tensor[]" => "[f32[2, 3], f32[2, 3]]",
        "Scalar" | "int" | "SymInt" => "1",
        "float" => "0.5",
        "bool" => "true",
        ty if ty.ends_with('?') => "none",
        ty if ty.starts_with("int[") || ty.starts_with("SymInt[") => "[1]",
        _ => return None,
    };
    Some(if arg.keyword_only { format!("{} = {text}", arg.name) } else { text.to_owned() })
}

/// The file where a rule belongs: that of other overloads of the operator, else that of the rules with the most similar names.
///
/// # Errors
/// There are no rules.
pub fn home(checked: &Checked, overload: &str) -> Result<String> {
    let op = |name: &str| name.split_once('.').map_or(name, |(op, _)| op).to_owned();
    let (wanted, sources) = (op(overload), &checked.sources);
    let maps = checked.program.maps.iter().map(|map| &map.function);
    let best = maps.max_by_key(|function| {
        let name = op(&function.name);
        (name == wanted, common(&name, &wanted), std::cmp::Reverse(function.span))
    });
    let function = best.ok_or_else(|| Error::input("there are no rules"))?;
    let path = sources.file(function.span.file).path.as_str();
    Ok(path.split_once('/').map_or(path, |(_, inside)| inside).to_owned())
}

/// How many letters two names begin with alike.
fn common(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}
