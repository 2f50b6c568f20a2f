//! In-place operators: which they are, what they write to, and the nodes that do the same without writing.

use rustc_hash::FxHashMap;

use crate::dtype::Dtype;
use crate::error::{Error, Result};
use crate::program::{Arg, Node, NodeOutput, TensorMeta};
use crate::rules::{self, Effect};

/// What an operator does to its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    None,
    /// It writes to the elements of one.
    Write(Overwrite),
    /// It changes the shape or strides of one, but no element.
    Metadata,
    /// It writes its results into arguments that are there for nothing else.
    Out,
    /// Something that is not followed here.
    Refused(&'static str),
}

/// How much of a tensor a write takes from what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// Nothing: every element is new.
    Whole,
    /// Some.
    Part,
}

/// In-place operators whose result has nothing of what was there.
const WHOLE: &[&str] = &["copy_", "fill_", "zero_", "normal_", "uniform_", "exponential_", "random_"];

/// In-place operators that give every element the same value.
const CONSTANT: &[&str] = &["fill_", "zero_"];

/// Functional operators that do the same, where the schemas do not tell.
const SIBLINGS: &[(&str, &str)] =
    &[("aten::_index_put_impl_", "aten::index_put"), ("aten::normal_", "aten::normal_functional")];

/// Operators that give booleans where their in-place form keeps the element type.
const COMPARISONS: &[&str] = &[
    "eq",
    "ge",
    "greater",
    "greater_equal",
    "gt",
    "le",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lt",
    "ne",
    "not_equal",
];

/// Operators that give int64 for integers where their in-place form keeps the element type.
const WIDENING: &[&str] = &["cumprod", "cumsum"];

/// Arguments whose element type has no say in that of the result.
const NO_OPERANDS: &[&str] = &["condition", "index", "indices", "mask", "repeats"];

/// Operators that ask a tensor for its shape and type, not for its elements.
const ONLY_SHAPE: &[&str] = &[
    "_assert_tensor_metadata",
    "empty_like",
    "full_like",
    "new_empty",
    "new_full",
    "new_ones",
    "new_zeros",
    "ones_like",
    "rand_like",
    "randint_like",
    "randn_like",
    "sym_numel",
    "sym_size",
    "sym_storage_offset",
    "sym_stride",
    "zeros_like",
];

/// The name without namespace and overload: `add_` of `aten::add_.Tensor`.
pub fn base_name(target: &str) -> &str {
    // By one character: searching for two of them costs more than all else here, five times for each node.
    let name = target.split_once(':').map_or(target, |(_, name)| name.trim_start_matches(':'));
    name.split_once('.').map_or(name, |(name, _)| name)
}

/// What an operator does to its arguments.
pub fn kind(target: &str) -> Kind {
    let name = base_name(target);
    if matches!(name, "set_" | "resize_" | "resize_as_" | "resize_as_sparse_" | "swap_") {
        return Kind::Refused("it gives a tensor other memory or another size in place, which is not followed here");
    }
    match rules::effect(target) {
        Some(effect) => by_schema(name, effect),
        // An operator of somebody's own.
        None if name.ends_with('_') && !name.ends_with("__") && target.contains("::") && !is_python(target) => {
            Kind::Write(Overwrite::Part)
        }
        None => Kind::None,
    }
}

fn by_schema(name: &str, effect: &Effect) -> Kind {
    if effect.is_out {
        return match effect.functional {
            Some(_) => Kind::Out,
            None => Kind::Refused("it writes its result into an argument, and there is no such operator without"),
        };
    }
    let is_in_place = name.ends_with('_') && (!name.starts_with("__") || name.starts_with("__i"));
    match effect.writes {
        _ if name.starts_with("_foreach_") || name.starts_with("_fused_") || name.starts_with("_amp_") => {
            Kind::Refused("it writes to several tensors at once, which is not followed here")
        }
        [_] if is_in_place => {
            if effect.functional.is_some_and(rules::is_view) || matches!(name, "requires_grad_" | "detach_") {
                return Kind::Metadata;
            }
            Kind::Write(if WHOLE.contains(&name) { Overwrite::Whole } else { Overwrite::Part })
        }
        // Statistics of a normalisation: see `updated_stats`.
        ["running_mean", "running_var"] => Kind::None,
        _ => Kind::Refused("it writes to an argument besides giving a result, which is not followed here"),
    }
}

/// `_operator::and_` and the like are functions of Python, and write nothing.
fn is_python(target: &str) -> bool {
    matches!(target.split_once("::"), Some(("_operator" | "math" | "torch", _)))
}

/// Does the operator change an argument in place?
pub fn writes(target: &str) -> bool {
    kind(target) != Kind::None
}

/// Is every element of the result the same, whatever was there?
pub fn is_constant(target: &str) -> bool {
    CONSTANT.contains(&base_name(target))
}

/// The functional operator that does the same: `aten::add.Tensor` for `aten::add_.Tensor`. Where PyTorch has none, the operator itself:
/// its rule says what the new value is.
pub fn functional_sibling(target: &str) -> String {
    if let Some((_, sibling)) = SIBLINGS.iter().find(|(written, _)| *written == target) {
        return (*sibling).to_owned();
    }
    if let Some(effect) = rules::effect(target) {
        return effect.functional.unwrap_or(target).to_owned();
    }
    let (name, overload) = target.split_once('.').unwrap_or((target, ""));
    let dot = if overload.is_empty() { "" } else { "." };
    format!("{}{dot}{overload}", name.strip_suffix('_').unwrap_or(name))
}

