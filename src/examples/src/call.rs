//! The call of an example in a builder: its arguments, and the rule or the operator that it calls.

use std::collections::{BTreeMap, BTreeSet};

use aten2onnx_opmap::Checked;
use aten2onnx_opmap::syntax::ast::{Argument, ExampleArg, ExampleSize, ExampleValue, Expr, ExprKind, UnaryOp};
use aten2onnx_opmap::tree::{EXACT_NAN, Example, Target, WITHOUT};
use aten2onnx_opmap::types::Ty;
use aten2onnx_schemas::onnx::{AttrKind, PortOption};

use aten2onnx_builder::{ArgValue, Args, Binding, Builder, In, OperatorForm, Out, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Origin, Type, Value};
use aten2onnx_onnx::schema;
use aten2onnx_rules::{self, Rules};

/// Calls the rule or the operator; its results are outputs of the graph.
pub(super) fn call(cx: &mut Builder, example: &Example, checked: &Checked, rules: &Rules) -> Result<Vec<Value>> {
    cx.set_exact_nan(example.with.iter().any(|(name, value)| name == EXACT_NAN && *value != 0));
    for (name, op) in example.with.iter().filter_map(|(name, _)| Some((name, name.strip_prefix(WITHOUT)?))) {
        let schema = schema::find(op);
        let unknown = || Error::input(format!("`{name}` is no setting: there is no operator `{op}`"));
        cx.lack(schema.ok_or_else(unknown)?.name);
    }
    match &example.target {
        Target::Map(name) => map(cx, name, example, checked, rules),
        Target::Lower(op) => lower(cx, (op, OperatorForm::NEWEST), example, checked),
        Target::Raise(op, from) => lower(cx, (op, OperatorForm::before(*from)), example, checked),
    }
}

/// The names of dtypes in examples, where they are not PyTorch's.
const SHORT_NAMES: [(&str, &str); 15] = [
    ("f16", "float16"),
    ("bf16", "bfloat16"),
    ("f32", "float32"),
    ("f64", "float64"),
    ("i8", "int8"),
    ("i16", "int16"),
    ("i32", "int32"),
    ("i64", "int64"),
    ("u8", "uint8"),
    ("u16", "uint16"),
    ("u32", "uint32"),
    ("u64", "uint64"),
    ("c64", "complex64"),
    ("c128", "complex128"),
    ("str", "string"),
];

/// How examples write a dtype, by PyTorch's name. None if there is no example of it.
pub fn short_name(torch_name: &str) -> Option<&'static str> {
    if torch_name == "bool" {
        return Some("bool");
    }
    SHORT_NAMES.iter().find(|(_, name)| *name == torch_name).map(|(short, _)| *short)
}

fn element_type(short: &str) -> Result<Dtype> {
    let name = SHORT_NAMES.iter().find(|(own, _)| *own == short).map_or(short, |(_, name)| name);
    Dtype::from_torch_name(name).ok_or_else(|| Error::internal(format!("there is no dtype `{short}`")))
}

/// Makes an input of the graph.
fn input(cx: &mut Builder, count: &mut usize, dtype: &str, sizes: Vec<SymInt>) -> Result<Value> {
    *count += 1;
    Ok(cx.program_input(&format!("x{}", *count - 1), Type::tensor(element_type(dtype)?, sizes)))
}

struct ExampleCall<'a> {
    cx: &'a mut Builder,
    example: &'a Example,
    checked: &'a Checked,
    inputs: usize,
}

