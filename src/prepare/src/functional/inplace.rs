//! In-place operators: what they write to, according to the operator facts, and equivalent nodes without writes.

use rustc_hash::FxHashMap;

use super::stats;
use crate::terms::Given;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_program::{Arg, Node, NodeOutput, TensorMeta, is_python};
use aten2onnx_rules::effects::{self, Sharing, Term, Trait, WriteForm, Writes};

/// The effect of an operator on its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// No effect.
    None,
    /// It writes elements of one argument.
    Write(Overwrite),
    /// It changes the shape or strides of one argument, but no elements.
    Metadata,
    /// It writes its results into arguments that are only there to receive them.
    Out,
    /// An effect that is not supported.
    Refused(&'static str),
}

/// How much of the old value survives a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// Nothing: every element is overwritten.
    Whole,
    /// Some elements.
    Part,
}

/// The effect of an operator on its arguments.
pub fn kind(target: &str) -> Kind {
    let operator = effects::operator(target);
    match operator.and_then(|operator| operator.writes) {
        Some(writes) => by_schema(target, writes),
        // A custom operator.
        None if is_named_in_place(target) => Kind::Write(Overwrite::Part),
        None => Kind::None,
    }
}

fn by_schema(target: &str, writes: &Writes) -> Kind {
    if writes.resizes {
        return Kind::Refused("it changes the memory or the size of a tensor in place, which is not supported");
    }
    match writes.form {
        WriteForm::Out if writes.functional.is_some() => Kind::Out,
        WriteForm::Out => Kind::Refused("it writes its result into an argument, and has no functional variant"),
        WriteForm::InPlace if changes_view(target, writes) => Kind::Metadata,
        WriteForm::InPlace => Kind::Write(if writes.whole { Overwrite::Whole } else { Overwrite::Part }),
        // Statistics of a normalization: see `stats`.
        WriteForm::Other if stats::describes_writes(target, writes.args) => Kind::None,
        WriteForm::Other if writes.lists || writes.args.len() > 1 => {
            Kind::Refused("it writes to several tensors at once, which is not supported")
        }
        WriteForm::Other => Kind::Refused("it writes to an argument in addition to its result, which is not supported"),
    }
}

/// Whether an in-place operator changes the view of its tensor but no element. This includes those whose functional
/// form returns a view.
fn changes_view(target: &str, writes: &Writes) -> bool {
    let of_functional = writes.functional.and_then(effects::view).is_some_and(|view| view.is_marked);
    of_functional || effects::view(target).is_some_and(|view| view.sharing == Sharing::Itself)
}

/// Operators without a known schema follow PyTorch's convention: if the name ends with `_`, they write to their first
/// tensor.
fn is_named_in_place(target: &str) -> bool {
    let Some((_, name)) = target.split_once(':') else { return false };
    let name = name.split_once('.').map_or(name, |(name, _)| name);
    // `_operator::and_` and similar ones write nothing.
    name.ends_with('_') && !name.ends_with("__") && !is_python(target)
}

/// Whether the operator changes an argument in place.
pub fn writes(target: &str) -> bool {
    kind(target) != Kind::None
}

/// Whether every element of the result is the same constant.
pub fn is_constant(target: &str) -> bool {
    effects::writes(target).is_some_and(|writes| writes.constant)
}

/// The functional equivalent: `aten::add.Tensor` for `aten::add_.Tensor`. If PyTorch has none, the operator itself: its
/// rule computes the new value.
pub fn functional_sibling(target: &str) -> String {
    if let Some(writes) = effects::writes(target) {
        return writes.functional.unwrap_or(target).to_owned();
    }
    let (name, overload) = target.split_once('.').unwrap_or((target, ""));
    let dot = if overload.is_empty() { "" } else { "." };
    format!("{}{dot}{overload}", name.strip_suffix('_').unwrap_or(name))
}

/// The position of the argument that an in-place operator writes to.
pub fn written_arg(node: &Node) -> Result<usize> {
    let is_tensor = |(_, arg): &(String, Arg)| matches!(arg, Arg::Tensor(_));
    let written = effects::writes(&node.target).and_then(|writes| writes.args.first()).copied().unwrap_or("self");
    let by_name = node.args.iter().position(|arg| arg.0 == written && is_tensor(arg));
    let found = by_name.or_else(|| node.args.iter().position(is_tensor));
    found.ok_or_else(|| Error::input("an in-place operator needs a tensor to write to"))
}

/// The name of the first result; empty if it has none.
pub fn result_name(node: &Node) -> String {
    match node.outputs.first() {
        Some(NodeOutput::Tensor(name)) => name.clone(),
        _ => String::new(),
    }
}

/// Whether the operator only reads shapes and types of its arguments.
pub fn reads_only_shape(target: &str) -> bool {
    effects::is(target, Trait::ReadsShapes)
}

/// Replaces an in-place operator on `written` by nodes, the last of which returns `result`; `scratch` is an unused
/// name.
pub fn rewrite(
    node: Node,
    written: &str,
    result: &str,
    scratch: String,
    tensors: &mut FxHashMap<String, TensorMeta>,
) -> Result<Vec<Node>> {
    let meta = tensors.get(written).cloned();
    let value = effects::writes(&node.target).and_then(|writes| writes.value.as_ref());
    let given = Given { node: &node, tensors, first: Some(written), view: None, sizes: None };
    match value {
        Some(Term::Call(call)) => {
            let called = given.call(call).and_then(|call| call.plain());
            let (target, args) = called.ok_or_else(|| Error::input("an argument is missing"))?;
            Ok(vec![derived(&node, target, args, result)])
        }
        Some(source) => {
            let source = match given.value(source) {
                Some(Arg::Tensor(source)) => Some(source),
                _ => None,
            };
            match (source, &meta) {
                (Some(source), Some(meta)) => Ok(copied(&node, source, written, meta, result, scratch, tensors)),
                _ => Ok(sibling(node, meta, result, scratch, tensors)),
            }
        }
        None => Ok(sibling(node, meta, result, scratch, tensors)),
    }
}

