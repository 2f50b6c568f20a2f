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
use crate::frontend::archive::Archive;
use crate::frontend::saved::{PICKLE, SavedTensor, saved_tensors};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::{Storage, Weight};

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

/// All weights of a model.
#[derive(Debug)]
pub struct Weights<'a> {
    state: Payloads<'a>,
    constants: Payloads<'a>,
    made: FxHashMap<Identity, Arc<Weight>>,
}

impl<'a> Weights<'a> {
    /// The weights of the state dict and the constants.
    pub fn new(state: Payloads<'a>, constants: Payloads<'a>) -> Weights<'a> {
        Weights { state, constants, made: FxHashMap::default() }
    }

    /// A parameter or a persistent buffer.
    pub fn state(&mut self, name: &str) -> Result<Arc<Weight>> {
        let found = self.state.find(name).or_else(|| self.constants.find(name));
        self.shared(name, found)
    }

    /// A lifted constant or a nonpersistent buffer.
    pub fn constant(&mut self, name: &str) -> Result<Arc<Weight>> {
        let found = self.constants.find(name).or_else(|| self.state.find(name));
        self.shared(name, found)
    }

    fn shared(&mut self, name: &str, found: Option<Result<Weight>>) -> Result<Arc<Weight>> {
        let in_weight = |error: Error| error.at(format!("weight `{name}`"));
        let weight = found.ok_or_else(|| in_weight(Error::input("the archive has no data for it")))?;
        let weight = weight.map_err(in_weight)?;
        weight.check().map_err(in_weight)?;
        let bytes = weight.storage.bytes();
        let identity = (
            bytes.as_ptr() as usize,
            bytes.len(),
            weight.dtype,
            weight.offset,
            weight.sizes.clone(),
            weight.strides.clone(),
        );
        Ok(Arc::clone(self.made.entry(identity).or_insert_with(|| Arc::new(weight))))
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
