//! Families: rules with placeholders and the rows that fill them in.

use std::collections::HashMap;

use super::Meta;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::ast::walk::walk_body;
use crate::syntax::ast::{Argument, Body, Expr, ExprKind, Ident, Map, OnnxName, OpName, Row};

/// A family's placeholders and the values that its rows give them.
pub(super) struct Family {
    /// In reading order; the first is the key.
    placeholders: Vec<String>,
    pub(super) rows: Vec<Substitution>,
}

/// The value of each placeholder in one row.
pub(super) struct Substitution(HashMap<String, Expr>);

impl Family {
    pub(super) fn new(map: &Map, rows: &[Row], out: &mut Vec<Diagnostic>) -> Option<Family> {
        let mut found = Placeholders::default();
        found.op_name(&map.op);
        found.body(&map.body);
        let placeholders = found.0;
        if placeholders.is_empty() {
            out.push(
                Diagnostic::new("E0205", map.header_span, "a family without placeholders")
                    .label("write a placeholder for the rows, such as `aten::{name}`"),
            );
            return None;
        }
        let mut good = Vec::new();
        for row in rows {
            if row.columns.len() != placeholders.len() - 1 {
                let wanted: Vec<String> = placeholders[1..].iter().map(|p| format!("`{{{p}}}`")).collect();
                let columns = |n: usize| format!("{n} column{}", if n == 1 { "" } else { "s" });
                let text = format!("the family has {}, but this row has {}", columns(wanted.len()), row.columns.len());
                let fact = format!("the placeholders after the key: {}", wanted.join(", "));
                let diagnostic = Diagnostic::new("E0205", row.span, text);
                out.push(if wanted.is_empty() { diagnostic } else { diagnostic.note(fact) });
                continue;
            }
            let key = Expr { kind: ExprKind::Name(row.key.clone()), span: row.key.span };
            let values = std::iter::once(key).chain(row.columns.iter().cloned());
            good.push(Substitution(placeholders.iter().cloned().zip(values).collect()));
        }
        Some(Family { placeholders, rows: good })
    }

    pub(super) fn write_out(&self, meta: &Meta, map: &Map, rows: &[Row], maps: &mut Vec<(Meta, Map)>) {
        let by_key: HashMap<&str, &Row> = rows.iter().map(|r| (r.key.text.as_str(), r)).collect();
        for row in &self.rows {
            let mut copy = map.clone();
            copy.rows = None;
            if row.op_name(&mut copy.op).is_err() {
                continue;
            }
            row.body(&mut copy.body);
            let mut meta = meta.clone();
            if let Some(written) =
                self.placeholders.first().and_then(|key| row.text(key)).and_then(|k| by_key.get(k.as_str()))
            {
                meta.span = written.span;
                copy.header_span = written.span;
                if !written.docs.is_empty() {
                    meta.docs = written.docs.clone();
                }
            }
            maps.push((meta, copy));
        }
    }
}

pub(super) fn unknown_placeholder(span: Span, name: &str, family: &Family) -> Diagnostic {
    let all: Vec<String> = family.placeholders.iter().map(|p| format!("`{{{p}}}`")).collect();
    Diagnostic::new("E0205", span, format!("unknown placeholder `{{{name}}}`"))
        .label("not in the family")
        .note(format!("the family has {}", all.join(", ")))
}

/// The names between braces of a text: `{name}_backward` has `name`.
fn placeholders_of(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| rest.split('}').next())
}

/// The name of the placeholder, if the text consists of exactly one.
fn whole_placeholder(text: &str) -> Option<&str> {
    text.strip_prefix('{')?.strip_suffix('}').filter(|inner| !inner.contains(['{', '}']))
}

#[derive(Default)]
struct Placeholders(Vec<String>);

impl Placeholders {
    fn text(&mut self, text: &str) {
        for name in placeholders_of(text) {
            if !self.0.iter().any(|n| n == name) {
                self.0.push(name.to_owned());
            }
        }
    }

