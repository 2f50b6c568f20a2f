//! Where the bytes of weights come from, and whether that has changed while they were written.

use std::sync::Arc;

use crate::model::Model;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::{MappedFile, Memory, Storage, Weight};

/// The files and memory that models are written from, each once.
pub struct Sources<'a> {
    files: Vec<&'a MappedFile>,
    /// With the name of a weight, and what it was when the writing began.
    lent: Vec<(&'a str, &'a dyn Memory, i64)>,
}

impl<'a> Sources<'a> {
    /// The sources of models, as they are now.
    pub fn of(models: impl IntoIterator<Item = &'a Model>) -> Sources<'a> {
        let mut sources = Sources { files: Vec::new(), lent: Vec::new() };
        for weight in models.into_iter().flat_map(|model| &model.weights) {
            visit(&weight.weight, &mut |weight| sources.add(weight));
        }
        sources
    }

    fn add(&mut self, weight: &'a Weight) {
        match &weight.storage {
            Storage::Mapped { file, .. } if !self.files.iter().any(|known| std::ptr::eq(*known, &**file)) => {
                self.files.push(file);
            }
            Storage::Lent(memory) => self.lent.extend(memory.version().map(|now| (&*weight.name, &**memory, now))),
            _ => {}
        }
    }

    /// Checks that they are what they were.
    ///
    /// # Errors
    /// A file or memory that somebody has written to.
    pub fn check(&self) -> Result<()> {
        self.files.iter().try_for_each(|file| file.check_unchanged())?;
        match self.lent.iter().find(|(_, memory, before)| memory.version() != Some(*before)) {
            None => Ok(()),
            Some((name, ..)) => Err(Error::input(format!("the weight `{name}` was changed while it was written"))
                .help("save the model when no other thread trains or changes it")),
        }
    }
}

/// The weights that a weight is made of, down to those that have bytes.
fn visit<'a>(weight: &'a Weight, found: &mut dyn FnMut(&'a Weight)) {
    match &weight.storage {
        Storage::Mapped { .. } | Storage::Lent(_) | Storage::Owned(_) | Storage::Absent(_) => found(weight),
        Storage::Scaled(scaled) => visit(scaled.source(), found),
        Storage::Narrowed(narrowed) => visit(narrowed.source(), found),
        Storage::Quantized(part) => visit(part.source(), found),
        Storage::Digits(digits) => visit(digits.source(), found),
        Storage::Computed(computed) => computed.source().into_iter().for_each(|source| visit(source, found)),
        Storage::Joined(joined) => joined.parts().iter().for_each(|part| visit(part, found)),
    }
}

/// The first file that contains bytes of a weight.
pub fn archive(weight: &Weight) -> Option<&Arc<MappedFile>> {
    let mut first = None;
    visit(weight, &mut |weight| {
        if let Storage::Mapped { file, .. } = &weight.storage {
            first.get_or_insert(file);
        }
    });
    first
}
