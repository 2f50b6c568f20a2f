//! `match`: the types of patterns. Every case must be covered, and every arm must be reachable.

use super::Checker;
use super::exprs::constant;
use super::scope::Use;
use super::types::join;
use super::wording::with_article;
use crate::diagnostic::{Diagnostic, FixPlace};
use crate::source::Span;
use crate::syntax::ast::{self, Arm, ArmPattern};
use crate::tree::{Expr, Kind, MatchArm, Pattern};
use crate::types::Ty;

impl Checker<'_> {
    pub(super) fn match_on(&mut self, value: &ast::Expr, arms: &[Arm], want: Option<&Ty>, span: Span) -> Expr {
        let value = self.expr(value, None);
        let mut none_taken = false;
        let mut checked = Vec::new();
        let mut ty: Option<Ty> = None;
        for arm in arms {
            self.scopes.push();
            let patterns: Vec<Pattern> = arm.patterns.iter().map(|p| self.pattern(p, &value.ty, none_taken)).collect();
            none_taken |= patterns.iter().any(|p| matches!(p, Pattern::None));
            let number = self.arm(self.text(arm.span), arm.span);
            let mut body = self.expr(&arm.value, want);
            self.close_scope();
            self.note_refusal(number, &body);
            ty = match ty {
                None => Some(body.ty.clone()),
                Some(before) => match join(&before, &body.ty) {
                    Some(joined) => Some(joined),
                    None => {
                        let text = format!("expected `{before}` as in the arms before, found `{}`", body.ty);
                        body = self.poison(Diagnostic::new("E0401", body.span, text).label(with_article(&body.ty)));
                        Some(before)
                    }
                },
            };
            checked.push(MatchArm { arm: number, patterns, value: body });
        }
        if value.ty == Ty::Never {
            return value;
        }
        self.cases(&value, arms, &checked, Span { end: value.span.end, ..span });
        let ty = ty.unwrap_or(Ty::Never);
        for arm in &mut checked {
            let body = std::mem::replace(&mut arm.value, Expr::unit(span));
            arm.value = self.coerce(body, &ty);
        }
        Expr::new(Kind::Match { value: Box::new(value), arms: checked }, ty, span)
    }

    fn pattern(&mut self, pattern: &ArmPattern, ty: &Ty, none_taken: bool) -> Pattern {
        match pattern {
            ArmPattern::Wild(_) => Pattern::Wild,
            ArmPattern::Tuple(parts, span) => {
                let tys = match ty {
                    Ty::Tuple(tys) if tys.len() == parts.len() => tys.clone(),
                    Ty::Never => vec![Ty::Never; parts.len()],
                    Ty::Tuple(_) => {
                        self.out.push(Diagnostic::new(
                            "E0411",
                            *span,
                            format!("{} patterns for {}", parts.len(), with_article(ty)),
                        ));
                        vec![Ty::Never; parts.len()]
                    }
                    _ => {
                        self.out.push(Diagnostic::new(
                            "E0411",
                            *span,
                            format!("a tuple pattern for {}", with_article(ty)),
                        ));
                        vec![Ty::Never; parts.len()]
                    }
                };
                Pattern::Tuple(parts.iter().zip(&tys).map(|(p, ty)| self.pattern(p, ty, false)).collect())
            }
            ArmPattern::Literal(_) if *ty == Ty::Never => Pattern::Wild,
            ArmPattern::Literal(expr) => {
                let literal = self.expr(expr, None);
                self.literal(literal, ty)
            }
            ArmPattern::Name(name) => match constant(&name.text, name.span) {
                Some(_) if *ty == Ty::Never => Pattern::Wild,
                Some(value) if matches!(value.kind, Kind::None) => {
                    if !matches!(ty, Ty::Optional(_)) {
                        self.out.push(Diagnostic::new(
                            "E0401",
                            name.span,
                            format!("{} is never None", with_article(ty)),
                        ));
                    }
                    Pattern::None
                }
                Some(value) => self.literal(value, ty),
                None => {
                    let unwrap = none_taken && matches!(ty, Ty::Optional(_));
                    let bound = match ty {
                        Ty::Optional(inner) if unwrap => (**inner).clone(),
                        ty => ty.clone(),
                    };
                    self.bind_name(&name.text, bound, name.span, Use::Bound);
                    Pattern::Bind { name: name.text.clone(), unwrap }
                }
            },
        }
    }

    fn literal(&mut self, literal: Expr, ty: &Ty) -> Pattern {
        let inner = match ty {
            Ty::Optional(inner) => inner,
            ty => ty,
        };
        if matches!(inner, Ty::SymInt | Ty::Tensor | Ty::List(_)) {
            let text = format!("{} cannot be matched", with_article(inner));
            let mut diagnostic = Diagnostic::new("E0403", literal.span, text);
            if *inner == Ty::SymInt {
                diagnostic = diagnostic
                    .label("it may be known only in the graph")
                    .help("match on `known(n)`, which is None if the size is not known");
            }
            self.out.push(diagnostic);
            return Pattern::Wild;
        }
        Pattern::Literal(self.coerce(literal, inner))
    }

    /// Checks that every case has an arm and every arm a case. A case is one choice for each part of the value.
    fn cases(&mut self, value: &Expr, arms: &[Arm], checked: &[MatchArm], span: Span) {
        let rows: Vec<(usize, Vec<&Pattern>)> = checked
            .iter()
            .enumerate()
            .flat_map(|(i, arm)| arm.patterns.iter().map(move |p| (i, columns(p, &value.ty))))
            .collect();
        let width = match &value.ty {
            Ty::Tuple(tys) => tys.len(),
            _ => 1,
        };
        let domains: Vec<Vec<Case>> = (0..width)
            .map(|c| {
                let ty = match &value.ty {
                    Ty::Tuple(tys) => &tys[c],
                    ty => ty,
                };
                domain(ty, rows.iter().filter_map(|(_, row)| row.get(c).copied()))
            })
            .collect();
        if domains.iter().map(Vec::len).product::<usize>() > 4096 {
            self.out.push(
                Diagnostic::new("E0601", span, "this `match` has too many cases to check")
                    .help("match on one value at a time"),
            );
            return;
        }
        let mut reached = vec![false; checked.len()];
        let mut missing = None;
        let mut case = vec![0; width];
        loop {
            let choice: Vec<&Case> = case.iter().zip(&domains).map(|(i, d)| &d[*i]).collect();
            match rows.iter().find(|(_, row)| row.iter().zip(&choice).all(|(p, c)| takes(p, c))) {
                Some((arm, _)) => reached[*arm] = true,
                None if missing.is_none() => missing = Some(show(&choice)),
                None => {}
            }
            if !next(&mut case, &domains) {
                break;
            }
        }
        if let Some(case) = missing {
            self.out.push(
                Diagnostic::new("E0601", span, format!("the case `{case}` has no arm"))
                    .label("not covered")
                    .help(format!("add an arm: `{case} => ..`"))
                    .fix(format!("add an arm for `{case}`"), FixPlace::Arm(span), format!("{case} => fail \"why\",")),
            );
        }
        for (arm, _) in arms.iter().zip(&reached).filter(|(_, r)| !**r) {
            self.out.push(
                Diagnostic::new("E0602", arm.span, "this arm is never reached")
                    .label("the arms before it cover all its cases"),
            );
        }
    }
}

