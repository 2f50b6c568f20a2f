//! Pass 3: opsets. After it, every call of an ONNX operator on every path of every rule is native at each opset, or is lowered by a
//! rule that is covered itself, or the rule declares the gap with `since`, which must be exact.
//!
//! The support matrix is a result of this pass.

mod complete;
mod operator;
mod walk;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::check::lower_header;
use crate::diagnostic::Diagnostic;
use crate::schema::Schemas;
use crate::schema::onnx::Version;
use crate::schema::onnx_diff::shape_differences;
use crate::source::Span;
use crate::tree::Program;

/// How far an opset supports a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Every path works.
    Full,
    /// Some paths are refused, for these reasons.
    Partial(Vec<String>),
    /// Every path is refused, for these reasons.
    No(Vec<String>),
}

/// The support matrix: for each `map`, by overload, the status at each opset, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Matrix {
    /// Oldest opset.
    pub oldest: u32,
    /// Newest opset.
    pub newest: u32,
    /// Sorted by overload.
    pub rows: BTreeMap<String, Vec<Status>>,
}

/// The missing lowerings (operator, version), and the calls that need each.
type Gaps = BTreeMap<(String, u32), BTreeMap<Span, Route>>;

/// The path to a call that nothing covers, and the opsets concerned.
#[derive(Debug)]
struct Route {
    path: Vec<String>,
    opsets: BTreeSet<u32>,
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

/// The result of walking an expression at one opset.
#[derive(Debug, Clone, Default)]
struct Reach {
    /// Every path through it is refused.
    refused: bool,
    gaps: BTreeSet<Gap>,
    /// Reasons of `since` on some path.
    reasons: BTreeSet<String>,
}

impl Reach {
    /// Both parts run.
    fn then(&mut self, next: Reach) {
        self.refused |= next.refused;
        self.gaps.extend(next.gaps);
        self.reasons.extend(next.reasons);
    }

