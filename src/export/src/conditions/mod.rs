//! Where a program is right: the guards that PyTorch recorded when it was captured, as far as they say more than the shapes of the inputs.
//!
//! What follows from the shapes, from bounds and from other guards is dropped. Bounds of one symbol are told as bounds (`n <= 7`), and a
//! symbol that can have one value only becomes that number. The others are told in the user's names of dimensions.

mod bounds;
mod facts;
mod rewrite;
mod text;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use bounds::{Bounds, Interval};
use facts::Facts;
use text::text;

use super::{dropped_ones, fixed};
use aten2onnx_options::Options;
use aten2onnx_program::{Guard, NO_GUARDS, Program};

/// The entry of the model's metadata with the conditions, one a line.
pub(super) const CONDITIONS: &str = "aten2onnx.conditions";
/// That with the bounds of sizes that the user declared or PyTorch assumed, one a line.
pub(super) const RANGES: &str = "aten2onnx.ranges";
/// The entry of the metadata that says that nothing records the conditions.
pub(super) const UNKNOWN: &str = "aten2onnx.conditions.unknown";
/// Of more conditions, only the first are listed in notes and errors.
const LISTED: usize = 20;
/// Longer texts of PyTorch are cut.
const LONGEST: usize = 300;

/// Where a program is right.
#[derive(Debug, Clone, Default)]
pub(super) struct Conditions {
    /// Conditions on symbols.
    sizes: Vec<SymInt>,
    /// Bounds of symbols that guards mention.
    bounds: Bounds,
    /// Bounds of other symbols, which the user declared or PyTorch assumed.
    declared: Bounds,
    /// Symbols that have one value only, with that.
    pins: BTreeMap<String, i64>,
    /// Inputs that are integers, and have to be equal to these.
    numbers: Vec<(String, SymInt)>,
    /// Conditions that are not understood, as PyTorch wrote them.
    unknown: Vec<String>,
    /// Conditions on strides, as PyTorch wrote them.
    layout: Vec<String>,
}

/// The conditions in the names of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ConditionTexts {
    /// What decides whether the file is right, as text with the names in it.
    pub conditions: Vec<(String, BTreeSet<String>)>,
    /// The sizes that the program was captured for, as the user declared them.
    pub ranges: Vec<(String, BTreeSet<String>)>,
}

/// What a guard says that does not follow from the shapes and bounds of a program, in its symbols; None if it says nothing more.
pub fn told_condition(program: &Program, guard: &Guard) -> Option<String> {
    if matches!(guard, Guard::Sizes(condition) if facts::follows(program, condition)) {
        return None;
    }
    let alone = Program { guards: vec![guard.clone()], ..program.clone() };
    let found = Conditions::of(&alone, &Options::default()).ok()?;
    let pins = found.pins.iter().map(|(symbol, value)| format!("{symbol} == {value}"));
    let told = found.texts(&HashMap::new());
    let all: Vec<String> =
        pins.chain(told.conditions.into_iter().map(|(text, _)| text)).chain(found.layout.clone()).collect();
    (!all.is_empty()).then(|| all.join(" and "))
}

impl Conditions {
    /// The conditions of a program, whose symbols may have been replaced by the user.
    ///
    /// # Errors
    /// The user chose sizes that the program does not take.
    pub fn of(program: &Program, options: &Options) -> Result<Conditions> {
        let mut found = Conditions::default();
        let mut sizes = Vec::new();
        let dropped = dropped_ones::guards(program);
        for guard in program.guards.iter().chain(&dropped) {
            match guard {
                Guard::Sizes(condition) => sizes.push(condition.clone()),
                Guard::Layout(text) => found.layout.push(shortened(text)),
                Guard::Unknown(text) => found.unknown.push(shortened(text)),
            }
        }
        let chosen = options.fixed || !options.dims.is_empty();
        let facts = Facts::of(program, sizes);
        if let Some(condition) = facts.impossible.iter().find(|_| chosen) {
            return Err(Error::unsupported(format!(
                "the program does not take the chosen sizes: it was captured for `{}`, which they do not fulfil",
                text(condition)
            ))
            .help("choose other sizes or names with `--dim`, or export the model again without it"));
        }
        let as_they_stand = facts.impossible.iter().map(|condition| shortened(&text(condition)));
        found.unknown.extend(as_they_stand);
        found.pins = facts.pins;
        // The file takes any integer, unlike a size that is a number in it.
        let pins = found.pins();
        for (input, value) in fixed::numbers(program) {
            let equal = value.substitute(&pins);
            if equal != *value || !fixed::is_own(program, &input.name, value) {
                found.numbers.push((input.name.clone(), equal));
            }
        }
        found.sizes = facts.conditions;
        (found.bounds, found.declared) = (facts.bounds, facts.declared);
        Ok(found)
    }

    /// The symbols that have one value only.
    pub fn pins(&self) -> HashMap<String, SymInt> {
        self.pins.iter().map(|(symbol, value)| (symbol.clone(), SymInt::from(*value))).collect()
    }

    /// A note for each symbol that becomes a number.
    pub fn pin_notes(&self, names: &HashMap<String, SymInt>) -> Vec<String> {
        let note = |(symbol, value): (&String, &i64)| {
            let name = named(&SymInt::symbol(symbol.as_str()), names);
            format!(
                "the dimension `{name}` is {value} in the file: the model was captured in a way that takes no other size"
            )
        };
        self.pins.iter().map(note).collect()
    }

