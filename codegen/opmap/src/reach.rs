//! What an item reaches: the rules that call it, directly or through others, nearest first.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use crate::source::Span;
use crate::tree::{Expr, Kind, Program};
use crate::visit;

/// Who calls whom.
#[derive(Debug)]
pub struct Reach {
    /// By the name of a function, of an `extern fn` or of an ONNX operator: the functions that call it.
    callers: BTreeMap<String, BTreeSet<String>>,
    /// The functions of the program with their places.
    places: Vec<(Span, String)>,
    /// The operators of lowerings and of upward rules, by the name of the function.
    operators: BTreeMap<String, String>,
    /// The overloads.
    maps: BTreeSet<String>,
}

impl Reach {
    /// Looks at all calls of a program.
    pub fn new(program: &Program) -> Reach {
        let maps = program.maps.iter().map(|map| map.function.name.clone()).collect();
        let lowers = || program.lowers.iter().chain(&program.raises);
        let operators = lowers().map(|lower| (lower.function.name.clone(), lower.op.clone())).collect();
        let functions = (program.maps.iter().map(|map| &map.function))
            .chain(lowers().map(|lower| &lower.function))
            .chain(&program.fns);
        let mut reach = Reach { callers: BTreeMap::new(), places: Vec::new(), operators, maps };
        for function in functions {
            reach.places.push((function.span, function.name.clone()));
            visit::walk(&function.body, &mut |expr| reach.note(&function.name, expr, program));
        }
        reach
    }

    fn note(&mut self, caller: &str, expr: &Expr, program: &Program) {
        let mut add = |called: &str| {
            self.callers.entry(called.to_owned()).or_default().insert(caller.to_owned());
        };
        match &expr.kind {
            Kind::Fn(name, _) | Kind::Rule(name, _) => add(name),
            Kind::Node(node) => add(&node.op),
            Kind::Extern(name, _) => {
                add(name);
                program.emits.get(name).iter().flat_map(|emits| &emits.ops).for_each(|op| add(op));
            }
            _ => {}
        }
    }

    /// The functions that call a function.
    pub fn callers_of(&self, name: &str) -> impl Iterator<Item = &str> {
        self.callers.get(name).into_iter().flatten().map(String::as_str)
    }

    /// The functions of an item: several if it is a family.
    pub fn names_in(&self, item: Span) -> impl Iterator<Item = &str> {
        let is_inside = move |span: &Span| span.file == item.file && item.start <= span.start && span.end <= item.end;
        self.places.iter().filter(move |(span, _)| is_inside(span)).map(|(_, name)| name.as_str())
    }

    /// The overloads and ONNX operators that an item may change, nearest first.
    pub fn targets(&self, item: Span) -> Vec<String> {
        let mut open: VecDeque<String> = self.names_in(item).map(str::to_owned).collect();
        let mut seen: BTreeSet<String> = open.iter().cloned().collect();
        let mut found = Vec::new();
        while let Some(name) = open.pop_front() {
            if self.maps.contains(&name) {
                found.push(name.clone());
            }
            let mut next: Vec<&String> = self.callers.get(&name).into_iter().flatten().collect();
            if let Some(op) = self.operators.get(&name) {
                found.push(op.clone());
                next.push(op);
            }
            for caller in next {
                if seen.insert(caller.clone()) {
                    open.push_back(caller.clone());
                }
            }
        }
        let mut once = BTreeSet::new();
        found.retain(|name| once.insert(name.clone()));
        found
    }

    /// The functions and operators that these reach, and themselves.
    pub fn reached_from(&self, names: Vec<String>) -> HashSet<String> {
        let mut open = names;
        let mut seen: HashSet<String> = open.iter().cloned().collect();
        while let Some(name) = open.pop() {
            let callers = self.callers.get(&name).into_iter().flatten();
            for next in callers.chain(self.operators.get(&name)) {
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        seen
    }
}
