//! The weights of an archive, by their names in the state dict.
//!
//! There are four sources: raw payloads described by JSON (torch 2.9 and later), torch.save pickles in an entry (2.8)
//! or in a flat archive (2.7), which all refer to ranges of the mapped file; and memory of the caller. Names of the
//! same tensor share one [`Weight`].

use std::collections::HashMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::graph::{dtype, layout};
use super::schema::{self, PayloadConfig, PayloadMeta, parse};
use aten2onnx_archive::safetensors::Elsewhere;
use aten2onnx_archive::saved::{PICKLE, SavedTensor, saved_tensors};
use aten2onnx_archive::zip::Archive;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::{Storage, Weight};
use aten2onnx_program::{BoundWeight, TensorMeta};

/// The payloads of one kind.
#[derive(Debug)]
pub enum Payloads<'a> {
    /// No payloads.
    Nothing,
    /// One entry for each storage.
    Raw {
        /// The archive.
        archive: &'a Archive,
        /// The folder, with its slash.
        folder: &'static str,
        /// The entries of its `config`.
        config: FxHashMap<String, PayloadMeta<'a>>,
    },
    /// A torch.save archive within the archive.
    Saved {
        /// The inner archive.
        archive: Archive,
        /// The tensors; an error for each value that is not a plain tensor.
        tensors: FxHashMap<String, Result<SavedTensor>>,
    },
    /// Tensors of a live module.
    Lent(HashMap<String, Weight>),
}

impl<'a> Payloads<'a> {
    /// Payloads of the folder described by its entry `config`.
    pub fn raw(archive: &'a Archive, folder: &'static str, config: &str) -> Result<Payloads<'a>> {
        let parsed = parse::<PayloadConfig<'a>>(archive.bytes(config)?);
        let parsed = parsed.map_err(|error| archive.error(config, error))?;
        let config = parsed.config.0.into_iter().map(|(name, meta)| (name.into_string(), meta)).collect();
        Ok(Payloads::Raw { archive, folder, config })
    }

    /// Payloads of an entry that is a torch.save file.
    pub fn saved(archive: &Archive, entry: &str) -> Result<Payloads<'a>> {
        let archive = archive.nested(entry)?;
        let tensors = saved_tensors(&archive)?;
        Ok(Payloads::Saved { archive, tensors })
    }

    /// The tensor with this name, if there is one.
    fn find(&self, name: &str) -> Option<Result<Weight>> {
        match self {
            Payloads::Nothing => None,
            Payloads::Raw { archive, folder, config } => {
                let meta = config.get(name)?;
                Some(raw_weight(archive, folder, name, meta))
            }
            Payloads::Saved { archive, tensors } => Some(match tensors.get(name)? {
                Ok(tensor) => saved_weight(archive, name, tensor),
                Err(error) => Err(archive.error(PICKLE, error.clone())),
            }),
            Payloads::Lent(tensors) => tensors.get(name).cloned().map(Ok),
        }
    }
}

/// Identifies equal weights: the start of their bytes and how they are read.
type Identity = (usize, usize, Dtype, i64, Vec<i64>, Vec<i64>);

/// The identity of a weight; None if it has no data and nothing says what memory it was.
fn identity(weight: &Weight) -> Option<Identity> {
    let (start, len) = match &weight.storage {
        Storage::Absent(memory) => (usize::try_from(*memory).ok()?, 0),
        _ if weight.is_absent() => return None,
        storage => (storage.bytes().as_ptr() as usize, storage.bytes().len()),
    };
    Some((start, len, weight.dtype, weight.offset, weight.sizes.clone(), weight.strides.clone()))
}

/// All weights of a model.
#[derive(Debug)]
pub struct Weights<'a> {
    state: Payloads<'a>,
    constants: Payloads<'a>,
    elsewhere: Option<Elsewhere>,
    made: FxHashMap<Identity, Arc<Weight>>,
}

/// An input of the program that is a weight.
#[derive(Debug)]
pub struct Wanted {
    /// The value of the graph.
    pub value: String,
    /// The name in the state dict or of the constant.
    pub name: String,
    /// Whether it is a parameter or a persistent buffer; else a lifted constant or a nonpersistent buffer.
    pub is_state: bool,
    /// The position in the signature, for messages.
    pub index: usize,
}

