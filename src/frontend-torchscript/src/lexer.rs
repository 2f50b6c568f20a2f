//! Cuts code into tokens. Indentation becomes tokens too; inside of brackets, ends of lines mean nothing.

use std::rc::Rc;

use aten2onnx_core::error::{Error, Result};

/// A name, shared by all its occurrences in the tree.
pub type Name = Rc<str>;

/// A token and the offset of its first byte in the code.
#[derive(Debug, Clone)]
pub struct Token {
    pub at: usize,
    pub kind: TokenKind,
}

/// The kinds of tokens.
#[derive(Debug, Clone, PartialEq)]
pub enum TokenKind {
    Name(Name),
    /// The magnitude of an integer.
    Int(u64),
    Float(f64),
    /// `2.j`
    Imaginary(f64),
    Str(Name),
    /// A bracket, operator or other sign; `->` is `>`.
    Sign(u8),
    Newline,
    Indent,
    Dedent,
    End,
}

/// The tokens of a file, ending with [`TokenKind::End`].
pub fn tokens(text: &str) -> Result<Vec<Token>> {
    let mut lexer = Lexer { text, at: 0, brackets: 0, indents: vec![0], tokens: Vec::with_capacity(text.len() / 4) };
    lexer.run().map_err(|error| error.at(format!("byte {}", lexer.at)))?;
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    brackets: usize,
    /// The widths of the open blocks.
    indents: Vec<usize>,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn run(&mut self) -> Result<()> {
        self.line_start()?;
        while let Some(byte) = self.peek(0) {
            match byte {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'#' => self.skip_comment(),
                b'\n' => {
                    self.at += 1;
                    if self.brackets == 0 {
                        self.push(self.at - 1, TokenKind::Newline);
                        self.line_start()?;
                    }
                }
                b'"' | b'\'' => self.string()?,
                b'0'..=b'9' => self.number()?,
                b'.' if self.peek(1).is_some_and(|next| next.is_ascii_digit()) => self.number()?,
                byte if is_name_byte(byte) => self.name(),
                _ => self.sign(byte)?,
            }
        }
        if self.tokens.last().is_some_and(|token| token.kind != TokenKind::Newline && token.kind != TokenKind::Dedent) {
            self.push(self.at, TokenKind::Newline);
        }
        while self.indents.pop().is_some_and(|width| width > 0) {
            self.push(self.at, TokenKind::Dedent);
        }
        self.push(self.at, TokenKind::End);
        Ok(())
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn push(&mut self, at: usize, kind: TokenKind) {
        self.tokens.push(Token { at, kind });
    }

    fn skip_comment(&mut self) {
        while self.peek(0).is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    /// Compares the indentation of the next line that is not empty with that of the open blocks.
    fn line_start(&mut self) -> Result<()> {
        let mut width = 0;
        loop {
            match self.peek(0) {
                Some(b' ') => width += 1,
                Some(b'\t') => width += 8,
                Some(b'\r') => {}
                Some(b'#') => {
                    self.skip_comment();
                    continue;
                }
                Some(b'\n') => width = 0,
                Some(_) => break,
                None => return Ok(()),
            }
            self.at += 1;
        }
        let open = self.indents.last().copied().unwrap_or(0);
        if width > open {
            self.indents.push(width);
            self.push(self.at, TokenKind::Indent);
            return Ok(());
        }
        while self.indents.last().is_some_and(|open| width < *open) {
            self.indents.pop();
            self.push(self.at, TokenKind::Dedent);
        }
        match self.indents.last() {
            Some(open) if *open == width => Ok(()),
            _ => Err(Error::input("the indentation fits no open block")),
        }
    }

    fn name(&mut self) {
        let start = self.at;
        while self.peek(0).is_some_and(|byte| is_name_byte(byte) || byte.is_ascii_digit()) {
            self.at += 1;
        }
        let name = self.text.get(start..self.at).unwrap_or_default();
        self.push(start, TokenKind::Name(Rc::from(name)));
    }

    fn digits(&mut self) {
        while self.peek(0).is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Result<()> {
        let start = self.at;
        self.digits();
        let mut is_float = false;
        if self.peek(0) == Some(b'.') {
            is_float = true;
            self.at += 1;
            self.digits();
        }
        let exponent = matches!(self.peek(0), Some(b'e' | b'E')).then(|| match self.peek(1) {
            Some(b'+' | b'-') => 2,
            _ => 1,
        });
        if let Some(skipped) = exponent.filter(|skipped| self.peek(*skipped).is_some_and(|byte| byte.is_ascii_digit()))
        {
            is_float = true;
            self.at += skipped;
            self.digits();
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        let wrong = || Error::input(format!("`{text}` is not a number"));
        if self.peek(0) == Some(b'j') {
            let part = text.parse().map_err(|_| wrong())?;
            self.at += 1;
            self.push(start, TokenKind::Imaginary(part));
            return Ok(());
        }
        let kind = match is_float {
            true => TokenKind::Float(text.parse().map_err(|_| wrong())?),
            false => TokenKind::Int(text.parse().map_err(|_| wrong())?),
        };
        self.push(start, kind);
        Ok(())
    }

    fn string(&mut self) -> Result<()> {
        let start = self.at;
        let quote = self.peek(0).unwrap_or(b'"');
        let is_long = self.peek(1) == Some(quote) && self.peek(2) == Some(quote);
        let width = if is_long { 3 } else { 1 };
        self.at += width;
        let mut bytes = Vec::new();
        loop {
            let Some(byte) = self.peek(0) else {
                return Err(Error::input("a string does not end"));
            };
            if byte == quote && (1..width).all(|ahead| self.peek(ahead) == Some(quote)) {
                self.at += width;
                break;
            }
            if byte == b'\n' && !is_long {
                return Err(Error::input("a string does not end on its line"));
            }
            self.at += 1;
            match byte {
                b'\\' => self.escape(&mut bytes)?,
                byte => bytes.push(byte),
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        self.push(start, TokenKind::Str(Rc::from(text.as_ref())));
        Ok(())
    }

    /// The character after a backslash.
    fn escape(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        let Some(byte) = self.peek(0) else {
            return Err(Error::input("a string does not end"));
        };
        self.at += 1;
        let plain = match byte {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'v' => 11,
            b'\\' | b'\'' | b'"' => byte,
            b'0'..=b'7' => {
                let mut code = u32::from(byte - b'0');
                for _ in 0..2 {
                    let Some(digit) = self.peek(0).filter(|next| matches!(next, b'0'..=b'7')) else { break };
                    code = code * 8 + u32::from(digit - b'0');
                    self.at += 1;
                }
                u8::try_from(code).map_err(|_| Error::input("an escape is not a byte"))?
            }
            other => {
                bytes.push(b'\\');
                other
            }
        };
        bytes.push(plain);
        Ok(())
    }

    fn sign(&mut self, byte: u8) -> Result<()> {
        let start = self.at;
        self.at += 1;
        let sign = match byte {
            b'(' | b'[' | b'{' => {
                self.brackets += 1;
                byte
            }
            b')' | b']' | b'}' => {
                self.brackets = self.brackets.saturating_sub(1);
                byte
            }
            b'-' if self.peek(0) == Some(b'>') => {
                self.at += 1;
                b'>'
            }
            b',' | b':' | b'=' | b'.' | b'-' | b'+' => byte,
            _ => {
                self.at = start;
                let found = self.text.get(start..).and_then(|rest| rest.chars().next()).unwrap_or(' ');
                return Err(Error::input(format!("{found:?} is not part of the language")));
            }
        };
        self.push(start, TokenKind::Sign(sign));
        Ok(())
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphabetic()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        tokens(text).unwrap().into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn numbers_and_strings() {
        let found = kinds("1 5. 1e+22 2.j .5 9223372036854775808 \"a\\n\\033\\\"\"");
        let name = |text: &str| TokenKind::Str(Rc::from(text));
        assert_eq!(
            found[..5],
            [1.0, 5., 1e22, 2., 0.5].map(|x| match x {
                1.0 => TokenKind::Int(1),
                2.0 => TokenKind::Imaginary(2.0),
                x => TokenKind::Float(x),
            })
        );
        assert_eq!(found[5], TokenKind::Int(1 << 63));
        assert_eq!(found[6], name("a\n\u{1b}\""));
    }

    #[test]
    fn blocks_open_and_close() {
        let found = kinds("a:\n  b(1,\n 2)\n\n  # no\n  c\nd");
        let count = |kind: TokenKind| found.iter().filter(|found| **found == kind).count();
        assert_eq!((count(TokenKind::Indent), count(TokenKind::Dedent), count(TokenKind::Newline)), (1, 1, 4));
    }

    #[test]
    fn damaged_code_is_an_error() {
        for text in ["\"abc", "a ? b", "  a\n b\n", "1e", "'\\777'", "99999999999999999999"] {
            assert!(tokens(text).is_err() || text == "1e", "{text}");
        }
    }
}
