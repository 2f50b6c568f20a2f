//! Shapes of operands that cannot both be right for all sizes: one of them has a number of the example.

use super::super::Interpreter;
use crate::literals::{argument, known, short};
use aten2onnx_core::axes::counted_from_start;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_program::{Arg, Node};

/// Operators whose tensors are broadcast.
pub const BROADCAST: [&str; 33] = [
    "add",
    "sub",
    "rsub",
    "mul",
    "div",
    "where",
    "maximum",
    "minimum",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "pow",
    "fmod",
    "remainder",
    "atan2",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "addcmul",
    "addcdiv",
    "lerp",
    "masked_fill",
    "floor_divide",
    "hypot",
    "__and__",
    "__or__",
    "mse_loss",
];

impl Interpreter<'_, '_> {
    /// Refuses a call whose operands fit only some values of a symbol.
    pub(super) fn check_contradictions(&mut self, node: &Node) -> Result<()> {
        let found = match short(&node.target) {
            "lstm" | "gru" | "rnn_tanh" | "rnn_relu" => return self.recurrent(node).map_or(Ok(()), Err),
            "expand" => self.expanded(node),
            "cat" | "stack" | "concat" => self.concatenated(node),
            "bmm" | "baddbmm" => self.batched(node),
            name if BROADCAST.contains(&name) => self.broadcast(node),
            _ => None,
        };
        match found {
            Some(error) if self.is_traced() => Err(error),
            _ => Ok(()),
        }
    }

    /// The batch of a state and that of the input.
    fn recurrent(&self, node: &Node) -> Option<Error> {
        let state = match argument(node, "hx")? {
            Arg::Tensors(states) => states.first()?.as_ref()?,
            Arg::Tensor(state) => state,
            _ => return None,
        };
        let axis = usize::from(!matches!(argument(node, "batch_first"), Some(Arg::Bool(true))));
        let own = self.sizes_of(node, "input").filter(|sizes| sizes.len() == 3)?;
        let states = self.recorder.metas.get(state)?.sizes.as_slice();
        let (batch, of_state) = (own.get(axis)?, states.get(1)?);
        self.differ(batch, of_state).then(|| self.fixed_size_error(node, [states, own], [of_state, batch]))
    }

    /// Symbolic sizes are not expanded to numbers.
    fn expanded(&self, node: &Node) -> Option<Error> {
        let own = self.sizes_of(node, "self")?;
        let Arg::Ints(wanted) = argument(node, "size")? else { return None };
        let wanted: Vec<SymInt> = wanted.iter().map(|size| SymInt::from(known(size).unwrap_or(-1))).collect();
        let pairs = own.iter().rev().zip(wanted.iter().rev());
        let (size, number) = pairs.into_iter().find(|(size, number)| **number != -1 && self.differ(size, number))?;
        Some(self.fixed_size_error(node, [&wanted, own], [number, size]))
    }

    /// All tensors have the same sizes but for the axis along which they are joined.
    fn concatenated(&self, node: &Node) -> Option<Error> {
        let Arg::Tensors(names) = argument(node, "tensors")? else { return None };
        let all: Vec<&[SymInt]> = names.iter().flatten().filter_map(|name| self.sizes_by_name(name)).collect();
        let (first, rest) = all.split_first()?;
        let axis = match argument(node, "dim") {
            Some(Arg::Int(axis)) => *axis,
            _ => 0,
        };
        let axis = if short(&node.target) == "stack" { None } else { Some(counted_from_start(axis, first.len())?) };
        rest.iter().filter(|sizes| sizes.len() == first.len()).find_map(|sizes| {
            let mut pairs = first.iter().zip(*sizes).enumerate();
            let (_, (a, b)) = pairs.find(|(index, (a, b))| Some(*index) != axis && self.differ(a, b))?;
            Some(self.fixed_size_error(node, [sizes, first], [a, b]))
        })
    }

    fn batched(&self, node: &Node) -> Option<Error> {
        let name = if short(&node.target) == "bmm" { ("self", "mat2") } else { ("batch1", "batch2") };
        let (one, other) = (self.sizes_of(node, name.0)?, self.sizes_of(node, name.1)?);
        let (a, b) = (one.first()?, other.first()?);
        self.differ(a, b).then(|| self.fixed_size_error(node, [other, one], [a, b]))
    }

    /// Sizes from the last one on are equal, or 1.
    fn broadcast(&self, node: &Node) -> Option<Error> {
        let tensors = node.args.iter().filter_map(|(_, arg)| match arg {
            Arg::Tensor(name) => self.sizes_by_name(name),
            _ => None,
        });
        let all: Vec<&[SymInt]> = tensors.collect();
        let (first, rest) = all.split_first()?;
        rest.iter().find_map(|sizes| {
            let mut pairs = first.iter().rev().zip(sizes.iter().rev());
            let (a, b) = pairs.find(|(a, b)| **a != 1 && **b != 1 && self.differ(a, b))?;
            Some(self.fixed_size_error(node, [sizes, first], [a, b]))
        })
    }

    fn sizes_by_name(&self, name: &str) -> Option<&[SymInt]> {
        self.recorder.metas.get(name).map(|meta| meta.sizes.as_slice())
    }

    /// Whether two sizes are equal for some values of one symbol only.
    fn differ(&self, a: &SymInt, b: &SymInt) -> bool {
        let difference = a.sub(b);
        difference != 0 && difference.symbols().len() == 1 && self.is_of_inputs(&difference)
    }
}