impl ExampleCall<'_> {
    fn tensor(&mut self, value: &ExampleValue) -> Result<Option<Value>> {
        let (dtype, sizes) = match value {
            ExampleValue::Tensor { dtype, sizes, .. } => {
                let sizes = sizes.iter().map(|s| match s {
                    ExampleSize::Known(n) => SymInt::from(*n),
                    ExampleSize::Symbolic(name) => SymInt::symbol(name.as_str()),
                });
                (dtype, sizes.collect())
            }
            ExampleValue::Literal { dtype, sizes, .. } => (dtype, sizes.iter().map(|n| SymInt::from(*n)).collect()),
            _ => return Ok(None),
        };
        input(self.cx, &mut self.inputs, dtype, sizes).map(Some)
    }

    fn number(&self, value: &ExampleValue) -> Option<Scalar> {
        match value {
            ExampleValue::Int(i) => Some(Scalar::Int(*i)),
            ExampleValue::Float(f) => Some(Scalar::Float(*f)),
            ExampleValue::Bool(b) => Some(Scalar::Bool(*b)),
            ExampleValue::Name(name) if self.example.with.iter().any(|w| w.0 == *name) => {
                Some(Scalar::Sym(SymInt::symbol(name.as_str())))
            }
            _ => None,
        }
    }

    fn argument(&mut self, value: &ExampleValue, ty: &Ty) -> Result<ArgValue> {
        if let Some(tensor) = self.tensor(value)? {
            return Ok(ArgValue::Tensor(tensor));
        }
        if let Some(number) = self.number(value) {
            return Ok(ArgValue::Scalar(number));
        }
        Ok(match value {
            ExampleValue::List(items) if holds_tensors(ty) => {
                ArgValue::Tensors(items.iter().map(|i| self.tensor(i)).collect::<Result<_>>()?)
            }
            ExampleValue::List(items) if items.iter().any(|i| matches!(i, ExampleValue::Str(_))) => ArgValue::Strs(
                items
                    .iter()
                    .filter_map(|i| if let ExampleValue::Str(s) = i { Some(s.clone()) } else { None })
                    .collect(),
            ),
            ExampleValue::List(items) => ArgValue::Scalars(items.iter().filter_map(|i| self.number(i)).collect()),
            ExampleValue::Str(s) => ArgValue::Str(s.clone()),
            ExampleValue::Name(name) => match Dtype::from_torch_name(name) {
                Some(dtype) => ArgValue::Dtype(dtype),
                None => ArgValue::Opaque(name.clone()),
            },
            _ => ArgValue::None,
        })
    }
}

fn holds_tensors(ty: &Ty) -> bool {
    match ty {
        Ty::List(t) | Ty::Optional(t) => holds_tensors(t),
        ty => *ty == Ty::Tensor,
    }
}

fn map(cx: &mut Builder, name: &str, example: &Example, checked: &Checked, rules: &Rules) -> Result<Vec<Value>> {
    let rule = rules.find(name).ok_or_else(|| Error::internal("no such rule"))?;
    let params = params(example, checked);
    let mut call = ExampleCall { cx, example, checked, inputs: 0 };
    let mut args = Vec::new();
    for (name, value) in &example.args {
        let ty = params.get(name).cloned().unwrap_or(Ty::Never);
        args.push((name.clone(), call.argument(value, &ty)?));
    }
    let inputs = call.inputs;
    for (i, symbol) in lone_symbols(example, &params).iter().enumerate() {
        let value = cx.input(&format!("x{}", inputs + i), Type::tensor(Dtype::Int64, Vec::new()));
        cx.bind_symbol(symbol, Binding::Scalar(value));
    }
    cx.set_origin(Origin { node_name: "y".into(), rule: name.to_owned(), ..Origin::default() });
    let outs = rule.call(cx, &Args::new(args))?;
    let mut all = Vec::new();
    for out in outs {
        match out {
            Out::Tensor(value) => all.push(value),
            Out::Tensors(values) => all.extend(values),
            Out::SymInt(size) => all.push(cx.sym_value(&size)?),
            Out::Scalar(number) => all.push(python_number(cx, &number)?),
            Out::None => {}
        }
    }
    Ok(outputs(cx, all))
}

/// Makes values the outputs of the graph.
fn outputs(cx: &mut Builder, values: Vec<Value>) -> Vec<Value> {
    for (i, value) in values.iter().enumerate() {
        cx.output(&format!("y{i}"), *value);
    }
    values
}

