//! `match`: which patterns a value may have, and what is left for the next one.

use super::conditions::{compare, narrow, rest};
use super::opsets::Opsets;
use super::scope::{Scope, ValuePlace};
use super::trace::Event;
use super::values::{Abs, Optional, Text, Truth};
use super::{Coverage, Path, Seen};
use crate::syntax::ast::BinaryOp;
use crate::tree::{Expr, Kind, MatchArm, Pattern};

impl<'a> Coverage<'a> {
    pub(super) fn matched(&mut self, value: &'a Expr, arms: &'a [MatchArm], scope: &Scope<'a>, at: Opsets) -> Seen {
        let seen = self.expr(value, scope, at);
        let at = seen.at;
        let place = self.place(value, scope);
        // The places of the parts of a tuple.
        let parts: Vec<Option<ValuePlace>> = match &value.kind {
            Kind::Tuple(parts) => parts.iter().map(|part| self.place(part, scope)).collect(),
            _ => Vec::new(),
        };
        let mut left = seen.value;
        let mut all = Seen::never();
        for arm in arms {
            for pattern in &arm.patterns {
                let path = Path { scope: scope.clone(), at };
                let Some(path) = self.pattern(pattern, &left, place, &parts, path) else { continue };
                self.note(Event::Arm(arm.arm, path.at));
                self.within.push(arm.arm);
                let next = self.expr(&arm.value, &path.scope, path.at);
                self.within.pop();
                all = all.or(next);
            }
            for pattern in &arm.patterns {
                left = self.left_by(pattern, &left, at);
            }
            if is_empty(&left) {
                break;
            }
        }
        all
    }

    /// The path on which a value fits a pattern.
    fn pattern(
        &mut self,
        pattern: &'a Pattern,
        value: &Abs,
        place: Option<ValuePlace>,
        parts: &[Option<ValuePlace>],
        mut path: Path<'a>,
    ) -> Option<Path<'a>> {
        if is_empty(value) {
            return None;
        }
        match pattern {
            Pattern::Wild => narrow(path, place, value),
            Pattern::Bind { name, unwrap } => {
                let value = match value {
                    Abs::Optional(optional) if *unwrap => (*optional.present).clone(),
                    other => other.clone(),
                };
                if value == Abs::Never {
                    return None;
                }
                let origin = place.filter(|_| !*unwrap);
                path.scope.bind(name, value, origin);
                Some(path)
            }
            Pattern::None => match value {
                Abs::Optional(optional) if optional.absent => narrow(path, place, &Abs::Optional(Optional::nothing())),
                Abs::Optional(_) => None,
                _ => Some(path),
            },
            Pattern::Literal(literal) => {
                let literal = self.expr(literal, &Scope::default(), path.at).value;
                let truth = match (&literal, value) {
                    (Abs::Truth(wanted), Abs::Truth(truth)) => {
                        let yes = truth.yes.and(wanted.yes).or(truth.no.and(wanted.no));
                        Truth { yes, no: path.at }
                    }
                    _ => compare(BinaryOp::Eq, value, &literal, path.at),
                };
                path.at = path.at.and(truth.yes);
                if path.at.is_empty() {
                    return None;
                }
                narrow(path, place, &literal)
            }
            Pattern::Tuple(patterns) => {
                let values: Vec<Abs> = match value {
                    Abs::Tuple(values) => values.to_vec(),
                    _ => vec![Abs::Any; patterns.len()],
                };
                for (i, (pattern, value)) in patterns.iter().zip(&values).enumerate() {
                    let place = parts.get(i).copied().flatten();
                    path = self.pattern(pattern, value, place, &[], path)?;
                }
                Some(path)
            }
        }
    }

    /// What a pattern leaves of a value.
    fn left_by(&mut self, pattern: &'a Pattern, value: &Abs, at: Opsets) -> Abs {
        match pattern {
            Pattern::Wild | Pattern::Bind { unwrap: false, .. } => Abs::Never,
            Pattern::Bind { unwrap: true, .. } => match value {
                Abs::Optional(optional) if optional.absent => Abs::Optional(Optional::nothing()),
                _ => Abs::Never,
            },
            Pattern::None => match value {
                Abs::Optional(optional) if optional.may_be_present() => {
                    Abs::Optional(Optional { absent: false, ..optional.clone() })
                }
                Abs::Optional(_) => Abs::Never,
                other => other.clone(),
            },
            Pattern::Literal(literal) => {
                let literal = self.expr(literal, &Scope::default(), at).value;
                rest(value, &literal)
            }
            // Which tuples remain is known only if one part decides.
            Pattern::Tuple(patterns) => {
                let Abs::Tuple(values) = value else { return value.clone() };
                let mut left: Vec<Abs> = values.to_vec();
                let mut open = None;
                for (i, (pattern, part)) in patterns.iter().zip(values.iter()).enumerate() {
                    let remains = self.left_by(pattern, part, at);
                    if is_empty(&remains) {
                        continue;
                    }
                    if open.is_some() {
                        return value.clone();
                    }
                    open = Some((i, remains));
                }
                match open {
                    None => Abs::Never,
                    Some((i, remains)) => {
                        if let Some(part) = left.get_mut(i) {
                            *part = remains;
                        }
                        Abs::Tuple(left.into())
                    }
                }
            }
        }
    }
}

fn is_empty(value: &Abs) -> bool {
    match value {
        Abs::Never => true,
        Abs::Dtype(set) => set.is_empty(),
        Abs::Truth(truth) => truth.yes.is_empty() && truth.no.is_empty(),
        Abs::Text(Text::These(texts)) => texts.is_empty(),
        Abs::Optional(optional) => !optional.absent && is_empty(&optional.present),
        Abs::Tuple(parts) => parts.iter().any(is_empty),
        _ => false,
    }
}
