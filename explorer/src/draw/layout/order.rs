//! The order of each row: every element goes to the mean place of its neighbours, from above and from below, as long as this
//! lowers the number of crossings.

use super::rows::{Layers, Link};

/// The number of times that all rows are ordered.
const SWEEPS: usize = 10;

/// Orders all rows.
pub fn order(layers: &mut Layers) {
    let above = grouped(layers, |link| link.lower);
    let below = grouped(layers, |link| link.upper);
    let mut places = places(layers);
    let mut best = layers.rows.clone();
    let mut fewest = crossings(layers, &places);
    for sweep in 0..SWEEPS {
        if fewest == 0 {
            break;
        }
        let down = sweep % 2 == 0;
        let count = layers.rows.len();
        for step in 0..count {
            let row = if down { step } else { count - 1 - step };
            let links = if down { &above } else { &below };
            sort(layers, row, links, down, &mut places);
        }
        let crossed = crossings(layers, &places);
        if crossed < fewest {
            fewest = crossed;
            best = layers.rows.clone();
        }
    }
    layers.rows = best;
}

/// The links of each element.
fn grouped(layers: &Layers, of: impl Fn(&Link) -> usize) -> Vec<Vec<Link>> {
    let mut grouped = vec![Vec::new(); layers.sides.len()];
    for link in &layers.links {
        if let Some(links) = grouped.get_mut(of(link)) {
            links.push(*link);
        }
    }
    grouped
}

/// The place of each element in its row.
fn places(layers: &Layers) -> Vec<f64> {
    let mut places = vec![0.0; layers.sides.len()];
    layers.rows.iter().for_each(|row| number(row, &mut places));
    places
}

fn number(row: &[usize], places: &mut [f64]) {
    for (i, element) in row.iter().enumerate() {
        if let Some(place) = places.get_mut(*element) {
            *place = i as f64;
        }
    }
}

/// A place with a port: ports of an element lie within its place.
fn at(layers: &Layers, places: &[f64], element: usize, offset: f64) -> f64 {
    let place = places.get(element).copied().unwrap_or(0.0);
    let half = layers.sides.get(element).map_or(0.0, |side| side.0).max(1.0);
    place + 0.49 * (offset / half).clamp(-1.0, 1.0)
}

fn sort(layers: &mut Layers, row: usize, links: &[Vec<Link>], down: bool, places: &mut [f64]) {
    let Some(elements) = layers.rows.get(row) else { return };
    let mean = |element: usize| {
        let links = links.get(element).map_or(&[][..], Vec::as_slice);
        let other = |link: &Link| match down {
            true => at(layers, places, link.upper, link.leaves_at),
            false => at(layers, places, link.lower, link.arrives_at),
        };
        match links.len() {
            0 => places.get(element).copied().unwrap_or(0.0),
            count => links.iter().map(other).sum::<f64>() / count as f64,
        }
    };
    let mut keyed: Vec<(f64, usize)> = elements.iter().map(|element| (mean(*element), *element)).collect();
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let sorted: Vec<usize> = keyed.into_iter().map(|(_, element)| element).collect();
    number(&sorted, places);
    if let Some(elements) = layers.rows.get_mut(row) {
        *elements = sorted;
    }
}

/// The number of crossings between all rows.
fn crossings(layers: &Layers, places: &[f64]) -> usize {
    let mut of_row: Vec<Vec<(f64, f64)>> = vec![Vec::new(); layers.rows.len()];
    for link in &layers.links {
        if let Some(row) = of_row.get_mut(layers.row_of(link.upper)) {
            let upper = at(layers, places, link.upper, link.leaves_at);
            row.push((upper, at(layers, places, link.lower, link.arrives_at)));
        }
    }
    of_row.into_iter().map(inversions).sum()
}

/// The pairs of links whose ends are in another order than their starts.
fn inversions(mut links: Vec<(f64, f64)>) -> usize {
    links.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut lower: Vec<f64> = Vec::with_capacity(links.len());
    let mut count = 0;
    for (_, end) in links {
        let before = lower.partition_point(|other| *other <= end);
        count += lower.len() - before;
        lower.insert(before, end);
    }
    count
}
