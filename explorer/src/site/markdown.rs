//! Markdown as HTML: links between documents become links between pages, and code that names an operator or an error links to it.

use std::collections::BTreeMap;

use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use super::highlight::{Highlighter, escaped};
use super::urls;
use crate::facts::Facts;

/// A document as HTML.
#[derive(Debug, Default)]
pub struct Document {
    /// The text of its first heading.
    pub title: String,
    /// Everything, without the first heading.
    pub html: String,
    /// Headings of the second level: anchor and text.
    pub headings: Vec<(String, String)>,
}

/// What links and code mean on a page.
#[derive(Debug, Clone, Copy)]
pub struct PagePlace<'f> {
    /// The facts.
    pub facts: &'f Facts,
    /// The way to the root of the site.
    pub root: &'f str,
    /// The folder of the document in the project: `docs`.
    pub folder: &'f str,
    /// The documents that have pages.
    pub documents: &'f [String],
}

/// Renders a document.
pub fn render(text: &str, place: PagePlace<'_>) -> Document {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_FOOTNOTES;
    let mut document = Document::default();
    let mut events: Vec<Event<'_>> = Vec::new();
    let mut slugs: BTreeMap<String, usize> = BTreeMap::new();
    // Where the current heading or code block begins.
    let mut heading: Option<(HeadingLevel, usize)> = None;
    let mut block: Option<(String, String)> = None;
    let mut in_link = false;
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => heading = Some((level, events.len())),
            Event::End(TagEnd::Heading(_)) => {
                let Some((level, start)) = heading.take() else { continue };
                let inner: Vec<Event<'_>> = events.drain(start..).collect();
                close_heading(level, inner, &mut document, &mut slugs, &mut events);
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.split([' ', ',']).next().unwrap_or("").to_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                block = Some((language, String::new()));
            }
            Event::End(TagEnd::CodeBlock) => {
                let Some((language, code)) = block.take() else { continue };
                events.push(Event::Html(code_block(&language, &code, place).into()));
            }
            Event::Text(code) if block.is_some() => {
                if let Some((_, text)) = &mut block {
                    text.push_str(&code);
                }
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                in_link = true;
                let dest_url = CowStr::from(place.target(&dest_url));
                events.push(Event::Start(Tag::Link { link_type, dest_url, title, id }));
            }
            Event::End(TagEnd::Link) => {
                in_link = false;
                events.push(Event::End(TagEnd::Link));
            }
            Event::Code(code) if !in_link && heading.is_none() => match place.page_of(&code) {
                Some(url) => {
                    let html = format!("<a href=\"{}{url}\"><code>{}</code></a>", place.root, escaped(&code));
                    events.push(Event::InlineHtml(html.into()));
                }
                None => events.push(Event::Code(code)),
            },
            Event::Start(Tag::Table(columns)) => {
                events.push(Event::Html("<div class=scroll tabindex=0>".into()));
                events.push(Event::Start(Tag::Table(columns)));
            }
            Event::End(TagEnd::Table) => {
                events.push(Event::End(TagEnd::Table));
                events.push(Event::Html("</div>".into()));
            }
            other => events.push(other),
        }
    }
    html::push_html(&mut document.html, events.into_iter());
    document
}

fn close_heading<'e>(
    level: HeadingLevel,
    inner: Vec<Event<'e>>,
    document: &mut Document,
    slugs: &mut BTreeMap<String, usize>,
    events: &mut Vec<Event<'e>>,
) {
    let text: String = inner
        .iter()
        .filter_map(|event| match event {
            Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
            _ => None,
        })
        .collect();
    if level == HeadingLevel::H1 && document.title.is_empty() {
        document.title = text;
        return;
    }
    let slug = unique(slug(&text), slugs);
    let mut html = String::new();
    html::push_html(&mut html, inner.into_iter());
    let level = level as usize;
    events.push(Event::Html(format!("<h{level} id=\"{slug}\">{html} <a class=anchor href=\"#{slug}\" aria-label=\"Link to this section\">#</a></h{level}>\n").into()));
    if level == 2 {
        document.headings.push((slug, text));
    }
}

/// The anchor that GitHub gives to a heading, so that links work in both places.
fn slug(text: &str) -> String {
    let kept = text.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn unique(slug: String, known: &mut BTreeMap<String, usize>) -> String {
    let count = known.entry(slug.clone()).or_insert(0);
    *count += 1;
    if *count == 1 { slug } else { format!("{slug}-{}", *count - 1) }
}

fn code_block(language: &str, code: &str, place: PagePlace<'_>) -> String {
    let inner = match language {
        "opmap" => Highlighter::new(place.facts, place.root, None).html(code),
        _ => escaped(code),
    };
    format!("<pre class=code tabindex=0><code>{inner}</code></pre>\n")
}

impl PagePlace<'_> {
    /// Where a link of a document leads: to a page of the site, or to the file in the repository.
    fn target(&self, link: &str) -> String {
        if link.contains("://") || link.starts_with('#') || link.starts_with("mailto:") {
            return link.to_owned();
        }
        let (path, anchor) =
            link.split_once('#').map_or((link, String::new()), |(path, anchor)| (path, format!("#{anchor}")));
        let file = self.resolved(path);
        match file.as_str() {
            "docs/operators.md" => format!("{}coverage/index.html", self.root),
            _ if self.documents.contains(&file) => format!("{}{}{anchor}", self.root, urls::document(&file)),
            _ => format!("{}/blob/main/{file}{anchor}", env!("CARGO_PKG_REPOSITORY")),
        }
    }

    /// A path of a link, from the folder of the project.
    fn resolved(&self, path: &str) -> String {
        let mut parts: Vec<&str> = self.folder.split('/').filter(|part| !part.is_empty()).collect();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                other => parts.push(other),
            }
        }
        parts.join("/")
    }

    /// The page of what a piece of code names.
    fn page_of(&self, code: &str) -> Option<String> {
        let checked = self.facts.checked();
        if code.contains("::") {
            return checked.program.map(code).map(|map| urls::operator(&map.function.name));
        }
        if aten2onnx_opmap::explain::codes().contains(&code) {
            return Some(urls::error(code));
        }
        let is_operator =
            code.starts_with(|c: char| c.is_ascii_uppercase()) && !checked.schemas.onnx.versions(code).is_empty();
        is_operator.then(|| urls::operator(code))
    }
}
