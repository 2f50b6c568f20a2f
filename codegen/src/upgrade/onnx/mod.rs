//! What a newer release of ONNX changes: the changes themselves, what they touch, what has to be written by hand, and the report on all of it.
//!
//! The release comes as a snapshot of its schemas, or from the package registry with what else it says: descriptions, function bodies, tests.

pub mod asks;
mod changes;
pub mod opsets;
pub mod package;
mod place;
mod report;
mod said;
pub mod touched;

use aten2onnx_schemas::onnx::{Change, OnnxSchemas, Version};

use changes::{differences, is_sharing_otherwise};
use touched::Touched;

pub use report::onnx_report;
pub use said::{Calls, Said, TestCall};

/// A release, and what is known already.
pub struct Release<'a> {
    /// The snapshot of the project.
    pub old: &'a OnnxSchemas,
    /// The snapshot of the release.
    pub new: &'a OnnxSchemas,
    /// The rules, lowerings and targets that operators occur in.
    pub touched: &'a Touched,
    /// What the release says beside its schemas, if it came from the package registry.
    pub said: Option<&'a Said>,
}

/// A version of an operator that is new.
pub struct News<'a> {
    /// The version.
    pub version: &'a Version,
    /// The version before it.
    pub before: Option<&'a Version>,
    /// How they differ.
    pub kind: Kind,
    /// The differences in the schema, one a line.
    pub lines: Vec<String>,
}

/// How a version differs from the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// There is none before it.
    Added,
    /// Inputs, outputs or attributes differ.
    Shape,
    /// Only the dtypes that it takes.
    Types,
    /// Neither: perhaps its meaning.
    Text,
    /// It must not be used from now on.
    Deprecated,
}

impl News<'_> {
    /// `Celu 28`: the version in the snapshot and in what the release says.
    pub fn key(&self) -> String {
        format!("{} {}", self.version.name, self.version.since)
    }
}

impl<'a> Release<'a> {
    /// The versions that the project does not have yet, by opset and name.
    pub fn news(&self) -> Vec<News<'a>> {
        let mut news = Vec::new();
        for (name, versions) in &self.new.ops {
            let known = self.old.versions(name);
            for (i, version) in versions.iter().enumerate() {
                if known.iter().all(|v| v.since != version.since) {
                    news.push(news_of(version, i.checked_sub(1).and_then(|i| versions.get(i))));
                }
            }
        }
        news.sort_by_key(|one| one.version.since);
        news
    }
}

fn news_of<'a>(version: &'a Version, before: Option<&'a Version>) -> News<'a> {
    let lines = before.map_or_else(Vec::new, |before| differences(before, version));
    let kind = match before.map(|before| version.change_from(before)) {
        _ if version.deprecated => Kind::Deprecated,
        None | Some(Change::Appeared) => Kind::Added,
        Some(Change::Shape) => Kind::Shape,
        Some(Change::Types) if lines.is_empty() || before.is_some_and(|b| is_sharing_otherwise(b, version)) => {
            Kind::Text
        }
        Some(Change::Types) => Kind::Types,
    };
    let lines = if kind == Kind::Deprecated { Vec::new() } else { lines };
    News { version, before, kind, lines }
}
