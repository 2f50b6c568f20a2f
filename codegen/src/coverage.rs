//! Pass 3: opsets. For each opset, every call on every path of every rule is native there, or lowered there by a rule that is
//! covered itself, and so on down; or the source owns up to the hole with `since`, which must be exact.
//!
//! The support matrix is a by-product: nobody writes it.

mod complete;
mod walk;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::check::lower_header;
use crate::diagnostic::Diagnostic;
use crate::schema::Schemas;
use crate::schema::onnx::Version;
use crate::source::Span;
use crate::tree::Program;
use crate::upgrade::shape_differences;

/// What a rule can do at an opset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Every path works.
    Full,
    /// Some paths are refused, for these reasons.
    Partial(Vec<String>),
    /// Every path is refused, for these reasons.
    No(Vec<String>),
}

/// The matrix: for each `map` (by overload) its status at each opset, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Matrix {
    /// Oldest opset.
    pub oldest: u32,
    /// Newest opset.
    pub newest: u32,
    /// Sorted by overload.
    pub rows: BTreeMap<String, Vec<Status>>,
}

/// The missing rules (operator, version), and the calls that need each.
type Holes = BTreeMap<(String, u32), BTreeMap<Span, Way>>;

/// How one gets to a call that nothing covers, and where.
#[derive(Debug)]
struct Way {
    path: Vec<String>,
    opsets: BTreeSet<u32>,
}

/// A call that nothing covers, and how one gets there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Hole {
    /// The call.
    site: Span,
    /// Its operator.
    op: String,
    /// The version whose `lower` is missing.
    missing: u32,
    /// Rules from the outer one to the one that holds the call.
    path: Vec<String>,
}

/// What walking an expression at one opset found.
#[derive(Debug, Clone, Default)]
struct Reach {
    /// Every path through it is refused.
    refused: bool,
    holes: BTreeSet<Hole>,
    /// Reasons of `since` on some path.
    reasons: BTreeSet<String>,
}

impl Reach {
    /// What comes after also happens.
    fn then(&mut self, next: Reach) {
        self.refused |= next.refused;
        self.holes.extend(next.holes);
        self.reasons.extend(next.reasons);
    }

    /// One of both happens.
    fn or(mut self, other: Reach) -> Reach {
        self.refused &= other.refused;
        self.holes.extend(other.holes);
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
    /// For a `since` in the place of a value: the opsets that reach it.
    since_values: BTreeMap<Span, (u32, BTreeSet<u32>)>,
    /// For a `since` statement: was it needed at the opset just below?
    since_statements: BTreeMap<Span, (u32, bool)>,
    /// For an `if` on the opset: the outcomes met, by its arms.
    outcomes: BTreeMap<[u32; 2], [bool; 2]>,
    out: Vec<Diagnostic>,
}

/// Proves the coverage of all rules; gives the matrix.
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
    let mut holes = Holes::new();
    for map in &program.maps {
        let mut row = Vec::new();
        let mut needed = false;
        for opset in opsets.min..=opsets.max {
            let reach = coverage.map(&map.function.name, opset);
            let below = map.since.as_ref().filter(|s| opset < s.0);
            if let Some((since, reason)) = below {
                needed |= opset + 1 == *since && (reach.refused || !reach.holes.is_empty());
                row.push(Status::No(vec![reason.clone()]));
                continue;
            }
            note_holes(&reach, opset, &mut holes);
            row.push(status(&reach));
        }
        if let Some((since, _)) = map.since.as_ref().filter(|_| !needed) {
            let span = map.since_span.unwrap_or(map.function.span);
            let diagnostic = inexact(span, *since, "every path of this rule works below that too");
            out.push(diagnostic.help("take it out, or lower the number"));
        }
        matrix.rows.insert(map.function.name.clone(), row);
    }
    for (index, lower) in program.lowers.iter().enumerate() {
        for opset in opsets.min..lower.before {
            let reach = coverage.lower(index, opset);
            note_holes(&reach, opset, &mut holes);
        }
    }
    let unsaid = if opsets.complete { complete::unsaid(&coverage, &holes) } else { Vec::new() };
    coverage.report(holes, out);
    out.extend(unsaid);
    matrix
}

fn note_holes(reach: &Reach, opset: u32, holes: &mut Holes) {
    for hole in &reach.holes {
        let calls = holes.entry((hole.op.clone(), hole.missing)).or_default();
        let way = calls.entry(hole.site).or_insert_with(|| Way { path: hole.path.clone(), opsets: BTreeSet::new() });
        way.opsets.insert(opset);
        if hole.path.len() < way.path.len() {
            way.path.clone_from(&hole.path);
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
    fn report(mut self, holes: Holes, out: &mut Vec<Diagnostic>) {
        out.append(&mut self.out);
        for ((op, missing), calls) in &holes {
            out.extend(self.hole(op, *missing, calls));
        }
        for (site, (since, reached)) in &self.since_values {
            let Some(newest) = reached.last() else { continue };
            let exact = newest + 1;
            if exact != *since {
                let label = match newest >= since {
                    true => format!("opset {newest} comes here too, and has no value"),
                    false => format!("no opset above {newest} comes here"),
                };
                out.push(inexact(*site, *since, &label).help(format!("write `since {exact}`")));
            }
        }
        for (site, (since, needed)) in &self.since_statements {
            if !needed {
                let label = "what follows works below that too";
                out.push(inexact(*site, *since, label).help("take it out, or lower the number"));
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
                            .note(format!("the opsets are {} to {}", opsets.min, opsets.max)),
                    );
                }
            }
        }
    }

    /// One missing rule is one error, at the call that the shortest way leads to.
    fn hole(&self, op: &str, missing: u32, calls: &BTreeMap<Span, Way>) -> Option<Diagnostic> {
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
            .help(format!("add `{lower}`, or own up to it with `since {missing} \"why\"`"));
        if way.path.len() > 1 {
            let path = way.path.iter().chain([&op.to_owned()]).map(|name| format!("`{name}`")).collect::<Vec<_>>();
            diagnostic = diagnostic.note(format!("the way there: {}", path.join(" -> ")));
        }
        match calls.len() - 1 {
            0 => {}
            1 => diagnostic = diagnostic.note("one more call needs it too"),
            n => diagnostic = diagnostic.note(format!("{n} more calls need it too")),
        }
        Some(diagnostic)
    }

    /// What a version brought.
    fn change(&self, version: &Version, before: Option<&Version>) -> String {
        let (op, since) = (&version.name, version.since);
        match (before, self.schemas.opsets.meaning(op, since)) {
            (None, _) => format!("{op} came with opset {since}"),
            (Some(_), Some(change)) => format!("{op} changed in opset {since}: {}", change.why),
            (Some(before), None) => {
                format!("{op} changed in opset {since}: {}", shape_differences(before, version).join(", "))
            }
        }
    }
}

/// `9 to 12, 15`
pub(crate) fn ranges(opsets: &BTreeSet<u32>) -> String {
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
