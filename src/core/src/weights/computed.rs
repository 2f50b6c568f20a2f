//! Integers that follow from packed weights by a few steps for each element, computed when they are written: what a model spells out with shifts,
//! masks, views and lookups to unpack a checkpoint.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::payload::{Payload, Sink};
use super::windows::Elements;
use super::{Storage, Weight, row_major};
use crate::dtype::Dtype;
use crate::error::Result;

/// The number of elements that are computed at once.
const BATCH: usize = 4096;

/// Steps that compute elements from their row-major positions. The result of each step is a number for each element; steps refer to earlier ones
/// by their index.
#[derive(Debug, Clone, Default)]
pub struct Program {
    steps: Vec<Step>,
    bounds: Vec<(i64, i64)>,
}

/// A step.
#[derive(Debug, Clone)]
pub enum Step {
    /// The positions of the elements.
    Positions,
    /// `offset + sum(index * stride)` with the indices of a position among sizes.
    View(usize, View),
    /// Positions with another index along an axis.
    Lookup {
        /// The positions.
        at: usize,
        /// The elements after the axis.
        inner: i64,
        /// The size of the axis.
        size: i64,
        /// The size of the axis in the tensor that is read.
        from: i64,
        /// The new index for each index.
        table: Arc<[i64]>,
    },
    /// The same, where another step has the new indices.
    Follow {
        /// The positions.
        at: usize,
        /// The elements after the axis.
        inner: i64,
        /// The size of the axis.
        size: i64,
        /// The size of the axis in the tensor that is read.
        from: i64,
        /// The new indices; negative ones count from the end.
        index: usize,
    },
    /// The index along an axis.
    Index {
        /// The positions.
        at: usize,
        /// The elements after the axis.
        inner: i64,
        /// The size of the axis.
        size: i64,
    },
    /// The elements of a weight at positions of its storage.
    Load(usize, Arc<Weight>),
    /// A number.
    Number(i64),
    /// An operation on two numbers.
    Apply(Operation, usize, usize),
    /// The second where the first is not 0, else the third.
    Choose(usize, usize, usize),
    /// The lower bits of an integer, as a dtype holds them.
    Wrap(usize, Dtype),
}

/// The elements that steps load.
type Loaded<'a> = FxHashMap<usize, Elements<'a>>;

/// Sizes, and the strides of another tensor along them.
#[derive(Debug, Clone)]
pub struct View {
    /// The sizes.
    pub sizes: Vec<i64>,
    /// The strides.
    pub strides: Vec<i64>,
    /// The first position.
    pub offset: i64,
}

/// Operations on integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operation {
    Add,
    Sub,
    And,
    Or,
    Left,
    /// Shifts in zeros: only for numbers that are not negative.
    Right,
    Less,
    Equal,
}

impl Operation {
    fn of(self, a: i64, b: i64) -> i64 {
        let shift = u32::try_from(b).unwrap_or(64);
        match self {
            Operation::Add => a.wrapping_add(b),
            Operation::Sub => a.wrapping_sub(b),
            Operation::And => a & b,
            Operation::Or => a | b,
            Operation::Left => a.checked_shl(shift).unwrap_or(0),
            Operation::Right => (a as u64).checked_shr(shift).unwrap_or(0) as i64,
            Operation::Less => i64::from(a < b),
            Operation::Equal => i64::from(a == b),
        }
    }

    /// Bounds of the result, if they follow from those of the operands.
    fn bounds(self, a: (i64, i64), b: (i64, i64)) -> (i64, i64) {
        let all = (i64::MIN, i64::MAX);
        match self {
            Operation::Add => a.0.checked_add(b.0).zip(a.1.checked_add(b.1)).unwrap_or(all),
            Operation::Sub => a.0.checked_sub(b.1).zip(a.1.checked_sub(b.0)).unwrap_or(all),
            Operation::And if b.0 >= 0 => (0, if a.0 >= 0 { a.1.min(b.1) } else { b.1 }),
            Operation::And if a.0 >= 0 => (0, a.1),
            Operation::Right if a.0 >= 0 && b.0 == b.1 => (self.of(a.0, b.0), self.of(a.1, b.0)),
            Operation::Right if a.0 >= 0 => (0, a.1),
            Operation::Less | Operation::Equal => (0, 1),
            _ => all,
        }
    }
}

