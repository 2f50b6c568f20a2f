//! Functions on real numbers or booleans in expressions: `TruncToInt(1.5*s0)`.
//!
//! A real number or boolean is also represented by a [`SymInt`], whose only atom is such a function; it only occurs
//! among the arguments of another function, the outermost of which returns an integer.

use super::{Atom, Function, SymInt};

/// A function on integers, real numbers and booleans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Special {
    /// A real number, as the bits of its `f64`.
    Number(u64),
    /// A sum of real numbers.
    Add,
    /// A product of real numbers.
    Mul,
    /// A quotient without rounding.
    Div,
    /// A power of real numbers.
    Pow,
    /// The minimum of real numbers.
    Min,
    /// The maximum of real numbers.
    Max,
    /// Converts an integer to a real number.
    ToFloat,
    /// A function of one real number.
    Unary(Unary),
    /// Truncation to a real number.
    TruncToFloat,
    /// Truncation to an integer.
    TruncToInt,
    /// The largest integer that is not greater.
    FloorToInt,
    /// The smallest integer that is not less.
    CeilToInt,
    /// The nearest integer; ties go to the even one.
    RoundToInt,
    /// The bitwise `and` of two integers.
    BitAnd,
    /// The bitwise `or` of two integers.
    BitOr,
    /// The bitwise `xor` of two integers.
    BitXor,
    /// Condition and two integers to select from.
    Where,
    /// Condition and two real numbers to select from.
    WhereReal,
    /// A relation of two numbers.
    Relation(Relation),
    /// The conjunction of booleans.
    And,
    /// The disjunction of booleans.
    Or,
    /// The negation of a boolean.
    Not,
}

/// Functions of one real number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Unary {
    Sqrt,
    Exp,
    Log,
    Log2,
    Sin,
    Cos,
    Tan,
    Sinh,
    Cosh,
    Tanh,
    Asin,
    Acos,
    Atan,
    Asinh,
}

/// The relation of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Relation {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The type of a function's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An integer.
    Int,
    /// A real number.
    Real,
    /// A boolean: 0 or 1.
    Truth,
}

/// The functions of one real number with their names in Python.
pub const UNARY: &[(&str, Unary)] = &[
    ("sqrt", Unary::Sqrt),
    ("exp", Unary::Exp),
    ("log", Unary::Log),
    ("log2", Unary::Log2),
    ("sin", Unary::Sin),
    ("cos", Unary::Cos),
    ("tan", Unary::Tan),
    ("sinh", Unary::Sinh),
    ("cosh", Unary::Cosh),
    ("tanh", Unary::Tanh),
    ("asin", Unary::Asin),
    ("acos", Unary::Acos),
    ("atan", Unary::Atan),
    ("asinh", Unary::Asinh),
];

impl Unary {
    /// The name in Python.
    pub fn name(self) -> &'static str {
        UNARY.iter().find(|(_, unary)| *unary == self).map_or("", |(name, _)| name)
    }

    fn eval(self, x: f64) -> f64 {
        match self {
            Unary::Sqrt => x.sqrt(),
            Unary::Exp => x.exp(),
            Unary::Log => x.ln(),
            Unary::Log2 => x.log2(),
            Unary::Sin => x.sin(),
            Unary::Cos => x.cos(),
            Unary::Tan => x.tan(),
            Unary::Sinh => x.sinh(),
            Unary::Cosh => x.cosh(),
            Unary::Tanh => x.tanh(),
            Unary::Asin => x.asin(),
            Unary::Acos => x.acos(),
            Unary::Atan => x.atan(),
            Unary::Asinh => x.asinh(),
        }
    }
}

impl Relation {
    /// The operator in Python.
    pub fn sign(self) -> &'static str {
        match self {
            Relation::Equal => "==",
            Relation::Unequal => "!=",
            Relation::Less => "<",
            Relation::LessOrEqual => "<=",
            Relation::Greater => ">",
            Relation::GreaterOrEqual => ">=",
        }
    }

    fn eval(self, a: f64, b: f64) -> bool {
        match self {
            Relation::Equal => a == b,
            Relation::Unequal => a != b,
            Relation::Less => a < b,
            Relation::LessOrEqual => a <= b,
            Relation::Greater => a > b,
            Relation::GreaterOrEqual => a >= b,
        }
    }
}

impl Special {
    /// A real number.
    pub fn number(x: f64) -> Special {
        Special::Number(x.to_bits())
    }

