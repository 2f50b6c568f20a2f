//! How far an opset supports a rule.

/// The support of a rule at an opset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Every path works.
    Full,
    /// Some calls are refused.
    Partial,
    /// All calls are refused.
    No,
}