impl Program {
    /// Adds a step; returns its index. None if it refers to a later one, or to a weight of elements that are no integers.
    pub fn push(&mut self, step: Step) -> Option<usize> {
        let of = |i: &usize| self.bounds.get(*i).copied();
        let bounds = match &step {
            Step::Positions => (0, i64::MAX),
            Step::View(at, _) | Step::Lookup { at, .. } => of(at).map(|_| (0, i64::MAX))?,
            Step::Follow { at, index, .. } => of(at).and(of(index)).map(|_| (0, i64::MAX))?,
            Step::Index { at, size, .. } => of(at).map(|_| (0, (size - 1).max(0)))?,
            Step::Load(at, weight) => of(at).and_then(|_| limits(weight.dtype))?,
            Step::Number(n) => (*n, *n),
            Step::Apply(op, a, b) => op.bounds(of(a)?, of(b)?),
            Step::Choose(c, a, b) => of(c).and(Some((of(a)?.0.min(of(b)?.0), of(a)?.1.max(of(b)?.1))))?,
            Step::Wrap(a, dtype) => {
                let (inner, outer) = (of(a)?, limits(*dtype)?);
                if outer.0 <= inner.0 && inner.1 <= outer.1 { inner } else { outer }
            }
        };
        self.steps.push(step);
        self.bounds.push(bounds);
        Some(self.steps.len() - 1)
    }

    /// The number of steps.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether it has no steps.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Bounds of the last result.
    pub fn range(&self) -> Option<(i64, i64)> {
        self.bounds.last().copied()
    }

    /// The largest weight that is read.
    pub fn source(&self) -> Option<&Weight> {
        let weights =
            self.steps.iter().filter_map(|step| if let Step::Load(_, weight) = step { Some(&**weight) } else { None });
        weights.max_by_key(|weight| weight.byte_len())
    }

    /// A weight of the last results, with 8 bits for each; None if the dtype does not hold them.
    pub fn weight(self, name: &str, dtype: Dtype, sizes: &[i64]) -> Option<Weight> {
        let (least, most) = self.range()?;
        let (low, high) = limits(dtype).filter(|_| matches!(dtype, Dtype::Int8 | Dtype::Uint8))?;
        let computed = Computed { program: self, views: Vec::new() };
        let storage = Storage::Computed(Arc::new(computed));
        let weight = Weight {
            name: name.to_owned(),
            dtype,
            sizes: sizes.to_vec(),
            strides: row_major(sizes),
            offset: 0,
            storage,
        };
        (low <= least && most <= high).then_some(weight)
    }

