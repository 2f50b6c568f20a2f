//! What a release of PyTorch has, for `import-aten`: its schemas as snapshots, and what it makes of the overloads that are new.

mod environment;
mod known;
mod tried;

use std::collections::BTreeMap;

use serde::Deserialize;

use aten2onnx_schemas::aten::AtenSchemas;
use aten2onnx_schemas::snapshot_file;

pub use environment::Environment;
pub use known::{Known, Rules};
pub use tried::{Tried, tried_report};

/// The schemas of a release, as `ask_torch.py schemas` prints them.
#[derive(Debug, Deserialize)]
pub struct Release {
    /// `2.13.0`
    pub torch: String,
    /// `0.28.0`, if it is installed.
    pub torchvision: Option<String>,
    /// Sorted schemas by namespace.
    pub schemas: BTreeMap<String, Vec<String>>,
}

impl Release {
    /// Reads what the program printed.
    ///
    /// # Errors
    /// It is not that.
    pub fn parse(text: &str) -> Result<Release, String> {
        serde_json::from_str(text).map_err(|error| format!("PyTorch's answer cannot be read: {error}"))
    }

    /// The snapshots by file name, as `tools/schemas/dump_aten.py` writes them.
    ///
    /// # Errors
    /// A schema that cannot be read.
    pub fn snapshots(&self) -> Result<Vec<(&'static str, String)>, String> {
        let mut files = Vec::new();
        for (namespace, lines) in &self.schemas {
            let Some(file) = snapshot_file(namespace) else { continue };
            let version = match (namespace.as_str(), &self.torchvision) {
                ("torchvision", Some(version)) => format!("torchvision {version}"),
                _ => format!("torch {}", self.torch),
            };
            let head =
                format!("# The schemas of `{namespace}`: {version}. Refresh: python tools/schemas/dump_aten.py\n");
            let text = lines.iter().fold(head, |text, line| text + line + "\n");
            AtenSchemas::parse(&text).map_err(|error| format!("the schemas of `{namespace}`: {error}"))?;
            files.push((file, text));
        }
        Ok(files)
    }
}

/// Whether a text names a version: `2.8`, `2.8.0`, `2.14.0rc1`.
pub fn is_version(text: &str) -> bool {
    let mut parts = text.split('.');
    let is_number = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
    text.contains('.')
        && parts.all(|part| is_number(part) && part.chars().all(|c| c.is_ascii_alphanumeric()))
        && !text.ends_with(".txt")
}

#[cfg(test)]
mod tests {
    use super::{Release, is_version};

    #[test]
    fn versions_are_told_from_files() {
        assert!(["2.8", "2.8.0", "2.14.0rc1"].into_iter().all(is_version));
        assert!(["aten.txt", "2.txt", "./2.8", "2", "2.8.0; x", "2..8", ""].into_iter().all(|text| !is_version(text)));
    }

    #[test]
    fn an_answer_becomes_snapshots() -> Result<(), String> {
        let text = r#"{"torch": "2.8.0", "torchvision": "0.23.0", "schemas": {"aten": ["aten::a(Tensor self) -> Tensor"], "torchvision": [], "other": ["x"]}}"#;
        let files = Release::parse(text)?.snapshots()?;
        let head = "# The schemas of `aten`: torch 2.8.0. Refresh: python tools/schemas/dump_aten.py\n";
        assert_eq!(files.first(), Some(&("aten.txt", format!("{head}aten::a(Tensor self) -> Tensor\n"))));
        assert!(files.iter().any(|(name, text)| *name == "torchvision.txt" && text.contains("torchvision 0.23.0")));
        assert_eq!(files.len(), 2);
        assert!(Release::parse("Segmentation fault").is_err_and(|error| error.contains("cannot be read")));
        let broken = r#"{"torch": "2.8.0", "torchvision": null, "schemas": {"aten": ["aten::a(Tensor"]}}"#;
        assert!(Release::parse(broken)?.snapshots().is_err_and(|error| error.contains("line 2")));
        Ok(())
    }
}
