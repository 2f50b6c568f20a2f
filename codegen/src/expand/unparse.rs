//! From the checked tree back to the syntax tree, which the formatter prints. Implicit conversions are left out, and nodes of
//! operators with a sign are written with it.

use aten2onnx_opmap::source::Span;
use aten2onnx_opmap::syntax::ast::{
    self, Argument, ArmPattern, BinaryOp, Block, ExprKind, Ident, ListItem, OnnxName, OpName, UnaryOp,
};
use aten2onnx_opmap::tree::{
    AttrForm, Builtin, Expr, Input, Item, Kind, Names, Node, Outputs, Param, Pattern, Program, Stated, Statement, Text,
    short_name,
};
use aten2onnx_opmap::types::Ty;
use aten2onnx_opmap::visit;
use aten2onnx_schemas::operators::Operators;

/// Converts checked expressions. It needs the rules for the names of parameters.
pub(super) struct Unparser<'a> {
    pub program: &'a Program,
    /// The signs of operators.
    pub operators: &'a Operators,
}

impl Unparser<'_> {
    /// A body: a block if it has statements or branches, else an expression.
    pub fn body(&self, expr: &Expr) -> ast::Body {
        match &expr.kind {
            Kind::Block(..) | Kind::If { .. } | Kind::IfLet { .. } | Kind::Match { .. } => {
                ast::Body::Block(self.block(expr))
            }
            _ => ast::Body::Expr(self.expr(expr)),
        }
    }

    fn expr(&self, expr: &Expr) -> ast::Expr {
        let kind = match &expr.kind {
            Kind::Int(i64::MAX) => name_expr("INT64_MAX"),
            Kind::Int(i64::MIN) => name_expr("INT64_MIN"),
            Kind::Int(i) => ExprKind::Int(*i),
            Kind::Float(x) => float(*x),
            Kind::Bool(b) => name_expr(if *b { "True" } else { "False" }),
            Kind::Str(text) => ExprKind::Str(text.clone()),
            Kind::Dtype(name) | Kind::Local(name) => name_expr(name),
            Kind::None => name_expr("None"),
            Kind::Opset => name_expr("opset"),
            Kind::Outputs => name_expr("outputs"),
            Kind::Convert(inner) => return self.expr(inner),
            Kind::Unary(op, inner) => ExprKind::Unary(*op, self.boxed(inner)),
            Kind::Binary(op, a, b) => ExprKind::Binary(*op, self.boxed(a), self.boxed(b)),
            Kind::Node(node) => self.node(node),
            Kind::Rule(name, args) => {
                let map = self.program.maps.iter().find(|m| m.function.name == *name);
                let params = map.map_or(&[][..], |m| &m.function.params);
                ExprKind::Rule(op_name(name), self.arguments(params, args))
            }
            Kind::Fn(name, args) => self.call(&self.program.fns, name, args),
            Kind::Extern(name, args) => self.call(&self.program.externs, name, args),
            Kind::Builtin(builtin, args) => ExprKind::Call(
                ident(builtin_name(*builtin)),
                args.iter().map(|a| Argument::Positional(self.expr(a))).collect(),
            ),
            Kind::If { condition, then, other, .. } => {
                ExprKind::If(ast::Condition::Expr(self.boxed(condition)), self.block(then), self.otherwise(other))
            }
            Kind::IfLet { name, value, then, other, .. } => {
                let condition = ast::Condition::Let(ident(name), self.boxed(value));
                ExprKind::If(condition, self.block(then), self.otherwise(other))
            }
            Kind::Match { value, arms } => {
                ExprKind::Match(self.boxed(value), arms.iter().map(|arm| self.arm(arm)).collect())
            }
            Kind::Coalesce { value, other, .. } => ExprKind::Coalesce(self.boxed(value), self.boxed(other)),
            Kind::List(items) => self.list(items),
            Kind::Comprehension { element, names, list, condition } => ExprKind::Comprehension {
                element: self.boxed(element),
                pattern: binding(names),
                list: self.boxed(list),
                condition: condition.as_ref().map(|c| self.boxed(c)),
            },
            Kind::Tuple(parts) => ExprKind::Tuple(parts.iter().map(|p| self.expr(p)).collect()),
            Kind::Index(list, index) => ExprKind::Index(self.boxed(list), self.boxed(index)),
            Kind::Slice(list, from, to) => {
                let end = |e: &Option<Box<Expr>>| e.as_ref().map(|e| self.boxed(e));
                ExprKind::Slice(self.boxed(list), end(from), end(to))
            }
            Kind::Block(..) => ExprKind::Block(self.block(expr)),
            Kind::Fail(parts) => ExprKind::Fail(parts.iter().map(|part| self.text(part)).collect()),
            Kind::Since(opset, reason) => ExprKind::Since(ast::SinceClause {
                opset: *opset,
                opset_span: Span::default(),
                reason: reason.clone(),
                span: Span::default(),
            }),
            Kind::Fold { state, init, item, list, body } => ExprKind::Fold {
                state: binding(state),
                init: self.boxed(init),
                item: binding(item),
                list: self.boxed(list),
                body: self.block(body),
            },
            Kind::Closure(params, body) => {
                let names = params.names.iter().map(|n| ident(n)).collect();
                let rest = params.rest.as_deref().map(ident);
                ExprKind::Closure(ast::ClosureParams { names, rest }, self.boxed(body))
            }
            Kind::Apply(graph, args) => {
                let name = if let Kind::Local(name) = &graph.kind { name } else { "graph" };
                let arg = |item: &Item| match item {
                    Item::One(e) => Argument::Positional(self.expr(e)),
                    Item::Spread(e) => Argument::Spread(self.expr(e)),
                };
                ExprKind::Call(ident(name), args.iter().map(arg).collect())
            }
        };
        expr_of(kind)
    }

    fn boxed(&self, expr: &Expr) -> Box<ast::Expr> {
        Box::new(self.expr(expr))
    }

    fn text(&self, part: &Text) -> ast::TextPart {
        match part {
            Text::Text(text) => ast::TextPart::Text(text.clone()),
            Text::Value(value) => ast::TextPart::Expr(self.expr(value)),
        }
    }

    fn list(&self, items: &[Item]) -> ExprKind {
        // `xs + ys` is checked as `[..xs, ..ys]`.
        if let [Item::Spread(a), Item::Spread(b)] = items {
            return ExprKind::Binary(BinaryOp::Add, self.boxed(a), self.boxed(b));
        }
        let item = |item: &Item| match item {
            Item::One(e) => ListItem::One(self.expr(e)),
            Item::Spread(e) => ListItem::Spread(self.expr(e)),
        };
        ExprKind::List(items.iter().map(item).collect())
    }

    fn block(&self, expr: &Expr) -> Block {
        let (statements, result) = match &expr.kind {
            Kind::Block(statements, result) => (statements.as_slice(), &**result),
            _ => (&[][..], expr),
        };
        let nothing = matches!(&result.kind, Kind::Tuple(parts) if parts.is_empty());
        Block {
            statements: statements.iter().map(|s| self.statement(s)).collect(),
            result: (!nothing).then(|| self.boxed(result)),
            trailing: Vec::new(),
            blank_before_result: false,
            span: Span::default(),
        }
    }

    fn statement(&self, statement: &Statement) -> ast::Statement {
        let kind = match statement {
            Statement::Let(names, value) => ast::StatementKind::Let(binding(names), self.expr(value)),
            Statement::Since(opset, reason, span) => ast::StatementKind::Since(ast::SinceClause {
                opset: *opset,
                opset_span: *span,
                reason: reason.clone(),
                span: *span,
            }),
            Statement::Expr(expr) => ast::StatementKind::Expr(self.expr(expr)),
        };
        ast::Statement { comments: Vec::new(), blank_before: false, kind, span: Span::default() }
    }

    fn otherwise(&self, other: &Expr) -> Option<Box<Block>> {
        let nothing = matches!(&other.kind, Kind::Tuple(parts) if parts.is_empty());
        (!nothing).then(|| Box::new(self.block(other)))
    }

    fn arm(&self, arm: &aten2onnx_opmap::tree::MatchArm) -> ast::Arm {
        ast::Arm {
            comments: Vec::new(),
            blank_before: false,
            patterns: arm.patterns.iter().map(|p| self.pattern(p)).collect(),
            value: self.expr(&arm.value),
            span: Span::default(),
        }
    }

    fn pattern(&self, pattern: &Pattern) -> ArmPattern {
        match pattern {
            Pattern::Wild => ArmPattern::Wild(Span::default()),
            Pattern::Bind { name, .. } => ArmPattern::Name(ident(name)),
            Pattern::None => ArmPattern::Name(ident("None")),
            Pattern::Literal(value) => {
                let value = self.expr(value);
                match value.kind {
                    ExprKind::Name(name) => ArmPattern::Name(name),
                    _ => ArmPattern::Literal(value),
                }
            }
            Pattern::Tuple(parts) => {
                ArmPattern::Tuple(parts.iter().map(|p| self.pattern(p)).collect(), Span::default())
            }
        }
    }

    fn call(&self, functions: &[aten2onnx_opmap::tree::Function], name: &str, args: &[Expr]) -> ExprKind {
        let params = functions.iter().find(|f| f.name == name).map_or(&[][..], |f| &f.params);
        ExprKind::Call(ident(short_name(name)), self.arguments(params, args))
    }

    /// Arguments without those that equal their default. Arguments after the first of these are named.
    fn arguments(&self, params: &[Param], args: &[Expr]) -> Vec<Argument> {
        let mut written = Vec::new();
        let mut by_name = false;
        for (param, arg) in params.iter().zip(args) {
            let value = self.expr(arg);
            if param.default.as_ref().is_some_and(|default| self.expr(default) == value) {
                by_name = true;
            } else if by_name {
                written.push(Argument::Named(ident(&param.name), value));
            } else {
                written.push(Argument::Positional(value));
            }
        }
        written
    }

    fn node(&self, node: &Node) -> ExprKind {
        if let Some(signed) = self.signed(node) {
            return signed;
        }
        let input = |input: &Input| match (input, visit::input_expr(input)) {
            (Input::Spread(list), _) => Argument::Spread(self.expr(list)),
            (_, Some(value)) => Argument::Positional(self.expr(value)),
            (_, None) => Argument::Positional(expr_of(name_expr("None"))),
        };
        let mut args: Vec<Argument> = node.inputs.iter().map(input).collect();
        for (name, form, value) in &node.attrs {
            args.push(Argument::Named(ident(&format!("{name}_{}", suffix(*form))), self.expr(value)));
        }
        match &node.outputs {
            Outputs::One | Outputs::Tuple(_) => {}
            Outputs::List(count) => args.push(Argument::Named(ident("outputs"), self.expr(count))),
            Outputs::Typed(stated) => args.push(Argument::Named(ident("outputs"), self.stated(stated))),
        }
        ExprKind::Node(onnx_name(&node.op), args)
    }

    /// `tensor(float32, [n, 3])`, or several in parentheses.
    fn stated(&self, stated: &[Stated]) -> ast::Expr {
        let one = |output: &Stated| {
            let args = [&output.dtype, &output.shape].map(|e| Argument::Positional(self.expr(e)));
            expr_of(ExprKind::Call(ident("tensor"), args.into()))
        };
        match stated {
            [output] => one(output),
            all => expr_of(ExprKind::Tuple(all.iter().map(one).collect())),
        }
    }

    /// `a + b` for `Add(a, b)`.
    fn signed(&self, node: &Node) -> Option<ExprKind> {
        if !node.attrs.is_empty() || !matches!(node.outputs, Outputs::One) {
            return None;
        }
        let is_tensor = |input: &Input| matches!(input, Input::Tensor(e) if e.ty == Ty::Tensor || e.ty == Ty::Never);
        let plain = |input: &Input| is_tensor(input) || matches!(input, Input::Number(_));
        match (node.op.as_str(), node.inputs.as_slice()) {
            ("Neg", [a]) if is_tensor(a) => Some(ExprKind::Unary(UnaryOp::Neg, self.boxed(visit::input_expr(a)?))),
            ("Not", [a]) if is_tensor(a) => Some(ExprKind::Unary(UnaryOp::Not, self.boxed(visit::input_expr(a)?))),
            (op, [a, b]) if (is_tensor(a) || is_tensor(b)) && plain(a) && plain(b) => {
                let sign = BinaryOp::of_sign(self.operators.sign(op)?)?;
                Some(ExprKind::Binary(sign, self.boxed(visit::input_expr(a)?), self.boxed(visit::input_expr(b)?)))
            }
            _ => None,
        }
    }
}