    /// The weights that steps load, by the numbers of the steps.
    fn loaded(&self) -> Result<Loaded<'_>> {
        let mut all = Loaded::default();
        for (number, step) in self.steps.iter().enumerate() {
            if let Step::Load(_, weight) = step {
                Payload::new(weight)?;
                all.insert(number, Elements::new(&weight.storage, (weight.dtype.bits() / 8).max(1) as usize));
            }
        }
        Ok(all)
    }

    /// The last results for these positions.
    fn run(&self, positions: Vec<i64>, elements: &mut Loaded<'_>) -> Result<Vec<i64>> {
        let mut made: Vec<Vec<i64>> = Vec::with_capacity(self.steps.len());
        let count = positions.len();
        let none: &[i64] = &[];
        for (number, step) in self.steps.iter().enumerate() {
            let of = |i: &usize| made.get(*i).map_or(none, Vec::as_slice);
            let next = match step {
                Step::Positions => positions.clone(),
                Step::View(at, view) => of(at).iter().map(|position| view.position(*position)).collect(),
                Step::Lookup { at, inner, size, from, table } => {
                    let place = |position: &i64| {
                        let (rest, outer) = (position % inner, position / inner);
                        let index = usize::try_from(outer % size).ok().and_then(|i| table.get(i)).copied().unwrap_or(0);
                        ((outer / size) * from + index) * inner + rest
                    };
                    of(at).iter().map(place).collect()
                }
                Step::Follow { at, inner, size, from, index } => {
                    let place = |(position, index): (&i64, &i64)| {
                        (position / inner / size * from + index.checked_rem_euclid(*from).unwrap_or(0)) * inner
                            + position % inner
                    };
                    of(at).iter().zip(of(index)).map(place).collect()
                }
                Step::Index { at, inner, size } => of(at).iter().map(|position| position / inner % size).collect(),
                Step::Load(at, weight) => loaded(elements.get_mut(&number), weight.dtype, of(at))?,
                Step::Number(n) => vec![*n; count],
                Step::Apply(op, a, b) => of(a).iter().zip(of(b)).map(|(a, b)| op.of(*a, *b)).collect(),
                Step::Choose(c, a, b) => {
                    let both = of(a).iter().zip(of(b));
                    of(c).iter().zip(both).map(|(c, (a, b))| if *c == 0 { *b } else { *a }).collect()
                }
                Step::Wrap(a, dtype) => of(a).iter().map(|n| wrapped(*n, *dtype)).collect(),
            };
            made.push(next);
        }
        Ok(made.pop().unwrap_or_default())
    }
}

impl View {
    /// A position among the sizes as one of the other tensor.
    fn position(&self, mut position: i64) -> i64 {
        let mut result = self.offset;
        for (size, stride) in self.sizes.iter().zip(&self.strides).rev() {
            let size = (*size).max(1);
            result += position % size * stride;
            position /= size;
        }
        result
    }
}

/// Elements of a weight of a file or in memory; those outside, which sizes that were checked exclude, are 0.
fn loaded(elements: Option<&mut Elements<'_>>, dtype: Dtype, positions: &[i64]) -> Result<Vec<i64>> {
    let Some(elements) = elements else { return Ok(vec![0; positions.len()]) };
    let of = |bytes: [u8; 8]| wrapped(i64::from_le_bytes(bytes), dtype);
    positions.iter().map(|position| Ok(elements.get(*position)?.map_or(0, of))).collect()
}

fn wrapped(n: i64, dtype: Dtype) -> i64 {
    match dtype {
        Dtype::Bool => i64::from(n != 0),
        Dtype::Int8 => i64::from(n as i8),
        Dtype::Uint8 => i64::from(n as u8),
        Dtype::Int16 => i64::from(n as i16),
        Dtype::Uint16 => i64::from(n as u16),
        Dtype::Int32 => i64::from(n as i32),
        Dtype::Uint32 => i64::from(n as u32),
        _ => n,
    }
}

fn limits(dtype: Dtype) -> Option<(i64, i64)> {
    Some(match dtype {
        Dtype::Bool => (0, 1),
        Dtype::Int8 => (i8::MIN.into(), i8::MAX.into()),
        Dtype::Uint8 => (0, u8::MAX.into()),
        Dtype::Int16 => (i16::MIN.into(), i16::MAX.into()),
        Dtype::Uint16 => (0, u16::MAX.into()),
        Dtype::Int32 => (i32::MIN.into(), i32::MAX.into()),
        Dtype::Uint32 => (0, u32::MAX.into()),
        Dtype::Int64 | Dtype::Uint64 => (i64::MIN, i64::MAX),
        _ => return None,
    })
}

/// The results of a program, as they are seen through views.
#[derive(Debug, Clone)]
pub struct Computed {
    program: Program,
    /// The last one is applied first.
    views: Vec<View>,
}

