//! What is known of files that were checked: the rules that a change cannot concern are taken over.
//!
//! Names and types of a body depend on the body, and on the headers of what it calls. So a rule stays as it is if its file did not change, and if nothing that
//! it calls has another header.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::collect::Items;
use crate::source::{FileId, Sources, Span};
use crate::syntax::ast::{self, TypeExpr};
use crate::tree::{Function, Kind, Links, Lower, Map, Program};
use crate::visit;

/// The headers of all rules and helpers, by what they are called: the file, the name, and the text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Headers(BTreeMap<(FileId, String), Vec<String>>);

impl Headers {
    /// Reads them.
    pub fn of(items: &Items, sources: &Sources) -> Headers {
        let mut all = Headers::default();
        let params =
            |params: &[ast::Param]| params.iter().map(|param| sources.text(param.span)).collect::<Vec<_>>().join(",");
        let ty = |ty: &TypeExpr| sources.text(ty.span).to_owned();
        for (meta, map) in &items.maps {
            let keyword_only = map.params.iter().filter(|param| param.keyword_only).count();
            let returns = map.returns.iter().map(|returned| ty(&returned.ty)).collect::<Vec<_>>().join(",");
            let text = format!("{keyword_only} {} -> {returns}", params(&map.params));
            all.add(meta.span.file, map.op.full(), text);
        }
        for (meta, function) in &items.fns {
            let text = format!("fn {} -> {}", params(&function.params), ty(&function.returns));
            all.add(meta.span.file, visible(function.public, &function.name.text), text);
        }
        for (meta, function) in &items.externs {
            let text = format!("extern {} -> {}", params(&function.params), ty(&function.returns));
            all.add(meta.span.file, visible(function.public, &function.name.text), text);
        }
        all
    }

    fn add(&mut self, file: FileId, name: String, text: String) {
        self.0.entry((file, name)).or_default().push(text);
    }

    /// The names that other headers than these have, or had. None if there are new ones: any rule may have used them by mistake.
    fn changed(&self, now: &Headers) -> Option<Vec<(FileId, String)>> {
        let is_new = now.0.keys().any(|key| !self.0.contains_key(key));
        let differs = |(key, texts): &(&(FileId, String), &Vec<String>)| now.0.get(*key) != Some(*texts);
        (!is_new).then(|| self.0.iter().filter(differs).map(|(key, _)| key.clone()).collect())
    }
}

/// Files without errors that were checked, which later states are compared with.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    program: Program,
    headers: Headers,
    /// The helpers that the rules of each file call, other than themselves.
    used: HashMap<FileId, HashSet<String>>,
}

impl Checkpoint {
    /// Of a program without errors.
    pub fn new(program: Program, items: &Items, sources: &Sources) -> Checkpoint {
        let mut used: HashMap<FileId, HashSet<String>> = HashMap::new();
        for function in functions(&program) {
            let of_file = used.entry(function.span.file).or_default();
            visit::walk(&function.body, &mut |expr| {
                if let Kind::Fn(name, _) | Kind::Extern(name, _) = &expr.kind
                    && *name != function.name
                {
                    of_file.insert(name.clone());
                }
            });
        }
        Checkpoint { program, headers: Headers::of(items, sources), used }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What a change of these files leaves as it was. None if everything is to be checked. `callers` gives the functions that call a function.
    pub fn before<'a>(
        &'a self,
        callers: &dyn Fn(&str) -> Vec<String>,
        now: &Headers,
        files: &'a [FileId],
    ) -> Option<Before<'a>> {
        let mut concerned = HashSet::new();
        for (file, name) in self.headers.changed(now)? {
            let is_of = |function: &&Function| function.span.file == file && short(&function.name) == short(&name);
            let names =
                functions(&self.program).chain(&self.program.externs).filter(is_of).map(|function| &function.name);
            for name in names {
                concerned.extend(callers(name));
            }
        }
        Some(Before { checkpoint: self, files, concerned })
    }
}

/// A helper that is exported is another one for other files: it may have the name of something that they bind.
fn visible(public: bool, name: &str) -> String {
    if public { format!("{PUBLIC}{name}") } else { name.to_owned() }
}

const PUBLIC: &str = "pub ";

/// The last part of a name: helpers that are private begin with their file.
fn short(name: &str) -> &str {
    let name = name.strip_prefix(PUBLIC).unwrap_or(name);
    name.rsplit("::").next().unwrap_or(name)
}

fn functions(program: &Program) -> impl Iterator<Item = &Function> {
    let lowers = program.lowers.iter().chain(&program.raises).map(|lower| &lower.function);
    program.maps.iter().map(|map| &map.function).chain(lowers).chain(&program.fns)
}

/// What did not change.
#[derive(Debug)]
pub(crate) struct Before<'a> {
    checkpoint: &'a Checkpoint,
    /// The files that changed.
    files: &'a [FileId],
    /// Rules of other files that call something with another header.
    concerned: HashSet<String>,
}

impl Before<'_> {
    fn is_same(&self, function: &Function, header: Span) -> bool {
        !self.files.contains(&header.file) && function.span == header && !self.concerned.contains(&function.name)
    }

    /// The rule of an overload, if it stays.
    pub fn map(&self, name: &str, header: Span) -> Option<&Map> {
        self.checkpoint.program.map(name).filter(|map| self.is_same(&map.function, header))
    }

    /// A lowering, if it stays.
    pub fn lower(&self, op: &str, before: u32, header: Span) -> Option<&Lower> {
        self.checkpoint.program.lower(op, before).filter(|lower| self.is_same(&lower.function, header))
    }

    /// An upward rule, if it stays.
    pub fn raise(&self, op: &str, from: u32, header: Span) -> Option<&Lower> {
        self.checkpoint.program.raise(op, from).filter(|raise| self.is_same(&raise.function, header))
    }

    /// A helper, if it stays.
    pub fn helper(&self, name: &str, header: Span) -> Option<&Function> {
        self.checkpoint.program.helper(name).filter(|function| self.is_same(function, header))
    }

    /// Begins a program with what stays beside the rules: the branches keep their numbers, and those of other rules are of no rule.
    pub fn begin(&self, program: &mut Program, used: &mut HashSet<String>) {
        let old = &self.checkpoint.program;
        let stays = |span: Span| !self.files.contains(&span.file);
        program.arms.clone_from(&old.arms);
        for arm in &mut program.arms {
            if !stays(arm.span) || self.concerned.contains(&arm.rule) {
                arm.rule = String::new();
            }
        }
        program.links = Links {
            bound: old.links.bound.iter().filter(|bound| stays(bound.span)).cloned().collect(),
            uses: old.links.uses.iter().filter(|(written, _)| stays(*written)).copied().collect(),
            calls: old.links.calls.iter().filter(|(written, _)| stays(*written)).cloned().collect(),
        };
        let kept = self.checkpoint.used.iter().filter(|(file, _)| !self.files.contains(file));
        used.extend(kept.flat_map(|(_, names)| names.iter().cloned()));
    }
}