/// A case of one value.
#[derive(Debug, Clone, PartialEq)]
enum Case {
    None,
    Literal(String),
    Other,
}

fn columns<'p>(pattern: &'p Pattern, ty: &Ty) -> Vec<&'p Pattern> {
    match (pattern, ty) {
        (Pattern::Tuple(parts), Ty::Tuple(_)) => parts.iter().collect(),
        (p, Ty::Tuple(tys)) => vec![p; tys.len()],
        (p, _) => vec![p],
    }
}

fn domain<'p>(ty: &Ty, patterns: impl Iterator<Item = &'p Pattern>) -> Vec<Case> {
    let (inner, optional) = match ty {
        Ty::Optional(inner) => (&**inner, true),
        ty => (ty, false),
    };
    let mut cases = Vec::new();
    if optional {
        cases.push(Case::None);
    }
    if *inner == Ty::Bool {
        cases.extend([Case::Literal("True".to_owned()), Case::Literal("False".to_owned())]);
        return cases;
    }
    for pattern in patterns {
        if let Pattern::Literal(e) = pattern {
            let case = Case::Literal(key(e));
            if !cases.contains(&case) {
                cases.push(case);
            }
        }
    }
    cases.push(Case::Other);
    cases
}

fn takes(pattern: &Pattern, case: &Case) -> bool {
    match pattern {
        Pattern::Wild => true,
        Pattern::Bind { unwrap, .. } => !(*unwrap && *case == Case::None),
        Pattern::None => *case == Case::None,
        Pattern::Literal(e) => *case == Case::Literal(key(e)),
        Pattern::Tuple(_) => false,
    }
}

/// A literal as text. Equal literals have equal texts.
fn key(literal: &Expr) -> String {
    match &literal.kind {
        Kind::Int(i) => i.to_string(),
        Kind::Float(f) => f.to_string(),
        Kind::Bool(b) => if *b { "True" } else { "False" }.to_owned(),
        Kind::Str(s) => format!("{s:?}"),
        Kind::Dtype(d) => d.clone(),
        Kind::Convert(inner) | Kind::Unary(_, inner) => {
            let sign = if matches!(literal.kind, Kind::Unary(..)) { "-" } else { "" };
            format!("{sign}{}", key(inner))
        }
        _ => String::new(),
    }
}

fn show(choice: &[&Case]) -> String {
    let texts: Vec<&str> = choice
        .iter()
        .map(|c| match c {
            Case::None => "None",
            Case::Literal(text) => text,
            Case::Other => "_",
        })
        .collect();
    match texts.as_slice() {
        [one] => (*one).to_owned(),
        many => format!("({})", many.join(", ")),
    }
}

fn next(case: &mut [usize], domains: &[Vec<Case>]) -> bool {
    for (i, domain) in case.iter_mut().zip(domains).rev() {
        *i += 1;
        if *i < domain.len() {
            return true;
        }
        *i = 0;
    }
    false
}
