//! Infers `torch.get_default_dtype()` at the time of the export. Archives do not store it, but recorded results depend
//! on it: if no argument has or requests a float dtype, a float result has the default one.

use rustc_hash::FxHashMap;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_program::{Arg, Graph, Node, NodeOutput, Program, TensorMeta};
use aten2onnx_rules::effects::{self, Trait};

/// The default dtype; float32 if nothing depends on it, or if the evidence is contradictory.
pub fn default_float(program: &Program) -> Dtype {
    let mut found = None;
    let mut graphs = vec![&program.graph];
    while let Some(graph) = graphs.pop() {
        for node in &graph.nodes {
            graphs.extend(node.args.iter().filter_map(|(_, arg)| match arg {
                Arg::Graph(nested) => Some(nested.as_ref()),
                _ => None,
            }));
            let Some(shown) = implied_by(node, graph) else { continue };
            if *found.get_or_insert(shown) != shown {
                return Dtype::Float32;
            }
        }
    }
    found.unwrap_or(Dtype::Float32)
}

/// The default dtype, if the node's result depends on it.
fn implied_by(node: &Node, graph: &Graph) -> Option<Dtype> {
    let result = node.outputs.iter().find_map(|output| match output {
        NodeOutput::Tensor(name) => graph.tensors.get(name),
        _ => None,
    })?;
    let float = match result.dtype {
        // complex64 is also the one for bfloat16.
        Dtype::Complex128 => Dtype::Float64,
        Dtype::Complex32 => Dtype::Float16,
        dtype if dtype.is_float() => dtype,
        _ => return None,
    };
    let depends = node.target.starts_with("aten::")
        && !effects::is(&node.target, Trait::Gives(Dtype::Float64))
        && !node.args.iter().any(|(_, arg)| has_float(arg, &graph.tensors));
    depends.then_some(float)
}

/// Whether the argument is a float tensor or a dtype.
fn has_float(arg: &Arg, tensors: &FxHashMap<String, TensorMeta>) -> bool {
    let is_float = |name: &String| {
        let dtype = tensors.get(name).map(|meta| meta.dtype);
        dtype.is_none_or(|dtype| !dtype.is_int() && dtype != Dtype::Bool)
    };
    match arg {
        Arg::Dtype(_) => true,
        Arg::Tensor(name) => is_float(name),
        Arg::Tensors(names) => names.iter().flatten().any(is_float),
        _ => false,
    }
}
