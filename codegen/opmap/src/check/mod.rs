//! Pass 2: names, types, attributes and arguments. It turns the items of `collect` into the checked tree.
//!
//! After this pass, if there are no errors, every call exists in the schemas with these inputs, attributes and outputs, and every
//! expression has a type that fits its context. Opsets are checked by `coverage`.

pub(crate) mod before;
pub(crate) mod calls;
mod declare;
mod emits;
mod examples;
pub(crate) mod exprs;
pub(crate) mod facts;
mod folds;
mod fuses;
mod graphs;
mod helpers;
pub(crate) mod lower_header;
mod map_header;
mod matches;
mod nodes;
mod operators;
mod other_domains;
mod raises;
mod returns;
mod same;
mod scope;
pub(crate) mod types;
mod wording;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::collect::Items;
use crate::diagnostic::{Diagnostic, FixPlace};
use crate::source::{FileId, Sources, Span};
use crate::syntax::ast;
use crate::tree::{self, Arm, Expr, Function, Kind, Param, Program};
use crate::types::Ty;
use aten2onnx_schemas::Schemas;

use before::Before;
use helpers::Helpers;
pub use lower_header::lower_header;
use scope::{Scopes, Use};

/// The declarations and facts that every rule may refer to.
pub(crate) struct Context<'a> {
    pub sources: &'a Sources,
    pub schemas: &'a Schemas,
    pub maps: HashMap<String, Signature>,
    pub helpers: Helpers,
    /// Names whose declaration has an error. Their uses are not reported.
    pub broken: HashSet<String>,
    /// The domains that the files import, with version and place.
    pub domains: HashMap<String, (u32, Span)>,
    /// The newest opset.
    pub newest: u32,
}

/// The header of a function.
#[derive(Debug, Clone)]
pub(crate) struct Signature {
    pub params: Vec<Param>,
    pub returns: Ty,
    pub span: Span,
}

/// The kind of item that an expression belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyPlace {
    Map,
    Lower,
    Raise,
    Fn,
}

/// Checks one rule.
pub(crate) struct Checker<'a> {
    pub context: &'a Context<'a>,
    pub out: &'a mut Vec<Diagnostic>,
    pub arms: &'a mut Vec<Arm>,
    pub used: &'a mut HashSet<String>,
    pub scopes: Scopes,
    pub rule: String,
    pub place: BodyPlace,
    /// The opset whose form calls of ONNX operators have.
    pub form: u32,
    /// `..attrs` of a lowering.
    pub rest: Option<Rest>,
    /// How many folds around this place are checked a second time.
    pub refolds: u32,
    /// What begins the text of each `fail`.
    pub refusal: String,
    /// The outputs that the header of a lowering leaves out, and whether an `ignore` says why.
    pub left_out: Vec<(String, bool)>,
}

/// The attributes that `..attrs` in the header of a lowering stands for.
#[derive(Debug, Clone)]
pub(crate) struct Rest {
    pub name: ast::Ident,
    pub params: Vec<Param>,
    pub used: bool,
}

/// Checks all items.
///
/// Files from `first` on are checked over a base. `early` gets the errors of some files as soon as they are known. What did not change since `before` is taken
/// from there.
pub(crate) fn check(
    items: &Items,
    sources: &Sources,
    first: FileId,
    schemas: &Schemas,
    early: Option<Early<'_>>,
    before: Option<&Before<'_>>,
    out: &mut Vec<Diagnostic>,
) -> Program {
    let context = Context::of(items, sources, first, schemas, out);
    if let Some(Early { files, tell }) = early {
        let mut found = out.clone();
        let own = |span: Span| files.contains(&span.file);
        rules(items, &context, &mut HashSet::new(), &mut Program::default(), &own, None, &mut found);
        tell(found);
    }
    let mut used = HashSet::new();
    let mut program = Program::default();
    if let Some(before) = before {
        before.begin(&mut program, &mut used);
    }
    rules(items, &context, &mut used, &mut program, &|_| true, before, out);
    fuses::check(items, &context, &mut program, out);
    unused_helpers(items, &context, &used, out);
    same::check(items, &context, &mut program, out);
    raises::check(schemas, &program, out);
    map_header::unsupported(items, &context, &mut program, out);
    facts::check(items, &context, &mut program, out);
    examples::check(items, &context, &mut program, out);
    sort(&mut program);
    program
}

