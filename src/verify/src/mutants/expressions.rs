//! The mutants of statements and expressions.

use aten2onnx_operators::Shape;
use aten2onnx_opmap::source::Span;
use aten2onnx_opmap::syntax::ast::{
    Argument, Arm, ArmPattern, BinaryOp, Block, Condition, Expr, ExprKind, Ident, ListItem, OnnxName, Pattern,
    Statement, StatementKind, UnaryOp,
};
use aten2onnx_schemas::onnx::AttrKind;

use super::kind::Kind;
use super::made::Sites;

/// Dtypes that people mistake for each other.
const DTYPES: [(&str, &str); 12] = [
    ("float32", "float64"),
    ("float64", "float32"),
    ("float16", "float32"),
    ("bfloat16", "float16"),
    ("int64", "int32"),
    ("int32", "int64"),
    ("int16", "int8"),
    ("int8", "uint8"),
    ("uint8", "int8"),
    ("bool", "int64"),
    ("complex64", "complex128"),
    ("complex128", "complex64"),
];

/// The suffix of each type of attributes, and that of another one.
const SUFFIXES: [(AttrKind, &str, &str); 6] = [
    (AttrKind::Float, "_f", "_i"),
    (AttrKind::Int, "_i", "_f"),
    (AttrKind::String, "_s", "_i"),
    (AttrKind::Floats, "_fs", "_is"),
    (AttrKind::Ints, "_is", "_i"),
    (AttrKind::Strings, "_ss", "_s"),
];

/// What stands in place of an operator between two values.
fn other_signs(op: BinaryOp) -> &'static [&'static str] {
    match op {
        BinaryOp::Add => &["-"],
        BinaryOp::Sub => &["+"],
        BinaryOp::Mul => &["/"],
        BinaryOp::Div | BinaryOp::Rem | BinaryOp::Pow => &["*"],
        BinaryOp::Eq => &["!="],
        BinaryOp::Ne => &["=="],
        BinaryOp::Lt => &["<=", ">"],
        BinaryOp::Le => &["<", ">="],
        BinaryOp::Gt => &[">=", "<"],
        BinaryOp::Ge => &[">", "<="],
        BinaryOp::And => &["||"],
        BinaryOp::Or => &["&&"],
        BinaryOp::In => &[],
    }
}

/// Whether the order of two values does not matter.
fn is_commutative(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Add | BinaryOp::Mul | BinaryOp::Eq | BinaryOp::Ne | BinaryOp::And | BinaryOp::Or)
}

