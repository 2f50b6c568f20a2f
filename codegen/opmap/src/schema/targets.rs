//! `targets/*.toml`: what runtimes support and lack. Each file states its source.

use serde::Deserialize;

use super::dtypes;

/// A runtime.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The newest supported opset.
    pub newest_opset: u32,
    /// The newest supported IR version.
    pub newest_ir: u32,
    /// Missing kernels.
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
    /// The dtypes (PyTorch's names) of its first type variable without a kernel.
    pub dtypes: Vec<String>,
}

impl Target {
    /// Reads a profile.
    pub fn parse(text: &str) -> Result<Target, String> {
        let read: Target = toml::from_str(text).map_err(|e| e.to_string())?;
        let mut names = read.lacks.iter().flat_map(|l| &l.dtypes);
        match names.find(|name| dtypes::variant(name).is_none()) {
            Some(name) => Err(format!("`{name}` is not a dtype")),
            None => Ok(read),
        }
    }
}

/// The missing kernels of ONNX Runtime, in a file of their own because they are many.
pub const KERNELS: &str = "targets/onnxruntime.toml";

/// Is the file a profile that `--target` knows? All others under `targets/` are.
pub fn is_runtime(name: &str) -> bool {
    name.starts_with("targets/") && name.ends_with(".toml") && name != KERNELS
}

/// A runtime or compiler with its releases, the newest first.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runtime {
    /// Its name for `--target`.
    pub runtime: String,
    /// Its full name.
    pub what: String,
    /// It lacks the same kernels as `onnxruntime.toml`.
    #[serde(default)]
    pub kernels: bool,
    /// The name alone means the first one.
    pub release: Vec<Release>,
}

/// What a release supports.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// `8.6`
    pub name: String,
    /// The oldest supported opset, if one is stated.
    pub oldest_opset: Option<u32>,
    /// The newest supported opset.
    pub newest_opset: u32,
    /// The newest supported IR version, if it is known.
    pub newest_ir: Option<u32>,
    /// Operators without any kernel.
    #[serde(default)]
    pub lacks: Vec<String>,
    /// The source of these facts.
    pub source: String,
}

impl Runtime {
    /// Reads a profile.
    pub fn parse(text: &str) -> Result<Runtime, String> {
        let read: Runtime = toml::from_str(text).map_err(|e| e.to_string())?;
        match read.release.iter().find(|release| release.source.is_empty()) {
            _ if read.release.is_empty() => Err("a runtime without releases".to_owned()),
            Some(release) => Err(format!("release {} has no source", release.name)),
            None => Ok(read),
        }
    }
}
