//! Negative axes: old opsets only accept axes that count from the front (`negative_axes` in opsets.toml), and ONNX Runtime's
//! reductions of tensors without elements too.

use crate::build::{Builder, NodeCall};
use aten2onnx_core::error::Result;
use aten2onnx_onnx::facts::negative_axes;
use aten2onnx_onnx::graph::Attr;
use aten2onnx_onnx::schema::Version;

impl Builder {
    /// Replaces negative axes of a native call, if the target requires it and the rank is known.
    pub(crate) fn nonnegative_axes(
        &mut self,
        version: &'static Version,
        call: &mut NodeCall,
        attrs: &mut [(&'static str, Attr)],
    ) -> Result<()> {
        if self.may_reduce_nothing(call)? {
            if let Some((_, attr)) = attrs.iter_mut().find(|(name, _)| *name == "axes") {
                self.nonnegative_attr(call, attr)?;
            }
            return self.nonnegative_input(version, call, "axes");
        }
        let target = self.target_of(call.op);
        for (_, since, name, is_input) in negative_axes(call.op) {
            if target >= *since {
                continue;
            }
            if *is_input {
                self.nonnegative_input(version, call, name)?;
            } else if let Some((_, attr)) = attrs.iter_mut().find(|(n, _)| n == name) {
                self.nonnegative_attr(call, attr)?;
            }
        }
        Ok(())
    }

    /// Whether it is a reduction of a tensor that may have a size of 0. ONNX Runtime 1.31.1 gives the shape of the input for
    /// it if an axis is negative.
    fn may_reduce_nothing(&self, call: &NodeCall) -> Result<bool> {
        if !call.op.starts_with("Reduce") {
            return Ok(false);
        }
        let sizes = self.ty(call.input(0)?).shape();
        Ok(sizes.is_some_and(|sizes| !sizes.iter().all(|size| self.is_positive(size))))
    }

    fn nonnegative_attr(&self, call: &NodeCall, attr: &mut Attr) -> Result<()> {
        let added = match (call.op, &*attr) {
            // The axes refer to the result.
            ("Unsqueeze", Attr::Ints(axes)) => axes.len() as i64,
            ("OneHot", _) => 1,
            _ => 0,
        };
        match attr {
            Attr::Int(axis) if *axis < 0 => *axis += self.rank_of(call)? + added,
            Attr::Ints(axes) if axes.iter().any(|axis| *axis < 0) => {
                let rank = self.rank_of(call)? + added;
                axes.iter_mut().filter(|axis| **axis < 0).for_each(|axis| *axis += rank);
            }
            _ => {}
        }
        Ok(())
    }

    fn nonnegative_input(&mut self, version: &'static Version, call: &mut NodeCall, name: &str) -> Result<()> {
        let Some(at) = version.inputs.iter().position(|port| port.name == name) else { return Ok(()) };
        let Some(axes) = call.optional(at).and_then(|value| self.constant_ints(value)) else { return Ok(()) };
        if axes.iter().all(|axis| *axis >= 0) {
            return Ok(());
        }
        let rank = self.rank_of(call)?;
        let front: Vec<i64> = axes.iter().map(|axis| if *axis < 0 { axis + rank } else { *axis }).collect();
        let front = self.ints(&front);
        call.inputs[at] = Some(front);
        Ok(())
    }

    /// The rank of the first input.
    fn rank_of(&self, call: &NodeCall) -> Result<i64> {
        self.rank(call.input(0)?)
    }
}
