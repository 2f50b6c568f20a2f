//! Errors as data. Only `render` turns them into text.

use crate::source::Span;

/// One error. There are no warnings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Such as `E0301`. Each code has a page in `errors/`.
    pub code: &'static str,
    /// One short line.
    pub message: String,
    /// The place, and a label, which may be empty.
    pub primary: (Span, String),
    /// Other places, with their labels.
    pub secondary: Vec<(Span, String)>,
    /// Facts, mostly from a schema.
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

    /// Sets the label of the primary place.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.1 = text.into();
        self
    }

    /// Adds another place with a label.
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
