//! Names that a user gives to dimensions, inputs and outputs, in the syntax of the command line.

use std::fmt;
use std::str::FromStr;

/// A name for a symbolic dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DimName {
    /// The dimension.
    pub which: WhichDim,
    /// The name in the model, or a number: the size becomes constant.
    pub name: String,
}

impl DimName {
    /// The size, if it becomes constant.
    pub fn size(&self) -> Option<i64> {
        self.name.parse::<u32>().ok().map(i64::from)
    }
}

/// How a dimension is identified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhichDim {
    /// By the symbol that torch.export gave it: `s77`.
    Symbol(String),
    /// By an input and its axis: `x:0`.
    Axis(String, i64),
}

impl WhichDim {
    /// The symbol, if it is given by one.
    pub fn symbol(&self) -> Option<&str> {
        match self {
            WhichDim::Symbol(symbol) => Some(symbol),
            WhichDim::Axis(..) => None,
        }
    }
}

impl fmt::Display for WhichDim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WhichDim::Symbol(symbol) => f.write_str(symbol),
            WhichDim::Axis(input, axis) => write!(f, "{input}:{axis}"),
        }
    }
}

/// `s77=batch`, `x:0=batch` or `s77=1`
impl FromStr for DimName {
    type Err = String;

    fn from_str(text: &str) -> Result<DimName, String> {
        let (which, name) = text.split_once('=').ok_or("write SYMBOL=NAME or INPUT:AXIS=NAME, such as `s77=batch`")?;
        if !is_identifier(name) && name.parse::<u32>().is_err() {
            return Err(format!("`{name}` is neither a name (letters, digits and `_`) nor a size"));
        }
        let which = match which.rsplit_once(':') {
            Some((input, axis)) => {
                WhichDim::Axis(input.to_owned(), axis.parse().map_err(|_| format!("`{axis}` is not an axis"))?)
            }
            None => WhichDim::Symbol(which.to_owned()),
        };
        Ok(DimName { which, name: name.to_owned() })
    }
}

/// A new name for an input or output: the next one, or the one with the given name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rename {
    /// The current name; None for the next one in order.
    pub old: Option<String>,
    /// The new name.
    pub new: String,
}

/// `image` or `x=image`
impl FromStr for Rename {
    type Err = String;

    fn from_str(text: &str) -> Result<Rename, String> {
        let (old, new) = text.split_once('=').map_or((None, text), |(old, new)| (Some(old.to_owned()), new));
        if new.is_empty() {
            return Err("a name is missing".to_owned());
        }
        Ok(Rename { old, new: new.to_owned() })
    }
}

/// The name of a weight in a file of weights, if it differs from that in the state dict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightName {
    /// The name in the state dict; with a dot at its end, or empty, all names that start with it.
    pub old: String,
    /// The name, or what names start with, in the file.
    pub new: String,
}

impl WeightName {
    /// The name in the file, if this is about the weight.
    pub fn apply(&self, name: &str) -> Option<String> {
        if self.old.is_empty() || self.old.ends_with('.') {
            return Some(format!("{}{}", self.new, name.strip_prefix(&self.old)?));
        }
        (name == self.old).then(|| self.new.clone())
    }
}

/// `lm_head.weight=embed.weight`, `model.=`, `=model.`
impl FromStr for WeightName {
    type Err = String;

    fn from_str(text: &str) -> Result<WeightName, String> {
        let (old, new) =
            text.split_once('=').ok_or("write OLD=NEW, such as `lm_head.weight=embed.weight` or `model.=`")?;
        let is_prefix = |text: &str| text.is_empty() || text.ends_with('.');
        match is_prefix(old) == is_prefix(new) {
            true => Ok(WeightName { old: old.to_owned(), new: new.to_owned() }),
            false => {
                Err("either both sides are names, or both are prefixes: empty, or with a dot at the end".to_owned())
            }
        }
    }
}

fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_') && chars.all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_of_weights_are_whole_or_prefixes() {
        let name = |text: &str| text.parse::<WeightName>().unwrap();
        assert_eq!(name("a.b=c").apply("a.b"), Some("c".to_owned()));
        assert_eq!(name("a.b=c").apply("a.b.c"), None);
        assert_eq!(name("a.=").apply("a.b"), Some("b".to_owned()));
        assert_eq!(name("=a.").apply("b"), Some("a.b".to_owned()));
        assert!("a.=b".parse::<WeightName>().is_err());
        assert!("a".parse::<WeightName>().is_err());
    }

    #[test]
    fn malformed_names_are_refused() {
        for text in ["batch", "s0=", "s0=2b", "x:a=batch"] {
            assert!(text.parse::<DimName>().is_err(), "{text}");
        }
        assert!("x=".parse::<Rename>().is_err());
    }
}
