//! The roots of the proof: what the walks start from. Each is walked by itself, so that a change of a rule makes only those be walked again that reach
//! it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use super::opsets::Opsets;
use super::trace::{Log, Moved, Trace};
use super::values::{self, Abs};
use super::{Coverage, Matrix, Status, Verdict, complete, cycles, fails, report};
use crate::diagnostic::Diagnostic;
use crate::tree::{AVOIDED, Lower, Map, Program};
use aten2onnx_schemas::Schemas;
use aten2onnx_schemas::dtypes::DtypeSet;

/// What a walk starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Root<'a> {
    /// A `map`, by overload, a `lower` or a `raise`.
    Rule(&'a str),
    /// An operator that the exporter or an `extern fn` emits.
    Operator(&'a str),
}

impl<'a> Root<'a> {
    fn name(self) -> &'a str {
        let (Root::Rule(name) | Root::Operator(name)) = self;
        name
    }
}

/// What is known of rules without errors.
#[derive(Debug, Default)]
pub struct Known {
    log: Log,
    /// The call of each root.
    rules: HashMap<String, u32>,
    operators: HashMap<String, u32>,
    /// The overloads whose inputs may have different dtypes, as far as is known without their examples.
    doubtful: HashSet<String>,
    rows: BTreeMap<String, Vec<Status>>,
    /// The opsets that express an operator.
    expressible: HashMap<String, Opsets>,
}

impl Known {
    fn call(&self, root: Root<'_>) -> Option<u32> {
        match root {
            Root::Rule(name) => self.rules.get(name).copied(),
            Root::Operator(name) => self.operators.get(name).copied(),
        }
    }

    fn keep(&mut self, root: Root<'_>, call: u32) {
        let (all, name) = match root {
            Root::Rule(name) => (&mut self.rules, name),
            Root::Operator(name) => (&mut self.operators, name),
        };
        all.insert(name.to_owned(), call);
    }
}

/// What is known of rules before a change, and what the change leaves as it was.
#[derive(Debug, Clone, Copy)]
pub struct Unchanged<'k> {
    /// What is known.
    pub known: &'k Known,
    /// The rules and operators that the change reaches, by the names of functions and operators.
    pub reached: &'k HashSet<String>,
    /// Where the others are.
    pub moved: &'k Moved,
}

impl<'k> Unchanged<'k> {
    /// The call of a root that the change does not reach.
    fn call(self, root: Root<'_>) -> Option<u32> {
        self.known.call(root).filter(|_| !self.reached.contains(root.name()))
    }
}

/// Checks the coverage of all rules and returns the support matrix. What is `unchanged` is not walked again. What is found out is kept in `keep`.
pub fn check(
    program: &Program,
    schemas: &Schemas,
    unchanged: Option<Unchanged<'_>>,
    keep: Option<&mut Known>,
    out: &mut Vec<Diagnostic>,
) -> Matrix {
    let mut coverage = Coverage::new(program, schemas);
    coverage.judges = true;
    let mut matrix = Matrix { oldest: schemas.opsets.min, newest: schemas.opsets.max, rows: BTreeMap::new() };
    let mut walk = Walk { coverage, unchanged, keep, gaps: report::Gaps::new(), known_calls: Vec::new() };
    let mut doubtful = Vec::new();
    for map in &program.maps {
        let (row, is_doubtful) = walk.map(map, out);
        matrix.rows.insert(map.function.name.clone(), row);
        doubtful.extend(is_doubtful.then_some(map));
    }
    program.lowers.iter().for_each(|lower| walk.lower(lower));
    program.raises.iter().for_each(|raise| walk.raise(raise));
    walk.emitted();
    let trace = walk.trace();
    walk.examples(&doubtful);
    complete::missing_facts(schemas, out);
    fails::check(program, out);
    let Walk { coverage, gaps, .. } = walk;
    let missing_lowerings =
        if schemas.opsets.complete { complete::missing_lowerings(&coverage, &gaps) } else { Vec::new() };
    coverage.report(gaps, &trace, out);
    out.extend(missing_lowerings);
    matrix
}

/// The walks from all roots.
struct Walk<'a, 'k> {
    coverage: Coverage<'a>,
    unchanged: Option<Unchanged<'k>>,
    keep: Option<&'k mut Known>,
    gaps: report::Gaps,
    /// The calls of roots that need not be walked.
    known_calls: Vec<u32>,
}

