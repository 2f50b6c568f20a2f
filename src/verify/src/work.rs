//! The checks of one overload.

use std::collections::{BTreeMap, BTreeSet};

use aten2onnx_core::error::{Error, Result};
use aten2onnx_examples::{Built, Record, record};
use aten2onnx_opmap::Checked;
use aten2onnx_opmap::syntax::ast::ExampleValue;
use aten2onnx_opmap::tree::{Example, Target};
use aten2onnx_rules::interpret::MappingFiles;

use super::calls::Calls;
use super::check::{Exporter, Fault, FaultKind, Made};
use super::oracle::{Answer, Oracle};
use super::report::{Found, Row};
use super::rule::Rule;
use super::{AT_ONCE, Settings, digest, edit, matrix, moves, relations, shrink, uniform};

/// Faults of one kind of an overload that are told.
const MOST_FAULTS: usize = 4;
/// Calls of an overload that may make PyTorch crash before the others are left out.
const MOST_CRASHES: usize = 50;
/// Reasons for refusals that are kept.
const MOST_REASONS: usize = 12;

/// The checks of one overload.
pub(super) struct Work<'a, 'o> {
    settings: &'a Settings,
    exporter: Exporter<'a>,
    oracle: &'a mut Oracle<'o>,
    name: &'a str,
    calls: Calls<'a>,
    /// What the support matrix says of it.
    matrix: Option<matrix::Row>,
    row: Row,
    reached: BTreeSet<u32>,
    /// Calls that PyTorch takes and the rule too: those that reached a branch first, then others.
    valid: Vec<Example>,
    /// How many of them reached a branch first.
    first: usize,
    /// The results of random operators cannot be compared.
    is_random: bool,
}

impl<'a, 'o> Work<'a, 'o> {
    pub fn new(
        settings: &'a Settings,
        exporter: Exporter<'a>,
        oracle: &'a mut Oracle<'o>,
        name: &'a str,
    ) -> Result<Work<'a, 'o>> {
        let checked: &'a Checked = exporter.checked;
        let calls = Calls::new(&checked.program, name, settings.seed)
            .ok_or_else(|| Error::input(format!("there is no rule for `{name}`")))?;
        let (row, reached, valid) = (Row::default(), BTreeSet::new(), Vec::new());
        let matrix = matrix::Row::find(checked, name);
        Ok(Work { settings, exporter, oracle, name, calls, matrix, row, reached, valid, first: 0, is_random: false })
    }

    /// Calls of level typed, until there are enough or hardly any is left.
    pub fn typed(&mut self, is_late: &dyn Fn() -> bool) -> Result<()> {
        let mut invalid_in_a_row = 0;
        let most_invalid = self.settings.typed * 8 + 1000;
        while self.row.typed + self.row.refused.values().sum::<usize>() < self.settings.typed && !is_late() {
            let batch: Vec<Example> = std::iter::from_fn(|| self.calls.next()).take(AT_ONCE).collect();
            if batch.is_empty() || invalid_in_a_row > most_invalid || self.row.crashed > MOST_CRASHES {
                self.row.exhausted = true;
                return Ok(());
            }
            let records: Vec<Record> =
                batch.iter().enumerate().map(|(i, call)| self.record(i, call, Vec::new())).collect();
            let answers = self.oracle.types(&records)?;
            for (call, answer) in batch.into_iter().zip(answers) {
                let before = self.row.typed;
                self.answered(call, answer)?;
                invalid_in_a_row = if self.row.typed > before { 0 } else { invalid_in_a_row + 1 };
            }
        }
        Ok(())
    }