/// `source` with the type and shape of the tensor that it is copied to.
pub fn copied(
    node: &Node,
    source: String,
    written: &str,
    meta: &TensorMeta,
    result: &str,
    scratch: String,
    tensors: &mut FxHashMap<String, TensorMeta>,
) -> Vec<Node> {
    let source_meta = tensors.get(&source).cloned();
    let same_dtype = source_meta.as_ref().is_some_and(|source| source.dtype == meta.dtype);
    let same_sizes = source_meta.as_ref().is_some_and(|source| source.sizes == meta.sizes);
    let this = |value: String| vec![("self".to_owned(), Arg::Tensor(value))];
    if meta.sizes.iter().any(|size| *size == 0) {
        return vec![derived(node, "aten::clone", this(written.to_owned()), result)];
    }
    if same_dtype && same_sizes {
        // A clone, because a value is the name of only one tensor and its memory differs from the source's.
        return vec![derived(node, "aten::clone", this(source), result)];
    }
    if same_sizes {
        return vec![cast(node, source, meta.dtype, result)];
    }
    let mut nodes = Vec::new();
    let mut value = source;
    if !same_dtype {
        nodes.push(cast(node, value, meta.dtype, &scratch));
        if let Some(source) = source_meta {
            tensors.insert(scratch.clone(), TensorMeta { dtype: meta.dtype, ..source });
        }
        value = scratch;
    }
    let mut args = this(value);
    args.push(("other".to_owned(), Arg::Tensor(written.to_owned())));
    nodes.push(derived(node, "aten::expand_as", args, result));
    nodes
}

/// The node without its `out=` arguments, with these results; `dtype` is that of the first argument.
pub fn without_out(node: &Node, writes: &Writes, results: Vec<String>, dtype: Option<Dtype>) -> Node {
    let mut node = node.clone();
    node.args.retain(|(name, _)| !writes.args.contains(&name.as_str()));
    rename_args(&mut node);
    if let Some(dtype) = dtype.filter(|_| writes.takes_dtype) {
        node.args.push(("dtype".to_owned(), Arg::Dtype(dtype)));
    }
    node.target = functional_sibling(&node.target);
    if let Some(first) = results.first() {
        node.name.clone_from(first);
    }
    node.outputs = results.into_iter().map(NodeOutput::Tensor).collect();
    node
}

fn rename_args(node: &mut Node) {
    let renamed = effects::writes(&node.target).map_or(&[][..], |writes| writes.renamed);
    for (arg, _) in &mut node.args {
        if let Some((_, new)) = renamed.iter().find(|(old, _)| old == arg) {
            (*new).clone_into(arg);
        }
    }
}

/// The functional equivalent; its result is cast if its type may differ from that of the in-place operator.
fn sibling(
    mut node: Node,
    meta: Option<TensorMeta>,
    result: &str,
    scratch: String,
    tensors: &FxHashMap<String, TensorMeta>,
) -> Vec<Node> {
    rename_args(&mut node);
    node.target = functional_sibling(&node.target);
    let dtype = meta.map(|meta| meta.dtype);
    let other_dtype = node.args.iter().any(|(arg, value)| match value {
        Arg::Tensor(name) if !effects::selects(arg) => tensors.get(name).is_some_and(|meta| Some(meta.dtype) != dtype),
        _ => false,
    });
    let gives = |own: Dtype| effects::is(&node.target, Trait::Gives(own));
    let compares = gives(Dtype::Bool) && dtype != Some(Dtype::Bool);
    let widens = gives(Dtype::Int64) && !dtype.is_some_and(Dtype::is_float);
    let may_differ = other_dtype || compares || widens;
    match dtype.filter(|_| may_differ) {
        None => {
            node.outputs = vec![NodeOutput::Tensor(result.to_owned())];
            vec![node]
        }
        Some(dtype) => {
            node.name.clone_from(&scratch);
            node.outputs = vec![NodeOutput::Tensor(scratch.clone())];
            let back = cast(&node, scratch, dtype, result);
            vec![node, back]
        }
    }
}

/// A node that casts.
pub fn cast(of: &Node, value: String, dtype: Dtype, result: &str) -> Node {
    let args = vec![("self".to_owned(), Arg::Tensor(value)), ("dtype".to_owned(), Arg::Dtype(dtype))];
    derived(of, "aten::to.dtype", args, result)
}

/// A node that gives the elements of a value the sizes of another.
pub fn shaped_like(of: &Node, value: String, other: String, result: &str) -> Node {
    let args = vec![("self".to_owned(), Arg::Tensor(value)), ("other".to_owned(), Arg::Tensor(other))];
    derived(of, "aten::view_as", args, result)
}

/// A node without name, operator, arguments and results, with the origin of another.
pub fn origin(of: &Node) -> Node {
    Node {
        module: of.module.clone(),
        module_type: of.module_type.clone(),
        source_line: of.source_line.clone(),
        ..Node::default()
    }
}

/// A node with the origin of another.
fn derived(of: &Node, target: &str, args: Vec<(String, Arg)>, result: &str) -> Node {
    Node {
        name: result.to_owned(),
        target: target.to_owned(),
        args,
        outputs: vec![NodeOutput::Tensor(result.to_owned())],
        ..origin(of)
    }
}
