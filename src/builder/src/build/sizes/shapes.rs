//! Reshape and Expand with as little shape arithmetic as possible.

use crate::build::{Builder, In};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Constant, Type, Value};

impl Builder {
    /// Reshapes `x`. One size may be -1; a size of 0 is an empty dimension. Emits no node if nothing changes.
    pub fn reshape(&mut self, x: Value, sizes: &[SymInt]) -> Result<Value> {
        let x = self.plain(x);
        let shape = self.ty(x).shape().map(<[SymInt]>::to_vec);
        let sizes = match &shape {
            Some(shape) => without_minus_one(shape, sizes)?,
            None => sizes.to_vec(),
        };
        if shape.as_ref() == Some(&sizes) {
            return Ok(x);
        }
        let value = if is_empty(&sizes) && sizes.iter().any(|n| n.known().is_none()) {
            self.empty(self.dtype(x), &sizes)?
        } else if needs_zero(shape.as_deref(), &sizes) {
            self.reshape_to_empty(x, &sizes)?
        } else {
            let entries = self.reshape_entries(shape.as_deref(), &sizes);
            let entries = match self.whole_shape(&entries, &sizes) {
                Some(other) => self.node1("Shape", vec![other.into()], vec![])?.into(),
                None => entries.into(),
            };
            self.node1("Reshape", vec![x.into(), entries], vec![])?
        };
        self.refine_sizes(value, &sizes)
    }

    /// In Reshape, 0 copies the input's size unless `allowzero` is set.
    fn reshape_to_empty(&mut self, x: Value, sizes: &[SymInt]) -> Result<Value> {
        if self.limits.opset >= 14 {
            return self.node1("Reshape", vec![x.into(), sizes.into()], vec![("allowzero", Attr::Int(1))]);
        }
        // Beside a 0 the size for -1 is 0 too: any other one would fit as well, and PyTorch refuses to choose.
        let sizes: Vec<SymInt> = sizes.iter().map(|n| if *n == -1 { SymInt::from(0) } else { n.clone() }).collect();
        self.empty(self.dtype(x), &sizes)
    }

    /// An empty tensor: all of the same shape are equal. If only some sizes are known, ONNX Runtime's inference fails
    /// for a Reshape to it.
    fn empty(&mut self, dtype: Dtype, sizes: &[SymInt]) -> Result<Value> {
        if dtype == Dtype::Bfloat16 && self.opset() < 20 {
            let wide = self.empty(Dtype::Float32, sizes)?;
            return self.cast(wide, dtype);
        }
        let width = dtype.bytes(1).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        let zero = self.intern(Constant::new(dtype, vec![1], vec![0u8; width]));
        self.node1("ConstantOfShape", vec![sizes.into()], vec![("value", Attr::Tensor(zero))])
    }

    /// The shape input of a Reshape: 0 for sizes that stay, -1 for one that follows from the others.
    fn reshape_entries(&self, shape: Option<&[SymInt]>, sizes: &[SymInt]) -> Vec<SymInt> {
        let kept = |i: usize, size: &SymInt| shape.and_then(|s| s.get(i)) == Some(size);
        let copied = |i: usize, size: &SymInt| kept(i, size) && size.known().is_none_or(|n| n == 0);
        let mut entries: Vec<SymInt> = sizes.to_vec();
        let mut computed: Vec<usize> = Vec::new();
        for (i, size) in sizes.iter().enumerate() {
            if copied(i, size) {
                entries[i] = SymInt::from(0);
            } else if size.known().is_none() {
                computed.push(i);
            }
        }
        let worst = computed.iter().copied().max_by_key(|i| (sizes[*i].as_symbol().is_none(), *i));
        if let Some(worst) = worst.filter(|_| !sizes.iter().any(|n| *n == -1)) {
            let others = sizes.iter().enumerate().filter(|(i, _)| *i != worst);
            if others.into_iter().all(|(_, n)| self.is_positive(n)) {
                entries[worst] = SymInt::from(-1);
            }
        }
        entries
    }

