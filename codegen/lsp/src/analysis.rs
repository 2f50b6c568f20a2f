//! What the checker found out of a state of all files, and where its places are in the text that the editor has.

use std::ops::Range;
use std::sync::Arc;

use aten2onnx_opmap::Checked;
use aten2onnx_opmap::source::{FileId, Span};
use aten2onnx_opmap::tree::{Bound, Expr, Function, is_replaced};
use aten2onnx_opmap::visit;

use crate::text::Difference;

/// A state of all files that was checked.
#[derive(Debug)]
pub struct Analysis {
    /// What the checker says.
    pub checked: Arc<Checked>,
    /// Whether all items of each file could be parsed.
    pub parsed: Vec<bool>,
}

impl Analysis {
    /// From what the checker says.
    pub fn new(checked: Checked) -> Analysis {
        let mut parsed = vec![true; checked.sources.files.len()];
        for diagnostic in checked.diagnostics.iter().filter(|d| is_of_syntax(d.code)) {
            if let Some(file) = parsed.get_mut(diagnostic.primary.0.file.0 as usize) {
                *file = false;
            }
        }
        Analysis { checked: Arc::new(checked), parsed }
    }

    /// The text of a file that was checked.
    pub fn text(&self, file: FileId) -> &str {
        self.checked.sources.files.get(file.0 as usize).map_or("", |file| file.text.as_str())
    }

    /// How the text that was checked differs from the text that there is now.
    pub fn difference(&self, file: FileId, now: &str) -> Difference {
        Difference::of(self.text(file), now)
    }

    /// All functions: rules, lowerings, upward rules and helpers.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        let program = &self.checked.program;
        let maps = program.maps.iter().map(|map| &map.function);
        let lowers = program.lowers.iter().chain(&program.raises).map(|lower| &lower.function);
        maps.chain(lowers).chain(&program.fns).chain(&program.externs)
    }

    /// The functions whose header is in a range of a file. A family has one for each row.
    pub fn functions_in(&self, file: FileId, range: Range<usize>) -> impl Iterator<Item = &Function> {
        self.functions().filter(move |function| is_inside(function.span, file, &range) && !is_replaced(&function.name))
    }

    /// The innermost expression around a place in the text that was checked.
    pub fn expression_at(&self, file: FileId, at: usize) -> Option<&Expr> {
        let is_around = |span: Span| span.file == file && span.start as usize <= at && at <= span.end as usize;
        let mut best: Option<&Expr> = None;
        for function in self.functions().filter(|function| is_around(function.body.span)) {
            visit::walk(&function.body, &mut |expr| {
                let is_smaller = best.is_none_or(|best| length(expr.span) <= length(best.span));
                if is_around(expr.span) && is_smaller {
                    best = Some(expr);
                }
            });
        }
        best
    }

    /// What is bound at a place, or is used there.
    pub fn bound_at(&self, file: FileId, at: usize) -> Option<&Bound> {
        let is_around = |span: &Span| span.file == file && span.start as usize <= at && at <= span.end as usize;
        let links = &self.checked.program.links;
        let used = links.uses.iter().find(|(written, _)| is_around(written)).map(|(_, bound)| *bound);
        match used {
            Some(span) => links.bound.iter().find(|bound| bound.span == span),
            None => links.bound.iter().find(|bound| is_around(&bound.span)),
        }
    }

    /// The helper in the checked program that is called, or declared, at a place.
    pub fn helper_at(&self, file: FileId, at: usize) -> Option<&Function> {
        let is_around = |span: Span| span.file == file && span.start as usize <= at && at <= span.end as usize;
        let program = &self.checked.program;
        let called = program.links.calls.iter().find(|(written, _)| is_around(*written)).map(|(_, key)| key.as_str());
        match called {
            Some(key) => self.helper(key),
            None => program.fns.iter().chain(&program.externs).find(|function| is_around(function.span)),
        }
    }

    /// A helper by its name in the checked program.
    pub fn helper(&self, key: &str) -> Option<&Function> {
        self.checked.program.helper(key).or_else(|| self.checked.program.external(key))
    }

    /// The helper that a name means in a file.
    pub fn helper_named(&self, file: FileId, name: &str) -> Option<&Function> {
        let label = self.checked.sources.files.get(file.0 as usize).map_or("", |file| file.path.as_str());
        let label = label.strip_prefix("mappings/").unwrap_or(label);
        let label = label.strip_suffix(".opmap").unwrap_or(label);
        self.helper(&format!("{label}::{name}")).or_else(|| self.helper(name))
    }
}

/// Whether an error is one of the parser.
pub fn is_of_syntax(code: &str) -> bool {
    code.starts_with("E00")
}

/// Whether a span is in a range of a file.
pub fn is_inside(span: Span, file: FileId, range: &Range<usize>) -> bool {
    span.file == file && range.start <= span.start as usize && span.end as usize <= range.end
}

fn length(span: Span) -> u32 {
    span.end.saturating_sub(span.start)
}
