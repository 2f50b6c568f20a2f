//! Damaged archives by the thousand: whatever is read, there is a program or an error, and no panic.
//!
//! `FUZZ_ITERATIONS` says how many (default 1000), `FUZZ_SEED` with which the series starts; a failure prints its seed.

use std::sync::LazyLock;

use aten2onnx::frontend::pt2;
use aten2onnx::program::validate;
use aten2onnx_prepare::{Keep, prepare};
use proptest::prelude::*;

use super::{sample, sample_names};

/// Everything that the front end does.
fn run(bytes: Vec<u8>) {
    if let Ok(mut program) = pt2::read_bytes("damaged.pt2", bytes, None)
        && prepare(&mut program, Keep::default()).is_ok()
    {
        validate::names(&program).unwrap();
    }
}

/// A generator of numbers; the same ones everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Replaces a word of the JSON by another one of the same length, so that the archive stays whole.
fn swap_words(bytes: &mut [u8], random: &mut Random) {
    const WORDS: &[(&str, &str)] = &[
        ("as_tensor\"", "as_string\""),
        ("as_int\"", "as_ints"),
        ("add_1\"", "relu_\""),
        ("Tensor\"", "out   \""),
        ("relu.default", "add_.default"),
        ("clone.default", "relu_.default"),
        ("select.int", "slice.int "),
        ("\"dim\"", "\"dom\""),
        (": 1,", ": -1"),
        (": 0}", ": 9}"),
        ("Symbol(", "FloorD("),
        ("Integer(", "Rational"),
        ("True", "null"),
        ("true", "null"),
    ];
    let (from, to) = WORDS[random.below(WORDS.len())];
    let places: Vec<usize> = bytes
        .windows(from.len())
        .enumerate()
        .filter(|(_, window)| *window == from.as_bytes())
        .map(|(at, _)| at)
        .collect();
    if !places.is_empty() {
        let at = places[random.below(places.len())];
        bytes[at..at + to.len().min(from.len())].copy_from_slice(&to.as_bytes()[..to.len().min(from.len())]);
    }
}

/// Changes some digits of a name or a number, where the text is.
fn change_digits(bytes: &mut [u8], random: &mut Random) {
    let digits: Vec<usize> =
        bytes.iter().enumerate().filter(|(_, byte)| byte.is_ascii_digit()).map(|(at, _)| at).collect();
    if digits.is_empty() {
        return;
    }
    for _ in 0..=random.below(4) {
        let at = digits[random.below(digits.len())];
        bytes[at] = b'0' + random.below(10) as u8;
    }
}

fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        match random.below(6) {
            0 => {
                for _ in 0..=random.below(16) {
                    let at = random.below(bytes.len());
                    bytes[at] = random.next() as u8;
                }
            }
            1 => {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
            2 => {
                let (from, to) = (random.below(bytes.len()), random.below(bytes.len()));
                let len = random.below(64).min(bytes.len() - from.max(to));
                bytes.copy_within(from..from + len, to);
            }
            3 => change_digits(bytes, random),
            4 => bytes.truncate(random.below(bytes.len()).max(1)),
            _ => swap_words(bytes, random),
        }
    }
}

/// One of the samples, damaged; the same for the same number.
pub fn damaged_sample(seed: u64) -> Vec<u8> {
    static SAMPLES: LazyLock<Vec<Vec<u8>>> =
        LazyLock::new(|| sample_names().iter().map(|name| std::fs::read(sample(name)).unwrap()).collect());
    let mut random = Random(seed);
    let mut bytes = SAMPLES[random.below(SAMPLES.len())].clone();
    damage(&mut bytes, &mut random);
    bytes
}

#[test]
fn damaged_samples_do_no_harm() {
    let number = |name: &str, default| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (iterations, first) = (number("FUZZ_ITERATIONS", 1000), number("FUZZ_SEED", 0));
    for seed in first..first + iterations {
        let result = std::panic::catch_unwind(|| run(damaged_sample(seed)));
        assert!(result.is_ok(), "FUZZ_SEED={seed} FUZZ_ITERATIONS=1 shows it");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn flipped_bytes_do_no_harm(which in 0..1000_usize, flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)) {
        let names = sample_names();
        let mut bytes = std::fs::read(sample(&names[which % names.len()])).unwrap();
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        run(bytes);
    }
}
