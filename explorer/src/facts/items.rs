//! Where rules and helpers are in their files, with the documentation before them.

use std::collections::BTreeMap;

use aten2onnx_opmap::Checked;
use aten2onnx_opmap::source::{FileId, Span};
use aten2onnx_opmap::syntax::ast::ItemKind;
use aten2onnx_opmap::syntax::parse_file;

/// The items of all files.
#[derive(Debug, Default)]
pub struct Items {
    /// By file, in their order.
    files: BTreeMap<u32, Vec<ItemRef>>,
}

/// An item of a file.
#[derive(Debug, Clone)]
pub struct ItemRef {
    /// From its documentation to its end.
    pub span: Span,
    /// The anchor on the page of its file, unless it is an example or a fact.
    pub anchor: Option<String>,
    /// Whether it is a rule for several overloads.
    pub family: bool,
}

impl Items {
    /// Finds all items of rules without errors.
    pub fn of(checked: &Checked) -> Items {
        let mut files = BTreeMap::new();
        for id in 0..checked.sources.files.len() as u32 {
            let file = parse_file(&checked.sources, FileId(id), &mut Vec::new());
            let text = checked.sources.file(FileId(id)).text.as_str();
            let item = |kind: &ItemKind, span: Span| ItemRef {
                span: Span { start: with_docs(text, span.start as usize) as u32, ..span },
                anchor: anchor(kind),
                family: matches!(kind, ItemKind::Map(map) if map.rows.is_some()),
            };
            files.insert(id, file.items.iter().map(|found| item(&found.kind, found.span)).collect());
        }
        Items { files }
    }

    /// The item that contains a place.
    pub fn at(&self, span: Span) -> Option<&ItemRef> {
        let items = self.files.get(&span.file.0)?;
        items.iter().find(|item| item.span.start <= span.start && span.start < item.span.end)
    }

    /// The items of a file.
    pub fn of_file(&self, file: FileId) -> &[ItemRef] {
        self.files.get(&file.0).map_or(&[], Vec::as_slice)
    }
}

/// The start of the lines of documentation before an item.
fn with_docs(text: &str, start: usize) -> usize {
    let before = text.get(..start).unwrap_or("");
    let mut first = before.rfind('\n').map_or(0, |at| at + 1);
    while let Some(above) = text.get(..first.saturating_sub(1)).filter(|_| first > 0) {
        let line = above.rfind('\n').map_or(0, |at| at + 1);
        if !above.get(line..).unwrap_or("").trim_start().starts_with("///") {
            break;
        }
        first = line;
    }
    first
}

/// `fn-windows`, `map-aten-elu`: what links to the page of the file name.
fn anchor(kind: &ItemKind) -> Option<String> {
    Some(match kind {
        ItemKind::Map(map) => format!("map-{}", map.op.full().replace("::", "-")),
        ItemKind::Lower(lower) => format!("lower-{}-{}", lower.op.name.text, lower.before),
        ItemKind::Raise(raise) => format!("raise-{}-{}", raise.op.name.text, raise.before),
        ItemKind::Fuse(fuse) => format!("map-{}", fuse.rule_name().replace("::", "-")),
        ItemKind::Fn(helper) => format!("fn-{}", helper.name.text),
        ItemKind::ExternFn(helper) => format!("fn-{}", helper.name.text),
        ItemKind::Unsupported(unsupported) => format!("map-{}", unsupported.op.full().replace("::", "-")),
        _ => return None,
    })
}
