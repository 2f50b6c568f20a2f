//! A layered layout: boxes in rows from producers to consumers, with edges that lead down.
//!
//! [`rows`] assigns rows and puts a bend where an edge crosses a row, [`order`] orders each row so that few edges cross, and
//! [`columns`] finds coordinates. An edge that several boxes use is one line as long as it can be. The time grows with the
//! number of boxes and bends, and everything happens in a fixed order.

mod columns;
mod order;
mod rows;

pub use rows::{Net, Port};

/// The distance between boxes of a row, between bends of a row, and between rows.
const BOX_GAP: f64 = 22.0;
const BEND_GAP: f64 = 12.0;
const ROW_GAP: f64 = 40.0;
const MARGIN: f64 = 8.0;

/// The size of a box.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Of the box.
    pub width: f64,
    /// Of the box.
    pub height: f64,
    /// From its middle to the right end of what is written beside it.
    pub right: f64,
}

/// Where everything is.
#[derive(Debug, Default)]
pub struct Placed {
    /// The upper left corner of each box.
    pub corners: Vec<(f64, f64)>,
    /// The edges.
    pub lines: Vec<Line>,
    /// Of the whole.
    pub width: f64,
    /// Of the whole.
    pub height: f64,
}

/// A part of an edge, between two rows.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// The lower end of a box, or a bend.
    pub from: (f64, f64),
    /// The lower end of its row.
    pub leaves: f64,
    /// The upper end of the next row.
    pub enters: f64,
    /// The upper end of a box, or a bend.
    pub to: (f64, f64),
    /// Whether it ends at a box.
    pub arrives: bool,
}

/// Places boxes, of which producers come before consumers.
pub fn place(extents: Vec<Extent>, nets: Vec<Net>) -> Placed {
    let mut layers = rows::layers(&extents, &nets);
    order::order(&mut layers);
    let middles = columns::middles(&layers);
    let heights: Vec<f64> = layers.rows.iter().map(|row| height(&extents, row)).collect();
    let mut tops = Vec::with_capacity(heights.len());
    let mut top = MARGIN;
    for height in &heights {
        tops.push(top);
        top += height + ROW_GAP;
    }
    let row = |at: usize| (tops.get(at).copied().unwrap_or(0.0), heights.get(at).copied().unwrap_or(0.0));
    let mut placed = Placed { height: (top - ROW_GAP + MARGIN).max(2.0 * MARGIN), ..Placed::default() };
    for (i, extent) in extents.iter().enumerate() {
        let (top, height) = row(layers.row_of(i));
        let middle = middles.get(i).copied().unwrap_or(0.0);
        placed.corners.push((middle - extent.width / 2.0 + MARGIN, top + (height - extent.height) / 2.0));
        placed.width = placed.width.max(middle + extent.right);
    }
    let ends = |element: usize| {
        let (top, height) = row(layers.row_of(element));
        match (extents.get(element), placed.corners.get(element)) {
            (Some(extent), Some((_, corner))) => (*corner, corner + extent.height, top, top + height),
            _ => (top, top + height, top, top + height),
        }
    };
    let at = |element: usize, offset: f64| middles.get(element).copied().unwrap_or(0.0) + offset + MARGIN;
    for link in &layers.links {
        let ((_, bottom, _, leaves), (top, _, enters, _)) = (ends(link.upper), ends(link.lower));
        // A bend is a line through its row.
        let start = if link.upper < extents.len() { bottom } else { ends(link.upper).0 };
        let from = (at(link.upper, link.leaves_at), start);
        let to = (at(link.lower, link.arrives_at), top);
        placed.lines.push(Line { from, leaves, enters, to, arrives: link.lower < extents.len() });
        placed.width = placed.width.max(from.0.max(to.0) - MARGIN);
    }
    placed.width += 2.0 * MARGIN;
    placed
}

fn height(extents: &[Extent], row: &[usize]) -> f64 {
    row.iter().filter_map(|element| extents.get(*element)).map(|extent| extent.height).fold(0.0, f64::max)
}
