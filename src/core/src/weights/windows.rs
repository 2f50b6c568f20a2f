//! Elements of files that are gathered: through windows of a bounded size that are read from the file, because nothing reads the map.
//! Elements in memory are gathered where they are.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::Storage;
use super::gather::{self, Axis};
use super::payload::{Part, Sink};
use crate::error::Result;

/// The most bytes that are read at once to be gathered.
const BUDGET: usize = 64 << 20;
/// The bytes of a window for elements at any positions, and the number of windows that are kept.
const WINDOW: usize = 64 << 10;
const WINDOWS: usize = 256;

/// Writes the elements of `width` bytes along these axes, as [`gather::gather`].
pub fn gather(part: Part<'_>, width: usize, axes: &[Axis], sink: &mut dyn Sink) -> Result<()> {
    gather_within(part, width, axes, BUDGET, sink)
}

fn gather_within(part: Part<'_>, width: usize, axes: &[Axis], budget: usize, sink: &mut dyn Sink) -> Result<()> {
    match part.in_memory() {
        Some(bytes) => gather::gather(bytes, width, axes, sink),
        None => Windows { part, width, budget }.axes(0, axes, sink),
    }
}

struct Windows<'a> {
    part: Part<'a>,
    width: usize,
    budget: usize,
}

impl Windows<'_> {
    fn axes(&self, start: usize, axes: &[Axis], sink: &mut dyn Sink) -> Result<()> {
        let span = self.span(axes);
        let [first, rest @ ..] = axes else { return self.read(start, span, axes, sink) };
        if span <= self.budget {
            return self.read(start, span, axes, sink);
        }
        let inner = self.span(rest);
        match first.step >= inner && inner <= self.budget {
            true => self.groups(start, *first, rest, sink),
            false => self.panels(start, *first, rest, sink),
        }
    }

    /// The bytes from the first element to the end of the last.
    fn span(&self, axes: &[Axis]) -> usize {
        axes.iter().map(|axis| (axis.size - 1) * axis.step).sum::<usize>() + self.width
    }

    fn read(&self, start: usize, span: usize, axes: &[Axis], sink: &mut dyn Sink) -> Result<()> {
        gather::gather(&self.part.read(start, span)?, self.width, axes, sink)
    }

    /// What is along the other axes lies together: as many of these as fit are read at once.
    fn groups(&self, start: usize, first: Axis, rest: &[Axis], sink: &mut dyn Sink) -> Result<()> {
        let count = (self.budget - self.span(rest)) / first.step + 1;
        for from in (0..first.size).step_by(count) {
            let some = Axis { size: count.min(first.size - from), ..first };
            let axes = [&[some], rest].concat();
            self.read(start + from * first.step, self.span(&axes), &axes, sink)?;
        }
        Ok(())
    }

    /// The other axes go over the whole part, as in a transposed matrix: the elements of some indices of the first axis are read at each
    /// of their places.
    fn panels(&self, start: usize, first: Axis, rest: &[Axis], sink: &mut dyn Sink) -> Result<()> {
        let places: usize = rest.iter().map(|axis| axis.size).product();
        let room = self.budget / places;
        if room < self.width {
            return (0..first.size).try_for_each(|index| self.axes(start + index * first.step, rest, sink));
        }
        let count = (room - self.width).checked_div(first.step).map_or(first.size, |more| more + 1).min(first.size);
        for from in (0..first.size).step_by(count) {
            let some = Axis { size: count.min(first.size - from), ..first };
            let run = self.span(&[some]);
            let mut panel = vec![0; places * run];
            let mut at = vec![0; rest.len()];
            for bytes in panel.chunks_exact_mut(run) {
                let place: usize = at.iter().zip(rest).map(|(index, axis)| index * axis.step).sum();
                self.part.read_into(start + from * first.step + place, bytes)?;
                advance(&mut at, rest);
            }
            gather::gather(&panel, self.width, &[&[some], &dense(rest, run)[..]].concat(), sink)?;
        }
        Ok(())
    }
}

/// The next place in row-major order.
fn advance(at: &mut [usize], axes: &[Axis]) {
    for (index, axis) in at.iter_mut().zip(axes).rev() {
        *index += 1;
        if *index < axis.size {
            return;
        }
        *index = 0;
    }
}

