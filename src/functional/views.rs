//! Views: how a result relates to the memory of the first argument, and how a write to a view shows in what it is a view of.

use rustc_hash::FxHashMap;

use super::inplace::{base_name, flag, result_name};
use super::layout;
use crate::program::{Arg, IntArg, Node, NodeOutput, TensorMeta};
use crate::rules;
use crate::sym::SymInt;

/// How the results of a node relate to its first argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// Memory of their own.
    Fresh,
    /// The argument itself.
    Same,
    /// A view, for certain.
    View,
    /// A view or a copy.
    Maybe,
}

/// Operators that give their argument itself. (`detach` and `alias` give another tensor on the same memory, whose shape may be
/// changed in place without the argument's.)
const IDENTITIES: &[&str] =
    &["detach_", "lift", "lift_fresh", "positive", "requires_grad_", "resolve_conj", "resolve_neg"];

/// Operators that may give their argument itself, or a view of it, without an alias mark in the schema. So do the `unsafe_` ones, which torch's own
/// decompositions take for copies: a program that is not decomposed means what it means when PyTorch runs it.
const MAY_ALIAS: &[&str] = &[
    "_unsafe_view",
    "alpha_dropout",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_tensors",
    "chain_matmul",
    "conj_physical",
    "dropout",
    "einsum",
    "feature_alpha_dropout",
    "feature_dropout",
    "meshgrid",
    "sum_to_size",
    "type_as",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
];

/// Views where the strides allow it, else copies.
const RESHAPES: &[&str] = &["_unsafe_view", "flatten", "ravel", "reshape", "reshape_as"];

/// Views in which one element of memory may stand several times.
const REPEATING: &[&str] = &["as_strided", "as_strided_", "broadcast_to", "expand", "expand_as", "unfold"];

/// Is the result the argument itself, whatever the other arguments?
pub fn is_identity(target: &str) -> bool {
    target.starts_with("aten::") && IDENTITIES.contains(&base_name(target))
}

/// How the results of a node relate to its first argument.
pub fn relation(node: &Node, tensors: &FxHashMap<String, TensorMeta>) -> Relation {
    let name = base_name(&node.target);
    if is_identity(&node.target) {
        return Relation::Same;
    }
    let may_alias = node.target.starts_with("aten::") && MAY_ALIAS.contains(&name);
    if !(rules::is_view(&node.target) || may_alias) {
        return Relation::Fresh;
    }
    let from = first_tensor(node).and_then(|name| tensors.get(name));
    let to = tensors.get(&result_name(node));
    match name {
        "dropout" | "alpha_dropout" | "feature_dropout" | "feature_alpha_dropout" => match flag(node, "train") {
            Some(false) => Relation::Same,
            _ => Relation::Maybe,
        },
        "to" | "type_as" => conversion(node, from, to),
        "contiguous" => same_layout(from, to),
        _ if RESHAPES.contains(&name) => match from.zip(to).and_then(|(from, to)| layout::reshape_is_view(from, to)) {
            Some(true) => Relation::View,
            Some(false) => Relation::Fresh,
            None => Relation::Maybe,
        },
        "unsafe_chunk" | "unsafe_split" | "unsafe_split_with_sizes" => Relation::View,
        "atleast_1d" | "atleast_2d" | "atleast_3d" if from.is_some() && to.is_some() => Relation::View,
        _ if may_alias => Relation::Maybe,
        _ => Relation::View,
    }
}

/// A conversion copies if the element type changes; else it may give the tensor itself.
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

/// An operator that copies where the layout is not the wanted one, and else gives the tensor itself.
fn same_layout(from: Option<&TensorMeta>, to: Option<&TensorMeta>) -> Relation {
    let (Some(from), Some(to)) = (from, to) else { return Relation::Maybe };
    if from.strides == to.strides {
        return Relation::Same;
    }
    // Where a size is 1 the stride is no matter, and may be written otherwise.
    let differs = |(size, (a, b)): (&SymInt, (&SymInt, &SymInt))| {
        layout::certainly_differ(size, &SymInt::from(1)) && layout::certainly_differ(a, b)
    };
    match from.sizes.iter().zip(from.strides.iter().zip(&to.strides)).any(differs) {
        true => Relation::Fresh,
        false => Relation::Maybe,
    }
}

/// May one element of memory stand several times in the view, where it does or not in what it is a view of?
pub fn may_repeat(node: &Node, tensors: &FxHashMap<String, TensorMeta>, result: &str, before: bool) -> bool {
    let is_injective = tensors.get(result).is_some_and(layout::is_injective);
    // Windows that begin no sooner than the one before ends.
    let windows = int(node, "step").zip(int(node, "size")).filter(|_| base_name(&node.target) == "unfold");
    if windows.is_some_and(|(step, size)| step >= size) && !before {
        return false;
    }
    (before || REPEATING.contains(&base_name(&node.target))) && !is_injective
}

