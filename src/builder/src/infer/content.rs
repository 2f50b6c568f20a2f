//! Contents of small integer tensors, including symbolic ones, so that shapes computed in the graph stay exact.
//!
//! A content is the list of elements of a tensor of int32, int64 or bool with at most one dimension. 32-bit integers
//! are assumed not to overflow, because they are sizes and indices.

use aten2onnx_core::axes::counted_from_start;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Type};
use aten2onnx_onnx::schema::{Function, Shape};

use super::ctx::{Ctx, Param};
use super::dims::{int, product};
use super::{elementwise, shape_ops};

/// Computes an element from one element (`Unary`) or two (`Binary`); None if unknown.
type Unary = fn(&Ctx, &SymInt) -> Option<SymInt>;
type Binary = fn(&Ctx, &SymInt, &SymInt) -> Option<SymInt>;

type Content = Vec<SymInt>;

/// Longer tensors are not shapes.
const MAX_LENGTH: usize = 256;

pub(super) fn contents(c: &Ctx) -> Vec<Option<Content>> {
    let Ok(dtype) = output_dtype(c) else { return Vec::new() };
    if !matches!(dtype, Dtype::Int64 | Dtype::Int32 | Dtype::Bool) {
        return Vec::new();
    }
    if c.facts.shape == Shape::Split {
        return split(c).unwrap_or_default().into_iter().map(Some).collect();
    }
    let fits = |n: &SymInt| dtype != Dtype::Int32 || n.known().is_none_or(|n| i32::try_from(n).is_ok());
    vec![first_output(c, dtype).filter(|list| list.len() <= MAX_LENGTH && list.iter().all(fits))]
}

fn output_dtype(c: &Ctx) -> Result<Dtype> {
    let types = match c.facts.shape {
        Shape::Cast => elementwise::cast(c)?,
        Shape::CastLike => elementwise::cast_like(c)?,
        Shape::Constant => shape_ops::constant(c)?,
        Shape::ConstantOfShape => shape_ops::constant_of_shape(c)?,
        _ => return c.dtype(0),
    };
    match types.first() {
        Some(Type::Tensor { dtype, .. }) => Ok(*dtype),
        _ => Err(c.error("does not return a tensor")),
    }
}

/// The content of the first output.
fn first_output(c: &Ctx, dtype: Dtype) -> Option<Content> {
    match c.facts.shape {
        Shape::OfShape => {
            c.shape(0).map(|dims| dims.get(shape_ops::shape_range(c, dims.len())).unwrap_or_default().to_vec())
        }
        Shape::Size => c.shape(0).map(|dims| vec![product(dims)]),
        Shape::Constant => constant(c),
        Shape::ConstantOfShape => constant_of_shape(c),
        Shape::Identity => c.content(0),
        Shape::Cast | Shape::CastLike if dtype == Dtype::Bool => {
            map_elements(c, |c, n| differs(c, n, &SymInt::from(0)))
        }
        Shape::Cast | Shape::CastLike => c.content(0).or_else(|| truncated(&c.floats(0)?)),
        Shape::Squeeze | Shape::Unsqueeze | Shape::Reshape | Shape::Transpose => reshaped(c),
        Shape::Concat => concat(c),
        Shape::Expand => expand(c),
        Shape::Gather => gather(c),
        Shape::Range => range(c),
        Shape::Slice => slice(c),
        Shape::Tile => tile(c),
        Shape::Reduce => reduced(c),
        _ => computed(c),
    }
}

/// What a reduction computes of a vector.
fn reduced(c: &Ctx) -> Option<Content> {
    match c.facts.combines? {
        Function::Max => reduce(c, |c, list| list.iter().cloned().reduce(|a, b| c.max(&a, &b))),
        Function::Min => reduce(c, |c, list| list.iter().cloned().reduce(|a, b| c.min(&a, &b))),
        Function::Mul => reduce(c, |_, list| Some(product(list))),
        Function::Add => reduce(c, |_, list| Some(list.iter().sum())),
        _ => None,
    }
}

/// What an elementwise operator computes.
fn computed(c: &Ctx) -> Option<Content> {
    match c.facts.computes? {
        Function::Choose => where_(c),
        function => unary(function).map_or_else(|| fold_inputs(c, binary(function)?), |f| map_elements(c, f)),
    }
}

fn unary(function: Function) -> Option<Unary> {
    Some(match function {
        Function::Abs => {
            |c, n| Some(c.max(n, &-n)).filter(|_| n.known().is_some() || c.at_least(n, 0) || c.at_most(n, 0))
        }
        Function::Neg => |_, n| Some(-n),
        Function::Not => |_, n| Some(&SymInt::from(1) - n),
        Function::Relu => |c, n| Some(c.not_negative(n)),
        Function::Sign => |c, n| {
            let zero = SymInt::from(0);
            let below = less(c, n, &zero)?;
            Some(&less(c, &zero, n)? - &below)
        },
        _ => return None,
    })
}

