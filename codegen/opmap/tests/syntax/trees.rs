//! Generated trees: everything that the parser can produce, without places.

use aten2onnx_opmap::source::Span;
use aten2onnx_opmap::syntax::ast::*;
use aten2onnx_opmap::syntax::fact::{Clause, Fact, FactKind};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

const RESERVED: &[&str] =
    &["for", "in", "if", "else", "let", "match", "fail", "since", "ignore", "fold", "return", "map"];

fn ident(text: impl Into<String>) -> Ident {
    Ident { text: text.into(), span: Span::default() }
}

fn name() -> impl Strategy<Value = Ident> {
    let plain = "[a-z][a-z0-9_]{0,8}".prop_filter("reserved", |text| !RESERVED.contains(&text.as_str()));
    prop_oneof![8 => plain, 1 => Just("{name}".to_owned()), 1 => Just("x_{key}_y".to_owned())].prop_map(ident)
}

fn capitalised() -> impl Strategy<Value = Ident> {
    prop_oneof![6 => "[A-Z][a-zA-Z]{0,8}", 1 => Just("{Op}".to_owned())].prop_map(ident)
}

fn op_name() -> impl Strategy<Value = OpName> {
    (select(&["aten", "prims", "mylib"][..]), name(), option::of(prop_oneof![name(), capitalised()])).prop_map(
        |(namespace, name, overload)| OpName { namespace: ident(namespace), name, overload, span: Span::default() },
    )
}

fn onnx_name() -> impl Strategy<Value = OnnxName> {
    (option::of(Just(ident("com.microsoft"))), capitalised()).prop_map(|(domain, name)| OnnxName {
        domain,
        name,
        span: Span::default(),
    })
}

fn text() -> impl Strategy<Value = String> {
    "[a-zA-Z {}\"\\\\\n\t'/é]{0,24}"
}

fn comments() -> impl Strategy<Value = Vec<Comment>> {
    let comment = ("[ /!a-z]{0,8}[a-z]", any::<bool>()).prop_map(|(text, blank_before)| Comment {
        text,
        span: Span::default(),
        blank_before,
    });
    prop_oneof![4 => Just(Vec::new()), 1 => vec(comment, 1..3)]
}

fn docs() -> impl Strategy<Value = Vec<String>> {
    prop_oneof![2 => Just(Vec::new()), 1 => vec("[a-zA-Z /]{0,20}[a-z]|", 1..3)]
}

fn since() -> impl Strategy<Value = SinceClause> {
    (any::<u32>(), text()).prop_map(|(opset, reason)| SinceClause {
        opset,
        opset_span: Span::default(),
        reason,
        span: Span::default(),
    })
}

// ---------------------------------------------------------------- expressions

fn expr_of(kind: ExprKind) -> Expr {
    Expr { kind, span: Span::default() }
}

fn float() -> impl Strategy<Value = ExprKind> {
    select(&["0.5", "1e-5", "10.25", "1.0E+3", "0.0"][..])
        .prop_map(|text| ExprKind::Float(text.parse().unwrap(), text.to_owned()))
}

fn leaf() -> impl Strategy<Value = Expr> {
    prop_oneof![
        (0..=i64::MAX).prop_map(ExprKind::Int),
        float(),
        text().prop_map(ExprKind::Str),
        name().prop_map(ExprKind::Name),
        name().prop_map(ExprKind::Name),
        since().prop_map(ExprKind::Since),
        fail().prop_map(ExprKind::Fail),
    ]
    .prop_map(expr_of)
}

