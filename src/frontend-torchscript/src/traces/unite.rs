//! Makes one function of several that differ in integers alone.

use std::rc::Rc;

use super::{Sizes, line, shown};
use crate::syntax::{Expr, ExprKind, Function, Name, Param, Stmt, StmtKind};
use aten2onnx_core::error::{Error, Result};

/// The functions of several traces as one, in which numbers that differ are [`ExprKind::Varying`].
pub fn united(functions: &[&Function], code: &str, sizes: &[Sizes]) -> Result<Function> {
    let first = functions.first().ok_or_else(|| Error::internal("there is no trace"))?;
    let bodies: Vec<&[Stmt]> = functions.iter().map(|function| function.body.as_slice()).collect();
    let body = block(&bodies).map_err(|difference| difference.error(code, sizes))?;
    let params = first.params.iter();
    let params = params.map(|param| Param { name: Rc::clone(&param.name), ty: None, default: None }).collect();
    Ok(Function { name: Rc::clone(&first.name), at: first.at, params, returns: None, body })
}

/// Where traces differ by more than an integer.
struct Difference {
    at: usize,
    /// The values in each trace, if it is a number.
    numbers: Option<Vec<f64>>,
}

type United<T> = std::result::Result<T, Difference>;

impl Difference {
    fn error(self, code: &str, sizes: &[Sizes]) -> Error {
        let runs = sizes.iter().map(shown);
        let error = match self.numbers {
            Some(numbers) => {
                let runs: Vec<String> = runs.zip(numbers).map(|(run, number)| format!("{number} with {run}")).collect();
                Error::unsupported(format!("a number of the model depends on sizes: {}", runs.join("; "))).help(
                    "compute it with tensors, such as the size as a tensor in place of a Rust number, or export one size",
                )
            }
            None => {
                let runs: Vec<String> = runs.collect();
                let message = format!("the model branches on the size: its operators differ with {}", runs.join("; "));
                Error::unsupported(message)
                    .help("let the closure run the same operators at all sizes, or export with that size fixed")
            }
        };
        error.at(format!("`{}` of the trace", line(code, self.at)))
    }
}

fn block(all: &[&[Stmt]]) -> United<Vec<Stmt>> {
    let Some(first) = all.first() else { return Ok(Vec::new()) };
    let least = all.iter().map(|stmts| stmts.len()).min().unwrap_or(0);
    let mut body = Vec::with_capacity(first.len());
    for index in 0..least {
        let stmts: Vec<&Stmt> = all.iter().filter_map(|stmts| stmts.get(index)).collect();
        body.push(statement(&stmts)?);
    }
    match all.iter().all(|stmts| stmts.len() == least) {
        true => Ok(body),
        false => Err(Difference { at: first.get(least).or(first.last()).map_or(0, |stmt| stmt.at), numbers: None }),
    }
}

/// The same part of each tree; a difference if one has another.
macro_rules! parts {
    ($all:expr, $at:expr, $kind:pat => $part:expr) => {
        $all.iter()
            .map(|tree| match &tree.kind {
                $kind => Ok($part),
                _ => Err(Difference { at: $at, numbers: None }),
            })
            .collect::<United<Vec<_>>>()?
    };
}

