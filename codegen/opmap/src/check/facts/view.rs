//! `view`: how the results of an operator share memory with its first tensor.

use super::terms::Scope;
use super::{Subject, clauses};
use crate::effects::{Sharing, View};
use crate::syntax::fact::Clause;

impl Subject<'_> {
    pub(super) fn view(&mut self) -> Option<View> {
        if self.first_tensor().is_none() {
            return self.unfit(self.fact.op.span, "takes no tensor", "its result cannot be a view");
        }
        if !self.schema.returns.iter().any(|r| r.ty.starts_with("Tensor")) {
            return self.unfit(self.fact.op.span, "returns no tensor", "its result cannot be a view");
        }
        let mut view = View::default();
        for clause in &self.fact.clauses {
            self.view_clause(clause, &mut view)?;
        }
        if let Some(value) = &self.fact.value {
            if view.in_order {
                return self.wrong(value.span, "`in order` already states the new value of the tensor", "remove it");
            }
            let (term, _) = self.value(value, Scope::View, &["Tensor"])?;
            view.inverse = Some(term);
        }
        let is_marked = self.schema.is_view();
        if is_marked && self.fact.clauses.is_empty() && view.inverse.is_none() {
            return self.known(self.fact.op.span, "is a view by its schema");
        }
        Some(view)
    }

    fn view_clause(&mut self, clause: &Clause, view: &mut View) -> Option<()> {
        match clause.text().as_str() {
            "in order" => view.in_order = true,
            "repeats" => view.repeats = true,
            "reinterprets" => view.reinterprets = true,
            "apart" if !self.gives_list() => {
                let label = "only the elements of a list can be apart";
                return self.unfit(clause.span, "does not return a list", label);
            }
            "apart" => view.apart = true,
            "windows" => {
                self.argument_of("size", "int", clause.span)?;
                self.argument_of("step", "int", clause.span)?;
                view.windows = true;
            }
            _ => {
                let sharing = self.sharing(clause)?;
                if view.sharing != Sharing::Always {
                    let problem = "has two clauses about when it shares memory";
                    return self.unfit(clause.span, problem, "remove one of them");
                }
                view.sharing = sharing;
            }
        }
        Some(())
    }

    /// When a view shares memory, by the clause that says so.
    fn sharing(&mut self, clause: &Clause) -> Option<Sharing> {
        let words: Vec<&str> = clause.words.iter().map(|word| word.text.as_str()).collect();
        Some(match words.as_slice() {
            ["maybe"] => Sharing::Maybe,
            ["itself"] => Sharing::Itself,
            ["itself", "if", "layout"] => Sharing::IfLayout,
            ["itself", "if", "dtype"] => Sharing::IfDtype,
            ["if", "strides"] => Sharing::IfStrides,
            ["itself", "unless", flag] => {
                let span = clause.words.last().map_or(clause.span, |word| word.span);
                self.argument_of(flag, "bool", span)?;
                Sharing::ItselfUnless((*flag).to_owned())
            }
            _ => return self.unknown(clause, clauses::VIEW),
        })
    }
}
