//! Adapters: weights that can be replaced when a model runs. They are inputs with default values, and files of ONNX Runtime
//! (`.onnx_adapter`), which are flatbuffers.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use flatbuffers::{FlatBufferBuilder, VOffsetT, Vector, WIPOffset};

use crate::model::{Initializer, Model, number};
use crate::write::Staged;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::{Payload, Weight};

/// What ONNX Runtime calls these files.
const IDENTIFIER: &str = "TORT";
/// The version of the format, and those of an adapter and its model, which ONNX Runtime does not compare.
const VERSION: i32 = 1;
/// Offsets in a flatbuffer have 31 bits.
const LIMIT: u64 = i32::MAX as u64;

/// The fields of a table, by their numbers in the schema.
const fn field(number: VOffsetT) -> VOffsetT {
    4 + 2 * number
}

/// A vector of bytes at a multiple of 8, because ONNX Runtime reads the elements in place: a vector of larger numbers whose length is that of
/// the bytes.
fn aligned<'a>(builder: &mut FlatBufferBuilder<'a>, mut bytes: Vec<u8>) -> WIPOffset<Vector<'a, u64>> {
    let len = bytes.len();
    bytes.resize(len.next_multiple_of(8), 0);
    builder.start_vector::<u64>(bytes.len() / 8);
    for chunk in bytes.rchunks_exact(8) {
        builder.push(chunk.try_into().map_or(0, u64::from_le_bytes));
    }
    builder.end_vector(len)
}

/// Gives inputs of the model, which were weights, these as their defaults.
///
/// # Errors
/// A weight that is not an input.
pub fn add_defaults(model: &mut Model, weights: &[Arc<Weight>]) -> Result<()> {
    for weight in weights {
        let graph = model.proto.graph.as_ref();
        if !graph.is_some_and(|graph| graph.input.iter().any(|input| input.name() == weight.name)) {
            return Err(Error::internal(format!("the adapter weight `{}` is not an input", weight.name)));
        }
        let (name, dtype, weight) = (weight.name.clone(), weight.dtype, Arc::clone(weight));
        model.weights.push(Initializer { name, dtype, weight });
    }
    Ok(())
}

/// The weights of a model that are inputs with defaults.
pub fn of_model(model: &Model) -> Vec<&Initializer> {
    let Some(graph) = &model.proto.graph else { return Vec::new() };
    let is_input = |weight: &&Initializer| graph.input.iter().any(|input| input.name() == weight.name);
    model.weights.iter().filter(is_input).collect()
}

/// Writes weights as an adapter; the names are those of the inputs.
///
/// # Errors
/// More than 2 GiB, which the format cannot hold, or whatever prevents writing.
pub fn write(path: &Path, weights: &[(&str, &Weight)]) -> Result<u64> {
    let payloads = weights.iter().map(|(_, weight)| Payload::new(weight)).collect::<Result<Vec<_>>>()?;
    let total: u64 = payloads.iter().map(Payload::len).sum();
    if total + (weights.len() as u64 + 1) * 4096 > LIMIT {
        return Err(Error::unsupported(format!("the adapter has {total} bytes, but its format ends at 2 GiB")));
    }
    let mut builder = FlatBufferBuilder::new();
    let mut parameters = Vec::with_capacity(weights.len());
    for ((name, weight), payload) in weights.iter().zip(&payloads) {
        let mut bytes = Vec::new();
        payload.write(&mut bytes)?;
        let data = aligned(&mut builder, bytes);
        let dims = builder.create_vector(&weight.sizes);
        let name = builder.create_string(name);
        let table = builder.start_table();
        builder.push_slot_always(field(0), name);
        builder.push_slot_always(field(1), dims);
        builder.push_slot_always(field(2), number(weight.dtype)?);
        builder.push_slot_always(field(3), data);
        parameters.push(builder.end_table(table));
    }
    let parameters = builder.create_vector(&parameters);
    let table = builder.start_table();
    builder.push_slot_always(field(0), VERSION);
    builder.push_slot_always(field(1), VERSION);
    builder.push_slot_always(field(2), VERSION);
    builder.push_slot_always(field(3), parameters);
    let root = builder.end_table(table);
    builder.finish(root, Some(IDENTIFIER));
    let mut staged = Staged::create(path)?;
    staged.file().write_all(builder.finished_data())?;
    staged.commit()?;
    Ok(builder.finished_data().len() as u64)
}
