//! Examples.

use super::flat::{self, Mode};
use super::layout::Writer;
use crate::syntax::ast::{Example, ExampleArg, ExampleSize, ExampleTarget, ExampleValue};

/// `example aten::elu(f32[2, 3])`, with its arguments on separate lines if it is too long.
pub(super) fn example(w: &mut Writer, example: &Example) {
    let target = match &example.target {
        ExampleTarget::Map(op) => flat::op_name(op),
        ExampleTarget::Lower(name) => flat::onnx_name(name),
        ExampleTarget::Raise(name, _, from) => format!("{} from {from} ", flat::onnx_name(name)),
    };
    let with = with_clause(example.with.iter().map(|(name, size)| (name.text.as_str(), *size)));
    let args: Vec<String> = example.args.iter().map(arg).collect();
    w.write(&format!("example {target}"));
    let line = format!("({})", args.join(", "));
    if w.fits(&line, with.len()) || args.is_empty() {
        w.write(&line);
    } else {
        w.enclosed(("(", ")"), &args, |arg| Some(arg.clone()), |w, arg| w.write(arg));
    }
    w.write(&with);
}

fn arg(arg: &ExampleArg) -> String {
    named(arg.name.as_ref().map(|name| name.text.as_str()), &arg.value)
}

fn named(name: Option<&str>, given: &ExampleValue) -> String {
    match name {
        Some(name) => format!("{name} = {}", value(given)),
        None => value(given),
    }
}

/// ` with n = 4, m = 2`, or nothing.
fn with_clause<'e>(sizes: impl Iterator<Item = (&'e str, i64)>) -> String {
    let sizes: Vec<String> = sizes.map(|(name, size)| format!("{name} = {size}")).collect();
    if sizes.is_empty() { String::new() } else { format!(" with {}", sizes.join(", ")) }
}

fn value(example: &ExampleValue) -> String {
    match example {
        ExampleValue::Tensor { dtype, sizes, range } => {
            let sizes: Vec<String> = sizes.iter().map(size).collect();
            let range = range.map(|(low, high)| format!(" in {} .. {}", bound(low), bound(high))).unwrap_or_default();
            format!("{dtype}[{}]{range}", sizes.join(", "))
        }
        ExampleValue::Literal { dtype, sizes, elements } => {
            let texts: Vec<String> = elements
                .iter()
                .map(|element| match (dtype.as_str(), *element) {
                    ("bool", 0.0) => "False".to_owned(),
                    ("bool", 1.0) => "True".to_owned(),
                    (_, element) => bound(element),
                })
                .collect();
            format!("{dtype}{}", nested(sizes, &texts))
        }
        ExampleValue::List(values) => format!("[{}]", values.iter().map(value).collect::<Vec<_>>().join(", ")),
        ExampleValue::Int(i64::MAX) => "INT64_MAX".to_owned(),
        ExampleValue::Int(i64::MIN) => "INT64_MIN".to_owned(),
        ExampleValue::Int(value) => value.to_string(),
        ExampleValue::Float(value) => float(*value),
        ExampleValue::Bool(true) => "True".to_owned(),
        ExampleValue::Bool(false) => "False".to_owned(),
        ExampleValue::Str(text) => flat::string(text),
        ExampleValue::None => "None".to_owned(),
        ExampleValue::Name(name) => name.clone(),
        ExampleValue::Node(op, args) => {
            format!("{}({})", op.text, args.iter().map(arg).collect::<Vec<_>>().join(", "))
        }
        ExampleValue::Graph(closure) => flat::expr(closure, Mode::Forced).unwrap_or_default(),
    }
}

fn size(size: &ExampleSize) -> String {
    match size {
        ExampleSize::Known(size) => size.to_string(),
        ExampleSize::Symbolic(name) => name.clone(),
    }
}

/// Elements in nested braces.
fn nested(sizes: &[i64], elements: &[String]) -> String {
    let [count, inner @ ..] = sizes else { return elements.join(", ") };
    if inner.is_empty() {
        return format!("{{{}}}", elements.join(", "));
    }
    let count = usize::try_from(*count).unwrap_or(0);
    let length = elements.len() / count.max(1);
    let rows: Vec<String> =
        (0..count).map(|row| nested(inner, elements.get(row * length..(row + 1) * length).unwrap_or(&[]))).collect();
    format!("{{{}}}", rows.join(", "))
}

/// A number, which is printed as an integer if it is one.
fn bound(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 9e15 { format!("{value:.0}") } else { float(value) }
}

fn float(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NAN".to_owned(),
        f64::INFINITY => "INF".to_owned(),
        f64::NEG_INFINITY => "-INF".to_owned(),
        _ => format!("{value:?}"),
    }
}

/// The text of an example on one line: `example aten::elu(f32[n], alpha = 0.5) with n = 4`. Arguments have names, except for the
/// first ones of the header.
pub fn example_line(target: &str, header: &[&str], args: &[(String, ExampleValue)], with: &[(String, i64)]) -> String {
    let leading = args.iter().zip(header).take_while(|((name, _), param)| name == *param).count();
    let texts = args.iter().enumerate().map(|(i, (name, given))| named((i >= leading).then_some(name), given));
    let with = with_clause(with.iter().map(|(name, size)| (name.as_str(), *size)));
    format!("example {target}({}){with}", texts.collect::<Vec<_>>().join(", "))
}
