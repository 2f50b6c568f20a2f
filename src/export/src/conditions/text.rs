//! The text of a condition, as Python writes it.

use aten2onnx_core::sym::{Atom, Function, Special, SymInt};

/// How tightly parts of a text are bound: those that are looser than their place are put in parentheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binds {
    Choice,
    Or,
    And,
    Not,
    Comparison,
    BitOr,
    BitXor,
    BitAnd,
    Sum,
    Product,
    Power,
    Whole,
}

/// A text, and how tightly its parts are bound.
struct Part(String, Binds);

/// A condition or a number.
pub fn text(value: &SymInt) -> String {
    part_of(value).0
}

fn part_of(value: &SymInt) -> Part {
    let mut terms = value.terms();
    let Some(first) = terms.next() else { return Part("0".to_owned(), Binds::Whole) };
    let part = term(first.0, first.1);
    let mut rest = terms.peekable();
    if rest.peek().is_none() {
        return part;
    }
    let mut text = part.0;
    for (coefficient, factors) in rest {
        let sign = if coefficient < 0 { " - " } else { " + " };
        text.push_str(sign);
        let size = coefficient.checked_abs().unwrap_or(i64::MAX);
        text.push_str(&within(term(size, factors), Binds::Product));
    }
    Part(text, Binds::Sum)
}

fn term(coefficient: i64, factors: &[(Atom, u32)]) -> Part {
    if factors.is_empty() {
        let binds = if coefficient < 0 { Binds::Sum } else { Binds::Whole };
        return Part(coefficient.to_string(), binds);
    }
    if let ([(found, 1)], 1) = (factors, coefficient) {
        return atom(found);
    }
    let mut text = match coefficient {
        1 => String::new(),
        -1 => "-".to_owned(),
        number => format!("{number}*"),
    };
    for (index, (found, power)) in factors.iter().enumerate() {
        text.push_str(if index > 0 { "*" } else { "" });
        // `a*(b//c)` is not `a*b//c`.
        text.push_str(&within(atom(found), Binds::Power));
        if *power != 1 {
            text.push_str(&format!("**{power}"));
        }
    }
    Part(text, if coefficient < 0 { Binds::Sum } else { Binds::Product })
}

fn atom(atom: &Atom) -> Part {
    match atom {
        Atom::Symbol(name) => Part(name.to_string(), Binds::Whole),
        Atom::Function(function, args) => call(*function, args),
    }
}

fn call(function: Function, args: &[SymInt]) -> Part {
    match function {
        Function::FloorDiv => infix(args, "//", Binds::Product),
        Function::Mod => infix(args, " % ", Binds::Product),
        Function::Pow => infix(args, "**", Binds::Power),
        Function::Add => infix(args, " + ", Binds::Sum),
        Function::Mul => infix(args, "*", Binds::Product),
        Function::Min => named("min", args),
        Function::Max => named("max", args),
        Function::Special(special) => special_call(special, args),
    }
}

fn special_call(special: Special, args: &[SymInt]) -> Part {
    match special {
        Special::Number(bits) => Part(format!("{:?}", f64::from_bits(bits)), Binds::Whole),
        Special::Add => infix(args, " + ", Binds::Sum),
        Special::Mul => infix(args, "*", Binds::Product),
        Special::Div => infix(args, "/", Binds::Product),
        Special::Pow => infix(args, "**", Binds::Power),
        Special::Min => named("min", args),
        Special::Max => named("max", args),
        // Python converts by itself.
        Special::ToFloat => args.first().map_or_else(|| named("float", args), part_of),
        Special::Unary(unary) => named(&format!("math.{}", unary.name()), args),
        Special::TruncToFloat | Special::TruncToInt => named("int", args),
        Special::FloorToInt => named("math.floor", args),
        Special::CeilToInt => named("math.ceil", args),
        Special::RoundToInt => named("round", args),
        Special::BitAnd => infix(args, " & ", Binds::BitAnd),
        Special::BitOr => infix(args, " | ", Binds::BitOr),
        Special::BitXor => infix(args, " ^ ", Binds::BitXor),
        Special::Relation(relation) => infix(args, &format!(" {} ", relation.sign()), Binds::Comparison),
        Special::And => infix(args, " and ", Binds::And),
        Special::Or => infix(args, " or ", Binds::Or),
        Special::Not => match args {
            [of_what] => Part(format!("not {}", within(part_of(of_what), Binds::Comparison)), Binds::Not),
            _ => named("not", args),
        },
        Special::Where | Special::WhereReal => match args {
            [condition, yes, no] => {
                let inner = |value: &SymInt| within(part_of(value), Binds::Or);
                Part(format!("{} if {} else {}", inner(yes), inner(condition), inner(no)), Binds::Choice)
            }
            _ => named("where", args),
        },
    }
}

