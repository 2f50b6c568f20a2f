//! Which rule files mention an operator: what an upgrade report shows beside each change.

use std::collections::{BTreeMap, BTreeSet};

use crate::Checked;
use crate::source::Span;
use crate::tree::{Expr, Function, Kind};
use crate::visit;

/// For each operator and overload the files that define or call it.
#[derive(Debug, Default)]
pub struct Uses(BTreeMap<String, BTreeSet<String>>);

impl Uses {
    /// Of the rules as far as they could be checked.
    pub fn of(checked: &Checked) -> Uses {
        let program = &checked.program;
        let mut uses = Uses::default();
        let file = |span: Span| checked.sources.file(span.file).path.clone();
        for map in &program.maps {
            uses.add(&map.function.name, &file(map.function.span));
        }
        for lower in &program.lowers {
            uses.add(&lower.op, &file(lower.function.span));
        }
        for same in &program.sames {
            uses.add(&same.op, &file(same.span));
        }
        for item in &program.unsupported {
            uses.add(&item.name, &file(item.span));
        }
        let maps = program.maps.iter().map(|m| &m.function);
        let lowers = program.lowers.iter().map(|l| &l.function);
        for function in maps.chain(lowers).chain(&program.fns) {
            uses.body(function, &file(function.span));
        }
        uses
    }

    /// The files that mention an operator, sorted.
    pub fn files(&self, op: &str) -> Vec<String> {
        self.0.get(op).into_iter().flatten().cloned().collect()
    }

    fn body(&mut self, function: &Function, file: &str) {
        visit::each(&function.body, &mut |expr: &Expr| match &expr.kind {
            Kind::Node(node) => self.add(&node.op, file),
            Kind::Rule(name, _) => self.add(name, file),
            _ => {}
        });
    }

    fn add(&mut self, op: &str, file: &str) {
        self.0.entry(op.to_owned()).or_default().insert(file.to_owned());
    }
}
