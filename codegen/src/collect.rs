//! Pass 1: from files to one list of each kind of item. Families are written out, a rule for each row; after this pass no
//! placeholder is left and every item is known by its full name.

use std::collections::{HashMap, HashSet};

use crate::diagnostic::Diagnostic;
use crate::source::{FileId, Span};
use crate::syntax::ast::*;

/// All items of all files, in order.
#[derive(Debug, Default)]
pub struct Items {
    /// Families written out.
    pub maps: Vec<(Meta, Map)>,
    /// As written.
    pub lowers: Vec<(Meta, Lower)>,
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
    /// Those with a family's key written out, one for each row.
    pub examples: Vec<(Meta, Example)>,
}

impl Items {
    /// Where a file from `first` on has a rule that a file before it has too, only the former stays.
    pub(crate) fn keep_overrides(&mut self, first: FileId) {
        let own = |span: Span| span.file >= first;
        let maps: HashSet<String> =
            self.maps.iter().filter(|(meta, _)| own(meta.span)).map(|(_, m)| m.op.full()).collect();
        let lowers: HashSet<(String, u32)> =
            (self.lowers.iter().filter(|(meta, _)| own(meta.span))).map(|(_, l)| (l.op.full(), l.before)).collect();
        let sames: HashSet<(String, u32)> =
            self.sames.iter().filter(|(meta, _)| own(meta.span)).map(|(_, s)| (s.op.full(), s.to)).collect();
        let unsupported: HashSet<String> =
            self.unsupported.iter().filter(|(meta, _)| own(meta.span)).map(|(_, u)| u.op.full()).collect();
        self.maps.retain(|(meta, m)| own(meta.span) || !maps.contains(&m.op.full()));
        self.unsupported
            .retain(|(meta, u)| own(meta.span) || !(maps.contains(&u.op.full()) || unsupported.contains(&u.op.full())));
        self.lowers.retain(|(meta, l)| own(meta.span) || !lowers.contains(&(l.op.full(), l.before)));
        self.sames.retain(|(meta, s)| {
            let key = (s.op.full(), s.to);
            own(meta.span) || !(sames.contains(&key) || lowers.contains(&key))
        });
    }
}

/// What stands around an item.
#[derive(Debug, Clone)]
pub struct Meta {
    /// Documentation lines.
    pub docs: Vec<String>,
    /// The item.
    pub span: Span,
}

impl OpName {
    /// `aten::mul.Tensor`
    pub fn full(&self) -> String {
        match &self.overload {
            Some(overload) => format!("{}::{}.{}", self.namespace.text, self.name.text, overload.text),
            None => format!("{}::{}", self.namespace.text, self.name.text),
        }
    }
}

impl OnnxName {
    /// `Gelu`, or `com.microsoft::QuickGelu`
    pub fn full(&self) -> String {
        match &self.domain {
            Some(domain) => format!("{}::{}", domain.text, self.name.text),
            None => self.name.text.clone(),
        }
    }
}

/// Sorts the items of all files into lists and writes the families out.
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
                ItemKind::Same(same) => items.sames.push((meta, same.clone())),
                ItemKind::Fn(f) => items.fns.push((meta, f.clone())),
                ItemKind::ExternFn(f) => items.externs.push((meta, f.clone())),
                ItemKind::Unsupported(u) => items.unsupported.push((meta, u.clone())),
                ItemKind::ImportDomain(domain) => items.domains.push(domain.clone()),
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
    if !op.full().contains('{') {
        items.examples.push((meta, example.clone()));
        return;
    }
    let Some(family) = family else {
        out.push(
            Diagnostic::new("E0205", op.span, "a placeholder outside a family")
                .label("no family stands before this example in the file"),
        );
        return;
    };
    for row in &family.rows {
        let mut copy = example.clone();
        let mut op = op.clone();
        if let Err(name) = row.op_name(&mut op) {
            out.push(unknown_placeholder(op.span, &name, family));
            return;
        }
        copy.target = ExampleTarget::Map(op);
        items.examples.push((meta.clone(), copy));
    }
}

/// A family's placeholders and what its rows give for them.
struct Family {
    /// In reading order; the first is the key.
    placeholders: Vec<String>,
    rows: Vec<Substitution>,
}

/// What one row gives for each placeholder.
struct Substitution(HashMap<String, Expr>);

