//! Expressions.

use std::sync::LazyLock;

use pest::pratt_parser::{Assoc, Op, PrattParser};

use super::ty::{Path, is_capitalised};
use super::{Pair, Parts, Reader, Rule};
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::syntax::ast::{
    Argument, Arm, ArmPattern, BinaryOp, Block, ClosureParams, Condition, Expr, ExprKind, Ident, ListItem, OnnxName,
    Pattern, UnaryOp,
};

/// From loosest to tightest.
static OPERATORS: LazyLock<PrattParser<Rule>> = LazyLock::new(|| {
    let comparisons = [Rule::ne, Rule::le, Rule::ge, Rule::lt, Rule::gt, Rule::within];
    PrattParser::new()
        .op(Op::infix(Rule::coalesce, Assoc::Right))
        .op(Op::infix(Rule::or, Assoc::Left))
        .op(Op::infix(Rule::and, Assoc::Left))
        .op(comparisons
            .into_iter()
            .fold(Op::infix(Rule::eq, Assoc::Left), |all, rule| all | Op::infix(rule, Assoc::Left)))
        .op(Op::infix(Rule::add, Assoc::Left) | Op::infix(Rule::sub, Assoc::Left))
        .op(Op::infix(Rule::mul, Assoc::Left) | Op::infix(Rule::div, Assoc::Left) | Op::infix(Rule::rem, Assoc::Left))
        .op(Op::prefix(Rule::negate) | Op::prefix(Rule::not))
        .op(Op::infix(Rule::pow, Assoc::Right))
        .op(Op::postfix(Rule::index))
});

/// An operand of the operator parser.
struct Operand {
    expr: Expr,
    /// It is a comparison without parentheses, which cannot be compared again.
    comparison: bool,
}

impl Operand {
    fn new(expr: Expr) -> Self {
        Operand { expr, comparison: false }
    }
}

