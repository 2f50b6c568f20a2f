//! Checks before parsing that brackets balance and that nothing is nested too deep.
//!
//! The parser and all walks over the tree are recursive, so the depth of the tree is bounded here. The depth of an item is counted
//! from its tokens: a bracket, `if`, `match` or closure is one level. A chain of operators makes a deep tree too, so each operator
//! counts a quarter of a level.

use super::lines::Lines;
use super::scan::{Kind, Token};
use crate::diagnostic::Diagnostic;

/// The largest number of levels.
const MAX_LEVELS: usize = 48;
/// The largest number of levels in an expression inside a string.
const MAX_LEVELS_IN_TEXT: usize = 8;
/// The count of a level. An operator counts 1.
const LEVEL: usize = 4;

/// The state of the scan inside one item.
#[derive(Debug)]
pub struct Brackets<'a> {
    lines: Lines<'a>,
    /// The largest count.
    most: usize,
    open: Vec<Open>,
    /// The expression outside all brackets.
    outside: Expression,
    /// A pair whose ends have different indentation: probably the place of an unbalanced bracket.
    suspicious: Option<Token>,
}

/// A bracket that is still open.
#[derive(Debug)]
struct Open {
    token: Token,
    /// The count of everything around it.
    base: usize,
    inside: Expression,
}

/// The depth of the current expression, up to the next comma or semicolon.
#[derive(Debug, Default)]
struct Expression {
    count: usize,
    after_brace: bool,
}

impl<'a> Brackets<'a> {
    /// Before the first token of an item.
    pub fn new(lines: Lines<'a>) -> Self {
        Brackets { lines, most: MAX_LEVELS * LEVEL, open: Vec::new(), outside: Expression::default(), suspicious: None }
    }

    /// Before the first token of an expression in a string. Its levels are added to those of the item.
    pub fn in_text(lines: Lines<'a>) -> Self {
        Brackets { most: MAX_LEVELS_IN_TEXT * LEVEL, ..Self::new(lines) }
    }

    /// Whether no bracket is open.
    pub fn balanced(&self) -> bool {
        self.open.is_empty()
    }

    /// Takes the next token and returns an error, if there is one.
    pub fn feed(&mut self, token: Token) -> Option<Diagnostic> {
        match token.kind {
            Kind::Open => self.open(token),
            Kind::Close => self.close(token),
            Kind::Word => self.word(token),
            Kind::Mark => self.mark(token),
            _ => None,
        }
    }

    /// After the last token: the error of a bracket that is still open.
    pub fn finish(&self) -> Option<Diagnostic> {
        let last = self.open.last()?;
        let bracket = last.token.text(self.lines.source);
        let mut error =
            Diagnostic::new("E0002", self.lines.span(last.token.range()), format!("`{bracket}` is never closed"))
                .label(format!("no matching `{}`", closer(bracket)));
        if let Some(token) = self.suspicious {
            error = error.also(
                self.lines.span(token.range()),
                "by its indentation, this bracket may be the one that is not closed",
            );
        }
        Some(error)
    }

    fn open(&mut self, token: Token) -> Option<Diagnostic> {
        let base = self.depth() + LEVEL;
        self.current().after_brace = false;
        self.open.push(Open { token, base, inside: Expression::default() });
        self.check(token)
    }

    fn close(&mut self, token: Token) -> Option<Diagnostic> {
        let text = token.text(self.lines.source);
        let Some(open) = self.open.pop() else {
            return Some(
                Diagnostic::new("E0002", self.lines.span(token.range()), format!("unmatched `{text}`"))
                    .label("no bracket is open here"),
            );
        };
        let bracket = open.token.text(self.lines.source);
        if closer(bracket) != text {
            return Some(
                Diagnostic::new("E0002", self.lines.span(token.range()), format!("`{text}` cannot close `{bracket}`"))
                    .label(format!("expected `{}`", closer(bracket)))
                    .also(self.lines.span(open.token.range()), "opened here"),
            );
        }
        self.suspect(open.token, token);
        let around = self.current();
        around.count += 1;
        around.after_brace = text == "}";
        None
    }

    /// Records the first pair whose closing bracket begins a line with another indentation than that of the opening one.
    fn suspect(&mut self, open: Token, close: Token) {
        let (before, after) = (open.before(self.lines.source), close.before(self.lines.source));
        let begins_line = after.trim().is_empty();
        if self.suspicious.is_none() && begins_line && indentation(before) != after.len() && !self.open.is_empty() {
            self.suspicious = Some(open);
        }
    }

    fn word(&mut self, token: Token) -> Option<Diagnostic> {
        let text = token.text(self.lines.source);
        let around = self.current();
        if around.after_brace && !matches!(text, "else" | "in") {
            around.count = 0;
        }
        around.count += match text {
            "if" | "match" => LEVEL,
            "in" => 1,
            _ => 0,
        };
        around.after_brace = false;
        self.check(token)
    }

    fn mark(&mut self, token: Token) -> Option<Diagnostic> {
        let text = token.text(self.lines.source);
        let around = self.current();
        match text {
            "," | ";" | "=>" => around.count = 0,
            "|" | "||" => around.count += LEVEL,
            "." | "::" | ".." | "=" | "->" => {}
            _ => around.count += 1,
        }
        around.after_brace = false;
        self.check(token)
    }

    fn current(&mut self) -> &mut Expression {
        match self.open.last_mut() {
            Some(open) => &mut open.inside,
            None => &mut self.outside,
        }
    }

    fn depth(&self) -> usize {
        self.open.last().map_or(self.outside.count, |open| open.base + open.inside.count)
    }

    fn check(&self, token: Token) -> Option<Diagnostic> {
        if self.depth() <= self.most {
            return None;
        }
        Some(
            Diagnostic::new("E0003", self.lines.span(token.range()), "nested too deep")
                .label("too deep from here on")
                .note(format!(
                    "the limit is {} levels; brackets, `if`, `match`, closures and four operators in a row are one level each",
                    self.most / LEVEL
                ))
                .help("bind parts of it with `let`, or move them to a `fn`"),
        )
    }
}

fn closer(open: &str) -> &'static str {
    match open {
        "(" => ")",
        "[" => "]",
        _ => "}",
    }
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
