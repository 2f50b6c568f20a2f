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
    let mut differs = None;
    if let Some(found) = found_by_examples(base, &targets, exporter, oracle, &mut differs)? {
        return Ok(found);
    }
    if let Some(found) = found_by_calls(base, &targets, exporter, oracle, &mut differs)? {
        return Ok(found);
    }
    if differs.is_some()
        && let Some(found) = found_by_more_calls(base, &targets, calls, exporter, oracle)?
    {
        return Ok(found);
    }
    Ok(match differs {
        Some(call) => Found::new(Fate::Survived, format!("other graphs with the same results: {call}")),
        None => Found::new(
            Fate::Equivalent,
            format!("calls of {}", targets.iter().take(MOST_TARGETS).cloned().collect::<Vec<_>>().join(", ")),
        ),
    })
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

fn found_by_examples(
    base: &Base<'_>,
    targets: &[String],
    exporter: Exporter<'_>,
    oracle: &mut Oracle<'_>,
    differs: &mut Option<String>,
) -> Result<Option<Found>> {
    let mut open = Vec::new();
    let all = targets.iter().flat_map(|target| base.examples_of(target)).take(MOST_EXAMPLES);
    for (number, example) in all {
        let prints = prints_of_example(example, exporter);
        let before = base.prints_of_example(number, example);
        if prints == *before {
            continue;
        }
        let text = examples::text(example);
        let other = prints.iter().zip(before.iter()).find(|(now, before)| now != before);
        if let Some((opset, print)) = other.map(|(now, _)| now)
            && let Some((why, ill_typed)) = no_model(print)
        {
            let ill_typed =
                ill_typed.unwrap_or_else(|| is_said_to_work(exporter.checked, examples::target(example), *opset));
            return Ok(Some(Found { fate: Fate::Examples, how: format!("{text} at opset {opset}: {why}"), ill_typed }));
        }
        *differs = Some(text);
        open.push(example);
        if open.len() == JUDGED
            && let Some(found) = judged(base, &std::mem::take(&mut open), exporter, oracle, true)?
        {
            return Ok(Some(found));
        }
    }
    judged(base, &open, exporter, oracle, true)
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

fn found_by_calls(
    base: &Base<'_>,
    targets: &[String],
    exporter: Exporter<'_>,
    oracle: &mut Oracle<'_>,
    differs: &mut Option<String>,
) -> Result<Option<Found>> {
    for target in targets.iter().take(MOST_TARGETS) {
        let mut open = Vec::new();
        for (drawn, before) in base.drawn(target, oracle)?.iter() {
            let now = prints_of(&drawn.call, exporter);
            if now == *before {
                continue;
            }
            if let Some((opset, what)) = wrong_types(&drawn.types, &drawn.call, exporter, base.exporter()) {
                return Ok(Some(Found::new(Fate::Verify, format!("{} at opset {opset}: {what}", drawn.call.text))));
            }
            *differs = Some(drawn.call.text.clone());
            open.push(drawn.call.clone());
        }
        let open: Vec<&Example> = open.iter().collect();
        for some in open.chunks(JUDGED) {
            if let Some(found) = judged(base, some, exporter, oracle, false)? {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

/// Draws many calls, and judges those that become other graphs.
fn found_by_more_calls(
    base: &Base<'_>,
    targets: &[String],
    most: usize,
    exporter: Exporter<'_>,
    oracle: &mut Oracle<'_>,
) -> Result<Option<Found>> {
    for target in targets.iter().take(MOST_TARGETS) {
        let Some(mut calls) = Calls::new(&base.set.checked().program, target, base.seed.wrapping_add(1)) else {
            continue;
        };
        let mut open = Vec::new();
        for _ in 0..most {
            let Some(call) = calls.next() else { break };
            if prints_of(&call, exporter) != prints_of(&call, base.exporter()) {
                open.push(call);
            }
            if open.len() == MORE_JUDGED {
                break;
            }
        }
        let records: Vec<_> = open
            .iter()
            .enumerate()
            .map(|(id, call)| record_of(base.exporter(), target, id, call, Vec::new()))
            .collect();
        let mut valid = Vec::new();
        for (call, answer) in open.iter().zip(oracle.types(&records)?) {
            let Some(Answer::Types { types, .. }) = answer else { continue };
            if let Some((opset, what)) = wrong_types(&types, call, exporter, base.exporter()) {
                return Ok(Some(Found::new(Fate::Verify, format!("{} at opset {opset}: {what}", call.text))));
            }
            valid.push(call);
        }
        for some in valid.chunks(JUDGED) {
            if let Some(found) = judged(base, some, exporter, oracle, false)? {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

/// An opset at which a call has results of other types than PyTorch's, or is refused, only since the change.
fn wrong_types(
    types: &[(String, Vec<i64>)],
    call: &Example,
    exporter: Exporter<'_>,
    before: Exporter<'_>,
) -> Option<(u32, String)> {
    OPSETS.into_iter().find_map(|opset| {
        let what = match exporter.typed(call, types, opset).0 {
            Made::Right => return None,
            Made::Refused(reason) => reason,
            Made::Wrong(fault) => fault.what,
        };
        matches!(before.typed(call, types, opset).0, Made::Right).then_some((opset, what))
    })
}

/// What the judge says of calls, if it accepts what the rules as they are make of them.
fn judged(
    base: &Base<'_>,
    calls: &[&Example],
    exporter: Exporter<'_>,
    oracle: &mut Oracle<'_>,
    is_written: bool,
) -> Result<Option<Found>> {
    let fate = if is_written { Fate::Examples } else { Fate::Verify };
    let mut records = Vec::new();
    for (id, call) in calls.iter().enumerate() {
        if is_written {
            let tried = examples::run(id, call, exporter.checked, exporter.rules, Passes::NONE);
            if let Some(failure) = tried.failures.first() {
                return Ok(Some(Found::new(fate, failure.as_str())));
            }
            records.extend(tried.record);
        } else {
            let models = OPSETS.iter().filter_map(|opset| exporter.model(call, *opset).ok().flatten()).collect();
            records.push(record_of(exporter, examples::target(call), id, call, models));
        }
    }
    let verdicts = oracle.judge(&records)?;
    for (record, verdict) in records.iter().zip(verdicts) {
        let failure = match verdict {
            Some(verdict) => verdict.failures.into_iter().next(),
            None => Some(Failure { opset: 0, what: "what runs the model ends".to_owned(), invalid: false }),
        };
        let Some(Failure { opset, what, invalid }) = failure else { continue };
        let Some(call) = calls.get(record.id) else { continue };
        if !base.is_accepted(call, is_written, oracle)? {
            continue;
        }
        let how = format!("{} at opset {opset}: {what}", record.text);
        return Ok(Some(Found { fate, how, ill_typed: invalid }));
    }
    Ok(None)
}

/// What is known of a mutant in which an earlier run ended: the process did not survive it.
pub(super) fn ended() -> Found {
    Found::new(Fate::Examples, "the exporter ends")
}
