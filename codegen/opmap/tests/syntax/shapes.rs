//! The shape of trees: precedence, comments and spans.

use aten2onnx_opmap::diagnostic::Diagnostic;
use aten2onnx_opmap::source::Sources;
use aten2onnx_opmap::syntax::ast::*;
use aten2onnx_opmap::syntax::{parse_file, print_file};

fn parse(text: &str) -> (Sources, File, Vec<Diagnostic>) {
    let mut sources = Sources::default();
    let id = sources.add("mappings/test.opmap", text);
    let mut out = Vec::new();
    let file = parse_file(&sources, id, &mut out);
    (sources, file, out)
}

fn items(text: &str) -> Vec<Item> {
    let (_, file, errors) = parse(text);
    assert!(errors.is_empty(), "{errors:#?}");
    file.items
}

fn map(text: &str) -> Map {
    match items(text).pop().unwrap().kind {
        ItemKind::Map(map) => map,
        other => panic!("{other:?}"),
    }
}

fn expr(text: &str) -> Expr {
    match map(&format!("map aten::f(Tensor x) -> Tensor = {text}")).body {
        Body::Expr(expr) => expr,
        Body::Block(block) => panic!("{block:?}"),
    }
}

/// An expression in prefix notation.
fn shape(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Int(value) => value.to_string(),
        ExprKind::Name(name) => name.text.clone(),
        ExprKind::Unary(op, x) => format!("({op:?} {})", shape(x)),
        ExprKind::Binary(op, a, b) => format!("({op:?} {} {})", shape(a), shape(b)),
        ExprKind::Coalesce(a, b) => format!("(?? {} {})", shape(a), shape(b)),
        ExprKind::Index(xs, i) => format!("(Index {} {})", shape(xs), shape(i)),
        ExprKind::Slice(xs, a, b) => {
            let bound = |bound: &Option<Box<Expr>>| bound.as_ref().map_or("_".to_owned(), |bound| shape(bound));
            format!("(Slice {} {} {})", shape(xs), bound(a), bound(b))
        }
        ExprKind::Node(name, args) => format!("Node {} {}", name.name.text, args.len()),
        ExprKind::Rule(op, args) => format!("Rule {} {}", op.name.text, args.len()),
        ExprKind::Call(name, args) => format!("Call {} {}", name.text, args.len()),
        ExprKind::Closure(params, body) => format!("(Closure {} {})", params.names.len(), shape(body)),
        other => format!("{other:?}").split(['(', ' ']).next().unwrap().to_owned(),
    }
}

#[test]
fn operators_bind_as_the_reference_says() {
    let cases = [
        ("a ?? b ?? c", "(?? a (?? b c))"),
        ("a ?? b || c", "(?? a (Or b c))"),
        ("a || b && c || d", "(Or (Or a (And b c)) d)"),
        ("a && b == c", "(And a (Eq b c))"),
        ("a in b && c", "(And (In a b) c)"),
        ("a < b + c", "(Lt a (Add b c))"),
        ("a - b - c", "(Sub (Sub a b) c)"),
        ("a + b * c % d", "(Add a (Rem (Mul b c) d))"),
        ("-a * b", "(Mul (Neg a) b)"),
        ("-a ** b", "(Neg (Pow a b))"),
        ("a ** -b ** c", "(Pow a (Neg (Pow b c)))"),
        ("a ** b ** c", "(Pow a (Pow b c))"),
        ("(a ** b) ** c", "(Pow (Pow a b) c)"),
        ("!a == b", "(Eq (Not a) b)"),
        ("--a", "(Neg (Neg a))"),
        ("-a[0]", "(Neg (Index a 0))"),
        ("a[1 ..][.. -2][b .. c][..]", "(Slice (Slice (Slice (Slice a 1 _) _ (Neg 2)) b c) _ _)"),
        ("|a, b| a + b", "(Closure 2 (Add a b))"),
        ("|| a", "(Closure 0 a)"),
        ("a || |b| b || c", "(Or a (Closure 1 (Or b c)))"),
    ];
    for (text, wanted) in cases {
        assert_eq!(shape(&expr(text)), wanted, "{text}");
    }
}

