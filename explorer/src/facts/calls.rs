//! Which rules call which operators, helpers and other rules.

use std::collections::{BTreeMap, BTreeSet};

use aten2onnx_opmap::tree::{Expr, Function, Kind, Program};
use aten2onnx_opmap::visit::walk;

/// What the body of a rule names.
#[derive(Debug, Clone, Default)]
pub struct Named {
    /// ONNX operators.
    pub ops: BTreeSet<String>,
    /// Overloads.
    pub maps: BTreeSet<String>,
    /// Helpers, `fn` and `extern fn`.
    pub helpers: BTreeSet<String>,
}

/// The calls of all rules.
#[derive(Debug, Default)]
pub struct Calls {
    /// By rule or helper: what its body names.
    pub of: BTreeMap<String, Named>,
    /// By operator, overload or helper: the rules and helpers that name it.
    pub by: BTreeMap<String, BTreeSet<String>>,
    /// By operator: the overloads that reach it through helpers and other overloads, but do not name it.
    pub through: BTreeMap<String, BTreeSet<String>>,
}

impl Calls {
    /// The calls of a program.
    pub fn of(program: &Program) -> Calls {
        let mut calls = Calls::default();
        let maps = program.maps.iter().map(|map| &map.function);
        let lowers = program.lowers.iter().chain(&program.raises).map(|lower| &lower.function);
        for function in maps.chain(lowers).chain(&program.fns) {
            calls.add(&function.name, named(function));
        }
        for (name, emits) in &program.emits {
            calls.add(name, Named { ops: emits.ops.iter().cloned().collect(), ..Named::default() });
        }
        for map in &program.maps {
            let name = &map.function.name;
            let mut seen = BTreeSet::new();
            calls.reach(name, &mut seen);
            let ops: BTreeSet<String> =
                seen.iter().filter_map(|rule| calls.of.get(rule)).flat_map(|named| named.ops.iter().cloned()).collect();
            let own = calls.of.get(name).map(|named| named.ops.clone()).unwrap_or_default();
            for op in ops.difference(&own) {
                calls.through.entry(op.clone()).or_default().insert(name.clone());
            }
        }
        calls
    }

    fn add(&mut self, name: &str, named: Named) {
        for called in named.ops.iter().chain(&named.maps).chain(&named.helpers) {
            self.by.entry(called.clone()).or_default().insert(name.to_owned());
        }
        self.of.insert(name.to_owned(), named);
    }

    /// A rule with all rules and helpers that it calls.
    fn reach(&self, name: &str, seen: &mut BTreeSet<String>) {
        if !seen.insert(name.to_owned()) {
            return;
        }
        if let Some(named) = self.of.get(name) {
            named.helpers.iter().chain(&named.maps).for_each(|called| self.reach(called, seen));
        }
    }
}

fn named(function: &Function) -> Named {
    let mut named = Named::default();
    walk(&function.body, &mut |expr: &Expr| match &expr.kind {
        Kind::Node(node) => drop(named.ops.insert(node.op.clone())),
        Kind::Rule(name, _) => drop(named.maps.insert(name.clone())),
        Kind::Fn(name, _) | Kind::Extern(name, _) => drop(named.helpers.insert(name.clone())),
        _ => {}
    });
    named
}
