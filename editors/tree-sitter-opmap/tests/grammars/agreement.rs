//! The compiler and tree-sitter find the same items and the same calls, and reject the same texts.

use std::collections::BTreeSet;

use aten2onnx_opmap::syntax::ast::walk::{walk_body, walk_expr};
use aten2onnx_opmap::syntax::ast::{Body, Expr, ExprKind, File, ItemKind};
use aten2onnx_opmap::syntax::scan::{Kind, Token, scan};
use tree_sitter::{Node, Parser, Tree};

use crate::texts;

fn parse(text: &str) -> Tree {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_opmap::LANGUAGE.into()).unwrap();
    parser.parse(text, None).unwrap()
}

/// The first place that tree-sitter does not understand.
fn first_error(node: Node<'_>) -> Option<Node<'_>> {
    if node.is_error() || node.is_missing() {
        return Some(node);
    }
    (0..node.child_count()).filter_map(|i| node.child(i)).filter(Node::has_error).find_map(first_error)
}

#[test]
fn what_the_compiler_parses_tree_sitter_parses() {
    let mut failures = Vec::new();
    for text in texts::all() {
        let tree = parse(&text.text);
        if let Some(node) = first_error(tree.root_node()) {
            let line = text.text.lines().nth(node.start_position().row).unwrap_or("");
            failures.push(format!("{}:{}: {line}", text.place, node.start_position().row + 1));
            continue;
        }
        let (items, calls) = (items(&text.file), calls(&text.file, &text.text));
        let (own_items, own_calls) = (own_items(&tree), own_calls(&tree));
        if items != own_items {
            let differing: Vec<_> = items.symmetric_difference(&own_items).take(4).collect();
            failures.push(format!("{}: other items: {differing:?}", text.place));
        }
        if calls != own_calls {
            let differing: Vec<_> = calls.symmetric_difference(&own_calls).take(4).collect();
            failures.push(format!("{}: other calls: {differing:?}", text.place));
        }
    }
    assert!(failures.is_empty(), "{} texts differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn what_is_no_opmap_is_none_for_both() {
    for text in [
        "fn f(Tensor x) -> Tensor",
        "fn f(Tensor x) = x\n",
        "fn f(Tensor x) -> Tensor = x +\n",
        "fn f(Tensor x) -> Tensor = g(x\n",
        "fn f(Tensor x) -> Tensor = \"a\n",
        "lower Gelu 20 (X) = X\n",
        "mapp aten::relu(Tensor self) -> Tensor = self\n",
        "map relu(Tensor self) -> Tensor = self\n",
        "fn f(Tensor x) -> Tensor { let y = x }\n",
        "fn f(Tensor x) -> Tensor { x; y z }\n",
        "fn f(Tensor x) -> Tensor = match x { 1 = 2 }\n",
        "same Cast 13 19 \"why\"\n",
        "example aten::relu(f32[2)\n",
    ] {
        assert!(!texts::Text::new(String::new(), text.to_owned()).parses, "the compiler parses {text}");
        assert!(parse(text).root_node().has_error(), "tree-sitter parses {text}");
    }
}

/// The kind, the beginning and the end of each item.
fn items(file: &File) -> BTreeSet<(&'static str, usize, usize)> {
    let kind = |kind: &ItemKind| match kind {
        ItemKind::Map(_) => "map",
        ItemKind::Lower(_) => "lower",
        ItemKind::Raise(_) => "raise",
        ItemKind::Fuse(_) => "fuse",
        ItemKind::Same(_) => "same",
        ItemKind::Fn(_) => "function",
        ItemKind::ExternFn(_) => "extern_function",
        ItemKind::Unsupported(_) => "unsupported",
        ItemKind::ImportDomain(_) => "import_domain",
        ItemKind::Fact(_) => "fact",
        ItemKind::Example(_) => "example",
    };
    file.items.iter().map(|item| (kind(&item.kind), item.span.start as usize, item.span.end as usize)).collect()
}

fn own_items(tree: &Tree) -> BTreeSet<(&'static str, usize, usize)> {
    let root = tree.root_node();
    let children = (0..root.named_child_count()).filter_map(|i| root.named_child(i));
    let items = children.filter(|node| !node.kind().ends_with("comment"));
    items.map(|node| (node.kind(), node.start_byte(), node.end_byte())).collect()
}

/// Where the calls in bodies begin.
fn calls(file: &File, text: &str) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut note = |expr: &mut Expr| {
        if matches!(expr.kind, ExprKind::Node(..) | ExprKind::Rule(..) | ExprKind::Call(..)) {
            found.insert(expr.span.start as usize);
        }
    };
    for item in &file.items {
        let mut bodies: Vec<Body> = Vec::new();
        match &item.kind {
            ItemKind::Map(map) => bodies.push(map.body.clone()),
            ItemKind::Lower(lower) | ItemKind::Raise(lower) => bodies.push(lower.body.clone()),
            ItemKind::Fn(function) => bodies.push(function.body.clone()),
            ItemKind::Fact(fact) => fact.value.clone().iter_mut().for_each(|value| walk_expr(value, &mut note)),
            ItemKind::Fuse(fuse) => {
                bodies.push(fuse.body.clone());
                walk_expr(&mut fuse.pattern.clone(), &mut note);
                fuse.condition.clone().iter_mut().for_each(|condition| walk_expr(condition, &mut note));
            }
            _ => {}
        }
        bodies.iter_mut().for_each(|body| walk_body(body, &mut note));
    }
    // Those inside of texts are no syntax for tree-sitter.
    let strings: Vec<Token> = scan(text).into_iter().filter(|token| token.kind == Kind::Str).collect();
    found.retain(|at| !strings.iter().any(|string| string.range().contains(at)));
    found
}

fn own_calls(tree: &Tree) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut open = vec![tree.root_node()];
    while let Some(node) = open.pop() {
        if node.kind() == "call" {
            found.insert(node.start_byte());
        }
        if node.kind() != "example" {
            open.extend((0..node.child_count()).filter_map(|i| node.child(i)));
        }
    }
    found
}
