//! The inputs of a method: as the archive recorded them when it was traced, or as the user describes them.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::about::Parameter;
use super::code::readable;
use super::interpret::Interpreter;
use super::syntax::{Function, Param};
use super::types::Type;
use super::values::{CellData, Item, Key, Tuple, Value};
use aten2onnx_archive::pickle::{Id, Object, Pickle};
use aten2onnx_archive::saved;
use aten2onnx_archive::zip::Archive;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_options::{DynamicSize, Literal, Size, SourceOptions, Spec};
use aten2onnx_program::{Input, TensorMeta};

/// The deepest nesting of a description.
const MAX_DEPTH: usize = 32;

/// The recorded inputs of a method; None if there are none.
pub fn traced(archive: &Archive, method: &str) -> Result<Option<Vec<Spec>>> {
    const ENTRY: &str = "traced_inputs.pkl";
    if !archive.contains(ENTRY) {
        return Ok(None);
    }
    let pickle = Pickle::read(archive.bytes(ENTRY)?).map_err(|error| archive.error(ENTRY, error))?;
    let entries = pickle.dict(untagged(&pickle, pickle.root())).unwrap_or_default();
    let found = entries.iter().find(|(key, _)| pickle.str(*key) == Some(method));
    let Some((_, inputs)) = found else { return Ok(None) };
    let items = match pickle.get(untagged(&pickle, *inputs)) {
        Object::List(items) | Object::Tuple(items) => items,
        _ => return Ok(None),
    };
    let specs = items.iter().map(|item| recorded(&pickle, *item, 0)).collect::<Result<Vec<Spec>>>();
    specs.map(Some).map_err(|error| archive.error(ENTRY, error))
}

/// The value of `restore_type_tag(value, tag)`.
fn untagged(pickle: &Pickle<'_>, id: Id) -> Id {
    match pickle.get(id) {
        Object::Call(call) if pickle.global(call.callable) == Some(("torch.jit._pickle", "restore_type_tag")) => {
            pickle.tuple(call.args).and_then(<[Id]>::first).copied().unwrap_or(id)
        }
        _ => id,
    }
}

fn recorded(pickle: &Pickle<'_>, id: Id, depth: usize) -> Result<Spec> {
    if depth > MAX_DEPTH {
        return Err(Error::unsupported("the recorded inputs are nested too deeply"));
    }
    let all = |items: &[Id]| items.iter().map(|item| recorded(pickle, *item, depth + 1)).collect::<Result<Vec<Spec>>>();
    Ok(match pickle.get(id) {
        Object::None => Spec::Literal(Literal::None),
        Object::Bool(flag) => Spec::Literal(Literal::Bool(*flag)),
        Object::Int(Some(number)) => Spec::Literal(Literal::Int(*number)),
        Object::Float(number) => Spec::Literal(Literal::Float(*number)),
        Object::Str(text) => Spec::Literal(Literal::Str((*text).to_owned())),
        Object::List(items) => Spec::List(all(items)?),
        Object::Tuple(items) => Spec::Tuple(all(items)?),
        Object::Dict(pairs) => {
            let mut entries = Vec::new();
            for (key, value) in pairs {
                let key = match recorded(pickle, *key, depth + 1)? {
                    Spec::Literal(literal) => literal,
                    _ => return Err(Error::unsupported("the recorded inputs have an unusual key")),
                };
                entries.push((key, recorded(pickle, *value, depth + 1)?));
            }
            Spec::Dict(entries)
        }
        Object::Call(call) => match (pickle.global(call.callable), pickle.tuple(call.args)) {
            (Some(("torch.jit._pickle", _)), Some([value, ..])) => recorded(pickle, *value, depth + 1)?,
            _ => {
                let tensor = saved::tensor(pickle, id, 0)?;
                let sizes = tensor.sizes.iter().map(|size| Size::Known(*size)).collect();
                Spec::Tensor(tensor.dtype, sizes)
            }
        },
        _ => return Err(Error::unsupported("the recorded inputs have an unusual value")),
    })
}

