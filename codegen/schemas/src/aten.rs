//! PyTorch's operators: the schema of every overload, from `schemas/aten.txt` and the other snapshots of PyTorch.

use std::fmt;
use std::sync::OnceLock;

use super::aten_parse;

/// All overloads by full name: `aten::mul.Tensor`, `aten::relu` for a default overload.
///
/// There are thousands of them and a run needs some hundreds, so a line is parsed when it is first used.
#[derive(Debug, Clone, Default)]
pub struct AtenSchemas {
    /// Sorted by name.
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    name: String,
    line: String,
    /// None inside for a line that cannot be parsed.
    schema: OnceLock<Option<Schema>>,
}

/// An overload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// `aten::mul.Tensor`
    pub name: String,
    /// In order. An argument of type `...` (any number of anything) has no name.
    pub args: Vec<Arg>,
    /// In order. Empty for `-> ()`.
    pub returns: Vec<Ret>,
}

/// An argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arg {
    /// `self`
    pub name: String,
    /// As in native_functions.yaml, without alias marks: `Tensor?[]`, `int[2]`, `SymInt[]`.
    pub ty: String,
    /// Alias mark as written, such as `a!`, `a`, `a -> *`.
    pub alias: Option<String>,
    /// The byte in `ty` at which the alias mark is: `Tensor(a!)[]` and `Tensor[](a!)` both exist.
    pub alias_at: u32,
    /// As written after `=`.
    pub default: Option<String>,
    /// It is after `*`.
    pub keyword_only: bool,
}

/// A result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ret {
    /// Its type, without alias marks.
    pub ty: String,
    /// Alias mark as written.
    pub alias: Option<String>,
    /// The byte in `ty` at which the alias mark is.
    pub alias_at: u32,
    /// Its name, if it has one.
    pub name: Option<String>,
}

/// The value of a default: `1` for an `int[2]` is `[1, 1]`, `Mean` is 1, `0.` is `0.0`.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    List(Vec<Value>),
}

impl AtenSchemas {
    /// Reads the text of a snapshot: one schema a line, comments begin with `#`. An error names the line.
    pub fn parse(text: &str) -> Result<AtenSchemas, String> {
        for (number, line) in lines(text) {
            parse_schema(line).map_err(|e| format!("line {number}: {e}: `{line}`"))?;
        }
        AtenSchemas::index([text])
    }

    /// Reads only the names of several snapshots, which are known to be correct. A schema that is malformed counts as absent.
    pub fn index<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<AtenSchemas, String> {
        let mut entries = Vec::new();
        for (number, line) in texts.into_iter().flat_map(lines) {
            let (name, _) = line.split_once('(').ok_or_else(|| format!("line {number}: no schema: `{line}`"))?;
            entries.push(Entry { name: name.to_string(), line: line.to_string(), schema: OnceLock::new() });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        match entries.windows(2).find(|pair| matches!(pair, [a, b] if a.name == b.name)) {
            Some(pair) => Err(format!("duplicate `{}`", pair.first().map_or("", |e| &e.name))),
            None => Ok(AtenSchemas { entries }),
        }
    }

    /// An overload by its full name. `aten::relu` and `aten::relu.default` are the same.
    pub fn get(&self, name: &str) -> Option<&Schema> {
        let found = self.entry(name).or_else(|| self.entry(name.strip_suffix(".default")?))?;
        found.schema()
    }

    /// All overloads of an operator (`aten::add`), sorted.
    pub fn overloads(&self, op: &str) -> Vec<&Schema> {
        let start = self.entries.partition_point(|e| e.name.as_str() < op);
        let entries = self.entries.get(start..).unwrap_or(&[]).iter();
        // `.` sorts before all other characters that may follow in a name.
        let same_op = |e: &&Entry| e.name.strip_prefix(op).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        entries.take_while(same_op).filter_map(Entry::schema).collect()
    }

    /// All of them, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Schema> {
        self.entries.iter().filter_map(Entry::schema)
    }

