//! The drawings of the examples of all rules: no box covers another, edges lead down, and marks are on the nodes that differ.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::sync::LazyLock;

use aten2onnx_explorer::draw::{self, Frame, Mark};
use aten2onnx_onnx::graph::Graph;
use aten2onnx_opmap::tree::Example;
use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::MappingFiles;

static FILES: LazyLock<std::sync::Arc<MappingFiles>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mappings");
    std::sync::Arc::new(MappingFiles::replacing(&folder).expect("the rules are read"))
});

fn rules() -> Rules {
    Rules::of_files(FILES.clone())
}

fn examples() -> &'static [Example] {
    &FILES.checked().program.examples
}

fn example(text: &str) -> &'static Example {
    examples()
        .iter()
        .find(|example| example.text.trim_start_matches("example ") == text)
        .unwrap_or_else(|| panic!("no example `{text}`"))
}

fn graph(text: &str, opset: u32) -> Graph {
    aten2onnx_examples::graph(example(text), FILES.checked(), &rules(), opset).expect("the rule has a form")
}

/// The boxes of a drawing: left, top, width, height, and how deep they lie.
fn boxes(svg: &str) -> Vec<(i64, i64, i64, i64, usize)> {
    let number = |tag: &str, name: &str| -> i64 {
        let rest = tag.split(&format!(" {name}=")).nth(1).expect("the attribute exists");
        rest.split([' ', '>']).next().expect("a value").parse().expect("a number")
    };
    let (mut found, mut open) = (Vec::new(), vec![(0, 0)]);
    for tag in svg.split('<').skip(1) {
        if tag.starts_with("g ") {
            let (x, y) = *open.last().expect("open");
            let by = tag.split("translate(").nth(1).expect("a place").split(')').next().expect("a place");
            let (dx, dy) = by.split_once(',').expect("two numbers");
            open.push((x + dx.parse::<i64>().unwrap(), y + dy.parse::<i64>().unwrap()));
        } else if tag.starts_with("/g>") {
            open.pop();
        } else if tag.starts_with("rect ") {
            let (x, y) = *open.last().expect("open");
            found.push((x, y, number(tag, "width"), number(tag, "height"), open.len()));
        }
    }
    found
}

fn check(svg: &str, name: &str) {
    let boxes = boxes(svg);
    for (i, a) in boxes.iter().enumerate() {
        for b in boxes.iter().skip(i + 1).filter(|b| b.4 == a.4) {
            let apart = a.0 + a.2 <= b.0 || b.0 + b.2 <= a.0 || a.1 + a.3 <= b.1 || b.1 + b.3 <= a.1;
            assert!(apart, "{name}: {a:?} and {b:?} overlap");
        }
    }
    let size = |name: &str| -> i64 {
        svg.split(&format!(" {name}=")).nth(1).unwrap().split(' ').next().unwrap().parse().unwrap()
    };
    let (width, height) = (size("width"), size("height"));
    for (x, y, w, h, _) in boxes {
        assert!(x >= 0 && y >= 0 && x + w <= width && y + h <= height, "{name}: a box is outside");
    }
}

#[test]
fn no_drawing_of_an_example_has_boxes_that_overlap() {
    let rules = rules();
    let mut drawn = 0;
    for example in examples().iter().step_by(3) {
        for opset in [11, 18] {
            let Ok(graph) = aten2onnx_examples::graph(example, FILES.checked(), &rules, opset) else { continue };
            let svg = draw::svg(&graph, &Frame { label: &example.text, ..Frame::default() });
            check(&svg, &example.text);
            let count = draw::count(&graph);
            assert_eq!(svg.matches("data-n=").count(), count, "{}", example.text);
            assert_eq!(graph.lines().iter().filter(|line| line.op.is_some()).count(), count);
            assert!(draw::diff(&graph, &graph).is_same(), "{}", example.text);
            drawn += 1;
        }
    }
    assert!(drawn >= 1000, "{drawn} graphs were drawn");
}

#[test]
fn a_drawing_is_always_the_same() {
    let draw = || draw::svg(&graph("aten::gelu(f32[2, 3])", 13), &Frame { label: "aten::gelu", ..Frame::default() });
    assert_eq!(draw(), draw());
    insta::assert_snapshot!("gelu_at_13", draw().replace('<', "\n<"));
}

#[test]
fn a_lowered_operator_is_marked() {
    let (old, new) = (graph("aten::gelu(f32[2, 3])", 19), graph("aten::gelu(f32[2, 3])", 20));
    let diff = draw::diff(&old, &new);
    assert_eq!(diff.added, 1);
    assert_eq!(diff.removed, draw::count(&old));
    assert_eq!(diff.new.get("0"), Some(&Mark::Added));
    insta::assert_snapshot!("gelu_19_to_20", draw::marked_text(&old, &diff.old) + &draw::marked_text(&new, &diff.new));
}

#[test]
fn an_attribute_that_became_an_input_is_a_change() {
    let text = "aten::unsqueeze(f32[2, 3], 0)";
    let (old, new) = (graph(text, 12), graph(text, 13));
    let diff = draw::diff(&old, &new);
    assert_eq!((diff.added, diff.removed, diff.changed), (0, 0, 1));
    let svg = draw::svg(&new, &Frame { label: text, marks: Some(&diff.new), titles: true });
    assert!(
        svg.contains("class=\"n changed\" data-n=0") && svg.contains("<title>y0: float32[1, 2, 3]</title>"),
        "{svg}"
    );
}

/// A chain of `count` operators in which each third one also uses the first value and one far above.
fn long(count: u32) -> Graph {
    use aten2onnx_onnx::graph::{Body, Node, Source, Type, Value, ValueInfo};
    let ty = Type::tensor(aten2onnx_core::dtype::Dtype::Float32, vec![2.into()]);
    let info = |i: u32, source: Source| ValueInfo { name: format!("v{i}"), ty: ty.clone(), source };
    let mut values = vec![info(0, Source::Input)];
    let mut nodes = Vec::new();
    for i in 1..=count {
        values.push(info(i, Source::Node));
        let more = if i % 3 == 0 { vec![Some(Value::new(0)), Some(Value::new(i / 2))] } else { Vec::new() };
        let inputs = [Some(Value::new(i - 1))].into_iter().chain(more).collect();
        let outputs = vec![Some(Value::new(i))];
        nodes.push(Node { op: "Sum", name: format!("n{i}"), inputs, outputs, attrs: Vec::new(), origin: 0 });
    }
    let body = Body { inputs: vec![Value::new(0)], nodes, outputs: vec![Value::new(count)] };
    Graph { opset: 13, body, values, ..Graph::default() }
}

#[test]
fn long_graphs_are_drawn_and_compared() {
    let (old, new) = (long(800), long(801));
    check(&draw::svg(&old, &Frame::default()), "long");
    let diff = draw::diff(&old, &new);
    assert_eq!((diff.added, diff.removed), (1, 0));
}

#[test]
fn texts_are_escaped() {
    let mut graph = long(1);
    graph.values[0].name = "<a&\"b\">\u{1}".to_owned();
    let svg = draw::svg(&graph, &Frame { label: "<x>", ..Frame::default() });
    assert!(svg.contains("&lt;a&amp;&quot;b&quot;&gt; ") && svg.contains("aria-label=\"&lt;x&gt;\""), "{svg}");
}

#[test]
fn an_empty_graph_is_drawn() {
    let svg = draw::svg(&Graph { opset: 13, ..Graph::default() }, &Frame::default());
    assert!(svg.contains("0 nodes"), "{svg}");
}