impl<'a> Weights<'a> {
    /// The weights of the state dict and the constants, and those in other files, which come first.
    pub fn new(state: Payloads<'a>, constants: Payloads<'a>, elsewhere: Option<Elsewhere>) -> Weights<'a> {
        Weights { state, constants, elsewhere, made: FxHashMap::default() }
    }

    /// The weights that a program wants, with notes for the user. `tensors` has their types in the program.
    pub fn resolve(
        mut self,
        wanted: Vec<Wanted>,
        tensors: &FxHashMap<String, TensorMeta>,
    ) -> Result<(Vec<BoundWeight>, Vec<String>)> {
        let Some(mut elsewhere) = self.elsewhere.take() else {
            let bound = wanted.into_iter().map(|wanted| {
                let weight = self.own(&wanted)?;
                Ok(BoundWeight { value: wanted.value, weight })
            });
            return Ok((bound.collect::<Result<_>>()?, Vec::new()));
        };
        let mut tied: FxHashMap<Identity, Vec<String>> = FxHashMap::default();
        let mut identities = Vec::with_capacity(wanted.len());
        for wanted in &wanted {
            let found = self.find(wanted).and_then(Result::ok).and_then(|weight| identity(&weight));
            if let Some(identity) = &found {
                tied.entry(identity.clone()).or_default().push(wanted.name.clone());
            }
            identities.push(found);
        }
        if let Payloads::Lent(state) = &self.state {
            state.keys().for_each(|name| elsewhere.know(name));
        }
        let mut bound = Vec::with_capacity(wanted.len());
        for (wanted, identity) in wanted.into_iter().zip(identities) {
            let meta = tensors.get(&wanted.value);
            let has_data = || self.find(&wanted).is_some_and(|found| found.is_ok_and(|weight| !weight.is_absent()));
            let tied = identity.and_then(|identity| tied.get(&identity)).map(Vec::as_slice).unwrap_or_default();
            // What is not in the state dict belongs to the program, unless the program has no data for it.
            let taken = match wanted.is_state || !has_data() {
                true => elsewhere.bind(&wanted.name, tied, meta),
                false => None,
            };
            let weight = match taken {
                Some(weight) => weight,
                None if !has_data() => {
                    elsewhere.miss(&wanted.name, meta);
                    continue;
                }
                None => {
                    if wanted.is_state {
                        elsewhere.keep(&wanted.name);
                    }
                    self.own(&wanted)?
                }
            };
            bound.push(BoundWeight { value: wanted.value, weight });
        }
        Ok((bound, elsewhere.finish()?))
    }

    /// A weight of the package: names in the state dict and those of constants are looked up in this order.
    fn find(&self, wanted: &Wanted) -> Option<Result<Weight>> {
        let (first, second) = match wanted.is_state {
            true => (&self.state, &self.constants),
            false => (&self.constants, &self.state),
        };
        first.find(&wanted.name).or_else(|| second.find(&wanted.name))
    }

    fn own(&mut self, wanted: &Wanted) -> Result<Arc<Weight>> {
        let place = format!("graph_module.signature.input_specs[{}]", wanted.index);
        self.shared(&wanted.name, self.find(wanted)).map_err(|error| error.at(place))
    }

    fn shared(&mut self, name: &str, found: Option<Result<Weight>>) -> Result<Arc<Weight>> {
        let in_weight = |error: Error| error.at(format!("weight `{name}`"));
        let weight = found.ok_or_else(|| in_weight(Error::input("the archive has no data for it")))?;
        let weight = weight.map_err(in_weight)?;
        weight.check().map_err(in_weight)?;
        match identity(&weight) {
            Some(identity) => Ok(Arc::clone(self.made.entry(identity).or_insert_with(|| Arc::new(weight)))),
            None => Ok(Arc::new(weight)),
        }
    }
}

fn raw_weight(archive: &Archive, folder: &str, name: &str, payload: &PayloadMeta<'_>) -> Result<Weight> {
    let Some(meta) = payload.tensor_meta.as_ref().filter(|_| !payload.use_pickle) else {
        let error =
            Error::unsupported("it was saved as a Python object (a tensor subclass), which only Python can read");
        let help =
            "`ep = ep.run_decompositions()` before `torch.export.save` turns tensor subclasses into plain tensors";
        return Err(error.help(help));
    };
    if meta.layout != schema::STRIDED {
        return Err(Error::unsupported(format!(
            "it has the layout {}, which ONNX does not support",
            layout(meta.layout)
        )));
    }
    let known = |value: &schema::SymInt<'_>| match value {
        schema::SymInt::AsInt(number) => Ok(*number),
        schema::SymInt::AsExpr(_) => Err(Error::input("its sizes are symbolic")),
    };
    let entry = format!("{folder}{}", &*payload.path_name);
    Ok(Weight {
        name: name.to_owned(),
        dtype: dtype(meta.dtype)?,
        sizes: meta.sizes.iter().map(known).collect::<Result<_>>()?,
        strides: meta.strides.iter().map(known).collect::<Result<_>>()?,
        offset: known(&meta.storage_offset)?,
        storage: archive.storage(&entry)?,
    })
}

fn saved_weight(archive: &Archive, name: &str, tensor: &SavedTensor) -> Result<Weight> {
    let storage: Storage = archive.storage(&format!("data/{}", tensor.key))?;
    Ok(Weight {
        name: name.to_owned(),
        dtype: tensor.dtype,
        sizes: tensor.sizes.clone(),
        strides: tensor.strides.clone(),
        offset: tensor.offset,
        storage,
    })
}
