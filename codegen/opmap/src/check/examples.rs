//! Examples: each calls an existing rule with arguments that fit its header, and every rule has one.

use std::collections::HashSet;

use super::lower_header::attr_type;
use super::types::DTYPES;
use super::wording::with_article;
use super::{Context, did_you_mean};
use crate::collect::Items;
use crate::diagnostic::{Diagnostic, FixPlace};
use crate::source::Span;
use crate::syntax::ast::{self, ExampleArg, ExampleSize, ExampleTarget, ExampleValue, Ident};
use crate::tree::{Example, Program, Target, is_replaced, is_setting};
use crate::types::Ty;
use aten2onnx_schemas::nearest::nearest;
use aten2onnx_schemas::onnx::{PortOption, Version};

/// Checks all examples, and that every rule has one.
pub(super) fn check(items: &Items, context: &Context<'_>, program: &mut Program, out: &mut Vec<Diagnostic>) {
    let mut shown = HashSet::new();
    // Those with an error, which is reported already.
    let broken_raises: HashSet<_> = items.raises.iter().map(|(_, r)| (r.op.full(), r.before)).collect();
    for (meta, example) in &items.examples {
        let (target, params) = match &example.target {
            ExampleTarget::Map(op) => {
                let name = op.full();
                if context.broken.contains(&name) {
                    continue;
                }
                let Some(signature) = context.maps.get(&name) else {
                    let text = format!("`{name}` has no rule");
                    let diagnostic = Diagnostic::new("E0801", op.span, text).label("not defined");
                    out.push(did_you_mean(diagnostic, nearest(&name, context.maps.keys().map(String::as_str))));
                    continue;
                };
                let params =
                    signature.params.iter().map(|p| (p.name.clone(), p.ty.clone(), p.default.is_none())).collect();
                (Target::Map(name), params)
            }
            ExampleTarget::Lower(op) => {
                let name = op.full();
                let Some(version) = context.schemas.onnx.versions(&name).last() else {
                    let text = format!("ONNX has no operator `{name}`");
                    let diagnostic = Diagnostic::new("E0801", op.span, text).label("unknown");
                    out.push(did_you_mean(diagnostic, context.schemas.onnx.nearest(&name)));
                    continue;
                };
                (Target::Lower(name), operator_params(version))
            }
            ExampleTarget::Raise(op, at, from) => {
                let name = op.full();
                let versions = context.schemas.onnx.versions(&name);
                let raise = program.raises.iter().find(|r| r.op == name && r.before == *from);
                let Some((raise, version)) =
                    raise.and_then(|r| Some((r, versions.iter().find(|v| v.since == r.form)?)))
                else {
                    if !broken_raises.contains(&(name.clone(), *from)) {
                        let text = format!("there is no `raise {name} from {from}`");
                        out.push(Diagnostic::new("E0801", op.span.to(at.span), text).label("not defined"));
                    }
                    continue;
                };
                shown.insert(raise.function.name.clone());
                (Target::Raise(name, *from), operator_params(version))
            }
        };
        if let Target::Map(name) | Target::Lower(name) = &target {
            shown.insert(name.clone());
        }
        let before = out.len();
        let (span, is_operator) = match &example.target {
            ExampleTarget::Map(op) => (op.span, false),
            ExampleTarget::Lower(op) | ExampleTarget::Raise(op, ..) => (op.span, true),
        };
        let call = CheckedCall { args: &example.args, span, is_operator, fact: fact(&target, &params) };
        let args = arguments(context, &call, &params, &mut shown, out);
        symbols(example, meta.span, out);
        if out.len() > before {
            continue;
        }
        let text = on_one_line(context.sources.text(meta.span));
        program.examples.push(Example { target, args, with: with(example), text, span: meta.span });
    }
    let maps = program.maps.iter().filter(|map| !is_replaced(&map.function.name));
    let maps = maps.map(|m| (&m.function.name, m.function.span));
    let lowers = program.lowers.iter().map(|l| (&l.op, l.function.span));
    let refuses = |name: &String| program.lowers.iter().filter(|l| l.op == *name).all(|l| l.function.body.refuses());
    let rules = maps.chain(lowers).filter(|(name, _)| name.contains("::") || !refuses(name));
    let raises = program.raises.iter().filter(|r| !r.function.body.refuses());
    let raises = raises.map(|r| (&r.function.name, r.function.span, " "));
    for (name, span, gap) in rules.map(|(name, span)| (name, span, "")).chain(raises) {
        if !shown.contains(name) {
            out.push(
                Diagnostic::new("E0803", span, format!("`{name}` has no example"))
                    .label("not tested")
                    .help(format!("add `example {name}{gap}(..)` after it"))
                    .fix(
                        "add an example",
                        FixPlace::AfterItem(span),
                        format!("example {name}{gap}({})", first_arguments(program, name)),
                    ),
            );
        }
    }
}

