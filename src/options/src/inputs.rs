//! Descriptions of inputs that a user gives for files that do not have them: `x:f32[batch,3,224,224]`.

use aten2onnx_core::axes::counted_from_start;
use std::fmt;
use std::str::FromStr;

use aten2onnx_core::dtype::Dtype;

/// The deepest nesting of a description.
const MAX_DEPTH: usize = 32;

/// The description of an input.
#[derive(Debug, Clone, PartialEq)]
pub enum Spec {
    /// A tensor: `f32[batch, 3]`.
    Tensor(Dtype, Vec<Size>),
    /// `[f32[2], f32[3]]`
    List(Vec<Spec>),
    /// `(f32[2], i64[3])`
    Tuple(Vec<Spec>),
    /// `{a: f32[2]}`
    Dict(Vec<(Literal, Spec)>),
    /// A number that the model takes: `int`, `float`, `bool`.
    Number(Dtype),
    /// A constant.
    Literal(Literal),
}

/// A size of a tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Size {
    /// A number.
    Known(i64),
    /// A name; equal names are equal sizes.
    Named(String),
}

/// A constant.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Literal {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
}

/// `x:f32[batch,3]` or `n=4`
#[derive(Debug, Clone, PartialEq)]
pub struct InputSpec {
    /// The name of the parameter.
    pub name: String,
    /// What it is.
    pub spec: Spec,
}

/// `x.0=batch`: a size of a traced input that has a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DynamicSize {
    /// The input, and the way into its structure.
    pub path: Vec<String>,
    /// The axis.
    pub axis: i64,
    /// The name of the size.
    pub name: String,
}

impl FromStr for InputSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<InputSpec, String> {
        let at = text.find([':', '=']).ok_or("write NAME:TYPE or NAME=VALUE, such as `x:f32[batch,3]` or `n=4`")?;
        let (name, rest) = text.split_at(at);
        let mut parser = Parser { text: rest, at: 1, depth: 0 };
        let spec = match rest.starts_with(':') {
            true => parser.spec()?,
            false => Spec::Literal(parser.literal()?),
        };
        parser.skip_blanks();
        match parser.rest().is_empty() {
            true => Ok(InputSpec { name: name.trim().to_owned(), spec }),
            false => Err(format!("`{}` is left over", parser.rest())),
        }
    }
}

impl FromStr for DynamicSize {
    type Err = String;

    fn from_str(text: &str) -> Result<DynamicSize, String> {
        let usage = "write INPUT.AXIS=NAME, such as `x.0=batch`";
        let (place, name) = text.split_once('=').ok_or(usage)?;
        let (path, axis) = place.rsplit_once('.').ok_or(usage)?;
        let axis = axis.parse().map_err(|_| format!("`{axis}` is not an axis"))?;
        if !is_identifier(name) {
            return Err(format!("`{name}` is not a name: letters, digits and `_`"));
        }
        Ok(DynamicSize { path: path.split('.').map(str::to_owned).collect(), axis, name: name.to_owned() })
    }
}

fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_') && chars.all(|c| c.is_alphanumeric() || c == '_')
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn take(&mut self, sign: char) -> bool {
        self.skip_blanks();
        let found = self.rest().starts_with(sign);
        self.at += if found { sign.len_utf8() } else { 0 };
        found
    }

    fn word(&mut self) -> &'a str {
        self.skip_blanks();
        let rest = self.rest();
        let end =
            rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '+'))).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn expect(&mut self, sign: char) -> Result<(), String> {
        match self.take(sign) {
            true => Ok(()),
            false => Err(format!("`{sign}` is expected before `{}`", self.rest())),
        }
    }

    fn spec(&mut self) -> Result<Spec, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("the description is nested too deeply".to_owned());
        }
        let spec = self.spec_inside();
        self.depth -= 1;
        spec
    }

    fn spec_inside(&mut self) -> Result<Spec, String> {
        if self.take('[') {
            return self.specs(']').map(Spec::List);
        }
        if self.take('(') {
            return self.specs(')').map(Spec::Tuple);
        }
        if self.take('{') {
            let mut entries = Vec::new();
            while !self.take('}') {
                let key = self.literal()?;
                self.expect(':')?;
                entries.push((key, self.spec()?));
                if !self.take(',') && !self.rest().trim_start().starts_with('}') {
                    return Err(format!("`,` or `}}` is expected before `{}`", self.rest()));
                }
            }
            return Ok(Spec::Dict(entries));
        }
        if self.take('=') {
            return self.literal().map(Spec::Literal);
        }
        let word = self.word();
        if !self.take('[') {
            return match word {
                "int" => Ok(Spec::Number(Dtype::Int64)),
                "float" => Ok(Spec::Number(Dtype::Float64)),
                "bool" => Ok(Spec::Number(Dtype::Bool)),
                "none" | "None" => Ok(Spec::Literal(Literal::None)),
                _ => match dtype(word) {
                    Some(dtype) => Ok(Spec::Tensor(dtype, Vec::new())),
                    None => literal(word).map(Spec::Literal).ok_or_else(|| format!("`{word}` is no type")),
                },
            };
        }
        let dtype = dtype(word).ok_or_else(|| format!("`{word}` is no dtype: write f32, i64, bool, ..."))?;
        let mut sizes = Vec::new();
        while !self.take(']') {
            let size = self.word();
            sizes.push(match size.parse::<i64>() {
                Ok(size) if size >= 0 => Size::Known(size),
                _ if is_identifier(size) => Size::Named(size.to_owned()),
                _ => return Err(format!("`{size}` is no size: a number or a name")),
            });
            if !self.take(',') && !self.rest().trim_start().starts_with(']') {
                return Err(format!("`,` or `]` is expected before `{}`", self.rest()));
            }
        }
        Ok(Spec::Tensor(dtype, sizes))
    }

    fn specs(&mut self, end: char) -> Result<Vec<Spec>, String> {
        let mut specs = Vec::new();
        while !self.take(end) {
            specs.push(self.spec()?);
            if !self.take(',') && !self.rest().trim_start().starts_with(end) {
                return Err(format!("`,` or `{end}` is expected before `{}`", self.rest()));
            }
        }
        Ok(specs)
    }

    fn literal(&mut self) -> Result<Literal, String> {
        self.skip_blanks();
        for quote in ['"', '\''] {
            if self.take(quote) {
                let rest = self.rest();
                let end = rest.find(quote).ok_or("a string does not end")?;
                self.at += end + 1;
                return Ok(Literal::Str(rest.get(..end).unwrap_or_default().to_owned()));
            }
        }
        let word = self.word();
        match literal(word) {
            Some(literal) => Ok(literal),
            None if word.is_empty() => Err("a value is missing".to_owned()),
            None => Ok(Literal::Str(word.to_owned())),
        }
    }
}

fn literal(word: &str) -> Option<Literal> {
    Some(match word {
        "none" | "None" => Literal::None,
        "true" | "True" => Literal::Bool(true),
        "false" | "False" => Literal::Bool(false),
        _ => match word.parse::<i64>() {
            Ok(number) => Literal::Int(number),
            Err(_) => Literal::Float(word.parse().ok()?),
        },
    })
}

