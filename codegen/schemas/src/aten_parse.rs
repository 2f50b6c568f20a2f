//! Reads PyTorch's schema notation: `aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`.

use super::aten::{Arg, Ret, Schema, Value};
use super::text::{quoted, quoted_prefix};

/// Types with types in parentheses. After other types, parentheses contain an alias mark.
const GENERIC: [&str; 4] = ["Dict", "Future", "RRef", "Await"];

/// A schema, which must be the whole text.
pub(super) fn parse_schema(line: &str) -> Result<Schema, String> {
    let open = line.find('(').ok_or("no `(` after the name")?;
    let (name, rest) = line.split_at(open);
    if !name.contains("::") || name.bytes().any(|b| b == b' ') {
        return Err(format!("`{name}` is not the name of an operator"));
    }
    let mut cursor = Cursor { rest };
    let args = arguments(&mut cursor)?;
    cursor.expect(" -> ")?;
    let returns = returns(&mut cursor)?;
    if !cursor.rest.is_empty() {
        return Err(format!("`{}` after the results", cursor.rest));
    }
    Ok(Schema { name: name.to_string(), args, returns })
}

/// `(Tensor self, *, Scalar alpha=1)`
fn arguments(cursor: &mut Cursor<'_>) -> Result<Vec<Arg>, String> {
    let mut args = Vec::new();
    let mut keyword_only = false;
    cursor.expect("(")?;
    while !cursor.skip(")") {
        if !args.is_empty() || keyword_only {
            cursor.expect(", ")?;
        }
        if cursor.skip("*") {
            if keyword_only {
                return Err("a second `*`".into());
            }
            keyword_only = true;
            continue;
        }
        args.push(argument(cursor, keyword_only)?);
    }
    Ok(args)
}

/// `Scalar alpha=1`
fn argument(cursor: &mut Cursor<'_>, keyword_only: bool) -> Result<Arg, String> {
    if cursor.skip("...") {
        let (name, ty) = (String::new(), "...".to_string());
        return Ok(Arg { name, ty, alias: None, alias_at: 0, default: None, keyword_only });
    }
    let Typed { ty, alias, alias_at } = typed(cursor)?;
    cursor.expect(" ")?;
    let name = cursor.word()?.to_string();
    let default = if cursor.skip("=") { Some(default(cursor)?.to_string()) } else { None };
    Ok(Arg { name, ty, alias, alias_at, default, keyword_only })
}

/// The text of a default: up to the `,` or `)` that ends it.
fn default<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, String> {
    let text = cursor.rest;
    let end = match text.bytes().next() {
        Some(b'"' | b'\'') => text.len() - quoted_prefix(text).ok_or("unclosed string")?.1.len(),
        Some(b'[') => text.find(']').ok_or("unclosed list")? + 1,
        _ => text.find([',', ')']).ok_or("unclosed default")?,
    };
    if end == 0 {
        return Err("no default after `=`".into());
    }
    cursor.take(end)
}

/// `Tensor`, `(Tensor values, Tensor indices)`, `()`
fn returns(cursor: &mut Cursor<'_>) -> Result<Vec<Ret>, String> {
    let mut returns = Vec::new();
    if !cursor.rest.starts_with('(') || is_tuple(cursor.rest) {
        returns.push(result(cursor)?);
        return Ok(returns);
    }
    cursor.expect("(")?;
    while !cursor.skip(")") {
        if !returns.is_empty() {
            cursor.expect(", ")?;
        }
        returns.push(result(cursor)?);
    }
    Ok(returns)
}

/// Whether it is a type such as `(A, B)[]` and not a list of results.
fn is_tuple(text: &str) -> bool {
    balanced(text).and_then(|end| text.get(end..)).is_some_and(|rest| !rest.is_empty())
}

/// `Tensor(a!) values`
fn result(cursor: &mut Cursor<'_>) -> Result<Ret, String> {
    let Typed { ty, alias, alias_at } = typed(cursor)?;
    let name = if cursor.skip(" ") { Some(cursor.word()?.to_string()) } else { None };
    Ok(Ret { ty, alias, alias_at, name })
}

/// A type and its alias mark.
struct Typed {
    ty: String,
    alias: Option<String>,
    alias_at: u32,
}

