//! The scale and the zero point of a block of floats.

use half::{bf16, f16};

use super::float8;
use crate::dtype::Dtype;

/// What floats are rounded to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeFormat {
    /// -127 to 127, the same scale on both sides of 0.
    Int8,
    /// 0 to 255 with a zero point.
    Uint8,
    /// -8 to 7, the same scale on both sides of 0.
    Int4,
    /// 0 to 15 with a zero point.
    Uint4,
    /// Float8 (E4M3FN) with a scale.
    Float8,
}

/// How scales are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScaleSearch {
    /// All numbers are within the range of the integers, each rounded to the nearest.
    #[default]
    Nearest,
    /// The least sum of squared errors: large numbers may be cut off.
    Mse,
    /// The least sum of errors to the power of 0.7, by half-quadratic splitting as HQQ: few large errors are better than many small ones.
    Hqq,
}

impl CodeFormat {
    /// The integers.
    pub fn limits(self) -> (i32, i32) {
        match self {
            CodeFormat::Int8 => (-127, 127),
            CodeFormat::Uint8 => (0, 255),
            CodeFormat::Int4 => (-8, 7),
            CodeFormat::Uint4 => (0, 15),
            CodeFormat::Float8 => (0, 255),
        }
    }

    /// Whether blocks have a zero point.
    pub fn has_zero(self) -> bool {
        matches!(self, CodeFormat::Uint8 | CodeFormat::Uint4)
    }

    /// The dtype with a byte for each number.
    pub fn stored(self) -> Dtype {
        match self {
            CodeFormat::Int8 | CodeFormat::Int4 => Dtype::Int8,
            CodeFormat::Uint8 | CodeFormat::Uint4 => Dtype::Uint8,
            CodeFormat::Float8 => Dtype::Float8E4M3FN,
        }
    }
}

/// The scale and the zero point of a block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BlockFit {
    pub scale: f32,
    pub zero: u8,
}

/// How blocks are fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fitting {
    pub format: CodeFormat,
    pub search: ScaleSearch,
    /// The dtype that holds the scales.
    pub scale: Dtype,
}

/// The fractions of the range that are tried for the least squared error, in this many steps.
const SHRINKS: usize = 24;
const SHRINK: f32 = 0.02;

impl Fitting {
    /// The fit of a block.
    pub fn fit(self, block: &[f32]) -> BlockFit {
        let (least, most) = range(block);
        if least == 0.0 && most == 0.0 {
            return BlockFit { scale: 1.0, zero: 0 };
        }
        match self.search {
            ScaleSearch::Nearest => self.nearest_fit(block, least, most),
            ScaleSearch::Mse => self.least_squares(block, least, most),
            ScaleSearch::Hqq => super::hqq::fit(self, block, self.nearest_fit(block, least, most)),
        }
    }

    fn nearest_fit(self, block: &[f32], least: f32, most: f32) -> BlockFit {
        match self.format {
            // Seven steps up and eight down: either the range ends half a step behind the last integer, or the larger side is that of -8.
            CodeFormat::Int4 => {
                let even = self.within(least, most, 7.5);
                let down = self.within(least, most, 8.0);
                if -least >= most || self.squares(block, down) < self.squares(block, even) { down } else { even }
            }
            CodeFormat::Int8 => self.within(least, most, 127.0),
            CodeFormat::Float8 => self.within(least, most, float8::LARGEST),
            CodeFormat::Uint8 | CodeFormat::Uint4 => self.between(least, most),
        }
    }

    /// The best of several ranges, and then the best scale for the integers that it gives.
    fn least_squares(self, block: &[f32], least: f32, most: f32) -> BlockFit {
        let mut best = self.nearest_fit(block, least, most);
        let mut error = self.squares(block, best);
        let mut take = |fit: BlockFit| {
            let own = self.squares(block, fit);
            if own < error {
                (best, error) = (fit, own);
            }
        };
        for step in 0..SHRINKS {
            let part = 1.0 - step as f32 * SHRINK;
            match self.format {
                CodeFormat::Int4 => take(self.within(least * part, most * part, 8.0)),
                CodeFormat::Int8 => take(self.within(least * part, most * part, 127.0)),
                CodeFormat::Float8 => take(self.within(least * part, most * part, float8::LARGEST)),
                CodeFormat::Uint8 | CodeFormat::Uint4 => take(self.between(least * part, most * part)),
            }
        }
        let refined = self.refined(block, best);
        if self.squares(block, refined) < error { refined } else { best }
    }