fn statement(all: &[&Stmt]) -> United<Stmt> {
    let Some(first) = all.first() else { return Ok(Stmt { at: 0, kind: StmtKind::Pass }) };
    let at = first.at;
    let kind = match &first.kind {
        StmtKind::Assign { targets, unpack, .. } => {
            let same = parts!(all, at, StmtKind::Assign { targets, unpack, .. } => (targets, unpack));
            equal(&same, at)?;
            let values = parts!(all, at, StmtKind::Assign { values, .. } => values.as_slice());
            StmtKind::Assign { targets: targets.clone(), unpack: *unpack, values: expressions(&values, at)? }
        }
        StmtKind::Declare { name, .. } => {
            equal(&parts!(all, at, StmtKind::Declare { name, .. } => name), at)?;
            let ty = parts!(all, at, StmtKind::Declare { ty, .. } => ty);
            let value = parts!(all, at, StmtKind::Declare { value, .. } => value);
            StmtKind::Declare { name: Rc::clone(name), ty: expression(&ty)?, value: expression(&value)? }
        }
        StmtKind::SetAttribute { name, .. } => {
            equal(&parts!(all, at, StmtKind::SetAttribute { name, .. } => name), at)?;
            let object = parts!(all, at, StmtKind::SetAttribute { object, .. } => object);
            let value = parts!(all, at, StmtKind::SetAttribute { value, .. } => value);
            StmtKind::SetAttribute { object: expression(&object)?, name: Rc::clone(name), value: expression(&value)? }
        }
        StmtKind::If { .. } => {
            let condition = parts!(all, at, StmtKind::If { condition, .. } => condition);
            let yes = parts!(all, at, StmtKind::If { yes, .. } => yes.as_slice());
            let no = parts!(all, at, StmtKind::If { no, .. } => no.as_slice());
            StmtKind::If { condition: expression(&condition)?, yes: block(&yes)?, no: block(&no)? }
        }
        StmtKind::For { name, .. } => {
            equal(&parts!(all, at, StmtKind::For { name, .. } => name), at)?;
            let range = parts!(all, at, StmtKind::For { range, .. } => range.as_slice());
            let body = parts!(all, at, StmtKind::For { body, .. } => body.as_slice());
            StmtKind::For { name: Rc::clone(name), range: expressions(&range, at)?, body: block(&body)? }
        }
        StmtKind::While { condition, .. } => {
            equal(&parts!(all, at, StmtKind::While { condition, .. } => condition), at)?;
            let body = parts!(all, at, StmtKind::While { body, .. } => body.as_slice());
            StmtKind::While { condition: Rc::clone(condition), body: block(&body)? }
        }
        StmtKind::With { name, .. } => {
            equal(&parts!(all, at, StmtKind::With { name, .. } => name), at)?;
            let object = parts!(all, at, StmtKind::With { object, .. } => object);
            let body = parts!(all, at, StmtKind::With { body, .. } => body.as_slice());
            StmtKind::With { object: expression(&object)?, name: name.clone(), body: block(&body)? }
        }
        StmtKind::Pass => {
            parts!(all, at, StmtKind::Pass => ());
            StmtKind::Pass
        }
        StmtKind::Return(_) => {
            let values = parts!(all, at, StmtKind::Return(value) => value.as_ref());
            StmtKind::Return(optional(&values, at)?)
        }
        StmtKind::Expr(_) => StmtKind::Expr(expression(&parts!(all, at, StmtKind::Expr(value) => value))?),
        // Functions inside of functions do not come from traces of Rust.
        StmtKind::Define(function) => {
            parts!(all, at, StmtKind::Define(_) => ());
            StmtKind::Define(Rc::clone(function))
        }
    };
    Ok(Stmt { at, kind })
}

fn expressions(all: &[&[Expr]], at: usize) -> United<Vec<Expr>> {
    let length = all.first().map_or(0, |items| items.len());
    if all.iter().any(|items| items.len() != length) {
        return Err(Difference { at, numbers: None });
    }
    (0..length)
        .map(|index| expression(&all.iter().filter_map(|items| items.get(index)).collect::<Vec<&Expr>>()))
        .collect()
}

fn optional(all: &[Option<&Expr>], at: usize) -> United<Option<Expr>> {
    let given: Vec<&Expr> = all.iter().copied().flatten().collect();
    match given.len() {
        0 => Ok(None),
        count if count == all.len() => expression(&given).map(Some),
        _ => Err(Difference { at, numbers: None }),
    }
}

