//! What finds a mutant: the rule compiler, the matrix, the examples, or calls that nobody wrote.

use aten2onnx_builder::passes::Passes;
use aten2onnx_core::error::Result;
use aten2onnx_examples::{self as examples, Failure};
use aten2onnx_opmap::Checked;
use aten2onnx_opmap::coverage::Status;
use aten2onnx_opmap::tree::Example;
use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::MappingFiles;

use super::base::{Base, OPSETS, levels_of, prints_of, prints_of_example};
use super::fate::Fate;
use super::made::Mutant;
use crate::calls::Calls;
use crate::check::{Exporter, Made};
use crate::oracle::{Answer, Oracle};
use crate::record_of;

/// Examples of rules that a mutant may change: those of the nearest.
const MOST_EXAMPLES: usize = 300;
/// Overloads whose rows by dtype are compared: the nearest.
const MOST_LEVELS: usize = 40;
/// Of the calls that are drawn where graphs differ and nothing was wrong so far, those that are judged.
const MORE_JUDGED: usize = 48;
/// Overloads whose calls are drawn: the nearest.
const MOST_TARGETS: usize = 6;
/// Calls that are judged in one go.
const JUDGED: usize = 8;

/// What found a mutant, how, and whether what it makes is refused by what runs it.
pub(super) struct Found {
    pub fate: Fate,
    pub how: String,
    pub ill_typed: bool,
}

impl Found {
    fn new(fate: Fate, how: impl Into<String>) -> Found {
        Found { fate, how: how.into(), ill_typed: false }
    }
}

/// What finds a mutant whose files were checked. `calls` are drawn of each rule where graphs differ and nothing is wrong.
pub(super) fn found(
    base: &Base<'_>,
    mutant: &Mutant,
    checked: Checked,
    calls: usize,
    oracle: &mut Oracle<'_>,
) -> Result<Found> {
    if let Some(first) = checked.diagnostics.first() {
        return Ok(Found::new(Fate::Check, format!("{}: {}", first.code, first.message)));
    }
    let mut targets = base.reach.targets(mutant.item);
    if let Some(of_same) = mutant.rule.strip_prefix("same ") {
        targets.extend(of_same.split(' ').next().map(str::to_owned));
    }
    if let Some(row) = changed_row(base, &checked).or_else(|| changed_level(base, &checked, &targets)) {
        return Ok(Found::new(Fate::Matrix, row));
    }
    let set = match MappingFiles::of_checked(checked) {
        Ok(set) => std::sync::Arc::new(set),
        Err(error) => return Ok(Found::new(Fate::Check, error.to_string())),
    };
    let rules = Rules::of_files(set.clone());
    let exporter = Exporter { checked: set.checked(), rules: &rules };
    let mut search = Search { base, targets: &targets, exporter, oracle, differs: None };
    if let Some(found) = search.examples()? {
        return Ok(found);
    }
    if let Some(found) = search.calls()? {
        return Ok(found);
    }
    let Some(call) = search.differs.clone() else {
        let nearest: Vec<&str> = targets.iter().take(MOST_TARGETS).map(String::as_str).collect();
        return Ok(Found::new(Fate::Equivalent, format!("calls of {}", nearest.join(", "))));
    };
    let survived = || Found::new(Fate::Survived, format!("other graphs with the same results: {call}"));
    Ok(search.more_calls(calls)?.unwrap_or_else(survived))
}

/// A row of the matrix that is another one.
fn changed_row(base: &Base<'_>, checked: &Checked) -> Option<String> {
    let before = &base.set.checked().matrix.rows;
    let changed = checked.matrix.rows.iter().find(|(name, row)| before.get(*name) != Some(row));
    changed.map(|(name, _)| name.clone())
}

/// An overload that the matrix by dtype says something else of.
fn changed_level(base: &Base<'_>, checked: &Checked, targets: &[String]) -> Option<String> {
    let nearest: Vec<&String> = targets.iter().take(MOST_LEVELS).collect();
    let now = levels_of(checked, &|name| nearest.iter().any(|target| *target == name));
    let is_other = |name: &&&String| now.get(**name).is_some_and(|now| *now != *base.levels_of(name));
    nearest.iter().find(is_other).map(|name| (**name).clone())
}

/// Looks for a call that shows what a mutant does.
struct Search<'a, 'b, 'o> {
    base: &'a Base<'b>,
    /// The overloads and operators that it may change, nearest first.
    targets: &'a [String],
    exporter: Exporter<'a>,
    oracle: &'a mut Oracle<'o>,
    /// A call that becomes another graph.
    differs: Option<String>,
}