/// The position of the argument that an in-place operator writes to.
pub fn written_arg(node: &Node) -> Result<usize> {
    let is_tensor = |(_, arg): &(String, Arg)| matches!(arg, Arg::Tensor(_));
    let written = rules::effect(&node.target).and_then(|effect| effect.writes.first()).copied().unwrap_or("self");
    let by_name = node.args.iter().position(|arg| arg.0 == written && is_tensor(arg));
    let found = by_name.or_else(|| node.args.iter().position(is_tensor));
    found.ok_or_else(|| Error::input("an in-place operator without a tensor to write to"))
}

/// The name of the first result; empty if it has none.
pub fn result_name(node: &Node) -> String {
    match node.outputs.first() {
        Some(NodeOutput::Tensor(name)) => name.clone(),
        _ => String::new(),
    }
}

/// Does the operator ask its arguments for their shapes and types only?
pub fn reads_only_shape(target: &str) -> bool {
    target.starts_with("aten::") && ONLY_SHAPE.contains(&base_name(target))
}

/// The arguments that a normalisation in training mode updates unasked.
pub fn updated_stats(node: &Node) -> &'static [&'static str] {
    let training = match base_name(&node.target) {
        "batch_norm" | "native_batch_norm" | "cudnn_batch_norm" | "_batch_norm_impl_index" => flag(node, "training"),
        "_native_batch_norm_legit" => flag(node, "training"),
        "_batch_norm_with_update" => Some(true),
        "instance_norm" => flag(node, "use_input_stats"),
        _ => None,
    };
    if training == Some(true) { &["running_mean", "running_var"] } else { &[] }
}

/// A boolean argument.
pub fn flag(node: &Node, name: &str) -> Option<bool> {
    node.args.iter().find_map(|(arg, value)| match value {
        Arg::Bool(flag) if arg == name => Some(*flag),
        _ => None,
    })
}

/// An in-place operator on `written` as nodes of which the last gives `result`; `scratch` is a free name.
pub fn rewrite(
    node: Node,
    written: &str,
    result: &str,
    scratch: String,
    tensors: &mut FxHashMap<String, TensorMeta>,
) -> Result<Vec<Node>> {
    let meta = tensors.get(written).cloned();
    let arg = |name: &str| node.args.iter().find(|(arg, _)| arg == name).map(|(_, value)| value.clone());
    let source = match node.target.as_str() {
        "aten::copy_" => arg("src"),
        "aten::fill_.Tensor" => arg("value"),
        _ => None,
    };
    if let (Some(Arg::Tensor(source)), Some(meta)) = (source, &meta) {
        return Ok(copied(&node, source, written, meta, result, scratch, tensors));
    }
    let mut args = vec![("self".to_owned(), Arg::Tensor(written.to_owned()))];
    let target = match node.target.as_str() {
        "aten::zero_" => "aten::zeros_like",
        "aten::fill_.Scalar" => {
            let value = arg("value").ok_or_else(|| Error::input("there is no argument `value`"))?;
            args.push(("fill_value".to_owned(), value));
            "aten::full_like"
        }
        _ => return Ok(sibling(node, meta, result, scratch, tensors)),
    };
    Ok(vec![derived(&node, target, args, result)])
}

/// `source` with the type and the shape of the tensor that it is copied to.
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
        // A value is a name of one tensor only, so that its memory can be told from the source's.
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

/// The node without its `out=` arguments; its results are `results`.
pub fn without_out(node: &Node, effect: &Effect, results: Vec<String>) -> Node {
    let mut node = node.clone();
    node.args.retain(|(name, _)| !effect.writes.contains(&name.as_str()));
    rename_args(&mut node);
    node.target = functional_sibling(&node.target);
    if let Some(first) = results.first() {
        node.name.clone_from(first);
    }
    node.outputs = results.into_iter().map(NodeOutput::Tensor).collect();
    node
}

fn rename_args(node: &mut Node) {
    let renamed = rules::effect(&node.target).map_or(&[][..], |effect| effect.renamed);
    for (arg, _) in &mut node.args {
        if let Some((_, new)) = renamed.iter().find(|(old, _)| old == arg) {
            (*new).clone_into(arg);
        }
    }
}

/// The functional sibling; its result is cast back where it may have another type than the in-place operator's.
fn sibling(
    mut node: Node,
    meta: Option<TensorMeta>,
    result: &str,
    scratch: String,
    tensors: &FxHashMap<String, TensorMeta>,
) -> Vec<Node> {
    rename_args(&mut node);
    node.target = functional_sibling(&node.target);
    if node.target == "aten::index_put" {
        node.args.retain(|(arg, _)| arg != "unsafe");
    }
    let dtype = meta.map(|meta| meta.dtype);
    let other_dtype = node.args.iter().any(|(arg, value)| match value {
        Arg::Tensor(name) if !NO_OPERANDS.contains(&arg.as_str()) => {
            tensors.get(name).is_some_and(|meta| Some(meta.dtype) != dtype)
        }
        _ => false,
    });
    let name = base_name(&node.target);
    let compares = COMPARISONS.contains(&name) && dtype != Some(Dtype::Bool);
    let widens = WIDENING.contains(&name) && !dtype.is_some_and(Dtype::is_float);
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

/// A node without a name, operator, arguments and results, from the same place as another.
pub fn origin(of: &Node) -> Node {
    Node {
        module: of.module.clone(),
        module_type: of.module_type.clone(),
        source_line: of.source_line.clone(),
        ..Node::default()
    }
}

/// A node that comes from the same place as another.
fn derived(of: &Node, target: &str, args: Vec<(String, Arg)>, result: &str) -> Node {
    Node {
        name: result.to_owned(),
        target: target.to_owned(),
        args,
        outputs: vec![NodeOutput::Tensor(result.to_owned())],
        ..origin(of)
    }
}
