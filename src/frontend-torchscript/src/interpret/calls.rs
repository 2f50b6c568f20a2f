//! Calls: of operators, functions, methods, constructors, and the functions of the language itself.

use std::rc::Rc;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::{Frame, Interpreter, MAX_CALLS};
use crate::code::{ClassCode, FunctionCode, readable};
use crate::syntax::{Expr, ExprKind, Name};
use crate::types::Type;
use crate::values::{CellData, Item, Object, Tuple, Value};
use aten2onnx_core::error::{Error, Result};

/// Arguments by name.
pub(super) type Named = Vec<(Name, Item)>;

impl Interpreter<'_, '_> {
    /// `callee(args.., named..)`
    pub(super) fn call(&mut self, callee: &Expr, args: &[Expr], named: &[(Name, Expr)]) -> Result<Item> {
        match &callee.kind {
            ExprKind::Name(name) if !self.frame()?.locals.contains_key(name) => self.language(name, args, named),
            ExprKind::Attribute(object, name) => {
                let is_name = |expr: &Expr| matches!(&expr.kind, ExprKind::Name(_));
                if is_name(object) && self.is_global(object, "torch") {
                    return self.torch(callee.at, name, args, named);
                }
                if self.is_global(object, "ops")
                    && let ExprKind::Attribute(_, namespace) = &object.kind
                {
                    let target = format!("{namespace}::{name}");
                    let (args, named) = self.arguments(args, named)?;
                    return self.operator(&target, args, named);
                }
                if self.is_global(object, "torch") {
                    let path = callee.path().unwrap_or_default();
                    return Err(Error::unsupported(format!("`{path}` has no meaning in an exported model")));
                }
                if self.is_global(object, "__torch__") {
                    return self.call_global(callee, object, name, args, named);
                }
                let object = self.eval(object)?;
                let (args, named) = self.arguments(args, named)?;
                self.call_method(&object, name, args, named)
            }
            _ => {
                let callee = self.eval(callee)?;
                let (args, named) = self.arguments(args, named)?;
                self.call_value(&callee, args, named)
            }
        }
    }

    pub(super) fn arguments(&mut self, args: &[Expr], named: &[(Name, Expr)]) -> Result<(Vec<Item>, Named)> {
        let args = args.iter().map(|arg| self.eval(arg)).collect::<Result<Vec<Item>>>()?;
        let named = named.iter().map(|(name, arg)| Ok((Rc::clone(name), self.eval(arg)?)));
        Ok((args, named.collect::<Result<Named>>()?))
    }

    /// `torch.NAME(..)`
    fn torch(&mut self, at: usize, name: &Name, args: &[Expr], named: &[(Name, Expr)]) -> Result<Item> {
        let exprs = (args, named);
        let (args, named) = self.arguments(args, named)?;
        self.note_literals(exprs.0, exprs.1);
        self.frame_mut()?.at = at;
        match (&**name, args.first()) {
            ("device", Some(item)) => Ok(Item::new(item.value.clone(), Type::Device).typed(Type::Device)),
            ("wait", Some(item)) => Ok(item.clone()),
            ("warn", _) => Ok(Item::none()),
            _ => self.operator(&format!("aten::{name}"), args, named),
        }
    }

    /// A call of something under `__torch__`.
    fn call_global(
        &mut self,
        callee: &Expr,
        object: &Expr,
        name: &Name,
        args: &[Expr],
        named: &[(Name, Expr)],
    ) -> Result<Item> {
        if &**name == "__new__" {
            let path = object.path().unwrap_or_default();
            return self.new_object(&path);
        }
        let path = callee.path().unwrap_or_default();
        let target = self.global(&path)?;
        let (args, named) = self.arguments(args, named)?;
        self.call_value(&target, args, named)
    }

    fn new_object(&mut self, class: &str) -> Result<Item> {
        if class.starts_with("__torch__.torch.classes.") {
            let class = readable(class);
            return Err(Error::unsupported(format!(
                "an object of the C++ class `{class}` is made, which has no meaning here"
            )));
        }
        let class = self.code.class(class)?;
        let ty = Type::Class(Rc::clone(&class.name));
        let object = Object { class, attributes: IndexMap::new(), path: None };
        Ok(Item::new(Value::Object(self.add(CellData::Object(object))?), ty))
    }

    /// Calls a value: a function, a class, a module.
    pub(super) fn call_value(&mut self, callee: &Item, args: Vec<Item>, named: Named) -> Result<Item> {
        match &callee.value {
            Value::Function(function) => {
                let function = Rc::clone(function);
                self.call_function(&function, None, args, named)
            }
            Value::Class(class) => {
                let class = self.code.class(class)?;
                self.named_tuple(&class, args, named)
            }
            Value::Object(_) => {
                let is_there = |this: &Self, name: &str| match callee.value {
                    Value::Object(cell) => this.object(cell).is_ok_and(|object| object.class.method(name).is_some()),
                    _ => false,
                };
                let name = if is_there(self, "__call__") { "__call__" } else { "forward" };
                self.call_method(callee, name, args, named)
            }
            other => Err(Error::unsupported(format!("{} is called", other.kind()))),
        }
    }

