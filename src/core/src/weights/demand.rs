//! What a small file can demand: a limit for the bytes that are written or copied, from those that are there.

use rustc_hash::FxHashMap;

use super::{Storage, Weight};
use crate::error::{Error, Result};

/// A limit: how often each byte that is there may be written, and the bytes that may be written of any source.
#[derive(Debug, Clone, Copy)]
struct Limit {
    times: u64,
    always: u64,
}

/// For files: tied weights, those that are unpacked from two bits, and repeated ones take less.
const WRITTEN: Limit = Limit { times: 64, always: 1 << 30 };
/// For memory: what is copied there is small in honest models.
const COPIED: Limit = Limit { times: 4, always: 1 << 28 };

impl Limit {
    fn of(self, present: u64) -> u64 {
        present.saturating_mul(self.times).saturating_add(self.always)
    }
}

/// The most bytes that may be written of so many.
pub fn most_written(present: u64) -> u64 {
    WRITTEN.of(present)
}

/// Counts what is demanded of sources, each of which is counted once.
#[derive(Debug, Clone)]
pub struct Demand {
    limit: Limit,
    sources: FxHashMap<usize, u64>,
    present: u64,
    wanted: u64,
}

impl Demand {
    /// Of bytes that are written to files.
    pub fn written() -> Demand {
        Demand { limit: WRITTEN, sources: FxHashMap::default(), present: 0, wanted: 0 }
    }

    /// Of bytes that are copied into memory.
    pub fn copied() -> Demand {
        Demand { limit: COPIED, ..Demand::written() }
    }

    /// Counts the bytes of a source: a file or memory, by its address.
    pub fn add_source(&mut self, address: usize, len: u64) {
        let known = self.sources.insert(address, len).unwrap_or(0);
        self.present = self.present.saturating_add(len.saturating_sub(known));
    }

    /// Counts the source of a weight.
    pub fn add_source_of(&mut self, weight: &Weight) {
        match &weight.storage {
            Storage::Mapped { file, .. } => self.add_source(file.bytes().as_ptr() as usize, file.bytes().len() as u64),
            Storage::Lent(_) | Storage::Owned(_) => {
                let bytes = weight.storage.bytes();
                self.add_source(bytes.as_ptr() as usize, bytes.len() as u64);
            }
            Storage::Absent(_) => {}
            Storage::Scaled(scaled) => self.add_source_of(scaled.source()),
            Storage::Narrowed(narrowed) => self.add_source_of(narrowed.source()),
            Storage::Quantized(part) => self.add_source_of(part.source()),
            Storage::Digits(digits) => self.add_source_of(digits.source()),
            Storage::Computed(computed) => computed.source().into_iter().for_each(|source| self.add_source_of(source)),
            Storage::Joined(joined) => joined.parts().iter().for_each(|part| self.add_source_of(part)),
        }
    }

    /// Counts bytes that are to be written or copied.
    ///
    /// # Errors
    /// More than the sources that are counted so far allow.
    pub fn want(&mut self, len: u64) -> Result<()> {
        self.wanted = self.wanted.saturating_add(len);
        let most = self.limit.of(self.present);
        if self.wanted <= most {
            return Ok(());
        }
        let (wanted, present) = (self.wanted, self.present);
        Err(Error::input(format!(
            "its tensors take {wanted} bytes and more, but come from {present} bytes, for which at most {most} are taken"
        ))
        .help("tensors that repeat the same bytes this often are written by `Expand` or `ConstantOfShape` in a model"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_demanded_is_linear_in_what_is_there() {
        let mut demand = Demand::written();
        demand.add_source(1, 1 << 30);
        demand.add_source(1, 1 << 30);
        assert!(demand.want(64 << 30).is_ok());
        assert!(demand.want(1 << 30).is_ok());
        let error = demand.want(1).err().map(|error| error.message.clone()).unwrap_or_default();
        assert!(
            error.contains(&((65_u64 << 30) + 1).to_string()) && error.contains(&(1_u64 << 30).to_string()),
            "{error}"
        );
        demand.add_source(2, 1);
        assert!(demand.want(0).is_ok());
    }
}