fn binary(function: Function) -> Option<Binary> {
    Some(match function {
        Function::Add => |_, a, b| Some(a + b),
        Function::Sub => |_, a, b| Some(a - b),
        Function::Mul => |_, a, b| Some(a * b),
        Function::Div => divided,
        Function::Mod => remainder,
        Function::Pow => |_, a, b| b.known().filter(|n| *n >= 0).map(|_| a.pow(b)),
        Function::Max => |c, a, b| Some(c.max(a, b)),
        Function::Min => |c, a, b| Some(c.min(a, b)),
        Function::Equal => |c, a, b| differs(c, a, b).map(|d| &SymInt::from(1) - &d),
        Function::Less => less,
        Function::Greater => |c, a, b| less(c, b, a),
        Function::LessOrEqual => |c, a, b| less(c, b, a).map(|n| &SymInt::from(1) - &n),
        Function::GreaterOrEqual => |c, a, b| less(c, a, b).map(|n| &SymInt::from(1) - &n),
        Function::And => |_, a, b| Some(a * b),
        Function::Or => |c, a, b| Some(c.max(a, b)),
        Function::Xor => differs,
        _ => return None,
    })
}

/// Integer division truncates, so the signs must be known.
fn divided(c: &Ctx, a: &SymInt, b: &SymInt) -> Option<SymInt> {
    match (a.known(), b.known()) {
        (_, Some(0)) => None,
        (Some(a), Some(b)) => a.checked_div(b).map(SymInt::from),
        _ if c.at_least(a, 0) && c.at_least(b, 1) => Some(a.floor_div(b)),
        // If the division is exact, the signs do not matter.
        _ => Some(a.floor_div(b)).filter(|quotient| quotient * b == *a),
    }
}

/// The remainder with the sign of the divisor, or of the dividend with `fmod`.
fn remainder(c: &Ctx, a: &SymInt, b: &SymInt) -> Option<SymInt> {
    if b.known() == Some(0) {
        return None;
    }
    match (c.flag("fmod"), a.known(), b.known()) {
        (true, Some(a), Some(b)) => a.checked_rem(b).map(SymInt::from),
        (true, _, _) if !(c.at_least(a, 0) && c.at_least(b, 1)) => None,
        _ => Some(a.modulo(b)),
    }
}

/// 1 if `a` and `b` differ, 0 if they are equal.
fn differs(c: &Ctx, a: &SymInt, b: &SymInt) -> Option<SymInt> {
    let difference = a - b;
    match difference.known() {
        Some(n) => Some(SymInt::from(i64::from(n != 0))),
        None => (c.at_least(&difference, 1) || c.at_most(&difference, -1)).then(|| SymInt::from(1)),
    }
}

/// 1 if `a` is smaller, 0 if not.
fn less(c: &Ctx, a: &SymInt, b: &SymInt) -> Option<SymInt> {
    let difference = a - b;
    if c.at_most(&difference, -1) {
        return Some(SymInt::from(1));
    }
    c.at_least(&difference, 0).then(|| SymInt::from(0))
}

/// Casts floats to integers.
fn truncated(floats: &[f64]) -> Option<Content> {
    let truncate = |n: &f64| (n.abs() < 9.0e15).then_some(SymInt::from(*n as i64));
    floats.iter().map(truncate).collect()
}

fn map_elements(c: &Ctx, f: Unary) -> Option<Content> {
    c.content(0)?.iter().map(|n| f(c, n)).collect()
}

/// Combines all inputs with broadcasting, from left to right.
fn fold_inputs(c: &Ctx, f: Binary) -> Option<Content> {
    let mut result = c.content(0)?;
    for i in 1..c.inputs.len() {
        let other = c.content(i)?;
        let next: Option<Content> = zipped(&result, &other)?.map(|(a, b)| f(c, a, b)).collect();
        result = next?;
    }
    Some(result)
}

/// Pairs the elements of two lists; a list of one element is repeated.
fn zipped<'a>(a: &'a [SymInt], b: &'a [SymInt]) -> Option<impl Iterator<Item = (&'a SymInt, &'a SymInt)>> {
    let length = match (a.len(), b.len()) {
        (x, y) if x == y => x,
        (1, y) => y,
        (x, 1) => x,
        _ => return None,
    };
    Some(a.iter().cycle().zip(b.iter().cycle()).take(length))
}

fn where_(c: &Ctx) -> Option<Content> {
    let conditions = c.content(0)?;
    let (yes, no) = (c.content(1)?, c.content(2)?);
    let pairs: Vec<_> = zipped(&yes, &no)?.collect();
    let length = if conditions.len() == 1 { pairs.len() } else { conditions.len() };
    if pairs.len() != length && pairs.len() != 1 {
        return None;
    }
    let chosen = conditions.iter().cycle().zip(pairs.iter().cycle()).take(length);
    chosen
        .map(|(condition, (yes, no))| match condition.known() {
            Some(0) => Some((*no).clone()),
            Some(_) => Some((*yes).clone()),
            None => (yes == no).then(|| (*yes).clone()),
        })
        .collect()
}

fn constant(c: &Ctx) -> Option<Content> {
    match &c.attrs.first()?.1 {
        Attr::Int(n) => Some(vec![SymInt::from(*n)]),
        Attr::Ints(list) => Some(list.iter().map(|n| SymInt::from(*n)).collect()),
        Attr::Tensor(value) => c.cx.content_of(*value),
        _ => None,
    }
}

