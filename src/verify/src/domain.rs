//! The small domains from which calls are made: sizes, ranks, numbers, dtypes and elements where rules tend to be wrong.

use fastrand::Rng;

/// The dtypes of tensors, by the names of examples. Frequent ones are listed more than once.
const DTYPES: [&str; 20] = [
    "f32", "f32", "f32", "f32", "f64", "f64", "f16", "f16", "bf16", "i64", "i64", "i32", "i16", "i8", "u8", "u8",
    "bool", "bool", "c64", "c128",
];
/// Sizes of dimensions.
const SIZES: [i64; 12] = [0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 33];
/// Integer arguments.
const INTS: [i64; 16] = [0, 0, 1, 1, 2, 2, 3, 4, 5, 7, -1, -1, -2, -3, 100, i64::MAX];
/// Float arguments.
const FLOATS: [f64; 16] =
    [0.0, -0.0, 1.0, 1.0, -1.0, 0.5, 2.0, -2.5, 3.7, 1e-5, 1e5, 0.25, 10.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
/// Elements of float tensors.
const ELEMENTS: [f64; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -3.25,
    100.0,
    -1000.0,
    1e-6,
    6e4,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];
/// The bounds of random elements.
const RANGES: [(f64, f64); 6] = [(0.1, 0.9), (-1.0, 1.0), (1.0, 4.0), (-100.0, 100.0), (0.0, 1.0), (0.0, 3.0)];

/// Integers that stand for a choice and that PyTorch does not check: other values are no valid calls.
const CHOICES: [(&str, std::ops::RangeInclusive<i64>); 4] =
    [("normalization", 0..=2), ("reduction", 0..=2), ("interpolation_mode", 0..=2), ("padding_mode", 0..=2)];

/// Whether a number is one that a parameter can have.
pub(super) fn is_choice(parameter: &str, number: i64) -> bool {
    CHOICES.iter().all(|(name, choices)| *name != parameter || choices.contains(&number))
}

fn one<T: Copy>(rng: &mut Rng, of: &[T], otherwise: T) -> T {
    rng.choice(of).copied().unwrap_or(otherwise)
}

pub(super) fn dtype(rng: &mut Rng) -> &'static str {
    one(rng, &DTYPES, "f32")
}

pub(super) fn size(rng: &mut Rng) -> i64 {
    one(rng, &SIZES, 2)
}

pub(super) fn rank(rng: &mut Rng) -> usize {
    one(rng, &[0, 1, 1, 2, 2, 3, 3, 4, 5], 2)
}

pub(super) fn int(rng: &mut Rng) -> i64 {
    one(rng, &INTS, 0)
}

pub(super) fn float(rng: &mut Rng) -> f64 {
    one(rng, &FLOATS, 1.0)
}

pub(super) fn range(rng: &mut Rng) -> (f64, f64) {
    one(rng, &RANGES, (0.0, 1.0))
}

/// An element of a tensor of this dtype.
pub(super) fn element(rng: &mut Rng, dtype: &str) -> f64 {
    match dtype {
        "bool" => f64::from(rng.u8(0..2)),
        "u8" => one(rng, &[0.0, 1.0, 2.0, 3.0, 100.0, 127.0, 128.0, 255.0], 1.0),
        "i8" => one(rng, &[0.0, 1.0, 2.0, -1.0, -3.0, 100.0, 127.0, -128.0], 1.0),
        "i16" => one(rng, &[0.0, 1.0, 2.0, -1.0, -3.0, 300.0, 32767.0, -32768.0], 1.0),
        "i32" => one(rng, &[0.0, 1.0, 2.0, -1.0, -3.0, 70_000.0, 2_147_483_647.0, -2_147_483_648.0], 1.0),
        "i64" => one(rng, &[0.0, 1.0, 2.0, -1.0, -3.0, 5e9, -5e9, -9_223_372_036_854_775_808.0], 1.0),
        _ => one(rng, &ELEMENTS, 1.0),
    }
}