impl<'a> Walk<'a, '_> {
    /// What the walk from a root gives; None if it is known what it reaches.
    fn root<T>(&mut self, root: Root<'_>, walk: impl FnOnce(&mut Coverage<'a>) -> T) -> Option<T> {
        if let Some(call) = self.unchanged.and_then(|unchanged| unchanged.call(root)) {
            self.known_calls.push(call);
            return None;
        }
        let outer = self.coverage.log.begin();
        let value = walk(&mut self.coverage);
        let call = self.coverage.log.end(outer);
        if let Some(keep) = &mut self.keep {
            keep.keep(root, call);
        }
        Some(value)
    }

    /// What all roots reached.
    fn trace(&mut self) -> Trace {
        let mut trace = Trace::of(&self.coverage.log, self.coverage.program.arms.len());
        if let Some(unchanged) = self.unchanged {
            trace.add_calls(&unchanged.known.log, self.known_calls.iter().copied(), unchanged.moved);
        }
        if let Some(keep) = &mut self.keep {
            keep.log = self.coverage.log.clone();
        }
        trace
    }

    /// The row of a `map`, and whether its inputs may have different dtypes.
    fn map(&mut self, map: &'a Map, out: &mut Vec<Diagnostic>) -> (Vec<Status>, bool) {
        let (name, all) = (map.function.name.as_str(), self.coverage.opsets);
        let walked = self.root(Root::Rule(name), |coverage| {
            coverage.all = coverage.dtypes_of(map);
            let args = coverage.any_arguments(&map.function).into_iter().map(of_model).collect();
            coverage.root(&map.function, args, &[], all)
        });
        let Some((seen, frame)) = walked else {
            let known = self.unchanged.map(|unchanged| unchanged.known);
            let row = known.and_then(|known| known.rows.get(name)).cloned().unwrap_or_default();
            return (row, known.is_some_and(|known| known.doubtful.contains(name)));
        };
        let is_doubtful = frame.may_differ;
        let needed = map.since.as_ref().is_some_and(|(since, _)| {
            let last = since.saturating_sub(1);
            !seen.at.has(last) || frame.gaps.values().any(|at| at.has(last))
        });
        let above = map.since.as_ref().map_or(all, |(since, _)| all.from(*since));
        report::note_gaps(&frame.gaps, above, &mut self.gaps);
        let verdict = Verdict::of(frame, seen.at).with_since(map, all);
        if let Some((since, _)) = map.since.as_ref().filter(|_| !needed) {
            let span = map.since_span.unwrap_or(map.function.span);
            let diagnostic = report::inexact(span, *since, "every path of this rule works below that opset too");
            out.push(diagnostic.help("remove it, or lower the number"));
        }
        let row: Vec<Status> = self.coverage.schemas.opsets.range().map(|opset| verdict.status(opset)).collect();
        if let Some(keep) = &mut self.keep {
            keep.rows.insert(name.to_owned(), row.clone());
            keep.doubtful.extend(is_doubtful.then(|| name.to_owned()));
        }
        (row, is_doubtful)
    }

    fn lower(&mut self, lower: &'a Lower) {
        let below = self.coverage.opsets_of_lowering(lower);
        let frame = self.root(Root::Rule(&lower.function.name), |coverage| {
            coverage.all = DtypeSet::ALL;
            let mut args = coverage.any_arguments_of_lowering(lower);
            if lower.before == AVOIDED {
                args = args.into_iter().map(cycles::given).collect();
            }
            let groups = Coverage::groups_of(coverage.version_of_lowering(lower));
            let (seen, frame) = coverage.root(&lower.function, args.clone(), &groups, below);
            coverage.check_results(lower, &args, &seen.value);
            frame
        });
        if let Some(frame) = frame {
            report::note_gaps(&frame.gaps, below, &mut self.gaps);
        }
    }

    fn raise(&mut self, raise: &'a Lower) {
        let above = self.coverage.opsets.from(raise.before);
        let frame = self.root(Root::Rule(&raise.function.name), |coverage| {
            coverage.all = DtypeSet::ALL;
            let args = coverage.any_arguments_of_raise(raise);
            coverage.root(&raise.function, args, &[], above).1
        });
        if let Some(frame) = frame {
            report::note_gaps(&frame.gaps, above, &mut self.gaps);
        }
    }

    /// The examples of rules. They take no path that calls with any arguments do not take, so nothing is kept of what they reach.
    fn examples(&mut self, maps: &[&'a Map]) {
        for map in maps {
            if self.unchanged.and_then(|unchanged| unchanged.call(Root::Rule(&map.function.name))).is_none() {
                self.coverage.check_examples_of(map);
            }
        }
    }

    /// What the exporter and `extern fn`s emit.
    fn emitted(&mut self) {
        let all = self.coverage.opsets;
        let mut expressible = BTreeMap::new();
        for op in self.coverage.emitted_operators() {
            let at = self.root(Root::Operator(op), |coverage| {
                coverage.all = DtypeSet::ALL;
                coverage.expressible(op, all)
            });
            let known = || self.unchanged.and_then(|unchanged| unchanged.known.expressible.get(op)).copied();
            let at = at.or_else(known).unwrap_or(all);
            expressible.insert(op, at);
            if let Some(keep) = &mut self.keep {
                keep.expressible.insert(op.to_owned(), at);
            }
        }
        self.coverage.check_emitted(&expressible);
    }
}

/// An argument of a model: its tensors are values of the graph, unless they are constants.
fn of_model(value: Abs) -> Abs {
    match value {
        Abs::Tensor(tensor) => Abs::Tensor(values::Tensor { known: tensor.known.of_graph(), ..tensor }),
        Abs::Optional(optional) => {
            let present = Rc::new(of_model((*optional.present).clone()));
            Abs::Optional(values::Optional { absent: optional.absent, present })
        }
        Abs::List(list) => Abs::List(list.map(|item| of_model(item.clone()))),
        other => other,
    }
}
