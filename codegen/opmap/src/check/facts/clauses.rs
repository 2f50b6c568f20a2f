//! The clauses of facts.

use crate::effects::Trait;

/// Of a `view`.
pub(crate) const VIEW: &[&str] = &[
    "maybe",
    "itself",
    "itself unless FLAG",
    "itself if layout",
    "itself if dtype",
    "if strides",
    "in order",
    "apart",
    "repeats",
    "windows",
    "reinterprets",
];

/// Of a `write`.
pub(crate) const WRITE: &[&str] = &["whole", "constant", "resizes"];

/// Of an `update`.
pub(crate) const UPDATE: &[&str] = &["ARGUMENT", "ARGUMENT if FLAG"];

/// Of a `rewrite`.
pub(crate) const REWRITE: &[&str] = &["if only RESULT", "if symbolic", "for each"];

/// Of a `fact`.
pub(crate) const FACT: &[&str] = &[
    "assertion",
    "reads shapes",
    "reads memory",
    "gives memory",
    "ignores autocast",
    "gives bool",
    "gives int64",
    "gives float64",
    "records other sizes",
    "several answers",
];

/// The property that a clause of a `fact` states.
pub(super) fn parse(text: &str) -> Option<Trait> {
    Some(match text {
        "assertion" => Trait::Assertion,
        "reads shapes" => Trait::ReadsShapes,
        "reads memory" => Trait::ReadsMemory,
        "gives memory" => Trait::GivesMemory,
        "ignores autocast" => Trait::IgnoresAutocast,
        "records other sizes" => Trait::RecordsOtherSizes,
        "several answers" => Trait::SeveralAnswers,
        _ => match text.strip_prefix("gives ")? {
            dtype @ ("bool" | "int64" | "float64") => Trait::Gives(dtype.to_owned()),
            _ => return None,
        },
    })
}

/// The clause that states a property.
pub(super) fn text(one: &Trait) -> &'static str {
    match one {
        Trait::Assertion => "assertion",
        Trait::ReadsShapes => "reads shapes",
        Trait::ReadsMemory => "reads memory",
        Trait::GivesMemory => "gives memory",
        Trait::IgnoresAutocast => "ignores autocast",
        Trait::RecordsOtherSizes => "records other sizes",
        Trait::SeveralAnswers => "several answers",
        Trait::Gives(_) => "gives a dtype",
    }
}