/// Who wants to know the errors of some files before everything is checked.
pub(crate) struct Early<'a> {
    /// The files.
    pub files: &'a [FileId],
    /// Gets the errors so far: those of headers, and those of bodies in these files.
    pub tell: &'a mut dyn FnMut(Vec<Diagnostic>),
}

impl<'a> Context<'a> {
    /// Reads the headers of all items.
    fn of(
        items: &Items,
        sources: &'a Sources,
        first: FileId,
        schemas: &'a Schemas,
        out: &mut Vec<Diagnostic>,
    ) -> Context<'a> {
        let mut context = Context {
            sources,
            schemas,
            maps: HashMap::new(),
            helpers: Helpers::new(sources, first),
            broken: HashSet::new(),
            domains: HashMap::new(),
            newest: schemas.opsets.max,
        };
        declare::domains(items, &mut context, out);
        declare::declare(items, &mut context, out);
        context
    }
}

/// Checks the bodies of the items that are `wanted`.
fn rules(
    items: &Items,
    context: &Context<'_>,
    used: &mut HashSet<String>,
    program: &mut Program,
    wanted: &dyn Fn(Span) -> bool,
    before: Option<&Before<'_>>,
    out: &mut Vec<Diagnostic>,
) {
    let mut seen = HashMap::new();
    for (meta, map) in items.maps.iter().filter(|(meta, _)| wanted(meta.span)) {
        let name = map.op.full();
        let Some(signature) = context.maps.get(&name) else { continue };
        if !declare::is_first(&mut seen, &format!("map {name}"), map.header_span, out) {
            continue;
        }
        if let Some(same) = before.and_then(|before| before.map(&name, map.header_span)) {
            program.maps.push(same.clone());
            continue;
        }
        let mut checker = Checker::new(context, out, &mut program.arms, used, name, BodyPlace::Map, context.newest);
        let function = checker.map(meta.docs.clone(), map, signature);
        program.links.append(checker.scopes.links);
        let since = map.since.as_ref().map(|s| (s.opset, s.reason.clone()));
        let since_span = map.since.as_ref().map(|s| s.span);
        program.maps.push(tree::Map { function, since, since_span });
    }
    for (meta, lower) in items.lowers.iter().filter(|(meta, _)| wanted(meta.span)) {
        let name = lower.lowering_name();
        if !declare::is_first(&mut seen, &name, lower.header_span, out) {
            continue;
        }
        if let Some(same) = before.and_then(|before| before.lower(&lower.op.full(), lower.before, lower.header_span)) {
            program.lowers.push(same.clone());
            continue;
        }
        let form = if lower.before == tree::AVOIDED { context.newest } else { lower.before.saturating_sub(1) };
        let mut checker = Checker::new(context, out, &mut program.arms, used, name, BodyPlace::Lower, form);
        program.lowers.extend(checker.lower(meta.docs.clone(), lower));
        program.links.append(checker.scopes.links);
    }
    for (meta, raise) in items.raises.iter().filter(|(meta, _)| wanted(meta.span)) {
        let name = raise.raise_name();
        if !declare::is_first(&mut seen, &name, raise.header_span, out) {
            continue;
        }
        if let Some(same) = before.and_then(|before| before.raise(&raise.op.full(), raise.before, raise.header_span)) {
            program.raises.push(same.clone());
            continue;
        }
        let mut checker = Checker::new(context, out, &mut program.arms, used, name, BodyPlace::Raise, raise.before);
        program.raises.extend(checker.lower(meta.docs.clone(), raise));
        program.links.append(checker.scopes.links);
    }
    for (meta, item) in items.fns.iter().filter(|(meta, _)| wanted(meta.span)) {
        let Some((name, signature)) = context.helpers.declared(&item.name) else { continue };
        let name = name.to_owned();
        if let Some(same) = before.and_then(|before| before.helper(&name, item.name.span)) {
            program.fns.push(same.clone());
            continue;
        }
        let mut checker =
            Checker::new(context, out, &mut program.arms, used, name.clone(), BodyPlace::Fn, context.newest);
        let body = checker.function_body(&item.body, signature, &[]);
        program.links.append(checker.scopes.links);
        program.fns.push(Function {
            name,
            docs: meta.docs.clone(),
            span: item.name.span,
            params: signature.params.clone(),
            returns: signature.returns.clone(),
            body: Arc::new(body),
        });
    }
    for (meta, item) in items.externs.iter().filter(|(meta, _)| wanted(meta.span)) {
        let Some((name, signature)) = context.helpers.declared(&item.name) else { continue };
        let name = name.to_owned();
        if let Some(returns) = item.is.as_ref().and_then(|is| emits::check_result(is, signature, out)) {
            program.results.insert(name.clone(), returns);
        }
        if let Some(emits) = emits::check(item, context, out) {
            program.emits.insert(name.clone(), emits);
        }
        program.externs.push(Function {
            name,
            docs: meta.docs.clone(),
            span: item.name.span,
            params: signature.params.clone(),
            returns: signature.returns.clone(),
            body: Arc::new(Expr::unit(item.name.span)),
        });
    }
}

