//! Names and calls around a place of a text, found in its tokens. So half-written items have them too.

use std::ops::Range;

use aten2onnx_opmap::syntax::item_ranges;
use aten2onnx_opmap::syntax::scan::{Kind, Token, scan};
use aten2onnx_opmap::vocabulary::item_words;

/// The tokens and items of a text.
#[derive(Debug, Clone, Default)]
pub struct Words {
    /// In order.
    pub tokens: Vec<Token>,
    /// The items in order, broken ones too.
    pub items: Vec<Range<usize>>,
}

/// A name, perhaps with a namespace and an overload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullName {
    /// `aten::add.Tensor`, `Gelu`, `x`
    pub text: String,
    /// Where.
    pub range: Range<usize>,
}

/// A call around a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Around {
    /// What is called.
    pub callee: FullName,
    /// The number of the argument at the place.
    pub argument: usize,
    /// The name of the argument at the place, if it has one: `alpha_f`.
    pub name: Option<String>,
    /// The names of all arguments before the place.
    pub named: Vec<String>,
    /// The byte after the opening bracket.
    pub open: usize,
}

/// The beginning of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// `map`, `lower`, `pub extern fn`
    pub keyword: String,
    /// What it is about.
    pub name: FullName,
    /// What follows the name of a `lower`, a `raise` or an example: `before 20`, `avoided`, `from 13`.
    pub form: String,
    /// All of the item.
    pub range: Range<usize>,
}

impl Head {
    /// The item in lists: `Gelu before 20`.
    pub fn title(&self) -> String {
        format!("{} {}", self.name.text, self.form).trim_end().to_owned()
    }

    /// The opset whose form calls of ONNX operators have in the body, if it is not the newest.
    pub fn opset(&self) -> Option<u32> {
        let number = |prefix: &str| self.form.strip_prefix(prefix)?.parse::<u32>().ok();
        match self.keyword.as_str() {
            "lower" => number("before ")?.checked_sub(1),
            "raise" => number("from "),
            _ => None,
        }
    }
}

impl Words {
    /// Scans a text.
    pub fn of(text: &str) -> Words {
        Words { tokens: scan(text), items: item_ranges(text) }
    }

    /// The first token that ends after a place.
    fn after(&self, at: usize) -> usize {
        self.tokens.partition_point(|token| token.end <= at)
    }

    /// The token around a place, or the word that ends there.
    pub fn token_at(&self, at: usize) -> Option<usize> {
        let after = self.after(at);
        let around = self.tokens.get(after).filter(|token| token.start <= at);
        let is_word = |token: &&Token| token.kind == Kind::Word;
        if around.is_some_and(|token| is_word(&token)) {
            return Some(after);
        }
        let before = after.checked_sub(1);
        let ends_here = before.and_then(|i| self.tokens.get(i)).filter(|token| token.end == at).filter(is_word);
        if ends_here.is_some() { before } else { around.map(|_| after) }
    }

    /// Whether a place is inside a comment or after its marks.
    pub fn is_comment(&self, at: usize) -> bool {
        let next = self.tokens.partition_point(|token| token.start < at);
        let token = next.checked_sub(1).and_then(|i| self.tokens.get(i));
        token.is_some_and(|token| token.is_comment() && at <= token.end)
    }

    /// The string around a place: its token.
    pub fn string_at(&self, at: usize) -> Option<Token> {
        let next = self.tokens.partition_point(|token| token.start < at);
        let token = next.checked_sub(1).and_then(|i| self.tokens.get(i))?;
        let is_inside = match token.kind {
            Kind::Str => at < token.end,
            Kind::Unterminated => at <= token.end,
            _ => false,
        };
        is_inside.then_some(*token)
    }

    /// The name at a place.
    pub fn name_at(&self, text: &str, at: usize) -> Option<FullName> {
        let index = self.token_at(at)?;
        let token = self.tokens.get(index)?;
        let is_joint = |token: &Token| matches!(token.text(text), "::" | ".");
        if token.kind != Kind::Word && !is_joint(token) {
            return None;
        }
        self.name_around(text, index)
    }

