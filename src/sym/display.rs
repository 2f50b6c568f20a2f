//! The text of an expression, as it is written into `dim_param`.

use std::fmt;

use super::{Atom, Function, SymInt};

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
    /// May it stand in a product without parentheses?
    fn is_tight(&self) -> bool {
        matches!(self, Atom::Symbol(_) | Atom::Function(Function::Min | Function::Max, _))
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
    };
    f.write_str(open)?;
    for (i, arg) in args.iter().enumerate() {
        if i > 0 {
            f.write_str(separator)?;
        }
        if !open.is_empty() || is_tight(arg) { write!(f, "{arg}")? } else { write!(f, "({arg})")? }
    }
    f.write_str(close)
}

fn is_tight(n: &SymInt) -> bool {
    match n.known() {
        Some(n) => n >= 0,
        None => n.only_atom().is_some_and(Atom::is_tight),
    }
}
