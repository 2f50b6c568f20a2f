//! Strides of results, which tell views from copies where a program writes. They are given only where they are certain.

use rustc_hash::FxHashMap;

use aten2onnx_core::axes::counted_from_start;
use aten2onnx_core::sym::SymInt;
use aten2onnx_program::{Arg, Node, TensorMeta};
use aten2onnx_rules::effects::{self, Sharing};

/// The strides and the offset of a result with these sizes.
pub(super) fn of_result(
    node: &Node,
    sizes: &[SymInt],
    metas: &FxHashMap<String, TensorMeta>,
) -> Option<(Vec<SymInt>, SymInt)> {
    let first = node.args.iter().find_map(|(_, arg)| match arg {
        Arg::Tensor(name) => metas.get(name),
        _ => None,
    });
    let view = effects::view(&node.target);
    if let (Some(view), Some(meta)) = (view, first) {
        if meta.strides.len() != meta.sizes.len() {
            return None;
        }
        if matches!(view.sharing, Sharing::Itself) && meta.sizes == sizes {
            return Some((meta.strides.clone(), meta.storage_offset.clone()));
        }
        return of_view(node, meta, sizes);
    }
    // Every kernel makes contiguous results from contiguous tensors, but for a few and for other memory formats.
    let keeps_format =
        node.args.iter().all(|(_, arg)| !matches!(arg, Arg::Opaque(text) if text.starts_with("channels")));
    let is_plain = |arg: &Arg| match arg {
        Arg::Tensor(name) => metas.get(name).is_some_and(is_contiguous),
        Arg::Tensors(names) => names.iter().flatten().all(|name| metas.get(name).is_some_and(is_contiguous)),
        _ => true,
    };
    let all_plain = node.args.iter().all(|(_, arg)| is_plain(arg));
    // Padding keeps a format of channels last, which needs four axes.
    let pads = sizes.len() < 4 && matches!(node.target.as_str(), "aten::pad" | "aten::constant_pad_nd");
    let makes = pads || is_always_contiguous(&node.target);
    ((all_plain || makes) && keeps_format && !is_strided(&node.target)).then(|| (contiguous(sizes), SymInt::from(0)))
}

/// Row-major strides.
pub fn contiguous(sizes: &[SymInt]) -> Vec<SymInt> {
    let mut strides = Vec::with_capacity(sizes.len());
    let mut next = SymInt::from(1);
    for size in sizes.iter().rev() {
        strides.push(next.clone());
        next = next.mul(&size.max(&SymInt::from(1)));
    }
    strides.reverse();
    strides
}

/// Whether the strides are row-major for certain.
pub(super) fn is_contiguous(meta: &TensorMeta) -> bool {
    meta.strides.len() == meta.sizes.len() && {
        let expected = contiguous(&meta.sizes);
        meta.sizes.iter().zip(meta.strides.iter().zip(&expected)).all(|(size, (a, b))| a == b || *size == 1)
    }
}

fn is_always_contiguous(target: &str) -> bool {
    let makes = [
        "aten::zeros",
        "aten::ones",
        "aten::full",
        "aten::empty",
        "aten::new_zeros",
        "aten::new_ones",
        "aten::new_full",
        "aten::new_empty",
        "aten::repeat",
        "aten::arange",
        "aten::cat",
        "aten::stack",
        "aten::matmul",
        "aten::linear",
        "aten::bmm",
        "aten::mm",
        "aten::addmm",
        "aten::embedding",
        "aten::conv1d",
    ];
    let name = target.split_once('.').map_or(target, |(name, _)| name);
    makes.contains(&name)
}

/// Operators whose results are not contiguous.
fn is_strided(target: &str) -> bool {
    let name = target.split_once('.').map_or(target, |(name, _)| name);
    matches!(
        name,
        "aten::lstm"
            | "aten::gru"
            | "aten::rnn_tanh"
            | "aten::rnn_relu"
            | "aten::scaled_dot_product_attention"
            | "aten::einsum"
            | "aten::tensordot"
            | "aten::stft"
            | "aten::istft"
            | "aten::nonzero"
            | "aten::argwhere"
            | "aten::index"
            | "aten::empty_strided"
            | "aten::new_empty_strided"
            | "aten::tril_indices"
    ) || name.starts_with("aten::linalg_")
        || name.starts_with("aten::fft_")
}

fn int(node: &Node, name: &str) -> Option<i64> {
    node.args.iter().find(|(arg, _)| arg == name).and_then(|(_, arg)| match arg {
        Arg::Int(number) => Some(*number),
        _ => None,
    })
}

fn axis(node: &Node, name: &str, rank: usize) -> Option<usize> {
    counted_from_start(int(node, name).unwrap_or(0), rank)
}

