//! `operators.toml`: what each ONNX operator does, and the values that its attributes can have.

use std::collections::BTreeMap;
use std::fmt;

use aten2onnx_operators::{Bounded, Facts, Half, Integers, Linear, Ports, Shared, Word};
use serde::Deserialize;

use super::onnx::{AttrKind, OnnxSchemas};
use crate::nearest::nearest;

/// All entries.
#[derive(Debug, Clone, Default)]
pub struct Operators {
    /// The attributes whose value is the number of a dtype.
    dtypes: Vec<String>,
    entries: BTreeMap<String, Operator>,
}

/// The entry of an operator.
#[derive(Debug, Clone)]
pub struct Operator {
    /// What it does.
    pub facts: Facts,
    /// How rules write it between two tensors: `+`.
    pub sign: Option<String>,
    /// The values of attributes that cannot have any value of their type, by name.
    pub values: BTreeMap<String, Values>,
    /// The numbers of dimensions that inputs can have, by name.
    pub ranks: BTreeMap<String, Limits>,
}

/// The values of an attribute, or the elements of a list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Values {
    /// One of these texts.
    Words(Vec<String>),
    /// An integer within these limits.
    Integers(Limits),
}

/// Integers from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// The least.
    pub first: i64,
    /// The greatest.
    pub last: i64,
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.first, self.last) {
            (first, i64::MAX) => write!(f, "{first} or more"),
            (first, last) if first == last => write!(f, "{first}"),
            (first, last) => write!(f, "{first} to {last}"),
        }
    }
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    dtypes: Vec<String>,
    operators: BTreeMap<String, Row>,
    #[serde(default)]
    ranks: BTreeMap<String, BTreeMap<String, String>>,
    #[serde(default)]
    values: BTreeMap<String, BTreeMap<String, Values>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    shape: String,
    #[serde(default)]
    elementwise: bool,
    computes: Option<String>,
    combines: Option<String>,
    #[serde(default)]
    moves: Vec<usize>,
    linear: Option<String>,
    shared: Option<String>,
    half: Option<String>,
    #[serde(default)]
    positions: Vec<usize>,
    integers: Option<String>,
    bounded: Option<String>,
    sign: Option<String>,
}

impl Operators {
    /// Reads `operators.toml`. An error names the entry.
    pub fn parse(text: &str) -> Result<Operators, String> {
        let file: File = toml::from_str(text).map_err(|e| e.to_string())?;
        let mut entries = BTreeMap::new();
        for (name, row) in file.operators {
            let operator = row.operator().map_err(|what| format!("`{name}`: {what}"))?;
            entries.insert(name, operator);
        }
        for (name, values) in file.values {
            let entry =
                entries.get_mut(&name).ok_or_else(|| format!("`[values.{name}]`: there is no entry `{name}`"))?;
            entry.values = values;
        }
        for (name, ranks) in file.ranks {
            let entry =
                entries.get_mut(&name).ok_or_else(|| format!("`ranks` of `{name}`: there is no entry `{name}`"))?;
            for (input, text) in ranks {
                let limits = ranks_of(&text).ok_or_else(|| {
                    format!("`ranks` of `{name}`: `{text}` is no number of dimensions; write \"3\" or \"3+\"")
                })?;
                entry.ranks.insert(input, limits);
            }
        }
        Ok(Operators { dtypes: file.dtypes, entries })
    }

    /// The entry of an operator of the default domain.
    pub fn get(&self, op: &str) -> Option<&Operator> {
        self.entries.get(op)
    }

    /// Whether an attribute of this name states a dtype, by its number.
    pub fn is_dtype(&self, attribute: &str) -> bool {
        self.dtypes.iter().any(|name| name == attribute)
    }

    /// What an operator does. Nothing is known of those of other domains.
    pub fn facts(&self, op: &str) -> &Facts {
        self.get(op).map_or(&Facts::UNKNOWN, |entry| &entry.facts)
    }

    /// The operator that a sign between two tensors stands for.
    pub fn of_sign(&self, sign: &str) -> Option<&str> {
        self.entries.iter().find(|(_, entry)| entry.sign.as_deref() == Some(sign)).map(|(name, _)| name.as_str())
    }

    /// The sign of an operator between two tensors.
    pub fn sign(&self, op: &str) -> Option<&str> {
        self.get(op)?.sign.as_deref()
    }