/// A dtype by its short or its full name.
pub fn dtype(name: &str) -> Option<Dtype> {
    let full = match name {
        "f16" | "half" => "float16",
        "bf16" => "bfloat16",
        "f32" => "float32",
        "f64" | "double" => "float64",
        "i8" => "int8",
        "i16" => "int16",
        "i32" => "int32",
        "i64" | "long" => "int64",
        "u8" => "uint8",
        "u16" => "uint16",
        "u32" => "uint32",
        "u64" => "uint64",
        "c64" => "complex64",
        "c128" => "complex128",
        other => other,
    };
    // `bool` and `float` alone are numbers of Python.
    Dtype::from_torch_name(full)
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = |items: &[Spec]| items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Spec::Tensor(dtype, sizes) => {
                let size = |size: &Size| match size {
                    Size::Known(size) => size.to_string(),
                    Size::Named(name) => name.clone(),
                };
                write!(f, "{dtype}[{}]", sizes.iter().map(size).collect::<Vec<_>>().join(", "))
            }
            Spec::List(items) => write!(f, "[{}]", all(items)),
            Spec::Tuple(items) => write!(f, "({})", all(items)),
            Spec::Dict(entries) => {
                let entries = entries.iter().map(|(key, spec)| format!("{key:?}: {spec}"));
                write!(f, "{{{}}}", entries.collect::<Vec<_>>().join(", "))
            }
            Spec::Number(Dtype::Bool) => f.write_str("bool"),
            Spec::Number(dtype) => f.write_str(if dtype.is_int() { "int" } else { "float" }),
            Spec::Literal(literal) => write!(f, "{literal:?}"),
        }
    }
}

impl Spec {
    /// Gives a size a name; false if there is no such size.
    pub fn name_size(&mut self, path: &[String], axis: i64, name: &str) -> bool {
        let Some((first, rest)) = path.split_first() else {
            let Spec::Tensor(_, sizes) = self else { return false };
            let axis = counted_from_start(axis, sizes.len());
            let Some(size) = axis.and_then(|axis| sizes.get_mut(axis)) else { return false };
            *size = Size::Named(name.to_owned());
            return true;
        };
        let child = match self {
            Spec::List(items) | Spec::Tuple(items) => first.parse::<usize>().ok().and_then(|at| items.get_mut(at)),
            Spec::Dict(entries) => {
                let is_it = |key: &Literal| match key {
                    Literal::Str(text) => text == first,
                    Literal::Int(number) => number.to_string() == *first,
                    _ => false,
                };
                entries.iter_mut().find(|(key, _)| is_it(key)).map(|(_, spec)| spec)
            }
            _ => None,
        };
        child.is_some_and(|child| child.name_size(rest, axis, name))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn descriptions_are_read() {
        let read = |text: &str| text.parse::<InputSpec>().unwrap().spec;
        let sizes = vec![Size::Named("batch".to_owned()), Size::Known(3)];
        assert_eq!(read("x:f32[batch,3]"), Spec::Tensor(Dtype::Float32, sizes));
        assert_eq!(read("n=4"), Spec::Literal(Literal::Int(4)));
        assert_eq!(read("n:int"), Spec::Number(Dtype::Int64));
        assert_eq!(read("mask=none"), Spec::Literal(Literal::None));
        assert_eq!(read("mode=\"relu\""), Spec::Literal(Literal::Str("relu".to_owned())));
        assert_eq!(read("p:(f32[2], i64[3])").to_string(), "(float32[2], int64[3])");
        assert_eq!(
            read("d:{a: f32[2], \"b c\": [bool[1]]}").to_string(),
            "{Str(\"a\"): float32[2], Str(\"b c\"): [bool[1]]}"
        );
        assert_eq!(read("x:f32[]"), Spec::Tensor(Dtype::Float32, Vec::new()));
    }

    #[test]
    fn malformed_descriptions_are_refused() {
        for text in ["x", "x:", "x:f32[", "x:f33[2]", "x:f32[-1]", "x:(f32[2]", "x:f32[2]]", "x="] {
            assert!(text.parse::<InputSpec>().is_err(), "{text}");
        }
        assert!(format!("x:{}", "[".repeat(10_000)).parse::<InputSpec>().is_err());
        for text in ["x", "x=batch", "x.a=batch", "x.0=1"] {
            assert!(text.parse::<DynamicSize>().is_err(), "{text}");
        }
    }
}
