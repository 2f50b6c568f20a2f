//! ONNX's protobuf messages as Rust, without protoc: protox parses the .proto, prost writes the Rust.

use std::error::Error;
use std::fs;
use std::path::Path;

const SOURCE: &str = "mappings/schemas/onnx.proto";
const TARGET: &str = "src/onnx/proto.rs";
const HEAD: &str = "\
//! ONNX's messages. Generated from mappings/schemas/onnx.proto by `cargo run -p xtask -- proto`: do not edit.
//!
//! The documentation of the messages is in the .proto.

#![allow(missing_docs, clippy::all, clippy::pedantic)]

";

/// Writes the file, or with `check` compares it.
pub fn run(check: bool) -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the workspace has no root")?;
    let wanted = generate(root)?;
    let target = root.join(TARGET);
    let found = fs::read_to_string(&target).unwrap_or_default();
    if found == wanted {
        return Ok(());
    }
    if check {
        return Err(format!("{TARGET} is stale; run `cargo run -p xtask -- proto`").into());
    }
    fs::write(&target, wanted)?;
    println!("wrote {TARGET}");
    Ok(())
}

fn generate(root: &Path) -> Result<String, Box<dyn Error>> {
    let descriptors = protox::compile([root.join(SOURCE)], [root.join("mappings/schemas")])?;
    let mut config = prost_build::Config::new();
    // Comments hold indented text that rustdoc would run as tests.
    config.disable_comments(["."]);
    // `bytes` fields borrow from the buffer that is parsed, so a mapped file is not copied.
    config.bytes(["."]);
    config.skip_protoc_run();
    let modules =
        descriptors.file.into_iter().map(|file| (prost_build::Module::from_protobuf_package_name("onnx"), file));
    let written = config.generate(modules.collect())?;
    let code = written.into_values().next().ok_or("prost wrote nothing")?;
    Ok(format!("{HEAD}{code}"))
}
