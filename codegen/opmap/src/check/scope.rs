//! Names in scope, and whether they are used.

use crate::source::Span;
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

/// The open scopes, innermost last.
#[derive(Debug, Default)]
pub(crate) struct Scopes(Vec<Vec<Local>>);

impl Scopes {
    pub fn push(&mut self) {
        self.0.push(Vec::new());
    }

    /// Closes the innermost scope and returns its names.
    pub fn pop(&mut self) -> Vec<Local> {
        self.0.pop().unwrap_or_default()
    }

    pub fn bind(&mut self, name: &str, ty: Ty, span: Span, origin: Use) {
        if name == "_" {
            return;
        }
        if let Some(scope) = self.0.last_mut() {
            scope.push(Local { name: name.to_owned(), ty, span, origin, used: false, ignored: None });
        }
    }

    /// Looks a name up and marks it as used.
    pub fn take(&mut self, name: &str) -> Option<&Local> {
        let local = self.0.iter_mut().rev().flat_map(|s| s.iter_mut().rev()).find(|l| l.name == name)?;
        local.used = true;
        Some(local)
    }

    /// Looks a name up.
    pub fn get(&self, name: &str) -> Option<&Local> {
        self.0.iter().rev().flat_map(|s| s.iter().rev()).find(|l| l.name == name)
    }

    /// The parameter of this name.
    pub fn param(&mut self, name: &str) -> Option<&mut Local> {
        self.0.first_mut()?.iter_mut().find(|l| l.name == name && l.origin == Use::Param)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flatten().map(|l| l.name.as_str())
    }
}
