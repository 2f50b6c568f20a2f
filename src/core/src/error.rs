//! Errors: what happened, where, and how to fix it.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// The result of a fallible function.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kinds of errors; each has its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file could not be read or written. Exit code 3.
    Io,
    /// The input is damaged, or not of a known format. Exit code 4.
    Input,
    /// The model needs something that the target opset or this program does not support. Exit code 5.
    Unsupported,
    /// A bug in this program, such as an incorrect rule. Exit code 70.
    Internal,
    /// The caller stopped the work. Exit code 130.
    Stopped,
}

/// The call of the model that an error is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// `aten::add.Tensor`
    pub operator: String,
    /// The node: `add_1`.
    pub node: String,
    /// The user's source line, if known.
    pub source_line: Option<String>,
}

/// An error with its location: the size of a pointer, because every result has room for one.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Details>);

/// What an error says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Details {
    /// The kind of error.
    pub kind: Kind,
    /// What happened, in one line if possible.
    pub message: String,
    /// The location, from the outermost part: file, graph, node, field.
    pub place: Vec<String>,
    /// How to fix it.
    pub help: Option<String>,
    /// The lowest opset that would work, if known.
    pub needs_opset: Option<u32>,
    /// The call that the error is about, if any.
    pub call: Option<Box<Call>>,
}

impl Error {
    /// An error of this kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        let message = message.into();
        Error(Box::new(Details { kind, message, place: Vec::new(), help: None, needs_opset: None, call: None }))
    }

    /// An error for damaged or unknown input.
    pub fn input(message: impl Into<String>) -> Self {
        Error::new(Kind::Input, message)
    }

    /// An error for a model whose sizes or dtypes contradict its operators. Whether the model or a rule is wrong cannot be
    /// told from here.
    pub fn contradiction(message: impl Into<String>) -> Self {
        Error::input(message).help(
            "run the model in PyTorch or ONNX Runtime: if it refuses these sizes or dtypes too, the file is damaged; \
             if it runs, please report a fault of the rule",
        )
    }

    /// An error for something that the target cannot express.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Error::new(Kind::Unsupported, message)
    }

    /// An error for a bug in this program.
    pub fn internal(message: impl Into<String>) -> Self {
        Error::new(Kind::Internal, message)
    }

    /// A refusal by `fail` or `since` in a rule; `needs` is the opset that would work.
    pub fn refused(message: impl Into<String>, needs: Option<u32>) -> Self {
        let mut error = Error::unsupported(message);
        error.needs_opset = needs;
        error
    }

    /// Adds an outer location.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place.insert(0, place.into());
        self
    }

    /// Adds how to fix it.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// The same as another kind of error.
    #[must_use]
    pub fn of_kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// The same without its location, which the caller knows.
    #[must_use]
    pub fn without_place(mut self) -> Self {
        self.place.clear();
        self
    }

    /// The same with another message.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// What it says.
    pub fn into_details(self) -> Details {
        *self.0
    }

    /// The exit code of the process for this kind.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Io => 3,
            Kind::Input => 4,
            Kind::Unsupported => 5,
            Kind::Internal => 70,
            Kind::Stopped => 130,
        }
    }
}

impl Deref for Error {
    type Target = Details;

    fn deref(&self) -> &Details {
        &self.0
    }
}

impl DerefMut for Error {
    fn deref_mut(&mut self) -> &mut Details {
        &mut self.0
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for place in &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Error::new(Kind::Io, error.to_string())
    }
}
