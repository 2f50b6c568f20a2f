//! Mutations that persist after a run: of buffers and of user inputs.
//!
//! By default they are dropped with a note; with `--keep-mutations`, the old state becomes inputs and the new state
//! outputs.

use rustc_hash::FxHashSet;

use super::Pass;
use super::alias::{Aliases, Cell};
use aten2onnx_core::error::Result;
use aten2onnx_program::{Arg, InputKind, Output, OutputKind, Program};

/// The end of a note about a dropped mutation.
pub const DROPPED: &str =
    "the exported model does not change it (`--keep-mutations` adds its new value to the outputs)";

/// A buffer, parameter or input whose new value may be kept.
#[derive(Debug)]
pub struct Kept {
    /// The value's name.
    name: String,
    cell: Cell,
    kind: OutputKind,
}

/// Handles mutations that torch recorded as outputs, as in decomposed programs: drops them unless `keep`.
pub fn recorded(program: &mut Program, keep: bool) {
    if keep {
        return;
    }
    let notes = &mut program.notes;
    program.graph.outputs.retain(|output| {
        let (what, name) = match &output.kind {
            OutputKind::User => return true,
            OutputKind::BufferMutation(name) => ("buffer or parameter", name),
            OutputKind::InputMutation(name) => ("input", name),
        };
        notes.push(format!("the model writes to its {what} `{name}`; {DROPPED}"));
        false
    });
}

/// All buffers, parameters and inputs, without duplicates.
pub fn roots(program: &Program, aliases: &Aliases) -> Vec<Kept> {
    let mut seen = FxHashSet::default();
    let weights = program.weights.iter().map(|bound| {
        let kind = OutputKind::BufferMutation(bound.weight.name.clone());
        (bound.value.as_str(), kind)
    });
    let inputs = program.graph.inputs.iter().filter(|input| matches!(input.kind, InputKind::Tensor));
    let inputs = inputs.map(|input| (input.name.as_str(), OutputKind::InputMutation(input.name.clone())));
    let found = weights.chain(inputs).filter_map(|(name, kind)| {
        let cell = aliases.cell(name)?;
        seen.insert(cell).then(|| Kept { name: name.to_owned(), cell, kind })
    });
    found.collect()
}

impl Pass<'_> {
    /// The new values of everything that was written.
    pub(super) fn mutations(&mut self, kept: &[Kept]) -> Result<Vec<Output>> {
        let mut outputs = Vec::new();
        for Kept { name, cell, kind } in kept {
            if !self.aliases.is_written(*cell) {
                continue;
            }
            if !self.refresh(*cell) {
                return Err(self.stale(name, *cell).at(format!("the new value of `{name}`")));
            }
            outputs.push(Output { value: Arg::Tensor(self.aliases.newest(*cell).to_owned()), kind: kind.clone() });
        }
        Ok(outputs)
    }
}
