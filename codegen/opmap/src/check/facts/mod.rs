//! Checks facts about operators against PyTorch's schemas: the overload exists, the fact fits its schema, and the schema does not
//! state it already.

pub(crate) mod clauses;
mod rewrite;
mod terms;
mod view;
mod write;

use std::collections::HashMap;

use super::declare::is_first;
use super::map_header::{no_overload, schema_name};
use super::wording::quoted;
use super::{Context, did_you_mean};
use crate::collect::Items;
use crate::diagnostic::Diagnostic;
use crate::effects::{Fact, Term, TermCall, What, When};
use crate::source::{FileId, Span};
use crate::syntax::ast::Expr;
use crate::syntax::fact::{self, Clause, FactKind};
use crate::tree::Program;
use aten2onnx_schemas::aten::{Schema, plain_type};
use aten2onnx_schemas::nearest::nearest;
use terms::Scope;

/// Checks all facts.
pub(super) fn check(items: &Items, context: &Context<'_>, program: &mut Program, out: &mut Vec<Diagnostic>) {
    let mut seen = HashMap::new();
    for (meta, fact) in &items.facts {
        let op = fact.op.full();
        let Some(schema) = context.schemas.aten.get(&schema_name(&op)) else {
            out.push(no_overload(context, fact.op.span, &schema_name(&op)));
            continue;
        };
        let before = out.len();
        let mut subject = Subject { context, fact, schema, out };
        let Some(what) = subject.what() else {
            debug_assert!(out.len() > before, "a fact is dropped without a diagnostic");
            continue;
        };
        if subject.keys(&what).iter().all(|key| is_first(&mut seen, key, fact.op.span, subject.out)) {
            program.facts.push(Fact { op, what, span: meta.span });
        }
    }
}

/// Refuses facts in mapping files that are not part of the build: facts are about PyTorch's own operators.
pub(crate) fn refuse_over_base(items: &Items, first: FileId, out: &mut Vec<Diagnostic>) {
    for (meta, fact) in items.facts.iter().filter(|(meta, _)| first > FileId(0) && meta.span.file >= first) {
        let text = format!("`{}` in a mapping file of your own", fact.kind.keyword());
        let diagnostic =
            Diagnostic::new("E0903", meta.span, text).label("facts belong to the mapping files of the build");
        out.push(diagnostic.help("an operator of your own may write to its first tensor if its name ends with `_`"));
    }
}

/// An operator and a fact about it.
pub(super) struct Subject<'a> {
    context: &'a Context<'a>,
    fact: &'a fact::Fact,
    schema: &'a Schema,
    out: &'a mut Vec<Diagnostic>,
}

impl Subject<'_> {
    fn what(&mut self) -> Option<What> {
        let namespace = &self.fact.op.namespace;
        if namespace.text == "complex" && self.fact.kind != FactKind::View {
            return self.unfit(
                namespace.span,
                "can have a `view` only",
                "other facts are those of the `aten` operator",
            );
        }
        Some(match self.fact.kind {
            FactKind::View => What::View(self.view()?),
            FactKind::Write => What::Write(self.write()?),
            FactKind::Update => What::Update(self.update()?),
            FactKind::Rewrite => What::Rewrite(self.rewrite()?),
            FactKind::Fact => What::Traits(self.traits()?),
        })
    }

    /// Keys under which a fact may be given only once.
    fn keys(&self, what: &What) -> Vec<String> {
        let op = self.fact.op.full();
        let key = |of: &str| format!("{} {op}{of}", self.fact.kind.keyword());
        match what {
            What::View(_) | What::Write(_) => vec![key("")],
            What::Update(update) => update.args.iter().map(|arg| key(&format!(" {arg}"))).collect(),
            What::Rewrite(rewrite) => vec![key(match rewrite.when {
                When::Only(_) => " if only",
                When::Symbolic => " if symbolic",
                When::Each => " for each",
            })],
            What::Traits(traits) => traits.iter().map(|one| key(&format!(" {}", clauses::text(one)))).collect(),
        }
    }

    fn first_tensor(&self) -> Option<&str> {
        let found = self.schema.args.iter().find(|arg| arg.ty.starts_with("Tensor"));
        found.map(|arg| arg.name.as_str())
    }

    fn gives_list(&self) -> bool {
        matches!(self.schema.returns.as_slice(), [one] if one.ty == "Tensor[]")
    }

    /// The operator has an argument of this name and type, or an error says so.
    fn argument_of(&mut self, name: &str, ty: &str, span: Span) -> Option<()> {
        match self.schema.arg(name) {
            Some(arg) if plain_type(&arg.ty) == ty => Some(()),
            Some(arg) => {
                let label = format!("it is `{}`", arg.ty);
                self.unfit(span, &format!("has no argument `{name}` of the type `{ty}`"), &label)
            }
            None => {
                let fact = self.note();
                let text = format!("`{}` has no argument `{name}`", self.fact.op.full());
                let diagnostic = Diagnostic::new("E0903", span, text).label("not in the schema").note(fact);
                let candidate = nearest(name, self.schema.args.iter().map(|arg| arg.name.as_str()));
                self.out.push(did_you_mean(diagnostic, candidate));
                None
            }
        }
    }

    /// Whether the value replaces the call of the operator.
    fn replaces(&self) -> bool {
        matches!(self.fact.kind, FactKind::Write | FactKind::Rewrite)
    }

    fn value(&mut self, expr: &Expr, scope: Scope, wanted: &[&str]) -> Option<(Term, usize)> {
        terms::value(self, expr, scope, wanted)
    }

    fn note(&self) -> String {
        format!("PyTorch: {}", self.schema)
    }

    /// The fact does not fit the operator.
    fn unfit<T>(&mut self, span: Span, problem: &str, label: &str) -> Option<T> {
        let text = format!("`{}` {problem}", self.fact.op.full());
        let diagnostic = Diagnostic::new("E0903", span, text).label(label).note(self.note());
        self.out.push(diagnostic);
        None
    }

    /// The schema states it already.
    fn known<T>(&mut self, span: Span, what: &str) -> Option<T> {
        let text = format!("`{}` {what}", self.fact.op.full());
        let diagnostic = Diagnostic::new("E0902", span, text).label("not needed").note(self.note());
        self.out.push(diagnostic);
        None
    }

    /// The value after `=` is wrong.
    fn wrong<T>(&mut self, span: Span, problem: &str, label: &str) -> Option<T> {
        self.out.push(Diagnostic::new("E0904", span, problem).label(label));
        None
    }

    fn unknown<T>(&mut self, clause: &Clause, known: &[&str]) -> Option<T> {
        let (text, keyword) = (clause.text(), self.fact.kind.keyword());
        let diagnostic = Diagnostic::new("E0901", clause.span, format!("unknown clause `{text}` of `{keyword}`"))
            .label("unknown")
            .note(format!("the clauses of `{keyword}`: {}", quoted(known.iter().copied())));
        self.out.push(did_you_mean(diagnostic, nearest(&text, known.iter().copied())));
        None
    }
}

/// Whether a call passes on exactly these arguments, in this order.
fn passes_all<'n>(call: &'n TermCall, names: impl Iterator<Item = &'n str>) -> bool {
    let passed = call.args.iter().map(|(_, term)| match term {
        Term::Argument { name, .. } => Some(name.as_str()),
        _ => None,
    });
    passed.eq(names.map(Some))
}
