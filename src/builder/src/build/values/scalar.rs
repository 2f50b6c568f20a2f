//! Numbers in rules: known, symbolic, or in the graph.

use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Value;

/// A number. Two numbers are equal if they are *known* to be equal; a number of the graph equals nothing.
#[derive(Debug, Clone)]
pub enum Scalar {
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// A complex number.
    Complex(f64, f64),
    /// A symbolic integer.
    Sym(SymInt),
    /// A 0-dim tensor of the graph.
    Value(Value),
}

impl Scalar {
    /// The integer, known or symbolic; booleans are 0 and 1.
    pub fn as_size(&self) -> Option<SymInt> {
        match self {
            Scalar::Sym(n) => Some(n.clone()),
            Scalar::Int(n) => Some(SymInt::from(*n)),
            Scalar::Bool(b) => Some(SymInt::from(i64::from(*b))),
            _ => None,
        }
    }

    /// The integer, if it is known and has no fraction; booleans are 0 and 1.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Scalar::Int(n) => Some(*n),
            Scalar::Bool(b) => Some((*b).into()),
            Scalar::Float(x) | Scalar::Complex(x, 0.0) => whole(*x),
            Scalar::Sym(n) => n.known(),
            Scalar::Complex(..) | Scalar::Value(_) => None,
        }
    }

    /// The float, if it is known and real.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Scalar::Float(x) | Scalar::Complex(x, 0.0) => Some(*x),
            other => other.as_int().map(|n| n as f64),
        }
    }

    /// Whether it is known to be true, with Python's truth value of numbers.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Scalar::Complex(re, im) => Some(*re != 0.0 || *im != 0.0),
            other => other.as_float().map(|x| x != 0.0),
        }
    }

    /// Whether the number is known.
    pub fn is_known(&self) -> bool {
        match self {
            Scalar::Sym(n) => n.known().is_some(),
            Scalar::Value(_) => false,
            _ => true,
        }
    }

    /// Replaces a constant symbolic integer by a plain one.
    pub(crate) fn simplified(&self) -> Scalar {
        match self {
            Scalar::Sym(n) => n.known().map_or_else(|| self.clone(), Scalar::Int),
            other => other.clone(),
        }
    }
}

/// The integer equal to a float, if there is one.
pub(crate) fn whole(x: f64) -> Option<i64> {
    // 2^63 is the first float out of range.
    let in_range = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&x);
    (in_range && x.fract() == 0.0).then_some(x as i64)
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Scalar) -> bool {
        match (self, other) {
            (Scalar::Sym(a), Scalar::Sym(b)) => a == b,
            (Scalar::Complex(a, b), Scalar::Complex(c, d)) => a == c && b == d,
            _ => match (self.as_int(), other.as_int()) {
                (Some(a), Some(b)) => a == b,
                (None, None) => self.as_float().is_some_and(|a| other.as_float() == Some(a)),
                _ => false,
            },
        }
    }
}

macro_rules! compare {
    ($($type:ty),*) => {$(
        impl PartialEq<$type> for Scalar {
            fn eq(&self, other: &$type) -> bool {
                let other = Scalar::from(*other);
                *self == other
            }
        }
    )*};
}
compare!(i64, f64, bool);

impl From<i64> for Scalar {
    fn from(n: i64) -> Self {
        Scalar::Int(n)
    }
}

impl From<f64> for Scalar {
    fn from(x: f64) -> Self {
        Scalar::Float(x)
    }
}

impl From<bool> for Scalar {
    fn from(b: bool) -> Self {
        Scalar::Bool(b)
    }
}

impl From<SymInt> for Scalar {
    fn from(n: SymInt) -> Self {
        n.known().map_or(Scalar::Sym(n), Scalar::Int)
    }
}

impl From<&SymInt> for Scalar {
    fn from(n: &SymInt) -> Self {
        n.clone().into()
    }
}

impl From<&Scalar> for Scalar {
    fn from(x: &Scalar) -> Self {
        x.clone()
    }
}