/// Arguments to begin an example of a rule with: one for each parameter without a default, and for each required input of an operator.
fn first_arguments(program: &Program, name: &str) -> String {
    let lower = program.lowers.iter().chain(&program.raises).find(|l| l.op == name || l.function.name == name);
    let inputs = lower.map_or(usize::MAX, |lower| lower.inputs);
    // The program is not sorted yet.
    let map = program.maps.iter().find(|map| map.function.name == name).map(|map| &map.function);
    let Some(function) = map.or(lower.map(|lower| &lower.function)) else { return String::new() };
    let params = function.params.iter().take(inputs).take_while(|param| param.default.is_none());
    params.map(|param| first_value(&param.ty)).collect::<Vec<_>>().join(", ")
}

/// A value of a type to begin an example with.
fn first_value(ty: &Ty) -> String {
    match ty {
        Ty::Tensor => "f32[2, 3]".to_owned(),
        Ty::Int | Ty::SymInt | Ty::Scalar => "1".to_owned(),
        Ty::Float => "0.5".to_owned(),
        Ty::Bool => "True".to_owned(),
        Ty::Str => "\"\"".to_owned(),
        Ty::ScalarType => DTYPES.first().copied().unwrap_or("None").to_owned(),
        Ty::List(element) => format!("[{}]", first_value(element)),
        _ => "None".to_owned(),
    }
}

/// Name, type, and whether it is required.
type Parameter = (String, Ty, bool);

/// An example's text on one line.
fn on_one_line(text: &str) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    joined.replace("( ", "(").replace(", )", ")").replace(" )", ")")
}

fn operator_params(version: &Version) -> Vec<Parameter> {
    let inputs = version.inputs.iter().map(|port| {
        let ty = match port.option {
            PortOption::Variadic(_) => Ty::list(Ty::Tensor),
            _ => Ty::Tensor,
        };
        (port.name.clone(), ty, port.option == PortOption::Single)
    });
    let attrs = version.attributes.iter().filter_map(|a| {
        let (suffix, ty) = attr_type(a.kind)?;
        Some((format!("{}_{suffix}", a.name), ty, a.required))
    });
    inputs.chain(attrs).chain([("outputs".to_owned(), Ty::Int, false)]).collect()
}

/// `arguments of aten::elu: self, alpha, scale, input_scale`
fn fact(target: &Target, params: &[Parameter]) -> String {
    let (Target::Map(name) | Target::Lower(name) | Target::Raise(name, _)) = target;
    let names = params.iter().map(|p| p.0.as_str()).filter(|name| *name != "outputs");
    format!("arguments of {name}: {}", names.collect::<Vec<_>>().join(", "))
}

/// The call of an example, or a call inside one.
struct CheckedCall<'a> {
    args: &'a [ExampleArg],
    /// The operator's name.
    span: Span,
    is_operator: bool,
    fact: String,
}