impl Sites<'_> {
    pub fn block(&mut self, block: &Block) {
        block.statements.iter().for_each(|statement| self.statement(statement));
        if let Some(result) = &block.result {
            self.expression(result);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Let(pattern, expr) => {
                self.names(pattern);
                self.expression(expr);
            }
            StatementKind::Return(expr) => self.expression(expr),
            StatementKind::Ignore(..) => {}
            StatementKind::Since(since) => {
                self.since(since);
                self.add(Kind::RefusalDropped, statement.span, "");
            }
            StatementKind::Expr(expr) => {
                let kind = if refuses(expr) { Kind::RefusalDropped } else { Kind::BranchDropped };
                self.add(kind, statement.span, "");
                self.expression(expr);
            }
        }
    }

    /// Names that a `let` binds, two of them swapped.
    fn names(&mut self, pattern: &Pattern) {
        let Pattern::Tuple(names, span) = pattern else { return };
        let words: Vec<&str> = names.iter().map(|name| name.text.as_str()).collect();
        for at in 1..words.len() {
            let mut swapped = words.clone();
            swapped.swap(at - 1, at);
            self.add(Kind::Output, *span, format!("({})", swapped.join(", ")));
        }
    }

    pub fn expression(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Int(n) => self.integer(expr.span, *n, Kind::Constant),
            ExprKind::Float(x, _) => self.add(Kind::Constant, expr.span, format!("{:?}", x + 1.0)),
            ExprKind::Name(name) => self.name(name),
            ExprKind::Node(op, args) => self.node(expr, op, args),
            ExprKind::Rule(_, args) => self.called(expr, args, Kind::CallDropped),
            ExprKind::Call(name, args) => {
                let is_cast = name.text.contains("cast") || name.text.contains("to_float");
                self.called(expr, args, if is_cast { Kind::CastDropped } else { Kind::CallDropped });
            }
            ExprKind::Unary(op, inner) => self.unary(expr, *op, inner),
            ExprKind::Binary(op, a, b) => self.binary(expr, *op, a, b),
            ExprKind::Coalesce(a, b) => {
                let kind = if refuses(b) { Kind::RefusalDropped } else { Kind::BranchDropped };
                self.add(kind, expr.span, self.closed(a));
                self.add(Kind::BranchDropped, expr.span, self.closed(b));
                self.expression(a);
                self.expression(b);
            }
            ExprKind::If(condition, then, other) => self.branches(expr, condition, then, other.as_deref()),
            ExprKind::Match(value, arms) => {
                self.expression(value);
                arms.iter().for_each(|arm| self.arm(arm));
            }
            ExprKind::List(items) => self.list(items),
            ExprKind::Comprehension { element, list, condition, .. } => {
                if let Some(condition) = condition {
                    self.condition(condition);
                }
                self.expression(list);
                self.expression(element);
            }
            ExprKind::Fold { init, list, body, .. } => {
                self.expression(init);
                self.expression(list);
                self.block(body);
            }
            ExprKind::Tuple(parts) => {
                self.swapped(parts, Kind::Output);
                parts.iter().for_each(|part| self.expression(part));
            }
            ExprKind::Index(list, at) => {
                self.expression(list);
                match at.kind {
                    ExprKind::Int(n) => self.integer(at.span, n, Kind::Output),
                    _ => self.expression(at),
                }
            }
            ExprKind::Slice(list, from, to) => {
                self.expression(list);
                [from, to].into_iter().flatten().for_each(|end| self.expression(end));
            }
            ExprKind::Block(block) => self.block(block),
            ExprKind::Since(since) => self.since(since),
            ExprKind::Closure(_, body) => self.expression(body),
            // The text of an error, and the name of a rule in a row of a family.
            ExprKind::Fail(_) | ExprKind::Str(_) | ExprKind::Path(_) => {}
        }
    }

    /// One more and one less.
    fn integer(&mut self, span: Span, n: i64, kind: Kind) {
        self.add(kind, span, n.saturating_add(1).to_string());
        let less = n.saturating_sub(1);
        self.add(kind, span, if less < 0 { format!("({less})") } else { less.to_string() });
    }

    fn name(&mut self, name: &Ident) {
        match name.text.as_str() {
            "True" => self.add(Kind::Value, name.span, "False"),
            "False" => self.add(Kind::Value, name.span, "True"),
            "INT64_MAX" => self.add(Kind::Constant, name.span, "2147483647"),
            text => {
                if let Some((_, other)) = DTYPES.iter().find(|(dtype, _)| *dtype == text) {
                    self.add(Kind::Dtype, name.span, *other);
                }
                // A column of a family may be an operator.
                self.other_operators(text, name.span);
            }
        }
    }

    fn other_operators(&mut self, op: &str, span: Span) {
        for other in self.alike.others(op).to_vec() {
            self.add(Kind::Operator, span, other);
        }
    }

    fn node(&mut self, expr: &Expr, op: &OnnxName, args: &[Argument]) {
        self.other_operators(&op.full(), op.span);
        let places: Vec<&Expr> = positional(args);
        if !self.is_commutative(&op.full()) {
            self.swapped_pairs(&places, Kind::OperandsSwapped);
        }
        self.without_arguments(args, Kind::AttributeDropped);
        if let Some(first) = places.first() {
            let is_cast = matches!(self.schemas.operators.facts(&op.full()).shape, Shape::Cast | Shape::CastLike);
            let kind = if is_cast { Kind::CastDropped } else { Kind::CallDropped };
            self.add(kind, expr.span, self.closed(first));
        }
        for argument in args {
            if let Argument::Named(name, value) = argument {
                self.attribute(op, name);
                self.word(op, name, value);
            }
        }
        self.inside(args);
    }

    /// Another name and another type for an attribute.
    fn attribute(&mut self, op: &OnnxName, name: &Ident) {
        let Some((own, suffix, other)) = SUFFIXES.iter().find(|(_, suffix, _)| name.text.ends_with(suffix)) else {
            return;
        };
        let bare = name.text.strip_suffix(suffix).unwrap_or(&name.text);
        self.add(Kind::AttributeType, name.span, format!("{bare}{other}"));
        let version = self.schemas.onnx.versions(&op.full()).last();
        let like = version.and_then(|version| {
            version.attributes.iter().find(|attribute| attribute.kind == *own && attribute.name != bare)
        });
        let renamed =
            like.map_or_else(|| format!("{bare}s{suffix}"), |attribute| format!("{}{suffix}", attribute.name));
        self.add(Kind::AttributeRenamed, name.span, renamed);
    }

    /// Another of the words that an attribute can be.
    fn word(&mut self, op: &OnnxName, name: &Ident, value: &Expr) {
        let ExprKind::Str(text) = &value.kind else { return };
        let bare = name.text.strip_suffix("_s").unwrap_or(&name.text);
        let others = self.alike.words(&op.full(), bare);
        let other = others.iter().find(|other| *other != text).cloned();
        self.add(Kind::Value, value.span, format!("{:?}", other.unwrap_or_else(|| format!("{text}x"))));
    }

    /// A call of a helper or a rule.
    fn called(&mut self, expr: &Expr, args: &[Argument], dropped: Kind) {
        let places = positional(args);
        self.swapped_pairs(&places, Kind::ArgumentsSwapped);
        self.without_arguments(args, Kind::OperandDropped);
        if let Some(first) = places.first() {
            self.add(dropped, expr.span, self.closed(first));
        }
        self.inside(args);
    }

    fn inside(&mut self, args: &[Argument]) {
        for argument in args {
            match argument {
                Argument::Positional(expr) | Argument::Spread(expr) | Argument::Named(_, expr) => self.expression(expr),
            }
        }
    }

    /// Calls without a named argument, and without the last of the others.
    fn without_arguments(&mut self, args: &[Argument], named: Kind) {
        for (at, argument) in args.iter().enumerate() {
            let is_last = at > 0 && matches!(args.get(at + 1), None | Some(Argument::Named(..)));
            let (before, kind, span) = match argument {
                Argument::Named(name, value) => (at.checked_sub(1), named, name.span.to(value.span)),
                Argument::Positional(expr) if is_last => (at.checked_sub(1), Kind::OperandDropped, expr.span),
                _ => continue,
            };
            // With the comma before it.
            let start = before.and_then(|before| args.get(before)).map_or(span.start, end_of);
            let whole = Span { start: self.comma_after(start, span), ..span };
            self.add(kind, whole, "");
        }
    }

    /// Where the comma between an end and a span is; the span itself if there is none.
    fn comma_after(&self, end: u32, span: Span) -> u32 {
        if end >= span.start {
            return span.start;
        }
        let between = self.text(Span { start: end, end: span.start, ..span });
        between.find(',').map_or(span.start, |at| end + u32::try_from(at).unwrap_or(0))
    }

    /// Neighbours among expressions, swapped.
    fn swapped(&mut self, parts: &[Expr], kind: Kind) {
        let parts: Vec<&Expr> = parts.iter().collect();
        self.swapped_pairs(&parts, kind);
    }

    fn swapped_pairs(&mut self, parts: &[&Expr], kind: Kind) {
        for pair in parts.windows(2) {
            let [a, b] = pair else { continue };
            let between = Span { start: a.span.end, end: b.span.start, ..a.span };
            // A parenthesis around one of them is not in the tree.
            if self.text(between).contains(['(', ')']) {
                continue;
            }
            let text = format!("{}{}{}", self.text(b.span), self.text(between), self.text(a.span));
            self.add(kind, a.span.to(b.span), text);
        }
    }

    fn unary(&mut self, expr: &Expr, op: UnaryOp, inner: &Expr) {
        let kind = if op == UnaryOp::Not { Kind::ConditionNegated } else { Kind::Operator };
        self.add(kind, expr.span, self.closed(inner));
        self.expression(inner);
    }

    fn binary(&mut self, expr: &Expr, op: BinaryOp, a: &Expr, b: &Expr) {
        let (left, right) = (self.closed(a), self.closed(b));
        let is_logical = matches!(op, BinaryOp::And | BinaryOp::Or);
        for sign in other_signs(op) {
            let kind = if is_logical { Kind::ConditionWeakened } else { Kind::Operator };
            self.add(kind, expr.span, format!("{left} {sign} {right}"));
        }
        if is_logical {
            self.add(Kind::ConditionWeakened, expr.span, left.as_str());
            self.add(Kind::ConditionWeakened, expr.span, right.as_str());
        } else if !is_commutative(op) {
            self.add(Kind::OperandsSwapped, expr.span, format!("{right} {} {left}", op.sign()));
        }
        self.expression(a);
        self.expression(b);
    }

    fn condition(&mut self, condition: &Expr) {
        self.add(Kind::ConditionNegated, condition.span, format!("!({})", self.text(condition.span)));
        self.expression(condition);
    }

    fn branches(&mut self, expr: &Expr, condition: &Condition, then: &Block, other: Option<&Block>) {
        match condition {
            Condition::Expr(condition) => self.condition(condition),
            Condition::Let(_, value) => self.expression(value),
        }
        let refuses = |block: &Block| block.result.as_ref().is_some_and(|result| refuses(result));
        if let Some(other) = other {
            // An `else if` is a block that is not written with braces.
            let text = self.text(other.span).to_owned();
            let kind = if refuses(then) { Kind::RefusalDropped } else { Kind::BranchDropped };
            self.add(kind, expr.span, text);
            if matches!(condition, Condition::Expr(_)) {
                let kind = if refuses(other) { Kind::RefusalDropped } else { Kind::BranchDropped };
                self.add(kind, expr.span, self.text(then.span).to_owned());
            }
        }
        for block in [Some(then), other].into_iter().flatten() {
            let is_branch = matches!(&block.result, Some(result) if !matches!(result.kind, ExprKind::If(..)));
            if is_branch && !refuses(block) {
                self.add(Kind::RefusalAdded, block.span, "{ fail \"mutant\" }");
            }
            self.block(block);
        }
    }

    fn arm(&mut self, arm: &Arm) {
        let kind = if refuses(&arm.value) { Kind::RefusalDropped } else { Kind::BranchDropped };
        let whole = arm.span.to(arm.value.span);
        let after = self.text(Span { start: whole.end, end: whole.end + 1, ..whole });
        let end = whole.end + u32::from(after == ",");
        self.add(kind, Span { end, ..whole }, "");
        arm.patterns.iter().for_each(|pattern| self.pattern(pattern));
        self.expression(&arm.value);
    }

    fn pattern(&mut self, pattern: &ArmPattern) {
        match pattern {
            ArmPattern::Literal(literal) => self.expression(literal),
            ArmPattern::Name(name) => self.name(name),
            ArmPattern::Tuple(parts, _) => parts.iter().for_each(|part| self.pattern(part)),
            ArmPattern::Wild(_) => {}
        }
    }

    fn list(&mut self, items: &[ListItem]) {
        let exprs: Vec<&Expr> = items.iter().map(|(ListItem::One(expr) | ListItem::Spread(expr))| expr).collect();
        let singles: Vec<&Expr> = match items.iter().all(|item| matches!(item, ListItem::One(_))) {
            true => exprs.clone(),
            false => Vec::new(),
        };
        self.swapped_pairs(&singles, Kind::OperandsSwapped);
        if let [.., before, last] = singles.as_slice() {
            let start = self.comma_after(before.span.end, last.span);
            self.add(Kind::OperandDropped, Span { start, ..last.span }, "");
        }
        exprs.into_iter().for_each(|expr| self.expression(expr));
    }

    /// The text of an expression, with parentheses where it could stick to its neighbours.
    fn closed(&self, expr: &Expr) -> String {
        let text = self.text(expr.span);
        let is_open = matches!(
            expr.kind,
            ExprKind::Binary(..)
                | ExprKind::Coalesce(..)
                | ExprKind::Unary(..)
                | ExprKind::If(..)
                | ExprKind::Match(..)
                | ExprKind::Fail(_)
                | ExprKind::Since(_)
        );
        if is_open { format!("({text})") } else { text.to_owned() }
    }
}

/// The arguments that are given by place.
fn positional(args: &[Argument]) -> Vec<&Expr> {
    args.iter().filter_map(|arg| if let Argument::Positional(expr) = arg { Some(expr) } else { None }).collect()
}

fn end_of(argument: &Argument) -> u32 {
    match argument {
        Argument::Positional(expr) | Argument::Spread(expr) | Argument::Named(_, expr) => expr.span.end,
    }
}

/// Whether an expression only refuses: `fail ".."`, or an `if` whose branches do.
fn refuses(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Fail(_) | ExprKind::Since(_) => true,
        ExprKind::Block(block) => block.result.as_ref().is_some_and(|result| refuses(result)),
        ExprKind::If(_, then, other) => {
            let is_refusal = |block: &Block| {
                block.result.as_ref().is_some_and(|result| refuses(result))
                    || matches!(block.statements.as_slice(), [.., Statement { kind: StatementKind::Expr(last), .. }] if refuses(last))
            };
            is_refusal(then) && other.as_deref().is_none_or(is_refusal)
        }
        _ => false,
    }
}
