//! Parses symbolic expressions: sympy's `srepr` text to [`SymInt`].
//!
//! `Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(1))` is `2*s77 + 1`. An integer expression
//! with an unknown function becomes an anonymous symbol, the same for the same text.

use rustc_hash::FxHashMap;

use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::{Kind, SymInt};

use super::symfunctions::{Number, function};

/// The maximal nesting of calls; torch's own stays below ten.
const MAX_DEPTH: u32 = 64;
/// Longer expressions are not parsed.
const MAX_LENGTH: usize = 4096;

/// Parses expressions; the same text is parsed once.
#[derive(Debug, Default)]
pub struct Expressions {
    known: FxHashMap<String, SymInt>,
    opaque: FxHashMap<String, SymInt>,
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
            return Err(parser.error("unexpected text after the expression"));
        }
        Ok(value.filter(|number| number.kind == Kind::Int).map_or_else(|| self.anonymous(text), |number| number.value))
    }

    /// The symbol for an expression that is not parsed.
    fn anonymous(&mut self, text: &str) -> SymInt {
        if let Some(symbol) = self.opaque.get(text) {
            return symbol.clone();
        }
        let symbol = SymInt::symbol(format!("?expr_{}", self.opaque.len()));
        self.opaque.insert(text.to_owned(), symbol.clone());
        symbol
    }
}

