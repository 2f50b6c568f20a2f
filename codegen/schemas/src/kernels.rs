//! The dtypes that PyTorch's kernels take: `schemas/kernels.txt`.

use std::collections::BTreeMap;

use super::dtypes;

/// The dtypes of the first tensor, by overload. Its head explains the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kernels {
    overloads: BTreeMap<String, Vec<String>>,
}

impl Kernels {
    /// Reads `kernels.txt`. An error names the line.
    pub fn parse(text: &str) -> Result<Kernels, String> {
        let mut read = Kernels::default();
        for (i, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut words = line.split(' ').map(str::to_owned);
            let Some(overload) = words.next() else { continue };
            let names: Vec<String> = words.collect();
            if let Some(name) = names.iter().find(|name| dtypes::variant(name).is_none()) {
                return Err(format!("line {}: there is no dtype `{name}`", i + 1));
            }
            read.overloads.insert(overload, names);
        }
        Ok(read)
    }

    /// The overloads of which something is known, sorted.
    pub fn overloads(&self) -> impl Iterator<Item = &str> {
        self.overloads.keys().map(String::as_str)
    }

    /// PyTorch's names of the dtypes that an overload takes. None if that is not known.
    pub fn dtypes(&self, overload: &str) -> Option<&[String]> {
        self.overloads.get(overload).map(Vec::as_slice)
    }
}
