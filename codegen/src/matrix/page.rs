//! docs/operators.md: the matrix as a page to read, a line for each overload.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::{Level, Row, Table, cell, ranges};
use crate::Checked;
use crate::syntax::ast::ExampleValue;
use crate::tree::Target;

/// The dtypes of the inputs of an overload's examples, which are what proves it.
pub(super) fn proven(checked: &Checked) -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for example in &checked.program.examples {
        let Target::Map(name) = &example.target else { continue };
        let dtypes = all.entry(name.clone()).or_default();
        example.args.iter().for_each(|(_, value)| visit(value, dtypes));
    }
    all
}

fn visit(value: &ExampleValue, dtypes: &mut BTreeSet<String>) {
    match value {
        ExampleValue::Tensor { dtype, .. } | ExampleValue::Literal { dtype, .. } => drop(dtypes.insert(dtype.clone())),
        ExampleValue::List(items) => items.iter().for_each(|item| visit(item, dtypes)),
        _ => {}
    }
}

impl Table {
    /// The page.
    pub fn page(&self) -> String {
        let mut notes = Vec::new();
        let mut lines = String::new();
        for row in &self.rows {
            let dtypes = row.dtypes.iter().cloned().collect::<Vec<_>>().join(" ");
            let full = self.span(row, Level::Full);
            let partial = self.span(row, Level::Partial);
            let _ = writeln!(lines, "| `{}` | {dtypes} | {full} | {partial}{} |", row.name, marks(row, &mut notes));
        }
        let mut text = format!(
            "# Operators\n\n<!-- Made by `cargo run -p aten2onnx-codegen -- matrix --format page --out docs/operators.md`. -->\n\n\
             {} overloads of PyTorch have a rule; {} are known to have none. In-place and `out=` siblings follow from these.\n\
             *Proven with* are the dtypes of the examples that the tests compare with PyTorch; others are cast where ONNX lacks them.\n\
             *Partly* are opsets where some arguments are refused, with the reason that the number stands for.\n\n\
             Where PyTorch leaves something to its kernels, so does ONNX:\n\n\
             - *Equal elements.* The indices of `topk`, `kthvalue`, `mode`, `median`, and of `sort` and `argsort` without `stable=True` may point at\n  \
             any of equals. What is exported takes the first of them, at every size; PyTorch's pivots decide otherwise from 17 elements on, or\n  \
             from 4 in `topk` and `kthvalue`.\n\
             - *What is no number.* PyTorch's extremes and orders count NaN as the greatest. ONNX says nothing of it: its reference evaluator does\n  \
             the same in ReduceMax and ReduceMin, ONNX Runtime passes over NaN there and in MaxPool and TopK. `argmax`, `sort` and `kthvalue` find it.\n\
             - *Halves.* Where PyTorch's CPU kernels round to float16 at each step (transposed convolutions, `index_put` that accumulates),\n  \
             runtimes round once, which is nearer to the exact result.\n\n\
             | overload | proven with | opsets | partly |\n|---|---|---|---|\n{lines}",
            self.rows.len(),
            self.unsupported.len()
        );
        text.push_str("\n## Why only partly\n\n");
        for (i, note) in notes.iter().enumerate() {
            let _ = writeln!(text, "{}. {note}", i + 1);
        }
        if !self.unsupported.is_empty() {
            text.push_str("\n## Not in ONNX\n\n| overload | why |\n|---|---|\n");
        }
        for (name, reason) in &self.unsupported {
            let _ = writeln!(text, "| `{name}` | {} |", cell(reason));
        }
        text
    }

    /// The opsets of one level; `13+` for those to the newest.
    fn span(&self, row: &Row, level: Level) -> String {
        let at = row.at(level, &self.opsets);
        let newest = self.opsets.last().map(u32::to_string).unwrap_or_default();
        at.strip_suffix(&format!(" to {newest}")).map_or_else(|| at.clone(), |from| format!("{from}+"))
    }
}

/// The numbers of a row's reasons among the notes.
fn marks(row: &Row, notes: &mut Vec<String>) -> String {
    let mut numbers: Vec<usize> = Vec::new();
    for (reason, at) in &row.reasons {
        let note = format!("{reason} (opset {})", ranges(at));
        let number = notes.iter().position(|known| *known == note).unwrap_or_else(|| {
            notes.push(note);
            notes.len() - 1
        });
        numbers.push(number + 1);
    }
    numbers.sort_unstable();
    if numbers.is_empty() {
        return String::new();
    }
    format!(" [{}]", numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", "))
}