    /// The scale with the least squared error for the integers that a fit gives.
    pub fn refined(self, block: &[f32], fit: BlockFit) -> BlockFit {
        let (mut products, mut squares) = (0.0f64, 0.0f64);
        for number in block {
            let steps = f64::from(self.step(*number * (1.0 / fit.scale), fit.zero));
            products += steps * f64::from(*number);
            squares += steps * steps;
        }
        if squares > 0.0 && products > 0.0 { self.scaled((products / squares) as f32, fit.zero) } else { fit }
    }

    /// A scale for numbers on both sides of 0, with so many steps to the larger one.
    fn within(self, least: f32, most: f32, steps: f32) -> BlockFit {
        self.scaled(most.max(-least) / steps, 0)
    }

    /// A scale and a zero point for numbers between two, of which the first is at most 0 and the second at least 0.
    fn between(self, least: f32, most: f32) -> BlockFit {
        let last = self.format.limits().1 as f32;
        let fit = self.scaled((most - least) / last, 0);
        BlockFit { zero: nearest((-least / fit.scale).clamp(0.0, last)) as u8, ..fit }
    }

    /// A scale as its dtype holds it.
    pub fn scaled(self, scale: f32, zero: u8) -> BlockFit {
        let (held, least) = match self.scale {
            Dtype::Float16 => (f16::from_f32(scale).to_f32(), f16::MIN_POSITIVE_SUBNORMAL.to_f32()),
            Dtype::Bfloat16 => (bf16::from_f32(scale).to_f32(), bf16::MIN_POSITIVE.to_f32()),
            _ => (scale, f32::MIN_POSITIVE),
        };
        BlockFit { scale: held.max(least), zero }
    }

    /// The sum of squared errors.
    pub fn squares(self, block: &[f32], fit: BlockFit) -> f32 {
        let inverse = 1.0 / fit.scale;
        let error = |number: &f32| {
            let error = number - self.step(number * inverse, fit.zero) * fit.scale;
            error * error
        };
        block.iter().map(error).sum()
    }

    /// A number in steps, rounded and cut off as its code is.
    pub fn step(self, steps: f32, zero: u8) -> f32 {
        if self.format == CodeFormat::Float8 {
            return float8::decoded(float8::encoded(steps));
        }
        let (low, high) = self.format.limits();
        let zero = f32::from(zero);
        round(steps.clamp(low as f32 - zero, high as f32 - zero))
    }

    /// Appends the bytes of the codes of a block.
    pub fn encode(self, block: &[f32], fit: BlockFit, bytes: &mut Vec<u8>) {
        let inverse = 1.0 / fit.scale;
        if self.format == CodeFormat::Float8 {
            bytes.extend(block.iter().map(|number| float8::encoded(number * inverse)));
            return;
        }
        let (low, high) = self.format.limits();
        let zero = f32::from(fit.zero);
        let (low, high, offset) = (low as f32 - zero, high as f32 - zero, i32::from(fit.zero));
        let code = |number: &f32| (nearest((number * inverse).clamp(low, high)) + offset) as u8;
        bytes.extend(block.iter().map(code));
    }
}

/// 1.5 * 2^23: a small number that is added to it is rounded to an integer, the even one of two.
const ROUNDER: f32 = 12_582_912.0;

/// The nearest integer of a number below 2^22.
pub(super) fn nearest(number: f32) -> i32 {
    ((number + ROUNDER).to_bits() as i32).wrapping_sub(ROUNDER.to_bits() as i32)
}

fn round(number: f32) -> f32 {
    (number + ROUNDER) - ROUNDER
}