    fn op_name(&mut self, op: &OpName) {
        self.text(&op.name.text);
        if let Some(overload) = &op.overload {
            self.text(&overload.text);
        }
    }

    fn body(&mut self, body: &Body) {
        let mut copy = body.clone();
        walk_body(&mut copy, &mut |expr| match &expr.kind {
            ExprKind::Name(name) | ExprKind::Call(name, _) => self.text(&name.text),
            ExprKind::Node(name, _) => self.text(&name.name.text),
            ExprKind::Rule(op, _) | ExprKind::Path(op) => self.op_name(op),
            _ => {}
        });
    }
}

impl Substitution {
    /// A placeholder's value as part of a name.
    fn text(&self, name: &str) -> Option<String> {
        match &self.0.get(name)?.kind {
            ExprKind::Name(ident) => Some(ident.text.clone()),
            ExprKind::Int(i) => Some(i.to_string()),
            ExprKind::Str(s) => Some(s.clone()),
            _ => None,
        }
    }

    fn fill(&self, text: &str) -> Result<String, String> {
        let mut done = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').unwrap_or((after, ""));
            done.push_str(before);
            done.push_str(&self.text(name).ok_or_else(|| name.to_owned())?);
            rest = after;
        }
        done.push_str(rest);
        Ok(done)
    }

    /// Fills in the name of an overload. A key with a dot (`add.Tensor`) gives the overload too.
    pub(super) fn op_name(&self, op: &mut OpName) -> Result<(), String> {
        op.name.text = self.fill(&op.name.text)?;
        if let Some(overload) = &mut op.overload {
            overload.text = self.fill(&overload.text)?;
        } else if let Some((name, overload)) = op.name.text.clone().split_once('.') {
            op.overload = Some(Ident { text: overload.to_owned(), span: op.name.span });
            op.name.text = name.to_owned();
        }
        Ok(())
    }

    fn body(&self, body: &mut Body) {
        walk_body(body, &mut |expr| self.expr(expr));
    }

    pub(super) fn expr(&self, expr: &mut Expr) {
        let filled = match &mut expr.kind {
            ExprKind::Name(name) => {
                whole_placeholder(&name.text).and_then(|p| self.0.get(p)).map(|value| value.kind.clone())
            }
            ExprKind::Call(name, args) => match whole_placeholder(&name.text).and_then(|p| self.0.get(p)) {
                Some(Expr { kind: ExprKind::Path(op), .. }) => Some(ExprKind::Rule(op.clone(), std::mem::take(args))),
                _ => {
                    let Ok(text) = self.fill(&name.text) else { return };
                    let name = Ident { text, span: name.span };
                    Some(named_call(name, std::mem::take(args)))
                }
            },
            ExprKind::Node(name, args) => match whole_placeholder(&name.name.text).and_then(|p| self.0.get(p)) {
                Some(Expr { kind: ExprKind::Path(op), .. }) => Some(ExprKind::Rule(op.clone(), std::mem::take(args))),
                _ => {
                    let Ok(text) = self.fill(&name.name.text) else { return };
                    let mut name = name.clone();
                    name.name.text = text;
                    match name.domain {
                        None => Some(named_call(name.name, std::mem::take(args))),
                        Some(_) => Some(ExprKind::Node(name, std::mem::take(args))),
                    }
                }
            },
            ExprKind::Rule(op, _) => {
                let _ = self.op_name(op);
                None
            }
            _ => None,
        };
        if let Some(kind) = filled {
            expr.kind = kind;
        }
    }
}

fn named_call(name: Ident, args: Vec<Argument>) -> ExprKind {
    if name.text.starts_with(|c: char| c.is_ascii_uppercase()) {
        let span = name.span;
        return ExprKind::Node(OnnxName { domain: None, name, span }, args);
    }
    ExprKind::Call(name, args)
}
