//! Pass 2: names, types, stages, attributes, arity. Takes the items of `collect`, gives the checked tree.
//!
//! After this pass (if it said nothing) every call exists in the schemas with these inputs, attributes and outputs, and
//! every expression has a type that fits its place. What it does not know is opsets: see `coverage`.

mod calls;
mod examples;
mod exprs;
mod foreign;
mod headers;
mod matches;
mod nodes;
mod operators;
mod scope;
mod types;
mod words;

use std::collections::{HashMap, HashSet};

use crate::collect::Items;
use crate::diagnostic::Diagnostic;
use crate::schema::Schemas;
use crate::source::{Sources, Span};
use crate::syntax::ast;
use crate::tree::{self, Arm, Expr, Function, Kind, Param, Program};
use crate::types::Ty;

pub(crate) use headers::lower_header;
use scope::{Scopes, Use};

/// What every rule may refer to.
pub(crate) struct World<'a> {
    pub sources: &'a Sources,
    pub schemas: &'a Schemas,
    pub maps: HashMap<String, Signature>,
    pub fns: HashMap<String, Signature>,
    pub externs: HashMap<String, Signature>,
    /// Names whose declaration has an error: nothing else is said of them.
    pub broken: HashSet<String>,
    /// The domains that the files import: version, and where.
    pub domains: HashMap<String, (u32, Span)>,
    /// The newest opset.
    pub newest: u32,
}

/// What a caller needs to know.
#[derive(Debug, Clone)]
pub(crate) struct Signature {
    pub params: Vec<Param>,
    pub returns: Ty,
    pub span: Span,
}

/// Where an expression stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Map,
    Lower,
    Fn,
}

/// Checks one rule.
pub(crate) struct Checker<'a> {
    pub world: &'a World<'a>,
    pub out: &'a mut Vec<Diagnostic>,
    pub arms: &'a mut Vec<Arm>,
    pub used: &'a mut HashSet<String>,
    pub scopes: Scopes,
    pub rule: String,
    pub place: Place,
    /// Capitalised calls are in the form of this opset.
    pub form: u32,
}

/// Checks all items.
pub fn check(items: &Items, sources: &Sources, schemas: &Schemas, out: &mut Vec<Diagnostic>) -> Program {
    let mut world = World {
        sources,
        schemas,
        maps: HashMap::new(),
        fns: HashMap::new(),
        externs: HashMap::new(),
        broken: HashSet::new(),
        domains: HashMap::new(),
        newest: schemas.opsets.max,
    };
    headers::domains(items, &mut world, out);
    headers::declare(items, &mut world, out);
    let mut used = HashSet::new();
    let mut program = Program::default();
    rules(items, &world, &mut used, &mut program, out);
    unused_helpers(items, &world, &used, out);
    headers::sames(items, &world, &mut program, out);
    headers::unsupported(items, &world, &mut program, out);
    examples::check(items, &world, &mut program, out);
    sort(&mut program);
    program
}

fn rules(
    items: &Items,
    world: &World<'_>,
    used: &mut HashSet<String>,
    program: &mut Program,
    out: &mut Vec<Diagnostic>,
) {
    let mut seen = HashMap::new();
    for (meta, map) in &items.maps {
        let name = map.op.full();
        let Some(signature) = world.maps.get(&name) else { continue };
        if !headers::first(&mut seen, &format!("map {name}"), map.header_span, out) {
            continue;
        }
        let mut checker = Checker::new(world, out, &mut program.arms, used, name, Place::Map, world.newest);
        let function = checker.map(meta.docs.clone(), map, signature);
        let since = map.since.as_ref().map(|s| (s.opset, s.reason.clone()));
        let since_span = map.since.as_ref().map(|s| s.span);
        program.maps.push(tree::Map { function, since, since_span });
    }
    for (meta, lower) in &items.lowers {
        let name = format!("{} before {}", lower.op.full(), lower.before);
        if !headers::first(&mut seen, &name, lower.header_span, out) {
            continue;
        }
        let form = lower.before.saturating_sub(1);
        let mut checker = Checker::new(world, out, &mut program.arms, used, name, Place::Lower, form);
        program.lowers.extend(checker.lower(meta.docs.clone(), lower));
    }
    for (meta, item) in &items.fns {
        let name = item.name.text.clone();
        let Some(signature) = world.fns.get(&name).filter(|s| s.span == item.name.span) else { continue };
        let mut checker = Checker::new(world, out, &mut program.arms, used, name.clone(), Place::Fn, world.newest);
        let body = checker.function_body(&item.body, signature, &[]);
        program.fns.push(Function {
            name,
            docs: meta.docs.clone(),
            span: item.name.span,
            params: signature.params.clone(),
            returns: signature.returns.clone(),
            body,
        });
    }
    for (meta, item) in &items.externs {
        let name = item.name.text.clone();
        let Some(signature) = world.externs.get(&name).filter(|s| s.span == item.name.span) else { continue };
        program.externs.push(Function {
            name,
            docs: meta.docs.clone(),
            span: item.name.span,
            params: signature.params.clone(),
            returns: signature.returns.clone(),
            body: Expr::unit(item.name.span),
        });
    }
}

