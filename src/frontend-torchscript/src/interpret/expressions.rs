//! Evaluates expressions.

use std::rc::Rc;

use indexmap::IndexMap;

use super::Interpreter;
use super::lists::MAX_LENGTH;
use crate::syntax::{Expr, ExprKind, Name};
use crate::types::Type;
use crate::values::{CellData, Item, Key, Tuple, Value};
use aten2onnx_core::error::{Error, Result};

impl Interpreter<'_, '_> {
    /// The value of an expression.
    pub(super) fn eval(&mut self, expr: &Expr) -> Result<Item> {
        self.nested(|this| this.eval_inner(expr))
    }

    fn eval_inner(&mut self, expr: &Expr) -> Result<Item> {
        match &expr.kind {
            ExprKind::None => Ok(Item::none()),
            ExprKind::Bool(flag) => Ok(Item::bool(*flag)),
            ExprKind::Int(number) => Ok(Item::int(*number)),
            ExprKind::Varying(values) => self.varying(values),
            ExprKind::Float(number) => Ok(Item::float(*number)),
            ExprKind::Complex(re, im) => Ok(Item::new(Value::Complex(*re, *im), Type::Complex)),
            ExprKind::Str(text) => Ok(Item::new(Value::Str(Rc::clone(text)), Type::Str)),
            ExprKind::Name(name) => self.name(name),
            ExprKind::Attribute(object, name) => {
                self.frame_mut()?.at = expr.at;
                self.attribute_of(expr, object, name)
            }
            ExprKind::Call { callee, args, named } => {
                let item = self.call(callee, args, named);
                item.map_err(|error| {
                    if let Ok(frame) = self.frame_mut()
                        && error.place.is_empty()
                    {
                        frame.at = callee.at;
                    }
                    self.located(error)
                })
            }
            ExprKind::Index(object, index) => {
                let object = self.eval(object)?;
                let index = self.eval(index)?;
                self.index(&object, index)
            }
            ExprKind::Slice(object, start, end) => {
                let object = self.eval(object)?;
                self.tuple_slice(&object, start.as_deref(), end.as_deref())
            }
            ExprKind::Tuple(items) => {
                let items = items.iter().map(|item| self.eval(item)).collect::<Result<Vec<Item>>>()?;
                Ok(Item::tuple(items))
            }
            ExprKind::List(items) => {
                let items = items.iter().map(|item| self.eval(item)).collect::<Result<Vec<Item>>>()?;
                self.new_list(items)
            }
            ExprKind::Dict(pairs) => self.new_dict(pairs),
            ExprKind::Neg(inner) => {
                let item = self.eval(inner)?;
                match item.value {
                    Value::Int(number) => Ok(Item::int(number.wrapping_neg())),
                    Value::Float(number) => Ok(Item::float(-number)),
                    Value::Complex(re, im) => Ok(Item::new(Value::Complex(-re, -im), Type::Complex)),
                    _ => self.operator("aten::neg", vec![item], Vec::new()),
                }
            }
        }
    }

    /// A list whose type is that of its elements; an empty one is of tensors.
    pub(super) fn new_list(&mut self, items: Vec<Item>) -> Result<Item> {
        let of = items.first().map_or(Type::Tensor, |item| item.ty.clone());
        self.list_of(of, items)
    }

    /// A list with elements of this type.
    pub(super) fn list_of(&mut self, of: Type, items: Vec<Item>) -> Result<Item> {
        if items.len() > MAX_LENGTH {
            return Err(Error::unsupported("a list is too long"));
        }
        self.charge(items.len())?;
        let cell = self.add(CellData::List(items))?;
        Ok(Item::new(Value::List(cell), Type::list(of)))
    }

    fn new_dict(&mut self, pairs: &[(Expr, Expr)]) -> Result<Item> {
        let mut entries = IndexMap::with_capacity(pairs.len());
        let mut ty = Type::dict(Type::Str, Type::Tensor);
        for (index, (key, value)) in pairs.iter().enumerate() {
            let (key, value) = (self.eval(key)?, self.eval(value)?);
            if index == 0 {
                ty = Type::dict(key.ty.clone(), value.ty.clone());
            }
            let hashed = Key::of(&key.value).ok_or_else(|| unknown_key(&key))?;
            entries.insert(hashed, (key, value));
        }
        Ok(Item::new(Value::Dict(self.add(CellData::Dict(entries))?), ty))
    }

    /// `x[i]`
    fn index(&mut self, object: &Item, index: Item) -> Result<Item> {
        match &object.value {
            Value::Tuple(tuple) => {
                let at = known_index(&index, tuple.items.len())?;
                tuple.items.get(at).cloned().ok_or_else(|| Error::input("a tuple has no such element"))
            }
            Value::Object(cell) => {
                let object = self.object(*cell)?;
                let missing = || Error::input("a container has no such module");
                if let Value::Str(name) = &index.value {
                    return object.attributes.get(name).cloned().ok_or_else(missing);
                }
                let modules = object.attributes.values().filter(|item| matches!(item.value, Value::Object(_)));
                let modules: Vec<Item> = modules.cloned().collect();
                if let Some(choice) = self.choice(&index, modules.clone())? {
                    return Ok(Item::new(Value::Choice(choice), Type::Any));
                }
                let at = known_index(&index, modules.len())?;
                modules.into_iter().nth(at).ok_or_else(missing)
            }
            Value::Str(_) if !matches!(index.value, Value::Str(_)) => {
                self.operator("prim::StringIndex", vec![object.clone(), index], Vec::new())
            }
            _ => self.operator("aten::__getitem__", vec![object.clone(), index], Vec::new()),
        }
    }

