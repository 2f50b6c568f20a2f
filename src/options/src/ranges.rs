//! The ranges of values in runs of a model, as a file.

use std::collections::BTreeMap;
use std::path::Path;

use aten2onnx_core::error::{Error, Result};
use serde::Deserialize;

/// The least and the largest number of values, by their names in the model. Both may be infinite, and are written as text then.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Ranges {
    /// What measured them, for people.
    #[serde(default)]
    pub method: String,
    /// How often the model ran.
    #[serde(default)]
    pub runs: u64,
    /// The ranges by value.
    pub values: BTreeMap<String, [Bound; 2]>,
}

/// An end of a range.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(from = "Written")]
pub struct Bound(pub f64);

/// A number as JSON has it, which knows no infinities.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(f64),
    Text(Infinite),
}

#[derive(Deserialize)]
enum Infinite {
    #[serde(rename = "inf")]
    Largest,
    #[serde(rename = "-inf")]
    Least,
    #[serde(rename = "nan")]
    None,
}

impl From<Written> for Bound {
    fn from(written: Written) -> Bound {
        Bound(match written {
            Written::Number(number) => number,
            Written::Text(Infinite::Largest) => f64::INFINITY,
            Written::Text(Infinite::Least) => f64::NEG_INFINITY,
            Written::Text(Infinite::None) => f64::NAN,
        })
    }
}

impl Ranges {
    /// Reads a file.
    ///
    /// # Errors
    /// A file that cannot be read, or holds something else.
    pub fn read(path: &Path) -> Result<Ranges> {
        let place = || path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::input(format!("cannot read the ranges: {error}")).at(place()))?;
        let ranges = serde_json::from_str::<Ranges>(&text).map_err(|error| {
            let error = Error::input(format!("no ranges of values: {error}")).at(place());
            error.help("`aten2onnx.calibrate` in Python writes them: `{\"values\": {\"name\": [-1.5, 2.0]}}`")
        })?;
        match ranges.values.iter().find(|(_, [least, largest])| least.0 > largest.0) {
            None => Ok(ranges),
            Some((name, [least, largest])) => {
                let error = format!("the range of `{name}` ends at {} before it begins at {}", largest.0, least.0);
                Err(Error::input(error).at(place()).help("write the smaller number first"))
            }
        }
    }
}
