//! The schemas of operators, in the order in which libtorch tries them: `mappings/schemas/torchscript.txt`.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::types::{Type, generic, named};

/// An overload.
#[derive(Debug, Clone)]
pub struct Schema {
    /// `aten::add`
    pub name: String,
    /// `Tensor`; empty for the default.
    pub overload: String,
    pub params: Vec<Param>,
    pub returns: Vec<Type>,
    /// Whether it takes any arguments: `prim::Print(...)`.
    pub takes_all: bool,
}

/// A parameter.
#[derive(Debug, Clone)]
pub struct Param {
    pub name: String,
    pub ty: Type,
    pub kind: Kind,
    /// Whether one element may stand for a list: `int[2]`. The number of elements.
    pub repeats: Option<usize>,
    pub has_default: bool,
    pub keyword_only: bool,
}

/// What an int of TorchScript stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Plain,
    Dtype,
    /// A layout or memory format.
    Opaque,
}

impl Schema {
    /// `aten::add.Tensor`, as rules are named.
    pub fn target(&self) -> String {
        match self.overload.as_str() {
            "" => self.name.clone(),
            overload => format!("{}.{overload}", self.name),
        }
    }

    /// Whether a result is a tensor, or contains one.
    pub fn returns_tensors(&self) -> bool {
        self.returns.iter().any(has_tensor)
    }
}

/// Whether values of the type contain tensors for certain.
pub fn has_tensor(ty: &Type) -> bool {
    match ty {
        Type::Tensor => true,
        Type::Optional(of) | Type::List(of) => has_tensor(of),
        Type::Tuple(of) => of.iter().any(has_tensor),
        Type::Dict(of) => has_tensor(&of.1),
        _ => false,
    }
}

/// The schemas that were asked for so far.
#[derive(Debug, Default)]
pub struct Schemas {
    parsed: FxHashMap<String, Rc<[Rc<Schema>]>>,
}

impl Schemas {
    /// The overloads of an operator, first those that are tried first.
    pub fn of(&mut self, name: &str) -> Rc<[Rc<Schema>]> {
        if let Some(known) = self.parsed.get(name) {
            return Rc::clone(known);
        }
        let lines = aten2onnx_mappings::torchscript_overloads(name);
        let found: Vec<Rc<Schema>> = lines.filter_map(schema).map(Rc::new).collect();
        let found: Rc<[Rc<Schema>]> = found.into();
        self.parsed.insert(name.to_owned(), Rc::clone(&found));
        found
    }
}

/// Whether the name of a type is a variable: `t`, `t1`.
fn is_variable(word: &str) -> bool {
    word.strip_prefix(['t', 'T']).is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
}

/// Parses `aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`.
pub fn schema(line: &str) -> Option<Schema> {
    let (full, rest) = line.split_once('(')?;
    let (name, overload) = full.split_once('.').unwrap_or((full, ""));
    let mut reader = Reader { rest };
    let mut params = Vec::new();
    let (mut keyword_only, mut takes_all) = (false, false);
    while !reader.take(")") {
        if reader.take("*") {
            keyword_only = true;
        } else if reader.take("...") {
            takes_all = true;
        } else {
            let mut param = reader.param()?;
            param.keyword_only = keyword_only;
            params.push(param);
        }
        reader.take(", ");
    }
    if !reader.take(" -> ") {
        return None;
    }
    let returns = if reader.rest == "..." { Vec::new() } else { reader.returns()? };
    Some(Schema { name: name.to_owned(), overload: overload.to_owned(), params, returns, takes_all })
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn take(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn param(&mut self) -> Option<Param> {
        let before = self.rest;
        let (ty, repeats) = self.ty()?;
        let kind = match before.split(|c: char| !c.is_alphanumeric()).next() {
            Some("ScalarType") => Kind::Dtype,
            Some("Layout" | "MemoryFormat") => Kind::Opaque,
            _ => Kind::Plain,
        };
        self.take(" ");
        let name = self.word().to_owned();
        let has_default = self.take("=");
        if has_default {
            self.skip_default();
        }
        Some(Param { name, ty, kind, repeats, has_default, keyword_only: false })
    }

    /// Skips to the next comma or the closing parenthesis outside of brackets and strings.
    fn skip_default(&mut self) {
        let (mut depth, mut quoted) = (0_usize, false);
        let end = self.rest.find(|c: char| {
            match c {
                '"' | '\'' => quoted = !quoted,
                '[' | '(' if !quoted => depth += 1,
                ']' | ')' if !quoted && depth > 0 => depth -= 1,
                ',' | ')' if !quoted && depth == 0 => return true,
                _ => {}
            }
            false
        });
        self.rest = self.rest.get(end.unwrap_or(self.rest.len())..).unwrap_or_default();
    }

    fn returns(&mut self) -> Option<Vec<Type>> {
        if !self.rest.starts_with('(') {
            return Some(vec![self.ty()?.0]);
        }
        self.take("(");
        let mut types = Vec::new();
        while !self.take(")") {
            types.push(self.ty()?.0);
            if self.take(" ") {
                self.word();
            }
            self.take(", ");
        }
        Some(types)
    }

    /// A type, and the number of elements of a sized list.
    fn ty(&mut self) -> Option<(Type, Option<usize>)> {
        let mut ty = match self.rest.starts_with('(') {
            true => Type::tuple(self.arguments()?),
            false => {
                let word = self.word();
                match word {
                    "" => return None,
                    "Dict" | "Future" | "Await" | "Tuple" | "Union" if self.rest.starts_with('(') => {
                        generic(word, self.arguments()?)?
                    }
                    "tVal" => Type::Var(Rc::from(word)),
                    _ if is_variable(word) => Type::Var(Rc::from(word)),
                    _ => named(word),
                }
            }
        };
        let mut repeats = None;
        loop {
            if self.rest.starts_with('(') {
                // Which memory it shares.
                let end = self.rest.find(')')?;
                self.rest = self.rest.get(end + 1..)?;
            } else if self.take("[") {
                let count = self.word();
                repeats = count.parse().ok();
                self.take("]");
                ty = Type::list(ty);
            } else if self.take("?") {
                ty = Type::optional(ty);
            } else {
                return Some((ty, repeats));
            }
        }
    }

    /// Types in parentheses.
    fn arguments(&mut self) -> Option<Vec<Type>> {
        self.take("(");
        let mut types = Vec::new();
        while !self.take(")") {
            types.push(self.ty()?.0);
            self.take(", ");
        }
        Some(types)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_line_is_understood() {
        let all: Vec<&str> = aten2onnx_mappings::TORCHSCRIPT.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(all.len() > 4000, "{}", all.len());
        let wrong: Vec<&&str> = all.iter().filter(|line| schema(line).is_none()).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn the_parts_of_a_schema() {
        let found = schema(
            "aten::f.x(Tensor(a!) self, int[2]? s=[1, 1], *, ScalarType? dtype=None, Dict(str, t)[] d) -> (Tensor(a!) v, t[])",
        );
        let found = found.unwrap();
        assert_eq!((found.target().as_str(), found.params.len(), found.returns.len()), ("aten::f.x", 4, 2));
        assert_eq!(found.params[1].repeats, Some(2));
        assert!(found.params[1].has_default && found.params[2].keyword_only);
        assert_eq!(found.params[2].kind, Kind::Dtype);
        assert_eq!(found.params[3].ty.to_string(), "List[Dict[str, t]]");
    }
}