fn unused_helpers(items: &Items, world: &World<'_>, used: &HashSet<String>, out: &mut Vec<Diagnostic>) {
    let fns = items.fns.iter().map(|(_, f)| (&f.name, "fn"));
    let externs = items.externs.iter().map(|(_, f)| (&f.name, "extern fn"));
    for (name, what) in fns.chain(externs) {
        if !used.contains(&name.text) && !world.broken.contains(&name.text) {
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
    program.sames.sort_by(|a, b| (&a.op, a.to).cmp(&(&b.op, b.to)));
    program.fns.sort_by(|a, b| a.name.cmp(&b.name));
    program.externs.sort_by(|a, b| a.name.cmp(&b.name));
    program.unsupported.sort_by(|a, b| a.name.cmp(&b.name));
}

impl<'a> Checker<'a> {
    fn new(
        world: &'a World<'a>,
        out: &'a mut Vec<Diagnostic>,
        arms: &'a mut Vec<Arm>,
        used: &'a mut HashSet<String>,
        rule: String,
        place: Place,
        form: u32,
    ) -> Self {
        Checker { world, out, arms, used, scopes: Scopes::default(), rule, place, form }
    }

    fn map(&mut self, docs: Vec<String>, map: &ast::Map, signature: &Signature) -> Function {
        let exempt = headers::exempt(self.world, &signature.params);
        let body = self.function_body(&map.body, signature, &exempt);
        Function {
            name: self.rule.clone(),
            docs,
            span: map.header_span,
            params: signature.params.clone(),
            returns: signature.returns.clone(),
            body,
        }
    }

    fn lower(&mut self, docs: Vec<String>, lower: &ast::Lower) -> Option<tree::Lower> {
        let (signature, inputs) = headers::lower_signature(self.world, lower, self.out)?;
        let body = self.function_body(&lower.body, &signature, &[]);
        let function = Function {
            name: self.rule.clone(),
            docs,
            span: lower.header_span,
            params: signature.params,
            returns: signature.returns,
            body,
        };
        Some(tree::Lower { function, op: lower.op.full(), before: lower.before, inputs })
    }

    /// Checks a body with its parameters in scope, and that it depends on each but the `exempt` ones. A body that only refuses
    /// need not look at any.
    fn function_body(&mut self, body: &ast::Body, signature: &Signature, exempt: &[bool]) -> Expr {
        self.scopes.push();
        for param in &signature.params {
            self.scopes.bind(&param.name, param.ty.clone(), param.span, Use::Param);
        }
        let mut checked = match body {
            ast::Body::Expr(expr) => self.expr_as(expr, &signature.returns),
            ast::Body::Block(block) => {
                let block = self.block(block, Some(&signature.returns));
                self.coerce(block, &signature.returns)
            }
        };
        let refuses = checked.ty == Ty::Never;
        if refuses {
            checked.ty = signature.returns.clone();
        }
        for (i, local) in self.scopes.pop().into_iter().enumerate() {
            let exempt = refuses || exempt.get(i).copied().unwrap_or(false) || matches!(local.ty, Ty::Opaque(_));
            if !local.used && !exempt {
                self.out.push(
                    Diagnostic::new("E0501", local.span, format!("nothing depends on the argument `{}`", local.name))
                        .label("not used")
                        .help(format!(
                            "if it cannot change the result, say so in the body: `ignore({}) \"why\";`",
                            local.name
                        )),
                );
            }
        }
        checked
    }

    /// Reports and gives an expression that fits everywhere, so that one fault is said once.
    pub(crate) fn poison(&mut self, diagnostic: Diagnostic) -> Expr {
        let span = diagnostic.primary.0;
        self.out.push(diagnostic);
        Expr::new(Kind::Tuple(Vec::new()), Ty::Never, span)
    }

    /// Notes a branch and gives its number.
    pub(crate) fn arm(&mut self, text: impl Into<String>, span: Span) -> u32 {
        self.arms.push(Arm { rule: self.rule.clone(), text: text.into(), span, refuses: false });
        self.arms.len() as u32 - 1
    }

    /// Marks a branch that only refuses.
    pub(crate) fn settle_arm(&mut self, arm: u32, value: &Expr) {
        if let Some(arm) = self.arms.get_mut(arm as usize) {
            arm.refuses = value.is_never();
        }
    }
}

/// `help: did you mean ..`, where there is a candidate.
pub(crate) fn did_you_mean(diagnostic: Diagnostic, candidate: Option<&str>) -> Diagnostic {
    match candidate {
        Some(name) => diagnostic.help(format!("did you mean `{name}`?")),
        None => diagnostic,
    }
}
