//! What can go wrong, said once: what happened, where, and what to do.

use std::fmt;

/// The result of everything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kinds of errors; each has its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file could not be read or written. Exit code 3.
    Io,
    /// The input is damaged, or not of a known format. Exit code 4.
    Input,
    /// The model needs what the target opset or this program does not have. Exit code 5.
    Unsupported,
    /// A fault of this program: a rule that broke its own promise. Exit code 70.
    Internal,
    /// Whoever asked for the work told it to stop. Exit code 130.
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

/// An error with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// What kind it is.
    pub kind: Kind,
    /// What happened, one line where possible.
    pub message: String,
    /// Where, from the outside in: file, graph, node, field.
    pub place: Vec<String>,
    /// What to do.
    pub help: Option<String>,
    /// The lowest opset at which this would have worked, where that is known.
    pub needs_opset: Option<u32>,
    /// The call that it is about, if it is about one.
    pub call: Option<Box<Call>>,
}

impl Error {
    /// An error of a kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Error { kind, message: message.into(), place: Vec::new(), help: None, needs_opset: None, call: None }
    }

    /// The input is damaged or unknown.
    pub fn input(message: impl Into<String>) -> Self {
        Error::new(Kind::Input, message)
    }

    /// It cannot be said in the target.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Error::new(Kind::Unsupported, message)
    }

    /// Our own fault.
    pub fn internal(message: impl Into<String>) -> Self {
        Error::new(Kind::Internal, message)
    }

    /// A `fail` or `since` of a rule, `needs` being the opset that would do.
    pub fn refused(message: impl Into<String>, needs: Option<u32>) -> Self {
        Error { needs_opset: needs, ..Error::unsupported(message) }
    }

    /// Adds an outer place.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place.insert(0, place.into());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// The process's exit code for this kind.
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
