//! The patterns of `fuse` rules. Names and types of both sides are checked by now, as those of other rules.

use std::collections::{HashMap, HashSet};

use aten2onnx_operators::Function as Computes;
use aten2onnx_operators::pattern::{AttrPattern, Fusion, NodePattern, Pattern, Terms};

use super::Context;
use crate::collect::Items;
use crate::collect::fuse::inside_shared;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::ast;
use crate::syntax::ast::walk::walk_expr;
use crate::syntax::ast::{BinaryOp, UnaryOp};
use crate::tree::{Expr, Function, Fuse, Input, Item, Kind, Names, Node, Outputs, Program, Statement};
use crate::types::Ty;

/// The largest exponent that is written as a product.
const MOST_FACTORS: f64 = 8.0;

/// Makes the patterns of all `fuse` rules, those with more nodes first.
pub(super) fn check(items: &Items, context: &Context<'_>, program: &mut Program, out: &mut Vec<Diagnostic>) {
    let mut fuses: Vec<Fuse> = Vec::new();
    for (_, item) in &items.fuses {
        let name = item.name_before();
        let Some(before) = program.maps.iter().find(|map| map.function.name == name) else { continue };
        let Some(fuse) = checked(item, &before.function, context, out) else { continue };
        let same = fuses.iter().find(|other| other.fusion.pattern == fuse.fusion.pattern);
        if let Some(same) = same.filter(|same| same.always) {
            let text = format!("`{}` can never apply", fuse.fusion.rule);
            let diagnostic = Diagnostic::new("E0604", item.pattern.span, text).label("nothing is left for it");
            out.push(diagnostic.also(same.span, "this rule has the same pattern, and no condition"));
        }
        fuses.push(fuse);
    }
    // A stable sort: rules of the same size are tried in the order in which they are written.
    fuses.sort_by_key(|fuse| std::cmp::Reverse(fuse.fusion.pattern.size()));
    program.fuses = fuses;
}

fn checked(item: &ast::Fuse, before: &Function, context: &Context<'_>, out: &mut Vec<Diagnostic>) -> Option<Fuse> {
    let is_free = before.body.ty != Ty::Never;
    let (lets, body) = named_nodes(&before.body);
    let reader = Reader { function: before, context, shared: shared_spans(&item.pattern), lets };
    let wrong = match reader.pattern(body) {
        Ok(pattern @ (Pattern::Node(_) | Pattern::Product(_) | Pattern::Sum(_))) => {
            let params = before.params.iter().map(|param| param.name.clone()).collect();
            let fusion = Fusion { rule: item.rule_name(), params, pattern };
            return Some(Fuse { fusion, span: item.header_span, always: item.condition.is_none() });
        }
        Ok(_) => Wrong { span: before.body.span, why: "it is no node" },
        Err(wrong) => wrong,
    };
    if is_free {
        let text = format!("`{}` has no pattern that can be looked for", item.rule_name());
        out.push(Diagnostic::new("E0318", wrong.span, text).label(wrong.why));
    }
    None
}

/// The nodes to which `let` gives a name, and the pattern in which they are used.
fn named_nodes(body: &Expr) -> (HashMap<&str, &Expr>, &Expr) {
    let Kind::Block(statements, result) = &without_conversions(body).kind else { return (HashMap::new(), body) };
    let named = |statement| match statement {
        &Statement::Let(Names::One(ref name), ref value) => Some((name.as_str(), value)),
        _ => None,
    };
    (statements.iter().filter_map(named).collect(), result)
}

/// The places of the nodes whose results others may read.
fn shared_spans(pattern: &ast::Expr) -> HashSet<Span> {
    let mut spans = HashSet::new();
    walk_expr(&mut pattern.clone(), &mut |expr| {
        spans.extend(inside_shared(expr).map(|inner| inner.span));
    });
    spans
}

/// What cannot be looked for.
struct Wrong {
    span: Span,
    why: &'static str,
}

/// Reads the pattern of a rule off its checked expression.
struct Reader<'a> {
    function: &'a Function,
    context: &'a Context<'a>,
    shared: HashSet<Span>,
    /// The nodes that have a name.
    lets: HashMap<&'a str, &'a Expr>,
}

