//! Numbers and strings.

use super::{Pair, Parts, Reader, Rule};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, SinceClause, TextPart};
use crate::syntax::brackets::Brackets;
use crate::syntax::lines::Lines;
use crate::syntax::scan;

/// A number as written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Int(i64),
    Float(f64),
}

impl Reader<'_> {
    /// A number without a sign, or 0 after an error.
    pub(super) fn number(&self, pair: &Pair<'_>) -> Number {
        let (text, span) = (pair.as_str(), self.span(pair));
        if text.bytes().all(|b| b.is_ascii_digit()) {
            return Number::Int(text.parse().unwrap_or_else(|_| {
                let error = Diagnostic::new("E0005", span, "this integer does not fit in 64 bits");
                self.error(error.help("the limits are `INT64_MIN` and `INT64_MAX`"));
                0
            }));
        }
        let known = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
        match text.parse::<f64>() {
            Ok(value) if known && value.is_finite() => return Number::Float(value),
            Ok(_) if known => {
                let error = Diagnostic::new("E0005", span, "this number does not fit in a float64");
                self.error(error.help("write `INF` for infinity"));
            }
            _ => {
                let error = Diagnostic::new("E0005", span, format!("`{text}` is not a number"));
                self.error(error.help("write numbers as `12`, `0.5` or `1e-5`"));
            }
        }
        Number::Int(0)
    }

    /// A number as an expression.
    pub(super) fn number_expr(&self, pair: &Pair<'_>) -> Expr {
        let kind = match self.number(pair) {
            Number::Int(value) => ExprKind::Int(value),
            Number::Float(value) => ExprKind::Float(value, pair.as_str().to_owned()),
        };
        Expr { kind, span: self.span(pair) }
    }

    /// An opset or a size.
    pub(super) fn small_integer(&self, pair: &Pair<'_>) -> u32 {
        match self.number(pair) {
            Number::Int(value) if u32::try_from(value).is_ok() => value as u32,
            _ => {
                self.error(Diagnostic::new("E0005", self.span(pair), "expected a small integer"));
                0
            }
        }
    }

    /// `since N "reason"`
    pub(super) fn since(&self, pair: Pair<'_>) -> Option<SinceClause> {
        let span = self.span(&pair);
        let mut parts = Parts::of(pair);
        let number = parts.one(Rule::number)?;
        let reason = self.string(&parts.one(Rule::string)?);
        Some(SinceClause { opset: self.small_integer(&number), opset_span: self.span(&number), reason, span })
    }

    /// The content of a string.
    pub(super) fn string(&self, pair: &Pair<'_>) -> String {
        let mut text = String::new();
        let mut rest = Text::of(pair, self.offset);
        while let Some((at, c)) = rest.next() {
            match c {
                '\\' => text.extend(self.escape(&mut rest, at)),
                _ => text.extend(self.printable(c, at)),
            }
        }
        text
    }

    /// The text of a `fail`, split at the expressions in braces.
    pub(super) fn fail_text(&self, pair: &Pair<'_>) -> Vec<TextPart> {
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = Text::of(pair, self.offset);
        while let Some((at, c)) = rest.next() {
            match c {
                '\\' => text.extend(self.escape(&mut rest, at)),
                '{' | '}' if rest.next_if(c) => text.push(c),
                '}' => {
                    let error = Diagnostic::new("E0005", self.span_at(at, 1), "`}` without `{` in the string");
                    self.error(error.help("write `}}` for a brace"));
                }
                '{' => {
                    if !text.is_empty() {
                        parts.push(TextPart::Text(std::mem::take(&mut text)));
                    }
                    parts.extend(self.embedded(&mut rest, at).map(TextPart::Expr));
                }
                _ => text.extend(self.printable(c, at)),
            }
        }
        if !text.is_empty() {
            parts.push(TextPart::Text(text));
        }
        parts
    }

    /// The expression after a `{` at `start`.
    fn embedded(&self, rest: &mut Text<'_>, start: usize) -> Option<Expr> {
        let from = rest.at;
        let mut depth = 1;
        while let Some((at, c)) = rest.next() {
            depth += match c {
                '{' => 1,
                '}' => -1,
                _ => 0,
            };
            if depth == 0 {
                return self.nested(from..at);
            }
        }
        let error = Diagnostic::new("E0005", self.span_at(start, 1), "unclosed `{` in the string");
        self.error(error.help("write `{{` for a brace"));
        None
    }

    /// Parses an expression in a string, at these bytes of the file.
    fn nested(&self, range: std::ops::Range<usize>) -> Option<Expr> {
        let source = self.lines.source.get(..range.end)?;
        let text = source.get(range.start..)?;
        let lines = Lines { source, file: self.lines.file };
        let mut brackets = Brackets::in_text(lines);
        let mut tokens = scan::scan(text).into_iter().map(|token| token.offset_by(range.start));
        if let Some(error) = tokens.find_map(|token| brackets.feed(token)).or_else(|| brackets.finish()) {
            self.error(error);
            return None;
        }
        let inside = Reader { lines, offset: range.start, errors: Default::default() };
        let expr = inside.parse(Rule::lone_expr, text).and_then(|pair| inside.expr(pair));
        self.errors.borrow_mut().append(&mut inside.errors.borrow_mut());
        expr
    }

    /// The character of the escape sequence that begins with the backslash at `start`.
    fn escape(&self, rest: &mut Text<'_>, start: usize) -> Option<char> {
        let (_, c) = rest.next()?;
        match c {
            '"' | '\\' => Some(c),
            'n' => Some('\n'),
            't' => Some('\t'),
            _ => {
                let error =
                    Diagnostic::new("E0005", self.span_at(start, 1 + c.len_utf8()), format!("unknown escape `\\{c}`"));
                self.error(error.help("the escapes are `\\\\`, `\\\"`, `\\n` and `\\t`"));
                None
            }
        }
    }

    /// A character other than an escape. Control characters are errors.
    fn printable(&self, c: char, at: usize) -> Option<char> {
        if c.is_control() && c != '\t' {
            let message = format!("control character U+{:04X} in a string", c as u32);
            self.error(Diagnostic::new("E0005", self.span_at(at, c.len_utf8()), message));
            return None;
        }
        Some(c)
    }

    fn span_at(&self, at: usize, length: usize) -> Span {
        self.lines.span(at..at + length)
    }
}

/// The characters between quotes, with their places in the file.
struct Text<'i> {
    rest: &'i str,
    at: usize,
}

impl<'i> Text<'i> {
    fn of(pair: &Pair<'i>, offset: usize) -> Self {
        let text = pair.as_str();
        let rest = text.get(1..text.len().saturating_sub(1)).unwrap_or("");
        Text { rest, at: offset + pair.as_span().start() + 1 }
    }

    fn next(&mut self) -> Option<(usize, char)> {
        let mut chars = self.rest.chars();
        let c = chars.next()?;
        let at = self.at;
        self.rest = chars.as_str();
        self.at += c.len_utf8();
        Some((at, c))
    }

    /// Takes the next character if it is this one.
    fn next_if(&mut self, wanted: char) -> bool {
        let found = self.rest.starts_with(wanted);
        if found {
            self.next();
        }
        found
    }
}