fn unused_helpers(items: &Items, context: &Context<'_>, used: &HashSet<String>, out: &mut Vec<Diagnostic>) {
    let fns = items.fns.iter().map(|(_, f)| (&f.name, "fn"));
    let externs = items.externs.iter().map(|(_, f)| (&f.name, "extern fn"));
    for (name, what) in fns.chain(externs) {
        let is_used = context.helpers.declared(name).is_none_or(|(name, _)| used.contains(name));
        if !is_used {
            out.push(
                Diagnostic::new("E0503", name.span, format!("{what} `{}` is never called", name.text))
                    .label("remove it, or call it"),
            );
        }
    }
}

fn sort(program: &mut Program) {
    program.maps.sort_by(|a, b| a.function.name.cmp(&b.function.name));
    program.lowers.sort_by(|a, b| (&a.op, a.before).cmp(&(&b.op, b.before)));
    program.raises.sort_by(|a, b| (&a.op, a.before).cmp(&(&b.op, b.before)));
    program.sames.sort_by(|a, b| (&a.op, a.to).cmp(&(&b.op, b.to)));
    program.fns.sort_by(|a, b| a.name.cmp(&b.name));
    program.externs.sort_by(|a, b| a.name.cmp(&b.name));
    program.unsupported.sort_by(|a, b| a.name.cmp(&b.name));
    program.facts.sort_by(|a, b| a.op.cmp(&b.op));
}

impl<'a> Checker<'a> {
    fn new(
        context: &'a Context<'a>,
        out: &'a mut Vec<Diagnostic>,
        arms: &'a mut Vec<Arm>,
        used: &'a mut HashSet<String>,
        rule: String,
        place: BodyPlace,
        form: u32,
    ) -> Self {
        let scopes = Scopes::default();
        let refusal = String::new();
        let left_out = Vec::new();
        Checker { context, out, arms, used, scopes, rule, place, form, rest: None, refolds: 0, refusal, left_out }
    }

    fn map(&mut self, docs: Vec<String>, map: &ast::Map, signature: &Signature) -> Function {
        let may_be_unused = map_header::may_be_unused(self.context, &signature.params);
        let body = self.function_body(&map.body, signature, &may_be_unused);
        Function {
            name: self.rule.clone(),
            docs,
            span: map.header_span,
            params: signature.params.clone(),
            returns: signature.returns.clone(),
            body: Arc::new(body),
        }
    }

    /// A `lower` or `raise`.
    fn lower(&mut self, docs: Vec<String>, lower: &ast::Lower) -> Option<tree::Lower> {
        let (signature, version) = lower_header::lower_signature(self.context, lower, self.place, self.out)?;
        let listed = lower.params.len();
        self.rest = lower.rest.clone().map(|name| Rest {
            name,
            params: signature.params.get(listed..).unwrap_or_default().to_vec(),
            used: false,
        });
        if self.place == BodyPlace::Raise {
            let (op, from, to) = (lower.op.full(), version.since, lower.before);
            self.refusal = format!("`{op}` of opset {from} cannot be upgraded to opset {to}: ");
        }
        let own = Signature { params: signature.params.iter().take(listed).cloned().collect(), ..signature.clone() };
        if self.place == BodyPlace::Lower && lower.before != tree::AVOIDED {
            self.left_out = lower_header::left_out(version, &signature.returns);
        }
        let body = self.function_body(&lower.body, &own, &[]);
        self.rest_is_used(&body);
        self.outputs_are_returned(lower, &body);
        let function = Function {
            name: self.rule.clone(),
            docs,
            span: lower.header_span,
            params: signature.params,
            returns: signature.returns,
            body: Arc::new(body),
        };
        let (form, inputs) = (version.since, version.inputs.len());
        Some(tree::Lower { function, op: lower.op.full(), before: lower.before, form, inputs })
    }

