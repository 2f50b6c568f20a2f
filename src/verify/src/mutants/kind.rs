//! The kinds of mutants.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a mutant changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// An attribute is left out.
    AttributeDropped,
    /// An attribute gets the name of another one.
    AttributeRenamed,
    /// An attribute gets the suffix of another type.
    AttributeType,
    /// Two operands change places.
    OperandsSwapped,
    /// Two arguments of a helper or a rule change places.
    ArgumentsSwapped,
    /// An operand, argument or element is left out.
    OperandDropped,
    /// An operator is replaced by one of the same signature.
    Operator,
    /// An integer, a number or a default is another one.
    Constant,
    /// A text or a truth value is another one.
    Value,
    /// A condition is negated.
    ConditionNegated,
    /// One side of `&&` or `||` is left out.
    ConditionWeakened,
    /// A branch is left out.
    BranchDropped,
    /// A cast is left out.
    CastDropped,
    /// A dtype is another one.
    Dtype,
    /// The opset of a `since`, `before`, `from` or `same` is another one.
    OpsetMoved,
    /// A `fail` or a `since` is left out.
    RefusalDropped,
    /// A branch refuses.
    RefusalAdded,
    /// A call is replaced by its first argument, as where an unsqueeze or a broadcast is forgotten.
    CallDropped,
    /// Another output or element is taken.
    Output,
    /// A `same` stands in place of a lowering.
    SameAdded,
    /// An argument is ignored.
    IgnoreAdded,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The words of the report.
        let word = serde_json::to_string(self).map_err(|_| fmt::Error)?;
        f.write_str(word.trim_matches('"'))
    }
}
