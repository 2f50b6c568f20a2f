//! Branches and loops on types that If, Loop and Scan do not support in older opsets: sequences and bfloat16.

use super::nodes::MakeNodes;
use super::sequences::applied_at;
use aten2onnx_builder::{Builder, Graph, Scalar};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::graph::{Attr, Body, Type, Value};

/// The first opset whose If and Loop support sequences.
const SINCE: u32 = 13;

/// An If with sequences as results: if both branches return the same number of elements, each becomes a separate
/// result.
pub fn branches_of_elements(
    cx: &mut Builder,
    condition: Value,
    yes: &Graph,
    no: &Graph,
    outputs: i64,
) -> Result<Vec<Value>> {
    let (Graph::Built(yes), Graph::Built(no)) = (yes, no) else { return Err(cx.fault("an If needs two branches")) };
    let yes = branch(cx, yes)?;
    let no = branch(cx, no)?;
    let even = yes.lengths.len() == no.lengths.len() && yes.lengths.iter().zip(&no.lengths).all(|(a, b)| a == b);
    if !even {
        let what = "branches that give sequences of different lengths need opset 13";
        return Err(Error::refused(what, Some(SINCE)));
    }
    let count = yes.lengths.iter().map(|length| length.unwrap_or(1)).sum();
    let dtypes: Vec<Dtype> = yes.dtypes;
    let attrs = vec![("then_branch", yes.body), ("else_branch", no.body)];
    let mut results = cx.node("If", vec![condition.into()], attrs, count)?.into_iter();
    let mut whole = Vec::with_capacity(usize::try_from(outputs).unwrap_or(0));
    for (length, dtype) in yes.lengths.into_iter().zip(dtypes) {
        let parts: Vec<Value> = results.by_ref().take(length.unwrap_or(1)).collect();
        whole.push(match (length, parts.as_slice()) {
            (None, [tensor]) => *tensor,
            (Some(0), _) => empty(cx, dtype)?,
            _ => cx.node1("SequenceConstruct", vec![parts.into()], Vec::new())?,
        });
    }
    Ok(whole)
}

fn empty(cx: &mut Builder, dtype: Dtype) -> Result<Value> {
    cx.op_with("SequenceEmpty", Vec::new(), "dtype", Attr::Int(dtype.onnx().into()))
}

/// A branch that returns elements instead of sequences.
struct Branch {
    body: Attr,
    /// The number of elements of each result; None for a tensor.
    lengths: Vec<Option<usize>>,
    dtypes: Vec<Dtype>,
}

fn branch(cx: &mut Builder, body: &Body) -> Result<Branch> {
    let mut lengths = Vec::with_capacity(body.outputs.len());
    let dtypes = body.outputs.iter().map(|output| cx.dtype(*output)).collect();
    let apart = cx.body(&[], |cx, _| {
        let mut parts = Vec::new();
        for output in cx.inline_body(body, &[]) {
            if cx.ty(output).is_tensor() {
                lengths.push(None);
                parts.push(output);
                continue;
            }
            let elements = elements(cx, output).ok_or_else(|| {
                let what = "branches that give sequences whose length is not known need opset 13";
                Error::refused(what, Some(SINCE))
            })?;
            lengths.push(Some(elements.len()));
            parts.extend(elements);
        }
        Ok(parts)
    })?;
    Ok(Branch { body: apart, lengths, dtypes })
}

/// The elements of a sequence that was built in this scope, or is not in the graph.
fn elements(cx: &mut Builder, sequence: Value) -> Option<Vec<Value>> {
    if let Some(items) = cx.items(sequence) {
        return Some(items);
    }
    let maker = cx.nodes_mut().iter().rev().find(|node| node.outputs.contains(&Some(sequence)))?;
    match maker.op {
        "SequenceConstruct" => maker.inputs.iter().copied().collect(),
        "SequenceEmpty" => Some(Vec::new()),
        _ => None,
    }
}

/// How results of iterations are collected.
enum Collected {
    /// All have one shape: they are stacked.
    Stacked,
    /// One dimension of any length: they are concatenated, and their lengths kept.
    Joined,
}

