//! Makes nodes of operators on tensors: converts arguments, asks the scratch builder for the types of results, and names
//! them.

use std::borrow::Cow;
use std::rc::Rc;

use super::Interpreter;
use super::operators::OperatorCall;
use super::strides;
use crate::code::readable;
use crate::schemas::{Kind, Param};
use crate::syntax::Name;
use crate::types::Type;
use crate::values::{Item, Memory, Tensor, Value};
use aten2onnx_builder::Scalar;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Kind as ErrorKind, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_prepare::functional_sibling;
use aten2onnx_program::{Arg, FloatArg, IntArg, Node, NodeOutput, TensorMeta};
use aten2onnx_rules::effects::{self, WriteForm};
use aten2onnx_translate::scratch::{Handle, Inferred};

/// An operator of a mapping file has at most so many results.
const MAX_RESULTS: usize = 64;

impl Interpreter<'_, '_> {
    /// The node of a call, and its results.
    pub(super) fn node_of(&mut self, call: &OperatorCall) -> Result<Item> {
        let target = call.found.schema.target();
        let mut args = Vec::with_capacity(call.args.len());
        for (param, item) in call.found.schema.params.iter().zip(&call.args) {
            let Some(item) = item else { continue };
            let arg = self
                .argument(param, item)
                .map_err(|error| error.at(format!("`{target}`, argument `{}`", param.name)))?;
            args.push((param.name.clone(), arg));
        }
        self.emit(&target, args, &call.found.returns)
    }

    /// A node with these arguments.
    pub(super) fn emit(&mut self, target: &str, args: Vec<(String, Arg)>, returns: &[Type]) -> Result<Item> {
        let args = self.with_numbers(target, args);
        let mut node = self.new_node(target, args)?;
        let writes = effects::writes(target);
        let items = match writes.map(|writes| &writes.form) {
            Some(WriteForm::InPlace) => vec![self.in_place(&mut node)?],
            Some(WriteForm::Out) => vec![self.written_out(&mut node)?],
            _ => self.results(&mut node, returns)?,
        };
        self.recorder.push(node)?;
        Ok(match items.len() {
            0 => Item::none(),
            1 => items.into_iter().next().unwrap_or_else(Item::none),
            _ => Item::tuple(items),
        })
    }

    /// A node of a target with one tensor as its result.
    pub(super) fn tensor_node(&mut self, target: &str, args: Vec<(&str, Arg)>) -> Result<Tensor> {
        let args = args.into_iter().map(|(name, arg)| (name.to_owned(), arg)).collect();
        match self.emit(target, args, &[Type::Tensor])?.value {
            Value::Tensor(tensor) => Ok(tensor),
            other => Err(Error::internal(format!("`{target}` returns {}", other.kind()))),
        }
    }

    fn new_node(&mut self, target: &str, args: Vec<(String, Arg)>) -> Result<Node> {
        let source_line = self.source_line();
        let name = self.recorder.fresh(stem(target));
        let frame = self.frames.last();
        Ok(Node {
            name: name.to_string(),
            target: target.to_owned(),
            args,
            outputs: Vec::new(),
            module: frame.and_then(|frame| frame.module.as_deref()).filter(|path| !path.is_empty()).map(str::to_owned),
            module_type: frame.and_then(|frame| frame.class.as_deref()).map(readable),
            source_line,
        })
    }