/// Where the value of a symbolic size is.
#[derive(Debug, Clone)]
pub struct Origin {
    /// As the model can compute it: `x.size(0)`.
    pub text: String,
    /// What it was when the method was traced.
    pub example: Option<i64>,
}

/// The symbolic sizes in the descriptions of a method's inputs.
pub fn origins(
    archive: &Archive,
    function: &Function,
    method: &str,
    specs: &[(String, Spec)],
) -> Result<FxHashMap<String, Origin>> {
    let recorded = traced(archive, method)?.unwrap_or_default();
    let mut found = FxHashMap::default();
    for (name, spec) in specs {
        let position = function.params.iter().skip(1).position(|param| *param.name == **name);
        origins_in(name, spec, position.and_then(|at| recorded.get(at)), &mut found);
    }
    Ok(found)
}

fn origins_in(text: &str, spec: &Spec, recorded: Option<&Spec>, found: &mut FxHashMap<String, Origin>) {
    let child = |index: usize| match recorded {
        Some(Spec::List(items) | Spec::Tuple(items)) => items.get(index),
        Some(Spec::Dict(entries)) => entries.get(index).map(|(_, spec)| spec),
        _ => None,
    };
    match spec {
        Spec::Tensor(_, sizes) => {
            for (axis, size) in sizes.iter().enumerate() {
                let Size::Named(name) = size else { continue };
                let example = match recorded {
                    Some(Spec::Tensor(_, sizes)) => sizes.get(axis),
                    _ => None,
                };
                let example = match example {
                    Some(Size::Known(size)) => Some(*size),
                    _ => None,
                };
                let origin = Origin { text: format!("{text}.size({axis})"), example };
                found.entry(name.clone()).or_insert(origin);
            }
        }
        Spec::List(items) | Spec::Tuple(items) => {
            for (index, spec) in items.iter().enumerate() {
                origins_in(&format!("{text}[{index}]"), spec, child(index), found);
            }
        }
        Spec::Dict(entries) => {
            for (index, (key, spec)) in entries.iter().enumerate() {
                let key = match key {
                    Literal::Str(text) => format!("{text:?}"),
                    Literal::Int(number) => number.to_string(),
                    other => format!("{other:?}"),
                };
                origins_in(&format!("{text}[{key}]"), spec, child(index), found);
            }
        }
        Spec::Number(_) | Spec::Literal(_) => {}
    }
}

/// The descriptions of a method's inputs, by the names of its parameters. Those with a default may lack one.
pub fn specs(
    archive: &Archive,
    function: &Function,
    method: &str,
    options: &SourceOptions,
) -> Result<Vec<(String, Spec)>> {
    let params: Vec<_> = function.params.iter().skip(1).collect();
    let mut found: Vec<(String, Spec)> = Vec::new();
    let recorded = traced(archive, method)?.unwrap_or_default();
    for (param, spec) in params.iter().zip(recorded) {
        found.push((param.name.to_string(), spec));
    }
    let mut described: Vec<String> = Vec::new();
    for given in &options.inputs {
        // A number is a position.
        let position = given.name.parse::<usize>().ok().and_then(|at| params.get(at));
        let name = position.map_or_else(|| given.name.clone(), |param| param.name.to_string());
        if !params.iter().any(|param| *param.name == *name) {
            let error = Error::unsupported(format!("the method has no input `{}`", given.name));
            return Err(error.help(format!("it is {}", signature(function))));
        }
        if described.contains(&name) {
            return Err(Error::unsupported(format!("the input `{name}` is described twice"))
                .help("describe it once, by its name or position"));
        }
        described.push(name.clone());
        found.retain(|(known, _)| *known != name);
        found.push((name, given.spec.clone()));
    }
    for (index, dynamic) in options.dynamic.iter().enumerate() {
        let same = |other: &&DynamicSize| (&other.path, other.axis) == (&dynamic.path, dynamic.axis);
        if let Some(other) = options.dynamic.iter().take(index).find(same).filter(|other| other.name != dynamic.name) {
            let (place, axis) = (dynamic.path.join("."), dynamic.axis);
            let names = format!("`{}` and `{}`", other.name, dynamic.name);
            return Err(Error::unsupported(format!("two names are given for the size `{place}.{axis}`: {names}")));
        }
        let (first, rest) = dynamic.path.split_first().ok_or_else(|| Error::internal("an empty path"))?;
        let spec = found.iter_mut().find(|(name, _)| name == first).map(|(_, spec)| spec);
        if !spec.is_some_and(|spec| spec.name_size(rest, dynamic.axis, &dynamic.name)) {
            let place = dynamic.path.join(".");
            return Err(Error::unsupported(format!("no input has the size `{place}.{}`", dynamic.axis)));
        }
    }
    let missing: Vec<_> = params
        .iter()
        .filter(|param| param.default.is_none() && !found.iter().any(|(name, _)| **name == *param.name))
        .collect();
    if missing.is_empty() {
        return Ok(found);
    }
    let examples: Vec<String> = missing.iter().map(|param| format!("--input \"{}\"", description(param))).collect();
    let message = format!("the file does not say what the inputs of `{}` are", signature(function));
    Err(Error::unsupported(message).help(format!("describe them: {}", examples.join(" "))))
}

