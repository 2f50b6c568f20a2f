//! Functions of sympy and torch in symbolic expressions, mapped to [`SymInt`].

use aten2onnx_core::sym::{Kind, Relation, Special, SymInt, UNARY};

/// A part of an expression.
#[derive(Debug, Clone)]
pub struct Number {
    /// Real numbers and booleans are special functions.
    pub value: SymInt,
    /// Its type.
    pub kind: Kind,
}

impl Number {
    /// An integer.
    pub fn int(value: SymInt) -> Number {
        Number { value, kind: Kind::Int }
    }

    /// A real number.
    pub fn real(value: f64) -> Number {
        Number { value: SymInt::special(Special::number(value), Vec::new()), kind: Kind::Real }
    }

    /// `true` or `false`.
    pub fn truth(name: &str) -> Option<Number> {
        let value = match name {
            "true" => 1,
            "false" => 0,
            _ => return None,
        };
        Some(Number { value: SymInt::from(value), kind: Kind::Truth })
    }

    fn special(special: Special, args: &[Number]) -> Number {
        let args = args.iter().map(|arg| arg.value.clone()).collect();
        Number { value: SymInt::special(special, args), kind: special.kind() }
    }
}

/// Applies a function; None if it is unknown or does not accept the arguments.
pub fn function(name: &str, args: &[Number]) -> Option<Number> {
    let all = |kind: Kind| args.iter().all(|arg| arg.kind == kind);
    let ints: Vec<SymInt> = args.iter().map(|arg| arg.value.clone()).collect();
    if all(Kind::Int)
        && let Some(value) = of_ints(name, &ints)
    {
        return Some(Number::int(value));
    }
    match (name, args) {
        ("ExprCondPair", [_, condition]) if condition.kind == Kind::Truth => Some(pair(args)),
        ("Piecewise", _) => piecewise(args),
        ("Where", [condition, yes, no]) if condition.kind == Kind::Truth => conditional(condition, yes, no),
        ("And", [_, ..]) if all(Kind::Truth) => Some(Number::special(Special::And, args)),
        ("Or", [_, ..]) if all(Kind::Truth) => Some(Number::special(Special::Or, args)),
        ("Not", [_]) if all(Kind::Truth) => Some(Number::special(Special::Not, args)),
        _ if args.iter().any(|arg| arg.kind == Kind::Truth) => None,
        _ => special(name, args.len()).map(|special| Number::special(special, args)),
    }
}

/// A function from integers to an integer.
fn of_ints(name: &str, args: &[SymInt]) -> Option<SymInt> {
    let fold = |f: fn(&SymInt, &SymInt) -> SymInt| {
        let (first, rest) = args.split_first()?;
        Some(rest.iter().fold(first.clone(), |value, arg| f(&value, arg)))
    };
    match (name, args) {
        ("Add", _) => fold(SymInt::add),
        ("Mul", _) => fold(SymInt::mul),
        ("Max", _) => fold(SymInt::max),
        ("Min", _) => fold(SymInt::min),
        ("FloorDiv" | "CleanDiv", [a, b]) => Some(a.floor_div(b)),
        ("CeilDiv", [a, b]) => Some(a.ceil_div(b)),
        ("Mod" | "PythonMod", [a, b]) => Some(a.modulo(b)),
        ("ModularIndexing", [a, b, c]) => Some(a.floor_div(b).modulo(c)),
        // With a negative exponent it would be a fraction.
        ("Pow" | "PowByNatural", [a, b]) if b.known().is_some_and(|power| power >= 0) => Some(a.pow(b)),
        ("PowByNatural", [a, b]) => Some(a.pow(b)),
        ("LShift", [a, b]) => Some(a.mul(&SymInt::from(2).pow(b))),
        ("RShift", [a, b]) => Some(a.floor_div(&SymInt::from(2).pow(b))),
        ("Abs", [a]) => Some(a.max(&a.neg())),
        ("Identity" | "TruncToInt" | "FloorToInt" | "CeilToInt" | "RoundToInt" | "floor" | "ceiling", [a]) => {
            Some(a.clone())
        }
        ("BitwiseFn_bitwise_and", [_, _]) => Some(SymInt::special(Special::BitAnd, args.to_vec())),
        ("BitwiseFn_bitwise_or", [_, _]) => Some(SymInt::special(Special::BitOr, args.to_vec())),
        ("BitwiseFn_bitwise_xor", [_, _]) => Some(SymInt::special(Special::BitXor, args.to_vec())),
        _ => None,
    }
}

/// A function on real numbers.
fn special(name: &str, count: usize) -> Option<Special> {
    if let Some(unary) = name.strip_prefix("OpaqueUnaryFn_").filter(|_| count == 1) {
        return UNARY.iter().find(|(name, _)| *name == unary).map(|(_, unary)| Special::Unary(*unary));
    }
    Some(match (name, count) {
        ("Add", 1..) => Special::Add,
        ("Mul", 1..) => Special::Mul,
        ("Max", 1..) => Special::Max,
        ("Min", 1..) => Special::Min,
        ("Pow" | "FloatPow", 2) => Special::Pow,
        ("IntTrueDiv" | "FloatTrueDiv", 2) => Special::Div,
        ("ToFloat" | "Identity", 1) => Special::ToFloat,
        ("TruncToFloat", 1) => Special::TruncToFloat,
        ("TruncToInt", 1) => Special::TruncToInt,
        ("FloorToInt" | "floor", 1) => Special::FloorToInt,
        ("CeilToInt" | "ceiling", 1) => Special::CeilToInt,
        ("RoundToInt", 1) => Special::RoundToInt,
        ("Equality", 2) => Special::Relation(Relation::Equal),
        ("Unequality", 2) => Special::Relation(Relation::Unequal),
        ("StrictLessThan", 2) => Special::Relation(Relation::Less),
        ("LessThan", 2) => Special::Relation(Relation::LessOrEqual),
        ("StrictGreaterThan", 2) => Special::Relation(Relation::Greater),
        ("GreaterThan", 2) => Special::Relation(Relation::GreaterOrEqual),
        _ => return None,
    })
}

fn conditional(condition: &Number, yes: &Number, no: &Number) -> Option<Number> {
    if let Some(known) = condition.value.known() {
        return Some(if known != 0 { yes.clone() } else { no.clone() });
    }
    let special = match (yes.kind, no.kind) {
        (Kind::Truth, _) | (_, Kind::Truth) => return None,
        (Kind::Int, Kind::Int) => Special::Where,
        _ => Special::WhereReal,
    };
    Some(Number::special(special, &[condition.clone(), yes.clone(), no.clone()]))
}

/// A value and its condition, for [`piecewise`] only: a conditional without an alternative.
fn pair(args: &[Number]) -> Number {
    let value = SymInt::special(Special::And, args.iter().map(|arg| arg.value.clone()).collect());
    Number { value, kind: args.first().map_or(Kind::Int, |value| value.kind) }
}

fn piecewise(pairs: &[Number]) -> Option<Number> {
    let mut result: Option<Number> = None;
    for pair in pairs.iter().rev() {
        let Some((Special::And, [value, condition])) = pair.value.as_special() else { return None };
        let value = Number { value: value.clone(), kind: pair.kind };
        let condition = Number { value: condition.clone(), kind: Kind::Truth };
        result = match result {
            None => (condition.value.known() == Some(1)).then_some(value),
            Some(no) => conditional(&condition, &value, &no),
        };
        result.as_ref()?;
    }
    result
}
