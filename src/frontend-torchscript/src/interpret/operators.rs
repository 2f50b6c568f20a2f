//! Calls of operators: the overload is chosen, then numbers, strings, lists and properties are computed here; all other
//! operators become nodes.

use std::rc::Rc;

use super::Interpreter;
use super::calls::Named;
use crate::resolve::{ArgumentPlace, Given, Match, choose};
use crate::schemas::Schema;
use crate::syntax::Name;
use crate::types::Type;
use crate::values::{Item, Value};
use crate::versions;
use aten2onnx_core::error::{Error, Result};

/// The most overloads that an error lists.
const MOST_OVERLOADS: usize = 4;

/// A call whose overload is known.
pub(super) struct OperatorCall {
    pub found: Match,
    /// The arguments in the order of the parameters; None for those that are not given.
    pub args: Vec<Option<Item>>,
}

impl OperatorCall {
    /// `aten::add`
    pub fn name(&self) -> &str {
        &self.found.schema.name
    }

    /// The type of the first result.
    pub fn returns(&self) -> Type {
        self.found.returns.first().cloned().unwrap_or(Type::None)
    }

    /// An argument; one that is not given is None.
    pub fn value(&self, index: usize) -> &Value {
        self.args.get(index).and_then(Option::as_ref).map_or(&Value::None, |item| &item.value)
    }

    /// An argument with its type.
    pub fn item(&self, index: usize) -> Result<&Item> {
        let item = self.args.get(index).and_then(Option::as_ref);
        item.ok_or_else(|| Error::input(format!("`{}` lacks an argument", self.name())))
    }

    /// An argument by the name of its parameter.
    pub fn named(&self, name: &str) -> Option<&Item> {
        let index = self.found.schema.params.iter().position(|param| param.name == name)?;
        self.args.get(index)?.as_ref()
    }
}

impl Interpreter<'_, '_> {
    /// Calls an operator: `aten::add`.
    pub(super) fn operator(&mut self, name: &str, args: Vec<Item>, named: Named) -> Result<Item> {
        self.step()?;
        match name {
            "prim::RaiseException" => return self.raise(&args),
            "aten::format" => return self.format(&args),
            "prim::ConstantMKLDNNTensor" => return Err(weights_are_missing()),
            "aten::to" => return self.to(args, named),
            "aten::_shape_as_tensor" => {
                let sizes = self.operator("aten::size", args, named)?;
                return self.operator("aten::tensor", vec![sizes], Vec::new());
            }
            "prim::TupleIndex" | "prim::unchecked_cast" if args.len() == 1 => {
                return args.into_iter().next().ok_or_else(|| Error::internal("no argument"));
            }
            _ => {}
        }
        self.overloaded(name, args, named)
    }

    /// `x.to(..)`: those with a device only are nothing here.
    fn to(&mut self, args: Vec<Item>, named: Named) -> Result<Item> {
        let types: Vec<Type> = args.iter().map(|item| item.ty.clone()).collect();
        let named_types: Vec<(Name, Type)> =
            named.iter().map(|(name, item)| (Rc::clone(name), item.ty.clone())).collect();
        let schemas = self.schemas.of("aten::to");
        let found = choose(&schemas, &Given { args: &types, named: &named_types });
        let Some(found) = found.filter(|found| found.schema.overload.starts_with("prim_")) else {
            return self.overloaded("aten::to", args, named);
        };
        let args = self.placed(&found, args, &named)?;
        let call = OperatorCall { found, args };
        let this = call.item(0)?.clone();
        let dtype = match call.named("dtype").map(|item| item.value.clone()) {
            Some(Value::Int(number)) => Some(number),
            _ => match call.named("other").map(|item| item.value.clone()) {
                Some(Value::Tensor(other)) => Some(super::nodes::number_of_dtype(self.dtype(&other)?)),
                _ => None,
            },
        };
        let copies = matches!(call.named("copy").map(|item| &item.value), Some(Value::Bool(true)));
        match dtype {
            Some(number) => {
                let flags = vec![Item::bool(false), Item::bool(copies)];
                let args = [vec![this, Item::int(number)], flags].concat();
                self.overloaded("aten::to", args, Vec::new())
            }
            None if copies => self.overloaded("aten::clone", vec![this], Vec::new()),
            None => Ok(this),
        }
    }

    /// A call of an operator with overloads.
    fn overloaded(&mut self, name: &str, args: Vec<Item>, named: Named) -> Result<Item> {
        let mut integral = versions::asks_for_dtypes(self.version, name);
        for item in args.iter().take(if integral { 2 } else { 0 }) {
            integral &= self.is_integral(item)?;
        }
        let (name, args, named) = versions::adapted(self.version, name, args, named, integral);
        let types: Vec<Type> = args.iter().map(|item| item.ty.clone()).collect();
        let named_types: Vec<(Name, Type)> =
            named.iter().map(|(name, item)| (Rc::clone(name), item.ty.clone())).collect();
        let schemas = self.schemas.of(&name);
        if schemas.is_empty() {
            return self.custom(&name, args, named);
        }
        let given = Given { args: &types, named: &named_types };
        let Some(found) = choose(&schemas, &given) else {
            return Err(no_overload(&name, &schemas, &types, &named_types));
        };
        let args = self.placed(&found, args, &named)?;
        self.run(OperatorCall { found, args })
    }

