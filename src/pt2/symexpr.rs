//! Symbolic expressions: sympy's `srepr` text to [`SymInt`].
//!
//! `Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(1))` is `2*s77 + 1`. An integer expression that
//! SymInt cannot hold (it passes through floats or fractions) becomes an anonymous symbol, the same for the same text.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::sym::SymInt;

/// Calls within calls; torch's own stay below ten.
const MAX_DEPTH: u32 = 64;
/// Longer expressions are not worth looking into.
const MAX_LENGTH: usize = 4096;

/// Reads expressions; the same text is read once.
#[derive(Debug, Default)]
pub struct Expressions {
    known: HashMap<String, SymInt>,
    opaque: HashMap<String, SymInt>,
}

impl Expressions {
    /// The value of an expression.
    pub fn read(&mut self, text: &str) -> Result<SymInt> {
        if let Some(value) = self.known.get(text) {
            return Ok(value.clone());
        }
        let value = self.parse(text).map_err(|error| error.at(format!("expression {:?}", shortened(text))))?;
        self.known.insert(text.to_owned(), value.clone());
        Ok(value)
    }

    fn parse(&mut self, text: &str) -> Result<SymInt> {
        if text.len() > MAX_LENGTH {
            return Ok(self.anonymous(text));
        }
        let mut parser = Parser { text, at: 0, expressions: self };
        let value = parser.expression(0)?;
        parser.spaces();
        if parser.at != text.len() {
            return Err(parser.error("something follows the expression"));
        }
        Ok(value.unwrap_or_else(|| self.anonymous(text)))
    }

    /// The symbol that stands for an expression that cannot be looked into.
    fn anonymous(&mut self, text: &str) -> SymInt {
        if let Some(symbol) = self.opaque.get(text) {
            return symbol.clone();
        }
        let symbol = SymInt::symbol(format!("?expr_{}", self.opaque.len()));
        self.opaque.insert(text.to_owned(), symbol.clone());
        symbol
    }
}

/// For messages.
fn shortened(text: &str) -> &str {
    text.char_indices().nth(120).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

struct Parser<'t, 'e> {
    text: &'t str,
    at: usize,
    expressions: &'e mut Expressions,
}

impl<'t> Parser<'t, '_> {
    /// An integer expression, or None for one that is not made of integers.
    fn expression(&mut self, depth: u32) -> Result<Option<SymInt>> {
        if depth > MAX_DEPTH {
            return Err(self.error("it is nested too deeply"));
        }
        self.spaces();
        let start = self.at;
        let name = self.word();
        if name.is_empty() {
            return Err(self.error("a function was expected"));
        }
        if !self.eats('(') {
            return Ok(None);
        }
        match name {
            "Symbol" | "Dummy" => {
                let symbol = self.quoted()?;
                self.keywords()?;
                let plain = symbol.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !symbol.is_empty();
                Ok(plain.then(|| SymInt::symbol(symbol)))
            }
            "Integer" => {
                let number = self.number();
                self.closes()?;
                Ok(number.parse().ok().map(|number: i64| SymInt::from(number)))
            }
            "Float" => {
                self.quoted()?;
                self.keywords()?;
                Ok(None)
            }
            "Rational" => {
                self.number();
                self.eats(',');
                self.number();
                self.closes()?;
                Ok(None)
            }
            _ => {
                let args = self.arguments(depth)?;
                Ok(self.call(name, &args, start))
            }
        }
    }

    /// The arguments up to the closing parenthesis.
    fn arguments(&mut self, depth: u32) -> Result<Vec<Option<SymInt>>> {
        let mut args = Vec::new();
        while !self.eats(')') {
            if !args.is_empty() && !self.eats(',') {
                return Err(self.error("`,` or `)` was expected"));
            }
            if let Some(argument) = self.argument(depth)? {
                args.push(argument);
            }
        }
        Ok(args)
    }

    /// An argument; None if it is `key=word` (such as `evaluate=False`), which says nothing of the value.
    fn argument(&mut self, depth: u32) -> Result<Option<Option<SymInt>>> {
        self.spaces();
        let start = self.at;
        self.word();
        if self.eats('=') {
            self.word();
            return Ok(None);
        }
        self.at = start;
        self.expression(depth + 1).map(Some)
    }

    /// `name(args)`, whose text starts at `start` and ends here.
    fn call(&mut self, name: &str, args: &[Option<SymInt>], start: usize) -> Option<SymInt> {
        let ints: Option<Vec<SymInt>> = args.iter().cloned().collect();
        if let Some(value) = ints.as_deref().and_then(|ints| function(name, ints)) {
            return Some(value);
        }
        let is_integer = matches!(
            name,
            "TruncToInt" | "FloorToInt" | "CeilToInt" | "RoundToInt" | "FloorDiv" | "CeilDiv" | "Mod" | "PythonMod"
        );
        let text = self.text.get(start..self.at).unwrap_or_default();
        is_integer.then(|| self.expressions.anonymous(text))
    }

    fn spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn word(&mut self) -> &'t str {
        self.spaces();
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn number(&mut self) -> &'t str {
        self.spaces();
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '-')).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn quoted(&mut self) -> Result<&'t str> {
        self.spaces();
        let rest = self.rest();
        let inner = rest.strip_prefix('\'').and_then(|rest| rest.split_once('\''));
        let (inner, _) = inner.ok_or_else(|| self.error("a quoted name was expected"))?;
        self.at += inner.len() + 2;
        Ok(inner)
    }

    /// `, key=word` as often as they come, and the closing parenthesis.
    fn keywords(&mut self) -> Result<()> {
        while self.eats(',') {
            self.word();
            if !self.eats('=') {
                return Err(self.error("`=` was expected"));
            }
            self.word();
        }
        self.closes()
    }

    fn closes(&mut self) -> Result<()> {
        if self.eats(')') { Ok(()) } else { Err(self.error("`)` was expected")) }
    }

    fn eats(&mut self, c: char) -> bool {
        self.spaces();
        let eaten = self.rest().starts_with(c);
        self.at += if eaten { c.len_utf8() } else { 0 };
        eaten
    }

    fn error(&self, message: &str) -> Error {
        Error::input(format!("{message} at character {}", self.at))
    }
}