/// A number in the dtype of Python numbers.
fn python_number(cx: &mut Builder, number: &Scalar) -> Result<Value> {
    match number {
        Scalar::Value(value) => Ok(*value),
        Scalar::Sym(size) => cx.sym_value(size),
        Scalar::Bool(_) => cx.scalar(number, Dtype::Bool),
        Scalar::Int(_) => cx.scalar(number, Dtype::Int64),
        _ => cx.scalar(number, Dtype::Float64),
    }
}

/// Calls an operator in a form.
fn lower(
    cx: &mut Builder,
    (op, form): (&str, OperatorForm),
    example: &Example,
    checked: &Checked,
) -> Result<Vec<Value>> {
    cx.set_origin(Origin { node_name: "y".into(), rule: op.to_owned(), ..Origin::default() });
    let mut call = ExampleCall { cx, example, checked, inputs: 0 };
    let args: Vec<_> = example.args.iter().map(|(name, value)| (name.as_str(), value)).collect();
    let values = call.node(op, form, &args)?;
    Ok(outputs(cx, values))
}

impl ExampleCall<'_> {
    /// Calls an operator in a form with named arguments.
    fn node(&mut self, op: &str, form: OperatorForm, args: &[(&str, &ExampleValue)]) -> Result<Vec<Value>> {
        let schema = schema::find(op).ok_or_else(|| Error::internal("no such operator"))?;
        let checked = self.checked;
        let version = form.version(schema).and_then(|v| checked.schemas.onnx.at(op, v.since));
        let version = version.ok_or_else(|| Error::internal("no version"))?;
        let given = |name: &str| args.iter().find(|a| a.0 == name).map(|a| a.1);
        let mut inputs = Vec::new();
        for port in &version.inputs {
            match (given(&port.name), port.option) {
                (Some(ExampleValue::List(items)), PortOption::Variadic(_)) => {
                    for item in items {
                        inputs.push(self.operand(item)?);
                    }
                }
                (Some(value), _) => inputs.push(self.operand(value)?),
                (None, PortOption::Variadic(_)) => {}
                (None, _) => inputs.push(In::None),
            }
        }
        let mut attrs = Vec::new();
        // The input types of a body may depend on the other attributes.
        let (bodies, plain): (Vec<_>, Vec<_>) = version.attributes.iter().partition(|a| a.kind == AttrKind::Graph);
        for attribute in plain.into_iter().chain(bodies) {
            let Some((_, value)) =
                args.iter().find(|a| a.0.rsplit_once('_').is_some_and(|(stem, _)| stem == attribute.name))
            else {
                continue;
            };
            let known = schema.versions.iter().flat_map(|v| v.attributes).find(|a| a.name == attribute.name);
            let name = known.ok_or_else(|| Error::internal(format!("no attribute `{}`", attribute.name)))?.name;
            let attr = match value {
                ExampleValue::Graph(closure) => self.body(schema.name, name, &inputs, &attrs, closure)?,
                value => self.attribute(value, attribute.kind)?,
            };
            attrs.push((name, attr));
        }
        let outputs = match given("outputs") {
            Some(ExampleValue::Int(n)) => usize::try_from(*n).unwrap_or(1),
            _ => (version.min_outputs as usize).max(1),
        };
        self.cx.trace().announce_node();
        self.cx.node_in(form, schema.name, inputs, attrs, outputs)
    }

    /// Builds a body from a closure of operators on its parameters.
    fn body(
        &mut self,
        op: &str,
        attr: &str,
        inputs: &[In],
        attrs: &[(&'static str, Attr)],
        closure: &Expr,
    ) -> Result<Attr> {
        let ExprKind::Closure(names, result) = &closure.kind else { return Err(Error::internal("no closure")) };
        let params = self.cx.body_params(op, attr, inputs, attrs)?;
        self.cx.body(&params, |cx, values| {
            let known: BTreeMap<&str, Value> =
                names.names.iter().map(|n| n.text.as_str()).zip(values.iter().copied()).collect();
            let results = match &result.kind {
                ExprKind::Tuple(items) => items.as_slice(),
                _ => std::slice::from_ref(&**result),
            };
            results.iter().map(|result| evaluated(cx, result, &known)).collect()
        })
    }
}

/// A number of a body. A float is a float32, since it may be the only input of a node.
fn number(cx: &mut Builder, expr: &Expr) -> Result<Option<In>> {
    Ok(match &expr.kind {
        ExprKind::Int(number) => Some(In::Number(Scalar::Int(*number))),
        ExprKind::Float(number, _) => Some(In::Value(cx.scalar(&Scalar::Float(*number), Dtype::Float32)?)),
        ExprKind::Unary(UnaryOp::Neg, inner) => match inner.kind {
            ExprKind::Int(number) => number.checked_neg().map(|number| In::Number(Scalar::Int(number))),
            _ => None,
        },
        _ => None,
    })
}

/// Evaluates an expression in a body.
fn evaluated(cx: &mut Builder, expr: &Expr, known: &BTreeMap<&str, Value>) -> Result<Value> {
    match &expr.kind {
        ExprKind::Name(name) => known.get(name.text.as_str()).copied().ok_or_else(|| Error::internal("no such name")),
        ExprKind::Node(name, args) => {
            let op = schema::find(&name.name.text).ok_or_else(|| Error::internal("no such operator"))?.name;
            let mut inputs = Vec::new();
            for arg in args {
                let Argument::Positional(arg) = arg else {
                    return Err(Error::internal("only inputs are supported in bodies of examples"));
                };
                inputs.push(match number(cx, arg)? {
                    Some(number) => number,
                    None => In::Value(evaluated(cx, arg, known)?),
                });
            }
            cx.trace().announce_node();
            cx.node1(op, inputs, Vec::new())
        }
        other => Err(Error::internal(format!("unsupported in bodies of examples: {other:?}"))),
    }
}

impl ExampleCall<'_> {
    /// An input of an operator: numbers and lists are constants.
    fn operand(&mut self, value: &ExampleValue) -> Result<In> {
        if let Some(tensor) = self.tensor(value)? {
            return Ok(In::Value(tensor));
        }
        if let Some(number) = self.number(value) {
            return Ok(In::Number(number));
        }
        Ok(match value {
            ExampleValue::Node(op, args) => {
                let named = |arg: &'_ ExampleArg| arg.name.as_ref().map_or("", |name| name.text.as_str()).to_owned();
                let names: Vec<String> = args.iter().map(named).collect();
                let args: Vec<_> = names.iter().map(String::as_str).zip(args.iter().map(|arg| &arg.value)).collect();
                let results = self.node(&op.text, OperatorForm::NEWEST, &args)?;
                In::Value(*results.first().ok_or_else(|| Error::internal("an operator has no results"))?)
            }
            ExampleValue::List(items) if items.iter().any(|i| matches!(i, ExampleValue::Float(_))) => {
                In::Floats(items.iter().filter_map(|i| self.number(i)?.as_float()).collect())
            }
            ExampleValue::List(items) if items.iter().any(|i| matches!(i, ExampleValue::Str(_))) => {
                let text = |i: &ExampleValue| if let ExampleValue::Str(s) = i { Some(s.clone()) } else { None };
                In::Value(self.cx.strings(&items.iter().filter_map(text).collect::<Vec<_>>())?)
            }
            ExampleValue::List(items) => {
                let sizes = items.iter().filter_map(|i| match self.number(i)? {
                    Scalar::Sym(size) => Some(size),
                    number => number.as_int().map(SymInt::from),
                });
                In::Ints(sizes.collect())
            }
            _ => In::None,
        })
    }

    fn attribute(&mut self, value: &ExampleValue, kind: AttrKind) -> Result<Attr> {
        let list = match value {
            ExampleValue::List(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        // ONNX stores attributes as float32.
        let single = |x: f64| f64::from(x as f32);
        let floats = || list.iter().filter_map(|i| self.number(i)?.as_float().map(single)).collect::<Vec<_>>();
        let ints = || {
            let int = |i: &ExampleValue| match i {
                ExampleValue::Name(name) => Dtype::from_torch_name(name).map(|d| i64::from(d.onnx())),
                other => self.number(other)?.as_int(),
            };
            list.iter().filter_map(int).collect::<Vec<_>>()
        };
        let strs = || {
            let text = |i: &ExampleValue| if let ExampleValue::Str(s) = i { Some(s.clone()) } else { None };
            list.iter().filter_map(text).collect::<Vec<_>>()
        };
        let wrong = || Error::internal(format!("invalid value {value:?} for an attribute"));
        Ok(match kind {
            AttrKind::Float => Attr::Float(floats().first().copied().ok_or_else(wrong)?),
            AttrKind::Int => Attr::Int(ints().first().copied().ok_or_else(wrong)?),
            AttrKind::String => Attr::Str(strs().first().cloned().ok_or_else(wrong)?),
            AttrKind::Floats => Attr::Floats(floats()),
            AttrKind::Ints => Attr::Ints(ints()),
            AttrKind::Strings => Attr::Strs(strs()),
            AttrKind::Tensor => {
                let dtype = match value {
                    ExampleValue::Literal { dtype, .. } => element_type(dtype)?,
                    _ => return Err(wrong()),
                };
                let ExampleValue::Literal { elements, .. } = value else { return Err(wrong()) };
                let numbers: Vec<Scalar> = elements
                    .iter()
                    .map(|x| if dtype.is_float() { Scalar::Float(*x) } else { Scalar::Int(*x as i64) })
                    .collect();
                Attr::Tensor(self.cx.numbers(&numbers, dtype)?)
            }
            _ => return Err(wrong()),
        })
    }
}

/// The types of an example's parameters.
pub(super) fn params(example: &Example, checked: &Checked) -> BTreeMap<String, Ty> {
    match &example.target {
        Target::Map(name) => {
            let map = checked.program.map(name);
            map.into_iter().flat_map(|m| &m.function.params).map(|p| (p.name.clone(), p.ty.clone())).collect()
        }
        Target::Lower(_) | Target::Raise(..) => BTreeMap::new(),
    }
}

/// Symbolic sizes that are arguments but not sizes of a tensor: they become separate inputs.
pub(super) fn lone_symbols(example: &Example, params: &BTreeMap<String, Ty>) -> Vec<String> {
    let mut in_tensors = BTreeSet::new();
    let mut named = Vec::new();
    for (name, value) in &example.args {
        let _ = params.get(name);
        visit(value, &mut in_tensors, &mut named, example);
    }
    named.retain(|n| !in_tensors.contains(n));
    named.dedup();
    named
}

fn visit(value: &ExampleValue, in_tensors: &mut BTreeSet<String>, named: &mut Vec<String>, example: &Example) {
    match value {
        ExampleValue::Tensor { sizes, .. } => {
            for size in sizes {
                if let ExampleSize::Symbolic(name) = size {
                    in_tensors.insert(name.clone());
                }
            }
        }
        ExampleValue::List(items) => items.iter().for_each(|i| visit(i, in_tensors, named, example)),
        ExampleValue::Node(_, args) => args.iter().for_each(|arg| visit(&arg.value, in_tensors, named, example)),
        ExampleValue::Name(name) if example.with.iter().any(|w| w.0 == *name) && !named.contains(name) => {
            named.push(name.clone());
        }
        _ => {}
    }
}

pub(super) fn is_dtype(name: &str) -> bool {
    Dtype::from_torch_name(name).is_some()
}
