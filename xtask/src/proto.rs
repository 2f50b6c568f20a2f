//! ONNX's protobuf messages as Rust, without protoc: protox parses the .proto, prost writes the Rust.

use std::error::Error;
use std::path::Path;

const SOURCE: &str = "mappings/schemas/onnx.proto";
/// Where it is written.
pub const TARGET: &str = "src/onnx/src/proto.rs";
const HEAD: &str = "\
//! ONNX's messages. Generated from mappings/schemas/onnx.proto by `cargo run -p xtask -- proto`: do not edit.
//!
//! The documentation of the messages is in the .proto.

#![allow(missing_docs, clippy::all, clippy::pedantic)]

";

/// The fields of a tensor with elements of one type.
const PACKED: [&str; 5] = ["float_data", "int32_data", "int64_data", "double_data", "uint64_data"];

/// The number of the type `bytes` in descriptors.
const BYTES: i32 = 12;

/// The text of the file.
pub fn generate(root: &Path) -> Result<String, Box<dyn Error>> {
    let mut descriptors = protox::compile([root.join(SOURCE)], [root.join("mappings/schemas")])?;
    // They may be gigabytes, so they stay as they are in the file, where a packed field looks like bytes.
    let messages = descriptors.file.iter_mut().flat_map(|file| &mut file.message_type);
    let fields = messages.filter(|message| message.name() == "TensorProto").flat_map(|message| &mut message.field);
    for field in fields.filter(|field| PACKED.contains(&field.name())) {
        field.r#type = Some(BYTES);
        field.options = None;
    }
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
