//! The helpers, and which of them a file sees: its own, and those that other files export with `pub`.

use std::collections::{BTreeMap, HashMap};

use super::scope::Use;
use super::{Checker, Signature};
use crate::diagnostic::Diagnostic;
use crate::source::{FileId, Sources, Span};
use crate::syntax::ast::Ident;
use crate::types::Ty;

/// A `fn` or an `extern fn`.
#[derive(Debug)]
pub(crate) struct Helper {
    /// Its name in the checked program. It is unique.
    pub key: String,
    /// None if the header has an error.
    pub signature: Option<Signature>,
    pub is_extern: bool,
    pub span: Span,
}

/// All helpers by name.
#[derive(Debug)]
pub(crate) struct Helpers {
    /// By file, or None for those that are exported.
    by_name: BTreeMap<(String, Option<FileId>), Helper>,
    /// The Rust functions by name.
    externs: HashMap<String, Span>,
    /// `aten/pool` for each file.
    labels: Vec<String>,
    /// The first file over a base.
    first: FileId,
}

impl Helpers {
    pub fn new(sources: &Sources, first: FileId) -> Self {
        let mut labels: Vec<String> = Vec::new();
        for file in &sources.files {
            let path = file.path.strip_prefix("mappings/").unwrap_or(&file.path);
            let label = path.strip_suffix(".opmap").unwrap_or(path);
            let same = sources.files.iter().take(labels.len()).filter(|other| other.path == file.path).count();
            labels.push(if same == 0 { label.to_owned() } else { format!("{label}({})", same + 1) });
        }
        Helpers { by_name: BTreeMap::new(), externs: HashMap::new(), labels, first }
    }

    /// Adds a helper, unless there is one of this name.
    pub fn add(
        &mut self,
        name: &Ident,
        public: bool,
        is_extern: bool,
        signature: Option<Signature>,
        out: &mut Vec<Diagnostic>,
    ) {
        let file = name.span.file;
        let twice = |first: Span| {
            Diagnostic::new("E0105", name.span, format!("`{}` is defined twice", name.text))
                .label("second definition")
                .also(first, "first here")
        };
        for scope in [Some(file), None] {
            let Some(other) = self.by_name.get_mut(&(name.text.clone(), scope)) else { continue };
            if public || other.span.file == file {
                out.push(twice(other.span));
                // Calls of it are ambiguous.
                other.signature = None;
                return;
            }
        }
        if is_extern {
            if let Some(first) = self.externs.get(&name.text) {
                out.push(
                    twice(*first).note("an `extern fn` is a function of Rust, of which there is one of each name"),
                );
                return;
            }
            self.externs.insert(name.text.clone(), name.span);
        }
        let key = match (public || is_extern, self.labels.get(file.0 as usize)) {
            (false, Some(label)) => format!("{label}::{}", name.text),
            _ => name.text.clone(),
        };
        let scope = (!public).then_some(file);
        self.by_name.insert((name.text.clone(), scope), Helper { key, signature, is_extern, span: name.span });
    }

    /// Reports the helpers that are private and have the name of an exported one.
    pub fn hidden_exports(&self, out: &mut Vec<Diagnostic>) {
        for ((name, scope), helper) in &self.by_name {
            let exported = self.by_name.get(&(name.clone(), None)).filter(|_| scope.is_some());
            // Files of a base need not know the names that others export.
            let Some(exported) = exported.filter(|e| helper.span.file >= self.first || e.span.file < self.first) else {
                continue;
            };
            let diagnostic = Diagnostic::new("E0105", helper.span, format!("`{name}` is exported by another file"))
                .label("this one is private")
                .also(exported.span, "exported here");
            out.push(diagnostic.help("rename one of them, because readers would confuse them"));
        }
    }

    /// The helper that a name means in a file.
    pub fn find(&self, file: FileId, name: &str) -> Option<&Helper> {
        [Some(file), None].into_iter().find_map(|scope| self.by_name.get(&(name.to_owned(), scope)))
    }

    /// A helper of this name that the file does not see.
    pub fn hidden_helper(&self, name: &str) -> Option<&Helper> {
        self.by_name.range((name.to_owned(), None)..).next().filter(|((n, _), _)| n == name).map(|(_, helper)| helper)
    }

    /// The names that a file sees.
    pub fn names(&self, file: FileId) -> impl Iterator<Item = &str> {
        let seen = move |scope: &Option<FileId>| scope.is_none_or(|f| f == file);
        self.by_name.keys().filter(move |(_, scope)| seen(scope)).map(|(name, _)| name.as_str())
    }

    /// The name in the checked program and the header of the helper that is declared here, if it has no error.
    pub fn declared(&self, name: &Ident) -> Option<(&str, &Signature)> {
        let helper = self.find(name.span.file, &name.text).filter(|helper| helper.span == name.span)?;
        Some((&helper.key, helper.signature.as_ref()?))
    }
}

impl Checker<'_> {
    /// Brings a name into scope. It must not hide a helper.
    pub(crate) fn bind_name(&mut self, name: &str, ty: Ty, span: Span, origin: Use) {
        if let Some(helper) = self.context.helpers.find(span.file, name) {
            let text = format!("`{name}` hides the helper `{name}`");
            let diagnostic = Diagnostic::new("E0108", span, text).label("also the name of a helper");
            self.out.push(diagnostic.also(helper.span, "the helper").help("rename one of them"));
        }
        if self.rest.as_ref().is_some_and(|rest| rest.name.text == name || rest.params.iter().any(|p| p.name == name)) {
            let text = format!("`{name}` hides an attribute of `..attrs`");
            self.out.push(Diagnostic::new("E0108", span, text).label("also the name of an attribute"));
        }
        self.scopes.bind(name, ty, span, origin);
    }
}