#[test]
fn calls_are_told_apart_by_their_names() {
    let cases = [
        ("Elu(x, alpha_f = 1)", "Node Elu 2"),
        ("com.microsoft::QuickGelu(x)", "Node QuickGelu 1"),
        ("com.microsoft::gelu(x)", "Node gelu 1"),
        ("{Op}(x)", "Node {Op} 1"),
        ("aten::mul.Tensor(x, ..xs,)", "Rule mul 2"),
        ("aten::Bool.Tensor(x)", "Rule Bool 1"),
        ("aten::{name}(x)", "Rule {name} 1"),
        ("mylib::thing(x)", "Rule thing 1"),
        ("to_float(x)", "Call to_float 1"),
        ("{f}_x (x)", "Call {f}_x 1"),
    ];
    for (text, wanted) in cases {
        assert_eq!(shape(&expr(text)), wanted, "{text}");
    }
}

#[test]
fn the_last_expression_without_semicolon_is_the_result() {
    let block = |text: &str| match expr(text).kind {
        ExprKind::Block(block) => (block.statements.len(), block.result.as_deref().map(shape)),
        other => panic!("{other:?}"),
    };
    assert_eq!(block("{ a }"), (0, Some("a".into())));
    assert_eq!(block("{ a; }"), (1, None));
    assert_eq!(block("{ if a { b } if c { d } }"), (1, Some("If".into())));
    assert_eq!(block("{ if a { b }; }"), (1, None));
    assert_eq!(block("{ if a { b } [c, d] }"), (1, Some("List".into())));
    assert_eq!(block("{ if a { b } -c }"), (1, Some("(Neg c)".into())));
    assert_eq!(block("{ match a { _ => b } (c, d) }"), (1, Some("Tuple".into())));
    assert_eq!(block("{ since 13 \"why\"; a }"), (1, Some("a".into())));
    assert_eq!(block("{ since 13 \"why\" }"), (0, Some("Since".into())));
}

#[test]
fn braces_without_blanks_are_placeholders() {
    assert_eq!(shape(&expr("{x}")), "{x}");
    assert_eq!(shape(&expr("{ x }")), "Block");
    assert_eq!(shape(&expr("a + {x}")), "(Add a {x})");
    assert_eq!(shape(&expr("if a { b } else {c}")), "If");
}

#[test]
fn words_of_the_language_may_name_parameters() {
    let map = map("map aten::f(Tensor in, Tensor from, *, int? for=None, Tensor(a!)[] map) -> () = g(from, in = to)");
    let names: Vec<_> = map.params.iter().map(|param| (param.name.text.as_str(), param.keyword_only)).collect();
    assert_eq!(names, [("in", false), ("from", false), ("for", true), ("map", true)]);
    assert!(map.returns.is_empty());
}

#[test]
fn else_if_is_a_block_with_the_span_of_its_if() {
    let ExprKind::If(_, _, Some(otherwise)) = expr("if a { b } else if c { d } else { e }").kind else { panic!() };
    let chained = otherwise.result.as_ref().unwrap();
    assert!(matches!(chained.kind, ExprKind::If(..)));
    assert_eq!(chained.span, otherwise.span);
}

#[test]
fn spans_cover_their_text() {
    let text = "/// Docs.\nmap aten::f(Tensor x) -> Tensor =\n    (a + b) * -c [0]  \n\nexample aten::f(f32[2])\n";
    let (sources, file, errors) = parse(text);
    assert!(errors.is_empty());
    let item = &file.items[0];
    assert_eq!(sources.text(item.span), "map aten::f(Tensor x) -> Tensor =\n    (a + b) * -c [0]");
    let ItemKind::Map(map) = &item.kind else { panic!() };
    assert_eq!(sources.text(map.header_span), "aten::f(Tensor x) -> Tensor");
    let Body::Expr(body) = &map.body else { panic!() };
    assert_eq!(sources.text(body.span), "(a + b) * -c [0]");
    let ExprKind::Binary(_, left, right) = &body.kind else { panic!() };
    assert_eq!(sources.text(left.span), "(a + b)");
    assert_eq!(sources.text(right.span), "-c [0]");
}

