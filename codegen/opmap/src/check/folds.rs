//! `fold`: a value that each element of a list changes, computed at export time.

use super::Checker;
use super::types::join;
use super::wording::with_article;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::ast;
use crate::tree::{Expr, Kind, Names};
use crate::types::Ty;

/// A body is checked again with a wider type at most at this many levels of nested folds, because that takes time exponential in
/// their number.
const MAX_REFOLDS: u32 = 4;

/// The parts of a `fold` as written.
pub(super) struct Fold<'e> {
    pub state: &'e ast::Pattern,
    pub init: &'e ast::Expr,
    pub item: &'e ast::Pattern,
    pub list: &'e ast::Expr,
    pub body: &'e ast::Block,
}

impl Checker<'_> {
    /// The value has the common type of the initial value and of the body: `[]` and `None` take it from the body.
    pub(super) fn fold(&mut self, fold: Fold<'_>, want: Option<&Ty>, span: Span) -> Expr {
        let mut list = self.expr(fold.list, None);
        let of = match &list.ty {
            Ty::List(of) => (**of).clone(),
            Ty::Never => Ty::Never,
            other => {
                let text = format!("`fold` needs a list, not {}", with_article(other));
                list = self.poison(Diagnostic::new("E0410", list.span, text));
                Ty::Never
            }
        };
        let init = self.expr(fold.init, want);
        let mut ty = init.ty.clone();
        let (mut state, mut item, mut body) = self.round(&fold, &ty, &of, false);
        while let Some(wider) = join(&ty, &body.ty).filter(|wider| *wider != ty && self.refolds < MAX_REFOLDS) {
            ty = wider;
            self.refolds += 1;
            (state, item, body) = self.round(&fold, &ty, &of, true);
            self.refolds -= 1;
        }
        let (init, body) = (self.coerce(init, &ty), self.coerce(body, &ty));
        if list.ty == Ty::Never {
            return list;
        }
        let (init, list, body) = (Box::new(init), Box::new(list), Box::new(body));
        Expr::new(Kind::Fold { state, init, item, list, body }, ty, span)
    }

    /// The body for a state of this type. `again` forgets the errors and branches of the round before.
    fn round(&mut self, fold: &Fold<'_>, ty: &Ty, of: &Ty, again: bool) -> (Names, Names, Expr) {
        if again {
            self.out.retain(|d| !within(d.primary.0, fold.body.span));
            self.arms.truncate(self.first_arm_within(fold.body.span));
        }
        self.scopes.push();
        let item = self.bind(fold.item, of);
        let state = self.bind(fold.state, ty);
        let body = self.block(fold.body, Some(ty));
        self.close_scope();
        (state, item, body)
    }

    /// The number of the first branch inside a body; the last ones recorded are inside it.
    fn first_arm_within(&self, span: Span) -> usize {
        self.arms.iter().rposition(|arm| !within(arm.span, span)).map_or(0, |last| last + 1)
    }
}

fn within(inner: Span, outer: Span) -> bool {
    inner.file == outer.file && outer.start <= inner.start && inner.end <= outer.end
}