impl Computed {
    /// Bounds of the integers.
    pub fn range(&self) -> Option<(i64, i64)> {
        self.program.range()
    }

    /// The largest weight that is read.
    pub fn source(&self) -> Option<&Weight> {
        self.program.source()
    }

    /// The elements in another order: `view` gives, for each position of the result, that of the element before.
    pub(super) fn viewed(&self, view: View) -> Computed {
        let mut made = self.clone();
        made.views.push(view);
        made
    }

    /// Writes so many integers as bytes.
    pub(super) fn write(&self, count: u64, sink: &mut dyn Sink) -> Result<()> {
        let mut elements = self.program.loaded()?;
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let mut first = 0;
        while first < count {
            let end = count.min(first + BATCH as i64);
            let place =
                |position: i64| self.views.iter().rev().fold(position, |position, view| view.position(position));
            let integers = self.program.run((first..end).map(place).collect(), &mut elements)?;
            let bytes: Vec<u8> = integers.iter().map(|n| *n as u8).collect();
            sink.put(&bytes)?;
            first = end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::payload::tests::written;
    use super::*;

    /// Two numbers in each byte, the lower ones first, along a new last axis.
    fn halves(bytes: Vec<u8>, sizes: &[i64]) -> Program {
        let count = bytes.len() as i64;
        let storage = Storage::Owned(bytes.into());
        let source =
            Weight { name: "w".into(), dtype: Dtype::Uint8, sizes: vec![count], strides: vec![1], offset: 0, storage };
        let mut program = Program::default();
        let at = program.push(Step::Positions).unwrap();
        let view = View { sizes: sizes.to_vec(), strides: vec![1, 0], offset: 0 };
        let place = program.push(Step::View(at, view)).unwrap();
        let byte = program.push(Step::Load(place, Arc::new(source))).unwrap();
        let index = program.push(Step::Index { at, inner: 1, size: 2 }).unwrap();
        let four = program.push(Step::Number(4)).unwrap();
        let zero = program.push(Step::Number(0)).unwrap();
        let shift = program.push(Step::Choose(index, four, zero)).unwrap();
        let shifted = program.push(Step::Apply(Operation::Right, byte, shift)).unwrap();
        let mask = program.push(Step::Number(15)).unwrap();
        program.push(Step::Apply(Operation::And, shifted, mask)).unwrap();
        program
    }

    #[test]
    fn packed_numbers_are_taken_apart() {
        let program = halves(vec![0x21, 0x43, 0x65], &[3, 2]);
        assert_eq!(program.range(), Some((0, 15)));
        let weight = program.weight("w", Dtype::Uint8, &[3, 2]).unwrap();
        assert_eq!(written(&weight), [1, 2, 3, 4, 5, 6]);
        assert_eq!(written(&weight.transposed(None).unwrap()), [1, 3, 5, 2, 4, 6]);
        let twice = weight.reshaped(&[2, 3]).unwrap().transposed(None).unwrap().transposed(None).unwrap();
        assert_eq!(written(&twice), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn elements_are_computed_in_batches() {
        let count = BATCH as i64 + 5;
        let program = halves(vec![0x21; usize::try_from(count).unwrap()], &[count, 2]);
        let bytes = written(&program.weight("w", Dtype::Int8, &[2 * count]).unwrap());
        assert_eq!(bytes.len() as i64, 2 * count);
        assert!(bytes.chunks(2).all(|pair| pair == [1, 2]));
    }

    #[test]
    fn what_may_not_fit_or_is_not_there_is_refused() {
        let mut program = halves(vec![0x21], &[1, 2]);
        assert!(program.push(Step::Apply(Operation::Add, 3, 99)).is_none());
        let last = program.len() - 1;
        let large = program.push(Step::Number(1000)).unwrap();
        program.push(Step::Apply(Operation::Add, last, large)).unwrap();
        assert!(program.weight("w", Dtype::Uint8, &[2]).is_none());
    }
}
