//! The text of a rule as it is at an opset, to show which nodes it emits.
//!
//! Lowerings replace calls of operators that the opset lacks. The helpers and rules that the rule calls follow, if they differ at
//! the opset too.

mod unparse;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use aten2onnx_opmap::Checked;
use aten2onnx_opmap::collect::{self, Items};
use aten2onnx_opmap::coverage::Status;
use aten2onnx_opmap::source::{FileId, Span};
use aten2onnx_opmap::specialize::Specializer;
use aten2onnx_opmap::syntax::ast::{File, Ident, Item, ItemKind};
use aten2onnx_opmap::syntax::{parse_file, print_file};
use aten2onnx_opmap::tree::Function;
use aten2onnx_schemas::nearest::nearest;
use unparse::Unparser;

/// The text of a rule (`aten::gelu`) or of an ONNX operator (`Gelu`) at an opset.
///
/// # Errors
/// There is no such rule, or no such opset.
pub fn expand(checked: &Checked, op: &str, opset: u32) -> Result<String, String> {
    Expander::new(checked).expand(op, opset)
}

/// The items as written, with families expanded.
fn items(checked: &Checked) -> Items {
    let mut scratch = Vec::new();
    let count = checked.sources.files.len() as u32;
    let files: Vec<File> = (0..count).map(|i| parse_file(&checked.sources, FileId(i), &mut scratch)).collect();
    collect::collect(&files, &mut scratch)
}

/// The rules and helpers of a program by name, with how they are written.
fn functions(checked: &Checked) -> BTreeMap<&str, (&Function, ItemKind)> {
    let items = items(checked);
    let mut written: BTreeMap<String, ItemKind> = BTreeMap::new();
    for (_, map) in items.maps {
        written.entry(map.op.full()).or_insert(ItemKind::Map(map));
    }
    for (_, lower) in items.lowers {
        written.entry(format!("{} before {}", lower.op.full(), lower.before)).or_insert(ItemKind::Lower(lower));
    }
    for (_, raise) in items.raises {
        written.entry(format!("{} from {}", raise.op.full(), raise.before)).or_insert(ItemKind::Raise(raise));
    }
    let helpers: Vec<_> = items.fns.into_iter().map(|(_, helper)| helper).collect();
    let program = &checked.program;
    let maps = program.maps.iter().map(|m| &m.function);
    let lowers = program.lowers.iter().map(|l| &l.function);
    let raises = program.raises.iter().map(|r| &r.function);
    let mut found = BTreeMap::new();
    for function in maps.chain(lowers).chain(raises).chain(&program.fns) {
        let helper = || helpers.iter().find(|helper| helper.name.span == function.span).cloned().map(ItemKind::Fn);
        let kind = written.get(&function.name).cloned().or_else(helper);
        if let Some(kind) = kind {
            found.entry(function.name.as_str()).or_insert((function, kind));
        }
    }
    found
}

/// Expands many rules of one program.
pub struct Expander<'a> {
    checked: &'a Checked,
    /// The rules and helpers by name, with how they are written.
    functions: BTreeMap<&'a str, (&'a Function, ItemKind)>,
    /// What was expanded already: most rules call the same helpers.
    expanded: RefCell<BTreeMap<(&'a str, u32), Rc<Expanded>>>,
}

/// A rule at an opset.
#[derive(Default)]
struct Expanded {
    text: String,
    called: BTreeSet<String>,
    typed: BTreeSet<(String, u32)>,
}

impl<'a> Expander<'a> {
    /// An expander for rules without errors.
    pub fn new(checked: &'a Checked) -> Self {
        Expander { checked, functions: functions(checked), expanded: RefCell::default() }
    }

    /// As [`expand`].
    ///
    /// # Errors
    /// There is no such rule, or no such opset.
    pub fn expand(&self, op: &str, opset: u32) -> Result<String, String> {
        let checked = self.checked;
        let opsets = &checked.schemas.opsets;
        if !opsets.range().contains(&opset) {
            return Err(format!("opset {opset} is not known; supported are {} to {}", opsets.min, opsets.max));
        }
        let op = op.strip_suffix(".default").unwrap_or(op);
        if let Some(map) = checked.program.maps.iter().find(|m| m.function.name == op) {
            return Ok(self.map(&map.function, opset));
        }
        if let Some(item) = checked.program.unsupported.iter().find(|u| u.name == op) {
            return Ok(format!("// {}\nunsupported {op} {:?}\n", self.place(item.span), item.reason));
        }
        if !checked.schemas.onnx.versions(op).is_empty() {
            return Ok(self.operator(op, opset) + &self.raises(op, opset));
        }
        let maps = checked.program.maps.iter().map(|m| m.function.name.as_str());
        let operators = checked.schemas.onnx.ops.keys().map(String::as_str);
        let near = if op.contains("::") { nearest(op, maps) } else { nearest(op, operators) };
        let hint = near.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
        Err(format!("there is neither a rule for `{op}` nor an ONNX operator of this name{hint}"))
    }

    fn map(&self, function: &Function, opset: u32) -> String {
        let mut text = format!("// opset {opset}: {}\n", self.place(function.span));
        for note in self.notes(&function.name, opset) {
            text.push_str(&format!("// {note}\n"));
        }
        let root = self.function(&function.name, opset);
        text.push_str(&root.text);
        text + &self.dependencies(root, opset)
    }

