//! The values of names while a rule is specialised, and new names where two would clash.

use std::collections::{HashMap, HashSet};

use crate::source::Span;
use crate::tree::{Expr, Kind, Names, Pattern};
use crate::types::Ty;
use crate::visit;

/// The values of names: parameters of lowerings, and names that had to be changed.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    pub values: HashMap<String, Expr>,
    /// The value of `outputs`.
    pub outputs: Option<Expr>,
    /// The body replaces a call: its names and list literals may be folded away.
    pub inlined: bool,
    /// The largest length of a list, by its name.
    pub lengths: HashMap<String, usize>,
}

impl Scope {
    /// The value of a name.
    pub fn value_of(&self, name: &str, local: &Expr) -> Expr {
        match self.values.get(name) {
            None => local.clone(),
            // A changed name has the type of the old one.
            Some(renamed) if renamed.ty == Ty::Never => Expr { ty: local.ty.clone(), ..renamed.clone() },
            Some(value) => value.clone(),
        }
    }
}

/// How often a name is used in an expression. Uses in closures, comprehensions and folds count twice, because these may run several times.
pub(super) fn count_uses(expr: &Expr, name: &str) -> usize {
    let mut count = 0;
    visit::walk(expr, &mut |e| match &e.kind {
        Kind::Local(n) if n == name => count += 1,
        Kind::Closure(..) | Kind::Comprehension { .. } | Kind::Fold { .. } => {
            let mut inside = 0;
            visit::walk(e, &mut |e| inside += usize::from(matches!(&e.kind, Kind::Local(n) if n == name)));
            count += inside;
        }
        _ => {}
    });
    count
}

/// Binds a name. It is renamed if it would hide a name that some value uses.
pub(super) fn bind(name: &str, scope: &Scope) -> (String, Scope) {
    let mut hidden = HashSet::new();
    for value in scope.values.values() {
        visit::walk(value, &mut |e| {
            if let Kind::Local(n) = &e.kind {
                hidden.insert(n.clone());
            }
        });
    }
    let mut inner = scope.clone();
    inner.values.remove(name);
    let mut bound = name.to_owned();
    let mut n = 2;
    while hidden.contains(&bound) {
        bound = format!("{name}_{n}");
        n += 1;
    }
    if bound != name {
        let local = Expr::new(Kind::Local(bound.clone()), Ty::Never, Span::default());
        inner.values.insert(name.to_owned(), local);
    }
    (bound, inner)
}

pub(super) fn bind_all(names: &[String], scope: &Scope) -> (Vec<String>, Scope) {
    let mut inner = scope.clone();
    let mut bound = Vec::new();
    for name in names {
        let (name, next) = bind(name, &inner);
        bound.push(name);
        inner = next;
    }
    (bound, inner)
}

pub(super) fn bind_names(names: &Names, scope: &Scope) -> (Names, Scope) {
    match names {
        Names::One(name) => {
            let (name, scope) = bind(name, scope);
            (Names::One(name), scope)
        }
        Names::Tuple(names) => {
            let (names, scope) = bind_all(names, scope);
            (Names::Tuple(names), scope)
        }
    }
}

pub(super) fn bind_pattern(pattern: &Pattern, scope: &mut Scope) -> Pattern {
    match pattern {
        Pattern::Bind { name, unwrap } => {
            let (name, inner) = bind(name, scope);
            *scope = inner;
            Pattern::Bind { name, unwrap: *unwrap }
        }
        Pattern::Tuple(parts) => Pattern::Tuple(parts.iter().map(|p| bind_pattern(p, scope)).collect()),
        other => other.clone(),
    }
}
