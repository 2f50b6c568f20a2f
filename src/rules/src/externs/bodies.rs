//! Facts about bodies of If, Loop, Scan and SequenceMap.

use aten2onnx_builder::{Builder, Graph};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Body, Node, Type, Value};

fn built<'g>(cx: &Builder, body: &'g Graph) -> Result<&'g Body> {
    match body {
        Graph::Built(body) => Ok(body),
        Graph::Function(_) => Err(cx.fault("a closure has no types before it is used")),
    }
}

/// The dtypes of a body's outputs.
pub fn dtypes_given(cx: &mut Builder, body: &Graph) -> Result<Vec<Dtype>> {
    Ok(built(cx, body)?.outputs.iter().map(|output| cx.dtype(*output)).collect())
}

/// The dtypes of a body's inputs.
pub fn dtypes_taken(cx: &mut Builder, body: &Graph) -> Result<Vec<Dtype>> {
    Ok(built(cx, body)?.inputs.iter().map(|input| cx.dtype(*input)).collect())
}

/// The sizes of an output of a body, if its rank is known.
pub fn shape_given(cx: &mut Builder, body: &Graph, k: i64) -> Result<Option<Vec<SymInt>>> {
    let output = usize::try_from(k).ok().and_then(|k| built(cx, body).ok()?.outputs.get(k).copied());
    Ok(output.and_then(|output| cx.ty(output).shape()).map(<[SymInt]>::to_vec))
}

/// The number of elements of each output that is a sequence; -1 if it is not known, None for a tensor.
pub fn lengths_given(cx: &mut Builder, body: &Graph) -> Result<Vec<Option<i64>>> {
    let body = built(cx, body)?;
    let length = |output: &Value| match cx.ty(*output) {
        Type::Sequence(_) => Some(elements_by(cx, &body.nodes, *output).map_or(-1, |items| items.len() as i64)),
        _ => None,
    };
    Ok(body.outputs.iter().map(length).collect())
}

/// The rank of the elements of each input after the second that is a packed sequence; None for others.
pub fn ranks_taken(cx: &mut Builder, body: &Graph) -> Result<Vec<Option<i64>>> {
    let mut inputs = built(cx, body)?.inputs.iter().skip(2);
    let mut ranks = Vec::new();
    while let Some(input) = inputs.next() {
        let rank = cx.packed_rank(*input);
        if rank.is_some() {
            inputs.next();
        }
        ranks.push(rank.map(|rank| rank as i64));
    }
    Ok(ranks)
}

/// The rank of the elements of each output that is a sequence; -1 if it is not known, None for a tensor.
pub fn ranks_given(cx: &mut Builder, body: &Graph) -> Result<Vec<Option<i64>>> {
    let body = built(cx, body)?;
    let rank = |output: &Value| match cx.ty(*output) {
        Type::Sequence(_) => {
            let items = elements_by(cx, &body.nodes, *output).unwrap_or_default();
            let first = items.first().and_then(|item| cx.ty(*item).rank());
            Some(cx.element_rank(*output).or(first).map_or(-1, |rank| rank as i64))
        }
        _ => None,
    };
    Ok(body.outputs.iter().map(rank).collect())
}

/// The elements of a sequence that is not in the graph, or was built in this scope.
pub fn elements(cx: &mut Builder, sequence: Value) -> Result<Option<Vec<Value>>> {
    let nodes = cx.nodes_mut().clone();
    Ok(elements_by(cx, &nodes, sequence))
}

fn elements_by(cx: &Builder, nodes: &[Node], sequence: Value) -> Option<Vec<Value>> {
    if let Some(items) = cx.items(sequence) {
        return Some(items);
    }
    let maker = nodes.iter().rev().find(|node| node.outputs.contains(&Some(sequence)))?;
    match maker.op {
        "SequenceConstruct" => maker.inputs.iter().copied().collect(),
        "SequenceEmpty" => Some(Vec::new()),
        _ => None,
    }
}