    /// The arguments in the order of the parameters.
    fn placed(&mut self, found: &Match, args: Vec<Item>, named: &Named) -> Result<Vec<Option<Item>>> {
        if found.schema.takes_all {
            return Ok(args.into_iter().map(Some).collect());
        }
        let mut placed = Vec::with_capacity(found.places.len());
        for (place, param) in found.places.iter().zip(&found.schema.params) {
            placed.push(match place {
                ArgumentPlace::Default => None,
                ArgumentPlace::Position(at) => args.get(*at).cloned(),
                ArgumentPlace::Keyword(at) => named.get(*at).map(|(_, item)| item.clone()),
                ArgumentPlace::Rest(from) => {
                    let rest = args.get(*from..).unwrap_or_default().to_vec();
                    Some(self.list_of(param.ty.element(), rest)?)
                }
            });
        }
        Ok(placed)
    }

    fn run(&mut self, call: OperatorCall) -> Result<Item> {
        if let Some(value) = self.property(&call)? {
            return Ok(Item::new(value, call.returns()));
        }
        if let Some(item) = self.tensor_function(&call)? {
            return Ok(item);
        }
        if let Some(item) = self.quantized_function(&call)? {
            return Ok(item);
        }
        let on_tensors = call.found.schema.params.iter().any(|param| super::super::schemas::has_tensor(&param.ty));
        let (_, short) = call.name().split_once("::").unwrap_or(("", call.name()));
        let is_container = matches!(call.args.first().and_then(Option::as_ref).map(|item| &item.value),
            Some(Value::List(_) | Value::Dict(_)) if !on_tensors || is_list_function(short));
        if (is_container || short == "dict")
            && let Some(item) = self.container_function(&call)?
        {
            return Ok(item);
        }
        if !on_tensors && !call.found.schema.returns_tensors() {
            if let Some(item) = self.string_function(&call)? {
                return Ok(item);
            }
            if let Some(item) = self.container_function(&call)? {
                return Ok(item);
            }
            if let Some(value) = self.number_function(&call)? {
                let returns = call.returns();
                let value = match (&value, &returns) {
                    (Value::Sym(_), Type::Float) => self.as_float(&value)?,
                    _ => coerced(value, &returns),
                };
                return Ok(Item::new(value, returns));
            }
        }
        self.node_of(&call)
    }

    fn raise(&mut self, args: &[Item]) -> Result<Item> {
        self.raised = true;
        let message = match args.first().map(|item| &item.value) {
            Some(Value::Str(text)) => text.to_string(),
            _ => "(no message)".to_owned(),
        };
        Err(Error::unsupported(format!("the model raises an exception for these inputs: {message}")))
    }
}

/// Functions on lists of anything whose schema may name tensors.
fn is_list_function(short: &str) -> bool {
    matches!(
        short,
        "append"
            | "extend"
            | "insert"
            | "pop"
            | "remove"
            | "clear"
            | "reverse"
            | "copy"
            | "list"
            | "len"
            | "slice"
            | "add_"
            | "mul_"
            | "__getitem__"
            | "_set_item"
            | "__contains__"
            | "index"
            | "count"
            | "dict"
            | "keys"
            | "values"
            | "items"
            | "get"
            | "setdefault"
            | "update"
            | "Delete"
            | "popitem"
            | "eq"
            | "ne"
    )
}

/// Python's numbers as a schema says that it returns them.
pub(super) fn coerced(value: Value, ty: &Type) -> Value {
    match (value, ty) {
        (Value::Int(number), Type::Float) => Value::Float(number as f64),
        (Value::Float(number), Type::Int) => Value::Int(number as i64),
        (Value::Bool(flag), Type::Int) => Value::Int(i64::from(flag)),
        (value, _) => value,
    }
}

fn no_overload(name: &str, known: &[Rc<Schema>], types: &[Type], named: &[(Name, Type)]) -> Error {
    let positional = types.iter().map(ToString::to_string);
    let keywords = named.iter().map(|(name, ty)| format!("{name}: {ty}"));
    let given: Vec<String> = positional.chain(keywords).collect();
    let error = Error::input(format!("no overload of `{name}` takes ({})", given.join(", ")));
    let has = |name: &str| known.iter().any(|schema| schema.params.iter().any(|param| param.name == name));
    let unknown = named.iter().find(|(name, _)| !has(name)).map(|(name, _)| format!("none has an argument `{name}`; "));
    let arguments = |schema: &Rc<Schema>| {
        let names: Vec<&str> = schema.params.iter().map(|param| param.name.as_str()).collect();
        format!("`{}({})`", schema.target(), names.join(", "))
    };
    let overloads: Vec<String> = known.iter().take(MOST_OVERLOADS).map(arguments).collect();
    if overloads.is_empty() {
        return error;
    }
    let more = if known.len() > overloads.len() { ", ..." } else { "" };
    error.help(format!(
        "{}the overloads are {}{more}; if a newer PyTorch added or renamed an argument, save with an older one or use a newer aten2onnx",
        unknown.unwrap_or_default(),
        overloads.join(", ")
    ))
}

/// The error for weights that were never saved.
pub fn weights_are_missing() -> Error {
    let message = "its weights are not in the file: `torch.jit.optimize_for_inference` turned them into MKLDNN tensors, \
                   which torch.jit.save drops (torch itself cannot load it: pytorch issue 81085)";
    Error::unsupported(message).help("save the model before `optimize_for_inference`")
}
