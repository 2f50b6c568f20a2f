//! `rewrite`: a call that replaces a call of the operator; `fact`: other properties.

use super::terms::Scope;
use super::{Subject, clauses, passes_all};
use crate::effects::{Rewrite, Term, Trait, When};

impl Subject<'_> {
    pub(super) fn rewrite(&mut self) -> Option<Rewrite> {
        let Some(value) = &self.fact.value else {
            return self.wrong(self.fact.op.span, "a `rewrite` without a value", "write `= aten::..(..)` after it");
        };
        let [clause] = self.fact.clauses.as_slice() else {
            return self.unfit(
                self.fact.op.span,
                "is rewritten under one condition",
                "write it after the name: `if symbolic`",
            );
        };
        let words: Vec<&str> = clause.words.iter().map(|word| word.text.as_str()).collect();
        let (when, scope, wanted): (_, _, &[&str]) = match words.as_slice() {
            ["if", "only", name] => {
                let found = self.schema.returns.iter().position(|r| r.name.as_deref() == Some(*name));
                let Some(at) = found else {
                    return self.unfit(clause.span, &format!("has no result `{name}`"), "not in the schema");
                };
                (When::Only(at), Scope::Plain, &["Tensor"])
            }
            ["if", "symbolic"] => {
                self.argument_of("dim", "int", clause.span)?;
                (When::Symbolic, Scope::Sizes, &["Tensor[]"])
            }
            ["for", "each"] => {
                if !self.schema.args.iter().any(|arg| arg.ty == "Tensor[]") {
                    return self.unfit(clause.span, "takes no list of tensors", "`for each` goes through one");
                }
                (When::Each, Scope::Elements, &["Tensor", ""])
            }
            _ => return self.unknown(clause, clauses::REWRITE),
        };
        let (value_term, _) = self.value(value, scope, wanted)?;
        if let (When::Each, Term::Call(call)) = (when, &value_term)
            && self.context.schemas.aten.for_each_element(self.schema).is_some_and(|each| {
                call.op == each.schema.name && passes_all(call, self.schema.args.iter().map(|arg| arg.name.as_str()))
            })
        {
            return self.known(value.span, "has this form for each element by its schema");
        }
        Some(Rewrite { when, value: value_term })
    }

    pub(super) fn traits(&mut self) -> Option<Vec<Trait>> {
        if let Some(value) = &self.fact.value {
            return self.wrong(value.span, "a `fact` has no value", "remove it");
        }
        if self.fact.clauses.is_empty() {
            return self.unfit(self.fact.op.span, "has no clause here", "add a clause");
        }
        let mut traits = Vec::new();
        for clause in &self.fact.clauses {
            let Some(found) = clauses::parse(&clause.text()) else {
                return self.unknown(clause, clauses::FACT);
            };
            let needs_tensor = matches!(found, Trait::ReadsShapes | Trait::ReadsMemory | Trait::GivesMemory);
            if needs_tensor && self.first_tensor().is_none() {
                return self.unfit(clause.span, "takes no tensor", "this is about tensor arguments");
            }
            let gives_tensor = self.schema.returns.iter().any(|r| r.ty.starts_with("Tensor"));
            if matches!(found, Trait::Gives(_) | Trait::RecordsOtherSizes) && !gives_tensor {
                return self.unfit(clause.span, "returns no tensor", "this is about tensor results");
            }
            traits.push(found);
        }
        Some(traits)
    }
}