    fn answered(&mut self, call: Example, answer: Option<Answer>) -> Result<()> {
        // Each call is made at one of the opsets.
        let opset = self.settings.opsets.get(self.row.typed % self.settings.opsets.len().max(1)).copied();
        let opset = opset.unwrap_or(aten2onnx_onnx::facts::MAX_OPSET);
        let (wanted, random) = match answer {
            Some(Answer::Types { types, random }) => (types, random),
            refused => {
                let count = if refused.is_some() { &mut self.row.invalid } else { &mut self.row.crashed };
                *count += 1;
                if matches!(refused, Some(Answer::Refused { broken: true, .. })) {
                    return Ok(());
                }
                if let Some(fault) = self.exporter.survives(&call, opset) {
                    let exporter = self.exporter;
                    return self.found(call, fault, &mut |_, call| Ok(exporter.survives(call, opset)));
                }
                return Ok(());
            }
        };
        self.is_random |= random;
        let (made, arms) = self.exporter.typed(&call, &wanted, opset);
        let known = self.reached.len();
        self.reached.extend(arms);
        let is_first = self.reached.len() > known;
        match made {
            Made::Right => {
                self.row.typed += 1;
                if is_first {
                    self.valid.insert(self.first, call.clone());
                    self.first += 1;
                } else {
                    self.valid.push(call.clone());
                }
                self.calls.keep(call);
            }
            // What ONNX's text alone forbids, a runtime may run.
            Made::Wrong(fault) if fault.kind == FaultKind::Input && !matches!(call.target, Target::Map(_)) => {
                self.row.invalid += 1;
            }
            Made::Refused(reason) => self.refused(call, reason, opset)?,
            Made::Wrong(fault) => {
                if self.oracle.doubts(self.record(0, &call, Vec::new()))? {
                    self.row.invalid += 1;
                    return Ok(());
                }
                let kind = fault.kind;
                self.found(call, fault, &mut |work, call| {
                    Ok(work.wrong_type(call, opset)?.filter(|fault| fault.kind == kind))
                })?;
            }
        }
        Ok(())
    }

    /// Counts a refusal. One that the matrix does not know is a fault.
    fn refused(&mut self, call: Example, reason: String, opset: u32) -> Result<()> {
        let unknown = self.matrix.as_ref().and_then(|row| row.contradiction(&call, opset, &reason));
        let reasons = &mut self.row.refused;
        let is_full = reasons.len() >= MOST_REASONS && !reasons.contains_key(&reason);
        *reasons.entry(if is_full { "other reasons".to_owned() } else { reason }).or_default() += 1;
        let Some(what) = unknown else { return Ok(()) };
        if self.oracle.doubts(self.record(0, &call, Vec::new()))? {
            return Ok(());
        }
        let fault = Fault { kind: FaultKind::Refusal, opset, what };
        self.found(call, fault, &mut |work, call| work.unknown_refusal(call, opset))
    }

    /// How the refusal of a call that PyTorch takes contradicts the matrix.
    fn unknown_refusal(&mut self, call: &Example, opset: u32) -> Result<Option<Fault>> {
        let answers = self.oracle.types(&[self.record(0, call, Vec::new())])?;
        let Some(Some(Answer::Types { types, .. })) = answers.first() else { return Ok(None) };
        let (Made::Refused(reason), _) = self.exporter.typed(call, types, opset) else { return Ok(None) };
        let what = self.matrix.as_ref().and_then(|row| row.contradiction(call, opset, &reason));
        let Some(what) = what else { return Ok(None) };
        let doubts = self.oracle.doubts(self.record(0, call, Vec::new()))?;
        Ok((!doubts).then_some(Fault { kind: FaultKind::Refusal, opset, what }))
    }

    /// What is wrong with the types of a call that PyTorch takes.
    fn wrong_type(&mut self, call: &Example, opset: u32) -> Result<Option<Fault>> {
        let answers = self.oracle.types(&[self.record(0, call, Vec::new())])?;
        let Some(Some(Answer::Types { types, .. })) = answers.first() else { return Ok(None) };
        let (Made::Wrong(fault), _) = self.exporter.typed(call, types, opset) else { return Ok(None) };
        let doubts = self.oracle.doubts(self.record(0, call, Vec::new()))?;
        Ok((!doubts).then_some(fault))
    }

