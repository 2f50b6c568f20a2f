//! Each call that a rule names, against what the proof says of the place: operator, dtypes, ranks, number of outputs, and whether it is a node
//! or lowered.

use aten2onnx_builder::{AVOIDED, Became, NamedCall};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_opmap::coverage::dtypes::DtypeSet;
use aten2onnx_opmap::coverage::said::{AllSaid, Fate, Said, Tensors};

/// What contradicts the proof in the calls of an export at an opset.
pub fn contradictions(named: &[NamedCall], opset: u32, said: &AllSaid, elsewhere: &AllSaid) -> Vec<String> {
    let of = |call: &NamedCall| {
        let Some(said) = said.get(&call.place).or_else(|| elsewhere.get(&call.place)) else {
            return Some(format!("calls `{}` at a place that the proof does not reach", call.op));
        };
        contradiction(call, opset, said).map(|what| format!("calls `{}` {what}", call.op))
    };
    named.iter().filter_map(of).collect()
}

fn contradiction(call: &NamedCall, opset: u32, said: &Said) -> Option<String> {
    for (i, input) in call.inputs.iter().enumerate() {
        if let (Some(real), Some(said)) = (input, said.input(i))
            && let Some(what) = other_tensor(*real, said)
        {
            return Some(format!("with an input {i} {what}"));
        }
    }
    for (i, real) in call.results.iter().enumerate() {
        if let Some(said) = said.results.get(i).copied().flatten()
            && let Some(what) = other_tensor(*real, said)
        {
            return Some(format!("with a result {i} {what}"));
        }
    }
    let outputs = i64::try_from(call.outputs).unwrap_or(i64::MAX);
    if outputs < said.outputs.0 || said.outputs.1 < outputs {
        return Some(format!("with {outputs} outputs, and not {} to {}", said.outputs.0, said.outputs.1));
    }
    let fate = match call.became? {
        // What a runtime avoids is no part of the proof.
        Became::Lowered(AVOIDED) => return None,
        Became::Node(version) => Fate::Node(version),
        Became::Lowered(before) => Fate::Lowered(before),
    };
    let is_said = said.fates.get(&fate).is_some_and(|at| at.has(opset));
    (!is_said).then(|| format!("and it becomes {fate:?}, but the proof says {:?}", said.fates))
}

/// What of a tensor is not what the proof says.
fn other_tensor((dtype, rank): (Dtype, Option<i64>), said: Tensors) -> Option<String> {
    let own = DtypeSet::one(dtype.torch_name());
    if !own.is_within(said.dtypes) {
        return Some(format!("of {dtype}, and not of {:?}", said.dtypes.names().collect::<Vec<_>>()));
    }
    let rank = rank.filter(|rank| !said.ranks.has(*rank))?;
    Some(format!("of rank {rank}, and not {:?}", said.ranks.bounds()))
}