    /// `(t)[0:2]`
    fn tuple_slice(&mut self, object: &Item, start: Option<&Expr>, end: Option<&Expr>) -> Result<Item> {
        let Value::Tuple(tuple) = &object.value else {
            return Err(Error::unsupported(format!("{} is sliced by literals", object.value.kind())));
        };
        let len = tuple.items.len();
        let mut bound = |expr: Option<&Expr>, default: usize| match expr {
            None => Ok(default),
            Some(expr) => self.eval(expr).map(|item| clamped(&item, len).unwrap_or(default)),
        };
        let (start, end) = (bound(start, 0)?, bound(end, len)?);
        Ok(Item::tuple(tuple.items.get(start..end.max(start)).unwrap_or_default().to_vec()))
    }

    /// The elements of a tuple or list, which must be so many.
    pub(super) fn unpacked(&mut self, item: &Item, count: usize) -> Result<Vec<Item>> {
        let items = match &item.value {
            Value::Tuple(tuple) => tuple.items.clone(),
            Value::List(_) => {
                let of = item.ty.element();
                self.elements(item)?.into_iter().map(|element| element.typed(of.clone())).collect()
            }
            other => return Err(Error::unsupported(format!("{} is unpacked", other.kind()))),
        };
        match items.len() == count {
            true => Ok(items),
            false => Err(Error::input(format!("{} values are unpacked into {count} names", items.len()))),
        }
    }

    /// An attribute of a value.
    pub(super) fn attribute(&mut self, object: &Item, name: &Name) -> Result<Item> {
        match &object.value {
            Value::Object(cell) => {
                let found = self.object(*cell)?;
                if let Some(item) = found.attributes.get(name) {
                    return Ok(item.clone());
                }
                let class = Rc::clone(&found.class);
                self.constant_of(&class, name)
            }
            Value::Tuple(tuple) => field(tuple, name),
            Value::Enum(member) => match &**name {
                "value" => Ok(member.value.clone()),
                "name" => Ok(Item::str(&member.name)),
                _ => Err(Error::input(format!("an enum has no attribute `{name}`"))),
            },
            Value::Class(class) => {
                let class = self.code.class(class)?;
                self.constant_of(&class, name)
            }
            other => Err(Error::unsupported(format!("{} has no attribute `{name}`", other.kind()))),
        }
    }

    /// `x.a = y`
    pub(super) fn set_attribute(&mut self, object: &Item, name: &Name, value: Item) -> Result<()> {
        let Value::Object(cell) = object.value else {
            return Err(Error::unsupported(format!("an attribute of {} is set", object.value.kind())));
        };
        let declared = self.object(cell)?.attributes.get(name).map(|item| item.ty.clone());
        let declared = match declared {
            Some(ty) => Some(ty),
            None => {
                let tree = Rc::clone(&self.object(cell)?.class.tree);
                let found = tree.attributes.iter().find(|attribute| attribute.name == *name);
                found.and_then(|attribute| attribute.ty.as_ref()).map(Type::read).transpose()?
            }
        };
        let value = match declared {
            Some(ty) => value.typed(ty),
            None => value,
        };
        match self.heap.get_mut(cell) {
            Some(CellData::Object(object)) => object.attributes.insert(Rc::clone(name), value),
            _ => return Err(Error::internal("expected an object")),
        };
        Ok(())
    }
}

fn field(tuple: &Tuple, name: &str) -> Result<Item> {
    let fields = tuple.class.as_ref().map(|class| &class.tree.attributes);
    let at = fields.and_then(|fields| fields.iter().position(|field| &*field.name == name));
    at.and_then(|at| tuple.items.get(at)).cloned().ok_or_else(|| Error::input(format!("a tuple has no field `{name}`")))
}

/// The position that a known index means.
pub(super) fn known_index(index: &Item, len: usize) -> Result<usize> {
    let Value::Int(number) = index.value else {
        let error = Error::unsupported("an element is chosen by a number that is only known at run time");
        return Err(error.help("give the number as a constant: `--input NAME=VALUE`"));
    };
    let at = if number < 0 { number.saturating_add(len as i64) } else { number };
    let at = usize::try_from(at).ok().filter(|at| *at < len);
    at.ok_or_else(|| Error::input(format!("the index {number} is out of range: there are {len} elements")))
}

/// A bound of a slice.
pub(super) fn clamped(item: &Item, len: usize) -> Option<usize> {
    let Value::Int(number) = item.value else { return None };
    let at = if number < 0 { number.saturating_add(len as i64).max(0) } else { number };
    Some(usize::try_from(at).unwrap_or(usize::MAX).min(len))
}

pub(super) fn unknown_key(key: &Item) -> Error {
    Error::unsupported(format!("{} is the key of a dictionary", key.value.kind()))
}