    /// Calls of level sampled: the values at each opset.
    pub fn sampled(&mut self) -> Result<()> {
        let chosen = self.chosen();
        self.row.moves = !chosen.is_empty() && !self.is_random;
        for batch in chosen.chunks(AT_ONCE / 4) {
            if self.has_enough_samples() {
                break;
            }
            let mut records = Vec::new();
            let mut opsets = Vec::new();
            for (i, call) in batch.iter().enumerate() {
                let (models, all) = self.models(call)?;
                let moves = !self.is_random && models.iter().all(|built| moves::only_moves(&built.bytes));
                self.row.moves &= moves;
                opsets.push((all, moves));
                let mut record = self.record(i, call, models);
                record.distinct = moves;
                records.push(record);
            }
            let verdicts = self.oracle.judge(&records)?;
            for ((call, (all, moves)), verdict) in batch.iter().zip(opsets).zip(verdicts) {
                let Some(verdict) = verdict else {
                    self.found(call.clone(), judge_ends(), &mut |work, call| work.ends_the_judge(call))?;
                    continue;
                };
                for (engine, models) in verdict.engines {
                    *self.row.engines.entry(engine).or_default() += models;
                }
                for entry in verdict.accepted {
                    *self.row.accepted.entry(entry).or_default() += 1;
                }
                let Some(failure) = verdict.failures.into_iter().next() else {
                    self.row.exact += usize::from(moves);
                    self.row.double += usize::from(is_precise(call));
                    all.iter().for_each(|opset| *self.row.sampled.entry(*opset).or_default() += 1);
                    continue;
                };
                let opset = failure.opset;
                if self.oracle.doubts(self.record(0, call, Vec::new()))? {
                    self.row.invalid += 1;
                    continue;
                }
                let fault = Fault { kind: FaultKind::Value, opset, what: failure.what };
                self.found(call.clone(), fault, &mut |work, call| work.wrong_value(call, opset))?;
            }
        }
        Ok(())
    }

    /// Whether what runs the models of a call ends: PyTorch alone has survived it before.
    fn ends_the_judge(&mut self, call: &Example) -> Result<Option<Fault>> {
        if !self.is_valid(call)? {
            return Ok(None);
        }
        let (models, _) = self.models(call)?;
        let verdict = self.oracle.judge(&[self.record(0, call, models)])?.into_iter().next().flatten();
        Ok(verdict.is_none().then(judge_ends))
    }

    /// Whether PyTorch takes a call.
    fn is_valid(&mut self, call: &Example) -> Result<bool> {
        let answers = self.oracle.types(&[self.record(0, call, Vec::new())])?;
        Ok(matches!(answers.first(), Some(Some(Answer::Types { .. }))))
    }

    /// What is wrong with the values of a call that PyTorch takes, at an opset.
    fn wrong_value(&mut self, call: &Example, opset: u32) -> Result<Option<Fault>> {
        let Ok(Some(model)) = self.exporter.model(call, opset) else { return Ok(None) };
        if !self.is_valid(call)? {
            return Ok(None);
        }
        let record = self.record(0, call, vec![model]);
        let verdict = self.oracle.judge(&[record])?.into_iter().next().flatten();
        let failure = verdict.and_then(|verdict| verdict.failures.into_iter().find(|failure| failure.opset == opset));
        let Some(failure) = failure else { return Ok(None) };
        let doubts = self.oracle.doubts(self.record(0, call, Vec::new()))?;
        Ok((!doubts).then_some(Fault { kind: FaultKind::Value, opset, what: failure.what }))
    }

    /// Whether each opset has as many calls as wanted. Some are doubtful, and some exist at newer opsets only.
    fn has_enough_samples(&self) -> bool {
        let count = |opset: &u32| self.row.sampled.get(opset).copied().unwrap_or(0);
        self.settings.opsets.iter().all(|opset| count(opset) >= self.settings.sampled)
    }

    /// The calls whose values are compared: those that reached a branch first, others from everywhere, and then as many again
    /// in case that some of these do not count.
    fn chosen(&mut self) -> Vec<Example> {
        let (first, others) = self.valid.split_at(self.first.min(self.valid.len()));
        let most = self.settings.sampled.saturating_sub(first.len()).max(1);
        let step = others.len().div_ceil(most).max(1);
        let rounds = (0..step.min(2)).flat_map(|round| others.iter().skip(round).step_by(step));
        let first = first.iter().take(self.settings.sampled);
        first.chain(rounds).cloned().collect()
    }

    /// The models that differ, and the opsets that have one.
    fn models(&mut self, call: &Example) -> Result<(Vec<Built>, Vec<u32>)> {
        let (mut models, mut opsets): (Vec<Built>, Vec<u32>) = (Vec::new(), Vec::new());
        for opset in self.settings.opsets.clone() {
            match self.exporter.model(call, opset) {
                Ok(Some(built)) => {
                    opsets.push(opset);
                    if models.last().is_none_or(|last| last.unversioned != built.unversioned) {
                        models.push(built);
                    }
                }
                Ok(None) => {}
                Err(fault) => {
                    let (kind, exporter) = (fault.kind, self.exporter);
                    self.found(call.clone(), fault, &mut |work, call| {
                        let is_valid = work.is_valid(call)?;
                        Ok(exporter.model(call, opset).err().filter(|fault| is_valid && fault.kind == kind))
                    })?;
                }
            }
        }
        Ok((models, opsets))
    }

