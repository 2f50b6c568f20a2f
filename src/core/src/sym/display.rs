//! The text of an expression, as written to `dim_param`.

use std::fmt;

use super::{Atom, Function, Special, SymInt};

impl fmt::Display for SymInt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (coefficient, factors) in self.terms() {
            f.write_str(match (first, coefficient < 0) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            })?;
            write_term(f, coefficient.unsigned_abs(), factors)?;
            first = false;
        }
        if first { f.write_str("0") } else { Ok(()) }
    }
}

fn write_term(f: &mut fmt::Formatter<'_>, coefficient: u64, factors: &[(Atom, u32)]) -> fmt::Result {
    if let ([(atom, 1)], 1) = (factors, coefficient) {
        return write!(f, "{atom}");
    }
    if coefficient != 1 || factors.is_empty() {
        write!(f, "{coefficient}")?;
    }
    for (i, (atom, power)) in factors.iter().enumerate() {
        if i > 0 || coefficient != 1 {
            f.write_str("*")?;
        }
        if atom.is_tight() {
            write!(f, "{atom}")?
        } else {
            write!(f, "({atom})")?
        }
        if *power != 1 {
            write!(f, "**{power}")?;
        }
    }
    Ok(())
}

impl Atom {
    /// Whether it can be a factor without parentheses.
    fn is_tight(&self) -> bool {
        match self {
            Atom::Symbol(_) | Atom::Function(Function::Min | Function::Max, _) => true,
            Atom::Function(Function::Special(special), _) => !special.is_infix(),
            Atom::Function(..) => false,
        }
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Atom::Symbol(name) => f.write_str(name),
            Atom::Function(function, args) => write_function(f, *function, args),
        }
    }
}

fn write_function(f: &mut fmt::Formatter<'_>, function: Function, args: &[SymInt]) -> fmt::Result {
    let (open, separator, close) = match function {
        Function::FloorDiv => ("", "//", ""),
        Function::Mod => ("", " % ", ""),
        Function::Pow => ("", "**", ""),
        Function::Add => ("", " + ", ""),
        Function::Mul => ("", "*", ""),
        Function::Min => ("Min(", ", ", ")"),
        Function::Max => ("Max(", ", ", ")"),
        Function::Special(Special::Number(bits)) => return write!(f, "{:?}", f64::from_bits(bits)),
        Function::Special(special) if special.is_infix() => ("", special.text(), ""),
        Function::Special(special) => {
            write!(f, "{}(", special.text())?;
            ("", ", ", ")")
        }
    };
    let is_call = !close.is_empty();
    f.write_str(open)?;
    for (i, arg) in args.iter().enumerate() {
        if i > 0 {
            f.write_str(separator)?;
        }
        if is_call || is_tight(arg) { write!(f, "{arg}")? } else { write!(f, "({arg})")? }
    }
    f.write_str(close)
}

fn is_tight(n: &SymInt) -> bool {
    match n.known() {
        Some(n) => n >= 0,
        None => n.only_atom().is_some_and(Atom::is_tight),
    }
}

impl Special {
    /// Whether it is written between its arguments.
    fn is_infix(self) -> bool {
        matches!(self, Special::Add | Special::Mul | Special::Div | Special::Pow | Special::Relation(_))
    }

    /// The operator between its arguments, or the name before them.
    fn text(self) -> &'static str {
        match self {
            Special::Number(_) => "",
            Special::Add => " + ",
            Special::Mul => "*",
            Special::Div => "/",
            Special::Pow => "**",
            Special::Relation(relation) => relation.sign(),
            Special::Min => "Min",
            Special::Max => "Max",
            Special::ToFloat => "ToFloat",
            Special::Unary(unary) => unary.name(),
            Special::TruncToFloat => "TruncToFloat",
            Special::TruncToInt => "TruncToInt",
            Special::FloorToInt => "FloorToInt",
            Special::CeilToInt => "CeilToInt",
            Special::RoundToInt => "RoundToInt",
            Special::BitAnd => "BitAnd",
            Special::BitOr => "BitOr",
            Special::BitXor => "BitXor",
            Special::Where | Special::WhereReal => "Where",
            Special::And => "And",
            Special::Or => "Or",
            Special::Not => "Not",
        }
    }
}
