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

/// The profiles that `--target` knows, by file under `targets/`.
pub const RUNTIMES: [&str; 10] = [
    "ascend",
    "horizon",
    "migraphx",
    "onnxruntime_releases",
    "openvino",
    "rknn",
    "sima",
    "stedgeai",
    "tensorrt",
    "tidl",
];

/// A runtime or compiler with its releases, the newest first.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runtime {
    /// What `--target` calls it.
    pub runtime: String,
    /// Its full name.
    pub what: String,
    /// Its missing kernels are those of `onnxruntime.toml`.
    #[serde(default)]
    pub kernels: bool,
    /// The first one is what the name alone means.
    pub release: Vec<Release>,
}

/// What a release takes.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// `8.6`
    pub name: String,
    /// The oldest opset that it takes, where one is stated.
    pub oldest_opset: Option<u32>,
    /// The newest opset that it takes.
    pub newest_opset: u32,
    /// The newest IR version that it takes, where that is known.
    pub newest_ir: Option<u32>,
    /// Operators that it has not at all.
    #[serde(default)]
    pub lacks: Vec<String>,
    /// Where this is written.
    pub source: String,
}

impl Runtime {
    /// Reads a profile.
    pub fn parse(text: &str) -> Result<Runtime, String> {
        let read: Runtime = toml::from_str(text).map_err(|e| e.to_string())?;
        match read.release.iter().find(|release| release.source.is_empty()) {
            _ if read.release.is_empty() => Err("a runtime without releases".to_owned()),
            Some(release) => Err(format!("release {} does not say where its facts are from", release.name)),
            None => Ok(read),
        }
    }
}
