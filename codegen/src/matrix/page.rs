//! `docs/operators.md`: the matrix with one line for each overload.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::{Level, Row, Table, cell, ranges};
use aten2onnx_opmap::Checked;
use aten2onnx_opmap::syntax::ast::ExampleValue;
use aten2onnx_opmap::tree::Target;

/// The dtypes of the inputs in an overload's examples, which tests compare with PyTorch.
pub(super) fn tested_dtypes(checked: &Checked) -> BTreeMap<String, BTreeSet<String>> {
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
             {} overloads of PyTorch have a rule, and {} cannot be expressed in ONNX. In-place and `out=` variants follow from these.\n\
             *Tested with* lists the dtypes of the examples that tests compare with PyTorch. Other dtypes are cast where ONNX lacks them.\n\
             *Partial* lists the opsets at which some arguments are refused. The numbers refer to the reasons below.\n\n\
             Some results depend on the implementation, in PyTorch and in ONNX runtimes:\n\n\
             - *Equal elements.* The indices of `topk`, `kthvalue`, `mode`, `median`, and of `sort` and `argsort` without `stable=True`, may refer\n  \
             to any of several equal elements. Exported models take the first one, at every size. PyTorch decides differently from 17 elements\n  \
             on, or from 4 in `topk` and `kthvalue`.\n\
             - *NaN.* PyTorch's maximum, minimum and sorting treat NaN as the greatest value. ONNX does not define this: its reference evaluator\n  \
             does the same in ReduceMax and ReduceMin, while ONNX Runtime ignores NaN there and in MaxPool and TopK. `argmax`, `sort` and\n  \
             `kthvalue` find it.\n\
             - *Float16.* Where PyTorch's CPU kernels round to float16 after each step (transposed convolutions, `index_put` with `accumulate`),\n  \
             runtimes round once, which is closer to the exact result.\n\n\
             | overload | tested with | opsets | partial |\n|---|---|---|---|\n{lines}",
            self.rows.len(),
            self.unsupported.len()
        );
        text.push_str("\n## Reasons for partial support\n\n");
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

    /// The opsets of one level. `13+` if they include the newest.
    fn span(&self, row: &Row, level: Level) -> String {
        let at = row.opsets_of(level, &self.opsets);
        let newest = self.opsets.last().map(u32::to_string).unwrap_or_default();
        at.strip_suffix(&format!(" to {newest}")).map_or_else(|| at.clone(), |from| format!("{from}+"))
    }
}

/// The numbers of a row's reasons in the notes.
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