/// An example of a description.
fn example(ty: &Type) -> String {
    match ty {
        Type::Optional(_) => "=none".to_owned(),
        Type::Int => ":int".to_owned(),
        Type::Float | Type::Number => ":float".to_owned(),
        Type::Bool => "=true".to_owned(),
        Type::Str => "=text".to_owned(),
        ty => format!(":{}", structure(ty)),
    }
}

fn structure(ty: &Type) -> String {
    match ty {
        Type::List(of) => format!("[{0},{0}]", structure(of)),
        Type::Tuple(items) => format!("({})", items.iter().map(structure).collect::<Vec<_>>().join(",")),
        Type::Dict(of) => format!("{{key:{}}}", structure(&of.1)),
        Type::Int => "int".to_owned(),
        Type::Float => "float".to_owned(),
        Type::Bool => "bool".to_owned(),
        Type::Optional(_) => "none".to_owned(),
        _ => "f32[batch,3,224,224]".to_owned(),
    }
}

/// The text for the command line that describes an input of this type.
fn description(param: &Param) -> String {
    format!("{}{}", param.name, example(&param_type(param)))
}

/// What is known of a parameter before anything is run.
pub fn parameter(param: &Param, recorded: Option<&Spec>) -> Parameter {
    let is_needed = recorded.is_none() && param.default.is_none();
    Parameter {
        name: param.name.to_string(),
        ty: param_type(param).to_string(),
        default: param.default.as_ref().map(ToString::to_string),
        recorded: recorded.map(ToString::to_string),
        describe: is_needed.then(|| description(param)),
    }
}

/// The type of a parameter; without an annotation it is a tensor.
pub fn param_type(param: &Param) -> Type {
    param.ty.as_ref().and_then(|ty| Type::read(ty).ok()).unwrap_or(Type::Tensor)
}

/// The type of the results.
pub fn return_type(function: &Function) -> Type {
    function.returns.as_ref().and_then(|ty| Type::read(ty).ok()).unwrap_or(Type::Tensor)
}

/// `forward(x: Tensor, n: int = 4) -> Tensor`
pub fn signature(function: &Function) -> String {
    let param = |param: &Param| match &param.default {
        Some(default) => format!("{}: {} = {default}", param.name, param_type(param)),
        None => format!("{}: {}", param.name, param_type(param)),
    };
    let params: Vec<String> = function.params.iter().skip(1).map(param).collect();
    format!("{}({}) -> {}", readable(&function.name), params.join(", "), return_type(function))
}