    /// The operators of the default domain that have no entry.
    pub fn missing<'a>(&'a self, schemas: &'a OnnxSchemas) -> impl Iterator<Item = &'a str> {
        schemas.ops.keys().map(String::as_str).filter(|op| !op.contains("::") && !self.entries.contains_key(*op))
    }

    /// An error for entries that contradict the schemas.
    pub fn check(&self, schemas: &OnnxSchemas) -> Result<(), String> {
        for (name, entry) in &self.entries {
            entry.check(name, schemas).map_err(|what| format!("`{name}`: {what}"))?;
        }
        Ok(())
    }

    /// Leaves out an entry. For tests.
    pub fn remove(&mut self, op: &str) {
        self.entries.remove(op);
    }
}

impl Row {
    fn operator(self) -> Result<Operator, String> {
        let facts = Facts {
            shape: named(&self.shape)?,
            elementwise: self.elementwise,
            computes: self.computes.as_deref().map(named).transpose()?,
            combines: self.combines.as_deref().map(named).transpose()?,
            moves: Ports::of(&self.moves),
            linear: self.linear.as_deref().map_or(Ok(Linear::No), named)?,
            shared: self.shared.as_deref().map_or(Ok(Shared::Never), named)?,
            half: self.half.as_deref().map_or(Ok(Half::Either), named)?,
            positions: Ports::of(&self.positions),
            integers: self.integers.as_deref().map_or(Ok(Integers::No), named)?,
            bounded: self.bounded.as_deref().map_or(Ok(Bounded::No), named)?,
        };
        if facts.computes.is_some() && !facts.elementwise {
            return Err("`computes` is said of elementwise operators only; a reduction `combines`".into());
        }
        Ok(Operator { facts, sign: self.sign, values: BTreeMap::new(), ranks: BTreeMap::new() })
    }
}

/// `3` are three dimensions, `3+` three or more, `3-5` three to five.
fn ranks_of(text: &str) -> Option<Limits> {
    let limits = |first: &str, last: Option<&str>| {
        let first = first.parse().ok()?;
        let last = last.map_or(Some(i64::MAX), |last| last.parse().ok())?;
        (first <= last).then_some(Limits { first, last })
    };
    match (text.strip_suffix('+'), text.split_once('-')) {
        (Some(first), _) => limits(first, None),
        (None, Some((first, last))) => limits(first, Some(last)),
        (None, None) => limits(text, Some(text)),
    }
}

/// The value of a word, or an error that says which words there are.
fn named<T: Word>(word: &str) -> Result<T, String> {
    T::named(word).ok_or_else(|| {
        let words: Vec<&str> = T::ALL.iter().map(|value| value.word()).collect();
        match nearest(word, words.iter().copied()) {
            Some(near) => format!("there is no `{word}`; did you mean `{near}`?"),
            None => format!("there is no `{word}`, only {}", words.join(", ")),
        }
    })
}

impl Operator {
    fn check(&self, name: &str, schemas: &OnnxSchemas) -> Result<(), String> {
        let versions = schemas.versions(name);
        let Some(newest) = versions.last() else { return Err("there is no such operator".into()) };
        for (word, ports) in [("moves", self.facts.moves), ("positions", self.facts.positions)] {
            if let Some(port) = ports.iter().find(|port| *port >= newest.inputs.len()) {
                return Err(format!("`{word}` names the input {port}, but there are {}", newest.inputs.len()));
            }
        }
        let has_input = |name: &str| versions.iter().any(|version| version.inputs.iter().any(|port| port.name == name));
        if let Some(input) = self.ranks.keys().find(|input| !has_input(input)) {
            return Err(format!("`ranks` names the input `{input}`, which no version has"));
        }
        for (attribute, values) in &self.values {
            let known = versions.iter().rev().find_map(|version| version.attribute(attribute));
            let Some(known) = known else { return Err(format!("there is no attribute `{attribute}`")) };
            let fits = match values {
                Values::Words(_) => matches!(known.kind, AttrKind::String | AttrKind::Strings),
                Values::Integers(_) => matches!(known.kind, AttrKind::Int | AttrKind::Ints),
            };
            if !fits {
                return Err(format!("the values of `{attribute}` are not of its type, {}", known.kind.name()));
            }
        }
        Ok(())
    }
}
