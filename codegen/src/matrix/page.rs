//! `docs/operators.md`: the matrix with one line for each overload.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::groups::Group;
use super::{Row, Table, cell, ranges};
use aten2onnx_opmap::Checked;
use aten2onnx_opmap::coverage::by_dtype::Level;
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
            let tested = row.dtypes.iter().cloned().collect::<Vec<_>>().join(" ");
            let mut first = format!("| `{}` | {tested} | {}", row.name, row.verified);
            let last = marks(row, &mut notes);
            for (i, group) in row.groups.iter().enumerate() {
                let of = match (row.groups.len(), i) {
                    (1, _) => String::new(),
                    (_, 0) => "others".to_owned(),
                    _ => group.dtypes.iter().map(|name| short(name)).collect::<Vec<_>>().join(" "),
                };
                let [native, lowered, partial, none] = [Level::Native, Level::Lowered, Level::Partial, Level::Refused]
                    .map(|level| self.span(group, level));
                let partial = if partial.is_empty() { partial } else { format!("{partial}{last}") };
                let none = if none.is_empty() { none } else { format!("{none}{last}") };
                let _ = writeln!(lines, "{first} | {of} | {native} | {lowered} | {partial} | {none} |");
                "| | |".clone_into(&mut first);
            }
        }
        let mut text = format!(
            "# Operators\n\n<!-- Made by `cargo run -p aten2onnx-codegen -- matrix --format page --out docs/operators.md`. -->\n\n\
             {} overloads of PyTorch have a rule, and {} cannot be expressed in ONNX. In-place and `out=` variants follow from these.\n\
             *Tested with* lists the dtypes of the examples that tests compare with PyTorch. *Dtype* is that of the first tensor; it is empty if all\n\
             dtypes are the same. *Native* lists the opsets at which the nodes are those that the rule names, *lowered* those at which some are\n\
             replaced by others or cast, *partly* those at which some arguments are refused, and *refused* those at which all are. The numbers\n\
             refer to the reasons below. Dtypes that an opset lacks (bfloat16 before 13, float8 before 19) are left out there, and so are those that\n\
             PyTorch's CPU kernels do not take.\n\
             The table follows from the proof of the rules: see [proof.md](proof.md).\n\n\
             *Verified* is the level that random calls reached (`aten2onnx verify`): *typed* compared dtypes and shapes with PyTorch,\n\
             *sampled* also values in ONNX Runtime at five opsets, *exact* the place of each element of a rule that only moves data. The numbers\n\
             are calls: of which the types, and of which the values at each opset were compared. A rule with `s` decides nothing by sizes, one with\n\
             `r` nothing by ranks: for these small calls stand for all. *faults* are known and open. The last word is the digest of the graphs that\n\
             the examples of the rule had then; `aten2onnx verify --all --levels docs/verified.json --check` lists the rules that have others now.\n\
             [differences.md](differences.md) lists where results may differ from PyTorch's: among equal elements, for NaN, in float16.\n\n\
             | overload | tested with | verified | dtype | native | lowered | partly | refused |\n|---|---|---|---|---|---|---|---|\n{lines}",
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
    fn span(&self, group: &Group, level: Level) -> String {
        let here = self.opsets.iter().zip(&group.levels).filter(|(_, own)| **own == level);
        let at = ranges(&here.map(|(opset, _)| *opset).collect());
        let newest = self.opsets.last().map(u32::to_string).unwrap_or_default();
        match at.strip_suffix(&format!(" to {newest}")) {
            Some(from) => format!("{from}+"),
            None if at == newest => format!("{newest}+"),
            None => at,
        }
    }
}

/// The name of a dtype as examples write it: `f32`.
fn short(name: &str) -> String {
    let kinds =
        [("bfloat16", "bf16"), ("float8", "float8"), ("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c")];
    let kind = kinds.into_iter().find(|(long, _)| name.starts_with(long));
    kind.map_or_else(|| name.to_owned(), |(long, short)| name.replacen(long, short, 1))
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
