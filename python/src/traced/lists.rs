//! Lists as arguments. Their kind follows from all their elements.

use aten2onnx::frontend::pt2::schema::{
    Argument, Float, OptionalTensorArgument, SymBoolArgument, SymFloatArgument, SymIntArgument, TensorArgument,
};
use serde::de::IgnoredAny;

use super::graph::ValueKind;
use super::{Read, Stop};

/// An element of a list.
pub enum Item {
    /// A value by its name.
    Value(String, ValueKind),
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    None,
    List(Vec<Item>),
    Tuple(Vec<Item>),
}

/// The argument for a list that is not empty. The kinds are tried in the order of PyTorch's serializer.
pub fn argument(items: &[Item]) -> Read<Argument<'static>> {
    let known = all(items, Item::bool).map(Argument::AsBools);
    let known = known.or_else(|| all(items, Item::int).map(Argument::AsInts));
    let known = known.or_else(|| all(items, Item::float).map(Argument::AsFloats));
    let known = known.or_else(|| all(items, Item::string).map(Argument::AsStrings));
    let known = known.or_else(|| all(items, Item::sym_int).map(Argument::AsSymInts));
    let known = known.or_else(|| all(items, Item::sym_float).map(Argument::AsSymFloats));
    let known = known.or_else(|| all(items, Item::sym_bool).map(Argument::AsSymBools));
    let known = known.or_else(|| all(items, Item::value).map(Argument::AsTensors));
    let known = known.or_else(|| all(items, |item| all(item.elements()?, Item::value)).map(Argument::AsNestedTensors));
    let known = known.or_else(|| all(items, Item::optional).map(Argument::AsOptionalTensors));
    let known = known.or_else(|| all(items, Item::int_tuple).map(Argument::AsIntLists));
    known.ok_or_else(|| Stop::unknown("a list of this kind"))
}

/// What `of` gives for each element; None if it gives None for one.
fn all<T>(items: &[Item], of: impl Fn(&Item) -> Option<T>) -> Option<Vec<T>> {
    items.iter().map(of).collect()
}

impl Item {
    fn bool(&self) -> Option<bool> {
        if let Item::Bool(flag) = self { Some(*flag) } else { None }
    }

    fn int(&self) -> Option<i64> {
        if let Item::Int(number) = self { Some(*number) } else { None }
    }

    fn float(&self) -> Option<Float> {
        if let Item::Float(number) = self { Some(Float(*number)) } else { None }
    }

    fn string(&self) -> Option<aten2onnx::frontend::pt2::schema::Text<'static>> {
        if let Item::Str(text) = self { Some(text.clone().into()) } else { None }
    }

    fn sym_int(&self) -> Option<SymIntArgument<'static>> {
        match self {
            Item::Int(number) => Some(SymIntArgument::AsInt(*number)),
            Item::Value(name, ValueKind::Int) => Some(SymIntArgument::AsName(name.clone().into())),
            _ => None,
        }
    }

    fn sym_float(&self) -> Option<SymFloatArgument<'static>> {
        match self {
            Item::Float(number) => Some(SymFloatArgument::AsFloat(Float(*number))),
            Item::Value(name, ValueKind::Float) => Some(SymFloatArgument::AsName(name.clone().into())),
            _ => None,
        }
    }

    fn sym_bool(&self) -> Option<SymBoolArgument<'static>> {
        match self {
            Item::Bool(flag) => Some(SymBoolArgument::AsBool(*flag)),
            Item::Value(name, ValueKind::Bool) => Some(SymBoolArgument::AsName(name.clone().into())),
            _ => None,
        }
    }

    /// A value of any kind: operands of higher-order operators are symbolic numbers, too.
    fn value(&self) -> Option<TensorArgument<'static>> {
        if let Item::Value(name, _) = self { Some(TensorArgument { name: name.clone().into() }) } else { None }
    }

    fn optional(&self) -> Option<OptionalTensorArgument<'static>> {
        match self {
            Item::None => Some(OptionalTensorArgument::AsNone(IgnoredAny)),
            _ => self.value().map(OptionalTensorArgument::AsTensor),
        }
    }

    fn elements(&self) -> Option<&[Item]> {
        if let Item::List(items) | Item::Tuple(items) = self { Some(items) } else { None }
    }

    fn int_tuple(&self) -> Option<Vec<i64>> {
        if let Item::Tuple(items) = self { all(items, Item::int) } else { None }
    }
}