fn constant_of_shape(c: &Ctx) -> Option<Content> {
    let length = match c.ints(0)?.as_slice() {
        [] => 1,
        [n] => usize::try_from(*n).ok().filter(|n| *n <= MAX_LENGTH)?,
        _ => return None,
    };
    let value = match c.tensor("value") {
        Some(value) => c.cx.content_of(value)?.first()?.clone(),
        None => return None,
    };
    Some(vec![value; length])
}

/// The same elements, if the result has at most one dimension.
fn reshaped(c: &Ctx) -> Option<Content> {
    let content = c.content(0)?;
    let rank = c.shape(0)?.len();
    let flat = match c.facts.shape {
        Shape::Unsqueeze => match c.int_param("axes", 1) {
            Param::Known(axes) => rank + axes.len() <= 1,
            _ => false,
        },
        Shape::Reshape => c.length(1).is_some_and(|rank| rank <= 1),
        _ => true,
    };
    flat.then_some(content)
}

fn concat(c: &Ctx) -> Option<Content> {
    let parts: Vec<Content> = (0..c.inputs.len()).map(|i| c.content(i)).collect::<Option<_>>()?;
    Some(parts.concat())
}

fn expand(c: &Ctx) -> Option<Content> {
    let content = c.content(0)?;
    match c.ints(1)?.as_slice() {
        [] => Some(content),
        [length] if content.len() == 1 => repeated(&content, *length),
        [_] => Some(content),
        _ => None,
    }
}

fn tile(c: &Ctx) -> Option<Content> {
    let content = c.content(0)?;
    match c.ints(1)?.as_slice() {
        [] => Some(content),
        [times] => repeated(&content, *times),
        _ => None,
    }
}

fn repeated(list: &[SymInt], times: i64) -> Option<Content> {
    let length = list.len().checked_mul(usize::try_from(times).ok()?).filter(|n| *n <= MAX_LENGTH)?;
    Some(list.iter().cycle().take(length).cloned().collect())
}

/// The element at an index; a negative one counts from the end.
fn element(list: &[SymInt], index: i64) -> Option<&SymInt> {
    list.get(counted_from_start(index, list.len())?)
}

fn gather(c: &Ctx) -> Option<Content> {
    let data = c.content(0)?;
    c.ints(1)?.iter().map(|i| element(&data, *i).cloned()).collect()
}

fn range(c: &Ctx) -> Option<Content> {
    let (start, limit, delta) = (c.scalar(0)?, c.scalar(1)?, c.scalar(2)?);
    let length = match delta.known()? {
        0 => return None,
        _ => (&limit - &start).ceil_div(&delta).known()?.max(0),
    };
    let length = usize::try_from(length).ok().filter(|n| *n <= MAX_LENGTH)?;
    Some((0..length).map(|i| &start + &(&delta * &int(i))).collect())
}

fn slice(c: &Ctx) -> Option<Content> {
    let known = |p: Param<Vec<i64>>| match p {
        Param::Known(list) => list.first().copied(),
        _ => None,
    };
    let data = c.content(0)?;
    let (start, end) = (known(c.int_param("starts", 1))?, known(c.int_param("ends", 2))?);
    let step = if c.has(4) { known(c.int_param("steps", 4))? } else { 1 };
    let length = i64::try_from(data.len()).ok().filter(|n| *n > 0)?;
    let from_front = |n: i64| if n < 0 { n.saturating_add(length) } else { n };
    let stride = usize::try_from(step.unsigned_abs()).ok().filter(|n| *n > 0)?;
    let positions: Vec<i64> = if step > 0 {
        (from_front(start).clamp(0, length)..from_front(end).clamp(0, length)).step_by(stride).collect()
    } else {
        let (first, past) = (from_front(start).clamp(0, length - 1), from_front(end).clamp(-1, length - 1));
        (past + 1..first + 1).rev().step_by(stride).collect()
    };
    positions.iter().map(|i| element(&data, *i).cloned()).collect()
}

/// Reduces a vector to one element.
fn reduce(c: &Ctx, f: fn(&Ctx, &[SymInt]) -> Option<SymInt>) -> Option<Content> {
    let content = c.content(0)?;
    let of_nothing = match c.int_param("axes", 1) {
        Param::Known(axes) => axes.is_empty(),
        Param::Absent => true,
        Param::Unknown => return None,
    };
    if of_nothing && c.flag("noop_with_empty_axes") {
        return Some(content);
    }
    Some(vec![f(c, &content)?])
}

fn split(c: &Ctx) -> Option<Vec<Content>> {
    let mut rest = c.content(0)?;
    let mut parts = Vec::with_capacity(c.outputs);
    for length in shape_ops::split_lengths(c, &int(rest.len())).ok()? {
        let length = usize::try_from(length.known()?).ok().filter(|n| *n <= rest.len())?;
        let tail = rest.split_off(length);
        parts.push(std::mem::replace(&mut rest, tail));
    }
    Some(parts)
}