    /// A value that has these sizes, where they are not constant: its shape is one node. None if a size may be 0, which copies another.
    fn whole_shape(&self, entries: &[SymInt], sizes: &[SymInt]) -> Option<Value> {
        if entries.iter().all(|n| n.known().is_some()) || !sizes.iter().all(|n| self.is_at_least(n, 1)) {
            return None;
        }
        let places = sizes.iter().filter_map(|size| self.place(size));
        places.map(|(value, _)| value).find(|value| self.ty(*value).shape() == Some(sizes))
    }

    /// The shape input of a Reshape to these sizes, if it is constant.
    pub(crate) fn constant_reshape(&self, x: Value, sizes: &[SymInt]) -> Option<Vec<i64>> {
        let shape = self.ty(x).shape()?;
        if needs_zero(Some(shape), sizes) {
            return None;
        }
        self.reshape_entries(Some(shape), sizes).iter().map(SymInt::known).collect()
    }

    /// Broadcasts dimensions of size 1 and adds new leading ones; -1 keeps a size. Emits no node if nothing changes.
    pub fn expand(&mut self, x: Value, sizes: &[SymInt]) -> Result<Value> {
        let x = self.plain(x);
        let Some(shape) = self.ty(x).shape().map(<[SymInt]>::to_vec) else {
            return self.node1("Expand", vec![x.into(), sizes.into()], vec![]);
        };
        let Some(added) = sizes.len().checked_sub(shape.len()) else {
            return Err(Error::input(format!(
                "a tensor of rank {} cannot be expanded to {} sizes",
                shape.len(),
                sizes.len()
            )));
        };
        let mut entries = sizes.to_vec();
        let mut result = sizes.to_vec();
        for (i, own) in shape.iter().enumerate() {
            let at = added + i;
            if sizes[at] == -1 || sizes[at] == *own {
                // In Expand, 1 keeps the input's size.
                entries[at] = SymInt::from(1);
                result[at] = own.clone();
            }
        }
        if result == shape {
            return Ok(x);
        }
        let value = self.node1("Expand", vec![x.into(), In::Ints(entries)], vec![])?;
        self.refine_sizes(value, &result)
    }

    fn refine_sizes(&mut self, value: Value, sizes: &[SymInt]) -> Result<Value> {
        if sizes.iter().any(|n| *n == -1) {
            return Ok(value);
        }
        let dtype: Dtype = self.dtype(value);
        let wanted = Type::tensor(dtype, sizes.to_vec());
        self.refine(value, &wanted)
            .map_err(|(got, wanted)| Error::input(format!("expected a tensor of shape {wanted}, but it has {got}")))?;
        Ok(value)
    }
}

fn is_empty(sizes: &[SymInt]) -> bool {
    sizes.iter().any(|n| *n == 0) && sizes.iter().all(|n| *n != -1)
}

/// Computes the size that is -1, if the others divide the number of elements.
fn without_minus_one(shape: &[SymInt], sizes: &[SymInt]) -> Result<Vec<SymInt>> {
    let Some(open) = sizes.iter().position(|n| *n == -1) else { return Ok(sizes.to_vec()) };
    let others: SymInt = sizes.iter().enumerate().filter(|(i, _)| *i != open).map(|(_, n)| n).product();
    let total: SymInt = shape.iter().product();
    if others == 0 {
        return Err(Error::input("a size of -1 is ambiguous if another size is 0"));
    }
    let quotient = total.floor_div(&others);
    let mut sizes = sizes.to_vec();
    if quotient.mul(&others) == total {
        sizes[open] = quotient;
    }
    Ok(sizes)
}

/// Whether a size of 0 is requested that is not copied from the input.
fn needs_zero(shape: Option<&[SymInt]>, sizes: &[SymInt]) -> bool {
    let own = |i: usize| shape.and_then(|s| s.get(i)).is_some_and(|n| *n == 0);
    sizes.iter().enumerate().any(|(i, n)| *n == 0 && !own(i))
}
