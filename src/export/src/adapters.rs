//! Adapters of a model (LoRA): weights that stay inputs, and files with other values for them.
//!
//! Files of peft name a weight without the name of the adapter that the module gives it: `base_model.model.x.lora_A.weight` is
//! `x.lora_A.default.weight`.

use std::path::Path;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use aten2onnx_archive::safetensors;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::Weight;
use aten2onnx_onnx::{Exported, Model, adapter};
use aten2onnx_program::Program;

/// What peft puts before the names of the module.
const PEFT: &str = "base_model.model.";

/// Gives the adapter weights of a program, which its translation made inputs, their values as defaults.
///
/// # Errors
/// No weight has such a name.
pub(super) fn add_defaults(model: &mut Model, program: &Program, pattern: Option<&str>) -> Result<()> {
    let Some(pattern) = pattern else { return Ok(()) };
    let mut weights: Vec<Arc<Weight>> = Vec::new();
    for bound in &program.weights {
        let weight = &bound.weight;
        if weight.name.contains(pattern) && !weights.iter().any(|known| known.name == weight.name) {
            weights.push(Arc::clone(weight));
        }
    }
    if weights.is_empty() {
        let error = Error::unsupported(format!("no weight has `{pattern}` in its name, so that there is no adapter"));
        return Err(error.help("`aten2onnx inspect` lists the weights; those of peft have `lora_`"));
    }
    adapter::add_defaults(model, &weights)
}

/// Writes the adapter weights of a model as a file of ONNX Runtime: their values in the model, those in a safetensors file, or those given.
/// Returns the number of bytes.
///
/// # Errors
/// A model without adapter weights; values that are missing, unknown, or of other types.
pub fn write(exported: &Exported, values: Values<'_>, path: &Path) -> Result<u64> {
    let own = adapter::of_model(&exported.model);
    if own.is_empty() {
        return Err(Error::unsupported("the model has no adapter weights").help("export it with `--adapters lora_`"));
    }
    let read;
    let given: Option<&FxHashMap<String, Arc<Weight>>> = match values {
        Values::Own => None,
        Values::Given(given) => Some(given),
        Values::File(source) => {
            read = safetensors::files::read_all(source)?;
            Some(&read)
        }
    };
    let Some(given) = given else {
        let all: Vec<(&str, &Weight)> = own.iter().map(|known| (known.name.as_str(), &*known.weight)).collect();
        return adapter::write(path, &all);
    };
    let by_name: FxHashMap<String, (&String, &Arc<Weight>)> =
        given.iter().map(|(name, weight)| (bare(name), (name, weight))).collect();
    let mut all = Vec::with_capacity(own.len());
    for known in &own {
        let name = known.name.as_str();
        let Some((_, weight)) = by_name.get(&bare(name)) else {
            let mut names: Vec<&str> = given.keys().map(String::as_str).collect();
            names.sort_unstable();
            let nearest = safetensors::nearest(name, names.into_iter()).map(|found| format!(" (nearest: `{found}`)"));
            return Err(Error::input(format!("the adapter has no `{name}`{}", nearest.unwrap_or_default())));
        };
        if weight.dtype != known.dtype || weight.sizes != known.weight.sizes {
            return Err(Error::input(format!(
                "`{name}` is {}{:?} in the adapter and {}{:?} in the model",
                weight.dtype, weight.sizes, known.dtype, known.weight.sizes
            ))
            .help("adapters of one model have one rank and dtype"));
        }
        all.push((name, &***weight));
    }
    let own: FxHashSet<String> = own.iter().map(|known| bare(&known.name)).collect();
    if let Some(first) = given.keys().filter(|name| !own.contains(&bare(name))).min() {
        return Err(Error::input(format!("the model has no adapter weight `{first}`")));
    }
    adapter::write(path, &all)
}

/// Where the values of an adapter are.
#[derive(Debug, Clone, Copy)]
pub enum Values<'a> {
    /// In the model.
    Own,
    /// In a safetensors file, or a folder of them.
    File(&'a Path),
    /// In memory, by name.
    Given(&'a FxHashMap<String, Arc<Weight>>),
}

/// A name as peft writes it in files, without its prefix: `x.lora_A.default.weight` is `x.lora_A.weight`.
fn bare(name: &str) -> String {
    let name = name.strip_prefix(PEFT).unwrap_or(name);
    let parts: Vec<&str> = name.split('.').collect();
    let is_named =
        |at: usize| at > 0 && at + 1 < parts.len() && parts.get(at - 1).is_some_and(|part| part.starts_with("lora_"));
    let kept = parts.iter().enumerate().filter(|(at, _)| !is_named(*at)).map(|(_, part)| *part);
    kept.collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_peft_are_those_of_the_module() {
        assert_eq!(bare("base_model.model.l.0.q.lora_A.weight"), "l.0.q.lora_A.weight");
        assert_eq!(bare("l.0.q.lora_A.default.weight"), "l.0.q.lora_A.weight");
        assert_eq!(bare("l.0.q.lora_A"), "l.0.q.lora_A");
        assert_eq!(bare("q.weight"), "q.weight");
    }
}