    /// The name that a token is part of.
    pub fn name_around(&self, text: &str, index: usize) -> Option<FullName> {
        let joins = |a: usize, b: usize| {
            let (Some(a), Some(b)) = (self.tokens.get(a), self.tokens.get(b)) else { return false };
            let is_joint = |token: &Token| matches!(token.text(text), "::" | ".");
            let fits = (a.kind == Kind::Word && is_joint(b)) || (is_joint(a) && b.kind == Kind::Word);
            a.end == b.start && fits
        };
        let (mut first, mut last) = (index, index);
        while first > 0 && joins(first - 1, first) {
            first -= 1;
        }
        while joins(last, last + 1) {
            last += 1;
        }
        let name = |first: usize, last: usize| {
            let range = self.tokens.get(first)?.start..self.tokens.get(last)?.end;
            Some(FullName { text: text.get(range.clone())?.to_owned(), range })
        };
        let whole = name(first, last)?;
        if whole.text.contains("::") { Some(whole) } else { name(index, index) }
    }

    /// The item around a place. A place after the last character of an item is still in it, up to the next item.
    pub fn item_at(&self, at: usize) -> Option<Range<usize>> {
        let next = self.items.partition_point(|item| item.start <= at);
        next.checked_sub(1).and_then(|i| self.items.get(i)).cloned()
    }

    /// The numbers of the tokens in a range.
    pub fn within(&self, range: &Range<usize>) -> Range<usize> {
        let first = self.tokens.partition_point(|token| token.start < range.start);
        first..self.tokens.partition_point(|token| token.start < range.end)
    }

    /// The beginning of an item.
    pub fn head(&self, text: &str, item: &Range<usize>) -> Option<Head> {
        let tokens = self.within(item);
        let word = |i: usize| self.tokens.get(i).filter(|_| tokens.contains(&i)).map_or("", |token| token.text(text));
        let mut at = tokens.start;
        let mut keywords = Vec::new();
        while item_words().contains(&word(at)) && keywords.len() < 3 {
            keywords.push(word(at));
            if !matches!(word(at), "pub" | "extern") {
                at += 1;
                break;
            }
            at += 1;
        }
        let name = self.written_name(text, at, tokens.end)?;
        let next = self.tokens.partition_point(|token| token.start < name.range.end);
        let form = match word(next) {
            mark @ ("before" | "from") => format!("{mark} {}", word(next + 1)),
            "avoided" => "avoided".to_owned(),
            _ => String::new(),
        };
        Some(Head { keyword: keywords.join(" "), name, form, range: item.clone() })
    }

    /// The name that begins with a token: all adjacent tokens up to a bracket, with the placeholders of a family.
    fn written_name(&self, text: &str, first: usize, end: usize) -> Option<FullName> {
        let start = self.tokens.get(first).filter(|_| first < end)?;
        let mut last = *start;
        for index in first + 1..end {
            let token = self.tokens.get(index)?;
            let is_part = token.kind == Kind::Word || matches!(token.text(text), "::" | "." | "{" | "}");
            if token.start != last.end || !is_part {
                break;
            }
            last = *token;
        }
        let range = start.start..last.end;
        Some(FullName { text: text.get(range.clone())?.to_owned(), range })
    }