    fn named_tuple(&mut self, class: &Rc<ClassCode>, args: Vec<Item>, named: Named) -> Result<Item> {
        if !class.has_base("NamedTuple") {
            return Err(Error::unsupported(format!("the class `{}` is called", readable(&class.name))));
        }
        let mut args = args.into_iter();
        let mut items = Vec::with_capacity(class.tree.attributes.len());
        for field in &class.tree.attributes {
            let given =
                args.next().or_else(|| named.iter().find(|(name, _)| *name == field.name).map(|(_, i)| i.clone()));
            let item = match (given, &field.value) {
                (Some(item), _) => item,
                (None, Some(default)) => self.eval(default)?,
                (None, None) => return Err(Error::input(format!("the field `{}` has no value", field.name))),
            };
            items.push(match &field.ty {
                Some(ty) => item.typed(Type::read(ty)?),
                None => item,
            });
        }
        let ty = Type::tuple(items.iter().map(|item| item.ty.clone()).collect());
        Ok(Item::new(Value::Tuple(Rc::new(Tuple { items, class: Some(Rc::clone(class)) })), ty))
    }

    /// Calls a method of an object.
    pub(super) fn call_method(&mut self, object: &Item, name: &str, args: Vec<Item>, named: Named) -> Result<Item> {
        match &object.value {
            Value::Object(cell) => {
                let class = Rc::clone(&self.object(*cell)?.class);
                let Some(method) = class.method(name) else {
                    let class = readable(&class.name);
                    return Err(Error::input(format!("the class `{class}` has no method `{name}`")));
                };
                self.call_function(&method, Some(object.clone()), args, named)
            }
            Value::Tuple(tuple) => {
                let method = tuple.class.as_ref().and_then(|class| class.method(name));
                let method = method.ok_or_else(|| Error::unsupported(format!("a tuple has no method `{name}`")))?;
                self.call_function(&method, Some(object.clone()), args, named)
            }
            Value::Choice(choice) => {
                let call = |this: &mut Self, module: &Item| this.call_method(module, name, args.clone(), named.clone());
                self.chosen(choice, 0, &call)
            }
            Value::Packed(packed) => {
                let packed = Rc::clone(packed);
                self.packed_method(&packed, name)
            }
            other => Err(Error::unsupported(format!("{} has no method `{name}`", other.kind()))),
        }
    }

    /// Runs a function or method.
    pub(super) fn call_function(
        &mut self,
        function: &Rc<FunctionCode>,
        this: Option<Item>,
        args: Vec<Item>,
        named: Named,
    ) -> Result<Item> {
        if self.frames.len() >= MAX_CALLS {
            return Err(Error::unsupported(format!("more than {MAX_CALLS} calls are nested")));
        }
        let (module, class) = match this.as_ref().map(|this| &this.value) {
            Some(Value::Object(cell)) => {
                let object = self.object(*cell)?;
                (object.path.clone(), Some(Rc::clone(&object.class.name)))
            }
            _ => (None, None),
        };
        // Functions and plain objects belong to the module that calls them.
        let caller = self.frames.last().filter(|_| module.is_none());
        let (module, class) = match caller {
            Some(frame) => (frame.module.clone(), frame.class.clone()),
            None => (module, class),
        };
        let mut locals = self.bound(function, this, args, named)?;
        // A function inside of a function sees the variables around it.
        if let Some(outer) = self.frames.last().filter(|_| function.tree.name.starts_with("__forked_function")) {
            for (name, item) in &outer.locals {
                locals.entry(Rc::clone(name)).or_insert_with(|| item.clone());
            }
        }
        let frame = Frame { function: Rc::clone(function), locals, module, class, at: function.tree.at };
        self.frames.push(frame);
        let result = self.nested(|this| this.block(&function.tree.body));
        let result = result.map_err(|error| self.located(error));
        self.frames.pop();
        let returned = result?.unwrap_or_else(Item::none);
        match &function.tree.returns {
            Some(ty) => Ok(returned.typed(Type::read(ty)?)),
            None => Ok(returned),
        }
    }

