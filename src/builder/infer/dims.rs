//! Sizes that meet: broadcasting, sizes that must be equal, and products.

use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;

use super::ctx::{Ctx, Shape};

pub(super) fn int(n: usize) -> SymInt {
    SymInt::from(i64::try_from(n).unwrap_or(i64::MAX))
}

/// Does it depend on a size that has no name?
pub(super) fn has_anonymous(size: &SymInt) -> bool {
    let mut found = false;
    size.visit_symbols(&mut |name| found |= name.starts_with('?'));
    found
}

/// The better known one of two that are equal at run time.
pub(super) fn better<'a>(a: &'a SymInt, b: &'a SymInt) -> &'a SymInt {
    let vagueness = |n: &SymInt| (n.known().is_none(), has_anonymous(n));
    if vagueness(b) < vagueness(a) { b } else { a }
}

/// A number of elements.
pub(super) fn product(dims: &[SymInt]) -> SymInt {
    dims.iter().product()
}

impl Ctx<'_> {
    /// Two sizes that the operator wants equal.
    pub fn equal_dims(&self, a: &SymInt, b: &SymInt) -> Result<SymInt> {
        match (a.known(), b.known()) {
            (Some(x), Some(y)) if x != y => Err(self.error(format!("sizes {x} and {y} differ"))),
            _ => Ok(better(a, b).clone()),
        }
    }

    /// Two shapes that the operator wants equal.
    pub fn equal_shapes(&self, a: Option<&[SymInt]>, b: Option<&[SymInt]>) -> Result<Shape> {
        let (Some(a), Some(b)) = (a, b) else { return Ok(a.or(b).map(<[SymInt]>::to_vec)) };
        if a.len() != b.len() {
            return Err(self.error(format!("ranks {} and {} differ", a.len(), b.len())));
        }
        Ok(Some(a.iter().zip(b).map(|(x, y)| self.equal_dims(x, y)).collect::<Result<_>>()?))
    }

    /// The rank that the operator wants, where the rank is known.
    pub fn want_rank(&self, i: usize, rank: usize) -> Result<()> {
        match self.shape(i) {
            Some(shape) if shape.len() != rank => Err(self.error(format!("input {i} must have rank {rank}"))),
            _ => Ok(()),
        }
    }

    /// A size where two are broadcast.
    pub fn broadcast_dims(&self, a: &SymInt, b: &SymInt) -> Result<SymInt> {
        if a == b || *b == 1 {
            return Ok(a.clone());
        }
        match (a.known(), b.known()) {
            (Some(1), _) => Ok(b.clone()),
            (Some(x), Some(y)) => Err(self.error(format!("sizes {x} and {y} do not broadcast"))),
            // Beside a size that is not 1 the other one is either 1 or the same.
            (Some(_), None) => Ok(a.clone()),
            (None, Some(_)) => Ok(b.clone()),
            (None, None) => Ok(match (self.at_least(a, 2), self.at_least(b, 2)) {
                (true, true) => better(a, b).clone(),
                (true, false) => a.clone(),
                (false, true) => b.clone(),
                (false, false) => self.fresh(),
            }),
        }
    }

    /// Numpy's rule for two shapes.
    pub fn broadcast_two(&self, a: &[SymInt], b: &[SymInt]) -> Result<Vec<SymInt>> {
        let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
        let (front, back) = long.split_at(long.len() - short.len());
        let mut shape = front.to_vec();
        for (x, y) in back.iter().zip(short) {
            shape.push(self.broadcast_dims(x, y)?);
        }
        Ok(shape)
    }

    /// Numpy's rule for any number of shapes; unknown if one of them is.
    pub fn broadcast(&self, shapes: &[Option<&[SymInt]>]) -> Result<Shape> {
        let mut result = Vec::new();
        let mut known = true;
        for shape in shapes {
            match shape {
                Some(shape) => result = self.broadcast_two(&result, shape)?,
                None => known = false,
            }
        }
        Ok(known.then_some(result))
    }

    /// The largest type that covers both shapes: what differs is unknown.
    pub fn union_shapes(&self, a: Option<&[SymInt]>, b: Option<&[SymInt]>) -> Shape {
        let (a, b) = (a?, b?);
        if a.len() != b.len() {
            return None;
        }
        Some(a.iter().zip(b).map(|(x, y)| if x == y { x.clone() } else { self.fresh() }).collect())
    }
}

/// `dims` with `replacement` in place of the one at `axis`.
pub(super) fn with_dim(dims: &[SymInt], axis: usize, replacement: SymInt) -> Vec<SymInt> {
    let mut dims = dims.to_vec();
    if let Some(dim) = dims.get_mut(axis) {
        *dim = replacement;
    }
    dims
}
