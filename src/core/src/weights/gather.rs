//! Gathers the elements of a strided tensor in row-major order.

use super::payload::{CHUNK, Sink, outside};
use crate::error::Result;

/// An axis with its stride in bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    /// The size.
    pub size: usize,
    /// The bytes between consecutive elements.
    pub step: usize,
}

/// The number of elements that are processed together, about a cache line.
const TILE: usize = 16;

/// Writes the elements of `width` bytes along these axes; the last axis varies fastest.
pub fn gather(bytes: &[u8], width: usize, axes: &[Axis], sink: &mut dyn Sink) -> Result<()> {
    let mut gather = Gather { bytes, width, buffer: Vec::new(), sink };
    gather.axes(0, axes)?;
    gather.flush()
}

struct Gather<'a> {
    bytes: &'a [u8],
    width: usize,
    buffer: Vec<u8>,
    sink: &'a mut dyn Sink,
}

impl Gather<'_> {
    fn axes(&mut self, start: usize, axes: &[Axis]) -> Result<()> {
        match axes {
            [] => self.run(start, self.width),
            [rows, columns] if rows.step == self.width && columns.size >= TILE => match self.width {
                1 => self.transposed::<1>(start, rows.size, *columns),
                2 => self.transposed::<2>(start, rows.size, *columns),
                4 => self.transposed::<4>(start, rows.size, *columns),
                8 => self.transposed::<8>(start, rows.size, *columns),
                _ => self.along_axis(start, *rows, std::slice::from_ref(columns)),
            },
            [last] if last.step == self.width => self.run(start, last.size * self.width),
            [last] => self.row(start, *last),
            [first, rest @ ..] => self.along_axis(start, *first, rest),
        }
    }

    fn along_axis(&mut self, start: usize, first: Axis, rest: &[Axis]) -> Result<()> {
        (0..first.size).try_for_each(|i| self.axes(start + i * first.step, rest))
    }

    /// A transposed matrix: its columns are contiguous. Several rows are made at once, tile by tile, so that fetched
    /// cache lines are fully used.
    fn transposed<const WIDTH: usize>(&mut self, start: usize, rows: usize, columns: Axis) -> Result<()> {
        self.flush()?;
        let at_once = (CHUNK / (columns.size * WIDTH)).clamp(1, rows.max(1)).next_multiple_of(TILE).min(rows.max(1));
        let mut panel = vec![[0u8; WIDTH]; at_once * columns.size];
        let mut first = 0;
        while first < rows {
            let count = at_once.min(rows - first);
            for from in (0..columns.size).step_by(TILE) {
                for to in (0..count).step_by(TILE) {
                    let width = TILE.min(count - to);
                    for column in from..(from + TILE).min(columns.size) {
                        let begin = start + column * columns.step + (first + to) * WIDTH;
                        let run = self.bytes.get(begin..begin + width * WIDTH).ok_or_else(outside)?;
                        let rows = panel.iter_mut().skip(to * columns.size + column).step_by(columns.size);
                        for (element, place) in run.as_chunks::<WIDTH>().0.iter().zip(rows) {
                            *place = *element;
                        }
                    }
                }
            }
            for chunk in panel.as_flattened().get(..count * columns.size * WIDTH).ok_or_else(outside)?.chunks(CHUNK) {
                self.sink.put(chunk)?;
            }
            first += count;
        }
        Ok(())
    }

    /// Contiguous bytes.
    fn run(&mut self, start: usize, len: usize) -> Result<()> {
        let run = self.bytes.get(start..start + len).ok_or_else(outside)?;
        for chunk in run.chunks(CHUNK) {
            if self.buffer.len() + chunk.len() > CHUNK {
                self.flush()?;
            }
            self.buffer.extend_from_slice(chunk);
        }
        Ok(())
    }

    /// Elements with a stride.
    fn row(&mut self, start: usize, axis: Axis) -> Result<()> {
        match self.width {
            1 => self.elements::<1>(start, axis),
            2 => self.elements::<2>(start, axis),
            4 => self.elements::<4>(start, axis),
            8 => self.elements::<8>(start, axis),
            16 => self.elements::<16>(start, axis),
            width => (0..axis.size).try_for_each(|i| self.run(start + i * axis.step, width)),
        }
    }

    fn elements<const WIDTH: usize>(&mut self, start: usize, axis: Axis) -> Result<()> {
        let mut done = 0;
        while done < axis.size {
            if self.buffer.len() + WIDTH > CHUNK {
                self.flush()?;
            }
            let fit = ((CHUNK - self.buffer.len()) / WIDTH).min(axis.size - done);
            for i in done..done + fit {
                let element = self.bytes.get(start + i * axis.step..).and_then(|rest| rest.first_chunk::<WIDTH>());
                self.buffer.extend_from_slice(element.ok_or_else(outside)?);
            }
            done += fit;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.sink.put(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}
