//! The results of a rule, as the translation pass receives them.

use crate::build::Scalar;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Value;

/// One result of a rule.
#[derive(Debug, Clone, PartialEq)]
pub enum Out {
    /// A tensor.
    Tensor(Value),
    /// A list of tensors.
    Tensors(Vec<Value>),
    /// An integer.
    SymInt(SymInt),
    /// A number.
    Scalar(Scalar),
    /// No value for an optional tensor.
    None,
}

/// All results of a rule, in the order of the header.
pub type Outs = Vec<Out>;

macro_rules! from {
    ($($type:ty => |$v:ident| $out:expr),* $(,)?) => {$(
        impl From<$type> for Out {
            fn from($v: $type) -> Out {
                $out
            }
        }
    )*};
}
from! {
    Value => |v| Out::Tensor(v),
    Vec<Value> => |v| Out::Tensors(v),
    Option<Value> => |v| v.map_or(Out::None, Out::Tensor),
    SymInt => |v| Out::SymInt(v),
    i64 => |v| Out::SymInt(SymInt::from(v)),
    Scalar => |v| Out::Scalar(v),
    f64 => |v| Out::Scalar(Scalar::Float(v)),
    bool => |v| Out::Scalar(Scalar::Bool(v)),
}

/// What the body of a rule may return: one result, a tuple, or nothing.
pub trait IntoOuts {
    /// The results in order.
    fn into_outs(self) -> Outs;
}

impl<T: Into<Out>> IntoOuts for T {
    fn into_outs(self) -> Outs {
        vec![self.into()]
    }
}

impl IntoOuts for () {
    fn into_outs(self) -> Outs {
        Vec::new()
    }
}

macro_rules! tuple {
    ($($name:ident)*) => {
        impl<$($name: Into<Out>),*> IntoOuts for ($($name,)*) {
            #[allow(non_snake_case)]
            fn into_outs(self) -> Outs {
                let ($($name,)*) = self;
                vec![$($name.into()),*]
            }
        }
    };
}
tuple!(A);
tuple!(A B);
tuple!(A B C);
tuple!(A B C D);
tuple!(A B C D E);
tuple!(A B C D E F);
tuple!(A B C D E F G);
tuple!(A B C D E F G H);
tuple!(A B C D E F G H I);
