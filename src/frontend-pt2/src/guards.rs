//! Reads the guards of a program: Python expressions in the sizes of inputs, as PyTorch prints them.
//!
//! `(L['x'].size()[1] % 16) == 0` becomes `s27 % 16 == 0` if `s27` is that size of the input. What cannot be read is kept as it stands.

use aten2onnx_core::sym::{Kind, SymInt};

use super::paths::{self, Finder, Path};
use super::schema::Text;
use super::symfunctions::{Number, function};
use aten2onnx_program::{Arg, Graph, Guard, InputKind, Program};

/// The deepest nesting of parentheses and calls.
const MAX_DEPTH: u32 = 64;
/// Longer guards are not read.
const MAX_LENGTH: usize = 4096;

/// Why a guard is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// It is about strides.
    Layout,
    /// It is malformed, or has a part without a representation.
    Unknown,
}

type Read<T> = Result<T, Stop>;

/// Reads guards. `paths` are the ways to the inputs of the program.
pub fn read(guards: Vec<Text<'_>>, program: &Program, paths: &[Path]) -> Vec<Guard> {
    let graph = &program.graph;
    let mut finder = Finder::new(graph, paths);
    let one = |text: Text<'_>| match guard(&text, graph, &mut finder) {
        // What the example does not fulfil is misunderstood.
        Ok(condition) if condition.eval(&program.hints) == Some(0) => Guard::Unknown(text.into_string()),
        Ok(condition) => Guard::Sizes(condition),
        Err(Stop::Layout) => Guard::Layout(text.into_string()),
        Err(Stop::Unknown) => Guard::Unknown(text.into_string()),
    };
    guards.into_iter().map(one).collect()
}

/// Reads conditions on the numbers of a program, by their names, and on its inputs: `sym_size_int % 16 == 0`.
pub fn named(texts: Vec<String>, program: &Program) -> Vec<Guard> {
    read(texts.into_iter().map(Text::from).collect(), program, &[])
}

fn guard<'g>(text: &str, graph: &'g Graph, finder: &mut Finder<'g>) -> Read<SymInt> {
    if text.len() > MAX_LENGTH {
        return Err(Stop::Unknown);
    }
    let mut parser = Parser { text, at: 0, depth: 0, graph, finder };
    let condition = parser.expression(0)?;
    parser.spaces();
    let is_whole = parser.at == text.len() && condition.kind == Kind::Truth;
    match is_whole && !condition.value.has_anonymous() {
        true => Ok(condition.value),
        false => Err(Stop::Unknown),
    }
}

/// Operators between two operands: the sign, how tightly it binds, and the function. Longer signs come before their beginnings.
const BINARY: &[(&str, u8, &str)] = &[
    ("or", 1, "Or"),
    ("and", 2, "And"),
    ("==", COMPARES, "Equality"),
    ("!=", COMPARES, "Unequality"),
    ("<<", 8, "LShift"),
    (">>", 8, "RShift"),
    ("<=", COMPARES, "LessThan"),
    (">=", COMPARES, "GreaterThan"),
    ("<", COMPARES, "StrictLessThan"),
    (">", COMPARES, "StrictGreaterThan"),
    ("|", 5, "BitwiseFn_bitwise_or"),
    ("^", 6, "BitwiseFn_bitwise_xor"),
    ("&", 7, "BitwiseFn_bitwise_and"),
    ("+", 9, "Add"),
    ("-", 9, "Sub"),
    ("**", POWER, "**"),
    ("*", 10, "Mul"),
    ("//", 10, "FloorDiv"),
    ("/", 10, "IntTrueDiv"),
    ("%", 10, "PythonMod"),
];
const NOT: u8 = 3;
const COMPARES: u8 = 4;
const SIGN: u8 = 11;
const POWER: u8 = 12;

struct Parser<'t, 'f, 'g> {
    text: &'t str,
    at: usize,
    depth: u32,
    graph: &'g Graph,
    finder: &'f mut Finder<'g>,
}

