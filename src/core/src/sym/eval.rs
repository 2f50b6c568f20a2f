//! Evaluates an expression for given symbols.

use std::collections::HashMap;
use std::hash::BuildHasher;

use super::division::{floor_div_known, modulo_known};
use super::{Atom, Function, SymInt};

impl SymInt {
    /// The value; None if a symbol is missing, a divisor is 0 or the result does not fit an `i64`.
    pub fn eval(&self, symbols: &HashMap<String, i64, impl BuildHasher>) -> Option<i64> {
        self.eval_with(&|name| symbols.get(name).copied())
    }

    /// The value with symbols looked up by `f`.
    pub(crate) fn eval_with(&self, f: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
        i64::try_from(self.eval_wide(f)?).ok()
    }

    fn eval_wide(&self, f: &dyn Fn(&str) -> Option<i64>) -> Option<i128> {
        let mut sum = 0i128;
        for (coefficient, factors) in self.terms() {
            let mut product = i128::from(coefficient);
            for (atom, power) in factors {
                product = product.checked_mul(atom.eval(f)?.checked_pow(*power)?)?;
            }
            sum = sum.checked_add(product)?;
        }
        Some(sum)
    }
}

impl Atom {
    fn eval(&self, f: &dyn Fn(&str) -> Option<i64>) -> Option<i128> {
        match self {
            Atom::Symbol(name) => f(name).map(i128::from),
            Atom::Function(Function::Special(special), args) => special.eval(args, f),
            Atom::Function(function, args) => {
                let args: Vec<i128> = args.iter().map(|a| a.eval_wide(f)).collect::<Option<_>>()?;
                function.eval(&args)
            }
        }
    }
}

impl Function {
    fn eval(self, args: &[i128]) -> Option<i128> {
        match (self, args) {
            (Function::FloorDiv, [a, b]) => floor_div_known(*a, *b),
            (Function::Mod, [a, b]) => modulo_known(*a, *b),
            (Function::Pow, [a, b]) => a.checked_pow(u32::try_from(*b).ok()?),
            (Function::Min, args) => args.iter().min().copied(),
            (Function::Max, args) => args.iter().max().copied(),
            (Function::Add, args) => args.iter().try_fold(0i128, |a, b| a.checked_add(*b)),
            (Function::Mul, args) => args.iter().try_fold(1i128, |a, b| a.checked_mul(*b)),
            _ => None,
        }
    }
}