/// `Tensor(a!)[]`, `int[2]?`, `Dict(str, t)`, `(int, t)[]`
fn typed(cursor: &mut Cursor<'_>) -> Result<Typed, String> {
    let start = cursor.rest;
    let mut generic = true;
    if !start.starts_with('(') {
        let word = cursor.word()?;
        generic = GENERIC.contains(&word);
    }
    if generic {
        cursor.take(balanced(cursor.rest).ok_or("parentheses do not match in a type")?)?;
    }
    let mut mark = None;
    loop {
        match cursor.rest.bytes().next() {
            Some(b'?') => drop(cursor.take(1)?),
            Some(b'[') => drop(cursor.take(cursor.rest.find(']').ok_or("no `]` in a type")? + 1)?),
            Some(b'(') if mark.is_none() => {
                let at = start.len() - cursor.rest.len();
                let end = cursor.rest.find(')').ok_or("unclosed alias mark")?;
                mark = Some((at, cursor.take(end + 1)?));
            }
            _ => break,
        }
    }
    let text = start.get(..start.len() - cursor.rest.len()).unwrap_or("");
    let Some((at, written)) = mark else {
        return Ok(Typed { ty: text.to_string(), alias: None, alias_at: 0 });
    };
    let mut ty = String::with_capacity(text.len());
    ty.push_str(text.get(..at).unwrap_or(""));
    ty.push_str(text.get(at + written.len()..).unwrap_or(""));
    let alias = written.trim_start_matches('(').trim_end_matches(')').to_string();
    Ok(Typed { ty, alias: Some(alias), alias_at: at as u32 })
}

/// The length in bytes of the parenthesised prefix of a text.
fn balanced(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return (i > 0).then_some(i + 1);
        }
    }
    None
}

/// The rest of the line.
struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn skip(&mut self, text: &str) -> bool {
        let after = self.rest.strip_prefix(text);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn expect(&mut self, text: &str) -> Result<(), String> {
        if self.skip(text) {
            return Ok(());
        }
        let found: String = self.rest.chars().take(20).collect();
        Err(format!("expected `{text}`, found `{found}`"))
    }

    fn take(&mut self, bytes: usize) -> Result<&'a str, String> {
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or("unexpected end of line")?;
        self.rest = rest;
        Ok(taken)
    }

    /// A name, perhaps with dots.
    fn word(&mut self) -> Result<&'a str, String> {
        let is_part = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'.';
        let end = self.rest.bytes().position(|b| !is_part(b)).unwrap_or(self.rest.len());
        if end == 0 {
            return Err(format!(
                "a name should stand where `{}` stands",
                self.rest.chars().take(20).collect::<String>()
            ));
        }
        self.take(end)
    }
}

/// See [`super::aten::default_value`].
pub(super) fn default_value(ty: &str, text: &str) -> Option<Value> {
    if text == "None" && ty.ends_with('?') {
        return Some(Value::None);
    }
    let ty = ty.strip_suffix('?').unwrap_or(ty);
    let Some((element, size)) = ty.strip_suffix(']').and_then(|t| t.rsplit_once('[')) else { return scalar(ty, text) };
    if let Some(items) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        let items = items.split(',').map(str::trim).filter(|i| !i.is_empty());
        return items.map(|i| scalar(element, i)).collect::<Option<_>>().map(Value::List);
    }
    // A single number stands for all elements of a list of known size.
    let size: usize = size.parse().ok().filter(|n| *n < 100)?;
    Some(Value::List(vec![scalar(element, text)?; size]))
}

/// A default that is not a list.
fn scalar(ty: &str, text: &str) -> Option<Value> {
    let int = || text.parse().ok().map(Value::Int);
    let float = || text.parse().ok().map(Value::Float);
    let truth = || text.to_ascii_lowercase().parse().ok().map(Value::Bool);
    match ty {
        "bool" => truth(),
        "int" | "SymInt" | "MemoryFormat" | "Layout" | "ScalarType" => named(text).map(Value::Int).or_else(int),
        "float" | "SymFloat" => float(),
        "str" => quoted(text).map(Value::Str),
        _ => int().or_else(float).or_else(truth).or_else(|| quoted(text).map(Value::Str)),
    }
}

/// The names that native_functions.yaml uses for numbers: at::Reduction, c10::ScalarType, c10::MemoryFormat.
fn named(text: &str) -> Option<i64> {
    Some(match text {
        "Mean" => 1,
        "Sum" => 2,
        "long" => 4,
        "contiguous_format" => 0,
        "preserve_format" => 1,
        "channels_last" => 2,
        _ => return None,
    })
}
