//! Which operators are for the inside of PyTorch, whose callers check what their kernels do not.

use std::sync::LazyLock;

use serde::Deserialize;

/// The table of relations, which relations.py reads too.
pub(super) const TABLE: &str = include_str!("relations.toml");

#[derive(Debug, Default, Deserialize)]
struct Table {
    #[serde(default)]
    internal: Internal,
}

#[derive(Debug, Default, Deserialize)]
struct Internal {
    operators: Vec<String>,
}

static PATTERNS: LazyLock<Vec<String>> =
    LazyLock::new(|| toml::from_str::<Table>(TABLE).unwrap_or_default().internal.operators);

/// Whether calls of an operator must keep what its examples have in common.
pub(super) fn is_internal(op: &str) -> bool {
    PATTERNS.iter().any(|pattern| matches(pattern, op))
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
