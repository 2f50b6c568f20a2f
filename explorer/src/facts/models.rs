//! Which models use which operators: `data/models.json`, which `data/models.py` writes.

use std::collections::BTreeMap;

use aten2onnx_core::error::{Error, Result};

/// Models with their operators, and how often each is called.
#[derive(Debug, Clone, Default)]
pub struct Models {
    /// By model.
    pub models: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Models {
    /// The data that is built in.
    pub fn read() -> Result<Models> {
        let text = include_str!("../../data/models.json");
        let models = serde_json::from_str(text).map_err(|e| Error::internal(format!("data/models.json: {e}")))?;
        Ok(Models { models })
    }

    /// The models that call an overload, and how often.
    pub fn using(&self, overload: &str) -> Vec<(&str, u64)> {
        let all = self.models.iter();
        all.filter_map(|(model, ops)| Some((model.as_str(), *ops.get(overload)?))).collect()
    }
}