/// Do the results of the node have no element in common?
pub fn are_disjoint(node: &Node) -> bool {
    let name = base_name(&node.target);
    let name = name.strip_prefix("unsafe_").unwrap_or(name);
    matches!(name, "split" | "split_with_sizes" | "chunk" | "tensor_split" | "unbind" | "hsplit" | "vsplit" | "dsplit")
}

/// An operator and its arguments.
pub type NewCall = (&'static str, Vec<(String, Arg)>);

/// How a write to a view shows in what it is a view of.
#[derive(Debug)]
pub enum Inverse {
    /// This gives what the parent is then.
    Call(NewCall),
    /// The child is one part of a complex parent: whether the real one.
    ComplexPart(bool),
    /// The elements go to the places that the view takes them from.
    Scatter,
    /// It cannot be said.
    Unknown,
}

/// What `parent` is after its view `child`, which is result `index` of `view`, was written to.
pub fn inverse(
    view: &Node,
    index: usize,
    parent: &str,
    child: &str,
    tensors: &FxHashMap<String, TensorMeta>,
) -> Inverse {
    let is_complex = tensors.get(parent).is_some_and(|meta| meta.dtype.is_complex());
    match base_name(&view.target) {
        "view" if is_of_dtype(view) => as_dtype_of(parent, child, tensors).map_or(Inverse::Unknown, Inverse::Call),
        "real" if is_complex => Inverse::ComplexPart(true),
        "imag" => Inverse::ComplexPart(false),
        _ => call(view, index, parent, child, tensors).map_or(Inverse::Scatter, Inverse::Call),
    }
}

/// Is the view of another element type? Its elements have no places in what it is a view of.
pub fn is_of_dtype(view: &Node) -> bool {
    view.target == "aten::view.dtype"
}

/// The memory of the child with the parent's element type.
fn as_dtype_of(parent: &str, child: &str, tensors: &FxHashMap<String, TensorMeta>) -> Option<NewCall> {
    let (parent, of) = (tensors.get(parent)?, tensors.get(child)?);
    if parent.dtype.is_complex() || of.dtype.is_complex() {
        return None;
    }
    let args = vec![("self".to_owned(), Arg::Tensor(child.to_owned())), ("dtype".to_owned(), Arg::Dtype(parent.dtype))];
    Some(("aten::view.dtype", args))
}

fn call(
    view: &Node,
    index: usize,
    parent: &str,
    child: &str,
    tensors: &FxHashMap<String, TensorMeta>,
) -> Option<NewCall> {
    let tensor = |name: &str| Arg::Tensor(name.to_owned());
    let named = |name: &str, arg: Arg| (name.to_owned(), arg);
    // The arguments but for the tensor itself.
    let own = first_tensor_arg(view)?;
    let others = || view.args.iter().enumerate().filter(|(at, _)| *at != own).map(|(_, arg)| arg.clone());
    let scatter = || {
        let mut args = vec![named("self", tensor(parent)), named("src", tensor(child))];
        args.extend(others());
        args
    };
    let again = || {
        let mut args = vec![named("self", tensor(child))];
        args.extend(others());
        args
    };
    Some(match base_name(&view.target) {
        "select" => ("aten::select_scatter", scatter()),
        "slice" => ("aten::slice_scatter", scatter()),
        "diagonal" => ("aten::diagonal_scatter", scatter()),
        "unbind" => {
            let dim = int(view, "dim").unwrap_or(0);
            let mut args =
                vec![named("self", tensor(parent)), named("src", tensor(child)), named("dim", Arg::Int(dim))];
            args.push(named("index", Arg::Int(i64::try_from(index).ok()?)));
            ("aten::select_scatter", args)
        }
        "narrow"
        | "split"
        | "split_with_sizes"
        | "chunk"
        | "tensor_split"
        | "unsafe_split"
        | "unsafe_split_with_sizes"
        | "unsafe_chunk" => {
            let (dim, start, end) = part(view, index, tensors)?;
            let range = [("dim", dim), ("start", start), ("end", end)];
            let mut args = vec![named("self", tensor(parent)), named("src", tensor(child))];
            args.extend(range.map(|(name, number)| named(name, Arg::Int(number))));
            ("aten::slice_scatter", args)
        }
        "detach" | "alias" | "positive" => ("aten::alias", again()),
        "view" | "view_as" | "unflatten" | "squeeze" | "unsqueeze" | "_unsafe_view" | "flatten" | "ravel"
        | "reshape" | "reshape_as" | "_reshape_alias" | "atleast_1d" | "atleast_2d" | "atleast_3d" => {
            reshaped(parent, child, tensors)
        }
        "transpose" => ("aten::transpose.int", again()),
        "swapaxes" => ("aten::swapaxes", again()),
        "swapdims" => ("aten::swapdims", again()),
        "t" => ("aten::t", again()),
        "numpy_T" => ("aten::numpy_T", again()),
        "mT" => ("aten::mT", again()),
        "_conj" => ("aten::_conj", again()),
        "_neg_view" => ("aten::neg", again()),
        "view_as_real" => ("aten::view_as_complex", again()),
        "view_as_complex" => ("aten::view_as_real", again()),
        "movedim" | "moveaxis" => {
            let target = if view.target.ends_with(".int") { "aten::movedim.int" } else { "aten::movedim.intlist" };
            let mut args = again();
            for (name, _) in &mut args {
                let other = match name.as_str() {
                    "source" => "destination",
                    "destination" => "source",
                    _ => continue,
                };
                other.clone_into(name);
            }
            (target, args)
        }
        "permute" => {
            let dims = inverse_permutation(&ints(view, "dims")?)?;
            ("aten::permute", vec![named("self", tensor(child)), named("dims", Arg::Ints(dims))])
        }
        _ => return None,
    })
}

/// The elements of the child in the shape of the parent.
pub fn reshaped(parent: &str, child: &str, tensors: &FxHashMap<String, TensorMeta>) -> NewCall {
    let known = tensors.get(parent).and_then(|meta| meta.sizes.iter().map(SymInt::known).collect::<Option<Vec<i64>>>());
    let own = ("self".to_owned(), Arg::Tensor(child.to_owned()));
    match known {
        Some(sizes) => {
            let shape = Arg::Ints(sizes.into_iter().map(IntArg::Known).collect());
            ("aten::reshape", vec![own, ("shape".to_owned(), shape)])
        }
        None => ("aten::reshape_as", vec![own, ("other".to_owned(), Arg::Tensor(parent.to_owned()))]),
    }
}

/// Dimension, start and end of one of the parts that a node cuts a tensor into.
fn part(view: &Node, index: usize, tensors: &FxHashMap<String, TensorMeta>) -> Option<(i64, i64, i64)> {
    let dim = int(view, "dim").unwrap_or(0);
    if base_name(&view.target) == "narrow" {
        let (start, length) = (int(view, "start")?, int(view, "length")?);
        return Some((dim, start, start.checked_add(length).filter(|_| start >= 0)?));
    }
    let names = match view.outputs.first()? {
        NodeOutput::Tensors(names) => names,
        _ => return None,
    };
    let mut start = 0_i64;
    for (at, name) in names.iter().enumerate() {
        let sizes = &tensors.get(name)?.sizes;
        let axis = if dim < 0 { dim.checked_add(i64::try_from(sizes.len()).ok()?)? } else { dim };
        let length = sizes.get(usize::try_from(axis).ok()?)?.known()?;
        let end = start.checked_add(length)?;
        if at == index {
            return Some((dim, start, end));
        }
        start = end;
    }
    None
}

fn inverse_permutation(dims: &[i64]) -> Option<Vec<IntArg>> {
    let rank = i64::try_from(dims.len()).ok()?;
    let mut inverse = vec![IntArg::Known(0); dims.len()];
    for (at, dim) in dims.iter().enumerate() {
        let dim = if *dim < 0 { dim.checked_add(rank)? } else { *dim };
        *inverse.get_mut(usize::try_from(dim).ok()?)? = IntArg::Known(i64::try_from(at).ok()?);
    }
    Some(inverse)
}

fn has_arg(node: &Node, name: &str) -> bool {
    node.args.iter().any(|(arg, value)| arg == name && !matches!(value, Arg::None))
}

fn int(node: &Node, name: &str) -> Option<i64> {
    node.args.iter().find_map(|(arg, value)| match value {
        Arg::Int(number) if arg == name => Some(*number),
        _ => None,
    })
}

fn ints(node: &Node, name: &str) -> Option<Vec<i64>> {
    let numbers = node.args.iter().find_map(|(arg, value)| match value {
        Arg::Ints(numbers) if arg == name => Some(numbers),
        _ => None,
    })?;
    let known = numbers.iter().map(|number| match number {
        IntArg::Known(number) => Some(*number),
        IntArg::Named(_) => None,
    });
    known.collect()
}

/// The position of the first argument that is a tensor.
pub fn first_tensor_arg(node: &Node) -> Option<usize> {
    node.args.iter().position(|(_, arg)| matches!(arg, Arg::Tensor(_)))
}

fn first_tensor(node: &Node) -> Option<&str> {
    match node.args.get(first_tensor_arg(node)?) {
        Some((_, Arg::Tensor(name))) => Some(name),
        _ => None,
    }
}
