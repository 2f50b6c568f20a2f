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
    /// Changes of the text that may repair it, the most likely one first. Editors offer them.
    pub fixes: Vec<Fix>,
}

/// A change of the text that may repair an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What it does, such as ``replace by `Gelu` ``.
    pub title: String,
    /// Where.
    pub place: FixPlace,
    /// The new text, without blanks around it.
    pub text: String,
}

/// Where a [`Fix`] writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixPlace {
    /// In place of this text.
    Text(Span),
    /// In place of the first number in this text.
    Number(Span),
    /// As the last argument of this call.
    Argument(Span),
    /// As the last arm of this `match`.
    Arm(Span),
    /// Before the item around this place, on the same line.
    ItemStart(Span),
    /// After the header of the item around this place.
    Header(Span),
    /// At the start of the body of the item around this place.
    Body(Span),
    /// On a line of its own after the item around this place.
    AfterItem(Span),
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
            fixes: Vec::new(),
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

    /// Adds a change of the text that may repair it.
    #[must_use]
    pub fn fix(mut self, title: impl Into<String>, place: FixPlace, text: impl Into<String>) -> Self {
        self.fixes.push(Fix { title: title.into(), place, text: text.into() });
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }
}
