//! Makes the mutants of mapping files: changes of one place of their text.

use std::collections::HashMap;

use aten2onnx_opmap::source::{FileId, Sources, Span};
use aten2onnx_opmap::syntax::ast::{Body, Fn, Fuse, Ident, Item, ItemKind, Lower, Map, Same, SinceClause};
use aten2onnx_opmap::syntax::parse_file;
use aten2onnx_schemas::Schemas;

use super::alike::Alike;
use super::kind::Kind;

/// How much of a text the name of a mutant shows.
const LONGEST: usize = 60;

/// A change of one place of a mapping file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mutant {
    /// What the report calls it: the rule, the kind, the text before and after. It holds no line, so it stays when other rules change.
    pub name: String,
    pub kind: Kind,
    /// `aten::elu`, `Gelu before 20`, `to_float`; of a family `aten::acos ..`, with its first row.
    pub rule: String,
    /// The item.
    pub item: Span,
    /// What is replaced.
    pub span: Span,
    /// By this.
    pub text: String,
}

impl Mutant {
    /// The file with the change.
    pub fn applied(&self, text: &str) -> String {
        let (before, after) = (text.get(..self.span.start as usize), text.get(self.span.end as usize..));
        format!("{}{}{}", before.unwrap_or_default(), self.text, after.unwrap_or_default())
    }
}

/// All mutants of files, in their order.
pub(crate) fn mutants_of(sources: &Sources, schemas: &Schemas) -> Vec<Mutant> {
    let alike = Alike::new(&schemas.onnx, &schemas.operators);
    let mut all = Vec::new();
    for number in 0..sources.files.len() {
        let file = FileId(u32::try_from(number).unwrap_or(u32::MAX));
        for item in &parse_file(sources, file, &mut Vec::new()).items {
            let mut sites = Sites {
                sources,
                schemas,
                alike: &alike,
                item: item.span,
                rule: String::new(),
                columns: Vec::new(),
                made: Vec::new(),
            };
            sites.item(item);
            all.append(&mut sites.made);
        }
    }
    number_equal_names(&mut all);
    all
}

/// Gives mutants with the same name numbers.
fn number_equal_names(all: &mut [Mutant]) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for mutant in all {
        let count = seen.entry(mutant.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            mutant.name = format!("{} (#{count})", mutant.name);
        }
    }
}

/// Collects the mutants of an item.
pub(super) struct Sites<'a> {
    pub sources: &'a Sources,
    pub schemas: &'a Schemas,
    pub alike: &'a Alike,
    item: Span,
    rule: String,
    /// What the columns of a family hold.
    columns: Vec<String>,
    made: Vec<Mutant>,
}

