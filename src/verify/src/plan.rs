//! Each call that a rule names, against what the proof says of the place: operator, dtypes, ranks, number of outputs, and whether it is a node
//! or lowered.

use aten2onnx_builder::{AVOIDED, Became, NamedCall};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_opmap::coverage::said::{AllSaid, Fate, Said, Tensors};
use aten2onnx_schemas::dtypes::DtypeSet;

/// What contradicts the proof in the calls of an export at an opset: `said` of the rule, `elsewhere` of the rules of nodes that no rule names.
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
    let own = DtypeSet::at(dtype as usize);
    if !own.is_within(said.dtypes) {
        return Some(format!("of {dtype}, and not of {:?}", said.dtypes.names().collect::<Vec<_>>()));
    }
    let rank = rank.filter(|rank| !said.ranks.has(*rank))?;
    Some(format!("of rank {rank}, and not {:?}", said.ranks.bounds()))
}

#[cfg(test)]
mod tests {
    use aten2onnx_opmap::coverage::opsets::Opsets;
    use aten2onnx_opmap::coverage::values::Ranks;

    use super::*;

    #[test]
    fn a_call_that_is_not_what_the_proof_says_is_found() {
        let floats = Tensors { dtypes: DtypeSet::one("float32"), ranks: Ranks::between(1, 2) };
        let node = (Fate::Node(13), Opsets::range(13, 20));
        let said = Said { inputs: vec![Some(floats)], results: vec![Some(floats)], outputs: (1, 1), ..Said::default() };
        let said = Said { fates: [node].into(), ..said };
        let matrix = (Dtype::Float32, Some(2));
        let call = NamedCall {
            place: 1,
            op: "Relu",
            inputs: vec![Some(matrix)],
            outputs: 1,
            results: vec![matrix],
            became: Some(Became::Node(13)),
        };
        let found = |call: NamedCall, opset: u32| {
            contradictions(&[call], opset, &[(1, said.clone())].into(), &AllSaid::new()).join("\n")
        };
        assert_eq!(found(call.clone(), 13), "");
        let of_ints = NamedCall { inputs: vec![Some((Dtype::Int64, Some(2)))], ..call.clone() };
        assert!(found(of_ints, 13).contains("with an input 0 of int64"));
        let of_rank = NamedCall { results: vec![(Dtype::Float32, Some(3))], ..call.clone() };
        assert!(found(of_rank, 13).contains("with a result 0 of rank 3"));
        let of_two = NamedCall { outputs: 2, ..call.clone() };
        assert!(found(of_two, 13).contains("with 2 outputs"));
        let lowered = NamedCall { became: Some(Became::Lowered(13)), ..call.clone() };
        assert!(found(lowered, 13).contains("it becomes Lowered(13)"));
        assert!(found(call.clone(), 12).contains("it becomes Node(13)"));
        let elsewhere = NamedCall { place: 2, ..call };
        assert!(found(elsewhere, 13).contains("does not reach"));
    }
}