    /// The variables of a call: parameters with their values.
    fn bound(
        &mut self,
        function: &Rc<FunctionCode>,
        this: Option<Item>,
        args: Vec<Item>,
        named: Named,
    ) -> Result<FxHashMap<Name, Item>> {
        let given = usize::from(this.is_some()) + args.len();
        if given > function.tree.params.len() {
            let message =
                format!("`{}` takes {} arguments, {given} are given", function.tree.name, function.tree.params.len());
            return Err(Error::input(message));
        }
        let mut locals = FxHashMap::default();
        let mut positional = this.into_iter().chain(args);
        for param in &function.tree.params {
            let by_name = || named.iter().find(|(name, _)| *name == param.name).map(|(_, item)| item.clone());
            let item = match (positional.next().or_else(by_name), &param.default) {
                (Some(item), _) => item,
                (None, Some(default)) => self.eval_outside(default)?,
                (None, None) => {
                    let message = format!("the argument `{}` of `{}` is missing", param.name, function.tree.name);
                    return Err(Error::input(message));
                }
            };
            let item = match &param.ty {
                Some(ty) => item.typed(Type::read(ty)?),
                None => item,
            };
            locals.insert(Rc::clone(&param.name), item);
        }
        Ok(locals)
    }

    /// Evaluates a default, which sees no variables.
    pub(super) fn eval_outside(&mut self, expr: &Expr) -> Result<Item> {
        let hidden = self.frames.last_mut().map(|frame| std::mem::take(&mut frame.locals));
        let item = match self.frames.is_empty() {
            true => literal(expr).ok_or_else(|| Error::unsupported("a default is no literal")),
            false => self.eval(expr),
        };
        if let (Some(frame), Some(hidden)) = (self.frames.last_mut(), hidden) {
            frame.locals = hidden;
        }
        item
    }

    /// Functions of the language.
    fn language(&mut self, name: &Name, args: &[Expr], named: &[(Name, Expr)]) -> Result<Item> {
        match (&**name, args) {
            ("annotate", [ty, value]) => self.annotate(ty, value),
            ("unchecked_cast", [ty, value]) => {
                let ty = Type::read(ty)?;
                Ok(self.eval(value)?.typed(ty))
            }
            ("uninitialized", [ty]) => Ok(Item::new(Value::Uninitialized, Type::read(ty)?)),
            ("isinstance", [value, ty]) => self.is_instance(value, ty),
            ("getattr", [object, name]) => {
                let (object, name) = (self.eval(object)?, self.eval(name)?);
                match &name.value {
                    Value::Str(name) => self.attribute(&object, name),
                    other => Err(Error::input(format!("`getattr` is given {}", other.kind()))),
                }
            }
            ("fork" | "awaitable", [function, rest @ ..]) => {
                let function = self.eval(function)?;
                let (args, named) = self.arguments(rest, named)?;
                self.call_value(&function, args, named)
            }
            ("print", _) => Ok(Item::none()),
            ("int" | "float" | "bool" | "str" | "complex", _) => {
                let (args, named) = self.arguments(args, named)?;
                let target = match &**name {
                    "int" => "aten::Int",
                    "float" => "aten::Float",
                    "bool" => "aten::Bool",
                    "complex" => "aten::Complex",
                    _ => "aten::str",
                };
                self.operator(target, args, named)
            }
            ("range" | "sorted", _) => {
                let (args, named) = self.arguments(args, named)?;
                let target = if &**name == "range" { "prim::rangelist" } else { "aten::sorted" };
                self.operator(target, args, named)
            }
            _ => Err(Error::unsupported(format!("the function `{name}` is not known"))),
        }
    }

    /// `annotate(T, x)`: a type for an empty list, or the conversion of a tensor to a number.
    fn annotate(&mut self, ty: &Expr, value: &Expr) -> Result<Item> {
        let ty = Type::read(ty)?;
        // `annotate(List[float], x.tolist())`
        if let ExprKind::Call { callee, args, .. } = &value.kind
            && let ExprKind::Attribute(object, name) = &callee.kind
            && &**name == "tolist"
            && args.is_empty()
        {
            let tensor = self.eval(object)?;
            return self.listed(&tensor, ty);
        }
        let item = self.eval(value)?;
        let target = match (&item.value, &ty) {
            (Value::Tensor(_), Type::Int) => "aten::IntImplicit",
            (Value::Tensor(_), Type::Float) => "aten::FloatImplicit",
            (Value::Tensor(_), Type::Number) => "aten::ScalarImplicit",
            _ => return Ok(item.typed(ty)),
        };
        self.operator(target, vec![item], Vec::new())
    }

    fn is_instance(&mut self, value: &Expr, ty: &Expr) -> Result<Item> {
        let item = self.eval(value)?;
        let wanted = match &ty.kind {
            ExprKind::Tuple(types) => types.iter().map(Type::read).collect::<Result<Vec<Type>>>()?,
            _ => vec![Type::read(ty)?],
        };
        for ty in &wanted {
            if self.is_of(&item, ty)? {
                return Ok(Item::bool(true));
            }
        }
        Ok(Item::bool(false))
    }
}

/// The value of a literal.
fn literal(expr: &Expr) -> Option<Item> {
    Some(match &expr.kind {
        ExprKind::None => Item::none(),
        ExprKind::Bool(flag) => Item::bool(*flag),
        ExprKind::Int(number) => Item::int(*number),
        ExprKind::Float(number) => Item::float(*number),
        ExprKind::Str(text) => Item::str(text),
        _ => return None,
    })
}