/// Applies a body to the elements of sequences of unknown length, in a loop whose results are tensors that are split
/// afterwards.
pub(super) fn mapped_in_tensors(cx: &mut Builder, inputs: &[Value], body: &Body) -> Result<Vec<Value>> {
    if cx.opset() < 11 {
        return Err(Error::refused(
            "opsets before 11 have no sequences, and this one is an input of the graph",
            Some(11),
        ));
    }
    let forms = body.outputs.iter().map(|output| collected(cx, *output)).collect::<Result<Vec<_>>>()?;
    let count = cx.op("SequenceLength", inputs.iter().take(1).map(|x| (*x).into()).collect())?;
    let mut params = vec![Type::sized(Dtype::Int64, &[]), Type::sized(Dtype::Bool, &[])];
    let mut given = vec![count.into(), cx.scalar(&Scalar::Bool(true), Dtype::Bool)?.into()];
    for (output, form) in body.outputs.iter().zip(&forms) {
        if matches!(form, Collected::Joined) {
            let dtype = cx.dtype(*output);
            params.push(Type::tensor(dtype, vec![cx.unknown_size()]));
            given.push(nothing(cx, dtype)?.into());
        }
    }
    let joined = params.len() - 2;
    let step = cx.body(&params, |cx, given| {
        let [index, go_on, before @ ..] = given else { return Err(cx.fault("a loop body needs its inputs")) };
        let outputs = applied_at(cx, inputs, *index, body)?;
        let (mut carried, mut stacked) = (vec![*go_on], Vec::new());
        let mut before = before.iter();
        for (output, form) in outputs.into_iter().zip(&forms) {
            match (form, before.as_slice()) {
                (Collected::Joined, [so_far, ..]) => {
                    before.next();
                    stacked.push(cx.op("Shape", vec![output.into()])?);
                    carried.push(cx.concat(vec![*so_far, output], 0)?);
                }
                _ => stacked.push(output),
            }
        }
        carried.extend(stacked);
        Ok(carried)
    })?;
    let results = cx.node("Loop", given, vec![("body", step)], joined + forms.len())?;
    let (joined, stacked) = results.split_at(joined);
    let mut joined = joined.iter();
    let mut sequences = Vec::with_capacity(forms.len());
    for (form, stacked) in forms.iter().zip(stacked) {
        sequences.push(match (form, joined.as_slice()) {
            (Collected::Joined, [all, ..]) => {
                joined.next();
                let lengths = super::reshape(cx, *stacked, &[(-1).into()])?;
                cx.op_with("SplitToSequence", vec![(*all).into(), lengths.into()], "axis", Attr::Int(0))?
            }
            _ => cx.op_with("SplitToSequence", vec![(*stacked).into()], "keepdims", Attr::Int(0))?,
        });
    }
    Ok(sequences)
}

fn collected(cx: &Builder, output: Value) -> Result<Collected> {
    match cx.ty(output).shape() {
        Some(shape) if shape.iter().all(|size| size.known().is_some()) => Ok(Collected::Stacked),
        Some([_]) => Ok(Collected::Joined),
        _ => {
            let what = "a sequence of unknown length whose elements differ in shape, made in a loop, needs opset 13";
            Err(Error::refused(what, Some(SINCE)))
        }
    }
}

/// An empty list.
fn nothing(cx: &mut Builder, dtype: Dtype) -> Result<Value> {
    if dtype == Dtype::String { cx.strings(&[]) } else { cx.numbers(&[], dtype) }
}

/// A body that takes and returns float32 instead of bfloat16.
pub fn wide_body(cx: &mut Builder, body: &Graph) -> Result<Graph> {
    let Graph::Built(body) = body else { return Err(cx.fault("expected a graph attribute")) };
    let types: Vec<Type> = body.inputs.iter().map(|input| wide_type(cx.ty(*input))).collect();
    let wide = cx.body(&types, |cx, given| {
        let mut inputs = Vec::with_capacity(given.len());
        for (wide, own) in given.iter().zip(&body.inputs) {
            let dtype = cx.dtype(*own);
            inputs.push(if dtype == Dtype::Bfloat16 { cx.cast(*wide, dtype)? } else { *wide });
        }
        let mut outputs = cx.inline_body(body, &inputs);
        for output in &mut outputs {
            if cx.dtype(*output) == Dtype::Bfloat16 {
                *output = cx.cast(*output, Dtype::Float32)?;
            }
        }
        Ok(outputs)
    })?;
    match wide {
        Attr::Graph(body) => Ok(Graph::Built(body)),
        _ => Err(cx.fault("expected a graph")),
    }
}

fn wide_type(ty: &Type) -> Type {
    match ty {
        Type::Tensor { dtype: Dtype::Bfloat16, shape } => Type::Tensor { dtype: Dtype::Float32, shape: shape.clone() },
        other => other.clone(),
    }
}

/// The dtypes of a body's outputs.
pub fn dtypes_given(cx: &mut Builder, body: &Graph) -> Result<Vec<Dtype>> {
    let Graph::Built(body) = body else { return Err(cx.fault("expected a graph attribute")) };
    Ok(body.outputs.iter().map(|output| cx.dtype(*output)).collect())
}