impl Reader<'_> {
    fn pattern(&self, expr: &Expr) -> Result<Pattern, Wrong> {
        match &expr.kind {
            Kind::Local(name) if self.lets.contains_key(name.as_str()) => self.named(name, expr.span),
            Kind::Convert(inner) => self.pattern(inner),
            Kind::Local(name) if expr.ty == Ty::Tensor => self.param(name, expr.span).map(Pattern::Tensor),
            Kind::Node(node) => self.node(node, expr.span),
            _ => Err(Wrong { span: expr.span, why: "a pattern has nodes, parameters and known numbers" }),
        }
    }

    /// A node that has a name: the pattern itself reads it more than once.
    fn named(&self, name: &str, span: Span) -> Result<Pattern, Wrong> {
        let value = self.lets.get(name).ok_or(Wrong { span, why: "it is no parameter" })?;
        match self.pattern(value)? {
            Pattern::Node(node) => Ok(Pattern::Node(Box::new(NodePattern { shared: true, ..*node }))),
            _ => Err(Wrong { span: value.span, why: "what has a name is a node" }),
        }
    }

    fn param(&self, name: &str, span: Span) -> Result<usize, Wrong> {
        let at = self.function.params.iter().position(|param| param.name == name);
        at.ok_or(Wrong { span, why: "it is no parameter" })
    }

    fn node(&self, node: &Node, span: Span) -> Result<Pattern, Wrong> {
        if !matches!(node.outputs, Outputs::One) || node.op.contains("::") {
            return Err(Wrong { span, why: "a pattern has nodes of the default domain with one result" });
        }
        if let Some(found) = self.product(node).or_else(|| self.sum(node)) {
            return found;
        }
        let inputs = node.inputs.iter().map(|input| self.input(input, span)).collect::<Result<Vec<_>, _>>()?;
        let attrs = node.attrs.iter().map(|(name, _, value)| Ok((name.clone(), self.attribute(value)?)));
        let computes = self.computes(node);
        Ok(Pattern::Node(Box::new(NodePattern {
            op: node.op.clone(),
            attrs: attrs.collect::<Result<_, _>>()?,
            swaps: inputs.len() == 2 && computes.is_some_and(Computes::is_commutative),
            inputs,
            shared: self.shared.contains(&span),
        })))
    }

    fn input(&self, input: &Input, span: Span) -> Result<Pattern, Wrong> {
        match input {
            Input::Tensor(expr) => self.pattern(expr),
            Input::Absent => Ok(Pattern::Absent),
            Input::Number(expr) => self.number(expr),
            Input::Ints(expr) => self.ints(expr),
            Input::Optional(expr) => match &expr.kind {
                Kind::Local(name) => self.param(name, expr.span).map(Pattern::Optional),
                Kind::Convert(inner) => self.pattern(inner),
                _ => Err(Wrong { span: expr.span, why: "an optional input is a parameter" }),
            },
            Input::OptionalNumber(_) | Input::Floats(_) | Input::Spread(_) => {
                Err(Wrong { span, why: "such an input cannot be looked for" })
            }
        }
    }

    fn number(&self, expr: &Expr) -> Result<Pattern, Wrong> {
        if let Some(number) = number_of(expr) {
            return Ok(Pattern::Number(number));
        }
        let Kind::Local(name) = &without_conversions(expr).kind else {
            return Err(Wrong { span: expr.span, why: "a number is known, or a parameter" });
        };
        let at = self.param(name, expr.span)?;
        match self.function.params.get(at).map(|param| &param.ty) {
            Some(Ty::Float) => Ok(Pattern::Float(at)),
            Some(Ty::Int) => Ok(Pattern::Int(at)),
            _ => Err(Wrong { span: expr.span, why: "a number that is looked for is a float or an int" }),
        }
    }

    fn ints(&self, expr: &Expr) -> Result<Pattern, Wrong> {
        if let Some(ints) = known_ints(expr) {
            return Ok(Pattern::Ints(ints));
        }
        match &without_conversions(expr).kind {
            Kind::Local(name) => self.param(name, expr.span).map(Pattern::AnyInts),
            _ => Err(Wrong { span: expr.span, why: "a list is known, or a parameter" }),
        }
    }

    fn attribute(&self, value: &Expr) -> Result<AttrPattern, Wrong> {
        let value = without_conversions(value);
        if let Some(ints) = known_ints(value) {
            return Ok(AttrPattern::Ints(ints));
        }
        match &value.kind {
            Kind::Str(text) => Ok(AttrPattern::Str(text.clone())),
            Kind::Int(number) => Ok(AttrPattern::Int(*number)),
            Kind::Bool(flag) => Ok(AttrPattern::Int((*flag).into())),
            Kind::Local(name) => self.param(name, value.span).map(AttrPattern::Any),
            _ => match number_of(value) {
                Some(number) if value.ty == Ty::Int => Ok(AttrPattern::Int(number as i64)),
                Some(number) => Ok(AttrPattern::Float(number)),
                None => Err(Wrong { span: value.span, why: "an attribute is known, or a parameter" }),
            },
        }
    }

    fn computes(&self, node: &Node) -> Option<Computes> {
        self.context.schemas.operators.facts(&node.op).computes
    }

    /// A product with a known number, of three factors or more, or a power.
    fn product(&self, node: &Node) -> Option<Result<Pattern, Wrong>> {
        let mut flat = Flat { number: 1.0, ..Flat::default() };
        self.add_factors(&mut flat, node).then(|| self.terms(flat))?.map(|terms| terms.map(Pattern::Product))
    }

    /// A sum with a known number, or of three terms or more.
    fn sum(&self, node: &Node) -> Option<Result<Pattern, Wrong>> {
        let mut flat = Flat::default();
        self.add_terms(&mut flat, node).then(|| self.terms(flat))?.map(|terms| terms.map(Pattern::Sum))
    }

    /// The operands in any order. None if they are those of a single node, or if one of the numbers is a parameter.
    fn terms(&self, flat: Flat<'_>) -> Option<Result<Terms, Wrong>> {
        if flat.names_number || !(flat.has_number || flat.is_power || flat.operands.len() > 2) {
            return None;
        }
        let operands = flat.operands.into_iter().map(|operand| self.pattern(operand)).collect::<Result<Vec<_>, _>>();
        Some(operands.map(|operands| Terms { number: flat.number, operands }))
    }

    /// Adds the factors of a product; whether it is one.
    fn add_factors<'e>(&self, flat: &mut Flat<'e>, node: &'e Node) -> bool {
        match (self.computes(node), node.inputs.as_slice()) {
            (Some(Computes::Mul), [a, b]) => {
                for input in [a, b] {
                    flat.add(input, |all, one| all * one, &mut |flat, inner| self.add_factors(flat, inner));
                }
            }
            (Some(Computes::Div), [a @ Input::Tensor(_), b @ Input::Number(_)]) => {
                flat.add(a, |all, _| all, &mut |flat, inner| self.add_factors(flat, inner));
                flat.add(b, |all, one| all / one, &mut |_, _| false);
            }
            (Some(Computes::Pow), [base @ Input::Tensor(_), Input::Number(exponent)]) => {
                let Some(count) = small_exponent(exponent) else { return false };
                flat.is_power = true;
                for _ in 0..count {
                    flat.add(base, |all, _| all, &mut |flat, inner| self.add_factors(flat, inner));
                }
            }
            _ => return false,
        }
        true
    }

    /// Adds the terms of a sum; whether it is one.
    fn add_terms<'e>(&self, flat: &mut Flat<'e>, node: &'e Node) -> bool {
        match (self.computes(node), node.inputs.as_slice()) {
            (Some(Computes::Add), [a, b]) => {
                for input in [a, b] {
                    flat.add(input, |all, one| all + one, &mut |flat, inner| self.add_terms(flat, inner));
                }
            }
            (Some(Computes::Sub), [a @ Input::Tensor(_), b @ Input::Number(_)]) => {
                flat.add(a, |all, _| all, &mut |flat, inner| self.add_terms(flat, inner));
                flat.add(b, |all, one| all - one, &mut |_, _| false);
            }
            _ => return false,
        }
        true
    }
}

