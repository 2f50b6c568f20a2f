//! What names and dotted names stand for: locals first, then constants, functions, classes and their members.

use std::rc::Rc;

use super::Interpreter;
use crate::code::{ClassCode, Definition, readable};
use crate::objects::members;
use crate::syntax::{Expr, ExprKind, Name};
use crate::types::Type;
use crate::values::{Item, Value};
use aten2onnx_core::error::{Error, Result};

impl Interpreter<'_, '_> {
    /// A local variable, or a name of the language.
    pub(super) fn name(&mut self, name: &Name) -> Result<Item> {
        if let Some(item) = self.frame()?.locals.get(name) {
            return match &item.value {
                Value::Broken(error) => Err((**error).clone()),
                _ => Ok(item.clone()),
            };
        }
        match &**name {
            "inf" => Ok(Item::float(f64::INFINITY)),
            "nan" => Ok(Item::float(f64::NAN)),
            _ => Err(Error::input(format!("the name `{name}` is used before it has a value"))),
        }
    }

    /// Whether the expression starts with this name, which no local variable hides.
    pub(super) fn is_global(&self, expr: &Expr, wanted: &str) -> bool {
        match &expr.kind {
            ExprKind::Name(name) => {
                &**name == wanted && self.frames.last().is_none_or(|f| !f.locals.contains_key(name))
            }
            ExprKind::Attribute(object, _) => self.is_global(object, wanted),
            _ => false,
        }
    }

    /// `object.name`
    pub(super) fn attribute_of(&mut self, expr: &Expr, object: &Expr, name: &Name) -> Result<Item> {
        if self.is_global(expr, "CONSTANTS") {
            let number = name.strip_prefix('c').and_then(|number| number.parse::<usize>().ok());
            let item = number.and_then(|number| self.constants.get(number)).cloned();
            let item = item.ok_or_else(|| Error::input(format!("the archive has no constant `{name}`")))?;
            self.note_constant(&item);
            return Ok(item);
        }
        if self.is_global(expr, "__torch__")
            && let Some(path) = expr.path()
        {
            return self.global(&path);
        }
        let object = self.eval(object)?;
        self.attribute(&object, name)
    }

    /// A function, a class, or a member of a class, by its qualified name.
    pub(super) fn global(&mut self, path: &str) -> Result<Item> {
        match self.code.find(path)? {
            Some(Definition::Function(function)) => Ok(Item::new(Value::Function(function), Type::Function)),
            Some(Definition::Class(class)) => Ok(Item::new(Value::Class(Rc::clone(&class.name)), Type::Function)),
            None => {
                let Some((owner, name)) = path.rsplit_once('.') else {
                    return Err(Error::input(format!("`{path}` is not defined")));
                };
                let class = self.code.class(owner)?;
                if class.has_base("Enum") {
                    let member = members(&class).into_iter().find(|member| &*member.name == name);
                    let member = member.ok_or_else(|| Error::input(format!("`{}` is not defined", readable(path))))?;
                    let ty = Type::Class(Rc::clone(&class.name));
                    return Ok(Item::new(Value::Enum(Rc::new(member)), ty));
                }
                if let Some(method) = class.method(name) {
                    return Ok(Item::new(Value::Function(method), Type::Function));
                }
                self.constant_of(&class, &Rc::from(name))
            }
        }
    }

    /// A constant of a class, which all objects share.
    pub(super) fn constant_of(&mut self, class: &Rc<ClassCode>, name: &Name) -> Result<Item> {
        let key = (Rc::clone(&class.name), Rc::clone(name));
        if let Some(known) = self.finals.get(&key) {
            return Ok(known.clone());
        }
        let found = class.tree.attributes.iter().find(|attribute| attribute.name == *name);
        let item = match found.map(|attribute| (&attribute.value, &attribute.ty)) {
            Some((Some(value), Some(ty))) => self.eval(value)?.typed(Type::read(ty)?),
            Some((Some(value), None)) => self.eval(value)?,
            Some((None, Some(ty))) if matches!(Type::read(ty)?, Type::None) => Item::none(),
            _ => {
                let class = readable(&class.name);
                return Err(Error::input(format!("an object of the class `{class}` has no attribute `{name}`")));
            }
        };
        self.finals.insert(key, item.clone());
        Ok(item)
    }
}