/// A function of integers; None if it does not give an integer or is not known.
fn function(name: &str, args: &[SymInt]) -> Option<SymInt> {
    let fold = |f: fn(&SymInt, &SymInt) -> SymInt| {
        let (first, rest) = args.split_first()?;
        Some(rest.iter().fold(first.clone(), |value, arg| f(&value, arg)))
    };
    match (name, args) {
        ("Add", _) => fold(SymInt::add),
        ("Mul", _) => fold(SymInt::mul),
        ("Max", _) => fold(SymInt::max),
        ("Min", _) => fold(SymInt::min),
        ("FloorDiv" | "CleanDiv", [a, b]) => Some(a.floor_div(b)),
        ("CeilDiv", [a, b]) => Some(a.ceil_div(b)),
        ("Mod" | "PythonMod", [a, b]) => Some(a.modulo(b)),
        ("ModularIndexing", [a, b, c]) => Some(a.floor_div(b).modulo(c)),
        // With a negative exponent it is a fraction.
        ("Pow" | "PowByNatural", [a, b]) if b.known().is_some_and(|power| power >= 0) => Some(a.pow(b)),
        ("PowByNatural", [a, b]) => Some(a.pow(b)),
        ("LShift", [a, b]) => Some(a.mul(&SymInt::from(2).pow(b))),
        ("RShift", [a, b]) => Some(a.floor_div(&SymInt::from(2).pow(b))),
        ("Identity", [a]) => Some(a.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(expression: &str) -> String {
        Expressions::default()
            .read(expression)
            .map_or_else(|error| format!("error: {error}"), |value| value.to_string())
    }

    const S: &str = "Symbol('s77', positive=True, integer=True)";

    #[test]
    fn expressions_of_integers_are_read() {
        assert_eq!(text(S), "s77");
        assert_eq!(text(&format!("Add(Mul(Integer(2), {S}), Integer(1))")), "2*s77 + 1");
        assert_eq!(text(&format!("FloorDiv({S}, Integer(2))")), "s77//2");
        assert_eq!(text("Add(Symbol('u0', integer=True), Integer(-1))"), "u0 - 1");
        assert_eq!(text(&format!("Mul(Integer(8), {S}, evaluate=False)")), "8*s77");
        assert_eq!(text(&format!("Pow({S}, Integer(2))")), text(&format!("Mul({S}, {S})")));
    }

    #[test]
    fn what_is_no_integer_on_the_way_is_anonymous() {
        let mut expressions = Expressions::default();
        let inner = format!("TruncToInt(FloatTrueDiv(ToFloat({S}), Float('2.0', precision=53)))");
        let value = expressions.read(&inner).unwrap_or_default();
        assert!(value.as_symbol().is_some_and(|name| name.starts_with('?')), "{value}");
        let sum = expressions.read(&format!("Add({inner}, Integer(1))")).unwrap_or_default();
        assert_eq!(sum, value.add(&SymInt::from(1)));
        assert!(text(&format!("Mul(Rational(1, 2), {S})")).starts_with('?'));
        assert!(text(&format!("Mul({S}, Pow(Integer(2), Integer(-1)))")).starts_with('?'));
        assert!(text("Integer(99999999999999999999)").starts_with('?'));
        assert!(text("Symbol('a b')").starts_with('?'));
    }

    #[test]
    fn hostile_expressions_are_errors() {
        for bad in
            ["", "(", "Add(", "Add(Integer(1)", "Add(Integer(1) Integer(2))", "Symbol(s)", "Symbol('s'", "Integer(1))"]
        {
            assert!(text(bad).starts_with("error"), "{bad}");
        }
        let deep = format!("{}Integer(1){}", "Add(".repeat(100), ")".repeat(100));
        assert!(text(&deep).contains("nested too deeply"));
        let long = format!("{}Integer(1){}", "Add(".repeat(100_000), ")".repeat(100_000));
        assert!(text(&long).starts_with('?'));
    }
}