    /// An argument as the parameter wants it.
    pub(super) fn argument(&mut self, param: &Param, item: &Item) -> Result<Arg> {
        let wanted = param.ty.unwrapped();
        match (param.kind, &item.value) {
            (_, Value::None) => return Ok(Arg::None),
            (Kind::Dtype, Value::Int(number)) => return Ok(Arg::Dtype(dtype_of(*number)?)),
            (Kind::Opaque, Value::Int(number)) => return Ok(Arg::Opaque(format_name(&param.name, *number))),
            _ => {}
        }
        match (&item.value, wanted) {
            (Value::Device(name), _) | (Value::Str(name), Type::Device) | (Value::Opaque(name), _) => {
                Ok(Arg::Opaque(name.to_string()))
            }
            (Value::Str(text), _) => Ok(Arg::Str(text.to_string())),
            (Value::Tensor(tensor), Type::Int | Type::Float | Type::Number | Type::Bool | Type::Complex) => {
                let number = self.number_of(&tensor.clone())?;
                self.recorder.number(&number)
            }
            (Value::Tensor(tensor), Type::List(_)) => {
                let tensor = self.plain(&tensor.clone())?;
                Ok(Arg::Tensors(vec![Some(tensor.name.to_string())]))
            }
            (Value::Tensor(tensor), _) => {
                let tensor = self.plain(&tensor.clone())?;
                Ok(Arg::Tensor(tensor.name.to_string()))
            }
            (Value::List(_) | Value::Tuple(_), Type::List(of)) => {
                let items = self.elements(item)?;
                self.list_argument(of, items)
            }
            (value, Type::List(of)) => {
                let items = vec![Item::new(value.clone(), item.ty.clone()); param.repeats.unwrap_or(1)];
                self.list_argument(of, items)
            }
            (Value::Uninitialized, _) => Err(Error::unsupported("an uninitialized value is used")),
            (value, _) => self.recorder.number(value),
        }
    }

    fn list_argument(&mut self, of: &Type, items: Vec<Item>) -> Result<Arg> {
        match of.unwrapped() {
            Type::Tensor => {
                let mut names = Vec::with_capacity(items.len());
                for item in items {
                    names.push(match item.value {
                        Value::Tensor(tensor) => Some(self.plain(&tensor)?.name.to_string()),
                        Value::None => None,
                        other => return Err(Error::unsupported(format!("{} is in a list of tensors", other.kind()))),
                    });
                }
                Ok(Arg::Tensors(names))
            }
            Type::Int => {
                let mut numbers = Vec::with_capacity(items.len());
                for item in items {
                    numbers.push(match self.number_arg(&item.value)? {
                        Arg::Int(number) => IntArg::Known(number),
                        Arg::Bool(flag) => IntArg::Known(i64::from(flag)),
                        Arg::Sym(name) => IntArg::Named(name),
                        other => return Err(Error::unsupported(format!("{other:?} is in a list of ints"))),
                    });
                }
                Ok(Arg::Ints(numbers))
            }
            Type::Bool => {
                let flag = |item: &Item| match item.value {
                    Value::Bool(flag) => Some(flag),
                    Value::Int(number) => Some(number != 0),
                    _ => None,
                };
                let flags: Option<Vec<bool>> = items.iter().map(flag).collect();
                flags.map(Arg::Bools).ok_or_else(|| Error::unsupported("a list of flags depends on data"))
            }
            Type::Str => {
                let text = |item: &Item| match &item.value {
                    Value::Str(text) => Some(text.to_string()),
                    _ => None,
                };
                let texts: Option<Vec<String>> = items.iter().map(text).collect();
                texts.map(Arg::Strs).ok_or_else(|| Error::unsupported("a list of strings has another element"))
            }
            _ => {
                let mut numbers = Vec::with_capacity(items.len());
                for item in items {
                    numbers.push(match self.number_arg(&item.value)? {
                        Arg::Float(number) => FloatArg::Known(number),
                        Arg::Int(number) => FloatArg::Known(number as f64),
                        Arg::Bool(flag) => FloatArg::Known(f64::from(u8::from(flag))),
                        Arg::Sym(name) => FloatArg::Named(name),
                        other => return Err(Error::unsupported(format!("{other:?} is in a list of numbers"))),
                    });
                }
                let known = |number: &FloatArg| match number {
                    FloatArg::Known(number) => Some(*number),
                    FloatArg::Named(_) => None,
                };
                match numbers.iter().map(known).collect() {
                    Some(known) => Ok(Arg::Floats(known)),
                    None => Ok(Arg::SymFloats(numbers)),
                }
            }
        }
    }

    /// A number, also out of a tensor, as an argument.
    pub(super) fn number_arg(&mut self, value: &Value) -> Result<Arg> {
        match value {
            Value::Tensor(tensor) => {
                let number = self.number_of(&tensor.clone())?;
                self.recorder.number(&number)
            }
            other => self.recorder.number(other),
        }
    }