#[test]
fn a_text_is_cut_at_its_braces() {
    let ExprKind::Fail(parts) = expr(r#"fail "a {{b}} {rank(x)}{c}\n""#).kind else { panic!() };
    let shown: Vec<String> = parts
        .iter()
        .map(|part| match part {
            TextPart::Text(text) => text.clone(),
            TextPart::Expr(expr) => shape(expr),
        })
        .collect();
    assert_eq!(shown, ["a {b} ", "Call rank 1", "c", "\n"]);
}

#[test]
fn comments_and_documentation_stay_with_what_follows() {
    let (_, file, errors) = parse(
        "//! Head.\n\n// Free.\n\n/// Docs.\nmap aten::{n}(Tensor x) -> Tensor {\n    // First.\n    let y = x;\n\n    // Last.\n    \
         y\n} for {\n    // Row.\n    /// Row docs.\n    a => B, // beside\n    c,\n}\n// End.\n",
    );
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(file.docs, ["Head."]);
    let item = &file.items[0];
    assert_eq!(
        (item.comments[0].text.as_str(), item.comments[0].blank_before, item.blank_before),
        ("Free.", true, true)
    );
    assert_eq!(item.docs, ["Docs."]);
    let ItemKind::Map(map) = &item.kind else { panic!() };
    let Body::Block(body) = &map.body else { panic!() };
    assert_eq!(body.statements[0].comments[0].text, "First.");
    assert_eq!((body.trailing[0].text.as_str(), body.trailing[0].blank_before), ("Last.", true));
    let rows = map.rows.as_ref().unwrap();
    assert_eq!(rows[0].comments[0].text, "Row.");
    assert_eq!(rows[0].docs, ["Row docs."]);
    assert_eq!(rows[0].trailing.as_ref().unwrap().text, "beside");
    assert_eq!((rows[1].key.text.as_str(), rows[1].columns.len()), ("c", 0));
    assert_eq!(file.trailing[0].text, "End.");
}

#[test]
fn broken_items_do_not_hide_the_others() {
    let text = "map aten::a(Tensor x) -> Tensor = f(\nmap aten::b(Tensor x) -> Tensor = g(x\n)\nfn c() -> int = 1 2\n\
                fn d() -> int = )\nfn e() -> int = 5\nfun g() -> int = 3\n  example aten::a()\n";
    let (_, file, errors) = parse(text);
    let codes: Vec<_> = errors.iter().map(|error| error.code).collect();
    assert_eq!(codes, ["E0002", "E0002", "E0006", "E0001"]);
    let kinds: Vec<_> = file.items.iter().map(|item| std::mem::discriminant(&item.kind)).collect();
    assert_eq!(kinds.len(), 3, "b, e and the example");
}

#[test]
fn windows_lines_and_a_byte_order_mark_change_nothing() {
    let text = "\u{feff}//! Head.\n\n/// Docs.\nmap aten::f(Tensor x) -> Tensor {\n    // A comment.\n    x\n}\n";
    let (_, plain, errors) = parse(text.trim_start_matches('\u{feff}'));
    assert!(errors.is_empty());
    let (_, other, errors) = parse(&text.replace('\n', "\r\n"));
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(print_file(&plain), print_file(&other));
}

#[test]
fn example_values() {
    let item = items(
        "example aten::f(f32[2, n] in -0.5 .. 3, i64{{1, 2}, {3, 4}}, -INF, INT64_MAX, -2, true, None, int8, [1, \"a\"], g = |x| x) with n = 4",
    )
    .pop();
    let ItemKind::Example(example) = item.unwrap().kind else { panic!() };
    let values: Vec<_> = example.args.into_iter().map(|arg| arg.value).collect();
    let sizes = vec![ExampleSize::Known(2), ExampleSize::Symbolic("n".into())];
    assert_eq!(values[0], ExampleValue::Tensor { dtype: "f32".into(), sizes, range: Some((-0.5, 3.0)) });
    let elements = vec![1.0, 2.0, 3.0, 4.0];
    assert_eq!(values[1], ExampleValue::Literal { dtype: "i64".into(), sizes: vec![2, 2], elements });
    assert_eq!(values[2], ExampleValue::Float(f64::NEG_INFINITY));
    assert_eq!(values[3], ExampleValue::Int(i64::MAX));
    assert_eq!(values[4], ExampleValue::Int(-2));
    assert_eq!(values[5], ExampleValue::Bool(true));
    assert_eq!(values[6], ExampleValue::None);
    assert_eq!(values[7], ExampleValue::Name("int8".into()));
    assert!(matches!(&values[8], ExampleValue::List(list) if list.len() == 2));
    assert!(matches!(values[9], ExampleValue::Graph(_)));
    assert_eq!(example.with[0].1, 4);
}
