//! What a release says beside its schemas, as `tools/schemas/release_onnx.py` writes it. Versions of operators are keys such as `Celu 28`.

use std::collections::BTreeMap;

use serde::Deserialize;

/// All of it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Said {
    /// The version of the package.
    pub onnx: String,
    /// By opset: the first release that has it, and its IR version.
    pub releases: BTreeMap<u32, (String, u32)>,
    /// The snapshot of the schemas.
    pub snapshot: String,
    /// The lines of descriptions that differ, which begin with `+` or `-`.
    pub texts: BTreeMap<String, Vec<String>>,
    /// The functions that ONNX defines operators by.
    pub bodies: BTreeMap<String, String>,
    /// Calls of ONNX's node tests.
    pub tests: BTreeMap<String, Calls>,
}

/// Calls of a version of an operator.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calls {
    /// How many tests there are.
    pub count: usize,
    /// Some of them, those first that use what is new.
    pub calls: Vec<TestCall>,
}

/// A call.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestCall {
    /// The name of the test.
    pub name: String,
    /// The call as an `example` of opmap, without this word.
    pub example: Option<String>,
    /// The call in words, and why no example can say it.
    pub words: Option<String>,
}

impl Said {
    /// Reads the file. An error says where it is damaged.
    pub fn parse(text: &str) -> Result<Said, String> {
        serde_json::from_str(text).map_err(|e| e.to_string())
    }
}
