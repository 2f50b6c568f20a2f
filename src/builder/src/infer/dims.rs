//! Combining sizes: broadcasting, sizes that must be equal, and products.

use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;

use super::ctx::{Ctx, Shape};

pub(super) fn int(n: usize) -> SymInt {
    SymInt::from(i64::try_from(n).unwrap_or(i64::MAX))
}

/// Whether it depends on an anonymous size.
pub(super) fn has_anonymous(size: &SymInt) -> bool {
    let mut found = false;
    size.visit_symbols(&mut |name| found |= name.starts_with('?'));
    found
}

/// The more precise of two sizes that are equal at run time.
pub(super) fn better<'a>(a: &'a SymInt, b: &'a SymInt) -> &'a SymInt {
    let vagueness = |n: &SymInt| (n.known().is_none(), has_anonymous(n));
    if vagueness(b) < vagueness(a) { b } else { a }
}

/// The number of elements.
pub(super) fn product(dims: &[SymInt]) -> SymInt {
    dims.iter().product()
}

impl Ctx<'_> {
    /// Two sizes that the operator requires to be equal.
    pub fn equal_dims(&self, a: &SymInt, b: &SymInt) -> Result<SymInt> {
        match (a.known(), b.known()) {
            (Some(x), Some(y)) if x != y => Err(self.error(format!("sizes {x} and {y} differ"))),
            _ => Ok(better(a, b).clone()),
        }
    }

    /// Two shapes that the operator requires to be equal.
    pub fn equal_shapes(&self, a: Option<&[SymInt]>, b: Option<&[SymInt]>) -> Result<Shape> {
        let (Some(a), Some(b)) = (a, b) else { return Ok(a.or(b).map(<[SymInt]>::to_vec)) };
        if a.len() != b.len() {
            return Err(self.error(format!("ranks {} and {} differ", a.len(), b.len())));
        }
        Ok(Some(a.iter().zip(b).map(|(x, y)| self.equal_dims(x, y)).collect::<Result<_>>()?))
    }

    /// Checks the rank of an input, if it is known.
    pub fn want_rank(&self, i: usize, rank: usize) -> Result<()> {
        match self.shape(i) {
            Some(shape) if shape.len() != rank => Err(self.error(format!("input {i} must have rank {rank}"))),
            _ => Ok(()),
        }
    }

    /// Checks that an input, if its shape is known, has one element.
    pub fn want_one_element(&self, i: usize, what: &str) -> Result<()> {
        let is_other = |size: &SymInt| size.known().is_some_and(|size| size != 1);
        if self.shape(i).is_some_and(|shape| shape.iter().any(is_other)) {
            return Err(self.error(format!("the {what} must be a scalar")));
        }
        Ok(())
    }

    /// The size that two sizes broadcast to.
    pub fn broadcast_dims(&self, a: &SymInt, b: &SymInt) -> Result<SymInt> {
        if a == b || *b == 1 {
            return Ok(a.clone());
        }
        match (a.known(), b.known()) {
            (Some(1), _) => Ok(b.clone()),
            (Some(x), Some(y)) => Err(self.error(format!("sizes {x} and {y} do not broadcast"))),
            // If one size is known and not 1, the other is 1 or equal.
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

    /// Broadcasts two shapes by NumPy's rules.
    pub fn broadcast_two(&self, a: &[SymInt], b: &[SymInt]) -> Result<Vec<SymInt>> {
        let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
        let (front, back) = long.split_at(long.len() - short.len());
        let mut shape = front.to_vec();
        for (x, y) in back.iter().zip(short) {
            shape.push(self.broadcast_dims(x, y)?);
        }
        Ok(shape)
    }

    /// Broadcasts any number of shapes by NumPy's rules; unknown if one of them is.
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

    /// The most precise shape that covers both: sizes that differ are unknown.
    pub fn union_shapes(&self, a: Option<&[SymInt]>, b: Option<&[SymInt]>) -> Shape {
        let (a, b) = (a?, b?);
        if a.len() != b.len() {
            return None;
        }
        Some(a.iter().zip(b).map(|(x, y)| if x == y { x.clone() } else { self.fresh() }).collect())
    }
}

/// `dims` with the size at `axis` replaced.
pub(super) fn with_dim(dims: &[SymInt], axis: usize, replacement: SymInt) -> Vec<SymInt> {
    let mut dims = dims.to_vec();
    if let Some(dim) = dims.get_mut(axis) {
        *dim = replacement;
    }
    dims
}
