//! Values of arguments, and of interpreted rules: one enum for all types of opmap.

use std::any::Any;
use std::rc::Rc;

use crate::support::Show;
use aten2onnx_builder::{Graph, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Value;

/// A value. An optional one is [`Val::None`] or the value itself, because no type of opmap is optional twice.
#[derive(Debug, Clone)]
pub enum Val {
    /// `Tensor`
    Tensor(Value),
    /// `int`
    Int(i64),
    /// `float`
    Float(f64),
    /// `bool`
    Bool(bool),
    /// `str`
    Str(String),
    /// `Scalar`
    Scalar(Scalar),
    /// `SymInt`
    SymInt(SymInt),
    /// `ScalarType`
    Dtype(Dtype),
    /// A body of the model.
    Graph(Graph),
    /// A closure of an interpreted rule.
    Closure(Rc<dyn Any>),
    /// `T[]`, shared: an element is taken without a copy of the list.
    List(Rc<Vec<Val>>),
    /// `(A, B)`
    Tuple(Vec<Val>),
    /// `None`, and values that are not used: a layout, a device.
    None,
}

/// A bug of the checker, which should have rejected the rule.
pub(crate) fn mismatch(wanted: &str, found: &Val) -> Error {
    Error::internal(format!("expected {wanted}, found {found:?}"))
}

impl Val {
    /// A list.
    pub(crate) fn list(items: Vec<Val>) -> Val {
        Val::List(Rc::new(items))
    }
}

/// The text in the reason of a refusal.
impl Show for Val {
    fn text(&self) -> String {
        match self {
            Val::Int(n) => n.text(),
            Val::Float(x) => x.text(),
            Val::Bool(b) => b.text(),
            Val::Str(s) => s.text(),
            Val::Scalar(number) => number.text(),
            Val::SymInt(n) => n.text(),
            Val::Dtype(dtype) => dtype.text(),
            Val::List(items) => items.text(),
            Val::Tuple(items) => items.text(),
            Val::None => "None".to_owned(),
            Val::Tensor(_) => "a tensor".to_owned(),
            Val::Graph(_) | Val::Closure(_) => "a graph".to_owned(),
        }
    }
}

/// Converts values of the interpreter to Rust types.
pub trait FromVal: Sized {
    /// The value as this type.
    fn from_val(value: Val) -> Result<Self>;
}

macro_rules! plain {
    ($($variant:ident: $type:ty),* $(,)?) => {$(
        impl From<$type> for Val {
            fn from(value: $type) -> Val {
                Val::$variant(value)
            }
        }

        impl FromVal for $type {
            fn from_val(value: Val) -> Result<Self> {
                match value {
                    Val::$variant(value) => Ok(value),
                    other => Err(mismatch(stringify!($type), &other)),
                }
            }
        }
    )*};
}
plain!(Tensor: Value, Int: i64, Float: f64, Bool: bool, Str: String, Scalar: Scalar, SymInt: SymInt, Dtype: Dtype, Graph: Graph);

impl<T: Into<Val>> From<Vec<T>> for Val {
    fn from(items: Vec<T>) -> Val {
        Val::List(Rc::new(items.into_iter().map(Into::into).collect()))
    }
}

impl<T: FromVal> FromVal for Vec<T> {
    fn from_val(value: Val) -> Result<Self> {
        match value {
            Val::List(items) => Rc::unwrap_or_clone(items).into_iter().map(T::from_val).collect(),
            other => Err(mismatch("a list", &other)),
        }
    }
}

impl<T: Into<Val>> From<Option<T>> for Val {
    fn from(value: Option<T>) -> Val {
        value.map_or(Val::None, Into::into)
    }
}

impl<T: FromVal> FromVal for Option<T> {
    fn from_val(value: Val) -> Result<Self> {
        match value {
            Val::None => Ok(None),
            value => T::from_val(value).map(Some),
        }
    }
}

macro_rules! tuple {
    ($($name:ident)*) => {
        impl<$($name: Into<Val>),*> From<($($name,)*)> for Val {
            #[allow(non_snake_case)]
            fn from(($($name,)*): ($($name,)*)) -> Val {
                Val::Tuple(vec![$($name.into()),*])
            }
        }

        impl<$($name: FromVal),*> FromVal for ($($name,)*) {
            fn from_val(value: Val) -> Result<Self> {
                let mut parts = CallArgs::new(match value {
                    Val::Tuple(parts) => parts,
                    other => return Err(mismatch("a tuple", &other)),
                });
                Ok(($(parts.take::<$name>()?,)*))
            }
        }
    };
}
tuple!(A B);
tuple!(A B C);
tuple!(A B C D);

/// The arguments of a rule or an `extern fn`, read one by one.
#[derive(Debug)]
pub struct CallArgs(std::vec::IntoIter<Val>);

impl CallArgs {
    pub(crate) fn new(values: Vec<Val>) -> CallArgs {
        CallArgs(values.into_iter())
    }

    /// The next argument.
    pub fn take<T: FromVal>(&mut self) -> Result<T> {
        T::from_val(self.0.next().ok_or_else(|| Error::internal("too few arguments"))?)
    }
}
