//! Pass 3: opsets. After it, every call of an ONNX operator on every path of every rule is native at each opset, or is lowered by a
//! rule that is covered itself, or the rule declares the gap with `since`, which must be exact.
//!
//! The support matrix is a result of this pass.

pub mod by_dtype;
mod call;
pub mod casts;
mod complete;
mod conditions;
mod cycles;
mod dtypes;
mod emitted;
mod example;
mod facts;
mod fails;
mod lists;
mod matching;
mod misuse;
mod numbers;
mod operator;
pub mod opsets;
mod ranks;
mod report;
mod results;
mod roots;
pub mod said;
mod scope;
mod trace;
pub mod values;
mod verdict;
mod walk;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::BuildHasher;
use std::rc::Rc;

use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::tree::{self, AVOIDED, Expr, Function, Lower, Map, Program};
use aten2onnx_schemas::Schemas;
use aten2onnx_schemas::dtypes::DtypeSet;
use aten2onnx_schemas::onnx::{Port, Version};
use dtypes::DtypeFacts;
pub use example::{Examiner, Proof};
use opsets::Opsets;
pub use roots::{Known, Unchanged, check};
use scope::Scope;
pub use trace::Moved;
use trace::{Event, Log};
use values::Abs;
pub use verdict::{Failure, Matrix, Reasons, Refusal, Status, Verdict};

/// Longer conditions are cut to the innermost one.
const LONGEST_CONDITION: usize = 100;

/// How often a lowering is entered in itself, for other arguments each time, before it is said to have no end.
const MOST_TURNS: usize = 4;

/// A place in a rule with what is known there, and the opsets that reach it.
#[derive(Debug, Clone)]
struct Path<'a> {
    scope: Scope<'a>,
    at: Opsets,
}

/// What is known of the value of an expression, and the opsets at which it has one.
#[derive(Debug, Clone)]
struct Seen {
    value: Abs,
    at: Opsets,
}

impl Seen {
    /// Every path is refused.
    fn never() -> Seen {
        Seen { value: Abs::Never, at: Opsets::NONE }
    }

    /// One of both.
    fn or(self, other: Seen) -> Seen {
        match (self.at.is_empty(), other.at.is_empty()) {
            (true, _) => other,
            (_, true) => self,
            _ => Seen { value: self.value.or(&other.value), at: self.at.or(other.at) },
        }
    }
}

/// A call that nothing covers, and the path to it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Gap {
    /// The call.
    site: Span,
    /// Its operator.
    op: String,
    /// The version whose `lower` is missing.
    missing: u32,
    /// Rules from the outermost to the one that contains the call.
    path: Vec<String>,
}

/// What a rule with everything that it calls has reached.
#[derive(Debug, Clone, Default)]
struct Frame {
    refusals: BTreeMap<Refusal, Opsets>,
    /// What ends a path whatever the opset is, and where.
    fails: BTreeMap<Failure, Opsets>,
    gaps: BTreeMap<Gap, Opsets>,
    /// The opsets at which some call is lowered or cast.
    lowered: Opsets,
    /// Inputs of one type variable may have different dtypes, as far as is known.
    may_differ: bool,
}

impl Frame {
    /// Adds what another rule reached. `condition` is that of the branches around the call.
    fn add(&mut self, other: &Frame, at: Opsets, condition: Option<&Rc<str>>) {
        for (refusal, opsets) in &other.refusals {
            let opsets = opsets.and(at);
            if !opsets.is_empty() {
                let all = self.refusals.entry(refusal.clone()).or_default();
                *all = all.or(opsets);
            }
        }
        for (failure, opsets) in &other.fails {
            let opsets = opsets.and(at);
            if !opsets.is_empty() {
                let condition = failure.condition.as_ref().or(condition).cloned();
                let all = self.fails.entry(Failure { condition, ..failure.clone() }).or_default();
                *all = all.or(opsets);
            }
        }
        for (gap, opsets) in &other.gaps {
            let opsets = opsets.and(at);
            if !opsets.is_empty() {
                let all = self.gaps.entry(gap.clone()).or_default();
                *all = all.or(opsets);
            }
        }
        self.lowered = self.lowered.or(other.lowered.and(at));
        self.may_differ |= other.may_differ;
    }
}