/// The operands of nested products or sums.
#[derive(Default)]
struct Flat<'e> {
    number: f64,
    operands: Vec<&'e Expr>,
    has_number: bool,
    names_number: bool,
    is_power: bool,
}

impl<'e> Flat<'e> {
    /// Adds an operand, or those inside it.
    fn add(
        &mut self,
        input: &'e Input,
        with: impl FnOnce(f64, f64) -> f64,
        inside: &mut dyn FnMut(&mut Flat<'e>, &'e Node) -> bool,
    ) {
        match input {
            Input::Number(number) => match number_of(number) {
                Some(one) => {
                    self.has_number = true;
                    self.number = with(self.number, one);
                }
                None => self.names_number = true,
            },
            Input::Tensor(operand) => {
                let is_inside = matches!(&operand.kind, Kind::Node(node) if inside(self, node));
                if !is_inside {
                    self.operands.push(operand);
                }
            }
            _ => {}
        }
    }
}

/// The exponent of a power that is written as a product.
fn small_exponent(exponent: &Expr) -> Option<usize> {
    let exponent = number_of(exponent)?;
    let is_small = exponent.fract() == 0.0 && (2.0..=MOST_FACTORS).contains(&exponent);
    is_small.then_some(exponent as usize)
}

/// The number that an expression always has.
fn number_of(expr: &Expr) -> Option<f64> {
    match &expr.kind {
        Kind::Int(number) => Some(*number as f64),
        Kind::Float(number) => Some(*number),
        Kind::Convert(inner) => number_of(inner),
        Kind::Unary(UnaryOp::Neg, inner) => number_of(inner).map(|number| -number),
        Kind::Binary(op, a, b) if expr.ty == Ty::Float => {
            let (a, b) = (number_of(a)?, number_of(b)?);
            match op {
                BinaryOp::Add => Some(a + b),
                BinaryOp::Sub => Some(a - b),
                BinaryOp::Mul => Some(a * b),
                BinaryOp::Div => Some(a / b),
                _ => None,
            }
        }
        _ => None,
    }
}

fn without_conversions(expr: &Expr) -> &Expr {
    match &expr.kind {
        Kind::Convert(inner) => without_conversions(inner),
        _ => expr,
    }
}

fn known_ints(expr: &Expr) -> Option<Vec<i64>> {
    let Kind::List(items) = &without_conversions(expr).kind else { return None };
    let known = |item: &Item| match item {
        Item::One(one) => match without_conversions(one).kind {
            Kind::Int(number) => Some(number),
            _ => number_of(one).filter(|number| number.fract() == 0.0).map(|number| number as i64),
        },
        Item::Spread(_) => None,
    };
    items.iter().map(known).collect()
}
