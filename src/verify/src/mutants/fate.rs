//! What became of a mutant.

use serde::{Deserialize, Serialize};

use super::kind::Kind;

/// What found a mutant, or that nothing did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// The rule compiler refuses it.
    Check,
    /// The support matrix has other rows: docs/operators.md, which CI compares, is another page.
    Matrix,
    /// An example has another outcome, or gives other results.
    Examples,
    /// A call that nobody wrote gives other results.
    Verify,
    /// All calls that were made give the same graphs.
    Equivalent,
    /// `mutants.toml` says why it changes nothing that can be seen.
    Explained,
    /// Graphs differ, and nothing says that one is wrong.
    Survived,
}

/// What is known of a mutant after a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// What it changes.
    pub kind: Kind,
    /// The file and the line.
    pub place: String,
    /// What found it.
    pub fate: Fate,
    /// How: the code of an error, the row of the matrix, or the call and what was wrong with it.
    pub how: String,
    /// The exporter, onnx's checker or a runtime refuses what it makes: the types are wrong, or a refusal is not declared.
    pub ill_typed: bool,
}
