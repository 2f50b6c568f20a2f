//! Scales with the least sum of errors to the power of 0.7, by half-quadratic splitting: errors are split into a sparse part, which is shrunk, and a
//! rest, for which scale and zero point follow from least squares. The method is that of HQQ (Badri and Shaji, 2023), with integer zero points.

use super::fit::{BlockFit, Fitting, nearest};

/// The power of errors.
const POWER: f32 = 0.7;
/// The weight of the rest, and its growth in each turn.
const WEIGHT: f32 = 10.0;
const GROWTH: f32 = 1.01;
const TURNS: usize = 20;

/// Improves a fit.
pub(super) fn fit(fitting: Fitting, block: &[f32], first: BlockFit) -> BlockFit {
    let (mut best, mut error) = (first, cost(fitting, block, first));
    let (mut now, mut weight) = (first, WEIGHT);
    for _ in 0..TURNS {
        now = turn(fitting, block, now, weight);
        let own = cost(fitting, block, now);
        if own >= error {
            break;
        }
        (best, error) = (now, own);
        weight *= GROWTH;
    }
    best
}

/// A turn: the sparse part of the errors, and what fits the rest.
fn turn(fitting: Fitting, block: &[f32], fit: BlockFit, weight: f32) -> BlockFit {
    let (mut products, mut squares, mut zeros) = (0.0f64, 0.0f64, 0.0f64);
    for number in block {
        let steps = number / fit.scale;
        let step = fitting.step(steps, fit.zero);
        let rest = steps - shrunk(steps - step, weight);
        products += f64::from(step * rest);
        squares += f64::from(step * step);
        zeros += f64::from(step + f32::from(fit.zero) - rest);
    }
    let last = fitting.format.limits().1 as f32;
    let zero = match fitting.format.has_zero() {
        true => nearest(((zeros / block.len().max(1) as f64) as f32).clamp(0.0, last)) as u8,
        false => fit.zero,
    };
    if zero != fit.zero || squares <= 0.0 || products <= 0.0 {
        return BlockFit { zero, ..fit };
    }
    fitting.scaled(fit.scale * (products / squares) as f32, zero)
}

/// The sparse part of an error, in steps.
fn shrunk(error: f32, weight: f32) -> f32 {
    let size = error.abs();
    if size == 0.0 { 0.0 } else { error.signum() * (size - size.powf(POWER - 1.0) / weight).max(0.0) }
}

fn cost(fitting: Fitting, block: &[f32], fit: BlockFit) -> f32 {
    let error = |number: &f32| (number - fitting.step(number / fit.scale, fit.zero) * fit.scale).abs().powf(POWER);
    block.iter().map(error).sum()
}