    fn operator(&self, op: &str, opset: u32) -> String {
        let schemas = &self.checked.schemas;
        let versions = schemas.onnx.versions(op);
        let native = schemas.onnx.at(op, opset);
        let newer = versions.iter().rev().filter(|v| v.since > opset && schemas.shape_change(op, v.since));
        let lowers = &self.checked.program.lowers;
        let needed = newer
            .filter(|v| !self.checked.program.sames.iter().any(|s| s.op == op && s.to == v.since))
            .map(|v| (v.since, lowers.iter().find(|l| l.op == op && l.before == v.since)))
            .next();
        match (needed, native) {
            (None, Some(version)) => format!("// {op} is native at opset {}: {op}-{}\n", opset, version.since),
            (Some((_, Some(lower))), _) => {
                let mut text = format!("// opset {}: {}\n", opset, self.place(lower.function.span));
                let root = self.function(&lower.function.name, opset);
                text.push_str(&root.text);
                text + &self.dependencies(root, opset)
            }
            (Some((since, None)), _) => {
                format!("// {op} has no form at opset {}: there is no `lower {op} before {since}`\n", opset)
            }
            (None, None) => format!("// {op} has no form at opset {}\n", opset),
        }
    }

    /// What calls in older forms become, such as those of a model that is converted.
    fn raises(&self, op: &str, opset: u32) -> String {
        let raises = self.checked.program.raises.iter().filter(|raise| raise.op == op && raise.before <= opset);
        let shown = raises.map(|raise| {
            let place = self.place(raise.function.span);
            let expanded = self.function(&raise.function.name, opset);
            let text = &expanded.text;
            format!("\n// a call in a form before {}: {place}\n{text}", raise.before)
        });
        shown.collect()
    }

    /// The refusals of a rule at the opset, from the support matrix.
    fn notes(&self, name: &str, opset: u32) -> Vec<String> {
        let matrix = &self.checked.matrix;
        let index = opset.saturating_sub(matrix.oldest) as usize;
        match matrix.rows.get(name).and_then(|row| row.get(index)) {
            Some(Status::No(reasons)) => reasons.iter().map(|r| format!("refused at this opset: {r}")).collect(),
            Some(Status::Partial(reasons)) => reasons.iter().map(|r| format!("some calls are refused: {r}")).collect(),
            _ => Vec::new(),
        }
    }

    /// The helpers, rules and lowerings that a rule needs and that differ at the opset.
    fn dependencies(&self, root: Rc<Expanded>, opset: u32) -> String {
        let mut text = String::new();
        let mut seen = BTreeSet::new();
        let mut open: Vec<Rc<Expanded>> = vec![root];
        while let Some(expanded) = open.pop() {
            for (op, before) in &expanded.typed {
                let name = format!("{op} before {before}");
                if seen.insert(name.clone()) {
                    let lower = self.function(&name, opset);
                    let native = self.checked.schemas.onnx.at(op, opset).map_or(0, |v| v.since);
                    text.push_str(&format!("\n// for dtypes that {op}-{native} does not take\n{}", lower.text));
                    open.push(lower);
                }
            }
            for name in &expanded.called {
                if !seen.insert(name.clone()) {
                    continue;
                }
                let here = self.function(name, opset);
                if here.text != self.function(name, self.checked.schemas.opsets.max).text {
                    text.push_str(&format!("\n{}", here.text));
                }
                open.push(here);
            }
        }
        text
    }

    /// A rule or helper at an opset, by its name in the checked program.
    fn function(&self, name: &str, opset: u32) -> Rc<Expanded> {
        let Some((name, (function, kind))) = self.functions.get_key_value(name) else {
            return Rc::default();
        };
        if let Some(known) = self.expanded.borrow().get(&(*name, opset)) {
            return Rc::clone(known);
        }
        let made = Rc::new(self.expanded(function, kind.clone(), opset));
        self.expanded.borrow_mut().insert((*name, opset), Rc::clone(&made));
        made
    }

    fn expanded(&self, function: &Function, mut kind: ItemKind, opset: u32) -> Expanded {
        let program = &self.checked.program;
        let mut specializer = Specializer::new(program, &self.checked.schemas, opset);
        let operators = &self.checked.schemas.operators;
        let body = Unparser { program, operators }.body(&specializer.body(function));
        match &mut kind {
            ItemKind::Map(map) => map.body = body,
            ItemKind::Lower(lower) | ItemKind::Raise(lower) => {
                lower.body = body;
                // `..attrs` is written out.
                let ident = |name: &str| Ident { text: name.to_owned(), span: function.span };
                lower.params = function.params.iter().map(|param| ident(&param.name)).collect();
                lower.rest = None;
            }
            ItemKind::Fn(f) => f.body = body,
            _ => {}
        }
        let docs = function.docs.clone();
        let item = Item { comments: Vec::new(), docs, blank_before: false, kind, span: function.span };
        let text = print_file(&File { docs: Vec::new(), items: vec![item], trailing: Vec::new() });
        Expanded { text, called: specializer.called, typed: specializer.typed }
    }

    fn place(&self, span: Span) -> String {
        let sources = &self.checked.sources;
        format!("{}:{}", sources.file(span.file).path, sources.line(span))
    }
}