    /// The results of a node that does not write, as its rule gives them.
    fn results(&mut self, node: &mut Node, returns: &[Type]) -> Result<Vec<Item>> {
        if returns.iter().all(|ty| *ty == Type::None) {
            node.outputs = vec![NodeOutput::None];
            return Ok(Vec::new());
        }
        self.check_sizes(node)?;
        let inferred = self
            .recorder
            .scratch
            .call(&without_updates(node))
            .map_err(|error| self.at_operator(error, &node.target))?;
        let shares = effects::view(&node.target).is_some();
        let first = first_tensor(&node.args);
        let memory = match first.filter(|_| shares) {
            Some(name) => self.memory_of(&name),
            None => None,
        };
        let mut items = Vec::with_capacity(inferred.len());
        for (index, result) in inferred.into_iter().take(returns.len().max(1)).enumerate() {
            let suffix = if index == 0 { node.name.clone() } else { format!("{}_{index}", node.name) };
            items.push(match result {
                Inferred::Tensor(handle) => {
                    let name = if index == 0 { Rc::from(suffix) } else { self.recorder.fresh(&suffix) };
                    let tensor = self.result(node, name, handle, memory)?;
                    node.outputs.push(NodeOutput::Tensor(tensor.name.to_string()));
                    Item::tensor(tensor)
                }
                Inferred::Tensors(handles) => {
                    let mut tensors = Vec::with_capacity(handles.len());
                    for handle in handles {
                        let name = self.recorder.fresh(&suffix);
                        tensors.push(Item::tensor(self.result(node, name, handle, memory)?));
                    }
                    let names = tensors.iter().filter_map(tensor_name).collect();
                    node.outputs.push(NodeOutput::Tensors(names));
                    self.list_of(Type::Tensor, tensors)?
                }
                Inferred::Number(number) => {
                    let name: Name = self.recorder.fresh(&suffix);
                    node.outputs.push(NodeOutput::Sym(name.to_string()));
                    let ty = returns.get(index).cloned().unwrap_or(Type::Number);
                    Item::new(self.number_result(&name, number, &ty), ty)
                }
                Inferred::None => {
                    node.outputs.push(NodeOutput::None);
                    Item::none()
                }
            });
        }
        Ok(items)
    }

    /// A number that a node returns.
    pub(super) fn number_result(&mut self, name: &Name, number: Option<Scalar>, ty: &Type) -> Value {
        if let Some(known) = known_number(number.as_ref()) {
            return known;
        }
        let dtype = match ty {
            Type::Int => Dtype::Int64,
            Type::Bool => Dtype::Bool,
            _ => Dtype::Float64,
        };
        self.recorder.define_number(name, dtype)
    }

    /// Registers a tensor that a node returns. Sizes that only the data knows get symbols.
    fn result(&mut self, node: &Node, name: Name, handle: Handle, memory: Option<Memory>) -> Result<Tensor> {
        let (dtype, sizes) = self.recorder.scratch.ty(handle);
        let Some(mut sizes) = sizes else {
            return Err(Error::unsupported(format!(
                "the number of dimensions of a result of `{}` depends on data",
                node.target
            )));
        };
        let mut renamed: Vec<(String, SymInt)> = Vec::new();
        for size in &mut sizes {
            if size.has_anonymous() {
                let text = size.to_string();
                let known = renamed.iter().find(|(old, _)| *old == text).map(|(_, new)| new.clone());
                *size = match known {
                    Some(new) => new,
                    None => {
                        let new = SymInt::symbol(self.recorder.symbol());
                        renamed.push((text, new.clone()));
                        new
                    }
                };
            }
        }
        if !renamed.is_empty() {
            self.recorder.scratch.refine(handle, dtype, &sizes)?;
        }
        let strides = strides::of_result(node, &sizes, &self.recorder.metas);
        let (strides, storage_offset) = strides.unwrap_or_default();
        let memory = memory.unwrap_or_else(|| self.recorder.memory());
        self.recorder.scratch.name(&name, handle);
        let tensor = self.recorder.define(&name, TensorMeta { dtype, sizes, strides, storage_offset }, memory);
        self.recorder.evaluate(node, &name);
        Ok(tensor)
    }

