//! Views: how a result is related to the memory of the first argument, and how a write to a view changes its base.

use rustc_hash::FxHashMap;

use super::inplace::result_name;
use super::{layout, tensor_results};
use crate::terms::{Given, NewCall, first_tensor, flag, int};
use aten2onnx_core::sym::SymInt;
use aten2onnx_program::{Arg, IntArg, Node, TensorMeta};
use aten2onnx_rules::effects::{self, Sharing, Term};

/// The relation of a node's results to its first argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// They have their own memory.
    Fresh,
    /// The argument itself.
    Same,
    /// A view.
    View,
    /// A view or a copy.
    Maybe,
}

/// Whether the result is the argument itself, for any other arguments. (`detach` and `alias` return another tensor on
/// the same memory, whose shape can be changed in place separately.)
pub fn is_identity(target: &str) -> bool {
    effects::view(target).is_some_and(|view| view.sharing == Sharing::Itself)
}

/// The relation of a node's results to its first argument. Operators that torch's decompositions treat as copies
/// (`unsafe_chunk`) may still share memory: a program that is not decomposed means what PyTorch computes.
pub fn relation(node: &Node, tensors: &FxHashMap<String, TensorMeta>) -> Relation {
    let Some(view) = effects::view(&node.target) else { return Relation::Fresh };
    let from = first_tensor(node).and_then(|name| tensors.get(name));
    let to = tensors.get(&result_name(node));
    match view.sharing {
        Sharing::Always => Relation::View,
        Sharing::Maybe if makes_one_of_several(node) => Relation::Fresh,
        Sharing::Maybe => Relation::Maybe,
        Sharing::Itself => Relation::Same,
        Sharing::ItselfUnless(name) if flag(node, name) == Some(false) => Relation::Same,
        Sharing::ItselfUnless(_) => Relation::Maybe,
        Sharing::IfDtype => conversion(node, from, to),
        Sharing::IfLayout => same_layout(from, to),
        Sharing::IfStrides => match from.zip(to).and_then(|(from, to)| layout::reshape_is_view(from, to)) {
            Some(true) => Relation::View,
            Some(false) => Relation::Fresh,
            None => Relation::Maybe,
        },
    }
}

/// Whether one tensor is computed from several: `einsum` and `chain_matmul` return a view of a single operand, and a product of more.
fn makes_one_of_several(node: &Node) -> bool {
    let has_several = node.args.iter().any(|(_, arg)| matches!(arg, Arg::Tensors(given) if given.len() > 1));
    has_several && tensor_results(node).count() == 1
}

/// A conversion copies if the dtype changes; otherwise it may return the tensor itself.
fn conversion(node: &Node, from: Option<&TensorMeta>, to: Option<&TensorMeta>) -> Relation {
    let (Some(before), Some(after)) = (from, to) else { return Relation::Maybe };
    if before.dtype != after.dtype || flag(node, "copy") == Some(true) {
        return Relation::Fresh;
    }
    let is_elsewhere = |(name, arg): &(String, Arg)| matches!(arg, Arg::Opaque(device) if name == "device" && !device.starts_with("cpu"));
    if node.args.iter().any(is_elsewhere) {
        return Relation::Maybe;
    }
    if has_arg(node, "memory_format") { same_layout(from, to) } else { Relation::Same }
}

/// An operator that copies if the layout differs from the requested one, and otherwise returns the tensor itself.
fn same_layout(from: Option<&TensorMeta>, to: Option<&TensorMeta>) -> Relation {
    let (Some(from), Some(to)) = (from, to) else { return Relation::Maybe };
    if from.strides == to.strides {
        return Relation::Same;
    }
    // The stride of a dimension of size 1 does not matter and may be recorded differently.
    let differs = |(size, (a, b)): (&SymInt, (&SymInt, &SymInt))| {
        layout::certainly_differ(size, &SymInt::from(1)) && layout::certainly_differ(a, b)
    };
    match from.sizes.iter().zip(from.strides.iter().zip(&to.strides)).any(differs) {
        true => Relation::Fresh,
        false => Relation::Maybe,
    }
}

/// Whether several elements of the view may share memory, given whether those of its base may.
pub fn may_repeat(node: &Node, tensors: &FxHashMap<String, TensorMeta>, result: &str, before: bool) -> bool {
    let view = effects::view(&node.target);
    let is_injective = tensors.get(result).is_some_and(layout::is_injective);
    // Windows that do not overlap.
    let windows = int(node, "step").zip(int(node, "size")).filter(|_| view.is_some_and(|view| view.windows));
    if windows.is_some_and(|(step, size)| step >= size) && !before {
        return false;
    }
    (before || view.is_some_and(|view| view.repeats)) && !is_injective
}

/// Whether the results of the node have no elements in common.
pub fn are_disjoint(node: &Node) -> bool {
    effects::view(&node.target).is_some_and(|view| view.apart)
}

/// How a write to a view changes its base.
#[derive(Debug)]
pub enum Inverse {
    /// This call computes the new base.
    Call(NewCall),
    /// The elements are scattered to the positions that the view reads.
    Scatter,
    /// Unknown.
    Unknown,
}

/// How to update `parent` after a write to its view `child`, which is result `index` of `view`.
pub fn inverse(
    view: &Node,
    index: usize,
    parent: &str,
    child: &str,
    tensors: &FxHashMap<String, TensorMeta>,
) -> Inverse {
    let is_complex = |name: &str| tensors.get(name).is_some_and(|meta| meta.dtype.is_complex());
    let of_complex = match is_complex(parent) {
        true => effects::view(&view.target.replacen("aten::", "complex::", 1)),
        false => None,
    };
    let Some(fact) = of_complex.or_else(|| effects::view(&view.target)) else { return Inverse::Scatter };
    if fact.in_order {
        return Inverse::Call(reshaped(parent, child, tensors));
    }
    let given = Given { node: view, tensors, first: Some(parent), view: Some((child, index)), sizes: None };
    let call = match &fact.inverse {
        Some(Term::Call(call)) => given.call(call),
        _ => None,
    };
    match call {
        // Parts of complex numbers are not separate elements.
        _ if fact.reinterprets && (is_complex(parent) || is_complex(child)) => Inverse::Unknown,
        Some(call) => Inverse::Call(call),
        None if fact.reinterprets => Inverse::Unknown,
        None => Inverse::Scatter,
    }
}

/// Whether the view has another element type, so that its elements have no positions in the base.
pub fn reinterprets(view: &Node) -> bool {
    effects::view(&view.target).is_some_and(|view| view.reinterprets)
}

/// The elements of the child in the shape of the parent.
pub fn reshaped(parent: &str, child: &str, tensors: &FxHashMap<String, TensorMeta>) -> NewCall {
    let known = tensors.get(parent).and_then(|meta| meta.sizes.iter().map(SymInt::known).collect::<Option<Vec<i64>>>());
    let own = ("self", Arg::Tensor(child.to_owned()));
    match known {
        Some(sizes) => {
            let shape = Arg::Ints(sizes.into_iter().map(IntArg::Known).collect());
            NewCall::of("aten::reshape", vec![own, ("shape", shape)])
        }
        None => NewCall::of("aten::reshape_as", vec![own, ("other", Arg::Tensor(parent.to_owned()))]),
    }
}

fn has_arg(node: &Node, name: &str) -> bool {
    node.args.iter().any(|(arg, value)| arg == name && !matches!(value, Arg::None))
}
