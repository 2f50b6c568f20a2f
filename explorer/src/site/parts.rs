//! What several kinds of pages show.

use std::collections::BTreeSet;

use aten2onnx_opmap::coverage::ranges;
use aten2onnx_opmap::source::Span;
use minijinja::Value;
use serde::Serialize;

use super::highlight::Highlighter;
use super::urls;
use crate::facts::{Facts, Level};

/// A link to a page.
#[derive(Debug, Serialize, Clone)]
pub struct Link {
    pub name: String,
    pub url: String,
}

/// Support by opset, for a strip of cells.
#[derive(Debug, Serialize, Clone)]
pub struct Strip {
    /// A letter for each opset.
    pub letters: String,
    /// The same in words.
    pub words: String,
}

/// A rule as it is in its file.
#[derive(Debug, Serialize)]
pub struct Source {
    /// Highlighted.
    pub html: Value,
    /// `mappings/aten/activation.opmap:4`
    pub place: String,
    /// The page of the file, at the rule.
    pub url: String,
    /// Whether it is a rule for several overloads.
    pub family: bool,
}

/// The strip of levels.
pub fn strip(levels: &[Level], opsets: &[u32]) -> Strip {
    Strip { letters: levels.iter().map(|level| level.letter()).collect(), words: words(levels, opsets) }
}

/// `native from opset 20, lowered at 9 to 19`
pub fn words(levels: &[Level], opsets: &[u32]) -> String {
    let newest = opsets.last().copied().unwrap_or_default();
    let all = levels.len();
    let parts = Level::ALL.into_iter().filter_map(|level| {
        let at: BTreeSet<u32> =
            opsets.iter().zip(levels).filter(|(_, l)| **l == level).map(|(opset, _)| *opset).collect();
        if at.is_empty() {
            return None;
        }
        if at.len() == all {
            return Some(format!("{} at every opset", level.word()));
        }
        let text = ranges(&at);
        Some(match text.strip_suffix(&format!(" to {newest}")) {
            Some(from) if !from.contains(',') => format!("{} from opset {from}", level.word()),
            _ => format!("{} at opset {text}", level.word()),
        })
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// The source of the rule at a place.
pub fn source(facts: &Facts, span: Span, root: &str) -> Option<Source> {
    let item = facts.items.at(span)?;
    let checked = facts.checked();
    let file = checked.sources.file(span.file);
    let text = checked.sources.text(item.span);
    let html = Highlighter::new(facts, root, Some(span.file)).html(text);
    let anchor = item.anchor.as_ref().map(|anchor| format!("#{anchor}")).unwrap_or_default();
    Some(Source {
        html: Value::from_safe_string(html),
        place: checked.sources.place(span),
        url: format!("{}{anchor}", urls::file(file)),
        family: item.family,
    })
}

/// The page of a rule by its name in the program: an overload, `Gelu before 20`, a helper.
pub fn rule_link(facts: &Facts, rule: &str) -> Link {
    let program = &facts.checked().program;
    let name = rule.to_owned();
    if program.map(rule).is_some() {
        return Link { name, url: urls::operator(rule) };
    }
    if let Some(function) = program.helper(rule).or_else(|| program.external(rule)) {
        let short = aten2onnx_opmap::tree::short_name(rule);
        let file = urls::file(facts.checked().sources.file(function.span.file));
        return Link { name: short.to_owned(), url: format!("{file}#fn-{short}") };
    }
    let op = rule.split_once(' ').map_or(rule, |(op, _)| op);
    Link { name, url: urls::operator(op) }
}

/// The text of documentation as Markdown without links, for one line.
pub fn first_sentence(docs: &[String]) -> String {
    let text = docs.join(" ");
    let text = text.trim();
    text.split_once(". ").map_or(text, |(first, _)| first).trim_end_matches('.').to_owned()
}