/// The arguments by name, in the order of the header. Operators of inner calls are added to `shown`.
fn arguments(
    context: &Context<'_>,
    call: &CheckedCall<'_>,
    params: &[Parameter],
    shown: &mut HashSet<String>,
    out: &mut Vec<Diagnostic>,
) -> Vec<(String, ExampleValue)> {
    let mut given: Vec<(usize, &ExampleArg)> = Vec::new();
    let mut position = 0;
    let mut misnamed = HashSet::new();
    for arg in call.args {
        let Some(index) = place(arg, &mut position, params, &call.fact, &mut misnamed, out) else { continue };
        let (name, ty, _) = &params[index];
        if !fits(&arg.value, ty, call.is_operator) {
            let text = format!("`{name}` takes {}", with_article(ty));
            out.push(Diagnostic::new("E0802", arg.span, text).label("not such a value"));
        }
        if let Some((_, first)) = given.iter().find(|g| g.0 == index) {
            let text = format!("`{name}` is given twice");
            out.push(Diagnostic::new("E0307", arg.span, text).also(first.span, "first here"));
        }
        given.push((index, arg));
    }
    for (i, (name, _, required)) in params.iter().enumerate() {
        if *required && !misnamed.contains(name) && !given.iter().any(|g| g.0 == i) {
            out.push(
                Diagnostic::new("E0802", call.span, format!("the argument `{name}` is missing"))
                    .note(call.fact.as_str()),
            );
        }
    }
    given.sort_by_key(|g| g.0);
    given.into_iter().map(|(i, arg)| (params[i].0.clone(), resolved(context, &arg.value, shown, out))).collect()
}

/// The value, with the arguments of inner operators by name.
fn resolved(
    context: &Context<'_>,
    value: &ExampleValue,
    shown: &mut HashSet<String>,
    out: &mut Vec<Diagnostic>,
) -> ExampleValue {
    match value {
        ExampleValue::List(items) => {
            ExampleValue::List(items.iter().map(|item| resolved(context, item, shown, out)).collect())
        }
        ExampleValue::Node(op, args) => {
            let Some(version) = context.schemas.onnx.versions(&op.text).last() else {
                let text = format!("ONNX has no operator `{}`", op.text);
                let diagnostic = Diagnostic::new("E0801", op.span, text).label("unknown");
                out.push(did_you_mean(diagnostic, context.schemas.onnx.nearest(&op.text)));
                return ExampleValue::None;
            };
            shown.insert(op.text.clone());
            let params = operator_params(version);
            let fact = fact(&Target::Lower(op.text.clone()), &params);
            let call = CheckedCall { args, span: op.span, is_operator: true, fact };
            let named = arguments(context, &call, &params, shown, out).into_iter().map(|(name, value)| ExampleArg {
                name: Some(Ident { text: name, span: op.span }),
                value,
                span: op.span,
            });
            ExampleValue::Node(op.clone(), named.collect())
        }
        other => other.clone(),
    }
}

fn place(
    arg: &ExampleArg,
    position: &mut usize,
    params: &[Parameter],
    fact: &str,
    misnamed: &mut HashSet<String>,
    out: &mut Vec<Diagnostic>,
) -> Option<usize> {
    let Some(name) = &arg.name else {
        *position += 1;
        if *position > params.len() {
            let text = "too many arguments";
            out.push(Diagnostic::new("E0802", arg.span, text).label("one too many").note(fact));
            return None;
        }
        return Some(*position - 1);
    };
    let found = params.iter().position(|p| p.0 == name.text);
    if found.is_none() {
        let text = format!("unknown argument `{}`", name.text);
        let candidate = nearest(&name.text, params.iter().map(|p| p.0.as_str()));
        misnamed.extend(candidate.map(str::to_owned));
        let diagnostic = Diagnostic::new("E0802", name.span, text).label("unknown argument").note(fact);
        out.push(did_you_mean(diagnostic, candidate));
    }
    found
}

