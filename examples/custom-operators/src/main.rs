//! `custom-operators IN.pt2 OUT.onnx`: an exporter with rules for the operators of `mylib`.

mod externs;

use std::process::ExitCode;

use aten2onnx::Exporter;

aten2onnx::include_mappings!();

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (Some(source), Some(destination)) = (args.next(), args.next()) else {
        eprintln!("usage: custom-operators IN.pt2 OUT.onnx");
        return ExitCode::from(2);
    };
    match Exporter::new().rules(&MAPPINGS).export(source, destination) {
        Ok(summary) => {
            println!("{} nodes at opset {}", summary.nodes, summary.opset);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
