//! Exports `model.pt2` to `model.onnx` at opset 13: `cargo run --release --example minimal`.
#![expect(clippy::print_stdout, reason = "a program")]

use aten2onnx::Exporter;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let summary = Exporter::new().opset(13).dim("s77", "batch").export("model.pt2", "model.onnx")?;
    println!("{} nodes in {:?}", summary.nodes, summary.took);
    for note in &summary.notes {
        println!("note: {note}");
    }
    Ok(())
}