fn suffix(form: AttrForm) -> char {
    match form {
        AttrForm::Float | AttrForm::Floats => 'f',
        AttrForm::Int | AttrForm::Ints => 'i',
        AttrForm::Str | AttrForm::Strs => 's',
        AttrForm::Tensor => 't',
        AttrForm::Graph => 'g',
    }
}

fn builtin_name(builtin: Builtin) -> &'static str {
    match builtin {
        Builtin::Len => "len",
        Builtin::Range => "range",
        Builtin::Enumerate => "enumerate",
        Builtin::Zip => "zip",
        Builtin::Reversed => "reversed",
        Builtin::Min | Builtin::MinOf => "min",
        Builtin::Max | Builtin::MaxOf => "max",
        Builtin::Sum => "sum",
        Builtin::Abs => "abs",
        Builtin::Int => "int",
        Builtin::Float => "float",
    }
}

fn float(x: f64) -> ExprKind {
    match x {
        f64::INFINITY => name_expr("INF"),
        f64::NEG_INFINITY => ExprKind::Unary(UnaryOp::Neg, Box::new(expr_of(name_expr("INF")))),
        _ if x.is_nan() => name_expr("NAN"),
        _ if x == std::f64::consts::PI => name_expr("PI"),
        _ => ExprKind::Float(x, format!("{x:?}")),
    }
}

fn expr_of(kind: ExprKind) -> ast::Expr {
    ast::Expr { kind, span: Span::default() }
}

fn name_expr(name: &str) -> ExprKind {
    ExprKind::Name(ident(name))
}

fn ident(text: &str) -> Ident {
    Ident { text: text.to_owned(), span: Span::default() }
}

fn binding(names: &Names) -> ast::Pattern {
    match names {
        Names::One(name) => ast::Pattern::Name(ident(name)),
        Names::Tuple(names) => ast::Pattern::Tuple(names.iter().map(|n| ident(n)).collect(), Span::default()),
    }
}

fn op_name(name: &str) -> OpName {
    let (namespace, rest) = name.split_once("::").unwrap_or(("", name));
    let (op, overload) = rest.split_once('.').map_or((rest, None), |(op, overload)| (op, Some(overload)));
    OpName { namespace: ident(namespace), name: ident(op), overload: overload.map(ident), span: Span::default() }
}

fn onnx_name(name: &str) -> OnnxName {
    let (domain, op) = name.rsplit_once("::").map_or((None, name), |(domain, op)| (Some(ident(domain)), op));
    OnnxName { domain, name: ident(op), span: Span::default() }
}
