//! The parameters of a `map` as data, and the arguments of a call in their types: one reader for compiled and interpreted rules.

use super::value::{CallArgs, Val};
use aten2onnx_builder::{Args, Builder, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;

/// A parameter of a compiled rule.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// `alpha`
    pub name: &'static str,
    /// Its type, or that of the elements of a list.
    pub kind: Kind,
    /// Whether it is a list or optional.
    pub shape: Shape,
    /// The 2 of `int[2]`: a single number stands for a list of this size.
    pub size: Option<usize>,
    /// Its value where a call leaves it out.
    pub default: Option<Default>,
}

/// The type of a parameter or of its elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    Tensor,
    Int,
    Float,
    Bool,
    Str,
    Scalar,
    SymInt,
    Dtype,
}

/// How values of a kind make up a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `T`
    One,
    /// `T?`
    Optional,
    /// `T[]`
    List,
    /// `T?[]`
    OptionalItems,
    /// `T[]?`
    OptionalList,
}

/// The default of a parameter. Numbers become the kind of the parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub enum Default {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(&'static str),
    Dtype(Dtype),
    List(&'static [Default]),
}

/// For generated code: a parameter that every call gives.
pub const fn given(name: &'static str, kind: Kind, shape: Shape) -> Param {
    Param { name, kind, shape, size: None, default: None }
}

/// For generated code: a parameter with a default.
pub const fn omitted(name: &'static str, kind: Kind, shape: Shape, default: Default) -> Param {
    Param { name, kind, shape, size: None, default: Some(default) }
}

/// For generated code: a list for whose elements a single number stands.
pub const fn sized(param: Param, size: usize) -> Param {
    Param { size: Some(size), ..param }
}

/// The arguments of a call in the types of the parameters.
///
/// # Errors
/// An argument is missing or of another type.
pub fn call_args(cx: &mut Builder, params: &[Param], args: &Args) -> Result<CallArgs> {
    let mut values = Vec::with_capacity(params.len());
    for param in params {
        values.push(match param.default {
            Some(default) if !args.has(param.name) => default_value(default, param.kind),
            _ => argument(cx, args, param.name, param.kind, param.shape, param.size)?,
        });
    }
    Ok(CallArgs::new(values))
}

fn default_value(default: Default, kind: Kind) -> Val {
    match (default, kind) {
        (Default::None, _) => Val::None,
        (Default::Int(n), Kind::SymInt) => SymInt::from(n).into(),
        (Default::Int(n), Kind::Scalar) => Scalar::Int(n).into(),
        (Default::Int(n), Kind::Float) => (n as f64).into(),
        (Default::Int(n), _) => n.into(),
        (Default::Float(x), Kind::Scalar) => Scalar::Float(x).into(),
        (Default::Float(x), _) => x.into(),
        (Default::Bool(b), Kind::Scalar) => Scalar::Bool(b).into(),
        (Default::Bool(b), _) => b.into(),
        (Default::Str(text), _) => text.to_owned().into(),
        (Default::Dtype(dtype), _) => dtype.into(),
        (Default::List(items), _) => Val::list(items.iter().map(|item| default_value(*item, kind)).collect()),
    }
}

/// Reads one argument of a call.
pub(crate) fn argument(
    cx: &mut Builder,
    args: &Args,
    name: &str,
    kind: Kind,
    shape: Shape,
    size: Option<usize>,
) -> Result<Val> {
    let is_none = args.get(name).is_none();
    match shape {
        Shape::Optional | Shape::OptionalList if is_none => return Ok(Val::None),
        _ => {}
    }
    Ok(match (shape, kind) {
        (Shape::One | Shape::Optional, Kind::Tensor) => args.tensor(cx, name)?.into(),
        (Shape::One | Shape::Optional, Kind::Int) => args.int(cx, name)?.into(),
        (Shape::One | Shape::Optional, Kind::Float) => args.float(cx, name)?.into(),
        (Shape::One | Shape::Optional, Kind::Bool) => args.bool(cx, name)?.into(),
        (Shape::One | Shape::Optional, Kind::Str) => args.str(cx, name)?.into(),
        (Shape::One | Shape::Optional, Kind::Scalar) => args.scalar(cx, name)?.into(),
        (Shape::One | Shape::Optional, Kind::SymInt) => args.sym_int(cx, name)?.into(),
        (Shape::One | Shape::Optional, Kind::Dtype) => args.dtype(cx, name)?.into(),
        (Shape::OptionalItems, _) => args.optional_tensors(cx, name)?.into(),
        (Shape::List | Shape::OptionalList, Kind::Tensor) => args.tensors(cx, name)?.into(),
        (Shape::List | Shape::OptionalList, Kind::Int) => args.ints(cx, name, size)?.into(),
        (Shape::List | Shape::OptionalList, Kind::SymInt) => args.sym_ints(cx, name, size)?.into(),
        (Shape::List | Shape::OptionalList, Kind::Float) => args.floats(cx, name, size)?.into(),
        (Shape::List | Shape::OptionalList, Kind::Bool) => args.bools(cx, name, size)?.into(),
        (Shape::List | Shape::OptionalList, Kind::Scalar) => args.scalars(cx, name)?.into(),
        (Shape::List | Shape::OptionalList, Kind::Str | Kind::Dtype) => args.strs(cx, name)?.into(),
    })
}
