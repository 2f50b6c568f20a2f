//! Nodes that compute numbers: sizes, arithmetic on them, and elements of tensors.

use aten2onnx_builder::Scalar;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::sym::SymInt;
use aten2onnx_program::SymNumber;

use super::Pass;

impl Pass<'_> {
    /// A number that a rule returned; None if only the graph computes it.
    pub(super) fn number(&mut self, name: &str, number: Option<Scalar>) {
        match number {
            Some(Scalar::Int(known)) => self.define_int(name, SymInt::from(known)),
            Some(Scalar::Sym(size)) if !size.has_anonymous() => self.define_int(name, size),
            Some(Scalar::Float(known)) => {
                self.forget(name);
                self.graph.sym_floats.insert(name.to_owned(), SymNumber::Float(known));
                self.scratch.define_number(name, Scalar::Float(known));
            }
            Some(Scalar::Bool(known)) => {
                self.forget(name);
                self.graph.sym_bools.insert(name.to_owned(), SymNumber::Bool(known));
                self.scratch.define_number(name, Scalar::Bool(known));
            }
            _ => self.unknown(name),
        }
    }

    fn unknown(&mut self, name: &str) {
        if self.graph.sym_ints.contains_key(name) {
            self.unknown_int(name);
        } else if self.graph.sym_bools.contains_key(name) {
            self.graph.sym_bools.insert(name.to_owned(), SymNumber::Unknown);
            self.scratch.define_unknown(name, Dtype::Bool);
        } else {
            self.graph.sym_floats.insert(name.to_owned(), SymNumber::Unknown);
            self.scratch.define_unknown(name, Dtype::Float64);
        }
    }

    /// An integer that only the graph computes, with a symbol for it.
    pub(super) fn unknown_int(&mut self, name: &str) {
        let symbol = self.fresh();
        self.scratch.define_symbol(&symbol);
        self.define_int(name, SymInt::symbol(symbol.as_str()));
    }

    pub(super) fn define_int(&mut self, name: &str, size: SymInt) {
        self.forget(name);
        if let Some(symbol) = size.as_symbol() {
            self.scratch.define_symbol(symbol);
        }
        self.scratch.define_number(name, Scalar::from(size.clone()));
        self.graph.sym_ints.insert(name.to_owned(), size);
    }

    fn forget(&mut self, name: &str) {
        self.graph.sym_ints.remove(name);
        self.graph.sym_floats.remove(name);
        self.graph.sym_bools.remove(name);
    }
}