/// Whether a value fits a type. Inputs of ONNX operators may be numbers and lists, which become constants.
fn fits(value: &ExampleValue, ty: &Ty, operator: bool) -> bool {
    use ExampleValue as V;
    match (value, ty) {
        (V::None, Ty::Optional(_) | Ty::Opaque(_)) => true,
        (V::None, Ty::Tensor) => operator,
        (_, Ty::Optional(inner)) => fits(value, inner, operator),
        (_, Ty::Opaque(_)) => true,
        (V::Tensor { .. } | V::Literal { .. }, Ty::Tensor) => true,
        (V::Int(_) | V::Float(_) | V::Bool(_), Ty::Tensor) => true,
        (V::Str(_) | V::Node(..), Ty::Tensor) => operator,
        (V::List(items), Ty::Tensor) => {
            operator && items.iter().all(|i| matches!(i, V::Int(_) | V::Float(_) | V::Bool(_) | V::List(_) | V::Str(_)))
        }
        (V::Int(_), Ty::Int | Ty::SymInt | Ty::Float | Ty::Scalar) => true,
        // A symbolic size.
        (V::Name(_), Ty::SymInt | Ty::Scalar) => true,
        // A number that the graph computes.
        (V::Tensor { sizes, .. }, Ty::Scalar) => sizes.is_empty(),
        (V::Bool(_), Ty::Int) => operator,
        (V::Name(_), Ty::Int) => operator,
        (V::Float(_), Ty::Float | Ty::Scalar) => true,
        (V::Bool(_), Ty::Bool | Ty::Scalar) => true,
        (V::Str(_), Ty::Str) => true,
        (V::Name(_), Ty::ScalarType) => true,
        (V::Graph(_), Ty::Graph) => true,
        (V::List(items), Ty::List(of)) => items.iter().all(|i| fits(i, of, operator)),
        // A single number for a list of known size.
        (V::Int(_) | V::Float(_), Ty::List(of)) => fits(value, of, operator),
        _ => false,
    }
}

/// Every symbolic size has a value, and every value belongs to a symbolic size.
fn symbols(example: &ast::Example, span: Span, out: &mut Vec<Diagnostic>) {
    let mut used = HashSet::new();
    for arg in &example.args {
        if !matches!(arg.value, ExampleValue::Name(_)) {
            sizes_of(&arg.value, &mut used);
        }
    }
    for name in &used {
        if !example.with.iter().any(|(w, _)| w.text == *name) {
            out.push(
                Diagnostic::new("E0802", span, format!("the size `{name}` has no value"))
                    .help(format!("add `with {name} = 4` at the end")),
            );
        }
    }
    let is_argument = |name: &Ident| {
        example.args.iter().any(|arg| matches!(&arg.value, ExampleValue::Name(given) if *given == name.text))
    };
    for (name, _) in &example.with {
        if !used.contains(&name.text) && !is_argument(name) && !is_setting(&name.text) {
            let text = format!("no size is named `{}`", name.text);
            out.push(Diagnostic::new("E0802", name.span, text).label("not used"));
        }
    }
}

fn sizes_of(value: &ExampleValue, used: &mut HashSet<String>) {
    match value {
        ExampleValue::Tensor { sizes, .. } => {
            for size in sizes {
                if let ExampleSize::Symbolic(name) = size {
                    used.insert(name.clone());
                }
            }
        }
        ExampleValue::List(items) => items.iter().for_each(|i| sizes_of(i, used)),
        ExampleValue::Node(_, args) => args.iter().for_each(|arg| sizes_of(&arg.value, used)),
        ExampleValue::Name(name) if !DTYPES.contains(&name.as_str()) => {
            used.insert(name.clone());
        }
        _ => {}
    }
}

fn with(example: &ast::Example) -> Vec<(String, i64)> {
    example.with.iter().map(|(name, size)| (name.text.clone(), *size)).collect()
}
