//! A program as text, for snapshots.

use std::fmt::Write;

use aten2onnx::program::{Arg, FloatArg, Graph, InputKind, IntArg, Node, NodeOutput, OutputKind, Program, TensorMeta};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::Weight;

pub fn program(program: &Program) -> String {
    let mut text = String::new();
    for bound in &program.weights {
        let shared = program.weights.iter().find(|other| std::sync::Arc::ptr_eq(&other.weight, &bound.weight)).unwrap();
        let same = if shared.value == bound.value { String::new() } else { format!(" (same as {})", shared.value) };
        writeln!(text, "weight {} = {}{same}", bound.value, weight(&bound.weight)).unwrap();
    }
    graph(&program.graph, "", &mut text);
    let mut ranges: Vec<_> = program.ranges.iter().collect();
    ranges.sort();
    for (symbol, (low, high)) in ranges {
        writeln!(text, "range {symbol}: {low:?} to {high:?}").unwrap();
    }
    for note in &program.notes {
        writeln!(text, "note: {note}").unwrap();
    }
    text
}

/// The elements of a weight in order, as it says that they lie.
pub fn elements(weight: &Weight) -> Vec<f64> {
    let count: i64 = weight.sizes.iter().product();
    let bytes = weight.storage.bytes();
    let width = (weight.dtype.bits() / 8) as usize;
    let one = |mut index: i64| {
        let mut at = weight.offset;
        for (size, stride) in weight.sizes.iter().zip(&weight.strides).rev() {
            at += index % size * stride;
            index /= size;
        }
        let element = &bytes[at as usize * width..][..width];
        match weight.dtype {
            Dtype::Float32 => f64::from(f32::from_le_bytes(element.try_into().unwrap())),
            Dtype::Float64 => f64::from_le_bytes(element.try_into().unwrap()),
            Dtype::Bfloat16 => f64::from(half::bf16::from_le_bytes(element.try_into().unwrap())),
            Dtype::Int64 => i64::from_le_bytes(element.try_into().unwrap()) as f64,
            Dtype::Bool | Dtype::Uint8 => f64::from(element[0]),
            Dtype::Complex64 => f64::from(f32::from_le_bytes(element[..4].try_into().unwrap())),
            _ => f64::NAN,
        }
    };
    (0..count).map(one).collect()
}

fn weight(weight: &Weight) -> String {
    let mut elements: Vec<String> = elements(weight).iter().take(4).map(|element| format!("{element:.4}")).collect();
    if weight.sizes.iter().product::<i64>() > 4 {
        elements.push("..".to_owned());
    }
    let Weight { name, dtype, sizes, strides, offset, .. } = weight;
    format!("{name}: {dtype}{sizes:?} strides {strides:?} offset {offset}: {}", elements.join(" "))
}

fn graph(graph: &Graph, indent: &str, text: &mut String) {
    for input in &graph.inputs {
        let kind = match &input.kind {
            InputKind::Tensor => meta(graph.tensors.get(&input.name)),
            InputKind::SymInt => format!("int {}", graph.sym_ints[&input.name]),
            InputKind::Constant(arg) => format!("constant {}", self::arg(arg, indent, text)),
            other => format!("{other:?}"),
        };
        writeln!(text, "{indent}input {}: {kind}", input.name).unwrap();
    }
    for node in &graph.nodes {
        self::node(node, graph, indent, text);
    }
    for output in &graph.outputs {
        let kind = match &output.kind {
            OutputKind::User => String::new(),
            other => format!(" ({other:?})"),
        };
        let value = arg(&output.value, indent, text);
        writeln!(text, "{indent}output {value}{kind}").unwrap();
    }
}

fn node(node: &Node, graph: &Graph, indent: &str, text: &mut String) {
    let mut args = Vec::new();
    for (name, arg) in &node.args {
        let value = self::arg(arg, indent, text);
        args.push(if name.is_empty() { value } else { format!("{name}={value}") });
    }
    let one = |name: &String| match (graph.tensors.get(name), graph.sym_ints.get(name)) {
        (Some(found), _) => format!("{name}: {}", meta(Some(found))),
        (None, Some(number)) => format!("{name}: int {number}"),
        (None, None) => name.clone(),
    };
    let outputs: Vec<String> = node
        .outputs
        .iter()
        .map(|output| match output {
            NodeOutput::Tensor(name) | NodeOutput::Sym(name) => one(name),
            NodeOutput::Tensors(names) => format!("[{}]", names.iter().map(one).collect::<Vec<_>>().join(", ")),
            NodeOutput::None => "None".to_owned(),
        })
        .collect();
    writeln!(text, "{indent}{} = {}({})", outputs.join(", "), node.target, args.join(", ")).unwrap();
    let place = [&node.module, &node.module_type, &node.source_line];
    let place: Vec<&str> = place.into_iter().flatten().map(String::as_str).collect();
    writeln!(text, "{indent}    # {}; {}", node.name, place.join("; ")).unwrap();
}

fn meta(meta: Option<&TensorMeta>) -> String {
    let Some(meta) = meta else { return "?".to_owned() };
    let list = |numbers: &[aten2onnx_core::sym::SymInt]| {
        numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    };
    format!("{}[{}] strides [{}]", meta.dtype, list(&meta.sizes), list(&meta.strides))
}

fn arg(arg: &Arg, indent: &str, text: &mut String) -> String {
    let names = |names: Vec<&str>| format!("[{}]", names.join(", "));
    match arg {
        Arg::None => "None".to_owned(),
        Arg::Tensor(name) => format!("%{name}"),
        Arg::Sym(name) => format!("${name}"),
        Arg::Tensors(list) => {
            let list: Vec<String> =
                list.iter().map(|name| name.as_ref().map_or("None".to_owned(), |name| format!("%{name}"))).collect();
            names(list.iter().map(String::as_str).collect())
        }
        Arg::Ints(list) => {
            let list = list.iter().map(|number| match number {
                IntArg::Known(number) => number.to_string(),
                IntArg::Named(name) => format!("${name}"),
            });
            format!("[{}]", list.collect::<Vec<_>>().join(", "))
        }
        Arg::SymFloats(list) => {
            let list = list.iter().map(|number| match number {
                FloatArg::Known(number) => number.to_string(),
                FloatArg::Named(name) => format!("${name}"),
            });
            format!("[{}]", list.collect::<Vec<_>>().join(", "))
        }
        Arg::Graph(nested) => {
            writeln!(text, "{indent}  graph {{").unwrap();
            graph(nested, &format!("{indent}    "), text);
            writeln!(text, "{indent}  }}").unwrap();
            "{graph}".to_owned()
        }
        other => format!("{other:?}"),
    }
}
