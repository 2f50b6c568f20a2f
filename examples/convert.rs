//! Converts `model.onnx` to opset 11: `cargo run --release --example convert`.
#![expect(clippy::print_stdout, reason = "a program")]

use aten2onnx::Converter;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let summary = Converter::new().opset(11).convert("model.onnx", "edge.onnx")?;
    println!("{} nodes at opset {}", summary.nodes, summary.opset);
    Ok(())
}