    /// The memory of a tensor by name.
    fn memory_of(&self, name: &str) -> Option<Memory> {
        self.recorder.memory_of(name)
    }

    /// An operator that writes to its first tensor and returns it.
    fn in_place(&mut self, node: &mut Node) -> Result<Item> {
        let name = first_tensor(&node.args);
        let name = name.ok_or_else(|| Error::input("an in-place operator needs a tensor to write to"))?;
        let memory = self.memory_of(&name).ok_or_else(|| Error::internal("a tensor without memory"))?;
        let sibling = functional_sibling(&node.target);
        let result: Name = Rc::from(node.name.as_str());
        node.outputs = vec![NodeOutput::Tensor(result.to_string())];
        // Those that only change the view of the tensor have another type.
        if effects::view(&sibling).is_some_and(|view| view.is_marked) && sibling != node.target {
            let probe = Node { target: sibling, ..node.clone() };
            let found = self.recorder.scratch.call(&probe).map_err(|error| self.at_operator(error, &node.target))?;
            if let Some(Inferred::Tensor(handle)) = found.into_iter().next() {
                return self.result(&probe, result, handle, Some(memory)).map(Item::tensor);
            }
        }
        self.recorder.written(memory);
        let meta = self.recorder.metas.get(&*name).cloned();
        let meta = meta.ok_or_else(|| Error::internal("a tensor without a type"))?;
        self.recorder.scratch.define(&result, meta.dtype, meta.sizes.clone());
        Ok(Item::tensor(self.recorder.define(&result, meta, memory)))
    }

    /// An operator that writes its result into the argument `out`.
    fn written_out(&mut self, node: &mut Node) -> Result<Item> {
        let out = node.args.iter().find_map(|(name, arg)| match arg {
            Arg::Tensor(tensor) if name == "out" => Some(tensor.clone()),
            _ => None,
        });
        let out = out.ok_or_else(|| Error::unsupported(format!("`{}` writes into several tensors", node.target)))?;
        let memory = self.memory_of(&out).ok_or_else(|| Error::internal("a tensor without memory"))?;
        let result: Name = Rc::from(node.name.as_str());
        node.outputs = vec![NodeOutput::Tensor(result.to_string())];
        self.recorder.written(memory);
        let meta = self.recorder.metas.get(&out).cloned().ok_or_else(|| Error::internal("a tensor without a type"))?;
        self.recorder.scratch.define(&result, meta.dtype, meta.sizes.clone());
        Ok(Item::tensor(self.recorder.define(&result, meta, memory)))
    }

    /// An operator that libtorch does not have: a rule of a mapping file names its arguments.
    pub(super) fn custom(&mut self, name: &str, args: Vec<Item>, named: Vec<(Name, Item)>) -> Result<Item> {
        let Some(params) = self.recorder.scratch.params(name) else {
            let error = Error::unsupported(format!("the operator `{name}` is not one of PyTorch's"));
            return Err(error.help("write a rule for it in a mapping file: `--mappings my_ops.opmap`"));
        };
        let positional = params.into_iter().map(|param| Rc::from(param.as_str())).zip(args);
        let mut given = Vec::new();
        for (param, item) in positional.chain(named) {
            let (kind, keyword_only) = (Kind::Plain, false);
            let ty = item.ty.clone();
            let param = Param { name: param.to_string(), ty, kind, repeats: None, has_default: false, keyword_only };
            given.push((param.name.clone(), self.argument(&param, &item)?));
        }
        // The rule says how many results there are.
        self.emit(name, given, &vec![Type::Tensor; MAX_RESULTS])
    }

    /// An error of a rule. What a damaged archive gives it was never checked, so it is no fault of the rule.
    pub(super) fn at_operator(&self, error: Error, target: &str) -> Error {
        let kind = if error.kind == ErrorKind::Internal { ErrorKind::Input } else { error.kind };
        error.of_kind(kind).at(format!("`{target}`"))
    }
}