fn of_view(node: &Node, meta: &TensorMeta, sizes: &[SymInt]) -> Option<(Vec<SymInt>, SymInt)> {
    let rank = meta.sizes.len();
    let mut strides = meta.strides.clone();
    let mut offset = meta.storage_offset.clone();
    match node.target.as_str() {
        "aten::transpose.int" | "aten::transpose_" | "aten::swapaxes" | "aten::swapdims" => {
            let names = if node.target.contains("swapaxes") { ("axis0", "axis1") } else { ("dim0", "dim1") };
            let (a, b) = (axis(node, names.0, rank)?, axis(node, names.1, rank)?);
            strides.swap(a, b);
        }
        "aten::t" | "aten::numpy_T" | "aten::mT" if rank <= 2 => strides.reverse(),
        "aten::permute" => {
            let dims = node.args.iter().find(|(name, _)| name == "dims").map(|(_, arg)| arg);
            let Some(Arg::Ints(dims)) = dims else { return None };
            let pick = |dim: &aten2onnx_program::IntArg| match dim {
                aten2onnx_program::IntArg::Known(dim) => meta.strides.get(counted_from_start(*dim, rank)?).cloned(),
                aten2onnx_program::IntArg::Named(_) => None,
            };
            strides = dims.iter().map(pick).collect::<Option<_>>()?;
        }
        "aten::select.int" => {
            let dim = axis(node, "dim", rank)?;
            let index = int(node, "index").filter(|index| *index >= 0)?;
            let stride = meta.strides.get(dim)?;
            offset = offset.add(&stride.mul(&SymInt::from(index)));
            strides.remove(dim);
        }
        "aten::slice.Tensor" => {
            let dim = axis(node, "dim", rank)?;
            let start = match node.args.iter().find(|(name, _)| name == "start").map(|(_, arg)| arg) {
                None | Some(Arg::None) => 0,
                Some(Arg::Int(start)) => *start,
                Some(_) => return None,
            };
            let step = int(node, "step").unwrap_or(1);
            let (size, stride) = (meta.sizes.get(dim)?, meta.strides.get(dim)?.clone());
            let start = match (start < 0, size.known()) {
                (false, Some(size)) => start.min(size),
                (false, None) => start,
                (true, Some(size)) => (start + size).max(0),
                (true, None) => return None,
            };
            offset = offset.add(&stride.mul(&SymInt::from(start)));
            *strides.get_mut(dim)? = stride.mul(&SymInt::from(step));
        }
        "aten::unsqueeze" => {
            let dim = axis(node, "dim", rank + 1).filter(|dim| *dim <= rank)?;
            let stride = match (meta.sizes.get(dim), meta.strides.get(dim)) {
                (Some(size), Some(stride)) => size.mul(stride),
                _ => SymInt::from(1),
            };
            strides.insert(dim, stride);
        }
        "aten::squeeze.dim" if sizes.len() + 1 == rank => {
            let dim = axis(node, "dim", rank).filter(|dim| *dim < rank)?;
            strides.remove(dim);
        }
        "aten::squeeze.dim" if sizes.len() == rank => {}
        "aten::expand" | "aten::expand_as" => {
            let added = sizes.len().checked_sub(rank)?;
            let mut found = vec![SymInt::from(0); added];
            for (index, (old, stride)) in meta.sizes.iter().zip(&meta.strides).enumerate() {
                let new = sizes.get(index + added)?;
                found.push(if old == new { stride.clone() } else { SymInt::from(0) });
            }
            strides = found;
        }
        "aten::detach" | "aten::alias" | "aten::view_as" if meta.sizes == sizes => {}
        _ if is_contiguous(meta) && is_reshape(&node.target) => strides = contiguous(sizes),
        "aten::view" | "aten::_unsafe_view" => strides = regrouped(meta, sizes)??,
        // A copy where no view has these sizes.
        "aten::reshape" | "aten::flatten.using_ints" | "aten::reshape_as" | "aten::ravel" => {
            match regrouped(meta, sizes)? {
                Some(found) => strides = found,
                None => return Some((contiguous(sizes), SymInt::from(0))),
            }
        }
        _ => return None,
    }
    (strides.len() == sizes.len()).then_some((strides, offset))
}

/// The strides of a view with other sizes, as torch finds them; Some(None) if there is none, None if a size is not known.
fn regrouped(meta: &TensorMeta, sizes: &[SymInt]) -> Option<Option<Vec<SymInt>>> {
    let known = |numbers: &[SymInt]| numbers.iter().map(SymInt::known).collect::<Option<Vec<i64>>>();
    let (old, old_strides, new) = (known(&meta.sizes)?, known(&meta.strides)?, known(sizes)?);
    if old.contains(&0) || old.is_empty() {
        return Some(Some(contiguous(sizes)));
    }
    let mut found = vec![SymInt::from(0); new.len()];
    let mut left = new.len();
    let mut axes = old.iter().zip(&old_strides).rev().peekable();
    // Axes that follow each other in memory are one chunk.
    let (mut elements, mut base) = (1_i64, None);
    while let Some((size, stride)) = axes.next() {
        let start = *base.get_or_insert(*stride);
        elements = elements.checked_mul(*size)?;
        let goes_on =
            axes.peek().is_some_and(|(size, stride)| **size == 1 || Some(**stride) == elements.checked_mul(start));
        if goes_on {
            continue;
        }
        let mut taken = 1_i64;
        while let Some(size) =
            left.checked_sub(1).and_then(|at| new.get(at)).filter(|size| taken < elements || **size == 1)
        {
            left -= 1;
            *found.get_mut(left)? = SymInt::from(taken.checked_mul(start)?);
            taken = taken.checked_mul(*size)?;
        }
        if taken != elements {
            return Some(None);
        }
        (elements, base) = (1, None);
    }
    Some((left == 0).then_some(found))
}

fn is_reshape(target: &str) -> bool {
    let name = target.split_once('.').map_or(target, |(name, _)| name);
    matches!(
        name,
        "aten::view"
            | "aten::reshape"
            | "aten::flatten"
            | "aten::unflatten"
            | "aten::_unsafe_view"
            | "aten::squeeze"
            | "aten::view_as"
            | "aten::reshape_as"
            | "aten::ravel"
            | "aten::contiguous"
            | "aten::to"
            | "aten::detach"
            | "aten::dropout"
            | "aten::feature_dropout"
            | "aten::type_as"
    )
}
