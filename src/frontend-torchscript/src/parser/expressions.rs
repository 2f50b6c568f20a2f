//! Expressions: literals, names, calls and subscripts.

use std::rc::Rc;

use super::{MAX_DEPTH, Parser};
use crate::lexer::TokenKind;
use crate::syntax::{Expr, ExprKind, Name};
use aten2onnx_core::error::{Error, Result};

impl Parser {
    /// An expression, or several with commas between them: a tuple.
    pub(super) fn listed(&mut self) -> Result<Expr> {
        let at = self.at();
        let first = self.expr()?;
        if !self.is_sign(b',') {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.take(b',') && !matches!(self.kind(), TokenKind::Newline | TokenKind::Sign(b']' | b')')) {
            items.push(self.expr()?);
        }
        Ok(Expr { at, kind: ExprKind::Tuple(items) })
    }

    pub(super) fn expr(&mut self) -> Result<Expr> {
        self.nested(Parser::sum)
    }

    /// `1.5-2.j` is the only sum.
    fn sum(&mut self) -> Result<Expr> {
        let at = self.at();
        let left = self.unary()?;
        let sign = match self.kind() {
            TokenKind::Sign(b'+') => 1.0,
            TokenKind::Sign(b'-') => -1.0,
            _ => return Ok(left),
        };
        self.next += 1;
        let right = self.unary()?;
        match (&left.kind, &right.kind) {
            (ExprKind::Float(re), ExprKind::Complex(0.0, im)) => {
                Ok(Expr { at, kind: ExprKind::Complex(*re, sign * im) })
            }
            (ExprKind::Int(re), ExprKind::Complex(0.0, im)) => {
                Ok(Expr { at, kind: ExprKind::Complex(*re as f64, sign * im) })
            }
            _ => Err(Error::unsupported("the code has a sum that is no complex number")),
        }
    }

    fn unary(&mut self) -> Result<Expr> {
        let at = self.at();
        if !self.take(b'-') {
            return self.postfix();
        }
        if let TokenKind::Int(magnitude) = *self.kind() {
            self.next += 1;
            let number = 0_i64.checked_sub_unsigned(magnitude);
            let number = number.ok_or_else(|| Error::input("an integer does not fit into 64 bits"))?;
            return Ok(Expr { at, kind: ExprKind::Int(number) });
        }
        let inner = self.nested(Parser::unary)?;
        let kind = match inner.kind {
            ExprKind::Float(number) => ExprKind::Float(-number),
            ExprKind::Complex(re, im) => ExprKind::Complex(-re, -im),
            _ => ExprKind::Neg(Box::new(inner)),
        };
        Ok(Expr { at, kind })
    }

    fn postfix(&mut self) -> Result<Expr> {
        let mut expr = self.primary()?;
        // Each step makes the tree deeper.
        let depth = self.depth;
        loop {
            let at = self.at();
            let kind = match self.kind() {
                TokenKind::Sign(b'.') => {
                    self.next += 1;
                    ExprKind::Attribute(Box::new(expr), self.name()?)
                }
                TokenKind::Sign(b'(') => {
                    self.next += 1;
                    let (args, named) = self.arguments()?;
                    ExprKind::Call { callee: Box::new(expr), args, named }
                }
                TokenKind::Sign(b'[') => {
                    self.next += 1;
                    self.subscript(expr)?
                }
                _ => break,
            };
            expr = Expr { at, kind };
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(Error::unsupported(format!("the code is nested deeper than {MAX_DEPTH} levels")));
            }
        }
        self.depth = depth;
        Ok(expr)
    }

    #[allow(clippy::type_complexity)]
    fn arguments(&mut self) -> Result<(Vec<Expr>, Vec<(Name, Expr)>)> {
        let (mut args, mut named) = (Vec::new(), Vec::new());
        while !self.take(b')') {
            match (self.kind(), self.kind_after(1)) {
                (TokenKind::Name(_), TokenKind::Sign(b'=')) => {
                    let name = self.name()?;
                    self.expect(b'=')?;
                    named.push((name, self.expr()?));
                }
                _ => args.push(self.expr()?),
            }
            if !self.take(b',') && !self.is_sign(b')') {
                return Err(self.unexpected("`,` or `)`"));
            }
        }
        Ok((args, named))
    }

