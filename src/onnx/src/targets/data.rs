//! Reads the facts about runtimes, which the build script wrote as a text, one field in a line. A release is read when it is asked for.

use std::str::FromStr;
use std::sync::{LazyLock, OnceLock};

use aten2onnx_core::dtype::Dtype;

use super::{Avoid, Comparison, Condition, Missing, Name, Quantized, State, Target};

/// The dtypes for which ONNX Runtime has no kernel of a version of an operator.
#[derive(Debug)]
pub struct Kernels {
    /// The operator.
    pub op: &'static str,
    /// The version of its schema.
    pub since: u32,
    /// The dtypes of its first type variable.
    pub dtypes: &'static [Dtype],
}

/// The dtypes for which ONNX Runtime has no kernel, by operator and version.
pub fn onnxruntime_lacks() -> &'static [Kernels] {
    static READ: OnceLock<Vec<Kernels>> = OnceLock::new();
    READ.get_or_init(|| Fields { rest: current().kernels }.all(kernels).unwrap_or_default())
}

/// The releases of runtimes and compilers that are known by name, each runtime with its newest release first.
pub fn all() -> impl Iterator<Item = &'static Target> {
    current().releases.iter().filter_map(Release::target)
}

/// The release of this name, or the newest one of the runtime of this name.
pub(super) fn find(name: &str) -> Option<&'static Target> {
    let is_meant = |release: &&Release| match name.strip_prefix(release.runtime) {
        Some(rest) => rest.is_empty() || rest.strip_prefix('-') == Some(release.name),
        None => false,
    };
    current().releases.iter().find(is_meant)?.target()
}

/// The names of runtimes and of their releases.
pub(super) fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    current().releases.iter().map(|release| (release.runtime, release.name))
}

/// Where the text has what.
#[derive(Default)]
struct Index {
    kernels: &'static str,
    releases: Vec<Release>,
}

/// A release, and its part of the text.
struct Release {
    runtime: &'static str,
    name: &'static str,
    text: &'static str,
    read: OnceLock<Option<Target>>,
}

impl Release {
    fn target(&self) -> Option<&Target> {
        self.read.get_or_init(|| target(&mut Fields { rest: self.text }, self.runtime, self.name)).as_ref()
    }
}

/// That the text is read to its end is tested: the build that made it made this program.
static INDEX: LazyLock<Index> =
    LazyLock::new(|| index(include_str!(concat!(env!("OUT_DIR"), "/targets.txt"))).unwrap_or_default());
static REPLACED: OnceLock<Index> = OnceLock::new();

fn current() -> &'static Index {
    REPLACED.get().unwrap_or_else(|| LazyLock::force(&INDEX))
}

/// Takes a text of facts about runtimes, as the build script writes it, in place of that of the build, for developers who change them. What was
/// found before stays as it is. False: they were replaced before, or the text cannot be read.
pub fn replace(text: String) -> bool {
    let Some(index) = index(text.leak()) else { return false };
    index.releases.iter().all(|release| release.target().is_some()) && REPLACED.set(index).is_ok()
}

fn index(text: &'static str) -> Option<Index> {
    let (head, mut parts) = text.split_once("\n\n")?;
    let mut fields = Fields { rest: head };
    let mut part = |length: usize| {
        let (part, rest) = parts.split_at_checked(length)?;
        parts = rest;
        Some(part)
    };
    let kernels = part(fields.number()?)?;
    let mut releases = Vec::new();
    while !fields.rest.is_empty() {
        let (runtime, name, length) = (fields.text()?, fields.text()?, fields.number()?);
        releases.push(Release { runtime, name, text: part(length)?, read: OnceLock::new() });
    }
    Some(Index { kernels, releases })
}

/// What is left of a list of fields.
struct Fields {
    rest: &'static str,
}

impl Fields {
    fn text(&mut self) -> Option<&'static str> {
        if self.rest.is_empty() {
            return None;
        }
        let (field, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        Some(field)
    }

    fn number<T: FromStr>(&mut self) -> Option<T> {
        self.text()?.parse().ok()
    }

    /// A list: its length, and then its elements.
    fn all<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length: usize = self.number()?;
        (0..length).map(|_| one(self)).collect()
    }

    /// A list that stays: each release is read once.
    fn list<T>(&mut self, one: impl FnMut(&mut Self) -> Option<T>) -> Option<&'static [T]> {
        Some(self.all(one)?.leak())
    }

    fn texts(&mut self) -> Option<&'static [&'static str]> {
        self.list(Fields::text)
    }

    fn numbers(&mut self) -> Option<&'static [u32]> {
        self.list(Fields::number)
    }

    fn dtypes(&mut self) -> Option<&'static [Dtype]> {
        self.list(Fields::dtype)
    }

    fn dtype(&mut self) -> Option<Dtype> {
        Dtype::from_torch_name(self.text()?)
    }

    fn optional<T>(&mut self, one: impl FnMut(&mut Self) -> Option<T>) -> Option<Option<T>> {
        Some(self.all(one)?.pop())
    }
}

fn kernels(fields: &mut Fields) -> Option<Kernels> {
    Some(Kernels { op: fields.text()?, since: fields.number()?, dtypes: fields.dtypes()? })
}

