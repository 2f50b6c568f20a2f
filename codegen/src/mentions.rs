//! Which rule files mention an operator, for upgrade reports.

use std::collections::{BTreeMap, BTreeSet};

use aten2onnx_opmap::Checked;
use aten2onnx_opmap::source::Span;
use aten2onnx_opmap::tree::{Expr, Function, Kind};
use aten2onnx_opmap::visit;

/// The files that define or call each operator and overload.
#[derive(Debug, Default)]
pub struct Mentions(BTreeMap<String, BTreeSet<String>>);

impl Mentions {
    /// The mentions in rules, as far as these could be checked.
    pub fn of(checked: &Checked) -> Mentions {
        let program = &checked.program;
        let mut mentions = Mentions::default();
        let file = |span: Span| checked.sources.file(span.file).path.clone();
        for map in &program.maps {
            mentions.add(&map.function.name, &file(map.function.span));
        }
        for lower in program.lowers.iter().chain(&program.raises) {
            mentions.add(&lower.op, &file(lower.function.span));
        }
        for same in &program.sames {
            mentions.add(&same.op, &file(same.span));
        }
        for item in &program.unsupported {
            mentions.add(&item.name, &file(item.span));
        }
        for fact in &program.facts {
            mentions.add(&fact.op, &file(fact.span));
            fact.what.each_call(&mut |call| mentions.add(&call.op, &file(fact.span)));
        }
        let maps = program.maps.iter().map(|m| &m.function);
        let lowers = program.lowers.iter().chain(&program.raises).map(|l| &l.function);
        for function in maps.chain(lowers).chain(&program.fns) {
            mentions.body(function, &file(function.span));
        }
        mentions
    }

    /// The files that mention an operator, sorted.
    pub fn files(&self, op: &str) -> Vec<String> {
        self.0.get(op).into_iter().flatten().cloned().collect()
    }

    fn body(&mut self, function: &Function, file: &str) {
        visit::walk(&function.body, &mut |expr: &Expr| match &expr.kind {
            Kind::Node(node) => self.add(&node.op, file),
            Kind::Rule(name, _) => self.add(name, file),
            _ => {}
        });
    }

    fn add(&mut self, op: &str, file: &str) {
        self.0.entry(op.to_owned()).or_default().insert(file.to_owned());
    }
}
