//! A model whose inner values are outputs, so that they can be looked at.

use super::super::index::Index;
use super::super::made::{Made, raise_ir};
use super::super::places::no_such;
use aten2onnx_core::error::Result;
use aten2onnx_onnx::proto::ValueInfoProto;
use aten2onnx_onnx::read::Source;
use aten2onnx_onnx::{ExternalData, pack};

/// The model with these values as outputs after its own. Their types are left to the runtime.
///
/// # Errors
/// Values that the model does not have.
pub fn watched(source: &Source, names: &[String]) -> Result<Made> {
    let mut model = pack::streamed(source)?;
    let added = {
        let index = Index::of(&model)?;
        for name in names {
            if index.producer(name).is_none() {
                let error = no_such("computed value", name, index.outputs.iter().copied());
                return Err(error.at(source.file.path.display().to_string()));
            }
        }
        let is_new = |name: &&String| !index.outputs.contains(&name.as_str());
        let value = |name: &String| ValueInfoProto { name: Some(name.clone()), ..ValueInfoProto::default() };
        names.iter().filter(is_new).map(value).collect::<Vec<_>>()
    };
    if let Some(graph) = &mut model.proto.graph {
        graph.output.extend(added);
    }
    raise_ir(&mut model);
    Ok(Made::of(model, Vec::new(), &[source], ExternalData::Auto))
}
