//! Blocks and the statements in them.

use super::{Pair, Parts, Reader, Rule};
use crate::diagnostic::Diagnostic;
use crate::syntax::ast::{Block, Comment, Expr, Statement, StatementKind};

/// A statement, or an expression that may be the block's result.
enum Line {
    Statement(StatementKind),
    Open(Expr),
}

impl Reader<'_> {
    pub(super) fn block(&self, pair: Pair<'_>) -> Option<Block> {
        let span = self.span(&pair);
        let mut block =
            Block { statements: Vec::new(), result: None, trailing: Vec::new(), blank_before_result: false, span };
        let mut comments = Vec::new();
        let mut parts = Parts::of(pair);
        while let Some(pair) = parts.next() {
            if pair.as_rule() == Rule::comment {
                comments.push(self.comment(&pair));
                continue;
            }
            let (span, blank_before) = (self.span(&pair), self.blank_before(&pair));
            let line = self.line(pair)?;
            parts.skip_punctuation();
            let rest = parts.0.clone();
            let last = !rest.clone().any(|pair| pair.as_rule() == Rule::statement);
            let kind = match line {
                Line::Open(result) if last => {
                    block.result = Some(Box::new(result));
                    block.blank_before_result = blank_before;
                    block.trailing = comments;
                    let after: Vec<_> = rest.map(|pair| self.comment(&pair)).collect();
                    self.nothing_after(&after, "the result of a block");
                    return Some(block);
                }
                Line::Open(expr) => StatementKind::Expr(expr),
                Line::Statement(kind) => kind,
            };
            block.statements.push(Statement { comments: std::mem::take(&mut comments), blank_before, kind, span });
        }
        block.trailing = comments;
        Some(block)
    }

    fn line(&self, pair: Pair<'_>) -> Option<Line> {
        let mut parts = Parts::of(pair);
        let inner = parts.next()?;
        let kind = match inner.as_rule() {
            Rule::let_statement => {
                let mut parts = Parts::of(inner);
                let pattern = self.binding(parts.one(Rule::binding)?)?;
                StatementKind::Let(pattern, self.expr(parts.one(Rule::expr)?)?)
            }
            Rule::ignore_statement => {
                let mut parts = Parts::of(inner);
                let name = self.ident(&parts.one(Rule::word)?);
                StatementKind::Ignore(name, self.string(&parts.one(Rule::string)?))
            }
            Rule::return_statement => StatementKind::Return(self.expr(Parts::of(inner).one(Rule::expr)?)?),
            Rule::since_statement => StatementKind::Since(self.since(Parts::of(inner).one(Rule::since_clause)?)?),
            rule => {
                let expr = if rule == Rule::expr { self.expr(inner)? } else { self.primary(inner)? };
                match parts.one(Rule::semicolon) {
                    Some(_) => StatementKind::Expr(expr),
                    None => return Some(Line::Open(expr)),
                }
            }
        };
        Some(Line::Statement(kind))
    }

    /// An error for comments after the last element, where they belong to nothing.
    pub(super) fn nothing_after(&self, comments: &[Comment], last: &str) {
        let Some(comment) = comments.first() else { return };
        let error = Diagnostic::new("E0004", comment.span, format!("a comment cannot stand after {last}"));
        self.error(error.help("put it on its own line, above what it describes"));
    }
}