/// The text for messages.
fn shortened(text: &str) -> &str {
    text.char_indices().nth(120).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

struct Parser<'t, 'e> {
    text: &'t str,
    at: usize,
    expressions: &'e mut Expressions,
}

impl<'t> Parser<'t, '_> {
    /// An expression; None if it has no representation here.
    fn expression(&mut self, depth: u32) -> Result<Option<Number>> {
        if depth > MAX_DEPTH {
            return Err(self.error("the expression is nested too deeply"));
        }
        self.spaces();
        let start = self.at;
        let name = self.word();
        if name.is_empty() {
            return Err(self.error("expected a function"));
        }
        if !self.eats('(') {
            return Ok(Number::truth(name));
        }
        match name {
            "Symbol" | "Dummy" => {
                let symbol = self.quoted()?;
                let is_integer = self.keywords()?.contains(&("integer", "True"));
                let plain = symbol.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !symbol.is_empty();
                // A real number that depends on data has no representation here.
                Ok((plain && is_integer).then(|| Number::int(SymInt::symbol(symbol))))
            }
            "Integer" => {
                let number = self.number();
                self.closes()?;
                Ok(number.parse().ok().map(|number: i64| Number::int(SymInt::from(number))))
            }
            "Float" => {
                let number = self.quoted()?;
                self.keywords()?;
                Ok(number.parse().ok().map(Number::real))
            }
            "Rational" => {
                let above = self.number();
                self.eats(',');
                let below = self.number();
                self.closes()?;
                let parts: Option<(f64, f64)> = above.parse().ok().zip(below.parse().ok());
                Ok(parts.filter(|(_, below)| *below != 0.0).map(|(above, below)| Number::real(above / below)))
            }
            _ => {
                let args = self.arguments(depth)?;
                Ok(self.call(name, &args, start))
            }
        }
    }

    /// The arguments up to the closing parenthesis.
    fn arguments(&mut self, depth: u32) -> Result<Vec<Option<Number>>> {
        let mut args = Vec::new();
        while !self.eats(')') {
            if !args.is_empty() && !self.eats(',') {
                return Err(self.error("expected `,` or `)`"));
            }
            if let Some(argument) = self.argument(depth)? {
                args.push(argument);
            }
        }
        Ok(args)
    }

    /// An argument; None if it is `key=word` (such as `evaluate=False`), which does not affect the value.
    fn argument(&mut self, depth: u32) -> Result<Option<Option<Number>>> {
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

    /// Evaluates `name(args)`, whose text starts at `start` and ends here.
    fn call(&mut self, name: &str, args: &[Option<Number>], start: usize) -> Option<Number> {
        let known: Option<Vec<Number>> = args.iter().cloned().collect();
        if let Some(value) = known.and_then(|args| function(name, &args)) {
            return Some(value);
        }
        let is_integer = matches!(
            name,
            "TruncToInt" | "FloorToInt" | "CeilToInt" | "RoundToInt" | "FloorDiv" | "CeilDiv" | "Mod" | "PythonMod"
        );
        let text = self.text.get(start..self.at).unwrap_or_default();
        is_integer.then(|| Number::int(self.expressions.anonymous(text)))
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
        let (inner, _) = inner.ok_or_else(|| self.error("expected a quoted name"))?;
        self.at += inner.len() + 2;
        Ok(inner)
    }

    /// Repeated `, key=word`, and the closing parenthesis.
    fn keywords(&mut self) -> Result<Vec<(&'t str, &'t str)>> {
        let mut keywords = Vec::new();
        while self.eats(',') {
            let key = self.word();
            if !self.eats('=') {
                return Err(self.error("expected `=`"));
            }
            keywords.push((key, self.word()));
        }
        self.closes()?;
        Ok(keywords)
    }

    fn closes(&mut self) -> Result<()> {
        if self.eats(')') { Ok(()) } else { Err(self.error("expected `)`")) }
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
    fn real_numbers_and_truth_values_may_stand_within() {
        let half = format!("FloatTrueDiv(ToFloat({S}), Float('2.0', precision=53))");
        assert_eq!(text(&format!("TruncToInt({half})")), "TruncToInt(ToFloat(s77)/2.0)");
        assert_eq!(text(&format!("Add(TruncToInt({half}), Integer(1))")), "TruncToInt(ToFloat(s77)/2.0) + 1");
        assert_eq!(text(&format!("floor(Mul(Rational(1, 2), {S}))")), "FloorToInt(0.5*s77)");
        assert_eq!(text(&format!("CeilToInt(IntTrueDiv({S}, Integer(2)))")), "CeilToInt(s77/2)");
        assert_eq!(text(&format!("FloorToInt(Pow({S}, Rational(1, 2)))")), "FloorToInt(s77**0.5)");
        assert_eq!(text(&format!("TruncToInt(OpaqueUnaryFn_sqrt(ToFloat({S})))")), "TruncToInt(sqrt(ToFloat(s77)))");
        assert_eq!(text(&format!("BitwiseFn_bitwise_and({S}, Integer(6))")), "BitAnd(s77, 6)");
        let choice =
            format!("Piecewise(ExprCondPair({S}, StrictGreaterThan({S}, Integer(3))), ExprCondPair(Integer(7), true))");
        assert_eq!(text(&choice), "Where(s77>3, s77, 7)");
        assert_eq!(text("TruncToInt(Mul(Float('1.5', precision=53), ToFloat(Integer(5))))"), "7");
        assert_eq!(text("RoundToInt(Float('2.5', precision=53))"), "2");
        assert_eq!(text(&format!("Abs(Add({S}, Integer(-9)))")), "Max(-s77 + 9, s77 - 9)");
    }

    #[test]
    fn what_is_not_known_is_anonymous() {
        let mut expressions = Expressions::default();
        let inner = format!("TruncToInt(Unheard({S}))");
        let value = expressions.read(&inner).unwrap_or_default();
        assert!(value.as_symbol().is_some_and(|name| name.starts_with('?')), "{value}");
        let sum = expressions.read(&format!("Add({inner}, Integer(1))")).unwrap_or_default();
        assert_eq!(sum, value.add(&SymInt::from(1)));
        // Real numbers, and those that depend on data, are not sizes.
        assert!(text(&format!("Mul(Rational(1, 2), {S})")).starts_with('?'));
        assert!(text(&format!("Mul({S}, Pow(Integer(2), Integer(-1)))")).starts_with('?'));
        assert!(text("TruncToInt(Symbol('zuf0'))").starts_with('?'));
        assert!(text("Integer(99999999999999999999)").starts_with('?'));
        assert!(text("Symbol('a b', integer=True)").starts_with('?'));
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
