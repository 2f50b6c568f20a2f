//! `mutants.toml`: mutants that change graphs and nothing that anybody could see, each with the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use aten2onnx_core::error::{Error, Result};
use serde::Deserialize;

use super::Settings;

/// The reasons by the name of the mutant.
#[derive(Debug, Clone, Default)]
pub struct Explained {
    reasons: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    mutant: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    why: String,
}

impl Explained {
    /// Reads the file; nothing is explained if there is none.
    ///
    /// # Errors
    /// It is not of this form, or it has an entry twice.
    pub fn read(path: &Path) -> Result<Explained> {
        let Ok(text) = std::fs::read_to_string(path) else { return Ok(Explained::default()) };
        let at = |error: Error| error.at(path.display().to_string());
        let file: File = toml::from_str(&text).map_err(|error| at(Error::input(error.to_string())))?;
        let mut reasons = BTreeMap::new();
        for Entry { name, why } in file.mutant {
            if reasons.insert(name.clone(), why).is_some() {
                return Err(at(Error::input(format!("the mutant `{name}` is explained twice"))));
            }
        }
        Ok(Explained { reasons })
    }

    /// Why a mutant changes nothing that can be seen.
    pub fn why(&self, name: &str) -> Option<&str> {
        self.reasons.get(name).map(String::as_str)
    }

    /// An error for an entry without a mutant, if all are made.
    pub(super) fn all_exist(&self, made: &BTreeSet<&str>, settings: &Settings) -> Result<()> {
        if settings.sample.is_some() || !settings.wanted.is_empty() {
            return Ok(());
        }
        match self.reasons.keys().find(|name| !made.contains(name.as_str())) {
            Some(name) => Err(Error::input(format!("mutants.toml explains `{name}`, and there is no such mutant"))
                .help("remove the entry, or give it the name that `mutants` prints")),
            None => Ok(()),
        }
    }
}
