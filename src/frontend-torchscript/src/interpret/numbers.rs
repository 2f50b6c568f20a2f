//! Operators on numbers, with the semantics of Python. Integers that depend on sizes stay expressions; other numbers that
//! depend on data become nodes.

use super::Interpreter;
use super::arithmetic::{gcd, known, known_function};
use super::nodes::known_number;
use super::operators::OperatorCall;
use crate::types::Type;
use crate::values::{Item, Key, Sym, Value};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_program::{Arg, Node, NodeOutput};
use aten2onnx_translate::scratch::Inferred;
use rustc_hash::FxHashMap;

impl Interpreter<'_, '_> {
    /// An operator on numbers; None if it is not one.
    pub(super) fn number_function(&mut self, call: &OperatorCall) -> Result<Option<Value>> {
        let (_, short) = call.name().split_once("::").unwrap_or(("", call.name()));
        let (a, b) = (self.numeric(call.value(0))?, self.numeric(call.value(1))?);
        Ok(Some(match (short, call.args.len()) {
            ("eq" | "__is__", 2) => self.equal(&a, &b)?,
            ("ne" | "__isnot__", 2) => {
                let equal = self.equal(&a, &b)?;
                self.not(&equal)?
            }
            (
                "add" | "sub" | "mul" | "div" | "floordiv" | "remainder" | "pow" | "fmod" | "__and__" | "__or__"
                | "__xor__" | "__lshift__" | "__rshift__" | "lt" | "le" | "gt" | "ge" | "truediv" | "atan2"
                | "copysign" | "hypot",
                2,
            ) => self.binary(short, &a, &b)?,
            ("min" | "max", 2) => self.binary(short, &a, &b)?,
            (
                "neg" | "abs" | "floor" | "ceil" | "round" | "sqrt" | "exp" | "log" | "log2" | "log10" | "log1p"
                | "sin" | "cos" | "tan" | "sinh" | "cosh" | "tanh" | "asin" | "acos" | "atan" | "isnan" | "isinf"
                | "isfinite" | "expm1" | "degrees" | "radians" | "gamma" | "erf" | "erfc" | "lgamma" | "asinh"
                | "acosh" | "atanh" | "fabs",
                _,
            ) => self.unary(short, &a)?,
            ("__not__", _) => self.not(&a)?,
            ("Int" | "IntImplicit", _) => self.as_int(&a)?,
            ("Float" | "FloatImplicit", _) => self.as_float(&a)?,
            ("Bool", _) => self.truth(&a)?,
            ("ScalarImplicit" | "_unwrap_optional", _) => a,
            ("divmod", 2) => {
                let (quotient, rest) = (self.binary("floordiv", &a, &b)?, self.binary("remainder", &a, &b)?);
                let ty = |value: &Value| if matches!(value, Value::Float(_)) { Type::Float } else { Type::Int };
                let (first, second) = (ty(&quotient), ty(&rest));
                Item::tuple(vec![Item::new(quotient, first), Item::new(rest, second)]).value
            }
            ("__range_length", 3) => self.range_length(&a, &b, call.value(2))?,
            ("__derive_index", 3) => {
                let scaled = self.binary("mul", &a, call.value(2))?;
                self.binary("add", &scaled, &b)?
            }
            ("gcd", 2) => match (&a, &b) {
                (Value::Int(a), Value::Int(b)) => Value::Int(gcd(*a, *b)),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }

    /// A number; that of a tensor if it is one.
    pub(super) fn numeric(&mut self, value: &Value) -> Result<Value> {
        match value {
            Value::Tensor(tensor) => self.number_of(&tensor.clone()),
            other => Ok(other.clone()),
        }
    }

    fn range_length(&mut self, low: &Value, high: &Value, step: &Value) -> Result<Value> {
        let Value::Int(step) = *step else {
            return Err(Error::unsupported("the step of a range is only known at run time"));
        };
        if step == 0 {
            return Err(Error::input("the step of a range is 0"));
        }
        let (low, high) = match (low.as_size(), high.as_size()) {
            (Some(low), Some(high)) => (low, high),
            _ => return Err(Error::unsupported("the bounds of a range are no ints")),
        };
        let span = if step > 0 { high.sub(&low) } else { low.sub(&high) };
        let count = span.ceil_div(&SymInt::from(step.unsigned_abs().try_into().unwrap_or(i64::MAX)));
        Ok(Value::size(count.max(&SymInt::from(0))))
    }

    /// `a op b`
    pub(super) fn binary(&mut self, op: &str, a: &Value, b: &Value) -> Result<Value> {
        if let Some(known) = known(op, a, b)? {
            return Ok(known);
        }
        if let (Some(x), Some(y)) = (a.as_size(), b.as_size()) {
            let found = match op {
                "add" => Some(x.add(&y)),
                "sub" => Some(x.sub(&y)),
                "mul" => Some(x.mul(&y)),
                "floordiv" => Some(x.floor_div(&y)),
                "remainder" => Some(x.modulo(&y)),
                "pow" if y.known().is_some_and(|y| y >= 0) => Some(x.pow(&y)),
                "min" => Some(x.min(&y)),
                "max" => Some(x.max(&y)),
                _ => None,
            };
            if let Some(size) = found {
                return Ok(Value::size(size));
            }
            let decided = match op {
                "lt" => self.is_less(&x, &y),
                "gt" => self.is_less(&y, &x),
                "le" => self.is_less(&y, &x).map(|less| !less),
                "ge" => self.is_less(&x, &y).map(|less| !less),
                _ => None,
            };
            if let Some(flag) = decided {
                return Ok(Value::Bool(flag));
            }
        }
        // `x and False` does not depend on x.
        match (op, a, b) {
            ("__and__", Value::Bool(false), _) | ("__and__", _, Value::Bool(false)) => return Ok(Value::Bool(false)),
            ("__or__", Value::Bool(true), _) | ("__or__", _, Value::Bool(true)) => return Ok(Value::Bool(true)),
            ("__and__", Value::Bool(true), other) | ("__and__", other, Value::Bool(true)) => return Ok(other.clone()),
            ("__or__", Value::Bool(false), other) | ("__or__", other, Value::Bool(false)) => return Ok(other.clone()),
            _ => {}
        }
        if a.as_size().is_some() && b.as_size().is_some() && !(is_bool(a) && is_bool(b)) {
            let bits = match op {
                "__and__" => Some("aten::bitwise_and.Tensor"),
                "__or__" => Some("aten::bitwise_or.Tensor"),
                "__xor__" => Some("aten::bitwise_xor.Tensor"),
                "__lshift__" => Some("aten::bitwise_left_shift.Tensor"),
                "__rshift__" => Some("aten::bitwise_right_shift.Tensor"),
                _ => None,
            };
            // Sizes have no bits.
            if let Some(target) = bits {
                let (a, b) = (self.scalar_tensor(a, Dtype::Int64)?, self.scalar_tensor(b, Dtype::Int64)?);
                let (a, b) = (Arg::Tensor(a.name.to_string()), Arg::Tensor(b.name.to_string()));
                let result = self.tensor_node(target, vec![("self", a), ("other", b)])?;
                return self.number_of(&result);
            }
        }
        let target = match op {
            "add" | "sub" | "mul" | "floordiv" | "pow" | "lt" | "le" | "gt" | "ge" | "eq" | "ne" => {
                format!("_operator::{op}")
            }
            "div" | "truediv" => "_operator::truediv".to_owned(),
            "remainder" | "fmod" => "_operator::mod".to_owned(),
            "__and__" => "_operator::and_".to_owned(),
            "__or__" => "_operator::or_".to_owned(),
            "__xor__" => "_operator::xor".to_owned(),
            "__lshift__" => "_operator::lshift".to_owned(),
            "__rshift__" => "_operator::rshift".to_owned(),
            "min" | "max" => format!("torch::sym_{op}"),
            _ => return Err(Error::unsupported(format!("`{op}` of {} and {}", a.kind(), b.kind()))),
        };
        let ty = match op {
            "lt" | "le" | "gt" | "ge" | "eq" | "ne" => Type::Bool,
            "div" | "truediv" => Type::Float,
            _ if is_bool(a) && is_bool(b) => Type::Bool,
            _ if a.as_size().is_some() && b.as_size().is_some() => Type::Int,
            _ => Type::Float,
        };
        self.number_node(&target, &[a, b], ty)
    }

    /// Whether a < b, if it can be told.
    fn is_less(&self, a: &SymInt, b: &SymInt) -> Option<bool> {
        if self.is_nonnegative(&(b.sub(a) - 1)) {
            return Some(true);
        }
        self.is_nonnegative(&a.sub(b)).then_some(false)
    }

    /// What a comparison of sizes is if no size is 0 or 1.
    pub(super) fn for_usual_sizes(&self, flag: &Value) -> Option<bool> {
        let Value::Sym(sym) = flag else { return None };
        let Sym::Bool(name) = &**sym else { return None };
        let (op, a, b) = self.comparisons.get(name)?;
        // Two sets of usual sizes must agree.
        let decided = |scale: i64| {
            let symbols = a.symbols().into_iter().chain(b.symbols());
            let sizes: FxHashMap<String, i64> =
                symbols.enumerate().map(|(index, symbol)| (symbol, scale + index as i64)).collect();
            let (a, b) = (a.eval(&sizes)?, b.eval(&sizes)?);
            Some(match op.as_str() {
                "lt" => a < b,
                "gt" => a > b,
                "le" => a <= b,
                "ge" => a >= b,
                "eq" => a == b,
                _ => a != b,
            })
        };
        decided(64).filter(|flag| decided(1000) == Some(*flag))
    }

    /// Whether an expression is at least 0 for certain.
    fn is_nonnegative(&self, size: &SymInt) -> bool {
        if let Some((low, _)) = self.recorder.scratch.bounds(size) {
            return low >= 0;
        }
        let least = |symbol: &str| self.recorder.least(symbol);
        let shifted = size.substitute_with(&|symbol| least(symbol).map(|low| SymInt::symbol(symbol) + low));
        shifted.is_nonnegative(&|symbol| least(symbol).is_some())
    }

    /// Whether two values are equal.
    pub(super) fn equal(&mut self, a: &Value, b: &Value) -> Result<Value> {
        if let (Some(x), Some(y)) = (a.as_size(), b.as_size()) {
            let difference = x.sub(&y);
            if let Some(known) = difference.known() {
                return Ok(Value::Bool(known == 0));
            }
            if self.is_nonnegative(&(difference.clone() - 1)) || self.is_nonnegative(&(difference.neg() - 1)) {
                return Ok(Value::Bool(false));
            }
            return self.number_node("_operator::eq", &[a, b], Type::Bool);
        }
        if let Some(known) = known("eq", a, b)? {
            return Ok(known);
        }
        match (a, b) {
            (Value::Sym(_), Value::Sym(_) | Value::Int(_) | Value::Float(_) | Value::Bool(_))
            | (Value::Int(_) | Value::Float(_) | Value::Bool(_), Value::Sym(_)) => {
                self.number_node("_operator::eq", &[a, b], Type::Bool)
            }
            (Value::List(_), Value::List(_)) | (Value::Tuple(_), Value::Tuple(_)) => {
                let untyped = |value: &Value| Item::new(value.clone(), Type::Any);
                let (a, b) = (self.elements(&untyped(a))?, self.elements(&untyped(b))?);
                if a.len() != b.len() {
                    return Ok(Value::Bool(false));
                }
                let mut all = Value::Bool(true);
                for (a, b) in a.iter().zip(&b) {
                    let same = self.equal(&a.value, &b.value)?;
                    all = self.binary("__and__", &all, &same)?;
                }
                Ok(all)
            }
            (Value::Dict(_), Value::Dict(_)) if !a.is_same(b) => {
                Err(Error::unsupported("two dictionaries are compared"))
            }
            _ => Ok(Value::Bool(a.is_same(b))),
        }
    }

    /// `not x`
    pub(super) fn not(&mut self, value: &Value) -> Result<Value> {
        match value {
            Value::Bool(flag) => Ok(Value::Bool(!flag)),
            Value::Sym(_) => {
                let truth = self.truth(value)?;
                match truth {
                    Value::Bool(flag) => Ok(Value::Bool(!flag)),
                    _ => self.number_node("torch::sym_not", &[&truth], Type::Bool),
                }
            }
            other => Err(Error::unsupported(format!("`not` of {}", other.kind()))),
        }
    }

    /// `bool(x)`
    pub(super) fn truth(&mut self, value: &Value) -> Result<Value> {
        Ok(match value {
            Value::Bool(flag) => Value::Bool(*flag),
            Value::Int(number) => Value::Bool(*number != 0),
            Value::Float(number) => Value::Bool(*number != 0.0),
            Value::Sym(sym) if matches!(**sym, Sym::Bool(_)) => value.clone(),
            Value::Sym(_) => {
                let equal = self.equal(value, &Value::Int(0))?;
                return self.not(&equal);
            }
            Value::Tensor(tensor) => {
                let number = self.number_of(&tensor.clone())?;
                return self.truth(&number);
            }
            other => return Err(Error::unsupported(format!("{} is used as a condition", other.kind()))),
        })
    }

    /// `int(x)`
    pub(super) fn as_int(&mut self, value: &Value) -> Result<Value> {
        match value {
            Value::Int(_) => Ok(value.clone()),
            Value::Bool(flag) => Ok(Value::Int(i64::from(*flag))),
            Value::Float(number) => Ok(Value::Int(*number as i64)),
            Value::Str(text) => match text.trim().parse() {
                Ok(number) => Ok(Value::Int(number)),
                Err(_) => Err(Error::input(format!("{text:?} is not an int"))),
            },
            Value::Sym(sym) if matches!(**sym, Sym::Int(_)) => Ok(value.clone()),
            Value::Sym(sym) if matches!(**sym, Sym::Bool(_)) => self.number_node("torch::sym_int", &[value], Type::Int),
            Value::Sym(_) => self.number_node("math::trunc", &[value], Type::Int),
            other => Err(Error::unsupported(format!("`int` of {}", other.kind()))),
        }
    }

    /// `float(x)`
    pub(super) fn as_float(&mut self, value: &Value) -> Result<Value> {
        match value {
            Value::Int(number) => Ok(Value::Float(*number as f64)),
            Value::Bool(flag) => Ok(Value::Float(f64::from(u8::from(*flag)))),
            Value::Float(_) => Ok(value.clone()),
            Value::Str(text) => match text.trim().parse() {
                Ok(number) => Ok(Value::Float(number)),
                Err(_) => Err(Error::input(format!("{text:?} is not a float"))),
            },
            Value::Sym(sym) if matches!(**sym, Sym::Float(_)) => Ok(value.clone()),
            Value::Sym(_) => self.number_node("torch::sym_float", &[value], Type::Float),
            other => Err(Error::unsupported(format!("`float` of {}", other.kind()))),
        }
    }

    fn unary(&mut self, op: &str, value: &Value) -> Result<Value> {
        if let Value::Complex(re, im) = value {
            return match op {
                "neg" => Ok(Value::Complex(-re, -im)),
                "abs" => Ok(Value::Float(re.hypot(*im))),
                _ => Err(Error::unsupported(format!("`{op}` of a complex number"))),
            };
        }
        if let (Some(size), "neg" | "floor" | "ceil" | "round") = (value.as_size(), op) {
            return Ok(Value::size(if op == "neg" { size.neg() } else { size }));
        }
        if let (Value::Int(number), "abs") = (value, op) {
            return Ok(Value::Int(number.wrapping_abs()));
        }
        let known = match value {
            Value::Int(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
            _ => None,
        };
        if let Some(x) = known {
            return known_function(op, x).ok_or_else(|| Error::unsupported(format!("`{op}` of a number")));
        }
        let (target, ty) = match op {
            "neg" | "abs" => (format!("_operator::{op}"), Type::Float),
            "floor" | "ceil" => (format!("math::{op}"), Type::Int),
            "sqrt" | "sin" | "cos" | "tan" | "sinh" | "cosh" | "tanh" | "asin" | "acos" | "atan" | "exp" | "log"
            | "log2" => (format!("math::{op}"), Type::Float),
            _ => {
                // There are more functions of tensors than of numbers.
                let tensor = self.scalar_tensor(value, Dtype::Float64)?;
                let name = Arg::Tensor(tensor.name.to_string());
                let result = self.tensor_node(&format!("aten::{op}"), vec![("self", name)])?;
                return self.number_of(&result);
            }
        };
        let ty = if op == "abs" && value.as_size().is_some() { Type::Int } else { ty };
        self.number_node(&target, &[value], ty)
    }

    /// A node that computes a number.
    pub(super) fn number_node(&mut self, target: &str, operands: &[&Value], ty: Type) -> Result<Value> {
        let mut args = Vec::with_capacity(operands.len());
        for operand in operands {
            args.push((String::new(), self.recorder.number(operand)?));
        }
        self.named_number_node(target, args, ty)
    }

    /// The same with arguments.
    pub(super) fn named_number_node(&mut self, target: &str, args: Vec<(String, Arg)>, ty: Type) -> Result<Value> {
        let name = self.recorder.fresh(target.rsplit(':').next().unwrap_or("number"));
        let sizes: Vec<SymInt> = args.iter().filter_map(|(_, arg)| self.recorder.size(arg)).collect();
        let outputs = vec![NodeOutput::Sym(name.to_string())];
        let frame = self.frames.last();
        let module = frame.and_then(|frame| frame.module.as_deref()).map(str::to_owned);
        let node = Node { name: name.to_string(), target: target.to_owned(), args, outputs, module, ..Node::default() };
        let inferred = self.recorder.scratch.call(&node).map_err(|error| self.at_operator(error, target))?;
        let number = match inferred.into_iter().next() {
            Some(Inferred::Number(number)) => number,
            _ => None,
        };
        if let Some(known) = known_number(number.as_ref()) {
            return Ok(known);
        }
        let value = self.number_result(&name, None, &ty);
        self.recorder.push(node)?;
        if let ([a, b], Some(op)) = (sizes.as_slice(), target.strip_prefix("_operator::").filter(|_| ty == Type::Bool))
        {
            self.comparisons.insert(name, (op.to_owned(), a.clone(), b.clone()));
        }
        Ok(value)
    }
}

fn is_bool(value: &Value) -> bool {
    matches!(value, Value::Bool(_)) || matches!(value, Value::Sym(sym) if matches!(**sym, Sym::Bool(_)))
}

/// The key of a value in a dictionary.
pub(super) fn key(value: &Value) -> Result<Key> {
    Key::of(value).ok_or_else(|| Error::unsupported(format!("{} is the key of a dictionary", value.kind())))
}
