//! Weights that are quantized while they are written: blocks of floats become integers, or floats of 8 bits, with a scale and maybe a zero point for each.
//!
//! The integers, the scales and the zero points are three weights of one source, each of which is computed when it is written. Scales and zero points
//! are kept between the three if they take little memory; else they are computed again, so that memory use does not grow with the weights.

mod fit;
mod float8;
mod hqq;
mod kept;
mod values;

use std::sync::Arc;

use fit::Fitting;
pub use fit::{CodeFormat, ScaleSearch};
use kept::{BlockFits, KeptFits};

use super::payload::{CHUNK, Payload, Sink, outside};
use super::{Storage, Weight, row_major};
use crate::dtype::Dtype;
use crate::error::Result;

/// Floats whose last axis is cut in blocks.
#[derive(Debug)]
pub struct QuantizedBlocks {
    source: Weight,
    /// Those of the source, or others of as many elements.
    sizes: Vec<i64>,
    block: usize,
    fitting: Fitting,
    kept: KeptFits,
}

/// One of the three weights of quantized floats.
#[derive(Debug)]
pub struct QuantizedPart {
    blocks: Arc<QuantizedBlocks>,
    part: BlockPart,
}

/// Which of the three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockPart {
    Codes,
    Scales,
    Zeros,
}

impl QuantizedBlocks {
    /// Floats in the sizes of `shape`, whose last axis is cut in blocks with scales that are exact in `scale`. None if the blocks do not fill the axis, or
    /// if these are no floats.
    pub fn of(
        source: Weight,
        shape: (&[i64], i64),
        format: CodeFormat,
        how: (ScaleSearch, Dtype),
    ) -> Option<Arc<Self>> {
        let (sizes, block) = shape;
        let (last, (search, scale)) = (*sizes.last()?, how);
        let is_float = matches!(source.dtype, Dtype::Float32 | Dtype::Float16 | Dtype::Bfloat16);
        let count = |sizes: &[i64]| sizes.iter().try_fold(1i64, |n, size| n.checked_mul(*size));
        let is_whole = block >= 1 && last % block == 0 && count(sizes)? == count(&source.sizes)?;
        if !is_float || !is_whole || sizes.iter().any(|size| *size < 1) {
            return None;
        }
        let (block, fitting) = (usize::try_from(block).ok()?, Fitting { format, search, scale });
        Some(Arc::new(QuantizedBlocks { source, sizes: sizes.to_vec(), block, fitting, kept: KeptFits::default() }))
    }

    /// The floats.
    pub fn source(&self) -> &Weight {
        &self.source
    }

    /// What the floats are rounded to.
    pub fn format(&self) -> CodeFormat {
        self.fitting.format
    }

    /// The dtype that holds the scales exactly.
    pub fn scale_dtype(&self) -> Dtype {
        self.fitting.scale
    }

    /// A byte for each number.
    pub fn codes(self: &Arc<Self>) -> Weight {
        self.part("quantized", BlockPart::Codes, self.format().stored(), self.sizes.clone())
    }

    /// A scale for each block, in the dtype of the floats.
    pub fn scales(self: &Arc<Self>) -> Weight {
        self.part("scale", BlockPart::Scales, self.source.dtype, self.grid())
    }

    /// A zero point for each block, if the format has them.
    pub fn zeros(self: &Arc<Self>) -> Option<Weight> {
        self.format().has_zero().then(|| self.part("zero_point", BlockPart::Zeros, Dtype::Uint8, self.grid()))
    }

    fn part(self: &Arc<Self>, suffix: &str, part: BlockPart, dtype: Dtype, sizes: Vec<i64>) -> Weight {
        let name = format!("{}_{suffix}", self.source.name);
        let storage = Storage::Quantized(Arc::new(QuantizedPart { blocks: Arc::clone(self), part }));
        Weight { name, dtype, strides: row_major(&sizes), sizes, offset: 0, storage }
    }

    /// The number of blocks along each axis.
    fn grid(&self) -> Vec<i64> {
        let (last, rest) = self.sizes.split_last().unwrap_or((&1, &[]));
        [rest, &[last / self.block.max(1) as i64]].concat()
    }