impl Family {
    fn new(map: &Map, rows: &[Row], out: &mut Vec<Diagnostic>) -> Option<Family> {
        let mut found = Placeholders::default();
        found.op_name(&map.op);
        found.body(&map.body);
        let placeholders = found.0;
        if placeholders.is_empty() {
            out.push(
                Diagnostic::new("E0205", map.header_span, "a family without placeholders")
                    .label("name what the rows fill in, such as `aten::{name}`"),
            );
            return None;
        }
        let mut good = Vec::new();
        for row in rows {
            if row.columns.len() != placeholders.len() - 1 {
                let wanted: Vec<String> = placeholders[1..].iter().map(|p| format!("`{{{p}}}`")).collect();
                let columns = |n: usize| format!("{n} column{}", if n == 1 { "" } else { "s" });
                let text = format!("this family has {}, this row {}", columns(wanted.len()), row.columns.len());
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

    fn write_out(&self, meta: &Meta, map: &Map, rows: &[Row], maps: &mut Vec<(Meta, Map)>) {
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

fn unknown_placeholder(span: Span, name: &str, family: &Family) -> Diagnostic {
    let all: Vec<String> = family.placeholders.iter().map(|p| format!("`{{{p}}}`")).collect();
    Diagnostic::new("E0205", span, format!("unknown placeholder `{{{name}}}`"))
        .label("not one of the family")
        .note(format!("the family has {}", all.join(", ")))
}

/// The names between braces of a text: `{name}_backward` has `name`.
fn placeholders_of(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|rest| rest.split('}').next())
}

/// `text`, if it is nothing but one placeholder.
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
        each_in_body(&mut copy, &mut |expr| match &expr.kind {
            ExprKind::Name(name) | ExprKind::Call(name, _) => self.text(&name.text),
            ExprKind::Node(name, _) => self.text(&name.name.text),
            ExprKind::Rule(op, _) | ExprKind::Path(op) => self.op_name(op),
            _ => {}
        });
    }
}

impl Substitution {
    /// A placeholder's value as a piece of a name.
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

    /// Fills an overload's name; a key with a dot (`add.Tensor`) gives the overload too.
    fn op_name(&self, op: &mut OpName) -> Result<(), String> {
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
        each_in_body(body, &mut |expr| self.expr(expr));
    }

    fn expr(&self, expr: &mut Expr) {
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

/// Calls `f` on every expression of a body, the outer one first.
fn each_in_body(body: &mut Body, f: &mut dyn FnMut(&mut Expr)) {
    match body {
        Body::Expr(expr) => each(expr, f),
        Body::Block(block) => each_in_block(block, f),
    }
}

fn each_in_block(block: &mut Block, f: &mut dyn FnMut(&mut Expr)) {
    for statement in &mut block.statements {
        match &mut statement.kind {
            StatementKind::Let(_, expr) | StatementKind::Expr(expr) => each(expr, f),
            StatementKind::Ignore(..) | StatementKind::Since(_) => {}
        }
    }
    if let Some(result) = &mut block.result {
        each(result, f);
    }
}

fn each(expr: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    f(expr);
    match &mut expr.kind {
        ExprKind::Node(_, args) | ExprKind::Rule(_, args) | ExprKind::Call(_, args) => {
            for arg in args {
                match arg {
                    Argument::Positional(e) | Argument::Spread(e) | Argument::Named(_, e) => each(e, f),
                }
            }
        }
        ExprKind::Unary(_, e) | ExprKind::Closure(_, e) => each(e, f),
        ExprKind::Binary(_, a, b) | ExprKind::Coalesce(a, b) | ExprKind::Index(a, b) => {
            each(a, f);
            each(b, f);
        }
        ExprKind::If(condition, then, other) => {
            match condition {
                Condition::Expr(e) | Condition::Let(_, e) => each(e, f),
            }
            each_in_block(then, f);
            if let Some(other) = other {
                each_in_block(other, f);
            }
        }
        ExprKind::Match(value, arms) => {
            each(value, f);
            for arm in arms {
                each(&mut arm.value, f);
            }
        }
        ExprKind::List(items) => {
            for item in items {
                match item {
                    ListItem::One(e) | ListItem::Spread(e) => each(e, f),
                }
            }
        }
        ExprKind::Comprehension { element, list, condition, .. } => {
            each(list, f);
            if let Some(condition) = condition {
                each(condition, f);
            }
            each(element, f);
        }
        ExprKind::Tuple(parts) => parts.iter_mut().for_each(|e| each(e, f)),
        ExprKind::Slice(list, from, to) => {
            each(list, f);
            for end in [from, to].into_iter().flatten() {
                each(end, f);
            }
        }
        ExprKind::Block(block) => each_in_block(block, f),
        ExprKind::Fail(parts) => {
            for part in parts {
                if let TextPart::Expr(e) = part {
                    each(e, f);
                }
            }
        }
        ExprKind::Int(_)
        | ExprKind::Float(..)
        | ExprKind::Str(_)
        | ExprKind::Name(_)
        | ExprKind::Path(_)
        | ExprKind::Since(_) => {}
    }
}
