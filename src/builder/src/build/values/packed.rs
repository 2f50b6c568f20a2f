//! Sequences as two tensors, for loops and branches of opsets where these carry only tensors: the elements, flattened and joined, and
//! their sizes, a row for each element. Elements without dimensions are written as ones of size 1.

use crate::build::{Builder, In};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Node, Source, Type, Value};

/// The first opset whose loops and branches carry sequences.
const CARRIED: u32 = 13;
/// The operators whose result has known elements.
const MAKERS: &[&str] = &["SequenceConstruct", "SequenceEmpty"];

impl Builder {
    /// A sequence that stands for its joined elements and their sizes; `element` is the type of the elements.
    pub fn packed_sequence(&mut self, parts: [Value; 2], element: Type) -> Value {
        if let Some(rank) = element.rank() {
            let rows = Type::tensor(Dtype::Int64, vec![self.fresh_symbol(), SymInt::from(rank.max(1) as i64)]);
            // A loop may have lost the number of columns.
            let _ = self.refine(parts[1], &rows);
        }
        let sequence = self.add_value(Type::Sequence(Box::new(element)), Source::Node, None);
        self.data_mut(sequence).packed = Some(parts);
        sequence
    }

    /// The joined elements and the sizes of a packed sequence.
    pub fn packed(&self, sequence: Value) -> Option<[Value; 2]> {
        self.data(sequence).packed
    }

    /// The rank of the elements of a sequence, if all have the same.
    pub fn element_rank(&self, sequence: Value) -> Option<usize> {
        let Type::Sequence(of) = self.ty(sequence) else { return None };
        let ranks = self.items(sequence).unwrap_or_default();
        let mut ranks = ranks.iter().map(|item| self.ty(*item).rank());
        of.rank().or_else(|| ranks.next().flatten().filter(|first| ranks.all(|rank| rank == Some(*first))))
    }

    /// The input of a body that is a sequence, if bodies take only tensors.
    pub(crate) fn packed_input(&mut self, ty: &Type) -> Option<Value> {
        let Type::Sequence(of) = ty else { return None };
        let rank = of.rank().filter(|_| self.limits.opset < CARRIED)?;
        let count = self.fresh_symbol();
        let flat = Type::tensor(of.dtype(), vec![self.fresh_symbol()]);
        let sizes = Type::tensor(Dtype::Int64, vec![count, SymInt::from(rank.max(1) as i64)]);
        let parts = [self.body_input(flat), self.body_input(sizes)];
        self.shared.packed.insert(parts[0], rank);
        Some(self.packed_sequence(parts, (**of).clone()))
    }

    /// The rank of the elements of a sequence whose first part is this input of a body.
    pub fn packed_rank(&self, input: Value) -> Option<usize> {
        self.shared.packed.get(&input).copied()
    }

    /// Values of which packed sequences are replaced by their parts.
    pub(crate) fn unfolded(&self, values: &[Value]) -> Vec<Value> {
        values
            .iter()
            .flat_map(|value| self.packed(*value).map_or_else(|| vec![*value], |parts| parts.to_vec()))
            .collect()
    }

    /// A sequence of the graph as a packed one, where only packed ones can leave a body or enter a loop. One whose elements are known
    /// here stays: rules pack it.
    pub fn pack(&mut self, sequence: Value) -> Result<Value> {
        let Type::Sequence(element) = self.ty(sequence).clone() else { return Ok(sequence) };
        let is_made = |node: &Node| MAKERS.contains(&node.op) && node.outputs.contains(&Some(sequence));
        let is_needed = (11..CARRIED).contains(&self.limits.opset)
            && !self.is_bundle(sequence)
            && !self.scope().is_some_and(|scope| scope.nodes.iter().rev().any(is_made));
        let Some(rank) = element.rank().filter(|_| is_needed) else { return Ok(sequence) };
        let dtype = element.dtype();
        let step = |cx: &mut Builder, inputs: &[Value]| {
            let [i, go_on, before] = inputs else { return Err(cx.fault("a loop over a sequence has three inputs")) };
            let item = cx.node1("SequenceAt", vec![sequence.into(), (*i).into()], Vec::new())?;
            let sizes = if rank == 0 { cx.ints(&[1]) } else { cx.node1("Shape", vec![item.into()], Vec::new())? };
            let item = cx.node1("Reshape", vec![item.into(), In::Ints(vec![(-1).into()])], Vec::new())?;
            let joined = cx.node1("Concat", vec![In::Values(vec![*before, item])], vec![("axis", 0.into())])?;
            Ok(vec![*go_on, joined, sizes])
        };
        let carried = Type::tensor(dtype, vec![self.fresh_symbol()]);
        let body = self.body(&[Type::sized(Dtype::Int64, &[]), Type::sized(Dtype::Bool, &[]), carried], step)?;
        let count = self.node1("SequenceLength", vec![sequence.into()], Vec::new())?;
        let go_on = self.scalar(&true.into(), Dtype::Bool)?;
        let empty = match dtype {
            Dtype::String => self.strings(&[])?,
            _ => self.numbers(&[], dtype)?,
        };
        let inputs = vec![count.into(), go_on.into(), In::Values(vec![empty])];
        let results = self.node("Loop", inputs, vec![("body", body)], 2)?;
        let [flat, sizes] = results.as_slice() else {
            return Err(self.fault("a loop over a sequence has two results"));
        };
        let rows = In::Ints(vec![(-1).into(), SymInt::from(rank.max(1) as i64)]);
        let sizes = self.node1("Reshape", vec![(*sizes).into(), rows], Vec::new())?;
        Ok(self.packed_sequence([*flat, sizes], *element))
    }

    /// The value, if it is in the graph. A packed sequence is split into its elements, if their sizes differ in the first
    /// dimension only.
    pub fn unpacked(&mut self, value: Value) -> Result<Value> {
        let Some([flat, sizes]) = self.packed(value).filter(|_| self.limits.opset >= 11) else {
            return self.check_in_graph(value).map(|()| value);
        };
        let element = match self.ty(value) {
            Type::Sequence(of) => of.shape().map(<[SymInt]>::to_vec),
            _ => None,
        };
        let others = element.as_deref().and_then(|dims| dims.get(1..)).unwrap_or_default();
        let known: Option<Vec<i64>> = others.iter().map(|dim| dim.known().filter(|size| *size > 0)).collect();
        let Some(known) = known else {
            let message = "a sequence that a loop or branch gives, whose elements may differ in several dimensions";
            return Err(Error::refused(format!("{message}, needs opset {CARRIED}"), Some(CARRIED)));
        };
        if element.is_some_and(|dims| dims.is_empty()) {
            return self.node1("SplitToSequence", vec![flat.into()], vec![("keepdims", 0.into())]);
        }
        let rows = [&[-1], known.as_slice()].concat().into_iter().map(SymInt::from).collect();
        let rows = self.node1("Reshape", vec![flat.into(), In::Ints(rows)], Vec::new())?;
        let first = self.node1("Gather", vec![sizes.into(), In::Number(0.into())], vec![("axis", 1.into())])?;
        self.node1("SplitToSequence", vec![rows.into(), first.into()], Vec::new())
    }
}