    /// The number of blocks.
    fn count(&self) -> usize {
        self.grid().iter().try_fold(1usize, |n, size| n.checked_mul(usize::try_from(*size).ok()?)).unwrap_or(0)
    }

    /// Calls a function with the floats of each block, and the number of the first.
    fn each(&self, f: &mut dyn FnMut(usize, &[f32]) -> Result<()>) -> Result<()> {
        let mut blocks = Cutting { block: self.block, of: self.source.dtype, floats: Vec::new(), next: 0, f };
        Payload::new(&self.source)?.write(&mut blocks)
    }

    /// The scales and zero points of all blocks.
    fn fits(&self) -> Result<Arc<BlockFits>> {
        if let Some(fits) = self.kept.get() {
            return Ok(fits);
        }
        let mut fits = BlockFits::with_capacity(self.count());
        self.each(&mut |_, block| {
            fits.push(self.fitting.fit(block));
            Ok(())
        })?;
        Ok(self.kept.keep(fits))
    }
}

impl QuantizedPart {
    /// The blocks that it is a part of.
    pub fn blocks(&self) -> &Arc<QuantizedBlocks> {
        &self.blocks
    }

    /// The floats that are quantized.
    pub fn source(&self) -> &Weight {
        &self.blocks.source
    }

    /// Bounds of the integers, if these are integers.
    pub fn range(&self) -> Option<(i64, i64)> {
        let (low, high) = self.blocks.format().limits();
        let is_integer = self.part != BlockPart::Scales && self.blocks.format() != CodeFormat::Float8;
        is_integer.then_some((low.into(), high.into()))
    }

    /// The number of bytes.
    pub(super) fn len(&self) -> u64 {
        let count = match self.part {
            BlockPart::Codes => return self.blocks.sizes.iter().product::<i64>().unsigned_abs(),
            BlockPart::Zeros | BlockPart::Scales => self.blocks.count() as u64,
        };
        let of = if self.part == BlockPart::Scales { self.blocks.source.dtype } else { Dtype::Uint8 };
        of.bytes(count).unwrap_or(u64::MAX)
    }

    /// Whether both are the same part of the same floats.
    pub(super) fn is_same(&self, other: &QuantizedPart) -> bool {
        Arc::ptr_eq(&self.blocks, &other.blocks) && self.part == other.part
    }

    /// Writes the bytes of a weight of this storage.
    pub(super) fn write(&self, weight: &Weight, sink: &mut dyn Sink) -> Result<()> {
        let done = match self.part {
            BlockPart::Codes if weight.is_contiguous() => self.blocks.write_codes(sink),
            BlockPart::Codes => self.blocks.write_turned(weight, sink),
            BlockPart::Scales | BlockPart::Zeros => self.write_fits(weight, sink),
        };
        self.blocks.kept.used(self.part as u8, 2 + u32::from(self.blocks.format().has_zero()));
        done
    }

    /// Writes scales or zero points, in any layout.
    fn write_fits(&self, weight: &Weight, sink: &mut dyn Sink) -> Result<()> {
        let fits = self.blocks.fits()?;
        let bytes = match self.part {
            BlockPart::Scales => values::bytes(&fits.scales, weight.dtype),
            _ => fits.zeros.clone(),
        };
        let held = Weight { storage: Storage::Owned(bytes.into()), ..weight.clone() };
        Payload::new(&held)?.write(sink)
    }
}

impl QuantizedBlocks {
    /// Writes the codes in the order of the floats. Fits that nobody has computed are computed on the way.
    fn write_codes(&self, sink: &mut dyn Sink) -> Result<()> {
        let (known, mut bytes) = (self.kept.get(), Vec::with_capacity(CHUNK + self.block));
        let mut made = (known.is_none() && self.kept.has_room(self.count())).then(BlockFits::default);
        self.each(&mut |index, block| {
            let fit = known.as_deref().and_then(|fits| fits.at(index)).unwrap_or_else(|| self.fitting.fit(block));
            made.iter_mut().for_each(|made| made.push(fit));
            self.fitting.encode(block, fit, &mut bytes);
            if bytes.len() < CHUNK {
                return Ok(());
            }
            sink.put(&bytes)?;
            bytes.clear();
            Ok(())
        })?;
        if let Some(made) = made {
            self.kept.keep(made);
        }
        sink.put(&bytes)
    }