/// The least and the largest number, and 0.
fn range(block: &[f32]) -> (f32, f32) {
    let mut lanes = [(0.0f32, 0.0f32); 8];
    let (whole, rest) = block.as_chunks::<8>();
    for eight in whole {
        for (lane, number) in lanes.iter_mut().zip(eight) {
            *lane = (lane.0.min(*number), lane.1.max(*number));
        }
    }
    let all = lanes.into_iter().chain(rest.iter().map(|number| (*number, *number)));
    all.fold((0.0, 0.0), |found, one| (found.0.min(one.0), found.1.max(one.1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [CodeFormat; 5] =
        [CodeFormat::Int8, CodeFormat::Uint8, CodeFormat::Int4, CodeFormat::Uint4, CodeFormat::Float8];

    /// Numbers as weights have them, most of them small.
    fn weights(seed: u32, count: usize) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32 - 0.5
        };
        (0..count).map(|_| 0.1 * (next() + next() + next() + next())).collect()
    }

    fn fitting(format: CodeFormat, search: ScaleSearch) -> Fitting {
        Fitting { format, search, scale: Dtype::Float32 }
    }

    #[test]
    fn nothing_is_further_off_than_half_a_step() {
        for seed in 0..50 {
            let block = weights(seed, 32);
            for format in [CodeFormat::Int8, CodeFormat::Uint8, CodeFormat::Uint4] {
                let fitting = fitting(format, ScaleSearch::Nearest);
                let fit = fitting.fit(&block);
                for number in &block {
                    let error = (number - fitting.step(number / fit.scale, fit.zero) * fit.scale).abs();
                    // A zero point is rounded, too.
                    assert!(
                        error <= 1.001 * fit.scale,
                        "{format:?}: {number} is off by {error}, a step is {}",
                        fit.scale
                    );
                }
            }
        }
    }

    #[test]
    fn a_search_is_never_worse() {
        for format in ALL {
            let (mut nearest, mut squares, mut hqq) = (0.0, 0.0, 0.0);
            for seed in 0..200 {
                let block = weights(seed, 32);
                let error = |search| fitting(format, search).squares(&block, fitting(format, search).fit(&block));
                let own = error(ScaleSearch::Mse);
                assert!(own <= error(ScaleSearch::Nearest), "{format:?}");
                nearest += error(ScaleSearch::Nearest);
                squares += own;
                hqq += error(ScaleSearch::Hqq);
            }
            assert!(
                squares < 0.999 * nearest || format == CodeFormat::Int8 || format == CodeFormat::Uint8,
                "{format:?}"
            );
            assert!(hqq < 1.2 * nearest, "{format:?}: {hqq} {nearest}");
        }
    }

    #[test]
    fn codes_are_those_of_the_steps() {
        let block = weights(7, 64);
        for format in ALL {
            let fitting = fitting(format, ScaleSearch::Nearest);
            let fit = fitting.fit(&block);
            let mut bytes = Vec::new();
            fitting.encode(&block, fit, &mut bytes);
            for (number, byte) in block.iter().zip(&bytes) {
                let step = match format {
                    CodeFormat::Float8 => float8::decoded(*byte),
                    CodeFormat::Int8 | CodeFormat::Int4 => f32::from(*byte as i8),
                    _ => f32::from(*byte) - f32::from(fit.zero),
                };
                assert_eq!(step, fitting.step(number * (1.0 / fit.scale), fit.zero), "{format:?}");
            }
        }
    }

    #[test]
    fn scales_are_those_of_their_dtype() {
        let fit = Fitting { scale: Dtype::Float16, ..fitting(CodeFormat::Int4, ScaleSearch::Mse) }.fit(&weights(3, 32));
        assert_eq!(f16::from_f32(fit.scale).to_f32(), fit.scale);
        // One that vanishes is the least that there is.
        let fit =
            Fitting { scale: Dtype::Float16, ..fitting(CodeFormat::Int8, ScaleSearch::Nearest) }.fit(&[1e-12; 16]);
        assert_eq!(fit.scale, f16::MIN_POSITIVE_SUBNORMAL.to_f32());
        assert_eq!(fitting(CodeFormat::Uint4, ScaleSearch::Hqq).fit(&[0.0; 16]), BlockFit { scale: 1.0, zero: 0 });
    }
}
