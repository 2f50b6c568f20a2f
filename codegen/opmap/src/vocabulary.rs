//! The words of the language, for editors and their grammars. Each list is that of the parser or the checker.

use crate::check::calls::builtin_usages;
use crate::check::exprs::CONSTANTS;
use crate::check::facts::clauses;
use crate::check::lower_header::{attr_type, lower_params};
use crate::check::types::{DTYPES, OPAQUE, TYPES};
use crate::syntax::cut::KEYWORDS;
use crate::syntax::fact::FactKind;
use crate::syntax::parse::example::ELEMENT_TYPES;
use crate::syntax::parse::failure::RESERVED;
use crate::types::Ty;
use aten2onnx_schemas::onnx::{AttrKind, Version};

/// The first words of items.
#[must_use]
pub fn item_words() -> &'static [&'static str] {
    KEYWORDS
}

/// The words that are not names in expressions.
#[must_use]
pub fn reserved_words() -> &'static [&'static str] {
    RESERVED
}

/// Words with a meaning in the headers of items, which are names elsewhere.
#[must_use]
pub fn header_words() -> &'static [&'static str] {
    &["before", "from", "avoided", "as", "with", "is", "emits", "because"]
}

/// The names of types, those without a meaning in ONNX last.
pub fn type_names() -> impl Iterator<Item = &'static str> {
    TYPES.iter().chain(OPAQUE).copied()
}

/// The names of dtypes in expressions.
#[must_use]
pub fn dtype_names() -> &'static [&'static str] {
    DTYPES
}

/// The element types of tensors in examples.
#[must_use]
pub fn element_types() -> &'static [&'static str] {
    ELEMENT_TYPES
}

/// The constants.
#[must_use]
pub fn constant_names() -> &'static [&'static str] {
    CONSTANTS
}

/// The built-in functions, each with how it is called.
pub fn builtin_calls() -> impl Iterator<Item = (&'static str, &'static str)> {
    builtin_usages()
}

/// The clauses of a fact. Words in capitals stand for names.
#[must_use]
pub fn fact_clauses(kind: FactKind) -> &'static [&'static str] {
    match kind {
        FactKind::View => clauses::VIEW,
        FactKind::Write => clauses::WRITE,
        FactKind::Update => clauses::UPDATE,
        FactKind::Rewrite => clauses::REWRITE,
        FactKind::Fact => clauses::FACT,
    }
}

/// The inputs of a version of an operator and then its attributes with their suffix, as in the header of a `lower`, with their types.
#[must_use]
pub fn operator_params(version: &Version) -> Vec<(String, Ty)> {
    lower_params(version)
}

/// The letter after the name of an attribute of this type. None if rules cannot give such attributes.
#[must_use]
pub fn attribute_suffix(kind: AttrKind) -> Option<char> {
    attr_type(kind).map(|(suffix, _)| suffix)
}