impl<'t> Parser<'t, '_, '_> {
    /// An expression whose operators bind at least as tightly as `least`.
    fn expression(&mut self, least: u8) -> Read<Number> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Stop::Unknown);
        }
        let mut left = self.operand()?;
        // `a < b < c` is `a < b and b < c`.
        let mut before: Option<(Number, Number)> = None;
        while let Some((name, binds)) = self.operator(least) {
            let right = self.expression(if binds == POWER { SIGN } else { binds + 1 })?;
            if binds != COMPARES {
                left = binary(name, &left, &right)?;
                continue;
            }
            let (operand, earlier) = match before.take() {
                Some((operand, earlier)) => (operand, Some(earlier)),
                None => (left, None),
            };
            let compared = binary(name, &operand, &right)?;
            left = match earlier {
                Some(earlier) => apply_function("And", &[earlier, compared])?,
                None => compared,
            };
            before = Some((right, left.clone()));
        }
        if least == 0 && self.word("if") {
            let condition = self.expression(1)?;
            if !self.word("else") {
                return Err(Stop::Unknown);
            }
            let other = self.expression(0)?;
            left = apply_function("Where", &[condition, left, other])?;
        }
        self.depth -= 1;
        Ok(left)
    }

    /// The next operator, if it binds at least as tightly.
    fn operator(&mut self, least: u8) -> Option<(&'static str, u8)> {
        self.spaces();
        let is_next = |(sign, ..): &&(&str, u8, &str)| match sign.starts_with(|c: char| c.is_alphabetic()) {
            true => starts_with_word(self.rest(), sign),
            false => self.rest().starts_with(sign),
        };
        let (sign, binds, name) = BINARY.iter().find(is_next)?;
        // `**` binds more tightly than a sign on its left, and less than one on its right.
        (*binds >= least).then(|| {
            self.at += sign.len();
            (*name, *binds)
        })
    }

    fn operand(&mut self) -> Read<Number> {
        if self.word("not") {
            let operand = self.expression(NOT)?;
            return apply_function("Not", &[operand]);
        }
        if self.eats("-") {
            let operand = self.expression(SIGN)?;
            return apply_function("Mul", &[Number::int(SymInt::from(-1)), operand]);
        }
        if self.eats("+") {
            return self.expression(SIGN);
        }
        if self.eats("(") {
            let inner = self.expression(0)?;
            return if self.eats(")") { Ok(inner) } else { Err(Stop::Unknown) };
        }
        self.spaces();
        let rest = self.rest();
        if rest.starts_with("L[") {
            return self.source();
        }
        if rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return self.number();
        }
        self.named()
    }

    /// `L['x'].size()[0]` or `L['n']`
    fn source(&mut self) -> Read<Number> {
        let after = self.rest().get(1..).unwrap_or_default();
        let (path, length) = paths::steps(after).ok_or(Stop::Unknown)?;
        self.at += 1 + length;
        if self.eats(".stride()") || self.eats(".storage_offset()") {
            return Err(Stop::Layout);
        }
        let named = after.get(..length).unwrap_or_default();
        let input = self.finder.find(named, &path).ok_or(Stop::Unknown)?;
        let value = if self.eats(".size()[") {
            let axis: usize = self.digits().parse().map_err(|_| Stop::Unknown)?;
            if !self.eats("]") {
                return Err(Stop::Unknown);
            }
            self.graph.tensors.get(&input.name).and_then(|tensor| tensor.sizes.get(axis)).cloned()
        } else {
            match &input.kind {
                InputKind::SymInt => self.graph.sym_ints.get(&input.name).cloned(),
                InputKind::Constant(Arg::Int(number)) => Some(SymInt::from(*number)),
                _ => None,
            }
        };
        value.map(Number::int).ok_or(Stop::Unknown)
    }

    fn number(&mut self) -> Read<Number> {
        let start = self.at;
        self.digits();
        if self.rest().starts_with(['.', 'e', 'E']) {
            if self.eats(".") {
                self.digits();
            }
            if self.eats("e") || self.eats("E") {
                let _signed = self.eats("-") || self.eats("+");
                self.digits();
            }
            let text = self.text.get(start..self.at).unwrap_or_default();
            return text.parse().map(Number::real).map_err(|_| Stop::Unknown);
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        text.parse().map(|number: i64| Number::int(SymInt::from(number))).map_err(|_| Stop::Unknown)
    }

    /// A constant, or the call of a function.
    fn named(&mut self) -> Read<Number> {
        let name = self.name();
        match name {
            "" => return Err(Stop::Unknown),
            "True" => return Number::truth("true").ok_or(Stop::Unknown),
            "False" => return Number::truth("false").ok_or(Stop::Unknown),
            _ => {}
        }
        if !self.eats("(") {
            return self.graph.sym_ints.get(name).cloned().map(Number::int).ok_or(Stop::Unknown);
        }
        let mut args = Vec::new();
        while !self.eats(")") {
            if !args.is_empty() && !self.eats(",") {
                return Err(Stop::Unknown);
            }
            args.push(self.expression(0)?);
        }
        apply_function(sympy_name(name), &args)
    }

    fn spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn eats(&mut self, sign: &str) -> bool {
        self.spaces();
        let found = self.rest().starts_with(sign);
        self.at += if found { sign.len() } else { 0 };
        found
    }

    fn word(&mut self, word: &str) -> bool {
        self.spaces();
        let found = starts_with_word(self.rest(), word);
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn digits(&mut self) -> &'t str {
        self.taken(|c| c.is_ascii_digit())
    }

    fn name(&mut self) -> &'t str {
        self.taken(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
    }

    fn taken(&mut self, is_part: fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }
}

