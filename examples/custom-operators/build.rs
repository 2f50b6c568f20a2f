//! Compiles the rules under `mappings/` of this crate.

fn main() {
    if let Err(report) = aten2onnx_build::build_mappings("mappings".as_ref()) {
        eprintln!("{report}");
        std::process::exit(1);
    }
}
