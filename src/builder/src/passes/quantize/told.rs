//! What is said of quantized weights: how much they take, and which weights stay as they are.

use std::collections::BTreeMap;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::CodeFormat;

use super::WeightQuantization;
use super::choice::{Choices, Chosen, Left};
use super::measured::Rounding;

/// So many weights are named for a reason.
const NAMED: usize = 4;

/// The bytes that a weight of so many elements takes: integers, scales and zero points.
pub(super) fn bytes(chosen: &Chosen, elements: u64) -> u64 {
    let blocks = elements / chosen.length.unsigned_abs().max(1);
    let (bits, zero) = match chosen.blocks.format() {
        CodeFormat::Int8 | CodeFormat::Float8 => (8, 0),
        CodeFormat::Uint8 => (8, 8),
        CodeFormat::Int4 => (4, 0),
        CodeFormat::Uint4 => (4, 4),
    };
    let scale = if chosen.blocks.scale_dtype() == Dtype::Float32 { 32 } else { 16 };
    (elements * bits + blocks * (scale + zero)).div_ceil(8)
}

/// The notes.
pub(super) fn notes(choices: &Choices, wanted: &WeightQuantization, rounding: Option<&Rounding>) -> Vec<String> {
    let name = match wanted.format {
        CodeFormat::Int8 => "int8",
        CodeFormat::Uint8 => "uint8",
        CodeFormat::Int4 => "int4",
        CodeFormat::Uint4 => "uint4",
        CodeFormat::Float8 => "fp8",
    };
    let all = choices.weights + choices.left.len();
    let mut notes = vec![if choices.weights == 0 {
        format!("{name}: no weight is quantized, of {all} that products, convolutions and lookups read")
    } else {
        format!(
            "{name}: {} of {all} weights are quantized, {:.2} bits for each number with scales: {} in place of {}",
            choices.weights,
            choices.after as f64 * 8.0 / choices.elements.max(1) as f64,
            size(choices.after),
            size(choices.before)
        )
    }];
    notes.extend(rounding.into_iter().flat_map(rounded));
    let mut left: BTreeMap<&Left, Vec<&str>> = BTreeMap::new();
    choices.left.iter().for_each(|(why, name)| left.entry(why).or_default().push(name));
    for (why, names) in left {
        let named: Vec<String> = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
        let more = names.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let stay = if names.len() == 1 { "stays as it is" } else { "stay as they are" };
        notes.push(format!("{}{more} {stay}: {why}", named.join(", ")));
    }
    notes
}

/// What is rounded.
fn rounded(rounding: &Rounding) -> Vec<String> {
    let dtype = if rounding.is_signed { Dtype::Int8 } else { Dtype::Uint8 };
    let (nodes, values) = (rounding.nodes, rounding.values);
    let mut notes = vec![format!(
        "static: {nodes} nodes compute with integers, {values} values between them are rounded to {dtype}"
    )];
    if !rounding.without_range.is_empty() {
        let named: Vec<String> = rounding.without_range.iter().map(|op| format!("`{op}`")).collect();
        notes.push(format!("{} stay floats where a value has no finite range in the measured runs", named.join(", ")));
    }
    notes
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}
