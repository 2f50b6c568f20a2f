//! `exporter.toml`: what a workspace was made from, and the digests of its files as they were written.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Files, Owner, Request, sha256};

/// What is read of a manifest.
#[derive(Debug, Clone, serde::Deserialize)]
pub struct Manifest {
    /// The name of the exporter.
    pub name: String,
    /// Digests of generated files.
    pub generated: BTreeMap<String, String>,
    /// Digests of the files that the vendor began with.
    pub beginning: BTreeMap<String, String>,
}

/// The text of a manifest.
pub fn text(request: &Request<'_>, files: &Files) -> String {
    let mut text = String::from(
        "# What this exporter was made from. `aten2onnx-codegen exporter` reads it when it is run again: files whose digest is another were\n\
         # changed by hand.\n",
    );
    let target = request.target.unwrap_or("none");
    for (key, value) in [
        ("name", request.name),
        ("opset", &request.opset.to_string()),
        ("target", target),
        ("operators", &request.chosen),
        ("aten2onnx", env!("CARGO_PKG_VERSION")),
        ("mappings", &request.mappings),
    ] {
        let _ = writeln!(text, "{key} = {}", quoted(value));
    }
    for (section, owner) in [("generated", Owner::Generator), ("beginning", Owner::Vendor)] {
        let _ = writeln!(text, "\n[{section}]");
        for (path, (_, bytes)) in files.iter().filter(|(_, file)| file.0 == owner) {
            let _ = writeln!(text, "{} = {}", quoted(path), quoted(&sha256(bytes)));
        }
    }
    text
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// The line that is damaged, or the part that it lacks.
    pub fn parse(text: &str) -> Result<Manifest, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }
}