    /// Writes the codes with the axes in another order, from floats that are read in that order.
    fn write_turned(&self, weight: &Weight, sink: &mut dyn Sink) -> Result<()> {
        if self.sizes != self.source.sizes {
            return self.write_gathered(weight, sink);
        }
        let (rank, own) = (self.sizes.len(), row_major(&self.sizes));
        // By an axis of the result, that of the floats. Axes of one element have any stride.
        let mut free: Vec<usize> = (0..rank).collect();
        let mut perm = Vec::with_capacity(rank);
        for (size, stride) in weight.sizes.iter().zip(&weight.strides) {
            let fits =
                |axis: &usize| self.sizes.get(*axis) == Some(size) && (*size == 1 || own.get(*axis) == Some(stride));
            let Some(at) = free.iter().position(fits) else { return self.write_gathered(weight, sink) };
            perm.push(free.remove(at) as i64);
        }
        let Some(source) = self.source.transposed(Some(&perm)).filter(|_| free.is_empty()) else {
            return self.write_gathered(weight, sink);
        };
        let mut turned = Turning {
            blocks: self,
            fits: self.fits()?,
            sizes: weight.sizes.clone(),
            strides: weight.strides.clone(),
            place: vec![0; rank],
            at: 0,
            bytes: Vec::new(),
            sink,
        };
        Payload::new(&source)?.write(&mut turned)
    }

    /// Writes the codes in any layout, from all of them in memory: floats that are computed come in one order only.
    fn write_gathered(&self, weight: &Weight, sink: &mut dyn Sink) -> Result<()> {
        let mut bytes = Vec::new();
        self.write_codes(&mut bytes)?;
        let held = Weight { storage: Storage::Owned(bytes.into()), ..weight.clone() };
        Payload::new(&held)?.write(sink)
    }
}

/// Cuts floats in blocks; it receives whole elements.
struct Cutting<'a> {
    block: usize,
    of: Dtype,
    /// Those of an unfinished block.
    floats: Vec<f32>,
    next: usize,
    f: &'a mut dyn FnMut(usize, &[f32]) -> Result<()>,
}

impl Sink for Cutting<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        for chunk in bytes.chunks(CHUNK) {
            values::append(chunk, self.of, &mut self.floats);
            let blocks = self.floats.chunks_exact(self.block);
            let rest = blocks.remainder().len();
            for block in blocks {
                (self.f)(self.next, block)?;
                self.next += 1;
            }
            self.floats.drain(..self.floats.len() - rest);
        }
        Ok(())
    }
}

/// Encodes floats that come in another order than that of the blocks.
struct Turning<'a> {
    blocks: &'a QuantizedBlocks,
    fits: Arc<BlockFits>,
    sizes: Vec<i64>,
    /// How far a step along each axis moves among the floats.
    strides: Vec<i64>,
    place: Vec<i64>,
    /// The position of the next float in the order of the blocks.
    at: i64,
    bytes: Vec<u8>,
    sink: &'a mut dyn Sink,
}

impl Turning<'_> {
    fn advance(&mut self) {
        for ((place, size), stride) in self.place.iter_mut().zip(&self.sizes).zip(&self.strides).rev() {
            *place += 1;
            self.at += stride;
            if *place < *size {
                return;
            }
            *place = 0;
            self.at -= stride * size;
        }
    }
}

impl Sink for Turning<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let mut floats = Vec::new();
        for chunk in bytes.chunks(CHUNK) {
            floats.clear();
            values::append(chunk, self.blocks.source.dtype, &mut floats);
            self.bytes.clear();
            for number in &floats {
                let block = usize::try_from(self.at).map_err(|_| outside())? / self.blocks.block;
                let fit = self.fits.at(block).ok_or_else(outside)?;
                self.blocks.fitting.encode(std::slice::from_ref(number), fit, &mut self.bytes);
                self.advance();
            }
            self.sink.put(&self.bytes)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
