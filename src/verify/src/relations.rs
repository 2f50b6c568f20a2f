//! Which operators are for the inside of PyTorch, whose callers check what their kernels do not.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{PoisonError, RwLock};

use aten2onnx_core::error::Result;
use serde::Deserialize;

/// The path of the table in a checkout.
const RELATIONS: &str = "src/verify/src/relations.toml";
/// The table of relations as it was when the program was built, which relations.py reads too.
const BUILT: &str = include_str!("relations.toml");

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    internal: Internal,
    #[serde(default)]
    #[allow(dead_code)]
    relation: Vec<Relation>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Internal {
    operators: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
struct Relation {
    operators: Vec<String>,
    needs: Vec<String>,
    why: String,
}

/// The patterns of the table that was read last; None if it is that of the build.
static READ: RwLock<Option<Vec<String>>> = RwLock::new(None);

fn parsed(text: &str) -> std::result::Result<Table, String> {
    toml::from_str(text).map_err(|error| error.to_string())
}

/// The text of the table: that of the checkout in which `mappings` lies, if it is there. From now on [`is_internal`] answers from it.
///
/// # Errors
/// The file and the line of what is wrong in the table of a checkout.
pub(super) fn text(mappings: Option<&Path>) -> Result<Cow<'static, str>> {
    let text = aten2onnx_examples::checkout_text(mappings, RELATIONS, BUILT, &|text| parsed(text).map(drop))?;
    let patterns = parsed(&text).unwrap_or_default().internal.operators;
    *READ.write().unwrap_or_else(PoisonError::into_inner) = Some(patterns);
    Ok(text)
}

/// Whether calls of an operator must keep what its examples have in common.
pub(super) fn is_internal(op: &str) -> bool {
    let fits = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, op));
    if let Some(patterns) = &*READ.read().unwrap_or_else(PoisonError::into_inner) {
        return fits(patterns);
    }
    fits(&parsed(BUILT).unwrap_or_default().internal.operators)
}

/// Whether a text fits a pattern in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(start) else { return false };
    (0..=text.len()).filter_map(|at| text.get(at..)).any(|tail| matches(rest, tail))
}

#[cfg(test)]
mod tests {
    use super::{is_internal, matches};

    #[test]
    fn patterns_stand_for_texts() {
        assert!(matches("aten::*_backward*", "aten::elu_backward") && matches("aten::_*", "aten::_softmax"));
        assert!(!matches("aten::_*", "aten::softmax") && !matches("*_cell", "aten::gru_cell.x"));
    }

    #[test]
    fn the_table_can_be_read() {
        assert!(is_internal("aten::_softmax") && !is_internal("aten::relu"));
    }
}
