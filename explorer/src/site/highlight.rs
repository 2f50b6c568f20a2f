//! opmap as HTML: tokens in colours, and names linked to the pages of what they name.

use aten2onnx_opmap::source::FileId;
use aten2onnx_opmap::syntax::scan::{Kind, Token, scan};
use aten2onnx_opmap::tree::Program;

use super::urls;
use crate::facts::Facts;

/// The words of the language.
const KEYWORDS: &[&str] = &[
    "avoided",
    "because",
    "before",
    "else",
    "emits",
    "example",
    "extern",
    "fact",
    "fail",
    "false",
    "fn",
    "fold",
    "for",
    "from",
    "graph",
    "if",
    "ignore",
    "import_domain",
    "in",
    "is",
    "let",
    "lower",
    "map",
    "match",
    "None",
    "opset",
    "outputs",
    "pub",
    "raise",
    "rewrite",
    "same",
    "since",
    "true",
    "unsupported",
    "update",
    "view",
    "with",
    "write",
];

/// The names of types.
const TYPES: &[&str] = &["bool", "float", "int", "Scalar", "ScalarType", "str", "SymInt", "Tensor", "Generator"];

/// Turns text into HTML, for pages at one depth.
#[derive(Debug, Clone, Copy)]
pub struct Highlighter<'f> {
    facts: &'f Facts,
    root: &'f str,
    /// The file whose private helpers names may mean.
    file: Option<FileId>,
    links: bool,
}

impl<'f> Highlighter<'f> {
    /// For a page, from which `root` leads to the root of the site.
    pub fn new(facts: &'f Facts, root: &'f str, file: Option<FileId>) -> Highlighter<'f> {
        Highlighter { facts, root, file, links: true }
    }

    /// The same without links, for places that must not hold any, and with fewer colours.
    pub fn without_links(self) -> Highlighter<'f> {
        Highlighter { links: false, ..self }
    }

    /// The HTML of a text.
    pub fn html(&self, text: &str) -> String {
        let tokens = scan(text);
        let mut html = String::with_capacity(text.len() * 3);
        let (mut at, mut index) = (0, 0);
        while let Some(token) = tokens.get(index) {
            html.push_str(&escaped(text.get(at..token.start).unwrap_or("")));
            let (piece, taken) = self.piece(text, &tokens[index..]);
            html.push_str(&piece);
            index += taken.max(1);
            at = tokens.get(index - 1).map_or(text.len(), |last| last.end);
        }
        html.push_str(&escaped(text.get(at..).unwrap_or("")));
        html
    }

    /// The HTML of the first token, or of a name of several, and how many they are.
    fn piece(&self, text: &str, tokens: &[Token]) -> (String, usize) {
        let Some(token) = tokens.first() else { return (String::new(), 1) };
        let word = token.text(text);
        let class = match token.kind {
            Kind::Comment => "c",
            Kind::Doc | Kind::FileDoc => "d",
            Kind::Str | Kind::Unterminated => "s",
            Kind::Word => return self.word(text, tokens),
            Kind::Open | Kind::Close | Kind::Mark => return (escaped(word), 1),
        };
        (span(class, word), 1)
    }

    fn word(&self, text: &str, tokens: &[Token]) -> (String, usize) {
        if let Some((name, taken)) = overload(text, tokens, &self.facts.checked().program) {
            let url = urls::operator(&name);
            return (self.link("o", &url, &name), taken);
        }
        let word = tokens.first().map_or("", |token| token.text(text));
        let next = tokens.get(1).map_or("", |token| token.text(text));
        let first = word.chars().next().unwrap_or(' ');
        let html = match word {
            _ if first.is_ascii_digit() && self.links => span("m", word),
            _ if KEYWORDS.contains(&word) => span("k", word),
            _ if first.is_ascii_uppercase() && !self.facts.checked().schemas.onnx.versions(word).is_empty() => {
                self.link("o", &urls::operator(word), word)
            }
            _ if next == "(" => match self.helper(word) {
                Some(url) => self.link("f", &url, word),
                None => span("f", word),
            },
            _ if TYPES.contains(&word) => span("t", word),
            _ => escaped(word),
        };
        (html, 1)
    }

    /// The place of a helper that this file may call.
    fn helper(&self, name: &str) -> Option<String> {
        let checked = self.facts.checked();
        let program = &checked.program;
        let find = |name: &str| program.helper(name).or_else(|| program.external(name));
        let private = self.file.map(|file| format!("{}::{name}", urls::stem(checked.sources.file(file))));
        let found = private.and_then(|name| find(&name)).or_else(|| find(name))?;
        Some(format!("{}#fn-{name}", urls::file(checked.sources.file(found.span.file))))
    }

    fn link(&self, class: &str, url: &str, text: &str) -> String {
        if !self.links {
            return span(class, text);
        }
        format!("<a class={class} href=\"{}{url}\">{}</a>", self.root, escaped(text))
    }
}

/// The overload that these tokens begin with, and how many of them name it: `aten::add.Tensor`.
fn overload(text: &str, tokens: &[Token], program: &Program) -> Option<(String, usize)> {
    let joined = |count: usize| -> Option<&str> {
        let part = tokens.get(..count)?;
        let is_whole = part.windows(2).all(|pair| matches!(pair, [a, b] if a.end == b.start));
        let (first, last) = (part.first()?, part.last()?);
        is_whole.then(|| text.get(first.start..last.end))?
    };
    if tokens.get(1)?.text(text) != "::" {
        return None;
    }
    let is_known = |name: &str| {
        program.map(name).is_some() || program.unsupported.iter().any(|unsupported| unsupported.name == name)
    };
    [5, 3].into_iter().find_map(|count| Some((joined(count).filter(|name| is_known(name))?.to_owned(), count)))
}

fn span(class: &str, text: &str) -> String {
    format!("<span class={class}>{}</span>", escaped(text))
}

/// Text for HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
