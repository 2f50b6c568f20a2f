//! The middle of each element: near those of its neighbours, in the order of the row and with the distances that it needs.

use super::rows::Layers;
use super::{BEND_GAP, BOX_GAP};

/// The number of times that all rows are moved.
const SWEEPS: usize = 8;
/// How much more a line between bends counts than another: long edges become straight.
const STRAIGHT: f64 = 8.0;
/// How much the present place counts for an element without neighbours in a direction.
const STAY: f64 = 0.01;

/// A wish of an element: its middle, and how much it counts.
#[derive(Clone, Copy, Default)]
struct Wish {
    sum: f64,
    weight: f64,
}

/// The middles of all elements. The leftmost box starts at 0.
pub fn middles(layers: &Layers) -> Vec<f64> {
    let mut middles = vec![0.0; layers.sides.len()];
    for row in &layers.rows {
        place_row(layers, row, &vec![Wish::default(); row.len()], &mut middles);
    }
    let by_row = by_row(layers);
    for sweep in 0..=2 * SWEEPS {
        let count = layers.rows.len();
        // The last sweep looks up and down.
        let (up, down) = if sweep == 2 * SWEEPS { (true, true) } else { (sweep % 2 == 0, sweep % 2 == 1) };
        let mut wishes = vec![Wish::default(); layers.sides.len()];
        for step in 0..count {
            let row = if up { step } else { count - 1 - step };
            for (link, weight) in by_row.get(row).map_or(&[][..], Vec::as_slice) {
                let middle = |element: usize| middles.get(element).copied().unwrap_or(0.0);
                let (upper, lower) = (link.upper, link.lower);
                if up && layers.row_of(lower) == row {
                    add(&mut wishes, lower, middle(upper) + link.leaves_at - link.arrives_at, *weight);
                }
                if down && layers.row_of(upper) == row {
                    add(&mut wishes, upper, middle(lower) + link.arrives_at - link.leaves_at, *weight);
                }
            }
            let Some(elements) = layers.rows.get(row) else { continue };
            let wished: Vec<Wish> =
                elements.iter().map(|element| wishes.get(*element).copied().unwrap_or_default()).collect();
            place_row(layers, elements, &wished, &mut middles);
        }
    }
    let left = |(middle, side): (&f64, &(f64, f64))| middle - side.0;
    let least = middles.iter().zip(&layers.sides).map(left).fold(f64::INFINITY, f64::min);
    middles.iter().map(|middle| middle - if least.is_finite() { least } else { 0.0 }).collect()
}

/// The links at each row, from above and from below, with their weights.
fn by_row(layers: &Layers) -> Vec<Vec<(super::rows::Link, f64)>> {
    let mut rows = vec![Vec::new(); layers.rows.len()];
    for link in &layers.links {
        let bends = usize::from(layers.is_bend(link.upper)) + usize::from(layers.is_bend(link.lower));
        let weight = [1.0, 2.0, STRAIGHT].get(bends).copied().unwrap_or(1.0);
        for element in [link.upper, link.lower] {
            if let Some(row) = rows.get_mut(layers.row_of(element)) {
                row.push((*link, weight));
            }
        }
    }
    rows
}

fn add(wishes: &mut [Wish], element: usize, middle: f64, weight: f64) {
    if let Some(wish) = wishes.get_mut(element) {
        wish.sum += weight * middle;
        wish.weight += weight;
    }
}

/// Elements whose distances are all as small as allowed, as one.
struct Block {
    sum: f64,
    weight: f64,
    count: usize,
}

impl Block {
    fn mean(&self) -> f64 {
        self.sum / self.weight
    }
}

/// Moves the elements of a row as close to their wishes as their distances allow: the least squares, by merging neighbours that
/// would come too close.
fn place_row(layers: &Layers, row: &[usize], wishes: &[Wish], middles: &mut [f64]) {
    let side = |element: usize| layers.sides.get(element).copied().unwrap_or((0.0, 0.0));
    let mut offset = 0.0;
    let mut offsets = Vec::with_capacity(row.len());
    let mut blocks: Vec<Block> = Vec::new();
    let mut last: Option<usize> = None;
    for (element, wish) in row.iter().zip(wishes) {
        if let Some(last) = last {
            let gap = if layers.is_bend(last) && layers.is_bend(*element) { BEND_GAP } else { BOX_GAP };
            offset += side(last).1 + gap + side(*element).0;
        }
        last = Some(*element);
        offsets.push(offset);
        let now = middles.get(*element).copied().unwrap_or(0.0);
        let (sum, weight) = (wish.sum + STAY * now, wish.weight + STAY);
        let mut block = Block { sum: sum - weight * offset, weight, count: 1 };
        while let Some(before) = blocks.pop_if(|before| before.mean() > block.mean()) {
            let (sum, weight) = (before.sum + block.sum, before.weight + block.weight);
            block = Block { sum, weight, count: before.count + block.count };
        }
        blocks.push(block);
    }
    let means = blocks.iter().flat_map(|block| std::iter::repeat_n(block.mean(), block.count));
    for ((element, offset), mean) in row.iter().zip(offsets).zip(means) {
        if let Some(middle) = middles.get_mut(*element) {
            *middle = mean + offset;
        }
    }
}
