//! The built-ins of the language.

use std::rc::Rc;

use aten2onnx_opmap::tree::{Builtin, Expr};
use aten2onnx_opmap::types::Ty;

use super::eval::Frame;
use crate::arguments::value::mismatch;
use crate::arguments::{FromVal, Val};
use crate::support;
use aten2onnx_builder::Builder;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;

impl<'r> Frame<'r> {
    pub(super) fn builtin(&mut self, cx: &mut Builder, builtin: Builtin, args: &'r [Expr], ty: &Ty) -> Result<Val> {
        let args: Vec<Val> = args.iter().map(|arg| self.eval(cx, arg)).collect::<Result<_>>()?;
        let mut args = args.into_iter();
        let mut next = || args.next().ok_or_else(|| Error::internal(format!("an argument of {builtin:?} is missing")));
        Ok(match builtin {
            Builtin::Len => Val::Int(list(next()?)?.len() as i64),
            Builtin::Range => {
                let first = i64::from_val(next()?)?;
                let (start, stop) = next().map_or(Ok((0, first)), |stop| i64::from_val(stop).map(|s| (first, s)))?;
                let step = next().map_or(Ok(1), i64::from_val)?;
                support::range(start, stop, step)?.into()
            }
            Builtin::Enumerate => {
                let pair = |(i, item): (i64, Val)| Val::Tuple(vec![Val::Int(i), item]);
                Val::List(Rc::new(support::enumerate(&list(next()?)?).into_iter().map(pair).collect()))
            }
            Builtin::Zip => {
                let (a, b) = (list(next()?)?, list(next()?)?);
                let pair = |(a, b): (&Val, &Val)| Val::Tuple(vec![a.clone(), b.clone()]);
                Val::List(Rc::new(a.iter().zip(b.iter()).map(pair).collect()))
            }
            Builtin::Reversed => Val::List(Rc::new(support::reversed(&list(next()?)?))),
            Builtin::Min => of_two(next()?, next()?, i64::min, f64::min, SymInt::min)?,
            Builtin::Max => of_two(next()?, next()?, i64::max, f64::max, SymInt::max)?,
            Builtin::MinOf => of_list(next()?, support::least, support::least)?,
            Builtin::MaxOf => of_list(next()?, support::greatest, support::greatest)?,
            Builtin::Sum => sum(next()?, ty)?,
            Builtin::Abs => match next()? {
                Val::Int(n) => Val::Int(n.saturating_abs()),
                Val::Float(x) => Val::Float(x.abs()),
                other => return Err(mismatch("a number", &other)),
            },
            Builtin::Int => match next()? {
                Val::Scalar(number) => Val::Int(support::known_int(&number)?),
                Val::Bool(b) => Val::Int(b.into()),
                Val::Float(x) => Val::Int(x as i64),
                other => other,
            },
            Builtin::Float => match next()? {
                Val::Scalar(number) => Val::Float(support::known_float(&number)?),
                Val::Bool(b) => Val::Float(u8::from(b).into()),
                Val::Int(n) => Val::Float(n as f64),
                other => other,
            },
        })
    }
}

fn list(value: Val) -> Result<Rc<Vec<Val>>> {
    match value {
        Val::List(items) => Ok(items),
        other => Err(mismatch("a list", &other)),
    }
}

fn sum(list: Val, ty: &Ty) -> Result<Val> {
    Ok(match ty {
        Ty::SymInt => Val::SymInt(support::sum(&Vec::from_val(list)?)),
        Ty::Float => Val::Float(Vec::<f64>::from_val(list)?.iter().sum()),
        _ => Val::Int(Vec::<i64>::from_val(list)?.iter().fold(0, |a, b| a.saturating_add(*b))),
    })
}

/// The smaller or larger of two numbers of one type.
fn of_two(
    a: Val,
    b: Val,
    int: fn(i64, i64) -> i64,
    float: fn(f64, f64) -> f64,
    sym_int: fn(&SymInt, &SymInt) -> SymInt,
) -> Result<Val> {
    match (a, b) {
        (Val::Int(a), Val::Int(b)) => Ok(Val::Int(int(a, b))),
        (Val::Float(a), Val::Float(b)) => Ok(Val::Float(float(a, b))),
        (Val::SymInt(a), Val::SymInt(b)) => Ok(Val::SymInt(sym_int(&a, &b))),
        (other, _) => Err(mismatch("a number", &other)),
    }
}

/// The smallest or largest element of a list.
fn of_list(value: Val, ints: fn(&[i64]) -> Result<i64>, floats: fn(&[f64]) -> Result<f64>) -> Result<Val> {
    match value {
        Val::List(items) if matches!(items.first(), Some(Val::Float(_))) => {
            floats(&Vec::from_val(Val::List(items))?).map(Val::Float)
        }
        other => ints(&Vec::from_val(other)?).map(Val::Int),
    }
}
