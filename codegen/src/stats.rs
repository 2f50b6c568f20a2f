//! The length of rules, and which of them reach Rust that makes nodes: a measure of how well the language fits.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use aten2onnx_opmap::Checked;
use aten2onnx_opmap::tree::{Function, Kind, Program};
use aten2onnx_opmap::visit;

/// Counts over all rules.
#[derive(Debug)]
pub struct Stats {
    /// Rules.
    pub maps: usize,
    /// Lowerings.
    pub lowers: usize,
    /// Upward rules.
    pub raises: usize,
    /// Rules that replace nodes by fewer or faster ones.
    pub fuses: usize,
    /// Helpers in the language.
    pub helpers: usize,
    /// Functions in Rust.
    pub externs: usize,
    /// The functions in Rust that make nodes.
    pub makers: Vec<Maker>,
    /// Rules, lowerings and upward rules that reach a function in Rust that makes nodes, outside of `lib/`.
    pub reaching: usize,
    /// The number of lines of the body of each rule, lowering and upward rule, in ascending order.
    pub lines: Vec<usize>,
}

/// A function in Rust that makes nodes.
#[derive(Debug)]
pub struct Maker {
    /// Its name.
    pub name: String,
    /// Why it is not a rule.
    pub because: String,
    /// It belongs to `lib/`: it converts values for all rules.
    pub is_conversion: bool,
    /// How many rules reach it.
    pub rules: usize,
}

impl Stats {
    /// Counts the rules.
    pub fn of(checked: &Checked) -> Stats {
        let program = &checked.program;
        let rules: Vec<&Function> = rules(program).collect();
        let line_count = |f: &&Function| checked.sources.text(f.body.span).lines().count();
        let mut lines: Vec<usize> = rules.iter().map(line_count).collect();
        lines.sort_unstable();
        let mut reach = Reach { program, known: BTreeMap::new() };
        let reached: Vec<BTreeSet<String>> = rules.iter().map(|rule| reach.of(rule)).collect();
        let is_conversion = |f: &Function| checked.sources.file(f.span.file).path.contains("/lib/");
        let maker = |f: &Function| Maker {
            name: f.name.clone(),
            because: program.emits.get(&f.name).map(|emits| emits.because.clone()).unwrap_or_default(),
            is_conversion: is_conversion(f),
            rules: reached.iter().filter(|externs| externs.contains(&f.name)).count(),
        };
        let makes_nodes = |f: &&Function| program.emits.get(&f.name).is_some_and(|emits| !emits.ops.is_empty());
        let makers: Vec<Maker> = program.externs.iter().filter(makes_nodes).map(maker).collect();
        let own: BTreeSet<&str> = makers.iter().filter(|m| !m.is_conversion).map(|m| m.name.as_str()).collect();
        let reaches = |externs: &&BTreeSet<String>| externs.iter().any(|name| own.contains(name.as_str()));
        Stats {
            maps: program.operator_maps().count(),
            fuses: program.fuses.len(),
            lowers: program.lowers.len(),
            raises: program.raises.len(),
            helpers: program.fns.len(),
            externs: program.externs.len(),
            reaching: reached.iter().filter(reaches).count(),
            makers,
            lines,
        }
    }

    /// The share of rules that reach Rust that makes nodes, in percent.
    pub fn share(&self) -> f64 {
        100.0 * self.reaching as f64 / (self.maps + self.lowers + self.raises).max(1) as f64
    }

    /// The counts as text.
    pub fn text(&self) -> String {
        let median = self.lines.get(self.lines.len() / 2).copied().unwrap_or_default();
        let longest = self.lines.last().copied().unwrap_or_default();
        let mut text = format!(
            "{} rules, {} lowerings, {} upward rules, {} fusions, {} helpers, {} extern fns\n\
             lines of a body: median {median}, longest {longest}\n\
             reach an extern fn that makes nodes, outside of lib/: {} ({:.1} %)\n\
             extern fns that make nodes, the rules that reach them, and why they are not rules\n",
            self.maps,
            self.lowers,
            self.raises,
            self.fuses,
            self.helpers,
            self.externs,
            self.reaching,
            self.share(),
        );
        for maker in &self.makers {
            let _ = writeln!(text, "  {} ({} rules): {}", maker.name, maker.rules, maker.because);
        }
        text
    }
}

fn rules(program: &Program) -> impl Iterator<Item = &Function> {
    let maps = program.maps.iter().map(|map| &map.function);
    let lowers = program.lowers.iter().chain(&program.raises).map(|lower| &lower.function);
    maps.chain(lowers)
}

/// The `extern fn`s that a rule reaches by calls of helpers and rules.
struct Reach<'p> {
    program: &'p Program,
    known: BTreeMap<String, BTreeSet<String>>,
}

impl Reach<'_> {
    fn of(&mut self, function: &Function) -> BTreeSet<String> {
        if let Some(known) = self.known.get(&function.name) {
            return known.clone();
        }
        let mut externs = BTreeSet::new();
        let mut called = BTreeSet::new();
        visit::walk(&function.body, &mut |expr| match &expr.kind {
            Kind::Extern(name, _) => drop(externs.insert(name.clone())),
            Kind::Fn(name, _) | Kind::Rule(name, _) => drop(called.insert(name.clone())),
            _ => {}
        });
        // Rules are not recursive.
        for name in called {
            let program = self.program;
            let callee = program.helper(&name).or_else(|| program.map(&name).map(|map| &map.function));
            externs.extend(callee.map(|callee| self.of(callee)).unwrap_or_default());
        }
        self.known.insert(function.name.clone(), externs.clone());
        externs
    }
}