    /// The call around a place, not further out than the item.
    pub fn call_around(&self, text: &str, at: usize) -> Option<Around> {
        let start = self.item_at(at).map_or(0, |item| item.start);
        let mut index = self.tokens.partition_point(|token| token.end <= at);
        let (mut depth, mut commas) = (0usize, 0usize);
        let mut named = Vec::new();
        let mut name = None;
        while let Some(before) = index.checked_sub(1) {
            let token = self.tokens.get(before)?;
            if token.start < start {
                return None;
            }
            index = before;
            match (token.kind, token.text(text)) {
                (Kind::Close, _) => depth += 1,
                (Kind::Open, _) if depth > 0 => depth -= 1,
                (Kind::Open, "(") => {
                    let callee = before.checked_sub(1).and_then(|i| self.callee(text, i, token.start));
                    if let Some(callee) = callee {
                        return Some(Around { callee, argument: commas, name, named, open: token.end });
                    }
                    (commas, name) = (0, None);
                    named.clear();
                }
                (Kind::Open, "[") => {
                    (commas, name) = (0, None);
                    named.clear();
                }
                (Kind::Open, _) => return None,
                (Kind::Mark, ",") if depth == 0 => commas += 1,
                (Kind::Mark, ";") if depth == 0 => return None,
                (Kind::Mark, "=") if depth == 0 => {
                    let word = before.checked_sub(1).and_then(|i| self.tokens.get(i)).map(|token| token.text(text));
                    if let Some(word) = word {
                        if commas == 0 && name.is_none() {
                            name = Some(word.to_owned());
                        }
                        named.push(word.to_owned());
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// The name before an opening bracket.
    fn callee(&self, text: &str, index: usize, open: usize) -> Option<FullName> {
        let token = self.tokens.get(index).filter(|token| token.kind == Kind::Word)?;
        let is_directly_before = text.get(token.end..open).is_some_and(|between| between.trim().is_empty());
        let reserved = aten2onnx_opmap::vocabulary::reserved_words().contains(&token.text(text));
        if is_directly_before && !reserved { self.name_around(text, index) } else { None }
    }

    /// The number of brackets that are open at a place, from the beginning of its item on.
    pub fn depth_at(&self, at: usize) -> usize {
        let Some(item) = self.item_at(at) else { return 0 };
        let tokens = self.within(&(item.start..at));
        let mut depth = 0usize;
        for token in self.tokens.get(tokens).unwrap_or_default() {
            match token.kind {
                Kind::Open => depth += 1,
                Kind::Close => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        depth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(text: &str) -> Option<(String, usize, Option<String>)> {
        let at = text.find('^').unwrap_or(text.len());
        let text = text.replace('^', "");
        let around = Words::of(&text).call_around(&text, at)?;
        Some((around.callee.text, around.argument, around.name))
    }

    #[test]
    fn calls_are_found_in_half_written_items() {
        let found =
            |callee: &str, argument, name: Option<&str>| Some((callee.to_owned(), argument, name.map(str::to_owned)));
        assert_eq!(call("fn f(Tensor x) -> Tensor = Elu(x, alpha_f = ^"), found("Elu", 1, Some("alpha_f")));
        assert_eq!(call("fn f(Tensor x) -> Tensor = Elu(^"), found("Elu", 0, None));
        assert_eq!(call("fn f() -> Tensor = aten::add.Tensor(g(a, b), [1, 2, ^"), found("aten::add.Tensor", 1, None));
        assert_eq!(call("fn f() -> Tensor = Elu(x, (a, ^b))"), found("Elu", 1, None));
        assert_eq!(call("fn f() -> Tensor { Elu(x); ^"), None);
        assert_eq!(call("fn f(^"), found("f", 0, None));
        assert_eq!(call("fn f() -> Tensor = Elu(x, \n\nfn g() -> int = ^1"), None);
    }

    #[test]
    fn heads_name_what_items_are_about() {
        let head = |text: &str| {
            let words = Words::of(text);
            words.head(text, &words.items[0]).map(|head| (head.keyword.clone(), head.title(), head.opset()))
        };
        let is = |keyword: &str, title: &str, opset| Some((keyword.to_owned(), title.to_owned(), opset));
        assert_eq!(head("map aten::{name}_x.Tensor(Tensor self"), is("map", "aten::{name}_x.Tensor", None));
        assert_eq!(head("lower Gelu before 20 (X) = X"), is("lower", "Gelu before 20", Some(19)));
        assert_eq!(head("raise Squeeze from 13 (data) = data"), is("raise", "Squeeze from 13", Some(13)));
        assert_eq!(head("pub extern fn rank(Tensor x) -> int"), is("pub extern fn", "rank", None));
        assert_eq!(head("lower com.microsoft::Gelu avoided (X)"), is("lower", "com.microsoft::Gelu avoided", None));
        assert_eq!(head("map"), None);
    }

    #[test]
    fn names_have_their_namespace() {
        let text = "map aten::add.Tensor(Tensor self) -> Tensor = xs.y";
        let words = Words::of(text);
        let name = |at: usize| words.name_at(text, at).map(|name| name.text);
        assert_eq!(name(12), Some("aten::add.Tensor".to_owned()));
        assert_eq!(name(8), Some("aten::add.Tensor".to_owned()));
        assert_eq!(name(text.len()), Some("y".to_owned()));
        assert_eq!(name(22), Some("Tensor".to_owned()));
    }
}