impl Sites<'_> {
    /// Notes a mutant, unless it changes nothing.
    pub fn add(&mut self, kind: Kind, span: Span, text: impl Into<String>) {
        let (old, text) = (self.text(span), text.into());
        let is_known = |known: &Mutant| known.span == span && known.text == text;
        if old == text || self.made.iter().any(is_known) {
            return;
        }
        let name = format!("{}: {kind}: `{}` -> `{}`", self.rule, shown(old), shown(&text));
        self.made.push(Mutant { name, kind, rule: self.rule.clone(), item: self.item, span, text });
    }

    /// Whether the order of the operands of an operator does not matter. That of a family, `{Op}`, is any of its columns.
    pub fn is_commutative(&self, op: &str) -> bool {
        let is_column = op.starts_with('{');
        let of_columns = || self.columns.iter().filter(|column| column.starts_with(char::is_uppercase));
        self.alike.is_commutative(op)
            || is_column
                && of_columns().next().is_some()
                && of_columns().all(|column| self.alike.is_commutative(column))
    }

    pub fn text(&self, span: Span) -> &str {
        self.sources.text(span)
    }

    fn item(&mut self, item: &Item) {
        match &item.kind {
            ItemKind::Map(map) => self.map(map),
            ItemKind::Lower(lower) => self.lower(lower, "before"),
            ItemKind::Raise(raise) => self.lower(raise, "from"),
            ItemKind::Fuse(fuse) => self.fuse(fuse),
            ItemKind::Same(same) => self.same(same),
            ItemKind::Fn(function) => self.function(function),
            // What Rust, the documentation and users say.
            ItemKind::ExternFn(_)
            | ItemKind::Unsupported(_)
            | ItemKind::ImportDomain(_)
            | ItemKind::Fact(_)
            | ItemKind::Example(_) => {}
        }
    }

    fn fuse(&mut self, fuse: &Fuse) {
        self.rule = fuse.rule_name();
        let arguments: Vec<&Ident> = fuse.params.iter().map(|param| &param.name).collect();
        self.expression(&fuse.pattern);
        fuse.condition.iter().for_each(|condition| self.expression(condition));
        self.body(&fuse.body, &arguments);
    }

    fn map(&mut self, map: &Map) {
        self.rule = name_of_map(map);
        if let Some(since) = &map.since {
            self.since(since);
            self.add(Kind::RefusalDropped, since.span, "");
        }
        let arguments: Vec<&Ident> = map.params.iter().map(|param| &param.name).collect();
        for row in map.rows.iter().flatten() {
            row.columns.iter().for_each(|column| self.expression(column));
        }
        self.columns = map
            .rows
            .iter()
            .flatten()
            .flat_map(|row| &row.columns)
            .map(|column| self.text(column.span).to_owned())
            .collect();
        self.body(&map.body, &arguments);
        self.columns.clear();
    }

    fn lower(&mut self, lower: &Lower, word: &str) {
        let op = lower.op.full();
        if lower.before == aten2onnx_opmap::tree::AVOIDED {
            self.rule = format!("{op} avoided");
        } else {
            self.rule = format!("{op} {word} {}", lower.before);
            self.opsets_around(&op, lower.before, lower.before_span);
            if let Some(before) = self.version_before(&op, lower.before).filter(|_| word == "before") {
                self.add(Kind::SameAdded, self.item, format!("same {op} {before} as {} \"mutant\"", lower.before));
            }
        }
        let arguments: Vec<&Ident> = lower.params.iter().collect();
        self.body(&lower.body, &arguments);
    }

    fn same(&mut self, same: &Same) {
        let op = same.op.full();
        self.rule = format!("same {op} {} as {}", same.from, same.to);
        for (from, to) in [(same.from + 1, same.to), (same.from, same.to + 1), (same.from, same.to.saturating_sub(1))] {
            self.add(Kind::OpsetMoved, same.numbers_span, format!("{from} as {to}"));
        }
        self.add(Kind::SameAdded, self.item, "");
    }

    fn function(&mut self, function: &Fn) {
        self.rule.clone_from(&function.name.text);
        for default in function.params.iter().filter_map(|param| param.default.as_ref()) {
            self.default(default);
        }
        self.body(&function.body, &[]);
    }

    fn default(&mut self, default: &Ident) {
        match default.text.as_str() {
            "True" => self.add(Kind::Value, default.span, "False"),
            "False" => self.add(Kind::Value, default.span, "True"),
            text => {
                if let Ok(n) = text.parse::<i64>() {
                    self.add(Kind::Constant, default.span, n.saturating_add(1).to_string());
                } else if let Ok(x) = text.parse::<f64>() {
                    self.add(Kind::Constant, default.span, format!("{:?}", x + 1.0));
                }
            }
        }
    }

    fn body(&mut self, body: &Body, arguments: &[&Ident]) {
        match body {
            Body::Expr(expr) => self.expression(expr),
            Body::Block(block) => {
                let start = block.span.start + 1;
                let at = Span { start, end: start, ..block.span };
                for argument in arguments.iter().filter(|argument| !argument.text.contains('{')) {
                    self.add(Kind::IgnoreAdded, at, format!(" ignore({}) \"mutant\"; ", argument.text));
                }
                self.block(block);
            }
        }
    }

    /// A `since` one opset earlier and later.
    pub fn since(&mut self, since: &SinceClause) {
        for opset in [since.opset.saturating_sub(1), since.opset + 1] {
            self.add(Kind::OpsetMoved, since.opset_span, opset.to_string());
        }
    }

    /// The neighbours of an opset, and other versions of the operator.
    fn opsets_around(&mut self, op: &str, opset: u32, span: Span) {
        let versions = self.schemas.onnx.versions(op).iter().map(|version| version.since);
        let others: Vec<u32> = [opset.saturating_sub(1), opset + 1].into_iter().chain(versions).collect();
        for other in others {
            self.add(Kind::OpsetMoved, span, other.to_string());
        }
    }

    /// The version of an operator that a newer one replaced.
    fn version_before(&self, op: &str, opset: u32) -> Option<u32> {
        self.schemas.onnx.versions(op).iter().map(|version| version.since).rfind(|since| *since < opset)
    }
}

/// `aten::elu`; of a family the overload of its first row, `aten::acos ..`, because most families have the same placeholders.
fn name_of_map(map: &Map) -> String {
    let name = map.op.full();
    let first = map.rows.as_ref().and_then(|rows| rows.first());
    match (first, name.split_once('{'), name.rsplit_once('}')) {
        (Some(row), Some((before, _)), Some((_, after))) => format!("{before}{}{after} ..", row.key.text),
        _ => name,
    }
}

/// A text in one line, cut if it is long.
fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}..", line.get(..at).unwrap_or_default()),
        None => line,
    }
}