/// Alternating texts and expressions: adjacent texts would be parsed as one. Expressions in a string contain no strings.
fn fail() -> impl Strategy<Value = Vec<TextPart>> {
    let simple = prop_oneof![
        name().prop_map(ExprKind::Name),
        (name(), name()).prop_map(|(f, x)| ExprKind::Call(f, vec![Argument::Positional(expr_of(ExprKind::Name(x)))])),
        name().prop_map(|x| ExprKind::Block(block_of(expr_of(ExprKind::Name(x))))),
        (name(), name()).prop_map(|(x, y)| {
            let (x, y) = (expr_of(ExprKind::Name(x)), expr_of(ExprKind::Name(y)));
            ExprKind::If(Condition::Expr(Box::new(x)), block_of(y.clone()), Some(Box::new(block_of(y))))
        }),
    ];
    let text = text().prop_filter("empty", |text| !text.is_empty()).prop_map(TextPart::Text);
    vec((text, simple.prop_map(|kind| TextPart::Expr(expr_of(kind)))), 0..3)
        .prop_map(|pairs| pairs.into_iter().flat_map(|(text, expr)| [text, expr]).collect())
}

fn block_of(result: Expr) -> Block {
    Block {
        statements: Vec::new(),
        result: Some(Box::new(result)),
        trailing: Vec::new(),
        blank_before_result: false,
        span: Span::default(),
    }
}

pub fn expr() -> impl Strategy<Value = Expr> {
    leaf().prop_recursive(4, 40, 4, |inner| {
        let inner = inner.boxed();
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            2 => (onnx_name(), arguments(inner.clone())).prop_map(|(op, args)| ExprKind::Node(op, args)),
            1 => (op_name(), arguments(inner.clone())).prop_map(|(op, args)| ExprKind::Rule(op, args)),
            1 => (called(), arguments(inner.clone())).prop_map(|(f, args)| ExprKind::Call(f, args)),
            1 => (select(&[UnaryOp::Neg, UnaryOp::Not][..]), boxed()).prop_map(|(op, x)| ExprKind::Unary(op, x)),
            4 => (binary_op(), boxed(), boxed()).prop_map(|(op, a, b)| ExprKind::Binary(op, a, b)),
            1 => (boxed(), boxed()).prop_map(|(a, b)| ExprKind::Coalesce(a, b)),
            2 => (condition(inner.clone()), block(inner.clone()), option::of(block(inner.clone()).prop_map(Box::new)))
                .prop_map(|(test, then, other)| ExprKind::If(test, then, other)),
            1 => (boxed(), vec(arm(inner.clone()), 0..3)).prop_map(|(x, arms)| ExprKind::Match(x, arms)),
            1 => vec(list_item(inner.clone()), 0..4).prop_map(ExprKind::List),
            1 => (boxed(), pattern(), boxed(), option::of(boxed())).prop_map(|(element, pattern, list, condition)| {
                ExprKind::Comprehension { element, pattern, list, condition }
            }),
            1 => vec(inner.clone(), 2..4).prop_map(ExprKind::Tuple),
            1 => (boxed(), boxed()).prop_map(|(xs, i)| ExprKind::Index(xs, i)),
            1 => (boxed(), option::of(boxed()), option::of(boxed())).prop_map(|(xs, a, b)| ExprKind::Slice(xs, a, b)),
            1 => block(inner.clone()).prop_map(ExprKind::Block),
            1 => (pattern(), boxed(), pattern(), boxed(), block(inner.clone())).prop_map(
                |(state, init, item, list, body)| ExprKind::Fold { state, init, item, list, body },
            ),
            1 => (closure_params(), boxed()).prop_map(|(params, body)| ExprKind::Closure(params, body)),
        ]
        .prop_map(expr_of)
    })
}

fn closure_params() -> impl Strategy<Value = ClosureParams> {
    (vec(name(), 0..3), option::of(name())).prop_map(|(names, rest)| ClosureParams { names, rest })
}

/// Functions with lower-case names.
fn called() -> impl Strategy<Value = Ident> {
    name()
}

fn binary_op() -> impl Strategy<Value = BinaryOp> {
    use BinaryOp::*;
    select(&[Or, And, Eq, Ne, Lt, Le, Gt, Ge, In, Add, Sub, Mul, Div, Rem, Pow][..])
}

