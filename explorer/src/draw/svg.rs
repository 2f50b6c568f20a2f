//! Writes a laid out graph as SVG for a page of HTML: integers, short class names, unquoted attributes, no ids and no style, because a
//! page has many of them.

use std::collections::BTreeMap;
use std::fmt::Write;

use aten2onnx_onnx::graph::{Graph, Node};

use super::layout::Line;
use super::scene::{HEAD, Inner, Item, LINE, Scene, What, scene};
use super::{Frame, Marks};

/// The graph as SVG.
pub fn svg(graph: &Graph, frame: &Frame<'_>) -> String {
    let scene = scene(graph);
    let (width, height) = (whole(scene.placed.width), whole(scene.placed.height));
    let mut out = Writer { graph, marks: frame.marks, titles: frame.titles, text: String::new() };
    let label = escaped(frame.label);
    out.put(format_args!(
        r#"<svg class=g role=img aria-label="{label}" width={width} height={height} viewBox="0 0 {width} {height}">"#
    ));
    out.put(format_args!("<desc>{}</desc>", escaped(&description(graph))));
    out.scene(&scene, "");
    out.text.push_str("</svg>");
    out.text
}

/// `3 nodes: Mul (2), Erf`
fn description(graph: &Graph) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    let mut at: BTreeMap<&str, usize> = BTreeMap::new();
    graph.body.visit(&mut |node| {
        let i = *at.entry(node.op).or_insert(counts.len());
        match counts.get_mut(i) {
            Some((_, count)) => *count += 1,
            None => counts.push((node.op, 1)),
        }
    });
    let nodes: usize = counts.iter().map(|(_, count)| count).sum();
    let operator = |(op, count): &(&str, usize)| if *count == 1 { (*op).to_owned() } else { format!("{op} ({count})") };
    let operators: Vec<String> = counts.iter().map(operator).collect();
    let count = if nodes == 1 { "1 node".to_owned() } else { format!("{nodes} nodes") };
    if nodes == 0 { count } else { format!("{count}: {}", operators.join(", ")) }
}

struct Writer<'a> {
    graph: &'a Graph,
    marks: Option<&'a Marks>,
    titles: bool,
    text: String,
}

impl Writer<'_> {
    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(text);
    }

    fn scene(&mut self, scene: &Scene<'_>, within: &str) {
        self.edges(&scene.placed.lines);
        for (item, corner) in scene.items.iter().zip(&scene.placed.corners) {
            self.item(item, *corner, within);
        }
    }

    /// All edges of a body as one path.
    fn edges(&mut self, lines: &[Line]) {
        if lines.is_empty() {
            return;
        }
        let mut path = String::new();
        for line in lines {
            let ((x, y), (to, end)) = (line.from, line.to);
            let (x, y, to, end) = (whole(x), whole(y), whole(to), whole(end));
            let (leaves, enters) = (whole(line.leaves), whole(line.enters));
            let half = (leaves + enters) / 2;
            let _ = write!(path, "M{x} {y}");
            if leaves != y {
                let _ = write!(path, "V{leaves}");
            }
            let _ = match x == to {
                true => write!(path, "V{enters}"),
                false => write!(path, "C{x} {half} {to} {half} {to} {enters}"),
            };
            if end != enters {
                let _ = write!(path, "V{end}");
            }
            if line.arrives {
                path.push_str("m-3-5l3 5 3-5");
            }
        }
        self.put(format_args!(r#"<path class=e d="{path}"/>"#));
    }

    fn item(&mut self, item: &Item<'_>, (x, y): (f64, f64), within: &str) {
        let (x, y, width, height) = (whole(x), whole(y), whole(item.width), whole(item.height));
        let mut path = String::new();
        match &item.what {
            What::Node(at, node) => {
                path = if within.is_empty() { at.to_string() } else { format!("{within}.{at}") };
                let mark = self.marks.and_then(|marks| marks.get(&path));
                let class = mark.map_or("n".to_owned(), |mark| format!("\"n {}\"", mark.class()));
                self.put(format_args!("<g class={class} data-n={path} transform=translate({x},{y})>"));
                if self.titles {
                    self.put(format_args!("<title>{}</title>", escaped(&self.outputs(node))));
                }
                self.put(format_args!("<rect width={width} height={height} />"));
                if let Some(mark) = mark {
                    self.put(format_args!("<text class=m x={} y=12>{}</text>", width - 10, mark.sign()));
                }
            }
            end => {
                let class = match end {
                    What::Outer(_) => "\"p o\"",
                    _ => "p",
                };
                self.put(format_args!("<g class={class} transform=translate({x},{y})>"));
                self.put(format_args!("<rect width={width} height={height} />"));
            }
        }
        let middle = width / 2;
        self.put(format_args!("<text x={middle} y=15>{}</text>", escaped(&item.title)));
        for (i, line) in item.lines.iter().enumerate() {
            let y = whole(HEAD + LINE * i as f64 + 8.0);
            self.put(format_args!("<text class=a x={middle} y={y}>{}</text>", escaped(line)));
        }
        for (at, text) in &item.types {
            let (x, y) = (whole(item.width / 2.0 + at) + 4, height + 11);
            self.put(format_args!("<text class=t x={x} y={y}>{}</text>", escaped(text)));
        }
        for (i, inner) in item.bodies.iter().enumerate() {
            self.inner(inner, &format!("{path}.{i}"));
        }
        self.text.push_str("</g>");
    }

    fn inner(&mut self, inner: &Inner<'_>, path: &str) {
        let (x, y) = (whole(inner.at.0), whole(inner.at.1));
        let (width, height) = (whole(inner.scene.placed.width), whole(inner.scene.placed.height));
        self.put(format_args!("<g class=b transform=translate({x},{y})>"));
        self.put(format_args!("<text class=l y=-4>{}</text>", escaped(inner.name)));
        self.put(format_args!("<rect width={width} height={height} />"));
        self.scene(&inner.scene, path);
        self.text.push_str("</g>");
    }

    /// `y0: float32[2, n]`, a line for each output.
    fn outputs(&self, node: &Node) -> String {
        let output = |value| format!("{}: {}", self.graph.name(value), self.graph.ty(value));
        let outputs: Vec<String> = node.outputs.iter().flatten().map(|value| output(*value)).collect();
        outputs.join("\n")
    }
}

fn whole(x: f64) -> i64 {
    x.round() as i64
}

/// The text for XML.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML has no other control characters.
            c if c.is_control() && c != '\n' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
