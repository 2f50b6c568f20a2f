//! Rows of integers with a scale for each block, as ONNX Runtime's own operators read them: unsigned integers of 2, 4 or 8 bits, several to a
//! byte, and zero points packed in the same way.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::{Dequantized, owned, range, viewed};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::{Digits, Storage, Weight};

/// The parts of a quantized matrix.
pub(super) struct Rows {
    /// The unsigned integers, in the order of the matrix.
    pub(super) codes: Digits,
    /// A number for each block of each row.
    pub(super) scale: Weight,
    /// Bytes of zero points. None: the zero point is the middle of the unsigned integers.
    pub(super) zero: Option<Weight>,
    /// The bits of each integer.
    pub(super) bits: u32,
    /// The number of integers with a common scale.
    pub(super) block: i64,
}

impl Rows {
    /// A matrix, or several, whose blocks lie along rows, with integers of one of these widths in blocks of such lengths.
    pub(super) fn of(widths: &[u32], parts: Dequantized, blocks: &RangeInclusive<i64>) -> Option<Rows> {
        let (columns, mut count) = (*parts.codes.sizes.last()?, *parts.scale.sizes.last()?);
        // One scale for a whole row is repeated.
        if count == 1 {
            count = columns / longest(columns, *blocks.end());
        }
        let block = columns.checked_div(count)?;
        let fits = columns % count == 0 && blocks.contains(&block) && block.count_ones() == 1;
        if fits { Rows::cut(widths, parts, count) } else { None }
    }

    /// A matrix, or several, with a scale for each row, or for all.
    pub(super) fn whole(widths: &[u32], parts: Dequantized) -> Option<Rows> {
        let is_whole = parts.scale.sizes.last() == Some(&1);
        let rows = if is_whole { Rows::cut(widths, parts, 1)? } else { return None };
        // Zero points of fewer bits would share bytes with those of other rows.
        (rows.zero.is_none() || rows.bits == 8).then_some(rows)
    }

    /// Each row is cut in so many blocks.
    fn cut(widths: &[u32], parts: Dequantized, count: i64) -> Option<Rows> {
        let (columns, lines) = parts.codes.sizes.split_last()?;
        let (_, scaled) = parts.scale.sizes.split_last()?;
        // One scale for other rows is repeated.
        let is_one = scaled.iter().all(|n| *n == 1);
        if parts.codes.sizes.iter().any(|n| *n < 1) || (scaled != lines && !is_one) {
            return None;
        }
        let (block, rows, sizes) = (columns / count.max(1), lines.iter().product(), [lines, &[count]].concat());
        let Unsigned { bits, add, zero } = Unsigned::of(widths, &parts)?;
        let spread = |weight: Weight| -> Option<Weight> {
            if weight.sizes == sizes { Some(weight) } else { viewed(&weight, |weight| expanded(weight, &sizes)) }
        };
        let zero = match zero.map(|zero| spread(zero).ok_or(())).transpose().ok()? {
            Some(zero) => Some(packed(&zero, add, bits, rows, count)?),
            None => None,
        };
        Some(Rows { codes: Digits::of(&parts.codes)?.plus(add)?, scale: spread(parts.scale)?, zero, bits, block })
    }
}

/// Zero points in bytes: each row starts with a byte of its own.
fn packed(zero: &Weight, add: i64, bits: u32, rows: i64, count: i64) -> Option<Weight> {
    let digits = Digits::of(zero)?.plus(add)?;
    match count * i64::from(bits) {
        _ if count == 1 => digits.weight(Dtype::Uint8, &[rows, 1]),
        len if len % 8 == 0 => digits.bytes(bits, &[rows, len / 8]),
        _ => None,
    }
}

/// Repeats the elements along axes of size 1.
fn expanded(weight: &Weight, sizes: &[i64]) -> Option<Weight> {
    let step = |(n, stride): (&i64, &i64)| if *n == 1 { 0 } else { *stride };
    let strides = weight.sizes.iter().zip(&weight.strides).map(step).collect();
    let has_strides = !weight.storage.is_computed() || matches!(weight.storage, Storage::Quantized(_));
    let can = has_strides && weight.dtype.bits() >= 8;
    can.then(|| Weight { strides, sizes: sizes.to_vec(), ..weight.clone() })
}

/// The largest power of 2 that divides a row, up to a limit.
fn longest(columns: i64, most: i64) -> i64 {
    let mut block = 1;
    while block <= most / 2 && columns % (2 * block) == 0 {
        block *= 2;
    }
    block
}

/// Bounds of integers of at most 8 bits, as close as they decide the number of bits.
fn closest(weight: &Weight) -> Option<(i64, i64)> {
    [(-2, 3), (-8, 15), (-128, 255)].into_iter().find_map(|limits| range(weight, limits))
}

/// How integers become unsigned ones.
struct Unsigned {
    bits: u32,
    /// What is added to the integers and to the zero points.
    add: i64,
    /// None: the zero point is the middle, as the operators have it.
    zero: Option<Weight>,
}

impl Unsigned {
    /// The fewest bits that the runtime has and that hold the integers and the zero points.
    fn of(widths: &[u32], parts: &Dequantized) -> Option<Unsigned> {
        let zero = parts.zero.as_ref().filter(|zero| range(zero, (0, 0)).is_none());
        let codes = closest(&parts.codes)?;
        let zeros = match zero {
            Some(zero) => closest(zero)?,
            None => (0, 0),
        };
        let (least, most) = (codes.0.min(zeros.0), codes.1.max(zeros.1));
        widths.iter().copied().filter(|bits| *bits <= 8).find_map(|bits| {
            let half = 1 << (bits - 1);
            let is_signed = -half <= least && most < half;
            match zero {
                // Without a zero point it is the middle of the unsigned integers.
                None if is_signed => Some(Unsigned { bits, add: half, zero: None }),
                _ if 0 <= least && most < 2 * half => {
                    let zero = zero.cloned().unwrap_or_else(|| owned(Dtype::Uint8, &[1, 1], Arc::new([0])));
                    Some(Unsigned { bits, add: 0, zero: Some(zero) })
                }
                Some(zero) if is_signed => Some(Unsigned { bits, add: half, zero: Some(zero.clone()) }),
                _ => None,
            }
        })
    }
}
