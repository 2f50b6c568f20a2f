//! The schema snapshots: facts about PyTorch's and ONNX's operators, read from `mappings/schemas/`.

pub mod aten;
mod aten_parse;
pub mod onnx;
mod onnx_parse;
mod onnx_print;
mod text;

/// The name most like another one, if any is like it at all.
fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let scored = names.map(|n| (strsim::jaro_winkler(name, n), n)).filter(|(score, _)| *score > 0.7);
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, n)| n)
}
