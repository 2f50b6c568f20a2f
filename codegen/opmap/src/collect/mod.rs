//! Pass 1: from files to one list for each kind of item. Families are expanded to one rule for each row. After this pass there
//! are no placeholders, and every item has its full name.

mod family;
pub mod fuse;

use std::collections::HashSet;

use crate::diagnostic::Diagnostic;
use crate::source::{FileId, Span};
use crate::syntax::ast::walk::walk_expr;
use crate::syntax::ast::{
    Example, ExampleTarget, ExternFn, File, Fn, Fuse, ImportDomain, ItemKind, Lower, Map, OpName, Same, Unsupported,
};
use crate::syntax::fact::Fact;
use family::{Family, Substitution, unknown_placeholder};

/// All items of all files, in order.
#[derive(Debug, Default)]
pub struct Items {
    /// Families are expanded.
    pub maps: Vec<(Meta, Map)>,
    /// As written.
    pub lowers: Vec<(Meta, Lower)>,
    /// As written.
    pub raises: Vec<(Meta, Lower)>,
    /// As written. Their rules are among the maps.
    pub fuses: Vec<(Meta, Fuse)>,
    /// As written.
    pub sames: Vec<(Meta, Same)>,
    /// As written.
    pub fns: Vec<(Meta, Fn)>,
    /// As written.
    pub externs: Vec<(Meta, ExternFn)>,
    /// As written.
    pub unsupported: Vec<(Meta, Unsupported)>,
    /// As written.
    pub domains: Vec<ImportDomain>,
    /// Facts with a family's key are expanded to one for each row.
    pub facts: Vec<(Meta, Fact)>,
    /// Examples with a family's key are expanded to one for each row.
    pub examples: Vec<(Meta, Example)>,
}

impl Items {
    /// If a file from `first` on has a rule that an earlier file has too, the earlier rule is removed.
    pub(crate) fn keep_overrides(&mut self, first: FileId) {
        let own = |span: Span| span.file >= first;
        let maps: HashSet<String> =
            self.maps.iter().filter(|(meta, _)| own(meta.span)).map(|(_, m)| m.op.full()).collect();
        let of_own = |all: &[(Meta, Lower)]| -> HashSet<(String, u32)> {
            all.iter().filter(|(meta, _)| own(meta.span)).map(|(_, l)| (l.op.full(), l.before)).collect()
        };
        let (lowers, raises) = (of_own(&self.lowers), of_own(&self.raises));
        let sames: HashSet<(String, u32)> =
            self.sames.iter().filter(|(meta, _)| own(meta.span)).map(|(_, s)| (s.op.full(), s.to)).collect();
        let unsupported: HashSet<String> =
            self.unsupported.iter().filter(|(meta, _)| own(meta.span)).map(|(_, u)| u.op.full()).collect();
        self.maps.retain(|(meta, m)| own(meta.span) || !maps.contains(&m.op.full()));
        self.unsupported
            .retain(|(meta, u)| own(meta.span) || !(maps.contains(&u.op.full()) || unsupported.contains(&u.op.full())));
        self.lowers.retain(|(meta, l)| own(meta.span) || !lowers.contains(&(l.op.full(), l.before)));
        self.raises.retain(|(meta, r)| own(meta.span) || !raises.contains(&(r.op.full(), r.before)));
        let fuses: HashSet<String> =
            self.fuses.iter().filter(|(meta, _)| own(meta.span)).map(|(_, f)| f.name.text.clone()).collect();
        self.fuses.retain(|(meta, f)| own(meta.span) || !fuses.contains(&f.name.text));
        self.sames.retain(|(meta, s)| {
            let key = (s.op.full(), s.to);
            own(meta.span) || !(sames.contains(&key) || lowers.contains(&key))
        });
    }
}

/// What surrounds an item.
#[derive(Debug, Clone)]
pub struct Meta {
    /// Documentation lines.
    pub docs: Vec<String>,
    /// The item.
    pub span: Span,
}

/// Sorts the items of all files into lists and expands families.
pub fn collect(files: &[File], out: &mut Vec<Diagnostic>) -> Items {
    let mut items = Items::default();
    for file in files {
        let mut family: Option<Family> = None;
        for item in &file.items {
            let meta = Meta { docs: item.docs.clone(), span: item.span };
            match &item.kind {
                ItemKind::Map(map) => match &map.rows {
                    None => items.maps.push((meta, map.clone())),
                    Some(rows) => {
                        let Some(new) = Family::new(map, rows, out) else { continue };
                        new.write_out(&meta, map, rows, &mut items.maps);
                        family = Some(new);
                    }
                },
                ItemKind::Example(example) => collect_example(meta, example, family.as_ref(), &mut items, out),
                ItemKind::Lower(lower) => items.lowers.push((meta, lower.clone())),
                ItemKind::Raise(raise) => items.raises.push((meta, raise.clone())),
                ItemKind::Fuse(one) => {
                    items.maps.extend(fuse::both_rules(one).map(|map| (meta.clone(), map)));
                    items.fuses.push((meta, one.clone()));
                }
                ItemKind::Same(same) => items.sames.push((meta, same.clone())),
                ItemKind::Fn(f) => items.fns.push((meta, f.clone())),
                ItemKind::ExternFn(f) => items.externs.push((meta, f.clone())),
                ItemKind::Unsupported(u) => items.unsupported.push((meta, u.clone())),
                ItemKind::ImportDomain(domain) => items.domains.push(domain.clone()),
                ItemKind::Fact(fact) => collect_fact(meta, fact, family.as_ref(), &mut items, out),
            }
        }
    }
    items
}

fn collect_example(
    meta: Meta,
    example: &Example,
    family: Option<&Family>,
    items: &mut Items,
    out: &mut Vec<Diagnostic>,
) {
    let ExampleTarget::Map(op) = &example.target else {
        items.examples.push((meta, example.clone()));
        return;
    };
    for (op, _) in expanded(op, family, "example", out) {
        items.examples.push((meta.clone(), Example { target: ExampleTarget::Map(op), ..example.clone() }));
    }
}

fn collect_fact(meta: Meta, fact: &Fact, family: Option<&Family>, items: &mut Items, out: &mut Vec<Diagnostic>) {
    for (op, row) in expanded(&fact.op, family, "fact", out) {
        let mut copy = Fact { op, ..fact.clone() };
        if let (Some(row), Some(value)) = (row, &mut copy.value) {
            walk_expr(value, &mut |expr| row.expr(expr));
        }
        items.facts.push((meta.clone(), copy));
    }
}

/// The overloads that an example or a fact names: one for each row of the family before it if it has placeholders.
fn expanded<'f>(
    op: &OpName,
    family: Option<&'f Family>,
    what: &str,
    out: &mut Vec<Diagnostic>,
) -> Vec<(OpName, Option<&'f Substitution>)> {
    if !op.full().contains('{') {
        return vec![(op.clone(), None)];
    }
    let Some(family) = family else {
        let label = format!("there is no family before this {what} in the file");
        out.push(Diagnostic::new("E0205", op.span, "placeholder without a family").label(label));
        return Vec::new();
    };
    let mut all = Vec::new();
    for row in &family.rows {
        let mut op = op.clone();
        if let Err(name) = row.op_name(&mut op) {
            out.push(unknown_placeholder(op.span, &name, family));
            return Vec::new();
        }
        all.push((op, Some(row)));
    }
    all
}
