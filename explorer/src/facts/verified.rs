//! How far random calls checked a rule: `docs/verified.json`, which `aten2onnx verify --levels` writes.

use std::collections::BTreeMap;

use aten2onnx_core::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The calls of a rule that were compared with PyTorch.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize)]
pub struct Verified {
    /// Dtypes and shapes.
    pub typed: u64,
    /// Also values, at each of five opsets.
    pub sampled: u64,
    /// The place of each element, of rules that only move data.
    pub exact: u64,
    /// Known faults.
    pub wrong: u64,
    /// What the rule decides nothing by.
    pub uniform: Uniform,
}

/// What a rule decides nothing by, so that small calls stand for all.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize)]
pub struct Uniform {
    /// Sizes of dimensions.
    pub size: bool,
    /// Their number.
    pub rank: bool,
}

impl Verified {
    /// The level: `exact`, `sampled`, `typed` or `faults`.
    pub fn level(&self) -> &'static str {
        match (self.wrong, self.exact, self.sampled) {
            (1.., _, _) => "faults",
            (_, 1.., _) => "exact",
            (_, _, 1..) => "sampled",
            _ => "typed",
        }
    }
}

/// Reads the file.
pub fn read(text: &str) -> Result<BTreeMap<String, Verified>> {
    serde_json::from_str(text).map_err(|e| Error::input(format!("docs/verified.json: {e}")))
}