    /// The type of the result.
    pub fn kind(self) -> Kind {
        match self {
            Special::TruncToInt | Special::FloorToInt | Special::CeilToInt | Special::RoundToInt => Kind::Int,
            Special::BitAnd | Special::BitOr | Special::BitXor | Special::Where => Kind::Int,
            Special::Relation(_) | Special::And | Special::Or | Special::Not => Kind::Truth,
            _ => Kind::Real,
        }
    }

    /// Whether it is nonnegative if all its arguments are.
    pub(super) fn keeps_sign(self) -> bool {
        match self {
            Special::Number(bits) => f64::from_bits(bits) >= 0.0,
            Special::Unary(unary) => {
                matches!(unary, Unary::Sqrt | Unary::Exp | Unary::Sinh | Unary::Tanh | Unary::Atan)
            }
            _ => true,
        }
    }

    /// The value, if it is an integer.
    pub(super) fn eval(self, args: &[SymInt], f: &dyn Fn(&str) -> Option<i64>) -> Option<i128> {
        let int = |at: usize| args.get(at)?.eval_with(f);
        match self {
            Special::BitAnd => Some(i128::from(int(0)? & int(1)?)),
            Special::BitOr => Some(i128::from(int(0)? | int(1)?)),
            Special::BitXor => Some(i128::from(int(0)? ^ int(1)?)),
            Special::Where => Some(i128::from(if real(args.first()?, f)? != 0.0 { int(1)? } else { int(2)? })),
            _ => {
                let value = self.eval_real(args, f)?;
                // A size must fit in 64 bits.
                (value.abs() < 9.2e18).then_some(value as i128)
            }
        }
    }

    fn eval_real(self, args: &[SymInt], f: &dyn Fn(&str) -> Option<i64>) -> Option<f64> {
        let values = args.iter().map(|arg| real(arg, f)).collect::<Option<Vec<f64>>>()?;
        let value = match (self, values.as_slice()) {
            (Special::Number(bits), _) => f64::from_bits(bits),
            (Special::Add, values) => values.iter().sum(),
            (Special::Mul, values) => values.iter().product(),
            (Special::Div, [a, b]) => a / b,
            (Special::Pow, [a, b]) => a.powf(*b),
            (Special::Min, [first, rest @ ..]) => rest.iter().fold(*first, |a, b| a.min(*b)),
            (Special::Max, [first, rest @ ..]) => rest.iter().fold(*first, |a, b| a.max(*b)),
            (Special::ToFloat, [a]) => *a,
            (Special::Unary(unary), [a]) => unary.eval(*a),
            (Special::TruncToFloat | Special::TruncToInt, [a]) => a.trunc(),
            (Special::FloorToInt, [a]) => a.floor(),
            (Special::CeilToInt, [a]) => a.ceil(),
            (Special::RoundToInt, [a]) => a.round_ties_even(),
            (Special::WhereReal, [c, a, b]) => *if *c != 0.0 { a } else { b },
            (Special::Relation(relation), [a, b]) => f64::from(relation.eval(*a, *b)),
            (Special::And, values) => f64::from(values.iter().all(|value| *value != 0.0)),
            (Special::Or, values) => f64::from(values.iter().any(|value| *value != 0.0)),
            (Special::Not, [a]) => f64::from(*a == 0.0),
            _ => return None,
        };
        value.is_finite().then_some(value)
    }
}

/// The value of an argument as a real number.
fn real(n: &SymInt, f: &dyn Fn(&str) -> Option<i64>) -> Option<f64> {
    match n.as_special() {
        Some((special, args)) if special.kind() != Kind::Int => special.eval_real(args, f),
        _ => n.eval_with(f).map(|n| n as f64),
    }
}

impl SymInt {
    /// Applies a special function; evaluates it if it returns an integer and the arguments are known.
    pub fn special(special: Special, args: Vec<SymInt>) -> SymInt {
        let known = special.eval(&args, &|_| None).and_then(|value| i64::try_from(value).ok());
        match known {
            Some(known) if special.kind() == Kind::Int => SymInt::from(known),
            _ => SymInt::opaque(Function::Special(special), args),
        }
    }

    /// The function and its arguments, if this is a single special function.
    pub fn as_special(&self) -> Option<(Special, &[SymInt])> {
        match self.only_atom()? {
            Atom::Function(Function::Special(special), args) => Some((*special, args)),
            _ => None,
        }
    }
}
