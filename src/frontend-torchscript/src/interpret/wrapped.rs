//! Numbers of Python that a trace has as tensors of its constants.
//!
//! A trace writes `x * 0.5` as a product with a constant tensor of float64 without dimensions. libtorch takes such constants as numbers when
//! dtypes are promoted, so the result of an int64 tensor is float32. Buffers and what operators return are tensors, whatever their size.

use aten2onnx_core::dtype::Dtype;
use aten2onnx_program::Arg;

use super::Interpreter;
use super::fixed_sizes::BROADCAST;
use super::recorder::Recorder;
use crate::literals::short;
use crate::values::{Item, Value};

impl Interpreter<'_, '_> {
    /// Remembers a constant of the archive that is a number.
    pub(super) fn note_constant(&mut self, item: &Item) {
        if let Value::Tensor(tensor) = &item.value
            && !self.recorder.wrapped.contains_key(&*tensor.name)
            && let Some(number) = self.recorder.number_in(&tensor.name)
        {
            self.recorder.wrapped.insert(tensor.name.to_string(), number);
        }
    }

    /// The arguments of an operator that promotes dtypes, with numbers in place of such constants. One operand stays a tensor.
    pub(super) fn with_numbers(&self, target: &str, mut args: Vec<(String, Arg)>) -> Vec<(String, Arg)> {
        let name = short(target);
        if self.recorder.wrapped.is_empty() || !BROADCAST.contains(&name.strip_suffix('_').unwrap_or(name)) {
            return args;
        }
        let is_tensor = |(param, arg): &(String, Arg)| matches!(arg, Arg::Tensor(name) if param != "condition" && !self.recorder.wrapped.contains_key(name));
        if !args.iter().any(is_tensor) {
            return args;
        }
        for (_, arg) in &mut args {
            if let Arg::Tensor(name) = arg
                && let Some(number) = self.recorder.wrapped.get(name)
            {
                *arg = number.clone();
            }
        }
        args
    }
}

impl Recorder<'_> {
    /// The number in a weight without dimensions, of a dtype that libtorch gives to numbers of Python.
    fn number_in(&self, name: &str) -> Option<Arg> {
        let (dtype, bytes) = self.single_element(name)?;
        Some(match dtype {
            Dtype::Float64 => Arg::Float(f64::from_le_bytes(bytes.try_into().ok()?)),
            Dtype::Int64 => Arg::Int(i64::from_le_bytes(bytes.try_into().ok()?)),
            _ => return None,
        })
    }
}