fn arguments(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = Vec<Argument>> {
    let argument = prop_oneof![
        3 => inner.clone().prop_map(Argument::Positional),
        1 => inner.clone().prop_map(Argument::Spread),
        2 => (name(), inner).prop_map(|(name, value)| Argument::Named(name, value)),
    ];
    vec(argument, 0..4)
}

fn condition(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = Condition> {
    prop_oneof![
        inner.clone().prop_map(|value| Condition::Expr(Box::new(value))),
        (name(), inner).prop_map(|(name, value)| Condition::Let(name, Box::new(value))),
    ]
}

fn list_item(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = ListItem> {
    prop_oneof![3 => inner.clone().prop_map(ListItem::One), 1 => inner.prop_map(ListItem::Spread)]
}

fn pattern() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        name().prop_map(Pattern::Name),
        vec(name(), 1..3).prop_map(|names| Pattern::Tuple(names, Span::default())),
    ]
}

fn arm(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = Arm> {
    let literal = prop_oneof![
        (0..100i64).prop_map(ExprKind::Int),
        float(),
        text().prop_map(ExprKind::Str),
        (0..9i64).prop_map(|value| ExprKind::Unary(UnaryOp::Neg, Box::new(expr_of(ExprKind::Int(value))))),
    ];
    let pattern = prop_oneof![
        Just(ArmPattern::Wild(Span::default())),
        literal.prop_map(|kind| ArmPattern::Literal(expr_of(kind))),
        name().prop_map(ArmPattern::Name),
        vec(name().prop_map(ArmPattern::Name), 1..3).prop_map(|names| ArmPattern::Tuple(names, Span::default())),
    ];
    (comments(), any::<bool>(), vec(pattern, 1..3), inner).prop_map(|(comments, blank_before, patterns, value)| Arm {
        comments,
        blank_before,
        patterns,
        value,
        span: Span::default(),
    })
}

fn block(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = Block> {
    let kind = prop_oneof![
        3 => (pattern(), inner.clone()).prop_map(|(pattern, value)| StatementKind::Let(pattern, value)),
        1 => (name(), text()).prop_map(|(name, why)| StatementKind::Ignore(name, why)),
        1 => since().prop_map(StatementKind::Since),
        1 => inner.clone().prop_map(StatementKind::Return),
        2 => inner.clone().prop_map(StatementKind::Expr),
    ];
    let statement = (comments(), any::<bool>(), kind).prop_map(|(comments, blank_before, kind)| Statement {
        comments,
        blank_before,
        kind,
        span: Span::default(),
    });
    let statements = prop_oneof![2 => Just(Vec::new()), 1 => vec(statement, 1..3)];
    (statements, option::weighted(0.8, inner.prop_map(Box::new)), comments(), any::<bool>()).prop_map(
        |(statements, result, trailing, blank_before_result)| Block {
            statements,
            result,
            trailing,
            blank_before_result,
            span: Span::default(),
        },
    )
}

// ---------------------------------------------------------------- items

fn ty() -> impl Strategy<Value = TypeExpr> {
    let of = |kind| TypeExpr { kind, span: Span::default() };
    let leaf = select(&["Tensor", "int", "SymInt", "str", "Scalar", "{T}"][..])
        .prop_map(move |name| of(TypeExprKind::Name(name.to_owned())));
    leaf.prop_recursive(2, 6, 3, move |inner| {
        prop_oneof![
            inner.clone().prop_map(|ty| TypeExprKind::Optional(Box::new(ty))),
            (inner.clone(), option::of(0..9u32)).prop_map(|(ty, size)| TypeExprKind::List(Box::new(ty), size)),
            vec(inner, 0..3).prop_map(TypeExprKind::Tuple),
        ]
        .prop_map(of)
    })
}

fn params(keyword_only: bool) -> impl Strategy<Value = Vec<Param>> {
    let default = select(&["1", "-1", "1e-05", "1.", "None", "[0,1]", "[]", "\"none\"", "'none'", "Mean", "{d}"][..]);
    let param = (ty(), name(), option::of(default.prop_map(ident)));
    (vec(param, 0..6), 0..8usize).prop_map(move |(params, first)| {
        let of = |(at, (ty, name, default))| {
            let keyword_only = keyword_only && at >= first;
            Param { ty, name, default, keyword_only, span: Span::default() }
        };
        params.into_iter().enumerate().map(of).collect()
    })
}

fn body() -> impl Strategy<Value = Body> {
    prop_oneof![expr().prop_map(Body::Expr), block(expr().boxed()).prop_map(Body::Block)]
}

fn row() -> impl Strategy<Value = Row> {
    let column = prop_oneof![
        capitalised().prop_map(ExprKind::Name),
        op_name().prop_map(ExprKind::Path),
        (0..9i64).prop_map(ExprKind::Int),
        float(),
        text().prop_map(ExprKind::Str),
        (0..9i64).prop_map(|value| ExprKind::Unary(UnaryOp::Neg, Box::new(expr_of(ExprKind::Int(value))))),
    ]
    .prop_map(expr_of);
    let trailing = comments().prop_map(|comments| comments.into_iter().next());
    (comments(), docs(), any::<bool>(), "[a-z_]{1,5}(\\.[A-Z][a-z]{0,5})?", vec(column, 0..3), trailing).prop_map(
        |(comments, docs, blank_before, key, columns, trailing)| Row {
            comments,
            docs,
            blank_before,
            key: ident(key),
            columns,
            trailing,
            span: Span::default(),
        },
    )
}

fn map() -> impl Strategy<Value = Map> {
    let returned = (ty(), option::of("[a-z]{1,6}".prop_filter("reserved", |text| !RESERVED.contains(&text.as_str()))))
        .prop_map(|(ty, name)| Return { ty, name: name.map(ident) });
    let rows = option::weighted(0.3, vec(row(), 0..4));
    (op_name(), params(true), vec(returned, 0..3), option::weighted(0.2, since()), body(), rows).prop_map(
        |(op, params, returns, since, body, rows)| Map {
            op,
            params,
            returns,
            since,
            body,
            rows,
            header_span: Span::default(),
        },
    )
}

fn lower() -> impl Strategy<Value = Lower> {
    let outputs = prop_oneof![
        Just(LowerOutputs::Single),
        vec(capitalised(), 0..3).prop_map(LowerOutputs::Named),
        vec(name(), 1..3).prop_map(LowerOutputs::List),
    ];
    let params = (vec(name(), 0..20), option::of(name()));
    (onnx_name(), any::<u32>(), params, outputs, body()).prop_map(|(op, before, (params, rest), outputs, body)| {
        let (before_span, header_span) = (Span::default(), Span::default());
        Lower { op, before, before_span, params, rest, outputs, body, header_span }
    })
}

fn fuse() -> impl Strategy<Value = Fuse> {
    (name(), params(false), expr(), option::of(expr()), body()).prop_map(|(name, params, pattern, condition, body)| {
        Fuse { name, params, pattern, condition, body, header_span: Span::default() }
    })
}

fn example_value() -> impl Strategy<Value = ExampleValue> {
    let dtype = || select(&["f32", "i64", "bool", "bf16"][..]).prop_map(str::to_owned);
    let size = prop_oneof![(0..9i64).prop_map(ExampleSize::Known), "[a-z]".prop_map(ExampleSize::Symbolic),];
    let number = || prop_oneof![(-9..9i32).prop_map(f64::from), Just(f64::INFINITY), -1e20..1e20f64];
    let literal = (dtype(), 1..3usize, 0..3usize, any::<bool>(), vec(number(), 6)).prop_map(
        |(dtype, rows, columns, flat, elements)| {
            let sizes = if flat { vec![columns as i64] } else { vec![rows as i64, columns as i64] };
            let count = sizes.iter().product::<i64>() as usize;
            ExampleValue::Literal { dtype, sizes, elements: elements[..count].to_vec() }
        },
    );
    let closure = (closure_params(), name()).prop_map(|(params, result)| {
        let body = expr_of(ExprKind::Block(block_of(expr_of(ExprKind::Name(result)))));
        ExampleValue::Graph(Box::new(expr_of(ExprKind::Closure(params, Box::new(body)))))
    });
    let leaf = prop_oneof![
        (dtype(), vec(size, 0..3), option::of((number(), number())))
            .prop_map(|(dtype, sizes, range)| ExampleValue::Tensor { dtype, sizes, range }),
        literal,
        any::<i64>().prop_map(ExampleValue::Int),
        (-1e20..1e20f64).prop_map(ExampleValue::Float),
        Just(ExampleValue::Float(f64::NEG_INFINITY)),
        any::<bool>().prop_map(ExampleValue::Bool),
        text().prop_map(ExampleValue::Str),
        Just(ExampleValue::None),
        "[a-z]{1,8}".prop_map(ExampleValue::Name).prop_filter("a constant", |value| {
            !matches!(value, ExampleValue::Name(name) if name == "true" || name == "false")
        }),
        closure,
    ];
    leaf.prop_recursive(2, 6, 3, |inner| vec(inner, 0..3).prop_map(ExampleValue::List))
}

fn example() -> impl Strategy<Value = Example> {
    let target = prop_oneof![
        op_name().prop_map(ExampleTarget::Map),
        onnx_name().prop_map(ExampleTarget::Lower),
        (onnx_name(), any::<u32>()).prop_map(|(op, from)| ExampleTarget::Raise(op, ident(from.to_string()), from)),
    ];
    let arg = (option::of(name()), example_value()).prop_map(|(name, value)| ExampleArg {
        name,
        value,
        span: Span::default(),
    });
    (target, vec(arg, 0..5), vec((name(), 0..99i64), 0..2)).prop_map(|(target, args, with)| Example {
        target,
        args,
        with,
    })
}

fn fact() -> impl Strategy<Value = Fact> {
    let clause = vec(name(), 1..4).prop_map(|words| Clause { words, span: Span::default() });
    (select(FactKind::ALL.as_slice()), op_name(), vec(clause, 0..3), option::of(expr()))
        .prop_map(|(kind, op, clauses, value)| Fact { kind, op, clauses, value })
}

fn item() -> impl Strategy<Value = Item> {
    let same = (onnx_name(), any::<u32>(), any::<u32>(), text()).prop_map(|(op, from, to, why)| Same {
        op,
        from,
        to,
        numbers_span: Span::default(),
        why,
    });
    let function = (any::<bool>(), called(), params(false), ty(), body())
        .prop_map(|(public, name, params, returns, body)| Fn { public, name, params, returns, body });
    let because = text().prop_map(|reason| Because { reason, span: Span::default() });
    let is = (name(), vec(name(), 0..3)).prop_map(|(word, args)| Is { word, args });
    let clauses = (option::of(is), vec(onnx_name(), 0..3), option::of(because), vec(since(), 0..2));
    let extern_fn = (any::<bool>(), called(), params(false), ty(), clauses).prop_map(
        |(public, name, params, returns, (is, emits, because, since))| ExternFn {
            public,
            name,
            params,
            returns,
            is,
            emits,
            because,
            since,
        },
    );
    let unsupported = (op_name(), text()).prop_map(|(op, reason)| Unsupported { op, reason });
    let kind = prop_oneof![
        4 => map().prop_map(ItemKind::Map),
        2 => lower().prop_map(ItemKind::Lower),
        1 => lower().prop_map(ItemKind::Raise),
        1 => fuse().prop_map(ItemKind::Fuse),
        1 => same.prop_map(ItemKind::Same),
        2 => function.prop_map(ItemKind::Fn),
        1 => extern_fn.prop_map(ItemKind::ExternFn),
        1 => unsupported.prop_map(ItemKind::Unsupported),
        2 => fact().prop_map(ItemKind::Fact),
        3 => example().prop_map(ItemKind::Example),
    ];
    (comments(), docs(), any::<bool>(), kind).prop_map(|(comments, docs, blank_before, kind)| Item {
        comments,
        docs,
        blank_before,
        kind,
        span: Span::default(),
    })
}

pub fn file() -> impl Strategy<Value = File> {
    (docs(), vec(item(), 0..4), comments()).prop_map(|(docs, items, trailing)| File { docs, items, trailing })
}