    /// One of both parts runs.
    fn or(mut self, other: Reach) -> Reach {
        self.refused &= other.refused;
        self.gaps.extend(other.gaps);
        self.reasons.extend(other.reasons);
        self
    }
}

struct Coverage<'a> {
    program: &'a Program,
    schemas: &'a Schemas,
    lowers: HashMap<(&'a str, u32), usize>,
    sames: HashSet<(&'a str, u32)>,
    memo: HashMap<(String, u32), Reach>,
    stack: Vec<String>,
    /// For a `since` in place of a value: the opsets that reach it.
    since_values: BTreeMap<Span, (u32, BTreeSet<u32>)>,
    /// For a `since` statement: whether the opset just below needs it.
    since_statements: BTreeMap<Span, (u32, bool)>,
    /// For an `if` on the opset: the outcomes that occur, by its arms.
    outcomes: BTreeMap<[u32; 2], [bool; 2]>,
    out: Vec<Diagnostic>,
}

/// Checks the coverage of all rules and returns the support matrix.
pub fn check(program: &Program, schemas: &Schemas, out: &mut Vec<Diagnostic>) -> Matrix {
    let opsets = &schemas.opsets;
    let mut coverage = Coverage {
        program,
        schemas,
        lowers: program.lowers.iter().enumerate().map(|(i, l)| ((l.op.as_str(), l.before), i)).collect(),
        sames: program.sames.iter().map(|s| (s.op.as_str(), s.to)).collect(),
        memo: HashMap::new(),
        stack: Vec::new(),
        since_values: BTreeMap::new(),
        since_statements: BTreeMap::new(),
        outcomes: BTreeMap::new(),
        out: Vec::new(),
    };
    let mut matrix = Matrix { oldest: opsets.min, newest: opsets.max, rows: BTreeMap::new() };
    let mut gaps = Gaps::new();
    for map in &program.maps {
        let mut row = Vec::new();
        let mut needed = false;
        for opset in opsets.min..=opsets.max {
            let reach = coverage.map(&map.function.name, opset);
            let below = map.since.as_ref().filter(|s| opset < s.0);
            if let Some((since, reason)) = below {
                needed |= opset + 1 == *since && (reach.refused || !reach.gaps.is_empty());
                row.push(Status::No(vec![reason.clone()]));
                continue;
            }
            note_gaps(&reach, opset, &mut gaps);
            row.push(status(&reach));
        }
        if let Some((since, _)) = map.since.as_ref().filter(|_| !needed) {
            let span = map.since_span.unwrap_or(map.function.span);
            let diagnostic = inexact(span, *since, "every path of this rule works below that opset too");
            out.push(diagnostic.help("remove it, or lower the number"));
        }
        matrix.rows.insert(map.function.name.clone(), row);
    }
    for (index, lower) in program.lowers.iter().enumerate() {
        for opset in opsets.min..lower.before {
            let reach = coverage.lower(index, opset);
            note_gaps(&reach, opset, &mut gaps);
        }
    }
    for raise in &program.raises {
        for opset in raise.before..=opsets.max {
            let reach = coverage.raise(raise, opset);
            note_gaps(&reach, opset, &mut gaps);
        }
    }
    let missing_lowerings = if opsets.complete { complete::missing_lowerings(&coverage, &gaps) } else { Vec::new() };
    coverage.report(gaps, out);
    out.extend(missing_lowerings);
    matrix
}

fn note_gaps(reach: &Reach, opset: u32, gaps: &mut Gaps) {
    for gap in &reach.gaps {
        let calls = gaps.entry((gap.op.clone(), gap.missing)).or_default();
        let way = calls.entry(gap.site).or_insert_with(|| Route { path: gap.path.clone(), opsets: BTreeSet::new() });
        way.opsets.insert(opset);
        if gap.path.len() < way.path.len() {
            way.path.clone_from(&gap.path);
        }
    }
}

fn status(reach: &Reach) -> Status {
    let reasons: Vec<String> = reach.reasons.iter().cloned().collect();
    match (reach.refused, reasons.is_empty()) {
        (true, _) => Status::No(reasons),
        (false, true) => Status::Full,
        (false, false) => Status::Partial(reasons),
    }
}

fn inexact(span: Span, since: u32, why: &str) -> Diagnostic {
    Diagnostic::new("E0702", span, format!("`since {since}` is not exact")).label(why)
}

impl Coverage<'_> {
    fn report(mut self, gaps: Gaps, out: &mut Vec<Diagnostic>) {
        out.append(&mut self.out);
        for ((op, missing), calls) in &gaps {
            out.extend(self.gap(op, *missing, calls));
        }
        for (site, (since, reached)) in &self.since_values {
            let Some(newest) = reached.last() else { continue };
            let exact = newest + 1;
            if exact != *since {
                let label = match newest >= since {
                    true => format!("opset {newest} reaches this too and gets no value"),
                    false => format!("no opset above {newest} reaches this"),
                };
                out.push(inexact(*site, *since, &label).help(format!("write `since {exact}`")));
            }
        }
        for (site, (since, needed)) in &self.since_statements {
            if !needed {
                let label = "what follows works below that opset too";
                out.push(inexact(*site, *since, label).help("remove it, or lower the number"));
            }
        }
        for (arms, met) in &self.outcomes {
            for (arm, met) in arms.iter().zip(met) {
                let Some(arm) = self.program.arms.get(*arm as usize) else { continue };
                if !met {
                    let opsets = &self.schemas.opsets;
                    out.push(
                        Diagnostic::new("E0602", arm.span, "no opset takes this branch")
                            .label("never reached")
                            .note(format!("the supported opsets are {} to {}", opsets.min, opsets.max)),
                    );
                }
            }
        }
    }

    /// One error for each missing lowering, at the call with the shortest path.
    fn gap(&self, op: &str, missing: u32, calls: &BTreeMap<Span, Route>) -> Option<Diagnostic> {
        let (site, way) = calls.iter().min_by_key(|(site, way)| (way.path.len(), **site))?;
        let opsets: BTreeSet<u32> = calls.values().flat_map(|way| way.opsets.iter().copied()).collect();
        let versions = self.schemas.onnx.versions(op);
        let at = versions.iter().position(|v| v.since == missing)?;
        let (version, before) = (versions.get(at)?, at.checked_sub(1).and_then(|i| versions.get(i)));
        let fact = self.change(version, before);
        let many = if opsets.len() == 1 { "" } else { "s" };
        let text = format!("`{op}` is not covered at opset{many} {}", ranges(&opsets));
        let lower = format!("lower {op} before {missing} ({})", lower_header(version));
        let mut diagnostic = Diagnostic::new("E0701", *site, text)
            .label("neither native nor lowered there")
            .note(fact)
            .help(format!("add `{lower}`, or declare the gap with `since {missing} \"why\"`"));
        if way.path.len() > 1 {
            let path = way.path.iter().chain([&op.to_owned()]).map(|name| format!("`{name}`")).collect::<Vec<_>>();
            diagnostic = diagnostic.note(format!("the path: {}", path.join(" -> ")));
        }
        match calls.len() - 1 {
            0 => {}
            1 => diagnostic = diagnostic.note("one more call needs it too"),
            n => diagnostic = diagnostic.note(format!("{n} more calls need it too")),
        }
        Some(diagnostic)
    }

    /// What changed in a version.
    fn change(&self, version: &Version, before: Option<&Version>) -> String {
        let (op, since) = (&version.name, version.since);
        match (before, self.schemas.opsets.meaning(op, since)) {
            (None, _) => format!("{op} was added in opset {since}"),
            (Some(_), Some(change)) => format!("{op} changed in opset {since}: {}", change.why),
            (Some(before), None) => {
                format!("{op} changed in opset {since}: {}", shape_differences(before, version).join(", "))
            }
        }
    }
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