    fn subscript(&mut self, object: Expr) -> Result<ExprKind> {
        let object = Box::new(object);
        let start = if self.is_sign(b':') { None } else { Some(Box::new(self.listed()?)) };
        if self.take(b':') {
            let end = if self.is_sign(b']') { None } else { Some(Box::new(self.expr()?)) };
            self.expect(b']')?;
            return Ok(ExprKind::Slice(object, start, end));
        }
        self.expect(b']')?;
        start.map(|index| ExprKind::Index(object, index)).ok_or_else(|| self.unexpected("an index"))
    }

    fn primary(&mut self) -> Result<Expr> {
        let at = self.at();
        let kind = match self.kind().clone() {
            TokenKind::Name(name) => {
                self.next += 1;
                match &*name {
                    "None" => ExprKind::None,
                    "True" => ExprKind::Bool(true),
                    "False" => ExprKind::Bool(false),
                    "infj" => ExprKind::Complex(0.0, f64::INFINITY),
                    "nanj" => ExprKind::Complex(0.0, f64::NAN),
                    _ => ExprKind::Name(name),
                }
            }
            TokenKind::Int(number) => {
                self.next += 1;
                let number = i64::try_from(number);
                ExprKind::Int(number.map_err(|_| Error::input("an integer does not fit into 64 bits"))?)
            }
            TokenKind::Float(number) => {
                self.next += 1;
                ExprKind::Float(number)
            }
            TokenKind::Imaginary(part) => {
                self.next += 1;
                ExprKind::Complex(0.0, part)
            }
            TokenKind::Str(first) => self.adjacent_strings(first),
            TokenKind::Sign(b'(') => {
                self.next += 1;
                return self.parenthesised(at);
            }
            TokenKind::Sign(b'[') => {
                self.next += 1;
                ExprKind::List(self.items(b']')?)
            }
            TokenKind::Sign(b'{') => {
                self.next += 1;
                let mut pairs = Vec::new();
                while !self.take(b'}') {
                    let key = self.expr()?;
                    self.expect(b':')?;
                    pairs.push((key, self.expr()?));
                    if !self.take(b',') && !self.is_sign(b'}') {
                        return Err(self.unexpected("`,` or `}`"));
                    }
                }
                ExprKind::Dict(pairs)
            }
            _ => return Err(self.unexpected("an expression")),
        };
        Ok(Expr { at, kind })
    }

    fn adjacent_strings(&mut self, first: Name) -> ExprKind {
        self.next += 1;
        if !matches!(self.kind(), TokenKind::Str(_)) {
            return ExprKind::Str(first);
        }
        let mut text = first.to_string();
        while let TokenKind::Str(more) = self.kind() {
            text.push_str(more);
            self.next += 1;
        }
        ExprKind::Str(Rc::from(text))
    }

    /// `(x)` is x; `(x,)` and `(x, y)` are tuples.
    fn parenthesised(&mut self, at: usize) -> Result<Expr> {
        if self.take(b')') {
            return Ok(Expr { at, kind: ExprKind::Tuple(Vec::new()) });
        }
        let first = self.expr()?;
        if self.take(b')') {
            return Ok(first);
        }
        self.expect(b',')?;
        let mut items = vec![first];
        items.extend(self.items(b')')?);
        Ok(Expr { at, kind: ExprKind::Tuple(items) })
    }

    fn items(&mut self, end: u8) -> Result<Vec<Expr>> {
        let mut items = Vec::new();
        while !self.take(end) {
            items.push(self.expr()?);
            if !self.take(b',') && !self.is_sign(end) {
                return Err(self.unexpected(&format!("`,` or `{}`", char::from(end))));
            }
        }
        Ok(items)
    }
}
