//! Parses code: recursive descent with a limit on the depth. `statements` has files, classes, functions and statements,
//! `expressions` the rest.

mod expressions;
mod statements;

use std::rc::Rc;

use super::lexer::{Token, TokenKind, tokens};
use super::syntax::{Expr, Module, Name};
use aten2onnx_core::error::{Error, Result};

/// The deepest nesting of expressions and blocks. `interpolate` has 30 blocks.
const MAX_DEPTH: usize = 500;

/// Parses a file.
pub fn module(text: &str) -> Result<Module> {
    Parser::new(text)?.whole(Parser::module)
}

/// Parses a type, as pickles contain them: `Dict[str, Tensor]`.
pub fn expression(text: &str) -> Result<Expr> {
    Parser::new(text)?.whole(|parser| {
        let found = parser.expr()?;
        parser.newline()?;
        Ok(found)
    })
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
}

impl Parser {
    fn new(text: &str) -> Result<Parser> {
        Ok(Parser { tokens: tokens(text)?, next: 0, depth: 0 })
    }

    fn whole<T>(mut self, parse: impl FnOnce(&mut Parser) -> Result<T>) -> Result<T> {
        let parsed = parse(&mut self).and_then(|parsed| match self.kind() {
            TokenKind::End => Ok(parsed),
            _ => Err(self.unexpected("the end")),
        });
        parsed.map_err(|error| error.at(format!("byte {}", self.at())))
    }

    fn kind(&self) -> &TokenKind {
        self.tokens.get(self.next).map_or(&TokenKind::End, |token| &token.kind)
    }

    fn kind_after(&self, skipped: usize) -> &TokenKind {
        self.tokens.get(self.next + skipped).map_or(&TokenKind::End, |token| &token.kind)
    }

    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(0, |token| token.at)
    }

    fn is_sign(&self, sign: u8) -> bool {
        *self.kind() == TokenKind::Sign(sign)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.kind(), TokenKind::Name(name) if &**name == word)
    }

    fn take(&mut self, sign: u8) -> bool {
        let found = self.is_sign(sign);
        self.next += usize::from(found);
        found
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, sign: u8) -> Result<()> {
        match self.take(sign) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{}`", char::from(sign)))),
        }
    }

    fn name(&mut self) -> Result<Name> {
        match self.kind() {
            TokenKind::Name(name) => {
                let name = Rc::clone(name);
                self.next += 1;
                Ok(name)
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    fn newline(&mut self) -> Result<()> {
        match self.kind() {
            TokenKind::Newline => {
                self.next += 1;
                Ok(())
            }
            _ => Err(self.unexpected("the end of the line")),
        }
    }

    fn unexpected(&self, wanted: &str) -> Error {
        let found = match self.kind() {
            TokenKind::Name(name) => format!("`{name}`"),
            TokenKind::Int(_) | TokenKind::Float(_) | TokenKind::Imaginary(_) => "a number".to_owned(),
            TokenKind::Str(_) => "a string".to_owned(),
            TokenKind::Sign(sign) => format!("`{}`", char::from(*sign)),
            TokenKind::Newline => "the end of a line".to_owned(),
            TokenKind::Indent | TokenKind::Dedent => "another indentation".to_owned(),
            TokenKind::End => "the end".to_owned(),
        };
        Error::input(format!("the code has {found} where {wanted} is expected"))
    }

    /// Parses something nested.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Parser) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            return Err(Error::unsupported(format!("the code is nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::syntax::StmtKind;
    use super::*;

    #[test]
    fn a_class_with_a_method() {
        let code = "op_version_set = 1\nimport __torch__\nclass M(Module):\n  __parameters__ = [\"w\", ]\n  w : Tensor\n  n : Final[int] = 4\n  \
                    __annotations__[\"0\"] = int\n  def forward(self: __torch__.M,\n    x: Tensor) -> Tensor:\n    \
                    a, b, = (self).f(x, )\n    _1, c = a, (b)[0:2]\n    d : List[int] = [-9223372036854775808, ]\n    self.w = x\n    \
                    return torch.add(a, b, alpha=2)\n";
        let parsed = module(code).unwrap();
        let class = &parsed.classes[0];
        assert_eq!(class.attributes.len(), 3);
        let body = &class.methods[0].body;
        assert!(matches!(&body[0].kind, StmtKind::Assign { unpack: true, .. }));
        assert!(matches!(&body[1].kind, StmtKind::Assign { unpack: false, .. }));
        assert!(matches!(&body[2].kind, StmtKind::Declare { .. }));
        assert!(matches!(&body[3].kind, StmtKind::SetAttribute { .. }));
        assert!(matches!(&body[4].kind, StmtKind::Return(Some(_))));
    }

    /// Archives are read on a thread with a large stack.
    #[test]
    fn deep_nesting_is_an_error() {
        let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(nested_deeply);
        thread.unwrap().join().unwrap();
    }

    fn nested_deeply() {
        for open in ["(", "[", "-", "{1: ", "f("] {
            assert!(expression(&open.repeat(100_000)).is_err());
        }
        assert!(expression(&format!("x{}", ".y".repeat(100_000))).is_err());
        let blocks: String = (0..1000).map(|level| format!("{}while a:\n", " ".repeat(level + 1))).collect();
        assert!(module(&format!("def f():\n{blocks}")).is_err());
    }
}
