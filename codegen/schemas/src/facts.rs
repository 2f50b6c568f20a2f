//! Facts that the schemas do not have: `opsets.toml`, `dtypes.toml`, `ignored_arguments.toml` and `schemas/promotion.txt`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::Error as _;

use super::dtypes;
use super::onnx::{Change, OnnxSchemas};

/// `opsets.toml`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opsets {
    /// The oldest supported opset.
    pub min: u32,
    /// The newest.
    pub max: u32,
    /// The default.
    pub default: u32,
    /// Every operator that was added or changed in between must have a lowering.
    #[serde(default)]
    pub complete: bool,
    /// The operators of nodes that no rule names.
    #[serde(default)]
    pub implicit: Vec<String>,
    /// The operators that passes make.
    #[serde(default)]
    pub passes: Vec<String>,
    /// The operators that higher-order operators become.
    #[serde(default)]
    pub control: Vec<String>,
    /// The operators that take packed sequences.
    #[serde(default)]
    pub packed: Packed,
    /// By opset, for all from `min` to `max`.
    #[serde(deserialize_with = "by_opset")]
    pub opsets: BTreeMap<u32, Opset>,
    /// Changes that the schemas do not show.
    #[serde(rename = "change", default)]
    pub changes: Vec<MeaningChange>,
    /// Axes that may be negative only from an opset on.
    #[serde(default)]
    pub negative_axes: Vec<NegativeAxes>,
}

/// The operators whose lowerings also run where the opset has the operator, for sequences that are packed in tensors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Packed {
    /// The first opset without packed sequences.
    pub below: u32,
    /// The operators.
    pub operators: Vec<String>,
}

/// An opset.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opset {
    /// The release of ONNX that added it: `1.8.0`.
    pub onnx: String,
    /// The IR version that came with it.
    pub ir: u32,
}

/// A change of meaning without a change of the schema.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeaningChange {
    /// The operator.
    pub op: String,
    /// The opset of the change.
    pub since: u32,
    /// The kind of change.
    pub kind: MeaningKind,
    /// What changed.
    pub why: String,
}

/// The kinds of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MeaningKind {
    /// The same call gives another result.
    Meaning,
    /// More calls are allowed: values of attributes, data, combinations of dtypes.
    Values,
}

/// Operators whose axes may be negative only from an opset on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NegativeAxes {
    /// The opset.
    pub since: u32,
    /// The operators.
    pub ops: Vec<String>,
    /// The attribute with the axes, if they are an attribute.
    pub attribute: Option<String>,
    /// The input with the axes, if they are an input.
    pub input: Option<String>,
}

/// `dtypes.toml`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dtypes {
    /// By dtype (PyTorch's name): the dtypes that can represent all its values, best first.
    pub wider: BTreeMap<String, Vec<String>>,
}

/// `ignored_arguments.toml`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IgnoredArguments {
    /// The names of tensors whose dtype has no part in that of a result.
    #[serde(default)]
    pub selecting: Vec<String>,
    /// In the order of the file.
    #[serde(rename = "argument", default)]
    pub arguments: Vec<IgnoredArgument>,
}

/// An argument that never changes a result.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IgnoredArgument {
    /// `pin_memory`
    pub name: String,
    /// `bool`, which includes `bool?`.
    #[serde(rename = "type")]
    pub ty: String,
    /// Why it has no effect.
    pub why: String,
}

/// `schemas/promotion.txt`. Its head explains the rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Promotion {
    /// Both orders of each pair.
    pub promote: BTreeMap<(String, String), String>,
    /// (higher rank, lower rank)
    pub combine: BTreeMap<(String, String), String>,
    /// By the kind of a Python number: `bool`, `int`, `float`, `complex`.
    pub numbers: BTreeMap<String, String>,
}

impl Opsets {
    /// Reads `opsets.toml`.
    pub fn parse(text: &str) -> Result<Opsets, String> {
        let read: Opsets = toml::from_str(text).map_err(|e| e.to_string())?;
        if !(read.min..=read.max).contains(&read.default) {
            return Err(format!("the default {} is not between {} and {}", read.default, read.min, read.max));
        }
        // The proof has a bit for each opset: `coverage::opsets::LIMIT`.
        if read.max >= u128::BITS {
            return Err(format!("the newest opset is {}, but the proof has room up to {}", read.max, u128::BITS - 1));
        }
        if let Some(missing) = (read.min..=read.max).find(|opset| !read.opsets.contains_key(opset)) {
            return Err(format!("opset {missing} is not in `[opsets]`"));
        }
        Ok(read)
    }

