//! Attention and linear attention.

use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Type;

use super::ctx::Ctx;

/// `[batch, heads, length, head size]`
type Heads = [SymInt; 4];

/// The heads of a tensor of rank 4, or of one with shape `[batch, length, heads * size]`.
fn heads(c: &Ctx, i: usize, count: &str) -> Result<Heads> {
    match c.shape(i) {
        Some([batch, heads, length, size]) => Ok([batch.clone(), heads.clone(), length.clone(), size.clone()]),
        Some([batch, length, hidden]) => {
            let heads = match c.int(count) {
                Some(n) if n > 0 => SymInt::from(n),
                _ => return Err(c.error(format!("inputs of rank 3 need {count}"))),
            };
            let size = hidden.floor_div(&heads);
            Ok([batch.clone(), heads, length.clone(), size])
        }
        Some(_) => Err(c.error("takes tensors of rank 3 or 4")),
        None => Ok([c.fresh(), c.fresh(), c.fresh(), c.fresh()]),
    }
}

pub(super) fn attention(c: &Ctx) -> Result<Vec<Type>> {
    let rank = [0, 1, 2].iter().find_map(|i| c.shape(*i)).map(<[SymInt]>::len);
    let Some(rank) = rank else { return c.outputs_typed(vec![None, present(c, 1)?, present(c, 2)?, None]) };
    let [batch, q_heads, length, _] = heads(c, 0, "q_num_heads")?;
    let [_, _, keys, _] = heads(c, 1, "kv_num_heads")?;
    let [_, _, values, v_size] = heads(c, 2, "kv_num_heads")?;
    c.equal_dims(&keys, &values)?;
    let y = if rank == 3 {
        vec![batch.clone(), length.clone(), &q_heads * &v_size]
    } else {
        vec![batch.clone(), q_heads.clone(), length.clone(), v_size]
    };
    let keys = present(c, 1)?;
    let total = keys.as_ref().and_then(|k| k.get(2)).cloned().unwrap_or_else(|| c.fresh());
    c.outputs_typed(vec![Some(y), keys, present(c, 2)?, Some(vec![batch, q_heads, length, total])])
}

/// The cache of keys (1) or values (2): the past ones followed by the new ones.
fn present(c: &Ctx, i: usize) -> Result<Option<Vec<SymInt>>> {
    if c.shape(i).is_none() {
        return Ok(Some(c.fresh_shape(4)));
    }
    let [batch, heads, new, size] = heads(c, i, "kv_num_heads")?;
    let length = match (c.has(i + 3), c.shape(i + 3)) {
        (false, _) => new,
        (true, Some([_, _, past, _])) => past + &new,
        (true, _) => c.fresh(),
    };
    Ok(Some(vec![batch, heads, length, size]))
}

/// Packed queries have shape `[B, T, heads * size]`, the state `[B, key heads, key size, value size]`.
pub(super) fn linear(c: &Ctx) -> Result<Vec<Type>> {
    for i in 0..3 {
        c.want_rank(i, 3)?;
    }
    let [batch, q_heads, length, _] = heads(c, 0, "q_num_heads")?;
    let [_, kv_heads, _, k_size] = heads(c, 1, "kv_num_heads")?;
    let [_, _, _, v_size] = heads(c, 2, "kv_num_heads")?;
    let y = Type::Tensor { dtype: c.dtype(0)?, shape: Some(vec![batch.clone(), length, &q_heads * &v_size]) };
    // Without a past state, the state has the dtype of the keys.
    let dtype = c.dtype(1).or_else(|_| c.dtype(0))?;
    let state = Type::Tensor { dtype, shape: Some(vec![batch, kv_heads, k_size, v_size]) };
    Ok(vec![y, state])
}