    /// All full names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|e| e.name.as_str())
    }

    /// The overload with the most similar name, if any is similar enough.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        crate::nearest::nearest(name, self.names())
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        let at = self.entries.binary_search_by(|e| e.name.as_str().cmp(name)).ok()?;
        self.entries.get(at)
    }
}

impl Entry {
    fn schema(&self) -> Option<&Schema> {
        self.schema.get_or_init(|| parse_schema(&self.line).ok()).as_ref()
    }
}

/// The lines with schemas, numbered from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(i, l)| (i + 1, l)).filter(|(_, l)| !l.is_empty() && !l.starts_with('#'))
}

/// Reads one schema: `aten::relu(Tensor self) -> Tensor`.
pub fn parse_schema(line: &str) -> Result<Schema, String> {
    aten_parse::parse_schema(line)
}

impl Schema {
    /// The name without its overload: `aten::mul` of `aten::mul.Tensor`.
    pub fn op(&self) -> &str {
        self.name.split_once('.').map_or(&self.name, |(op, _)| op)
    }

    /// The argument of this name.
    pub fn arg(&self, name: &str) -> Option<&Arg> {
        self.args.iter().find(|a| a.name == name)
    }

    /// Whether a result may share memory with an argument, by the alias marks.
    pub fn is_view(&self) -> bool {
        self.returns.iter().any(|r| r.alias.as_ref().is_some_and(|a| !a.contains('!')))
    }

    /// Whether the operator writes to any of its arguments.
    pub fn mutates(&self) -> bool {
        self.args.iter().any(Arg::mutated)
    }
}

impl Arg {
    /// Whether the operator writes to it.
    pub fn mutated(&self) -> bool {
        self.alias.as_ref().is_some_and(|a| a.contains('!'))
    }

    /// The value of its default; None if it has none, or one that cannot be read.
    pub fn default_value(&self) -> Option<Value> {
        default_value(&self.ty, self.default.as_deref()?)
    }
}

/// The value of a default of an argument of type `ty`. Compare values, not texts: native_functions.yaml and PyTorch's own
/// printing write some defaults differently.
pub fn default_value(ty: &str, text: &str) -> Option<Value> {
    aten_parse::default_value(ty, text)
}

impl fmt::Display for Schema {
    /// In the notation of the snapshot.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.name)?;
        let mut starred = false;
        for (i, arg) in self.args.iter().enumerate() {
            f.write_str(if i > 0 { ", " } else { "" })?;
            if arg.keyword_only && !starred {
                f.write_str("*, ")?;
                starred = true;
            }
            write!(f, "{arg}")?;
        }
        f.write_str(") -> ")?;
        match self.returns.as_slice() {
            [one] if !one.ty.starts_with('(') => write!(f, "{one}"),
            returns => {
                f.write_str("(")?;
                for (i, ret) in returns.iter().enumerate() {
                    write!(f, "{}{ret}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str(")")
            }
        }
    }
}

impl fmt::Display for Arg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_type(f, &self.ty, self.alias.as_deref(), self.alias_at)?;
        if !self.name.is_empty() {
            write!(f, " {}", self.name)?;
        }
        self.default.as_ref().map_or(Ok(()), |d| write!(f, "={d}"))
    }
}

impl fmt::Display for Ret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_type(f, &self.ty, self.alias.as_deref(), self.alias_at)?;
        self.name.as_ref().map_or(Ok(()), |n| write!(f, " {n}"))
    }
}

fn write_type(f: &mut fmt::Formatter<'_>, ty: &str, alias: Option<&str>, at: u32) -> fmt::Result {
    match (alias, ty.split_at_checked(at as usize)) {
        (Some(alias), Some((before, after))) => write!(f, "{before}({alias}){after}"),
        _ => f.write_str(ty),
    }
}

/// A type without `?`, sizes of lists and `SymInt`: `int[]` of `SymInt[2]?`.
pub fn plain_type(ty: &str) -> String {
    let ty = ty.trim_end_matches('?').replace('?', "").replace("Sym", "").replace("Int", "int");
    match ty.split_once('[') {
        Some((element, _)) => format!("{element}[]"),
        None => ty,
    }
}