impl Reader<'_> {
    pub(super) fn expr(&self, pair: Pair<'_>) -> Option<Expr> {
        let operand = OPERATORS
            .map_primary(|pair| self.primary(pair).map(Operand::new))
            .map_prefix(|op, operand| self.unary(&op, operand?))
            .map_infix(|left, op, right| self.binary(left?, &op, right?))
            .map_postfix(|operand, op| self.index(operand?.expr, op).map(Operand::new))
            .parse(pair.into_inner());
        Some(operand?.expr)
    }

    fn boxed(&self, pair: Pair<'_>) -> Option<Box<Expr>> {
        self.expr(pair).map(Box::new)
    }

    fn unary(&self, op: &Pair<'_>, operand: Operand) -> Option<Operand> {
        let span = self.span(op).to(operand.expr.span);
        let op = if op.as_rule() == Rule::not { UnaryOp::Not } else { UnaryOp::Neg };
        Some(Operand::new(Expr { kind: ExprKind::Unary(op, Box::new(operand.expr)), span }))
    }

    fn binary(&self, left: Operand, op: &Pair<'_>, right: Operand) -> Option<Operand> {
        let span = left.expr.span.to(right.expr.span);
        let (a, b) = (Box::new(left.expr), Box::new(right.expr));
        let Some(operator) = binary_op(op.as_rule()) else {
            return Some(Operand::new(Expr { kind: ExprKind::Coalesce(a, b), span }));
        };
        let chained = is_comparison(operator) && (left.comparison || right.comparison);
        if chained {
            let error = Diagnostic::new("E0001", self.span(op), "comparisons cannot be chained");
            self.error(error.help("join them with `&&`, or put one of them in parentheses"));
        }
        let comparison = is_comparison(operator) && !chained;
        Some(Operand { expr: Expr { kind: ExprKind::Binary(operator, a, b), span }, comparison })
    }

    fn index(&self, list: Expr, pair: Pair<'_>) -> Option<Expr> {
        let span = list.span.to(self.span(&pair));
        let list = Box::new(list);
        let mut parts = Parts::of(pair);
        let first = parts.next()?;
        if first.as_rule() == Rule::slice_to {
            let end = self.optional(Parts::of(first).next())?;
            return Some(Expr { kind: ExprKind::Slice(list, None, end), span });
        }
        let first = self.boxed(first)?;
        let kind = match parts.one(Rule::slice_rest) {
            Some(rest) => ExprKind::Slice(list, Some(first), self.optional(Parts::of(rest).next())?),
            None => ExprKind::Index(list, first),
        };
        Some(Expr { kind, span })
    }

    /// None after an error, Some(None) without an expression.
    fn optional(&self, pair: Option<Pair<'_>>) -> Option<Option<Box<Expr>>> {
        match pair {
            Some(pair) => self.boxed(pair).map(Some),
            None => Some(None),
        }
    }

    /// Expressions other than operators.
    pub(super) fn primary(&self, pair: Pair<'_>) -> Option<Expr> {
        let span = self.span(&pair);
        let kind = match pair.as_rule() {
            Rule::number => return Some(self.number_expr(&pair)),
            Rule::string => ExprKind::Str(self.string(&pair)),
            Rule::name | Rule::word => ExprKind::Name(self.ident(&pair)),
            Rule::if_expr => self.if_expr(pair)?,
            Rule::match_expr => self.match_expr(pair)?,
            Rule::fold_expr => self.fold(pair)?,
            Rule::fail => ExprKind::Fail(self.fail_text(&Parts::of(pair).one(Rule::string)?)),
            Rule::since_clause => ExprKind::Since(self.since(pair)?),
            Rule::closure => self.closure(pair)?,
            Rule::block => ExprKind::Block(self.block(pair)?),
            Rule::paren => return self.paren(pair),
            Rule::list => self.list(pair)?,
            Rule::rule_call => self.rule_call(pair)?,
            Rule::call => self.call(pair)?,
            _ => return None,
        };
        Some(Expr { kind, span })
    }

    fn if_expr(&self, pair: Pair<'_>) -> Option<ExprKind> {
        let mut parts = Parts::of(pair);
        let mut condition = Parts::of(parts.one(Rule::condition)?);
        let condition = match condition.one(Rule::name) {
            Some(name) => Condition::Let(self.ident(&name), self.boxed(condition.one(Rule::expr)?)?),
            None => Condition::Expr(self.boxed(condition.one(Rule::expr)?)?),
        };
        let then = self.block(parts.one(Rule::block)?)?;
        let otherwise = match parts.next() {
            None => None,
            Some(block) if block.as_rule() == Rule::block => Some(Box::new(self.block(block)?)),
            Some(other) => Some(Box::new(block_of(self.primary(other)?))),
        };
        Some(ExprKind::If(condition, then, otherwise))
    }

    fn match_expr(&self, pair: Pair<'_>) -> Option<ExprKind> {
        let mut parts = Parts::of(pair);
        let value = self.boxed(parts.one(Rule::expr)?)?;
        let mut arms = Vec::new();
        let mut comments = Vec::new();
        for pair in parts {
            if pair.as_rule() == Rule::comment {
                comments.push(self.comment(&pair));
                continue;
            }
            let blank_before = self.blank_before(&pair);
            let mut arm = Parts::of(pair);
            let patterns = arm.one(Rule::patterns)?;
            let span = self.span(&patterns);
            let patterns = Parts::of(patterns).map(|pattern| self.arm_pattern(pattern)).collect::<Option<_>>()?;
            let value = self.expr(arm.one(Rule::expr)?)?;
            arms.push(Arm { comments: std::mem::take(&mut comments), blank_before, patterns, value, span });
        }
        self.nothing_after(&comments, "the last arm");
        Some(ExprKind::Match(value, arms))
    }

    fn arm_pattern(&self, pair: Pair<'_>) -> Option<ArmPattern> {
        let span = self.span(&pair);
        let mut parts = Parts::of(pair);
        let negative = parts.one(Rule::negate).is_some();
        let inner = parts.next()?;
        Some(match inner.as_rule() {
            Rule::number => ArmPattern::Literal(signed(negative, self.number_expr(&inner), span)),
            Rule::string => ArmPattern::Literal(Expr { kind: ExprKind::Str(self.string(&inner)), span }),
            Rule::tuple_pattern => {
                let patterns = Parts::of(inner).map(|pattern| self.arm_pattern(pattern)).collect::<Option<_>>()?;
                ArmPattern::Tuple(patterns, span)
            }
            _ if inner.as_str() == "_" => ArmPattern::Wild(span),
            _ => ArmPattern::Name(self.ident(&inner)),
        })
    }

    fn closure(&self, pair: Pair<'_>) -> Option<ExprKind> {
        let mut parts = Parts::of(pair);
        let (mut names, mut rest) = (Vec::new(), None::<Ident>);
        while let Some(rule) = parts.0.peek().map(Pair::as_rule) {
            match rule {
                Rule::expr => break,
                Rule::rest_name => rest = Some(self.ident(&Parts::of(parts.next()?).next()?)),
                Rule::name if rest.is_none() => names.push(self.ident(&parts.next()?)),
                Rule::name => {
                    let text = format!("`..{}` must be the last parameter", rest?.text);
                    self.error(Diagnostic::new("E0001", self.span(&parts.next()?), text));
                    return None;
                }
                _ => drop(parts.0.next()),
            }
        }
        Some(ExprKind::Closure(ClosureParams { names, rest }, self.boxed(parts.one(Rule::expr)?)?))
    }

    fn fold(&self, pair: Pair<'_>) -> Option<ExprKind> {
        let mut parts = Parts::of(pair);
        let state = self.binding(parts.one(Rule::binding)?)?;
        let init = self.boxed(parts.one(Rule::expr)?)?;
        let item = self.binding(parts.one(Rule::binding)?)?;
        let list = self.boxed(parts.one(Rule::expr)?)?;
        Some(ExprKind::Fold { state, init, item, list, body: self.block(parts.one(Rule::block)?)? })
    }

    /// Parentheses around one expression are not in the tree, but in its span.
    fn paren(&self, pair: Pair<'_>) -> Option<Expr> {
        let span = self.span(&pair);
        let comma = pair.clone().into_inner().any(|part| part.as_rule() == Rule::comma);
        let mut exprs = Parts::of(pair).map(|expr| self.expr(expr)).collect::<Option<Vec<_>>>()?;
        if exprs.len() > 1 {
            return Some(Expr { kind: ExprKind::Tuple(exprs), span });
        }
        if comma {
            self.error(Diagnostic::new("E0001", span, "a tuple needs at least two elements"));
        }
        Some(Expr { span, ..exprs.pop()? })
    }

    fn list(&self, pair: Pair<'_>) -> Option<ExprKind> {
        let mut items = Vec::new();
        for part in Parts::of(pair) {
            match part.as_rule() {
                Rule::spread => items.push(ListItem::Spread(self.expr(Parts::of(part).one(Rule::expr)?)?)),
                Rule::comprehension => {
                    let Some(ListItem::One(element)) = items.pop() else { return None };
                    return self.comprehension(element, part);
                }
                _ => items.push(ListItem::One(self.expr(part)?)),
            }
        }
        Some(ExprKind::List(items))
    }

    fn comprehension(&self, element: Expr, pair: Pair<'_>) -> Option<ExprKind> {
        let mut parts = Parts::of(pair);
        let pattern = self.binding(parts.one(Rule::binding)?)?;
        let list = self.boxed(parts.one(Rule::expr)?)?;
        let condition = self.optional(parts.one(Rule::expr))?;
        Some(ExprKind::Comprehension { element: Box::new(element), pattern, list, condition })
    }

    pub(super) fn binding(&self, pair: Pair<'_>) -> Option<Pattern> {
        let inner = Parts::of(pair).next()?;
        if inner.as_rule() == Rule::name {
            return Some(Pattern::Name(self.ident(&inner)));
        }
        let span = self.span(&inner);
        Some(Pattern::Tuple(self.words(inner), span))
    }

    fn rule_call(&self, pair: Pair<'_>) -> Option<ExprKind> {
        let mut parts = Parts::of(pair);
        let path = self.path(parts.one(Rule::path_with_namespace)?)?;
        let arguments = self.arguments(parts.one(Rule::arguments)?)?;
        Some(match path {
            Path::Overload(op) => ExprKind::Rule(op, arguments),
            Path::Onnx(name) => ExprKind::Node(name, arguments),
        })
    }

    fn call(&self, pair: Pair<'_>) -> Option<ExprKind> {
        let mut parts = Parts::of(pair);
        let name = self.ident(&parts.one(Rule::called)?);
        let arguments = self.arguments(parts.one(Rule::arguments)?)?;
        if is_capitalised(&name.text) {
            let span = name.span;
            return Some(ExprKind::Node(OnnxName { domain: None, name, span }, arguments));
        }
        Some(ExprKind::Call(name, arguments))
    }

    fn arguments(&self, pair: Pair<'_>) -> Option<Vec<Argument>> {
        Parts::of(pair).map(|argument| self.argument(Parts::of(argument).next()?)).collect()
    }

    fn argument(&self, pair: Pair<'_>) -> Option<Argument> {
        let rule = pair.as_rule();
        if rule == Rule::expr {
            return self.expr(pair).map(Argument::Positional);
        }
        let mut parts = Parts::of(pair);
        if rule == Rule::spread {
            return self.expr(parts.one(Rule::expr)?).map(Argument::Spread);
        }
        let name = self.ident(&parts.one(Rule::argument_name)?);
        Some(Argument::Named(name, self.expr(parts.one(Rule::expr)?)?))
    }
}