    /// The conditions in these names.
    pub fn texts(&self, names: &HashMap<String, SymInt>) -> ConditionTexts {
        let of_bounds = |(symbol, bounds): (&String, &Interval)| {
            let name = named(&SymInt::symbol(symbol.as_str()), names);
            between(&name, *bounds).map(|text| (text, BTreeSet::from([symbol.clone()])))
        };
        let of_sizes = |condition: &SymInt| (named(condition, names), condition.symbols());
        let bounds = self.bounds.iter().filter_map(of_bounds);
        let numbers = self.numbers.iter().map(|(input, value)| {
            let symbols = value.symbols().into_iter().chain([input.clone()]).collect();
            (format!("{input} == {}", named(value, names)), symbols)
        });
        let unknown = self.unknown.iter().map(|text| (text.clone(), BTreeSet::new()));
        ConditionTexts {
            conditions: bounds.chain(self.sizes.iter().map(of_sizes)).chain(numbers).chain(unknown).collect(),
            ranges: self.declared.iter().filter_map(of_bounds).collect(),
        }
    }

    /// Notes for the user.
    pub fn notes(&self, told: &ConditionTexts) -> Vec<String> {
        let mut notes = Vec::new();
        if !told.conditions.is_empty() {
            notes.push(format!(
                "the file is right only where {}: the model was captured with decisions that depend on it",
                listed(told.conditions.iter().map(|(text, _)| text))
            ));
        }
        notes.extend(self.layout_note());
        notes
    }

    /// A note on conditions on strides.
    pub fn layout_note(&self) -> Option<String> {
        let note = || {
            let listed = listed(self.layout.iter());
            format!(
                "the model was captured for inputs with strides in memory where {listed}; inputs of the file have none"
            )
        };
        (!self.layout.is_empty()).then(note)
    }

    /// Refuses a program that is not right for all sizes.
    ///
    /// # Errors
    /// There is a condition.
    pub fn refuse(&self, told: &ConditionTexts, names: &HashMap<String, SymInt>) -> Result<()> {
        let pins = self
            .pins
            .iter()
            .map(|(symbol, value)| format!("{} == {value}", named(&SymInt::symbol(symbol.as_str()), names)));
        let all: Vec<String> = pins.chain(told.conditions.iter().map(|(text, _)| text.clone())).collect();
        if all.is_empty() {
            return Ok(());
        }
        let symbols: BTreeSet<&String> =
            self.pins.keys().chain(told.conditions.iter().flat_map(|(_, symbols)| symbols)).collect();
        let dims: Vec<String> =
            symbols.iter().map(|symbol| format!("`{}`", named(&SymInt::symbol(symbol.as_str()), names))).collect();
        let of = if dims.is_empty() { String::new() } else { format!(" of {}", dims.join(", ")) };
        let message = format!("the model is not right for all sizes{of}, but only where {}", listed(all.iter()));
        Err(Error::unsupported(message).help(
            "declare the dimensions so when the model is captured (`4*Dim(..)`, `min`, `max`, or leave them out of `dynamic_shapes`), \
             change what in the model decides by a size, make them constant with `--dim NAME=SIZE`, or leave out `--strict-shapes`: \
             the file then states the conditions",
        ))
    }
}

impl ConditionTexts {
    /// The entries of the model's metadata.
    pub fn metadata(&self) -> Vec<(String, String)> {
        let entry = |key: &str, all: &[(String, BTreeSet<String>)]| {
            let lines: Vec<&str> = all.iter().map(|(text, _)| text.as_str()).collect();
            (!lines.is_empty()).then(|| (key.to_owned(), lines.join("\n")))
        };
        let both = [entry(CONDITIONS, &self.conditions), entry(RANGES, &self.ranges)];
        both.into_iter().flatten().collect()
    }

    /// The documentation of an input with these symbols.
    pub fn doc(&self, symbols: &BTreeSet<String>) -> Option<String> {
        let about = |all: &[(String, BTreeSet<String>)]| -> Vec<String> {
            let found = all.iter().filter(|(_, of)| !of.is_disjoint(symbols)).map(|(text, _)| text.clone());
            found.collect()
        };
        let part = |start: &str, all: Vec<String>| (!all.is_empty()).then(|| format!("{start} {}", listed(all.iter())));
        let parts = [
            part("the model is right only where", about(&self.conditions)),
            part("the model was captured for sizes where", about(&self.ranges)),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// The entries of a model's metadata about the sizes that it is right for.
pub fn metadata(told: &ConditionTexts, program: &Program) -> Vec<(String, String)> {
    let unknown = program.lacks_guards.then(|| (UNKNOWN.to_owned(), NO_GUARDS.to_owned()));
    told.metadata().into_iter().chain(unknown).collect()
}

/// The text of a condition in the names of the file.
fn named(condition: &SymInt, names: &HashMap<String, SymInt>) -> String {
    text(&condition.substitute(names))
}

/// `n >= 16`, `3 <= n <= 19`; None without bounds.
fn between(name: &str, bounds: Interval) -> Option<String> {
    match (bounds.low, bounds.high) {
        (Some(low), Some(high)) if low > 0 => Some(format!("{low} <= {name} <= {high}")),
        (_, Some(high)) => Some(format!("{name} <= {high}")),
        (Some(low), None) => Some(format!("{name} >= {low}")),
        (None, None) => None,
    }
}

/// Conditions in a sentence.
fn listed<'a>(all: impl ExactSizeIterator<Item = &'a String>) -> String {
    let more = all.len().saturating_sub(LISTED);
    let mut shown = all.take(LISTED).map(|text| format!("`{text}`")).collect::<Vec<_>>();
    if more > 0 {
        shown.push(format!("{more} more conditions hold"));
    }
    let last = shown.pop().unwrap_or_default();
    if shown.is_empty() { last } else { format!("{} and {last}", shown.join(", ")) }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
