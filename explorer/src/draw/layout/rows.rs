//! The row of each box, and the bends where an edge crosses a row.

use super::Extent;

/// A value: from the box that makes it to those that use it.
#[derive(Debug)]
pub struct Net {
    /// Where it starts.
    pub from: Port,
    /// Where it ends.
    pub to: Vec<Port>,
}

/// A place at a box.
#[derive(Debug, Clone, Copy)]
pub struct Port {
    /// The box.
    pub item: usize,
    /// The distance from its middle.
    pub at: f64,
}

/// Boxes and bends in rows. Elements below the number of boxes are boxes, the others bends.
#[derive(Debug)]
pub struct Layers {
    /// The elements of each row, from the left.
    pub rows: Vec<Vec<usize>>,
    /// What connects a row with the next.
    pub links: Vec<Link>,
    /// The row of each element.
    row_of: Vec<usize>,
    /// From the middle of each element to the left and right.
    pub sides: Vec<(f64, f64)>,
    /// The number of boxes.
    pub boxes: usize,
}

/// A part of an edge, from a row to the next.
#[derive(Debug, Clone, Copy)]
pub struct Link {
    /// The element above.
    pub upper: usize,
    /// The distance from its middle.
    pub leaves_at: f64,
    /// The element below.
    pub lower: usize,
    /// The distance from its middle.
    pub arrives_at: f64,
}

impl Layers {
    /// The row of an element.
    pub fn row_of(&self, element: usize) -> usize {
        self.row_of.get(element).copied().unwrap_or(0)
    }

    /// Whether an element is a bend.
    pub fn is_bend(&self, element: usize) -> bool {
        element >= self.boxes
    }
}

/// Assigns rows and makes the bends. All edges of a value share the bends.
pub fn layers(extents: &[Extent], nets: &[Net]) -> Layers {
    let row_of = rows(extents.len(), nets);
    let count = row_of.iter().max().map_or(0, |last| last + 1);
    let sides = extents.iter().map(|extent| (extent.width / 2.0, extent.right)).collect();
    let mut layers = Layers { rows: vec![Vec::new(); count], links: Vec::new(), row_of, sides, boxes: extents.len() };
    for item in 0..extents.len() {
        layers.push(item);
    }
    for net in nets {
        layers.lead(net);
    }
    layers
}

impl Layers {
    fn push(&mut self, element: usize) {
        let row = self.row_of(element);
        if let Some(row) = self.rows.get_mut(row) {
            row.push(element);
        }
    }

    /// The links of a value, in the order of rows.
    fn lead(&mut self, net: &Net) {
        let first = self.row_of(net.from.item);
        let mut ends: Vec<Port> = net.to.iter().copied().filter(|port| self.row_of(port.item) > first).collect();
        ends.sort_by_key(|port| self.row_of(port.item));
        let (mut upper, mut leaves_at, mut row) = (net.from.item, net.from.at, first);
        for end in ends {
            while row + 1 < self.row_of(end.item) {
                row += 1;
                let bend = self.row_of.len();
                self.row_of.push(row);
                self.sides.push((0.0, 0.0));
                self.push(bend);
                self.links.push(Link { upper, leaves_at, lower: bend, arrives_at: 0.0 });
                (upper, leaves_at) = (bend, 0.0);
            }
            self.links.push(Link { upper, leaves_at, lower: end.item, arrives_at: end.at });
        }
    }
}

/// A box is in the first row below all that it uses. One that uses nothing is right above its first consumer.
fn rows(count: usize, nets: &[Net]) -> Vec<usize> {
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut is_root = vec![true; count];
    for net in nets {
        // Producers come first, so an edge that leads back is not part of a valid graph.
        for port in net.to.iter().filter(|port| port.item > net.from.item && port.item < count) {
            if let Some(users) = users.get_mut(net.from.item) {
                users.push(port.item);
            }
            if let Some(root) = is_root.get_mut(port.item) {
                *root = false;
            }
        }
    }
    let mut rows = vec![0usize; count];
    for (item, users) in users.iter().enumerate() {
        let below = rows.get(item).map_or(0, |row| row + 1);
        for user in users {
            if let Some(row) = rows.get_mut(*user) {
                *row = below.max(*row);
            }
        }
    }
    for (item, users) in users.iter().enumerate().filter(|(item, _)| is_root.get(*item) == Some(&true)) {
        let nearest = users.iter().filter_map(|user| rows.get(*user)).min().copied().unwrap_or(0);
        if let Some(row) = rows.get_mut(item) {
            *row = nearest.saturating_sub(1);
        }
    }
    rows
}