impl Interpreter<'_, '_> {
    /// The value of an input, which becomes one or more inputs of the program.
    pub fn input(&mut self, name: &str, spec: &Spec, ty: &Type, inputs: &mut Vec<Input>) -> Result<Item> {
        let unwrapped = ty.unwrapped();
        let value = match spec {
            Spec::Tensor(dtype, sizes) => {
                let sizes: Vec<SymInt> = sizes.iter().map(|size| self.input_size(size)).collect();
                let name = self.recorder.fresh(name);
                let strides = super::interpret::contiguous(&sizes);
                let meta = TensorMeta { dtype: *dtype, sizes, strides, storage_offset: SymInt::from(0) };
                self.recorder.scratch.define(&name, *dtype, meta.sizes.clone());
                let memory = self.recorder.memory();
                let tensor = self.recorder.define(&name, meta, memory);
                inputs.push(self.recorder.input(&name));
                Value::Tensor(tensor)
            }
            Spec::Number(dtype) => {
                let name = self.recorder.fresh(name);
                let value = match dtype.is_int() {
                    true => {
                        let symbol = format!("{name}_value");
                        self.recorder.input_symbols.insert(symbol.clone());
                        self.recorder.define_int(&name, symbol)
                    }
                    false => self.recorder.define_number(&name, *dtype),
                };
                inputs.push(self.recorder.input(&name));
                value
            }
            Spec::Literal(literal) => self.literal_input(literal, unwrapped),
            Spec::List(specs) => {
                let of = ty.element();
                let mut items = Vec::with_capacity(specs.len());
                for (index, spec) in specs.iter().enumerate() {
                    items.push(self.input(&format!("{name}.{index}"), spec, &of, inputs)?);
                }
                Value::List(self.heap.add(CellData::List(items)))
            }
            Spec::Tuple(specs) => {
                let mut items = Vec::with_capacity(specs.len());
                for (index, spec) in specs.iter().enumerate() {
                    let of = match unwrapped {
                        Type::Tuple(types) => types.get(index).cloned().unwrap_or(Type::Any),
                        _ => Type::Tensor,
                    };
                    items.push(self.input(&format!("{name}.{index}"), spec, &of, inputs)?);
                }
                let class = match unwrapped {
                    Type::Class(class) => Some(self.code.class(class)?),
                    _ => None,
                };
                Value::Tuple(Rc::new(Tuple { items, class }))
            }
            Spec::Dict(entries) => {
                let (key_type, of) = match unwrapped {
                    Type::Dict(of) => (of.0.clone(), of.1.clone()),
                    _ => (Type::Str, Type::Tensor),
                };
                let mut found = indexmap::IndexMap::new();
                for (key, spec) in entries {
                    let part = match key {
                        Literal::Str(text) => text.clone(),
                        Literal::Int(number) => number.to_string(),
                        other => format!("{other:?}"),
                    };
                    let key = self.literal_input(key, &key_type);
                    let hashed = Key::of(&key).ok_or_else(|| Error::unsupported("an input has an unusual key"))?;
                    let value = self.input(&format!("{name}.{part}"), spec, &of, inputs)?;
                    found.insert(hashed, (Item::new(key, key_type.clone()), value));
                }
                Value::Dict(self.heap.add(CellData::Dict(found)))
            }
        };
        Ok(Item::new(value, ty.clone()))
    }

    fn literal_input(&mut self, literal: &Literal, ty: &Type) -> Value {
        match (literal, ty) {
            (Literal::None, _) => Value::None,
            (Literal::Bool(flag), _) => Value::Bool(*flag),
            (Literal::Int(number), Type::Float) => Value::Float(*number as f64),
            (Literal::Int(number), Type::Str) => Value::Str(Rc::from(number.to_string())),
            (Literal::Int(number), _) => Value::Int(*number),
            (Literal::Float(number), _) => Value::Float(*number),
            (Literal::Str(text), _) => Value::Str(Rc::from(text.as_str())),
        }
    }

    fn input_size(&mut self, size: &Size) -> SymInt {
        match size {
            Size::Known(size) => SymInt::from(*size),
            Size::Named(name) => {
                self.recorder.input_symbols.insert(name.clone());
                self.recorder.size_symbols.insert(name.clone());
                self.recorder.scratch.declare_range(name, Some(1), None);
                SymInt::symbol(name.as_str())
            }
        }
    }
}