/// A call of a function with what is known of its arguments.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    function: usize,
    args: Vec<Abs>,
    outputs: Option<Abs>,
    /// The group of each argument.
    groups: Vec<Option<usize>>,
    all: DtypeSet,
    at: Opsets,
}

/// A rule or helper that is being walked.
#[derive(Debug)]
struct Entered<'a> {
    name: &'a str,
    at: Opsets,
    /// Of what is known of its arguments.
    digest: u64,
}

/// The result of a call.
#[derive(Debug, Clone)]
struct Outcome {
    seen: Seen,
    frame: Rc<Frame>,
    /// Its number in the log.
    call: u32,
}

struct Coverage<'a> {
    program: &'a Program,
    schemas: &'a Schemas,
    /// All supported opsets.
    opsets: Opsets,
    facts: DtypeFacts,
    lowers: FxHashMap<(&'a str, u32), usize>,
    sames: FxHashSet<(&'a str, u32)>,
    /// Values may have dtypes that an opset lacks: a model that is converted has them until a node is refused.
    any_dtype: bool,
    /// The dtypes of values of which nothing is known.
    all: DtypeSet,
    memo: FxHashMap<Key, Outcome>,
    /// The opsets at which an `extern fn` emits something that is not native, by name.
    lowered_externs: HashMap<String, Opsets>,
    stack: Vec<Entered<'a>>,
    frame: Frame,
    /// Greater than 0 while a path is walked again only to learn about values.
    quiet: u32,
    /// The branches around the place, from the body of the rule on.
    within: Vec<u32>,
    /// How many more parts of the condition are followed.
    steps_left: u32,
    /// What was reached so far.
    log: Log,
    /// Whether calls are looked at for what is wrong with them whatever the opset is.
    judges: bool,
    /// The example whose call is walked.
    example: Option<Span>,
    /// The lowerings that are walked for calls without attributes, and the opsets at which others are known to end.
    emitting: Vec<usize>,
    ending: FxHashMap<usize, Opsets>,
    /// What is said of calls, if it is asked for.
    said: Option<said::AllSaid>,
    /// The calls that these made.
    plain_memo: FxHashMap<Key, Outcome>,
    out: Vec<Diagnostic>,
}

impl<'a> Coverage<'a> {
    fn new(program: &'a Program, schemas: &'a Schemas) -> Self {
        Coverage {
            program,
            schemas,
            opsets: Opsets::range(schemas.opsets.min, schemas.opsets.max),
            facts: DtypeFacts::new(schemas),
            lowers: program.lowers.iter().enumerate().map(|(i, l)| ((l.op.as_str(), l.before), i)).collect(),
            sames: program.sames.iter().map(|s| (s.op.as_str(), s.to)).collect(),
            any_dtype: false,
            all: DtypeSet::real(),
            memo: FxHashMap::default(),
            lowered_externs: HashMap::new(),
            stack: Vec::new(),
            frame: Frame::default(),
            quiet: 0,
            within: Vec::new(),
            steps_left: conditions::MOST_STEPS,
            log: Log::default(),
            judges: false,
            example: None,
            emitting: Vec::new(),
            ending: FxHashMap::default(),
            said: None,
            plain_memo: FxHashMap::default(),
            out: Vec::new(),
        }
    }

    /// The dtypes that the tensors of a rule's calls may have.
    fn dtypes_of(&self, map: &Map) -> DtypeSet {
        let name = map.function.name.as_str();
        let complex = name.starts_with("complex::") || self.program.takes_complex(name);
        if complex { DtypeSet::real().or(DtypeSet::complex()) } else { DtypeSet::real() }
    }

    /// Any arguments of a call.
    fn any_arguments(&self, function: &Function) -> Vec<Abs> {
        function.params.iter().map(|param| self.top(&param.ty, self.opsets)).collect()
    }

    /// The version whose form the header of a lowering has.
    fn version_of_lowering(&self, lower: &Lower) -> Option<&'a Version> {
        let versions = self.schemas.onnx.versions(&lower.op);
        if lower.before == AVOIDED { versions.last() } else { versions.iter().find(|v| v.since == lower.before) }
    }

    /// The opsets at which a lowering runs: one for avoided calls runs at any, even where older lowerings would be called.
    fn opsets_of_lowering(&self, lower: &Lower) -> Opsets {
        if lower.before == AVOIDED {
            return self.opsets;
        }
        self.opsets.below(self.schemas.opsets.lowered_below(&lower.op, lower.before))
    }

    /// The version before that of a rule.
    fn version_before(&self, rule: &Lower) -> Option<&'a Version> {
        self.schemas.onnx.versions(&rule.op).iter().rev().find(|v| v.since < rule.before)
    }

    /// Any arguments of a call of an operator. If only types changed, the lowering is for dtypes that the older version lacks.
    fn any_arguments_of_lowering(&self, lower: &Lower) -> Vec<Abs> {
        let version = self.version_of_lowering(lower);
        let only_types = lower.before != AVOIDED && !self.schemas.shape_change(&lower.op, lower.before);
        let one_variable = version.is_some_and(|v| v.types.len() == 1);
        let older = self.version_before(lower).filter(|_| only_types && one_variable);
        self.any_arguments_of_version(lower, |i| {
            let allowed = allowed_at(version, i);
            let new = allowed.without(older.map_or(DtypeSet::NONE, |older| allowed_at(Some(older), i)));
            if new.is_empty() { allowed } else { new }
        })
    }

    /// Any arguments of a call in an older form.
    fn any_arguments_of_raise(&self, raise: &Lower) -> Vec<Abs> {
        let version = self.version_before(raise);
        self.any_arguments_of_version(raise, |i| allowed_at(version, i))
    }

    /// Any arguments of a rule whose inputs have these dtypes.
    fn any_arguments_of_version(&self, rule: &Lower, dtypes: impl Fn(usize) -> DtypeSet) -> Vec<Abs> {
        let params = rule.function.params.iter().enumerate();
        params
            .map(|(i, param)| match dtypes(i) {
                dtypes if i < rule.inputs && !dtypes.is_empty() => Abs::top(&param.ty, dtypes, self.opsets),
                _ => self.top(&param.ty, self.opsets),
            })
            .collect()
    }

    /// The group of each input of a version: inputs with the same type variable have the same dtype.
    fn groups_of(version: Option<&Version>) -> Vec<Option<usize>> {
        let Some(version) = version else { return Vec::new() };
        let group = |port: &Port| {
            let variable = version.types.iter().position(|var| var.name == port.ty)?;
            port.homogeneous.then_some(variable)
        };
        version.inputs.iter().map(group).collect()
    }

    /// The verdict on a rule for these arguments.
    fn verdict(&mut self, map: &'a Map, args: Vec<Abs>, at: Opsets) -> Verdict {
        let (seen, frame) = self.root(&map.function, args, &[], at);
        Verdict::of(frame, seen.at).with_since(map, at)
    }

    /// The dtypes that values may have at an opset.
    fn existing_at(&self, opset: u32) -> DtypeSet {
        if self.any_dtype { DtypeSet::ALL } else { self.facts.existing_at(opset) }
    }

    /// Walks a rule from outside.
    fn root(&mut self, function: &'a Function, args: Vec<Abs>, groups: &[Option<usize>], at: Opsets) -> (Seen, Frame) {
        self.frame = Frame::default();
        let seen = self.call_grouped(function, args, None, groups, at);
        (seen, std::mem::take(&mut self.frame))
    }

    /// A call of a rule or helper. It is walked once for equal arguments.
    fn call(&mut self, function: &'a Function, args: Vec<Abs>, outputs: Option<Abs>, at: Opsets) -> Seen {
        self.call_grouped(function, args, outputs, &[], at)
    }

    /// A call in which the tensors of one group have the same dtype. `groups` has the group of each argument.
    fn call_grouped(
        &mut self,
        function: &'a Function,
        args: Vec<Abs>,
        outputs: Option<Abs>,
        groups: &[Option<usize>],
        at: Opsets,
    ) -> Seen {
        if at.is_empty() || args.contains(&Abs::Never) {
            return Seen::never();
        }
        let id = std::ptr::from_ref(function) as usize;
        let fitted = function.params.iter().zip(args).map(|(param, arg)| arg.fit(&param.ty, self.all, at));
        let groups = groups.to_vec();
        let key = Key { function: id, args: fitted.collect(), outputs, groups, all: self.all, at };
        if let Some(known) = self.memo.get(&key) {
            let (seen, frame, call) = (known.seen.clone(), known.frame.clone(), known.call);
            self.include(&frame, at);
            self.note(Event::Call(call));
            return seen;
        }
        let digest = FxBuildHasher.hash_one(&key);
        if let Some(from) = self.repeated(function, digest, at) {
            self.recursion(function, from);
            return Seen { value: self.top(&function.returns, at), at };
        }
        self.stack.push(Entered { name: function.name.as_str(), at, digest });
        let outer = std::mem::take(&mut self.frame);
        let branches = std::mem::take(&mut self.within);
        let events = self.log.begin();
        let mut scope = Scope::default();
        scope.outputs.clone_from(&key.outputs);
        for (i, (param, arg)) in function.params.iter().zip(&key.args).enumerate() {
            scope.bind_in_group(&param.name, arg.clone(), key.groups.get(i).copied().flatten());
        }
        let seen = self.expr(&function.body, &scope, at).or_top(self, &function.returns);
        let frame = Rc::new(std::mem::replace(&mut self.frame, outer));
        self.within = branches;
        self.stack.pop();
        self.note(Event::Body(function.span));
        let call = self.log.end(events);
        self.note(Event::Call(call));
        self.include(&frame, at);
        if self.quiet == 0 || !self.emitting.is_empty() {
            self.memo.insert(key, Outcome { seen: seen.clone(), frame, call });
        }
        seen
    }

    /// Notes what a walk has reached, unless it only learns about values.
    fn note(&mut self, event: Event) {
        if self.quiet == 0 {
            self.log.note(event);
        }
    }

    /// Adds what a call reached, with the caller at the start of each path.
    fn include(&mut self, frame: &Frame, at: Opsets) {
        let condition = if frame.fails.is_empty() { None } else { self.condition() };
        if frame.gaps.is_empty() {
            self.frame.add(frame, at, condition.as_ref());
            return;
        }
        let caller = self.stack.last().map(|entered| entered.name.to_owned());
        let mut seen_from_here = frame.clone();
        seen_from_here.gaps = std::mem::take(&mut seen_from_here.gaps)
            .into_iter()
            .map(|(mut gap, opsets)| {
                gap.path.splice(0..0, caller.clone());
                (gap, opsets)
            })
            .collect();
        self.frame.add(&seen_from_here, at, condition.as_ref());
    }

    /// Another `map`.
    fn rule(&mut self, name: &str, args: &'a [Expr], expr: &'a Expr, scope: &Scope<'a>, at: Opsets) -> Seen {
        let (values, at) = self.values(args, scope, at);
        let Some(map) = self.program.map(name) else { return Seen { value: self.top(&expr.ty, at), at } };
        let mut at = at;
        if let Some((since, reason)) = &map.since {
            self.refuse(*since, reason, at.below(*since));
            at = at.from(*since);
        }
        self.call(&map.function, values, None, at)
    }

    /// Notes that a path is refused.
    fn refuse(&mut self, since: u32, reason: &str, at: Opsets) {
        if at.is_empty() {
            return;
        }
        let all = self.frame.refusals.entry(Refusal { since, reason: reason.into() }).or_default();
        *all = all.or(at);
    }

    /// Notes that a path fails, whatever the opset is.
    fn failed(&mut self, reason: &str, is_of_dtype: bool, at: Opsets) {
        if at.is_empty() {
            return;
        }
        let failure = Failure { reason: reason.into(), condition: self.condition(), is_of_dtype };
        let all = self.frame.fails.entry(failure).or_default();
        *all = all.or(at);
    }

    /// The conditions of the branches around the place, from the outermost one in the rule on; the innermost one if they are long.
    fn condition(&self) -> Option<Rc<str>> {
        let texts =
            self.within.iter().filter_map(|arm| self.program.arms.get(*arm as usize)).map(|arm| arm.text.as_str());
        let texts: Vec<&str> = texts.collect();
        let all = texts.join(", ");
        match texts.last() {
            None => None,
            Some(last) if all.len() > LONGEST_CONDITION => Some((*last).into()),
            Some(_) => Some(all.into()),
        }
    }

    /// Notes that nothing covers a call.
    fn gap(&mut self, site: Span, op: &str, missing: u32, at: Opsets) {
        let path = self.stack.last().map(|entered| entered.name.to_owned()).into_iter().collect();
        let all = self.frame.gaps.entry(Gap { site, op: op.to_owned(), missing, path }).or_default();
        *all = all.or(at);
    }

    /// `since` in place of a value.
    fn since_value(&mut self, site: Span, since: u32, reason: &str, at: Opsets) {
        self.note(Event::SinceValue(site, since, at));
        self.refuse(since, reason, at);
    }

    /// `since N ".."` before other statements, which `rest` walks.
    fn since_statement(
        &mut self,
        since: u32,
        reason: &str,
        site: Span,
        at: Opsets,
        rest: &mut dyn FnMut(&mut Self, Opsets) -> Seen,
    ) {
        let last = at.and(Opsets::one(since.saturating_sub(1)));
        if !last.is_empty() && self.quiet == 0 {
            let kept = std::mem::take(&mut self.frame);
            self.quiet += 1;
            let seen = rest(self, last);
            self.quiet -= 1;
            let found = std::mem::replace(&mut self.frame, kept);
            let needed = seen.at.is_empty() || !found.gaps.is_empty();
            self.note(Event::SinceStatement(site, since, needed));
        }
        self.refuse(since, reason, at.below(since));
    }

    /// Where a call of a function closes a cycle, if it does. A lowering may be entered again for other arguments, such as a `ReduceSum` of known axes
    /// in that of one whose axes the graph computes.
    fn repeated(&self, function: &Function, digest: u64, at: Opsets) -> Option<usize> {
        let own = |entered: &Entered<'_>| entered.name == function.name && !entered.at.and(at).is_empty();
        let from = self.stack.iter().position(own)?;
        let inner = self.stack.get(from..).unwrap_or_default();
        let leads_through_lowering = inner.iter().any(|entered| tree::is_lowering(entered.name));
        let is_other = inner.iter().all(|entered| !own(entered) || entered.digest != digest);
        let turns = inner.iter().filter(|entered| own(entered)).count();
        let ends = leads_through_lowering && is_other && turns < MOST_TURNS;
        (!ends).then_some(from)
    }

    fn recursion(&mut self, function: &Function, from: usize) {
        let names = self.stack.iter().skip(from).map(|entered| entered.name).chain([function.name.as_str()]);
        let cycle: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        if !self.out.iter().any(|d| d.code == "E0603" && d.primary.0 == function.span) {
            let text = format!("`{}` calls itself", function.name);
            let diagnostic = Diagnostic::new("E0603", function.span, text);
            self.out.push(diagnostic.note(format!("the cycle: {}", cycle.join(" -> "))));
        }
    }
}

/// The dtypes that an input of a version takes. All if there is no such version or input.
fn allowed_at(version: Option<&Version>, i: usize) -> DtypeSet {
    let port = version.and_then(|v| call::port_at(&v.inputs, i));
    port.map_or(DtypeSet::ALL, |port| port.dtypes)
}

/// `9 to 12, 15`
pub fn ranges(opsets: &BTreeSet<u32>) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for opset in opsets {
        match parts.last_mut() {
            Some(last) if last.1 + 1 == *opset => last.1 = *opset,
            _ => parts.push((*opset, *opset)),
        }
    }
    let texts: Vec<String> =
        parts.iter().map(|(a, b)| if a == b { a.to_string() } else { format!("{a} to {b}") }).collect();
    texts.join(", ")
}
