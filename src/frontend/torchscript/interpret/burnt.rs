//! Sizes of the example that a trace has as numbers, where the user wants symbolic ones: a file would be wrong for others.

use super::recorder::Recorder;
use crate::program::{Arg, IntArg, Node};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::{Atom, SymInt};
use aten2onnx_onnx::graph::Type;

impl Recorder<'_> {
    /// Refuses a call whose literal sizes fit only one value of a symbol.
    pub(super) fn check_literals(&self, node: &Node) -> Result<()> {
        if self.size_symbols.is_empty() {
            return Ok(());
        }
        let named = |name: &str| node.args.iter().find(|(arg, _)| arg == name).map(|(_, arg)| arg);
        let sizes = |name: &str| self.metas.get(name).map(|meta| meta.sizes.as_slice());
        match node.target.as_str() {
            "aten::view" | "aten::reshape" | "aten::_unsafe_view" => {
                let wanted = named("size").or_else(|| named("shape"));
                let (Some(Arg::Tensor(tensor)), Some(Arg::Ints(wanted))) = (named("self"), wanted) else {
                    return Ok(());
                };
                let Some(own) = sizes(tensor) else { return Ok(()) };
                let wanted = wanted.iter().map(|size| match size {
                    IntArg::Known(size) => Some(SymInt::from(*size)),
                    IntArg::Named(name) => self.size(&Arg::Sym(name.clone())),
                });
                let Some(wanted) = wanted.collect::<Option<Vec<SymInt>>>() else { return Ok(()) };
                if wanted.iter().any(|size| *size == -1) {
                    return Ok(());
                }
                let difference = own.iter().product::<SymInt>().sub(&wanted.iter().product());
                match difference != 0 && self.is_of_inputs(&difference) {
                    true => Err(burnt_in(node, own, &wanted)),
                    false => Ok(()),
                }
            }
            "aten::lstm.input" | "aten::gru.input" | "aten::rnn_tanh.input" | "aten::rnn_relu.input" => {
                let state = match named("hx") {
                    Some(Arg::Tensors(states)) => states.first().cloned().flatten(),
                    Some(Arg::Tensor(state)) => Some(state.clone()),
                    _ => None,
                };
                let (Some(Arg::Tensor(input)), Some(state)) = (named("input"), state) else { return Ok(()) };
                let axis = usize::from(!matches!(named("batch_first"), Some(Arg::Bool(true))));
                let (Some(own), Some(states)) = (sizes(input), sizes(&state)) else { return Ok(()) };
                let (Some(batch), Some(of_state), 3) = (own.get(axis), states.get(1), own.len()) else { return Ok(()) };
                let difference = batch.sub(of_state);
                match difference != 0 && self.is_of_inputs(&difference) {
                    true => Err(burnt_in(node, own, states)),
                    false => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// Whether an expression is a polynomial of sizes that the user named: with a division it may be 0 for all that fit.
    fn is_of_inputs(&self, size: &SymInt) -> bool {
        let is_named = |atom: &Atom| matches!(atom, Atom::Symbol(symbol) if self.size_symbols.contains(&**symbol));
        let mut depends = false;
        let all = size.terms().all(|(_, factors)| {
            depends |= !factors.is_empty();
            factors.iter().all(|(atom, _)| is_named(atom))
        });
        all && depends
    }
}

fn burnt_in(node: &Node, own: &[SymInt], other: &[SymInt]) -> Error {
    let shown = |sizes: &[SymInt]| {
        let text = Type::tensor(aten2onnx_core::dtype::Dtype::Float32, sizes.to_vec()).to_string();
        text.trim_start_matches("float32").to_owned()
    };
    let message = format!(
        "the trace has a size of its example as a number: `{}` puts {} together with a tensor of {}",
        node.target,
        shown(other),
        shown(own)
    );
    Error::unsupported(message).help(
        "trace a model that computes with `x.size(0)` in place of the number, or export with the sizes of the example",
    )
}