/// A number with its sign.
pub(super) fn signed(negative: bool, expr: Expr, span: Span) -> Expr {
    match negative {
        true => Expr { kind: ExprKind::Unary(UnaryOp::Neg, Box::new(expr)), span },
        false => expr,
    }
}

/// The `if` of an `else if` as a block.
fn block_of(result: Expr) -> Block {
    Block {
        statements: Vec::new(),
        trailing: Vec::new(),
        blank_before_result: false,
        span: result.span,
        result: Some(Box::new(result)),
    }
}

fn is_comparison(op: BinaryOp) -> bool {
    use BinaryOp::*;
    matches!(op, Eq | Ne | Lt | Le | Gt | Ge | In)
}

/// None for `??`, which has its own kind of expression.
fn binary_op(rule: Rule) -> Option<BinaryOp> {
    Some(match rule {
        Rule::or => BinaryOp::Or,
        Rule::and => BinaryOp::And,
        Rule::eq => BinaryOp::Eq,
        Rule::ne => BinaryOp::Ne,
        Rule::lt => BinaryOp::Lt,
        Rule::le => BinaryOp::Le,
        Rule::gt => BinaryOp::Gt,
        Rule::ge => BinaryOp::Ge,
        Rule::within => BinaryOp::In,
        Rule::add => BinaryOp::Add,
        Rule::sub => BinaryOp::Sub,
        Rule::mul => BinaryOp::Mul,
        Rule::div => BinaryOp::Div,
        Rule::rem => BinaryOp::Rem,
        Rule::pow => BinaryOp::Pow,
        _ => return None,
    })
}
