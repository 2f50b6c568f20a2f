//! The builder on small graphs, shown as text.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::dtype::Dtype::{self, Bool, Float16, Float32, Float64, Int32, Int64, Uint8};
use crate::graph::{Attr, Graph};

fn s(name: &str) -> SymInt {
    SymInt::symbol(name)
}

fn n(value: i64) -> SymInt {
    SymInt::from(value)
}

fn float(sizes: &[SymInt]) -> Type {
    Type::tensor(Float32, sizes.to_vec())
}

/// The graph's nodes and initializers, without the frame.
fn finished(mut cx: Builder, outputs: &[Value]) -> (Graph, String) {
    for (i, value) in outputs.iter().enumerate() {
        cx.output(&format!("out{i}"), *value);
    }
    let graph = cx.finish().unwrap();
    let text = graph.to_string();
    (graph, text)
}

fn one(cx: &mut Builder, op: &'static str, inputs: Vec<In>, attrs: Vec<(&'static str, Attr)>) -> Value {
    cx.node1(op, inputs, attrs).unwrap()
}

#[test]
fn explore() {
    for opset in [9, 13, 18, 26] {
        let mut cx = Builder::new(opset);
        cx.set_origin(Origin {
            node_name: "gelu_1".into(),
            module: Some("layer1.0".into()),
            rule: "aten::gelu".into(),
            ..Origin::default()
        });
        let x = cx.input("x", float(&[s("b"), s("t") * 2 + 1, n(64)]));
        let g = one(&mut cx, "Gelu", vec![x.into()], vec![]);
        let y = cx.reshape(g, &[s("b"), (s("t") * 2 + 1) * n(64)]).unwrap();
        let z = cx.reshape(g, &[s("b") * (s("t") * 2 + 1), n(64)]).unwrap();
        let w = cx.reshape(g, &[s("b") * n(2), s("t") * 2 + 1, n(32)]).unwrap();
        let e = cx.expand(z, &[s("t"), n(-1), n(-1)]).unwrap();
        let c = one(&mut cx, "Concat", vec![In::Values(vec![e, e])], vec![("axis", Attr::Int(0))]);
        let i = cx.input("i", Type::sized(Int64, &[3]));
        let r = one(&mut cx, "Add", vec![i.into(), (&(s("t") - 5).floor_div(&n(2))).into()], vec![]);
        let (_, text) = finished(cx, &[y, z, w, c, r, r, x]);
        println!("{text}");
    }
}
