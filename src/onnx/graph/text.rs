//! Prints a graph as text for snapshots and `expand`: one node per line.

use std::fmt;

use super::{Attr, Body, Constant, Data, Graph, Node, Source, Value};
use aten2onnx_core::dtype::Dtype;

/// Larger constants are printed by type only.
const MAX_SHOWN: usize = 16;

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "opset {}", self.opset)?;
        for value in &self.initializers {
            let info = self.info(*value);
            write!(f, "{} {}", info.ty, info.name)?;
            match &info.source {
                Source::Constant(constant) => writeln!(f, " = {}", contents(constant))?,
                _ => writeln!(f)?,
            }
        }
        self.write_body(f, &self.body, 0)
    }
}

impl Graph {
    fn write_body(&self, f: &mut fmt::Formatter<'_>, body: &Body, depth: usize) -> fmt::Result {
        let inputs: Vec<String> = body.inputs.iter().map(|v| format!("{} {}", self.ty(*v), self.name(*v))).collect();
        let outputs: Vec<String> = body.outputs.iter().map(|v| format!("{} {}", self.ty(*v), self.name(*v))).collect();
        writeln!(f, "({}) -> ({}) {{", inputs.join(", "), outputs.join(", "))?;
        for node in &body.nodes {
            write!(f, "{:1$}", "", depth * 4 + 4)?;
            self.write_node(f, node, depth)?;
        }
        writeln!(f, "{:1$}}}", "", depth * 4)
    }

    fn write_node(&self, f: &mut fmt::Formatter<'_>, node: &Node, depth: usize) -> fmt::Result {
        let name = |v: &Option<Value>| v.map_or_else(String::new, |v| self.name(v).to_owned());
        let outputs: Vec<String> = node.outputs.iter().map(name).collect();
        let inputs: Vec<String> = node.inputs.iter().map(name).collect();
        write!(f, "{} = {}", outputs.join(", "), node.op)?;
        let attrs: Vec<String> =
            node.attrs.iter().filter_map(|(name, attr)| Some(format!("{name} = {}", self.attr_text(attr)?))).collect();
        if !attrs.is_empty() {
            write!(f, " <{}>", attrs.join(", "))?;
        }
        writeln!(f, "({})", inputs.join(", "))?;
        for (name, attr) in &node.attrs {
            for body in attr.bodies() {
                write!(f, "{:1$}{name} = ", "", depth * 4 + 8)?;
                self.write_body(f, body, depth + 2)?;
            }
        }
        Ok(())
    }

    fn attr_text(&self, attr: &Attr) -> Option<String> {
        Some(match attr {
            Attr::Float(v) => format!("{v:?}"),
            Attr::Int(v) => v.to_string(),
            Attr::Str(v) => format!("{v:?}"),
            Attr::Floats(v) => format!("{v:?}"),
            Attr::Ints(v) => format!("{v:?}"),
            Attr::Strs(v) => format!("{v:?}"),
            Attr::Tensor(v) => match self.constant(*v) {
                Some(constant) => format!("{} {}", self.ty(*v), contents(constant)),
                None => self.ty(*v).to_string(),
            },
            Attr::Graph(_) | Attr::Graphs(_) => return None,
            Attr::Message(_) => "...".to_owned(),
        })
    }
}

fn contents(constant: &Constant) -> String {
    if constant.len() > MAX_SHOWN {
        return "...".to_owned();
    }
    let elements: Vec<String> = match &constant.data {
        Data::Strings(strings) => strings.iter().map(|s| format!("{s:?}")).collect(),
        Data::Bytes(bytes) => elements(constant.dtype, bytes),
    };
    format!("{{{}}}", elements.join(", "))
}

fn elements(dtype: Dtype, bytes: &[u8]) -> Vec<String> {
    macro_rules! read {
        ($t:ty, $size:literal) => {
            bytes.as_chunks::<$size>().0.iter().map(|b| <$t>::from_le_bytes(*b).to_string()).collect()
        };
    }
    match dtype {
        Dtype::Float32 => read!(f32, 4),
        Dtype::Float64 => read!(f64, 8),
        Dtype::Float16 => read!(half::f16, 2),
        Dtype::Bfloat16 => read!(half::bf16, 2),
        Dtype::Int8 => read!(i8, 1),
        Dtype::Int16 => read!(i16, 2),
        Dtype::Int32 => read!(i32, 4),
        Dtype::Int64 => read!(i64, 8),
        Dtype::Uint8 => read!(u8, 1),
        Dtype::Uint16 => read!(u16, 2),
        Dtype::Uint32 => read!(u32, 4),
        Dtype::Uint64 => read!(u64, 8),
        Dtype::Bool => bytes.iter().map(|b| (*b != 0).to_string()).collect(),
        _ => bytes.iter().map(|b| format!("{b:#04x}")).collect(),
    }
}