    /// The entry for a change of meaning, if there is one.
    pub fn meaning(&self, op: &str, since: u32) -> Option<&MeaningChange> {
        self.changes.iter().find(|c| c.since == since && c.op == op)
    }

    /// As [`OnnxSchemas::change`], but changes of meaning count as changes of shape.
    pub fn change(&self, schemas: &OnnxSchemas, op: &str, since: u32) -> Option<Change> {
        match schemas.change(op, since)? {
            Change::Types if self.meaning(op, since).is_some() => Some(Change::Shape),
            change => Some(change),
        }
    }

    /// All opsets from the oldest to the newest.
    pub fn range(&self) -> std::ops::RangeInclusive<u32> {
        self.min..=self.max
    }

    /// The operators of all nodes that no rule names.
    pub fn without_rules(&self) -> impl Iterator<Item = &String> {
        self.implicit.iter().chain(&self.control)
    }

    /// The first opset at which the lowering of an operator before opset `before` does not run any more.
    pub fn lowered_below(&self, op: &str, before: u32) -> u32 {
        match self.packed.operators.iter().any(|packed| packed == op) {
            true => before.max(self.packed.below),
            false => before,
        }
    }

    /// An error for entries whose operators or versions do not exist.
    pub fn check(&self, schemas: &OnnxSchemas) -> Result<(), String> {
        for change in &self.changes {
            if schemas.change(&change.op, change.since).is_none() {
                return Err(format!("`{1}` has no version {0}", change.since, change.op));
            }
        }
        let named = self.without_rules().chain(&self.passes).chain(&self.packed.operators);
        if let Some(op) = named.into_iter().find(|op| schemas.versions(op).is_empty()) {
            return Err(format!("there is no operator `{op}`"));
        }
        for axes in &self.negative_axes {
            if let Some(op) = axes.ops.iter().find(|op| schemas.versions(op).is_empty()) {
                return Err(format!("there is no operator `{op}`"));
            }
            if axes.attribute.is_some() == axes.input.is_some() {
                return Err("an entry of `negative_axes` needs either `attribute` or `input`".into());
            }
        }
        Ok(())
    }
}

/// TOML's keys are strings; opsets are numbers.
fn by_opset<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<u32, Opset>, D::Error> {
    let named = BTreeMap::<String, Opset>::deserialize(deserializer)?;
    let number = |key: &str| key.parse().map_err(|_| D::Error::custom(format!("`{key}` is not an opset")));
    named.into_iter().map(|(key, opset)| Ok((number(&key)?, opset))).collect()
}

impl Dtypes {
    /// Reads `dtypes.toml`.
    pub fn parse(text: &str) -> Result<Dtypes, String> {
        let read: Dtypes = toml::from_str(text).map_err(|e| e.to_string())?;
        let mut names = read.wider.iter().flat_map(|(name, wider)| std::iter::once(name).chain(wider));
        match names.find(|name| dtypes::variant(name).is_none()) {
            Some(name) => Err(format!("`{name}` is not a dtype")),
            None => Ok(read),
        }
    }
}

impl IgnoredArguments {
    /// Reads `ignored_arguments.toml`.
    pub fn parse(text: &str) -> Result<IgnoredArguments, String> {
        toml::from_str(text).map_err(|e| e.to_string())
    }

    /// Why an argument has no effect. None if it may have one.
    pub fn why(&self, name: &str, ty: &str) -> Option<&str> {
        let ty = ty.strip_suffix('?').unwrap_or(ty);
        self.arguments.iter().find(|a| a.name == name && a.ty == ty).map(|a| a.why.as_str())
    }
}

impl Promotion {
    /// Reads `promotion.txt`. An error names the line.
    pub fn parse(text: &str) -> Result<Promotion, String> {
        let mut read = Promotion::default();
        for (i, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            read.line(line).ok_or_else(|| format!("line {}: not a rule of promotion: `{line}`", i + 1))?;
        }
        Ok(read)
    }

    fn line(&mut self, line: &str) -> Option<()> {
        let (left, result) = line.split_once(" -> ")?;
        dtypes::variant(result)?;
        let words: Vec<&str> = left.split(' ').collect();
        let known = |name: &str| dtypes::variant(name).map(|_| name.to_string());
        match words.as_slice() {
            ["promote", a, b] => {
                self.promote.insert((known(b)?, known(a)?), result.into());
                self.promote.insert((known(a)?, known(b)?), result.into());
            }
            ["combine", a, b] => drop(self.combine.insert((known(a)?, known(b)?), result.into())),
            ["number", kind] => drop(self.numbers.insert((*kind).into(), result.into())),
            _ => return None,
        }
        Some(())
    }
}
