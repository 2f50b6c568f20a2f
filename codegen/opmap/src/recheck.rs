//! Checks mapping files again after a change of some of them: only the rules that the change reaches are proved again.
//!
//! The other files are not parsed again. Names and types are checked anew, because a header may concern any rule.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::check::before::{Checkpoint, Headers};
use crate::checked::{Change, Checked, check_files};
use crate::collect::{Items, collect};
use crate::coverage::{self, Known, Moved, Unchanged};
use crate::diagnostic::Diagnostic;
use crate::reach::Reach;
use crate::source::{FileId, Sources, Span};
use crate::syntax;
use crate::syntax::ast::{ExampleTarget, File};
use crate::tree::{Arm, Program};
use aten2onnx_schemas::Schemas;

/// Mapping files that were checked, to be checked again with changes of some of them.
#[derive(Debug)]
pub struct Recheck {
    sources: Sources,
    /// The number of files that the others are checked over.
    first: usize,
    files: Vec<File>,
    diagnostics: Vec<Diagnostic>,
    schemas: Arc<Schemas>,
    /// What is known of the files. None if they have errors: then everything is proved each time.
    base: Option<Base>,
}

/// What changes are compared with.
#[derive(Debug)]
struct Base {
    /// The domains that the files import.
    domains: Vec<(String, u32)>,
    items: Vec<Named>,
    checkpoint: Checkpoint,
    reach: Reach,
    known: Known,
}

impl Recheck {
    /// Parses and checks all files.
    pub fn new(sources: Sources, schemas: Arc<Schemas>) -> Recheck {
        Recheck::over(sources, 0, schemas)
    }

    /// Parses and checks all files, those from `first` on over the others, as [`check_with_base`](crate::check_with_base) does. They need no examples.
    pub fn over(sources: Sources, first: usize, schemas: Arc<Schemas>) -> Recheck {
        let mut diagnostics = Vec::new();
        let files = (0..sources.files.len()).map(|i| syntax::parse_file(&sources, FileId(i as u32), &mut diagnostics));
        let files: Vec<File> = files.collect();
        let mut known = Known::default();
        let prove = |_: &Items, program: &Program, out: &mut Vec<_>| {
            coverage::check(program, &schemas, None, Some(&mut known), out)
        };
        let mut checked =
            check_files(sources.clone(), first, &files, schemas.clone(), diagnostics.clone(), None, prove);
        forgive_missing_examples(first, &mut checked.diagnostics);
        let is_right = checked.diagnostics.is_empty();
        let base = is_right.then(|| {
            let program = checked.program;
            let (mut collected, reach) = (collect(&files, &mut Vec::new()), Reach::new(&program));
            collected.keep_overrides(FileId(first as u32));
            let items = named_items(&collected, &|_| true, &program);
            let checkpoint = Checkpoint::new(program, &collected, &sources);
            Base { domains: imported(&collected), items, checkpoint, reach, known }
        });
        Recheck { sources, first, files, diagnostics, schemas, base }
    }

    /// Checks all files, with another text for one of them. The result is that of [`check_sources`](crate::check_sources).
    pub fn checked_with(&mut self, changed: FileId, text: String) -> Checked {
        self.checked_with_all(vec![(changed, text)], &mut |_, _| ())
    }

    /// Checks all files, with other texts for some of them. The result is that of [`check_sources`](crate::check_sources).
    ///
    /// `early` gets the errors of syntax, names and types in the files that changed, with the sources, as soon as they are known.
    pub fn checked_with_all(
        &mut self,
        changes: Vec<(FileId, String)>,
        early: &mut dyn FnMut(&Sources, &[Diagnostic]),
    ) -> Checked {
        let mut sources = self.sources.clone();
        let changed: Vec<FileId> = changes.iter().map(|(file, _)| *file).collect();
        let mut diagnostics: Vec<Diagnostic> =
            self.diagnostics.iter().filter(|d| !changed.contains(&d.primary.0.file)).cloned().collect();
        let mut others = Vec::new();
        for (id, text) in changes {
            if let Some(file) = sources.files.get_mut(id.0 as usize) {
                file.text = text;
            }
            let new = syntax::parse_file(&sources, id, &mut diagnostics);
            if let Some(old) = self.files.get_mut(id.0 as usize) {
                others.push((id, std::mem::replace(old, new)));
            }
        }
        let prove = |items: &Items, program: &Program, out: &mut Vec<_>| {
            let change = self.base.as_ref().and_then(|base| {
                let (reached, moved) = base.change(&changed, [&self.sources, &sources], items, program)?;
                Some((&base.known, reached, moved))
            });
            let unchanged = change.as_ref().map(|(known, reached, moved)| Unchanged { known, reached, moved });
            coverage::check(program, &self.schemas, unchanged, None, out)
        };
        let before = |items: &Items, sources: &Sources| {
            let base = self.base.as_ref().filter(|base| base.domains == imported(items))?;
            let callers = |name: &str| base.reach.callers_of(name).map(str::to_owned).collect();
            base.checkpoint.before(&callers, &Headers::of(items, sources), &changed)
        };
        let change = Change { files: &changed, early: &mut |found| early(&sources, found), before: &before };
        let schemas = self.schemas.clone();
        let first = self.first;
        let mut checked = check_files(sources.clone(), first, &self.files, schemas, diagnostics, Some(change), prove);
        forgive_missing_examples(first, &mut checked.diagnostics);
        // The first one last, if a file is named twice.
        for (id, old) in others.into_iter().rev() {
            if let Some(file) = self.files.get_mut(id.0 as usize) {
                *file = old;
            }
        }
        checked
    }

