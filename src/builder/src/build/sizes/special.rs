//! Size expressions on real numbers or booleans as nodes, computed in float64 as in Python.

use crate::build::{Builder, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::{Kind, Relation, Special, SymInt, Unary};
use aten2onnx_onnx::graph::Value;

impl Builder {
    /// The integer result of a function, as a 0-dim int64 value.
    pub(crate) fn special_value(&mut self, special: Special, args: &[SymInt]) -> Result<Value> {
        let op = match special {
            Special::BitAnd => "BitwiseAnd",
            Special::BitOr => "BitwiseOr",
            Special::BitXor => "BitwiseXor",
            Special::Where => return self.conditional(args, Builder::sym_value),
            Special::FloorToInt => return self.rounded("Floor", args),
            Special::CeilToInt => return self.rounded("Ceil", args),
            Special::RoundToInt => return self.rounded("Round", args),
            // Casts to integers truncate, as in Python.
            _ => {
                let value = self.real_special(special, args)?;
                return self.cast(value, Dtype::Int64);
            }
        };
        let (a, b) = self.two_args(args)?;
        let (a, b) = (self.sym_value(&a)?, self.sym_value(&b)?);
        self.node1(op, vec![a.into(), b.into()], vec![])
    }

    /// An argument as a float64 value.
    fn real_value(&mut self, n: &SymInt) -> Result<Value> {
        let value = match n.as_special() {
            Some((special, args)) => match special.kind() {
                Kind::Real => self.real_special(special, args)?,
                Kind::Truth => self.truth(special, args)?,
                Kind::Int => self.special_value(special, args)?,
            },
            None => self.sym_value(n)?,
        };
        self.cast(value, Dtype::Float64)
    }

    fn real_special(&mut self, special: Special, args: &[SymInt]) -> Result<Value> {
        let op = match special {
            Special::Number(bits) => return self.scalar(&Scalar::Float(f64::from_bits(bits)), Dtype::Float64),
            Special::Unary(unary) => {
                let x = self.real_value(&self.one_arg(args)?)?;
                return self.function_of_real(unary, x);
            }
            Special::WhereReal => return self.conditional(args, Builder::real_value),
            Special::ToFloat | Special::TruncToInt => return self.real_value(&self.one_arg(args)?),
            Special::TruncToFloat => {
                let value = self.special_value(Special::TruncToInt, args)?;
                return self.cast(value, Dtype::Float64);
            }
            Special::Add => "Add",
            Special::Mul => "Mul",
            Special::Div => "Div",
            Special::Pow => "Pow",
            Special::Min => "Min",
            Special::Max => "Max",
            _ => return Err(self.fault(format!("{special:?} is not a real-valued function"))),
        };
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(self.real_value(arg)?);
        }
        let mut values = values.into_iter();
        let first = values.next().ok_or_else(|| self.fault("a function without arguments"))?;
        values.try_fold(first, |a, b| self.node1(op, vec![a.into(), b.into()], vec![]))
    }

    /// Applies a function of one real number to a float value.
    pub(crate) fn function_of_real(&mut self, unary: Unary, x: Value) -> Result<Value> {
        let op = match unary {
            Unary::Sqrt => "Sqrt",
            Unary::Exp => "Exp",
            Unary::Log | Unary::Log2 => "Log",
            Unary::Sin => "Sin",
            Unary::Cos => "Cos",
            Unary::Tan => "Tan",
            Unary::Sinh => "Sinh",
            Unary::Cosh => "Cosh",
            Unary::Tanh => "Tanh",
            Unary::Asin => "Asin",
            Unary::Acos => "Acos",
            Unary::Atan => "Atan",
            Unary::Asinh => "Asinh",
        };
        let value = self.node1(op, vec![x.into()], vec![])?;
        if unary != Unary::Log2 {
            return Ok(value);
        }
        let scale = self.scalar(&Scalar::Float(std::f64::consts::LN_2), Dtype::Float64)?;
        self.node1("Div", vec![value.into(), scale.into()], vec![])
    }

    fn rounded(&mut self, op: &'static str, args: &[SymInt]) -> Result<Value> {
        let value = self.real_value(&self.one_arg(args)?)?;
        let value = self.node1(op, vec![value.into()], vec![])?;
        self.cast(value, Dtype::Int64)
    }

    fn conditional(&mut self, args: &[SymInt], branch: fn(&mut Builder, &SymInt) -> Result<Value>) -> Result<Value> {
        let [condition, yes, no] = args else { return Err(self.fault("a conditional needs three arguments")) };
        let condition = self.truth_of(condition)?;
        let (yes, no) = (branch(self, yes)?, branch(self, no)?);
        self.choice(condition, yes, no)
    }

    /// An argument as a boolean value.
    fn truth_of(&mut self, n: &SymInt) -> Result<Value> {
        match (n.known(), n.as_special()) {
            (Some(known), _) => self.scalar(&Scalar::Bool(known != 0), Dtype::Bool),
            (_, Some((special, args))) if special.kind() == Kind::Truth => self.truth(special, args),
            _ => {
                let value = self.sym_value(n)?;
                self.cast(value, Dtype::Bool)
            }
        }
    }

    fn truth(&mut self, special: Special, args: &[SymInt]) -> Result<Value> {
        let op = match special {
            Special::Relation(relation) => return self.compared(relation, args),
            Special::Not => {
                let value = self.truth_of(&self.one_arg(args)?)?;
                return self.node1("Not", vec![value.into()], vec![]);
            }
            Special::And => "And",
            _ => "Or",
        };
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(self.truth_of(arg)?);
        }
        let mut values = values.into_iter();
        let first = values.next().ok_or_else(|| self.fault("a function without arguments"))?;
        values.try_fold(first, |a, b| self.node1(op, vec![a.into(), b.into()], vec![]))
    }

    fn compared(&mut self, relation: Relation, args: &[SymInt]) -> Result<Value> {
        let (a, b) = self.two_args(args)?;
        let is_real = |n: &SymInt| n.as_special().is_some_and(|(special, _)| special.kind() == Kind::Real);
        let (a, b) = match is_real(&a) || is_real(&b) {
            true => (self.real_value(&a)?, self.real_value(&b)?),
            false => (self.sym_value(&a)?, self.sym_value(&b)?),
        };
        let op = match relation {
            Relation::Equal | Relation::Unequal => "Equal",
            Relation::Less => "Less",
            Relation::LessOrEqual => "LessOrEqual",
            Relation::Greater => "Greater",
            Relation::GreaterOrEqual => "GreaterOrEqual",
        };
        let value = self.node1(op, vec![a.into(), b.into()], vec![])?;
        if relation == Relation::Unequal { self.node1("Not", vec![value.into()], vec![]) } else { Ok(value) }
    }

    fn one_arg(&self, args: &[SymInt]) -> Result<SymInt> {
        args.first().cloned().ok_or_else(|| self.fault("a function without arguments"))
    }

    fn two_args(&self, args: &[SymInt]) -> Result<(SymInt, SymInt)> {
        match args {
            [a, b] => Ok((a.clone(), b.clone())),
            _ => Err(self.fault("a function needs two arguments")),
        }
    }
}
