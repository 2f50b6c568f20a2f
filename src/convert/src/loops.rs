//! Bodies of loops that carry sequences, at opsets whose loops carry only tensors.
//!
//! There a sequence is packed into tensors, which needs the rank of its elements. If the sequence is empty at first, and its type is
//! not declared, the rank is that of what the body adds, so the body is converted once to find it.

use super::graph::Conversion;
use super::report::Problems;
use super::scope::Names;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Body, Type, Value};
use aten2onnx_onnx::proto::{AttributeProto, GraphProto};

/// The first opset with sequences.
const FIRST: u32 = 11;
/// The first opset whose loops carry sequences.
const CARRIED: u32 = 13;

/// How often bodies are converted to find types; nested loops could otherwise multiply.
const MAX_TRIALS: u32 = 64;

/// The sizes of a sequence's elements that are the same for all; None if not even the rank is known.
type Sizes = Option<Vec<Option<i64>>>;

/// What a discarded conversion of a body must not change.
struct Before {
    problems: Problems,
    names: Names,
    pinned: usize,
}

/// A converted body.
struct Converted {
    body: Body,
    /// The sizes of the elements of each carried sequence after a round.
    sizes: Vec<Sizes>,
}

impl Conversion<'_> {
    /// The body of a Loop, and the types of its carried results as far as they are found here. `inputs` are those of the node.
    pub(super) fn loop_body(
        &mut self,
        proto: &AttributeProto,
        params: Option<Vec<Type>>,
        inputs: &[Option<Value>],
    ) -> Result<(Attr, Vec<Option<Type>>)> {
        let carries = params.iter().flatten().any(|ty| matches!(ty, Type::Sequence(_)));
        let Some(graph) = proto.g.as_ref().filter(|_| carries && self.target_opset < CARRIED) else {
            return Ok((self.body(proto, params)?, Vec::new()));
        };
        let types = self.body_types(graph, params)?;
        let given: Vec<Sizes> =
            types.iter().enumerate().map(|(i, ty)| self.given(inputs.get(i).copied(), ty)).collect();
        let before = self.before();
        let mut wanted = given.clone();
        if self.may_try() {
            // Only types are wanted, and an opset with sequences can say more.
            let opset = self.builder.replace_opset(self.target_opset.max(FIRST));
            let grown = self.converted(graph, &typed(self, &types, &given), &given);
            self.builder.replace_opset(opset);
            self.restore(&before);
            wanted = given.iter().zip(grown?.sizes).map(|(a, b)| joined(a, &b)).collect();
        }
        if self.may_try() {
            let converted = self.converted(graph, &typed(self, &types, &wanted), &[])?;
            if wanted.iter().zip(&converted.sizes).all(|(a, b)| a.is_none() || joined(a, b) == *a) {
                let found = typed(self, &types, &wanted).into_iter().skip(2);
                let found = found.map(|ty| Some(ty).filter(|ty| matches!(ty, Type::Sequence(_))));
                return Ok((Attr::Graph(converted.body), found.collect()));
            }
            self.restore(&before);
        }
        let any: Vec<Sizes> = wanted.into_iter().map(|sizes| sizes.map(|dims| vec![None; dims.len()])).collect();
        let converted = self.converted(graph, &typed(self, &types, &any), &[])?;
        Ok((Attr::Graph(converted.body), Vec::new()))
    }

    fn may_try(&mut self) -> bool {
        self.trials = self.trials.saturating_add(1);
        self.trials <= MAX_TRIALS
    }

    fn before(&self) -> Before {
        Before { problems: self.problems.clone(), names: self.names.clone(), pinned: self.pinned.len() }
    }

    fn restore(&mut self, before: &Before) {
        self.problems.clone_from(&before.problems);
        self.names.clone_from(&before.names);
        self.pinned.truncate(before.pinned);
    }

    /// The sizes of the elements before the first round, or those that the body declares.
    fn given(&self, input: Option<Option<Value>>, declared: &Type) -> Sizes {
        let given = input.flatten().and_then(|value| self.element_sizes(value));
        given.or_else(|| match declared {
            Type::Sequence(of) => sizes(of),
            _ => None,
        })
    }

    fn element_sizes(&self, sequence: Value) -> Sizes {
        let Type::Sequence(of) = self.builder.ty(sequence) else { return None };
        let items = self.builder.items(sequence).unwrap_or_default();
        let all = items.iter().map(|item| sizes(self.builder.ty(*item)));
        sizes(of).or_else(|| all.reduce(|a, b| common(&a?, &b?)).flatten())
    }

    /// Converts a body. Where `given` has no sizes for a sequence, it is empty in the body, whose result is then only good for its types.
    fn converted(&mut self, graph: &GraphProto, types: &[Type], given: &[Sizes]) -> Result<Converted> {
        if self.scopes.depth() >= super::graph::MAX_DEPTH {
            return Err(Error::input("graphs are nested too deeply"));
        }
        let mut inputs = self.builder.open_body(types);
        let opened = inputs.clone();
        for ((input, ty), sizes) in inputs.iter_mut().zip(types).zip(given) {
            if matches!(ty, Type::Sequence(_)) && sizes.is_none() {
                *input = self.builder.bundle(ty.clone(), &[]);
            }
        }
        let outputs = self.body_inside(graph, &inputs);
        let after = outputs.iter().flatten().skip(1).map(|output| self.element_sizes(*output));
        let sizes = [None, None].into_iter().chain(after).collect();
        let body = self.builder.close_body(opened, outputs)?;
        Ok(Converted { body, sizes })
    }
}

/// The types with these sizes of elements.
fn typed(cx: &Conversion<'_>, types: &[Type], sizes: &[Sizes]) -> Vec<Type> {
    let size = |n: &Option<i64>| n.map_or_else(|| cx.builder.unknown_size(), SymInt::from);
    let element = |dtype: Dtype, dims: &[Option<i64>]| Type::tensor(dtype, dims.iter().map(size).collect());
    let typed = |(ty, sizes): (&Type, &Sizes)| match (ty, sizes) {
        (Type::Sequence(of), Some(dims)) => Type::Sequence(Box::new(element(of.dtype(), dims))),
        _ => ty.clone(),
    };
    types.iter().zip(sizes).map(typed).collect()
}

/// The known sizes of a tensor.
fn sizes(ty: &Type) -> Sizes {
    ty.shape().map(|dims| dims.iter().map(SymInt::known).collect())
}

/// The sizes that both have; None if the ranks differ.
fn common(a: &[Option<i64>], b: &[Option<i64>]) -> Sizes {
    (a.len() == b.len()).then(|| a.iter().zip(b).map(|(a, b)| a.filter(|_| a == b)).collect())
}

/// The sizes before and after a round in one; unknown ones do not count.
fn joined(before: &Sizes, after: &Sizes) -> Sizes {
    match (before, after) {
        (Some(a), Some(b)) => common(a, b),
        (a, b) => a.clone().or_else(|| b.clone()),
    }
}
