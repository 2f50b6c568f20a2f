//! Literals in `view` and `reshape` that stand where a symbolic size was, also beside `-1`.

use super::super::Interpreter;
use crate::literals::argument;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_program::{Arg, IntArg, Node};

impl Interpreter<'_, '_> {
    /// Compares the sizes that a view asks for with those of its tensor.
    pub(super) fn check_view(&mut self, node: &Node) -> Result<()> {
        if !matches!(node.target.as_str(), "aten::view" | "aten::reshape" | "aten::_unsafe_view") {
            return Ok(());
        }
        let Some(own) = self.sizes_of(node, "self").map(<[SymInt]>::to_vec) else { return Ok(()) };
        let Some(Arg::Ints(wanted)) = argument(node, "size").or_else(|| argument(node, "shape")) else {
            return Ok(());
        };
        let wanted = wanted.iter().map(|size| match size {
            IntArg::Known(size) => Some(SymInt::from(*size)),
            IntArg::Named(name) => self.recorder.size(&Arg::Sym(name.clone())),
        });
        let Some(wanted) = wanted.collect::<Option<Vec<SymInt>>>() else { return Ok(()) };
        let count: SymInt = own.iter().product();
        let Some(open) = wanted.iter().position(|size| *size == -1) else {
            let asked: SymInt = wanted.iter().product();
            let difference = count.sub(&asked);
            if difference == 0 || !self.is_of_inputs(&difference) {
                return Ok(());
            }
            self.suspect_covering(node, &own, &wanted);
            return Err(self.fixed_size_error(node, [&wanted, &own], [&asked.sub(&asked), &count]));
        };
        let others = wanted.iter().enumerate().filter(|(index, _)| *index != open).map(|(_, size)| size);
        let others: SymInt = others.product();
        if others == 0 {
            return Ok(());
        }
        let rest = count.floor_div(&others);
        let mut result = wanted.clone();
        if let Some(size) = result.get_mut(open) {
            size.clone_from(&rest);
        }
        let is_suspect = self.suspect_covering(node, &own, &result);
        // A size that does not divide for all values is a contradiction.
        let is_exact = rest.mul(&others).sub(&count) == 0;
        match is_suspect && !is_exact && self.is_of_inputs(&count) && self.is_traced() {
            true => Err(self.fixed_size_error(node, [&wanted, &own], [&others, &count])),
            false => Ok(()),
        }
    }

    /// Suspects the literals that take the place of symbolic sizes; whether there is one.
    fn suspect_covering(&mut self, node: &Node, own: &[SymInt], result: &[SymInt]) -> bool {
        let mut found = false;
        for (axis, size) in own.iter().enumerate() {
            if !self.is_of_inputs(size) {
                continue;
            }
            let before: SymInt = own.get(..axis).unwrap_or_default().iter().product();
            let taken = self.first_at(&before, result).or_else(|| self.covering(&before, size, result));
            if let Some(literal) = taken {
                found |= self.literals.contains(&literal);
                let size = match self.at_example(size) {
                    Some(example) if example != literal && self.at_example(&before.mul(size)) == Some(literal) => {
                        before.mul(size)
                    }
                    _ => size.clone(),
                };
                self.suspect(node, literal, size);
            }
        }
        found
    }

    /// The literal that comes first after so many elements.
    fn first_at(&self, before: &SymInt, result: &[SymInt]) -> Option<i64> {
        let mut reached = SymInt::from(1);
        for size in result {
            if reached == *before {
                return size.known();
            }
            reached = reached.mul(size);
        }
        None
    }

    /// The literal that contains the size in the example.
    fn covering(&self, before: &SymInt, size: &SymInt, result: &[SymInt]) -> Option<i64> {
        let start = self.at_example(before)?;
        let end = start.checked_mul(self.at_example(size)?)?;
        let mut reached = 1_i64;
        for size in result {
            let next = reached.checked_mul(self.at_example(size)?)?;
            if reached <= start && end <= next {
                return size.known();
            }
            reached = next;
        }
        None
    }
}