/// The fields are in the order in which the build script writes them.
fn target(fields: &mut Fields, runtime: &'static str, release: &'static str) -> Option<Target> {
    Some(Target {
        runtime,
        release,
        what: fields.text()?,
        kernels: fields.number()?,
        symbolic: fields.optional(Fields::text)?,
        own_sizes: fields.optional(Fields::text)?,
        oldest_opset: fields.number()?,
        newest_opset: fields.number()?,
        fastest_opset: fields.optional(Fields::number)?,
        newest_ir: fields.optional(Fields::number)?,
        lacks_dtypes: fields.dtypes()?,
        lacks_constants: fields.dtypes()?,
        lacks_io_dtypes: fields.dtypes()?,
        most_weights: fields.optional(Fields::number)?,
        lacks_functions: fields.optional(Fields::text)?,
        narrows_float64: fields.number()?,
        narrows_int64: fields.number()?,
        widens_int32: fields.number()?,
        lacks_scalar_outputs: fields.number()?,
        lacks_empty_outputs: fields.number()?,
        lacks_scalar_inputs: fields.optional(Fields::text)?,
        lacks_constant_outputs: fields.optional(Fields::text)?,
        drops_inputs: fields.number()?,
        note: fields.optional(Fields::text)?,
        explicit_attributes: fields.number()?,
        quantized: quantized(fields)?,
        lacks: fields.texts()?,
        avoids: fields.list(missing)?,
        forms: fields.list(form)?,
        warns: fields.list(form)?,
        loses_nan: fields.texts()?,
        source: fields.text()?,
    })
}

fn quantized(fields: &mut Fields) -> Option<Quantized> {
    Some(Quantized {
        matmul: fields.numbers()?,
        fast_matmul: fields.numbers()?,
        gather: fields.numbers()?,
        experts: fields.numbers()?,
        dynamic: fields.number()?,
        unsigned: fields.number()?,
        symmetric: fields.number()?,
        operators: fields.texts()?,
        float_results: fields.texts()?,
    })
}

fn missing(fields: &mut Fields) -> Option<Missing> {
    Some(Missing { op: fields.text()?, since: fields.number()?, dtypes: fields.dtypes()?, reason: fields.text()? })
}

fn form(fields: &mut Fields) -> Option<Avoid> {
    Some(Avoid {
        op: fields.text()?,
        since: fields.numbers()?,
        when: fields.texts()?,
        conditions: fields.list(condition)?,
        reason: fields.text()?,
        seen_in: fields.text()?,
    })
}

fn condition(fields: &mut Fields) -> Option<Condition> {
    let kind = fields.text()?;
    if kind == "inputs" {
        return Some(Condition::Inputs(comparison(fields)?, fields.number()?));
    }
    if kind == "outputs" {
        return Some(Condition::Outputs(comparison(fields)?, fields.number()?));
    }
    let of = name(fields)?;
    if kind == "is" {
        return Some(Condition::Is(state(fields)?, of));
    }
    let comparison = comparison(fields)?;
    Some(match kind {
        "rank" => Condition::Rank(of, comparison, fields.number()?),
        "last" => Condition::Last(of, comparison, fields.number()?),
        "first" => Condition::First(of, comparison, fields.number()?),
        "length" => Condition::Length(of, comparison, fields.number()?),
        "made_by" => Condition::MadeBy(of, comparison, fields.text()?),
        "dtype" => Condition::Dtype(of, comparison, fields.dtype()?),
        "number" => Condition::Number(of, comparison, fields.number()?),
        "text" => Condition::Text(of, comparison, fields.text()?),
        _ => return None,
    })
}

fn name(fields: &mut Fields) -> Option<Name> {
    match fields.text()? {
        "input" => Some(Name::Input(fields.text()?)),
        "attribute" => Some(Name::Attribute(fields.text()?)),
        _ => None,
    }
}

fn comparison(fields: &mut Fields) -> Option<Comparison> {
    match fields.text()? {
        "Equal" => Some(Comparison::Equal),
        "NotEqual" => Some(Comparison::NotEqual),
        "Less" => Some(Comparison::Less),
        "Greater" => Some(Comparison::Greater),
        _ => None,
    }
}

fn state(fields: &mut Fields) -> Option<State> {
    Some(match fields.text()? {
        "Given" => State::Given,
        "Absent" => State::Absent,
        "Computed" => State::Computed,
        "Constant" => State::Constant,
        "Folded" => State::Folded,
        "Symbolic" => State::Symbolic,
        "Empty" => State::Empty,
        "Filled" => State::Filled,
        "Open" => State::Open,
        "Sized" => State::Sized,
        "Data" => State::Data,
        "Broadcast" => State::Broadcast,
        "Stretched" => State::Stretched,
        "Fractional" => State::Fractional,
        "Uneven" => State::Uneven,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn each_part_is_read_to_its_end() {
        let mut fields = Fields { rest: INDEX.kernels };
        assert!(fields.all(kernels).unwrap().len() > 200);
        assert_eq!(fields.rest, "");
        assert!(INDEX.releases.len() > 50);
        for release in &INDEX.releases {
            let mut fields = Fields { rest: release.text };
            assert!(
                target(&mut fields, release.runtime, release.name).is_some(),
                "{}-{}",
                release.runtime,
                release.name
            );
            assert_eq!(fields.rest, "", "{}-{}", release.runtime, release.name);
        }
    }

    #[test]
    fn texts_that_are_cut_are_not_read() {
        let release = INDEX.releases.first().unwrap();
        let cut = release.text.len() - release.text.trim_end().lines().last().unwrap().len() - 1;
        assert!(target(&mut Fields { rest: &release.text[..cut] }, "x", "1").is_none());
        assert!(index("9\nx\n1\n1\n\nshort").is_none());
    }
}
