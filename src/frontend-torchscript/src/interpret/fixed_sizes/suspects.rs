//! Literals that may be sizes of the example, and what the user is told of them.

use super::super::Interpreter;
use crate::literals::{argument, known, known_numbers, short, sizes_made};
use aten2onnx_core::axes::counted_from_start;
use aten2onnx_core::error::Error;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::Type;
use aten2onnx_onnx::without_folders;
use aten2onnx_program::{Arg, Node};

/// A note lists so many places.
const SHOWN: usize = 8;
/// More literals are not remembered.
const MOST: usize = 10_000;

/// A literal where a size is taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Suspect {
    literal: i64,
    target: String,
    /// The expression that it may stand for.
    size: SymInt,
    /// The function and the author's line.
    place: String,
}

impl Interpreter<'_, '_> {
    /// Collects literals that equal the example's value of a symbolic size.
    pub(super) fn suspect_sizes(&mut self, node: &Node) {
        if short(&node.target).starts_with("upsample_") {
            return self.suspect_resize(node);
        }
        let names: &[&str] = match short(&node.target) {
            "slice" => &["start", "end"],
            "narrow" => &["start", "length"],
            "split" | "split_with_sizes" => &["split_size", "split_sizes"],
            other => sizes_made(other),
        };
        let axis = self.axis_of(node);
        for arg in names.iter().filter_map(|name| argument(node, name)) {
            for number in known_numbers(arg) {
                let size = match &axis {
                    // The size of the axis itself, or of another tensor whose rows are cut out of a table.
                    Some(size) if !size.symbols().is_empty() => {
                        (self.at_example(size) == Some(number)).then(|| size.clone())
                    }
                    Some(_) if number < 2 => None,
                    _ => self.symbol_of(number),
                };
                // To repeat once is no size.
                let is_once = number == 1 && matches!(short(&node.target), "repeat" | "tile");
                if let Some(size) = size.filter(|_| !is_once) {
                    self.suspect(node, number, size);
                }
            }
        }
    }

    /// Collects output sizes of an interpolation that are the sizes of its input in the example, or a whole multiple of them.
    fn suspect_resize(&mut self, node: &Node) {
        let (Some(sizes), Some(Arg::Ints(wanted))) =
            (self.sizes_of(node, "self").or(self.sizes_of(node, "input")), argument(node, "output_size"))
        else {
            return;
        };
        let axes = sizes.iter().skip(sizes.len().saturating_sub(wanted.len()));
        let found: Vec<(i64, SymInt)> = axes
            .zip(wanted)
            .filter_map(|(size, number)| {
                let (number, example) = (known(number)?, self.at_example(size)?);
                let is_multiple = example > 1 && number % example == 0 && !size.symbols().is_empty();
                is_multiple.then(|| (number, size.mul(&SymInt::from(number / example))))
            })
            .collect();
        for (number, size) in found {
            self.suspect(node, number, size);
        }
    }

    /// The size of the axis that an operator cuts.
    fn axis_of(&self, node: &Node) -> Option<SymInt> {
        if !matches!(short(&node.target), "slice" | "narrow" | "split" | "split_with_sizes") {
            return None;
        }
        let sizes = self.sizes_of(node, "self")?;
        let axis = match argument(node, "dim") {
            Some(Arg::Int(axis)) => *axis,
            _ => 0,
        };
        sizes.get(counted_from_start(axis, sizes.len())?).cloned()
    }

    /// The symbol that had this value in the example.
    fn symbol_of(&self, number: i64) -> Option<SymInt> {
        let found = self.origins.iter().filter(|(_, origin)| origin.example == Some(number));
        found.map(|(symbol, _)| symbol.as_str()).min().map(SymInt::symbol)
    }

    /// Remembers a literal of a traced call that may stand for a size.
    pub(super) fn suspect(&mut self, node: &Node, literal: i64, size: SymInt) {
        if !self.literals.contains(&literal) || self.suspects.len() >= MOST || !self.is_traced() {
            return;
        }
        let suspect = Suspect { literal, target: node.target.clone(), size, place: self.running_place() };
        if !self.suspects.contains(&suspect) {
            self.suspects.push(suspect);
        }
    }

    /// The error for two shapes that cannot both be right. `sizes` are those that contradict.
    pub(super) fn fixed_size_error(&self, node: &Node, shapes: [&[SymInt]; 2], sizes: [&SymInt; 2]) -> Error {
        let [one, other] = shapes.map(shown);
        let message = format!(
            "the trace has a size of its example as a number: `{}` puts {one} together with a tensor of {other}",
            node.target
        );
        let literal = sizes.iter().find_map(|size| size.known());
        let is_same = |suspect: &&Suspect| literal == Some(suspect.literal);
        let any = self.suspects.iter().any(|suspect| is_same(&suspect));
        // Another number may follow from one of the literals. The latest are the most likely.
        let fitting = self.suspects.iter().rev().filter(|suspect| !any || is_same(suspect)).take(SHOWN);
        let fitting: Vec<String> = fitting.map(|suspect| self.advice(suspect)).collect();
        let help = match fitting.is_empty() {
            true => {
                let symbols = sizes.iter().flat_map(|size| size.symbols());
                let written: Vec<String> = symbols.map(|symbol| self.written(&SymInt::symbol(symbol))).collect();
                format!("write `{}` in place of the number in the model and trace it again", written.join("`, `"))
            }
            false => format!("{}; then trace the model again", fitting.join("; ")),
        };
        Error::unsupported(message).help(format!("{help}, or export with the sizes of the example"))
    }

    /// `write ... in place of 2 in `aten::zeros` (...)`
    fn advice(&self, suspect: &Suspect) -> String {
        let Suspect { literal, target, size, place } = suspect;
        format!("write `{}` in place of {literal} in `{target}` ({place})", self.written(size))
    }

    /// A size as the model can compute it: `x.size(0) * 4`.
    fn written(&self, size: &SymInt) -> String {
        let named = |symbol: &str| self.origins.get(symbol).map_or(symbol.to_owned(), |origin| origin.text.clone());
        if let Some(symbol) = size.as_symbol() {
            return named(symbol);
        }
        let symbols: Vec<String> =
            size.symbols().iter().map(|symbol| format!("{symbol} = {}", named(symbol))).collect();
        format!("{size}` with `{}", symbols.join(", "))
    }

    /// A note about literals of which no contradiction decided whether they are sizes of the example.
    pub fn note_suspects(&mut self) {
        if self.suspects.is_empty() {
            return;
        }
        let mut shown: Vec<String> = self.suspects.iter().take(SHOWN).map(|suspect| self.advice(suspect)).collect();
        let more = self.suspects.len().saturating_sub(SHOWN);
        if more > 0 {
            shown.push(format!("and {more} more"));
        }
        self.notes.push(format!(
            "the trace may have sizes of its example as numbers; where they are, the model is wrong for other sizes: {}",
            shown.join("; ")
        ));
    }

    /// The function that runs, and the author's line: `Net.forward, File "net.py", line 3, in forward`.
    pub(in super::super) fn running_place(&mut self) -> String {
        let line = self.source_line().map(|line| without_folders(&line));
        let function = self.function_name();
        match line {
            Some(line) => format!("{function}, {line}"),
            None => function,
        }
    }
}

fn shown(sizes: &[SymInt]) -> String {
    let text = Type::tensor(aten2onnx_core::dtype::Dtype::Float32, sizes.to_vec()).to_string();
    text.trim_start_matches("float32").to_owned()
}
