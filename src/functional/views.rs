//! Views: how a result relates to the memory of the first argument, and how a write to a view shows in what it is a view of.

use std::collections::HashMap;

use super::inplace::{base_name, flag, result_name};
use crate::program::{Arg, IntArg, Node, NodeOutput, TensorMeta};
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

/// Operators that may give their argument itself, or a view of it, without an alias mark in the schema.
const MAY_ALIAS: &[&str] = &[
    "_reshape_alias",
    "_unsafe_view",
    "alpha_dropout",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "dropout",
    "einsum",
    "feature_alpha_dropout",
    "feature_dropout",
    "meshgrid",
    "type_as",
];

/// Views where the argument is contiguous, or else perhaps copies.
const RESHAPES: &[&str] = &["_unsafe_view", "flatten", "ravel", "reshape", "reshape_as"];

/// Is the result the argument itself, whatever the other arguments?
pub fn is_identity(target: &str) -> bool {
    target.starts_with("aten::") && IDENTITIES.contains(&base_name(target))
}

/// How the results of a node relate to its first argument; `is_view` knows the schemas' alias marks.
pub fn relation(node: &Node, tensors: &HashMap<String, TensorMeta>, is_view: &dyn Fn(&str) -> bool) -> Relation {
    let name = base_name(&node.target);
    let is_aten = node.target.starts_with("aten::");
    if is_identity(&node.target) {
        return Relation::Same;
    }
    if matches!(node.target.as_str(), "aten::detach" | "aten::alias") {
        return Relation::View;
    }
    if !(is_view(&node.target) || (is_aten && MAY_ALIAS.contains(&name))) {
        return Relation::Fresh;
    }
    let input = first_tensor(node).and_then(|name| tensors.get(name));
    let contiguous = || input.is_some_and(is_contiguous);
    match name {
        "dropout" | "alpha_dropout" | "feature_dropout" | "feature_alpha_dropout" => match flag(node, "train") {
            Some(false) => Relation::Same,
            _ => Relation::Maybe,
        },
        "to" | "type_as" => conversion(node, input, tensors.get(&result_name(node))),
        "contiguous" if node.args.len() == 1 && contiguous() => Relation::Same,
        "contiguous" => Relation::Maybe,
        _ if RESHAPES.contains(&name) && contiguous() => Relation::View,
        _ if RESHAPES.contains(&name) && certainly_copies(input, tensors.get(&result_name(node))) => Relation::Fresh,
        _ if RESHAPES.contains(&name) || MAY_ALIAS.contains(&name) => Relation::Maybe,
        _ => Relation::View,
    }
}

/// A conversion copies if the element type changes; else it may give the tensor itself.
fn conversion(node: &Node, from: Option<&TensorMeta>, to: Option<&TensorMeta>) -> Relation {
    match (from, to) {
        (Some(from), Some(to)) if from.dtype != to.dtype => Relation::Fresh,
        _ if flag(node, "copy") == Some(true) => Relation::Fresh,
        (Some(_), Some(_)) if node.target == "aten::to.dtype" && !has_arg(node, "memory_format") => Relation::Same,
        _ => Relation::Maybe,
    }
}

/// Is it certain that the elements lie one after another in row-major order?
fn is_contiguous(meta: &TensorMeta) -> bool {
    if meta.sizes.len() != meta.strides.len() {
        return false;
    }
    let mut expected = SymInt::from(1);
    for (size, stride) in meta.sizes.iter().zip(&meta.strides).rev() {
        if size.known() != Some(1) && *stride != expected {
            return false;
        }
        expected = expected.mul(size);
    }
    true
}

/// Is it certain that a reshape cannot be a view, as the strides do not allow it? Only for sizes that are known.
fn certainly_copies(from: Option<&TensorMeta>, to: Option<&TensorMeta>) -> bool {
    let known = |numbers: &[SymInt]| numbers.iter().map(SymInt::known).collect::<Option<Vec<i64>>>();
    let (Some(from), Some(to)) = (from, to) else { return false };
    let (Some(sizes), Some(strides), Some(new)) = (known(&from.sizes), known(&from.strides), known(&to.sizes)) else {
        return false;
    };
    if sizes.len() != strides.len() || sizes.contains(&0) {
        return false;
    }
    // Runs of axes that can be walked as one, innermost first: each has to be cut into whole axes of the new shape.
    let mut wanted = new.iter().rev();
    let mut axes = sizes.iter().zip(&strides).rev().filter(|(size, _)| **size != 1).peekable();
    while let Some((size, stride)) = axes.next() {
        let (mut run, mut step) = (*size, size.wrapping_mul(*stride));
        while let Some((size, _)) = axes.next_if(|(_, stride)| **stride == step) {
            run = run.wrapping_mul(*size);
            step = step.wrapping_mul(*size);
        }
        let mut product = 1_i64;
        while product < run {
            let Some(size) = wanted.next() else { return true };
            product = product.wrapping_mul(*size);
        }
        if product != run {
            return true;
        }
    }
    false
}

/// Do the results of the node have no element in common?
pub fn are_disjoint(node: &Node) -> bool {
    matches!(base_name(&node.target), "split" | "split_with_sizes" | "chunk" | "tensor_split" | "unbind")
}

/// An operator and its arguments.
pub type NewCall = (&'static str, Vec<(String, Arg)>);

/// What `parent` is after its view `child`, which is result `index` of `view`, was written to; None if that cannot be said.
pub fn write_back(
    view: &Node,
    index: usize,
    parent: &str,
    child: &str,
    tensors: &HashMap<String, TensorMeta>,
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
        "narrow" | "split" | "split_with_sizes" | "chunk" | "tensor_split" => {
            let (dim, start, end) = part(view, index, tensors)?;
            let range = [("dim", dim), ("start", start), ("end", end)];
            let mut args = vec![named("self", tensor(parent)), named("src", tensor(child))];
            args.extend(range.map(|(name, number)| named(name, Arg::Int(number))));
            ("aten::slice_scatter", args)
        }
        "detach" | "alias" => ("aten::alias", again()),
        "view" if view.target == "aten::view.dtype" => return None,
        "view" | "view_as" | "unflatten" | "squeeze" | "unsqueeze" | "_unsafe_view" | "flatten" | "ravel"
        | "reshape" | "reshape_as" => reshaped(parent, child, tensors),
        "transpose" => ("aten::transpose.int", again()),
        "swapaxes" => ("aten::swapaxes", again()),
        "swapdims" => ("aten::swapdims", again()),
        "t" => ("aten::t", again()),
        "numpy_T" => ("aten::numpy_T", again()),
        "mT" => ("aten::mT", again()),
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
fn reshaped(parent: &str, child: &str, tensors: &HashMap<String, TensorMeta>) -> NewCall {
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
fn part(view: &Node, index: usize, tensors: &HashMap<String, TensorMeta>) -> Option<(i64, i64, i64)> {
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