fn expression(all: &[&Expr]) -> United<Expr> {
    let Some(first) = all.first() else { return Ok(Expr { at: 0, kind: ExprKind::None }) };
    let at = first.at;
    if let Some(numbers) = all.iter().map(|expr| integer(expr)).collect::<Option<Vec<i64>>>() {
        let same = numbers.iter().all(|number| Some(number) == numbers.first());
        let kind = match numbers.first() {
            Some(number) if same => ExprKind::Int(*number),
            _ => ExprKind::Varying(Rc::from(numbers)),
        };
        return Ok(Expr { at, kind });
    }
    let boxed = |all: &[&Expr]| expression(all).map(Box::new);
    let kind = match &first.kind {
        ExprKind::None => {
            parts!(all, at, ExprKind::None => ());
            ExprKind::None
        }
        ExprKind::Bool(flag) => {
            equal(&parts!(all, at, ExprKind::Bool(flag) => flag), at)?;
            ExprKind::Bool(*flag)
        }
        ExprKind::Int(_) | ExprKind::Varying(_) => return Err(Difference { at, numbers: None }),
        ExprKind::Float(number) => {
            let numbers = parts!(all, at, ExprKind::Float(number) => *number);
            if numbers.iter().any(|other| other.to_bits() != number.to_bits()) {
                return Err(Difference { at, numbers: Some(numbers) });
            }
            ExprKind::Float(*number)
        }
        ExprKind::Complex(re, im) => {
            let numbers = parts!(all, at, ExprKind::Complex(re, im) => (re.to_bits(), im.to_bits()));
            equal(&numbers, at)?;
            ExprKind::Complex(*re, *im)
        }
        ExprKind::Str(text) => {
            equal(&parts!(all, at, ExprKind::Str(text) => text), at)?;
            ExprKind::Str(Rc::clone(text))
        }
        ExprKind::Name(name) => {
            equal(&parts!(all, at, ExprKind::Name(name) => name), at)?;
            ExprKind::Name(Rc::clone(name))
        }
        ExprKind::Attribute(_, name) => {
            equal(&parts!(all, at, ExprKind::Attribute(_, name) => name), at)?;
            let objects = parts!(all, at, ExprKind::Attribute(object, _) => &**object);
            ExprKind::Attribute(boxed(&objects)?, Rc::clone(name))
        }
        ExprKind::Call { named, .. } => {
            let names = |named: &[(Name, Expr)]| named.iter().map(|(name, _)| Rc::clone(name)).collect::<Vec<Name>>();
            equal(&parts!(all, at, ExprKind::Call { named, .. } => names(named)), at)?;
            let callee = parts!(all, at, ExprKind::Call { callee, .. } => &**callee);
            let args = parts!(all, at, ExprKind::Call { args, .. } => args.as_slice());
            let values = parts!(all, at, ExprKind::Call { named, .. } => named);
            let value = |index: usize| {
                let values = values.iter().filter_map(|named| named.get(index).map(|(_, value)| value));
                expression(&values.collect::<Vec<&Expr>>())
            };
            let named = named.iter().enumerate().map(|(index, (name, _))| Ok((Rc::clone(name), value(index)?)));
            let named = named.collect::<United<Vec<(Name, Expr)>>>()?;
            ExprKind::Call { callee: boxed(&callee)?, args: expressions(&args, at)?, named }
        }
        ExprKind::Index(..) => {
            let objects = parts!(all, at, ExprKind::Index(object, _) => &**object);
            let indices = parts!(all, at, ExprKind::Index(_, index) => &**index);
            ExprKind::Index(boxed(&objects)?, boxed(&indices)?)
        }
        ExprKind::Slice(..) => {
            let objects = parts!(all, at, ExprKind::Slice(object, ..) => &**object);
            let starts = parts!(all, at, ExprKind::Slice(_, start, _) => start.as_deref());
            let ends = parts!(all, at, ExprKind::Slice(_, _, end) => end.as_deref());
            let (start, end) = (optional(&starts, at)?, optional(&ends, at)?);
            ExprKind::Slice(boxed(&objects)?, start.map(Box::new), end.map(Box::new))
        }
        ExprKind::Tuple(_) => {
            ExprKind::Tuple(expressions(&parts!(all, at, ExprKind::Tuple(items) => items.as_slice()), at)?)
        }
        ExprKind::List(_) => {
            ExprKind::List(expressions(&parts!(all, at, ExprKind::List(items) => items.as_slice()), at)?)
        }
        ExprKind::Dict(pairs) => {
            let keys = |at_pair: usize| {
                let pairs = all.iter().filter_map(|expr| match &expr.kind {
                    ExprKind::Dict(pairs) => pairs.get(at_pair),
                    _ => None,
                });
                let (keys, values): (Vec<&Expr>, Vec<&Expr>) = pairs.map(|(key, value)| (key, value)).unzip();
                Ok((expression(&keys)?, expression(&values)?))
            };
            equal(&parts!(all, at, ExprKind::Dict(pairs) => pairs.len()), at)?;
            ExprKind::Dict((0..pairs.len()).map(keys).collect::<United<_>>()?)
        }
        ExprKind::Neg(_) => ExprKind::Neg(boxed(&parts!(all, at, ExprKind::Neg(inner) => &**inner))?),
    };
    Ok(Expr { at, kind })
}

fn integer(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Int(number) => Some(*number),
        ExprKind::Neg(inner) => integer(inner).map(i64::wrapping_neg),
        _ => None,
    }
}

fn equal<T: PartialEq>(all: &[T], at: usize) -> United<()> {
    match all.windows(2).all(|pair| pair.first() == pair.last()) {
        true => Ok(()),
        false => Err(Difference { at, numbers: None }),
    }
}
