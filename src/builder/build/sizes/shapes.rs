//! Reshape and Expand with as little shape arithmetic as can be.

use crate::build::{Builder, In};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Constant, Type, Value};

impl Builder {
    /// A new shape over the same elements; one size may be -1, sizes of 0 are sizes. No node where nothing changes.
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
        let value = if has_nothing(&sizes) && sizes.iter().any(|n| n.known().is_none()) {
            self.nothing(self.dtype(x), &sizes)?
        } else if needs_zero(shape.as_deref(), &sizes) {
            self.reshape_to_nothing(x, &sizes)?
        } else {
            let entries = self.reshape_entries(shape.as_deref(), &sizes);
            self.node1("Reshape", vec![x.into(), entries.into()], vec![])?
        };
        self.refine_sizes(value, &sizes)
    }

    /// A size of 0 means a copy of the input's in Reshape, unless `allowzero` says otherwise.
    fn reshape_to_nothing(&mut self, x: Value, sizes: &[SymInt]) -> Result<Value> {
        if self.limits.opset >= 14 {
            return self.node1("Reshape", vec![x.into(), sizes.into()], vec![("allowzero", Attr::Int(1))]);
        }
        if sizes.iter().any(|n| *n == -1) {
            return Err(Error::refused("a reshape of a tensor without elements needs opset 14", Some(14)));
        }
        self.nothing(self.dtype(x), sizes)
    }

    /// A tensor without elements: all are alike. Where only some sizes are known, ONNX Runtime's inference stumbles over a Reshape to it.
    fn nothing(&mut self, dtype: Dtype, sizes: &[SymInt]) -> Result<Value> {
        let width = dtype.bytes(1).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        let zero = self.intern(Constant::new(dtype, vec![1], vec![0u8; width]));
        self.node1("ConstantOfShape", vec![sizes.into()], vec![("value", Attr::Tensor(zero))])
    }

    /// The shape input of a Reshape: a size that stays is 0, one that is worked out from the others is -1.
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

    /// The shape input of a Reshape that gives these sizes, where a constant can say it.
    pub(crate) fn constant_reshape(&self, x: Value, sizes: &[SymInt]) -> Option<Vec<i64>> {
        let shape = self.ty(x).shape()?;
        if needs_zero(Some(shape), sizes) {
            return None;
        }
        self.reshape_entries(Some(shape), sizes).iter().map(SymInt::known).collect()
    }

    /// Repeats along dimensions of size 1, and along new ones in front; -1 keeps a size. No node where nothing changes.
    pub fn expand(&mut self, x: Value, sizes: &[SymInt]) -> Result<Value> {
        let x = self.plain(x);
        let Some(shape) = self.ty(x).shape().map(<[SymInt]>::to_vec) else {
            return self.node1("Expand", vec![x.into(), sizes.into()], vec![]);
        };
        let Some(added) = sizes.len().checked_sub(shape.len()) else {
            return Err(Error::input(format!("a tensor of rank {} is expanded to {} sizes", shape.len(), sizes.len())));
        };
        let mut entries = sizes.to_vec();
        let mut result = sizes.to_vec();
        for (i, own) in shape.iter().enumerate() {
            let at = added + i;
            if sizes[at] == -1 || sizes[at] == *own {
                // Expand keeps what it is to repeat once.
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
        self.refine(value, &wanted).map_err(|(got, wanted)| {
            Error::input(format!("a shape of {wanted} is asked of a tensor that gives {got}"))
        })?;
        Ok(value)
    }
}

fn has_nothing(sizes: &[SymInt]) -> bool {
    sizes.iter().any(|n| *n == 0) && sizes.iter().all(|n| *n != -1)
}

/// Works the size that is -1 out, where the others divide the number of elements.
fn without_minus_one(shape: &[SymInt], sizes: &[SymInt]) -> Result<Vec<SymInt>> {
    let Some(open) = sizes.iter().position(|n| *n == -1) else { return Ok(sizes.to_vec()) };
    let others: SymInt = sizes.iter().enumerate().filter(|(i, _)| *i != open).map(|(_, n)| n).product();
    let total: SymInt = shape.iter().product();
    if others == 0 {
        return Err(Error::input("a size of -1 cannot be worked out beside a size of 0"));
    }
    let quotient = total.floor_div(&others);
    let mut sizes = sizes.to_vec();
    if quotient.mul(&others) == total {
        sizes[open] = quotient;
    }
    Ok(sizes)
}

/// Is a known 0 asked for that is not the input's own?
fn needs_zero(shape: Option<&[SymInt]>, sizes: &[SymInt]) -> bool {
    let own = |i: usize| shape.and_then(|s| s.get(i)).is_some_and(|n| *n == 0);
    sizes.iter().enumerate().any(|(i, n)| *n == 0 && !own(i))
}
