//! The syntax of facts about PyTorch's operators: what they do to memory, and what else the passes before the rules must know.

use super::ast::{Expr, Ident, OpName};
use crate::source::Span;

/// `view aten::reshape if strides, in order`, `write aten::zero_ whole, constant = aten::zeros_like(self)`
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// Its keyword.
    pub kind: FactKind,
    /// The overload.
    pub op: OpName,
    /// What is said of it, in the order of the text.
    pub clauses: Vec<Clause>,
    /// What stands after `=`.
    pub value: Option<Expr>,
}

/// The keywords of facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FactKind {
    /// How a result shares memory with an argument.
    View,
    /// What an in-place operator writes.
    Write,
    /// What an operator writes besides giving results.
    Update,
    /// Other operators that stand for a call.
    Rewrite,
    /// All else.
    Fact,
}

impl FactKind {
    /// All of them.
    pub const ALL: [FactKind; 5] =
        [FactKind::View, FactKind::Write, FactKind::Update, FactKind::Rewrite, FactKind::Fact];

    /// The keyword.
    pub fn keyword(self) -> &'static str {
        match self {
            FactKind::View => "view",
            FactKind::Write => "write",
            FactKind::Update => "update",
            FactKind::Rewrite => "rewrite",
            FactKind::Fact => "fact",
        }
    }
}

/// Words between commas: `if strides`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clause {
    /// One or more.
    pub words: Vec<Ident>,
    /// All of it.
    pub span: Span,
}

impl Clause {
    /// The words with a blank between each two.
    pub fn text(&self) -> String {
        self.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
    }
}