impl Search<'_, '_, '_> {
    /// The examples of the rules.
    fn examples(&mut self) -> Result<Option<Found>> {
        let mut open = Vec::new();
        let all = self.targets.iter().flat_map(|target| self.base.examples_of(target)).take(MOST_EXAMPLES);
        for (number, example) in all {
            let prints = prints_of_example(example, self.exporter);
            let before = self.base.prints_of_example(number, example);
            let Some((now, _)) = prints.iter().zip(before.iter()).find(|(now, before)| now != before) else { continue };
            let (text, (opset, print)) = (examples::text(example), now);
            if let Some((why, ill_typed)) = no_model(print) {
                let is_said = || is_said_to_work(self.exporter.checked, examples::target(example), *opset);
                let ill_typed = ill_typed.unwrap_or_else(is_said);
                return Ok(Some(Found {
                    fate: Fate::Examples,
                    how: format!("{text} at opset {opset}: {why}"),
                    ill_typed,
                }));
            }
            self.differs = Some(text);
            open.push(example);
            if open.len() == JUDGED
                && let Some(found) = self.judged(&std::mem::take(&mut open), true)?
            {
                return Ok(Some(found));
            }
        }
        self.judged(&open, true)
    }

    /// Calls of the nearest rules that nobody wrote.
    fn calls(&mut self) -> Result<Option<Found>> {
        for target in self.targets.iter().take(MOST_TARGETS) {
            let drawn = self.base.drawn(target, self.oracle)?;
            let mut open = Vec::new();
            for (drawn, before) in drawn.iter() {
                if prints_of(&drawn.call, self.exporter) == *before {
                    continue;
                }
                if let Some(found) = self.wrong_types(&drawn.types, &drawn.call) {
                    return Ok(Some(found));
                }
                self.differs = Some(drawn.call.text.clone());
                open.push(&drawn.call);
            }
            if let Some(found) = self.judged_in_parts(&open)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Many calls, of which those that become other graphs are judged.
    fn more_calls(&mut self, most: usize) -> Result<Option<Found>> {
        for target in self.targets.iter().take(MOST_TARGETS) {
            let program = &self.base.set.checked().program;
            let Some(mut calls) = Calls::new(program, target, self.base.seed.wrapping_add(1)) else { continue };
            let (before, now) = (self.base.exporter(), self.exporter);
            let is_other = |call: &Example| prints_of(call, now) != prints_of(call, before);
            let open: Vec<Example> =
                std::iter::from_fn(|| calls.next()).take(most).filter(is_other).take(MORE_JUDGED).collect();
            let records: Vec<_> =
                open.iter().enumerate().map(|(id, call)| record_of(before, target, id, call, Vec::new())).collect();
            let mut valid = Vec::new();
            for (call, answer) in open.iter().zip(self.oracle.types(&records)?) {
                let Some(Answer::Types { types, .. }) = answer else { continue };
                if let Some(found) = self.wrong_types(&types, call) {
                    return Ok(Some(found));
                }
                valid.push(call);
            }
            if let Some(found) = self.judged_in_parts(&valid)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// An opset at which a call has results of other types than PyTorch's, or is refused, only since the change.
    fn wrong_types(&self, types: &[(String, Vec<i64>)], call: &Example) -> Option<Found> {
        OPSETS.into_iter().find_map(|opset| {
            let what = match self.exporter.typed(call, types, opset).0 {
                Made::Right => return None,
                Made::Refused(reason) => reason,
                Made::Wrong(fault) => fault.what,
            };
            let was_right = matches!(self.base.exporter().typed(call, types, opset).0, Made::Right);
            was_right.then(|| Found::new(Fate::Verify, format!("{} at opset {opset}: {what}", call.text)))
        })
    }

    fn judged_in_parts(&mut self, calls: &[&Example]) -> Result<Option<Found>> {
        for some in calls.chunks(JUDGED) {
            if let Some(found) = self.judged(some, false)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// What the judge says of calls, if it accepts what the rules as they are make of them. `is_written`: they are examples.
    fn judged(&mut self, calls: &[&Example], is_written: bool) -> Result<Option<Found>> {
        let (fate, exporter) = (if is_written { Fate::Examples } else { Fate::Verify }, self.exporter);
        let mut records = Vec::new();
        for (id, call) in calls.iter().enumerate() {
            if is_written {
                let tried = examples::build_example(id, call, exporter.checked, exporter.rules, Passes::NONE);
                if let Some(failure) = tried.failures.first() {
                    return Ok(Some(Found::new(fate, failure.as_str())));
                }
                records.extend(tried.record);
            } else {
                let models = OPSETS.iter().filter_map(|opset| exporter.model(call, *opset).ok().flatten()).collect();
                records.push(record_of(exporter, examples::target(call), id, call, models));
            }
        }
        let verdicts = self.oracle.judge(&records)?;
        for (record, verdict) in records.iter().zip(verdicts) {
            let failure = match verdict {
                Some(verdict) => verdict.failures.into_iter().next(),
                None => Some(Failure { opset: 0, what: "what runs the model ends".to_owned(), invalid: false }),
            };
            let Some(Failure { opset, what, invalid }) = failure else { continue };
            let Some(call) = calls.get(record.id) else { continue };
            if self.base.is_accepted(call, is_written, self.oracle)? {
                let how = format!("{} at opset {opset}: {what}", record.text);
                return Ok(Some(Found { fate, how, ill_typed: invalid }));
            }
        }
        Ok(None)
    }
}

/// Why a call has no model, and whether its types are wrong; None for a refusal, which may be declared. Sizes and numbers that do not fit are not
/// a matter of types.
fn no_model(print: &str) -> Option<(&str, Option<bool>)> {
    let marks = [(Exporter::REFUSED, None), (Exporter::FAILED, Some(false)), (Exporter::BROKEN, Some(true))];
    marks.into_iter().find_map(|(mark, ill_typed)| Some((print.strip_prefix(mark)?, ill_typed)))
}

/// Whether the matrix says that every call of an overload works at an opset.
fn is_said_to_work(checked: &Checked, target: &str, opset: u32) -> bool {
    let matrix = &checked.matrix;
    let row = matrix.rows.get(target);
    row.and_then(|row| row.get((opset.saturating_sub(matrix.oldest)) as usize)) == Some(&Status::Full)
}

/// What is known of a mutant in which an earlier run ended: the process did not survive it.
pub(super) fn ended() -> Found {
    Found::new(Fate::Examples, "the exporter ends")
}