    /// Reports outputs that a lowering leaves out without a reason: a call that reads one is refused.
    fn outputs_are_returned(&mut self, lower: &ast::Lower, body: &Expr) {
        let silent = self.left_out.iter().filter(|(_, is_ignored)| !is_ignored).map(|(name, _)| name.as_str());
        let silent: Vec<&str> = silent.collect();
        let Some(first) = silent.first().filter(|_| !body.refuses()) else { return };
        let text = format!("`{}` does not return {}", self.rule, wording::quoted(silent.iter().copied()));
        let diagnostic =
            Diagnostic::new("E0202", lower.header_span, text).label("calls that read more outputs are refused");
        let all = self.left_out.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        let help = format!("return it, `-> (.., {all})`, or say why not: `ignore({first}) \"why\";`");
        self.out.push(diagnostic.help(help));
    }

    /// Checks a body with its parameters in scope. It must use each parameter that is not in `may_be_unused`, unless it only refuses.
    fn function_body(&mut self, body: &ast::Body, signature: &Signature, may_be_unused: &[bool]) -> Expr {
        self.scopes.push();
        for param in &signature.params {
            self.bind_name(&param.name, param.ty.clone(), param.span, Use::Param);
        }
        let mut checked = match body {
            ast::Body::Expr(expr) => self.expr_as(expr, &signature.returns),
            ast::Body::Block(block) => {
                let block = returns::without_returns(block, self.out);
                let block = self.block(&block, Some(&signature.returns));
                self.coerce(block, &signature.returns)
            }
        };
        let refuses = checked.ty == Ty::Never;
        if refuses {
            checked.ty = signature.returns.clone();
        }
        for (i, local) in self.scopes.pop().into_iter().enumerate() {
            let may_be_unused =
                refuses || may_be_unused.get(i).copied().unwrap_or(false) || matches!(local.ty, Ty::Opaque(_));
            if let Some(span) = local.ignored.filter(|_| local.used) {
                let text = format!("`{}` is used", local.name);
                self.out.push(Diagnostic::new("E0504", span, text).label("cannot be ignored"));
            }
            if !local.used && local.ignored.is_none() && !may_be_unused {
                self.out.push(
                    Diagnostic::new("E0501", local.span, format!("the argument `{}` has no effect", local.name))
                        .label("not used")
                        .help(format!(
                            "if it cannot change the result, write `ignore({}) \"why\";` in the body",
                            local.name
                        ))
                        .fix(
                            format!("ignore `{}`", local.name),
                            FixPlace::Body(local.span),
                            format!("ignore({}) \"why\";", local.name),
                        ),
                );
            }
        }
        checked
    }

    /// Reports an error and returns an expression that fits everywhere, so that no further errors follow from it.
    pub(crate) fn poison(&mut self, diagnostic: Diagnostic) -> Expr {
        let span = diagnostic.primary.0;
        self.out.push(diagnostic);
        Expr::new(Kind::Tuple(Vec::new()), Ty::Never, span)
    }

    /// Records a branch and returns its number.
    pub(crate) fn arm(&mut self, text: impl Into<String>, span: Span) -> u32 {
        self.arms.push(Arm { rule: self.rule.clone(), text: text.into(), span, refuses: false });
        self.arms.len() as u32 - 1
    }

    /// Marks a branch that only refuses.
    pub(crate) fn note_refusal(&mut self, arm: u32, value: &Expr) {
        if let Some(arm) = self.arms.get_mut(arm as usize) {
            arm.refuses = value.is_never();
        }
    }
}

/// Adds `did you mean ..`, if there is a candidate.
pub(crate) fn did_you_mean(diagnostic: Diagnostic, candidate: Option<&str>) -> Diagnostic {
    match candidate {
        Some(name) => {
            let place = FixPlace::Text(diagnostic.primary.0);
            diagnostic.help(format!("did you mean `{name}`?")).fix(format!("replace by `{name}`"), place, name)
        }
        None => diagnostic,
    }
}