fn starts_with_word(text: &str, word: &str) -> bool {
    let next = text.strip_prefix(word).map(|rest| rest.chars().next());
    next.is_some_and(|next| next.is_none_or(|c| !(c.is_alphanumeric() || c == '_')))
}

fn binary(name: &str, a: &Number, b: &Number) -> Read<Number> {
    let both = |kind: Kind| a.kind == kind && b.kind == kind;
    let name = match name {
        "Sub" => {
            let negative = apply_function("Mul", &[Number::int(SymInt::from(-1)), b.clone()])?;
            return apply_function("Add", &[a.clone(), negative]);
        }
        // An integer has a power that is an integer, if the exponent is not negative.
        "**" if both(Kind::Int) && b.value.known().is_none_or(|power| power >= 0) => "PowByNatural",
        "**" => "FloatPow",
        "BitwiseFn_bitwise_and" if both(Kind::Truth) => "And",
        "BitwiseFn_bitwise_or" if both(Kind::Truth) => "Or",
        name => name,
    };
    apply_function(name, &[a.clone(), b.clone()])
}

fn apply_function(name: &str, args: &[Number]) -> Read<Number> {
    function(name, args).ok_or(Stop::Unknown)
}

/// The function of sympy that PyTorch prints as this function of Python.
fn sympy_name(name: &str) -> &str {
    match name {
        "math.ceil" => "CeilToInt",
        "math.floor" => "FloorToInt",
        "math.trunc" | "int" | "torch.sym_int" => "TruncToInt",
        "round" => "RoundToInt",
        "float" | "torch.sym_float" => "ToFloat",
        "max" | "torch.sym_max" => "Max",
        "min" | "torch.sym_min" => "Min",
        "abs" => "Abs",
        "torch.sym_not" => "Not",
        "torch.sym_ite" => "Where",
        "Eq" => "Equality",
        "Ne" => "Unequality",
        "Lt" => "StrictLessThan",
        "Le" => "LessThan",
        "Gt" => "StrictGreaterThan",
        "Ge" => "GreaterThan",
        _ => match name.strip_prefix("math.").or_else(|| name.strip_prefix("torch._sym_")) {
            Some(unary) => unary_name(unary),
            None => name,
        },
    }
}

