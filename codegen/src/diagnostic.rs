//! What the compiler has to say: errors as data. `render` turns them into text, in one place.

use crate::source::Span;

/// One error. Severity is always error: the compiler has no warnings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Such as `E0301`; each has a page in `codegen/src/errors/`.
    pub code: &'static str,
    /// One terse line.
    pub message: String,
    /// The place, with an optional text beside the marks.
    pub primary: (Span, String),
    /// Other places that matter.
    pub secondary: Vec<(Span, String)>,
    /// Facts, mostly of a schema.
    pub notes: Vec<String>,
    /// What to write instead.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn new(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            message: message.into(),
            primary: (span, String::new()),
            secondary: Vec::new(),
            notes: Vec::new(),
            help: None,
        }
    }

    /// Text beside the marks of the primary place.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.1 = text.into();
        self
    }

    /// Marks another place.
    #[must_use]
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push((span, text.into()));
        self
    }

    /// Adds a fact.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }
}
