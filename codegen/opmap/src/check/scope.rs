//! Names in scope, and whether they are used.

use crate::source::Span;
use crate::tree::{Bound, Links};
use crate::types::Ty;

/// How a name was bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// A parameter of the header.
    Param,
    /// `let`, `if let`, a pattern, a comprehension, a closure.
    Bound,
}

/// A name.
#[derive(Debug, Clone)]
pub(crate) struct Local {
    pub name: String,
    pub ty: Ty,
    pub span: Span,
    pub origin: Use,
    pub used: bool,
    /// Where an `ignore` names it.
    pub ignored: Option<Span>,
}

/// The open scopes, innermost last, and what was bound and looked up in all of them.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    open: Vec<Vec<Local>>,
    pub links: Links,
}

impl Scopes {
    pub fn push(&mut self) {
        self.open.push(Vec::new());
    }

    /// Closes the innermost scope and returns its names.
    pub fn pop(&mut self) -> Vec<Local> {
        self.open.pop().unwrap_or_default()
    }

    pub fn bind(&mut self, name: &str, ty: Ty, span: Span, origin: Use) {
        if name == "_" {
            return;
        }
        self.links.bound.push(Bound { span, name: name.to_owned(), ty: ty.clone(), is_param: origin == Use::Param });
        if let Some(scope) = self.open.last_mut() {
            scope.push(Local { name: name.to_owned(), ty, span, origin, used: false, ignored: None });
        }
    }

    /// Looks a name up and marks it as used.
    pub fn take(&mut self, name: &str) -> Option<&Local> {
        let local = self.open.iter_mut().rev().flat_map(|s| s.iter_mut().rev()).find(|l| l.name == name)?;
        local.used = true;
        Some(local)
    }

    /// Notes that a name that is written at a place was bound at another one.
    pub fn link(&mut self, written: Span, bound: Span) {
        self.links.uses.push((written, bound));
    }

    /// Looks a name up.
    pub fn get(&self, name: &str) -> Option<&Local> {
        self.open.iter().rev().flat_map(|s| s.iter().rev()).find(|l| l.name == name)
    }

    /// The parameter of this name.
    pub fn param(&mut self, name: &str) -> Option<&mut Local> {
        self.open.first_mut()?.iter_mut().find(|l| l.name == name && l.origin == Use::Param)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.open.iter().flatten().map(|l| l.name.as_str())
    }
}
