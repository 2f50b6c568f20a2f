//! Reads the tensors of a torch.save file that contains a dictionary of tensors, such as a state dict.

use rustc_hash::FxHashMap;

use crate::pickle::{Id, Object, Pickle};
use crate::zip::Archive;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};

/// The entry with the pickle.
pub const PICKLE: &str = "data.pkl";

/// The maximal nesting of parameters.
const MAX_DEPTH: u32 = 8;

/// A tensor as a pickle describes it: a view of a storage, which is a separate entry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SavedTensor {
    /// The name of the entry with the storage, below `data/`.
    pub key: String,
    pub dtype: Dtype,
    pub sizes: Vec<i64>,
    pub strides: Vec<i64>,
    pub offset: i64,
}

/// All tensors of the dictionary by name; an error for values that are not plain tensors, because they may not be
/// needed.
pub fn saved_tensors(archive: &Archive) -> Result<FxHashMap<String, Result<SavedTensor>>> {
    let big = archive.text("byteorder")? == Some("big");
    if big {
        return Err(archive.error("byteorder", Error::unsupported("it was written on a big-endian machine")));
    }
    let in_pickle = |error: Error| archive.error(PICKLE, error);
    let pickle = Pickle::read(archive.bytes(PICKLE)?).map_err(in_pickle)?;
    let pairs = pickle.dict(pickle.root());
    let pairs = pairs.ok_or_else(|| in_pickle(Error::input("it is not a dictionary of tensors")))?;
    let mut tensors = FxHashMap::with_capacity_and_hasher(pairs.len(), rustc_hash::FxBuildHasher);
    for (key, value) in pairs {
        let name =
            pickle.str(*key).ok_or_else(|| in_pickle(Error::input("a key of the dictionary is not a string")))?;
        tensors.insert(name.to_owned(), tensor(&pickle, *value, 0));
    }
    Ok(tensors)
}

/// The tensor that an object of a pickle describes. `depth` is that of nested parameters, 0 at first.
pub fn tensor(pickle: &Pickle<'_>, id: Id, depth: u32) -> Result<SavedTensor> {
    let Object::Call(call) = pickle.get(id) else {
        return Err(Error::unsupported("it is not a tensor"));
    };
    let (module, function) = pickle.global(call.callable).unwrap_or(("?", "?"));
    let args = pickle.tuple(call.args).unwrap_or_default();
    match (module, function, args) {
        ("torch._utils", "_rebuild_parameter" | "_rebuild_parameter_with_state", [tensor_id, ..])
            if depth < MAX_DEPTH =>
        {
            tensor(pickle, *tensor_id, depth + 1)
        }
        ("torch._utils", "_rebuild_tensor_v2", [storage, offset, sizes, strides, _, _, rest @ ..]) => {
            check_flags(pickle, rest.first())?;
            view(pickle, *storage, None, [*offset, *sizes, *strides])
        }
        ("torch._utils", "_rebuild_tensor_v3", [storage, offset, sizes, strides, _, _, dtype, rest @ ..]) => {
            check_flags(pickle, rest.first())?;
            let dtype = pickle.global(*dtype).and_then(|(_, name)| Dtype::from_torch_name(name));
            let dtype = dtype.ok_or_else(|| Error::unsupported("its element type is unknown"))?;
            view(pickle, *storage, Some(dtype), [*offset, *sizes, *strides])
        }
        ("torch._utils", "_rebuild_meta_tensor_no_storage", _) => {
            Err(Error::input("its data is not in the archive (it was saved from a meta tensor)"))
        }
        _ => {
            let error = Error::unsupported(format!("it was saved as a Python object ({module}.{function})"));
            Err(error.help(
                "only plain tensors can be read without Python; save the program with a current version of torch",
            ))
        }
    }
}

/// A view of a storage; without a dtype, that of the storage.
pub fn view(
    pickle: &Pickle<'_>,
    storage: Id,
    dtype: Option<Dtype>,
    [offset, sizes, strides]: [Id; 3],
) -> Result<SavedTensor> {
    let damaged = || Error::input("the description of the tensor is damaged");
    let Object::Persistent(storage) = pickle.get(storage) else {
        return Err(damaged());
    };
    let Some([_, class, key, ..]) = pickle.tuple(*storage) else {
        return Err(damaged());
    };
    let (_, class) = pickle.global(*class).ok_or_else(damaged)?;
    let unknown = || Error::unsupported(format!("its element type is unknown ({class})"));
    Ok(SavedTensor {
        key: pickle.str(*key).ok_or_else(damaged)?.to_owned(),
        dtype: dtype.or_else(|| dtype_of_storage(class)).ok_or_else(unknown)?,
        sizes: pickle.ints(sizes).ok_or_else(damaged)?,
        strides: pickle.ints(strides).ok_or_else(damaged)?,
        offset: pickle.int(offset).ok_or_else(damaged)?,
    })
}

/// A lazy conjugation or negation is stored as a flag; the bytes do not include it.
fn check_flags(pickle: &Pickle<'_>, flags: Option<&Id>) -> Result<()> {
    for (name, value) in flags.and_then(|flags| pickle.dict(*flags)).unwrap_or_default() {
        if matches!(pickle.get(*value), Object::Bool(true)) {
            let name = pickle.str(*name).unwrap_or("?");
            return Err(Error::unsupported(format!("it is a lazy view (`{name}`) of another tensor")));
        }
    }
    Ok(())
}

fn dtype_of_storage(class: &str) -> Option<Dtype> {
    Some(match class {
        "FloatStorage" => Dtype::Float32,
        "DoubleStorage" => Dtype::Float64,
        "HalfStorage" => Dtype::Float16,
        "BFloat16Storage" => Dtype::Bfloat16,
        "LongStorage" => Dtype::Int64,
        "IntStorage" => Dtype::Int32,
        "ShortStorage" => Dtype::Int16,
        "CharStorage" => Dtype::Int8,
        "ByteStorage" => Dtype::Uint8,
        "BoolStorage" => Dtype::Bool,
        "ComplexFloatStorage" => Dtype::Complex64,
        "ComplexDoubleStorage" => Dtype::Complex128,
        "QInt8Storage" => Dtype::Int8,
        "QUInt8Storage" => Dtype::Uint8,
        "QInt32Storage" => Dtype::Int32,
        _ => return None,
    })
}