/// Operands with an operator between them. All but those of `and`, `or`, `+` and `*` are put in parentheses unless they bind more tightly.
fn infix(args: &[SymInt], sign: &str, binds: Binds) -> Part {
    let any_order = matches!(sign, " and " | " or " | " + " | "*");
    let part = |(index, arg): (usize, &SymInt)| {
        let part = part_of(arg);
        let fits = part.1 > binds
            || part.1 == binds && (index == 0 || any_order) && binds != Binds::Comparison && binds != Binds::Power;
        // `a*b // c` reads as `a*(b // c)` to many.
        let fits = fits && !(matches!(sign, "//" | " % " | "/") && part.1 == Binds::Product);
        if fits { part.0 } else { format!("({})", part.0) }
    };
    let parts: Vec<String> = args.iter().enumerate().map(part).collect();
    Part(parts.join(sign), binds)
}

fn named(name: &str, args: &[SymInt]) -> Part {
    let args: Vec<String> = args.iter().map(text).collect();
    Part(format!("{name}({})", args.join(", ")), Binds::Whole)
}

/// The text at a place where only what binds at least as tightly stands without parentheses.
fn within(part: Part, least: Binds) -> String {
    if part.1 >= least { part.0 } else { format!("({})", part.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aten2onnx_core::sym::{Relation, Unary};

    #[test]
    fn conditions_are_written_as_python() {
        let (h, w) = (SymInt::symbol("h"), SymInt::symbol("w"));
        let known = |number: i64| SymInt::from(number);
        let special =
            |special, args: &[&SymInt]| SymInt::special(special, args.iter().map(|arg| (*arg).clone()).collect());
        let is = |relation, a: &SymInt, b: &SymInt| special(Special::Relation(relation), &[a, b]);
        let equal = |a: &SymInt, b: i64| is(Relation::Equal, a, &known(b));
        let real = |x: f64| special(Special::number(x), &[]);
        let less = is(Relation::Less, &h, &w);
        let cases = [
            (equal(&h.modulo(&known(16)), 0), "h % 16 == 0"),
            (equal(&(&h * &w), 35), "h*w == 35"),
            (is(Relation::Equal, &w, &(&w.floor_div(&known(16)) * 16)), "w == 16*(w//16)"),
            (equal(&(&h * &w).modulo(&known(3)), 0), "(h*w) % 3 == 0"),
            (equal(&(&h + 1).floor_div(&known(4)), 2), "(h + 1)//4 == 2"),
            (equal(&(&h * -2 + SymInt::from(1)), -9), "-2*h + 1 == -9"),
            (equal(&h.pow(&known(2)), 9), "h**2 == 9"),
            (equal(&(&h + 1).pow(&w), 9), "(h + 1)**w == 9"),
            (
                equal(&special(Special::CeilToInt, &[&special(Special::Div, &[&h, &known(2)])]), 4),
                "math.ceil(h/2) == 4",
            ),
            (
                is(
                    Relation::Less,
                    &special(Special::Unary(Unary::Sqrt), &[&special(Special::ToFloat, &[&(&h + 1)])]),
                    &real(5.5),
                ),
                "math.sqrt(h + 1) < 5.5",
            ),
            (
                special(Special::Or, &[&less, &special(Special::And, &[&equal(&h, 3), &equal(&w, 2)])]),
                "h < w or h == 3 and w == 2",
            ),
            (
                special(Special::And, &[&less, &special(Special::Or, &[&equal(&h, 3), &equal(&w, 2)])]),
                "h < w and (h == 3 or w == 2)",
            ),
            (special(Special::Not, &[&special(Special::Or, &[&less, &less])]), "not (h < w or h < w)"),
            (equal(&special(Special::Where, &[&less, &h, &w]), 3), "(h if h < w else w) == 3"),
            (equal(&h.max(&w), 3), "max(h, w) == 3"),
            (equal(&special(Special::BitAnd, &[&h, &known(1)]), 1), "h & 1 == 1"),
        ];
        for (condition, expected) in cases {
            // Python binds `&` more tightly than `==`.
            assert_eq!(text(&condition), expected);
        }
    }
}