    /// The files that changes are compared with.
    #[must_use]
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Whether everything is proved each time, because the files had errors.
    #[must_use]
    pub fn proves_all(&self) -> bool {
        self.base.is_none()
    }
}

/// Rules over a base are a user's own, who may have no examples.
fn forgive_missing_examples(first: usize, diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.retain(|diagnostic| first == 0 || diagnostic.code != "E0803");
}

impl Base {
    /// What a change of files reaches, and where the rest is now. None if it may reach everything.
    fn change(
        &self,
        files: &[FileId],
        [old_sources, new_sources]: [&Sources; 2],
        new_items: &Items,
        new: &Program,
    ) -> Option<(HashSet<String>, Moved)> {
        if self.domains != imported(new_items) {
            return None;
        }
        let of_changed = |span: Span| files.contains(&span.file);
        let before = self.items.iter().filter(|item| of_changed(item.span));
        let mut after: HashMap<(FileId, Vec<String>, &str), Vec<Span>> = HashMap::new();
        for item in named_items(new_items, &of_changed, new).into_iter().rev() {
            let text = new_sources.text(item.span);
            after.entry((item.span.file, item.names, text)).or_default().push(item.span);
        }
        let mut changed = Vec::new();
        let mut places = Vec::new();
        for item in before {
            match after.get_mut(&(item.span.file, item.names.clone(), old_sources.text(item.span))).and_then(Vec::pop) {
                Some(now) => places.push((item.span, now.start)),
                None => changed.extend(item.names.iter().cloned()),
            }
        }
        changed.extend(after.into_iter().filter(|(_, left)| !left.is_empty()).flat_map(|((_, names, _), _)| names));
        places.sort_unstable();
        let reached = self.reach.reached_from(changed);
        let moved = Moved { arms: moved_arms(&self.checkpoint.program().arms, &new.arms), items: places };
        Some((reached, moved))
    }
}

/// The domains that items import.
fn imported(items: &Items) -> Vec<(String, u32)> {
    items.domains.iter().map(|import| (import.domain.text.clone(), import.version)).collect()
}

/// An item of a file with what the proof knows it by.
#[derive(Debug)]
struct Named {
    /// The functions and operators that it is about.
    names: Vec<String>,
    span: Span,
}

/// The items of files that the proof depends on, a family as one, if they are `wanted`.
fn named_items(items: &Items, wanted: &dyn Fn(Span) -> bool, program: &Program) -> Vec<Named> {
    let mut all: Vec<Named> = Vec::new();
    let mut add = |span: Span, names: Vec<String>| {
        if !wanted(span) {
            return;
        }
        match all.last_mut().filter(|last| last.span == span) {
            Some(last) => last.names.extend(names),
            None => all.push(Named { names, span }),
        }
    };
    let helpers: HashMap<Span, &str> = (program.fns.iter().chain(&program.externs))
        .filter(|function| wanted(function.span))
        .map(|function| (function.span, function.name.as_str()))
        .collect();
    // A helper without a header has only the name that is written. With it, callers of another helper of this name are reached too.
    let names_of = |name: &syntax::ast::Ident| {
        let full = helpers.get(&name.span).map(|full| (*full).to_owned());
        full.into_iter().chain([name.text.clone()]).collect()
    };
    items.maps.iter().for_each(|(meta, map)| add(meta.span, vec![map.op.full()]));
    items.lowers.iter().for_each(|(meta, lower)| add(meta.span, vec![lower.lowering_name(), lower.op.full()]));
    items.raises.iter().for_each(|(meta, raise)| add(meta.span, vec![raise.raise_name(), raise.op.full()]));
    items.sames.iter().for_each(|(meta, same)| add(meta.span, vec![same.op.full()]));
    items.fns.iter().for_each(|(meta, function)| add(meta.span, names_of(&function.name)));
    items.externs.iter().for_each(|(meta, function)| add(meta.span, names_of(&function.name)));
    for (meta, example) in &items.examples {
        if let ExampleTarget::Map(op) = &example.target {
            add(meta.span, vec![op.full()]);
        }
    }
    all
}

/// The new numbers of branches, by their old ones. The branches of a rule have successive numbers.
fn moved_arms(old: &[Arm], new: &[Arm]) -> Vec<u32> {
    let mut firsts: HashMap<&str, u32> = HashMap::new();
    for (number, arm) in new.iter().enumerate() {
        firsts.entry(arm.rule.as_str()).or_insert(number as u32);
    }
    let mut moved = Vec::with_capacity(old.len());
    let mut before: Option<(&str, u32)> = None;
    for arm in old {
        let number = match before {
            Some((rule, last)) if rule == arm.rule => last + 1,
            _ => firsts.get(arm.rule.as_str()).copied().unwrap_or(u32::MAX / 2),
        };
        before = Some((arm.rule.as_str(), number));
        moved.push(number);
    }
    moved
}