/// The node without the flag that makes it update statistics: its results have the same types.
fn without_updates(node: &Node) -> Cow<'_, Node> {
    let updates = effects::operator(&node.target).map_or(&[][..], |operator| operator.updates);
    let is_given = |param: &str| node.args.iter().any(|(name, arg)| name == param && !matches!(arg, Arg::None));
    let is_flag = |name: &str, arg: &Arg| {
        let switches =
            |update: &effects::Update| update.flag == Some(name) && update.args.iter().any(|arg| is_given(arg));
        matches!(arg, Arg::Bool(true)) && updates.iter().any(switches)
    };
    if !node.args.iter().any(|(name, arg)| is_flag(name, arg)) {
        return Cow::Borrowed(node);
    }
    let mut probe = node.clone();
    for (name, arg) in &mut probe.args {
        if is_flag(name, arg) {
            *arg = Arg::Bool(false);
        }
    }
    Cow::Owned(probe)
}

/// A number that a rule returned, if it is known or an expression.
pub(super) fn known_number(number: Option<&Scalar>) -> Option<Value> {
    match number? {
        Scalar::Int(number) => Some(Value::Int(*number)),
        Scalar::Float(number) => Some(Value::Float(*number)),
        Scalar::Bool(flag) => Some(Value::Bool(*flag)),
        Scalar::Sym(size) if !size.has_anonymous() => Some(Value::size(size.clone())),
        _ => None,
    }
}

/// The name in a node of an operator: `add` of `aten::add_.Tensor`.
fn stem(target: &str) -> &str {
    let short = target.rsplit_once("::").map_or(target, |(_, short)| short);
    let short = short.split_once('.').map_or(short, |(short, _)| short);
    short.trim_matches('_')
}

fn tensor_name(item: &Item) -> Option<String> {
    match &item.value {
        Value::Tensor(tensor) => Some(tensor.name.to_string()),
        _ => None,
    }
}

/// The first tensor among arguments.
fn first_tensor(args: &[(String, Arg)]) -> Option<String> {
    args.iter().find_map(|(_, arg)| match arg {
        Arg::Tensor(name) => Some(name.clone()),
        Arg::Tensors(names) => names.iter().flatten().next().cloned(),
        _ => None,
    })
}

/// The dtype with this number in TorchScript (`c10::ScalarType`).
pub(super) fn dtype_of(number: i64) -> Result<Dtype> {
    use Dtype::*;
    const DTYPES: [Dtype; 12] =
        [Uint8, Int8, Int16, Int32, Int64, Float16, Float32, Float64, Complex32, Complex64, Complex128, Bool];
    let found = match number {
        12 => Some(Int8),
        13 => Some(Uint8),
        14 => Some(Int32),
        15 => Some(Bfloat16),
        23 => Some(Float8E5M2),
        24 => Some(Float8E4M3FN),
        25 => Some(Float8E5M2FNUZ),
        26 => Some(Float8E4M3FNUZ),
        27 => Some(Uint16),
        28 => Some(Uint32),
        29 => Some(Uint64),
        other => usize::try_from(other).ok().and_then(|index| DTYPES.get(index).copied()),
    };
    found.ok_or_else(|| Error::unsupported(format!("the dtype number {number} is unknown")))
}

/// The number of a dtype in TorchScript.
pub(super) fn number_of_dtype(dtype: Dtype) -> i64 {
    (0..30)
        .filter(|number| !(12..15).contains(number))
        .find(|number| dtype_of(*number).ok() == Some(dtype))
        .unwrap_or(6)
}

fn format_name(param: &str, number: i64) -> String {
    let names: &[&str] = match param {
        "layout" => &["strided", "sparse_coo"],
        _ => &["contiguous_format", "preserve_format", "channels_last", "channels_last_3d"],
    };
    let name = usize::try_from(number).ok().and_then(|at| names.get(at)).copied();
    name.map_or_else(|| number.to_string(), str::to_owned)
}
