//! Parts of the source that are kept as messages: their tensors get their own bytes, which are neither in the source's file, which may change,
//! nor in files beside it, which the result would look for in its own folder.

use super::tensors::Tensors;
use aten2onnx_core::error::Result;
use aten2onnx_onnx::proto::{AttributeProto, GraphProto, NodeProto, TensorProto};

/// The same for all tensors of nodes, also in their bodies.
pub fn own_nodes(nodes: &mut [NodeProto], tensors: &mut Tensors<'_>) -> Result<()> {
    nodes.iter_mut().flat_map(|node| &mut node.attribute).try_for_each(|attribute| own_attribute(attribute, tensors))
}

/// The same for all tensors of a graph.
pub fn own_graph(graph: &mut GraphProto, tensors: &mut Tensors<'_>) -> Result<()> {
    let sparse = graph.sparse_initializer.iter_mut();
    let sparse = sparse.flat_map(|sparse| sparse.values.iter_mut().chain(&mut sparse.indices));
    graph.initializer.iter_mut().chain(sparse).try_for_each(|tensor| own_tensor(tensor, tensors))?;
    own_nodes(&mut graph.node, tensors)
}

/// The same for all tensors of an attribute.
pub fn own_attribute(attribute: &mut AttributeProto, tensors: &mut Tensors<'_>) -> Result<()> {
    let sparse = attribute.sparse_tensor.iter_mut().chain(&mut attribute.sparse_tensors);
    let sparse = sparse.flat_map(|sparse| sparse.values.iter_mut().chain(&mut sparse.indices));
    let plain = attribute.t.iter_mut().chain(&mut attribute.tensors);
    plain.chain(sparse).try_for_each(|tensor| own_tensor(tensor, tensors))?;
    attribute.g.iter_mut().chain(&mut attribute.graphs).try_for_each(|graph| own_graph(graph, tensors))
}

fn own_tensor(tensor: &mut TensorProto, tensors: &mut Tensors<'_>) -> Result<()> {
    use aten2onnx_onnx::proto::tensor_proto::DataLocation;
    if tensor.data_location() == DataLocation::External {
        return tensors.embed(tensor);
    }
    tensors.own(tensor)
}
