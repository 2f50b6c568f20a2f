//! `targets/*.toml`: what a runtime lacks. Each file states its source.

use serde::Deserialize;

use super::dtypes;

/// A runtime.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The newest opset that it takes.
    pub newest_opset: u32,
    /// The newest IR version that it takes.
    pub newest_ir: u32,
    /// Kernels that it has not.
    #[serde(default)]
    pub lacks: Vec<Lack>,
}

/// A missing kernel.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lack {
    /// The operator.
    pub op: String,
    /// The version of its schema.
    pub since: u32,
    /// The dtypes (PyTorch's names) of its first type variable for which there is none.
    pub dtypes: Vec<String>,
}

impl Target {
    /// Reads a profile.
    pub fn parse(text: &str) -> Result<Target, String> {
        let read: Target = toml::from_str(text).map_err(|e| e.to_string())?;
        let mut names = read.lacks.iter().flat_map(|l| &l.dtypes);
        match names.find(|name| dtypes::variant(name).is_none()) {
            Some(name) => Err(format!("`{name}` is no dtype")),
            None => Ok(read),
        }
    }
}