/// The same axes, with elements of `width` bytes one after the other.
fn dense(axes: &[Axis], width: usize) -> Vec<Axis> {
    let mut step = width;
    let mut made: Vec<Axis> = Vec::with_capacity(axes.len());
    for axis in axes.iter().rev() {
        made.push(Axis { size: axis.size, step });
        step *= axis.size;
    }
    made.reverse();
    made
}

/// Reads elements of a storage at any positions.
pub struct Elements<'a> {
    part: Part<'a>,
    width: usize,
    windows: FxHashMap<usize, Cow<'a, [u8]>>,
}

impl<'a> Elements<'a> {
    /// Elements of `width` bytes, at most 8.
    pub fn new(storage: &'a Storage, width: usize) -> Elements<'a> {
        Elements { part: Part::whole(storage), width, windows: FxHashMap::default() }
    }

    /// The bytes of an element, followed by zeros; None outside of the storage.
    ///
    /// # Errors
    /// A file that has become shorter.
    pub fn get(&mut self, position: i64) -> Result<Option<[u8; 8]>> {
        let start = usize::try_from(position).ok().and_then(|position| position.checked_mul(self.width));
        let Some(start) = start.filter(|start| start.saturating_add(self.width) <= self.part.bytes.len()) else {
            return Ok(None);
        };
        let mut element = [0; 8];
        let mut fill = |bytes: Option<&[u8]>| {
            bytes.zip(element.get_mut(..self.width)).is_some_and(|(bytes, element)| {
                element.copy_from_slice(bytes);
                true
            })
        };
        if let Some(bytes) = self.part.in_memory() {
            return Ok(fill(bytes.get(start..start + self.width)).then_some(element));
        }
        let index = start / WINDOW;
        if !self.windows.contains_key(&index) {
            if self.windows.len() == WINDOWS {
                self.windows.clear();
            }
            let len = WINDOW.min(self.part.bytes.len() - index * WINDOW);
            self.windows.insert(index, self.part.read(index * WINDOW, len)?);
        }
        let at = start % WINDOW;
        Ok(fill(self.windows.get(&index).and_then(|window| window.get(at..at + self.width))).then_some(element))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fs;

    use super::*;
    use crate::weights::MappedFile;

    /// Axes of many kinds give from a file what they give from memory, through windows of any size.
    #[test]
    fn windows_change_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w");
        let bytes: Vec<u8> = (0..6000_u32).map(|i| (i % 251) as u8).collect();
        fs::write(&path, &bytes).unwrap();
        let file = MappedFile::open(&path).unwrap();
        let storage = Storage::Mapped { file, start: 10, len: 5000 };
        let axes = |pairs: &[(usize, usize)]| -> Vec<Axis> {
            pairs.iter().map(|(size, step)| Axis { size: *size, step: *step }).collect()
        };
        let cases = [
            axes(&[(40, 4), (30, 160)]),
            axes(&[(3, 0), (40, 4), (30, 160)]),
            axes(&[(5, 800), (10, 4), (4, 160), (4, 40)]),
            axes(&[(30, 160), (40, 4)]),
            axes(&[(1200, 4)]),
            axes(&[(300, 16)]),
            axes(&[(7, 4), (9, 0), (11, 400)]),
            axes(&[(2, 2400), (3, 4), (200, 12)]),
            axes(&[]),
        ];
        for axes in &cases {
            let mut wanted: Vec<u8> = Vec::new();
            gather::gather(&bytes[10..5010], 4, axes, &mut wanted).unwrap();
            for budget in [4, 8, 60, 130, 500, 2000, 10_000] {
                let mut found: Vec<u8> = Vec::new();
                gather_within(Part::whole(&storage), 4, axes, budget, &mut found).unwrap();
                assert!(found == wanted, "{axes:?} within {budget}");
            }
        }
    }

    #[test]
    fn elements_are_found_in_windows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("w");
        let bytes: Vec<u8> = (0..50_000_u32).flat_map(u32::to_le_bytes).collect();
        fs::write(&path, &bytes).unwrap();
        let storage = Storage::Mapped { file: MappedFile::open(&path).unwrap(), start: 4, len: bytes.len() - 4 };
        let mut elements = Elements::new(&storage, 4);
        for position in [0, 49_998, 16_383, 16_384, 20_000, 0] {
            assert_eq!(elements.get(position).unwrap(), Some((position as u64 + 1).to_le_bytes()));
        }
        assert_eq!((elements.get(49_999).unwrap(), elements.get(-1).unwrap()), (None, None));
    }
}