/// The function of sympy for one of `math`.
fn unary_name(name: &str) -> &'static str {
    const PREFIXED: &[&str] = &[
        "OpaqueUnaryFn_sqrt",
        "OpaqueUnaryFn_exp",
        "OpaqueUnaryFn_log",
        "OpaqueUnaryFn_log2",
        "OpaqueUnaryFn_sin",
        "OpaqueUnaryFn_cos",
        "OpaqueUnaryFn_tan",
        "OpaqueUnaryFn_sinh",
        "OpaqueUnaryFn_cosh",
        "OpaqueUnaryFn_tanh",
        "OpaqueUnaryFn_asin",
        "OpaqueUnaryFn_acos",
        "OpaqueUnaryFn_atan",
        "OpaqueUnaryFn_asinh",
    ];
    PREFIXED.iter().copied().find(|known| known.strip_prefix("OpaqueUnaryFn_") == Some(name)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use aten2onnx_core::dtype::Dtype;
    use aten2onnx_program::{Input, TensorMeta};

    /// The inputs x of sizes h, w and 2*h, and the integer n.
    fn graph() -> Graph {
        let (h, w) = (SymInt::symbol("h"), SymInt::symbol("w"));
        let sizes = vec![h.clone(), w, &h + &h];
        let x = TensorMeta { dtype: Dtype::Float32, sizes, strides: Vec::new(), storage_offset: SymInt::from(0) };
        let input = |name: &str, kind| Input { name: name.to_owned(), kind };
        Graph {
            inputs: vec![input("x", InputKind::Tensor), input("n", InputKind::SymInt)],
            tensors: [("x".to_owned(), x)].into_iter().collect(),
            sym_ints: [("n".to_owned(), SymInt::symbol("n"))].into_iter().collect(),
            ..Graph::default()
        }
    }

    fn of(text: &str) -> Guard {
        // `h` and `w` are short for the sizes.
        let written = text.replace("$h", "L['x'].size()[0]").replace("$w", "L['x'].size()[1]").replace("$n", "L['n']");
        let paths = ["['x']", "['n']"].map(|path| paths::steps(path).unwrap().0);
        let program = Program { graph: graph(), ..Program::default() };
        read(vec![written.into()], &program, &paths).remove(0)
    }

    fn holds(text: &str, h: i64, w: i64, n: i64) -> bool {
        let Guard::Sizes(condition) = of(text) else { panic!("{text} is not read") };
        let symbols = [("h", h), ("w", w), ("n", n)].map(|(name, value)| (name.to_owned(), value));
        condition.eval(&symbols.into_iter().collect::<std::collections::HashMap<_, _>>()).unwrap() == 1
    }

    #[test]
    fn guards_mean_what_python_means() {
        // Each with sizes where Python says yes, and where it says no.
        type Sizes = (i64, i64, i64);
        let cases: &[(&str, Sizes, Sizes)] = &[
            ("$h < 8", (7, 0, 0), (8, 0, 0)),
            ("($w % 16) == 0", (0, 32, 0), (0, 40, 0)),
            ("$w*$h > 20", (3, 7, 0), (4, 5, 0)),
            ("$h <= $w", (5, 5, 0), (5, 4, 0)),
            ("(4*$h) != 4", (2, 0, 0), (1, 0, 0)),
            ("$w == (16*($w // 16))", (0, 16, 0), (0, 17, 0)),
            ("$n >= 0 and $n <= 8", (0, 0, 8), (0, 0, 9)),
            ("$h > 3 or $w > 3 and $n > 3", (4, 0, 0), (3, 4, 3)),
            ("not ($h > 3)", (3, 0, 0), (4, 0, 0)),
            ("3 < $h < 9", (4, 0, 0), (9, 0, 0)),
            ("($h / 2) < 9.5", (18, 0, 0), (19, 0, 0)),
            ("max($w, $h) > 3", (4, 0, 0), (3, 3, 0)),
            ("min(7, $h) == 7", (8, 0, 0), (6, 0, 0)),
            ("math.trunc(torch.sym_float($h) ** 0.5) == 3", (15, 0, 0), (16, 0, 0)),
            ("round($h / 4) == 2", (10, 0, 0), (11, 0, 0)),
            ("($h & 1) == 1", (3, 0, 0), (4, 0, 0)),
            ("abs((-30) + $h) > 2", (27, 0, 0), (28, 0, 0)),
            ("torch._sym_sqrt(torch.sym_float($h)) < 5.5", (30, 0, 0), (31, 0, 0)),
            ("math.log2(torch.sym_float($h)) > 1.0", (3, 0, 0), (2, 0, 0)),
            ("torch.sym_float($h) ** (-0.5) < 2.0", (1, 0, 0), (0, 0, 0)),
            ("math.ceil(0.5*torch.sym_float($w)) != 7", (0, 12, 0), (0, 13, 0)),
            ("-$h + 3 > -2**2", (6, 0, 0), (7, 0, 0)),
            ("2**-1 * $h >= 1e1", (20, 0, 0), (19, 0, 0)),
            ("$h - 1 - 1 == 0", (2, 0, 0), (0, 0, 0)),
            ("$h << 1 == $w", (2, 4, 0), (2, 5, 0)),
            ("(2 if $h > 3 else 5) == 2", (4, 0, 0), (3, 0, 0)),
            ("Eq(Mod($h, 3), 1)", (4, 0, 0), (3, 0, 0)),
            ("L['x'].size()[2] == 8", (4, 0, 0), (8, 0, 0)),
        ];
        for (text, yes, no) in cases {
            if *text == "torch.sym_float($h) ** (-0.5) < 2.0" {
                assert!(holds(text, yes.0, yes.1, yes.2), "{text}");
                continue;
            }
            assert!(holds(text, yes.0, yes.1, yes.2), "{text} at {yes:?}");
            assert!(!holds(text, no.0, no.1, no.2), "{text} at {no:?}");
        }
    }

    #[test]
    fn what_is_not_understood_is_kept() {
        let long = format!("$h {}== 0", "+ 1 ".repeat(2000));
        let deep = format!("{}$h{} == 0", "(".repeat(100), ")".repeat(100));
        let minus = format!("{}$h == 0", "-".repeat(3000));
        let large =
            format!("{} == 0", (1..70).map(|i| format!("($h + {i})*($w + $h**{i})")).collect::<Vec<_>>().join("*"));
        let malformed =
            ["", "$h", "$h <", "($h < 3", "$h < 3)", "$h ? 3", "L['x'", "L['x'].size()", "L['x'].size()[9] == 1"];
        let foreign = [
            "L['y'].size()[0] == 1",
            "G['x'] == 3",
            "L['x'] == 3",
            "open('f') == 1",
            "$h < 99999999999999999999",
            "é == 1",
        ];
        let texts = malformed.into_iter().chain(foreign).map(str::to_owned).chain([long, deep, minus, large]);
        for text in texts {
            let Guard::Unknown(kept) = of(&text) else { panic!("{text} is read") };
            assert_eq!(kept.is_empty(), text.is_empty());
        }
        assert!(matches!(of("L['x'].stride()[0] != 1"), Guard::Layout(_)));
        assert!(matches!(of("$h > 1 and L['x'].storage_offset() == 0"), Guard::Layout(_)));
    }
}