    fn record(&self, id: usize, call: &Example, models: Vec<Built>) -> Record {
        record_of(self.exporter, self.name, id, call, models)
    }

    /// Notes a fault; shrinks the first calls of each kind.
    fn found(
        &mut self,
        call: Example,
        fault: Fault,
        wrong: &mut dyn FnMut(&mut Self, &Example) -> Result<Option<Fault>>,
    ) -> Result<()> {
        let like = |known: &Found| known.fault.kind == fault.kind;
        let alike = self.row.faults.iter().filter(|known| like(known)).count();
        let same = self.row.faults.iter_mut().find(|known| like(known) && gist(&known.fault.what) == gist(&fault.what));
        if let Some(known) = same {
            known.calls += 1;
            return Ok(());
        }
        if alike >= MOST_FAULTS {
            if let Some(known) = self.row.faults.iter_mut().rfind(|known| like(known)) {
                known.calls += 1;
            }
            return Ok(());
        }
        let Some(rule) = Rule::find(&self.exporter.checked.program, self.name) else { return Ok(()) };
        let (small, fault) = shrink::shrunk(call, &rule, fault, &mut |call| wrong(self, call))?;
        let same = |known: &&mut Found| {
            known.example == small.text
                || (known.fault.kind == fault.kind && gist(&known.fault.what) == gist(&fault.what))
        };
        if let Some(known) = self.row.faults.iter_mut().find(same) {
            known.calls += 1;
            return Ok(());
        }
        self.row.faults.push(Found { example: small.text, fault, calls: 1 });
        Ok(())
    }

    pub fn finished(mut self, set: &MappingFiles) -> Row {
        let rule = Rule::find(&set.checked().program, self.name);
        let arms = set.checked().program.arms.iter().zip(aten2onnx_rules::interpret::FIRST_ARM..);
        let own: BTreeMap<u32, bool> = arms
            .filter(|(arm, _)| rule.as_ref().is_some_and(|rule| rule.has_arm(&arm.rule)) && !arm.refuses)
            .map(|(_, number)| (number, self.reached.contains(&number)))
            .collect();
        self.row.uniform = rule.as_ref().map(|rule| uniform::uniform(&set.checked().program, rule)).unwrap_or_default();
        self.row.arms = (own.values().filter(|reached| **reached).count(), own.len());
        self.row.graphs = digest::graph_digest(self.name, self.exporter);
        self.row
    }
}

/// The fault of a call whose models end the process that runs them.
fn judge_ends() -> Fault {
    Fault { kind: FaultKind::Value, opset: 0, what: "the process ends that runs its models".to_owned() }
}

/// The data of a call of an overload or operator for the judge.
pub(super) fn record_of(exporter: Exporter<'_>, name: &str, id: usize, call: &Example, models: Vec<Built>) -> Record {
    let record = record(id, call, exporter.checked, models, exporter.native(call));
    // Every third call has inputs whose elements do not lie side by side. Kernels for the inside of PyTorch believe that they do.
    let strided = call.text.bytes().map(u64::from).sum::<u64>() % 3 == 0 && !relations::is_internal(name);
    Record { excused: true, strided, precise: is_precise(call), ..record }
}

/// Whether a lowering and its operator both compute in float64, so that they differ by rounding alone.
fn is_precise(call: &Example) -> bool {
    let is_double = |value: &&ExampleValue| edit::dtype_of(value).is_none_or(|dtype| !is_short(dtype));
    !matches!(call.target, Target::Map(_))
        && edit::values(call).iter().all(is_double)
        && edit::values(call).iter().any(|value| edit::dtype_of(value).is_some_and(|dtype| dtype == "f64"))
}

/// A dtype of floats with fewer than 64 bits.
fn is_short(dtype: &str) -> bool {
    matches!(dtype, "f32" | "f16" | "bf16" | "c64")
}

/// A text without its numbers: faults that differ in numbers alone are of one kind.
fn gist(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit() && !matches!(c, '.' | '-' | ',' | ' ')).collect()
}
