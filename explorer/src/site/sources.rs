//! A page for each file of rules, with an anchor for each rule and helper.

use aten2onnx_core::error::Result;
use aten2onnx_opmap::source::FileId;
use minijinja::Value;

use super::highlight::Highlighter;
use super::{Head, Site, urls};

/// Adds all of them, and the list of them.
pub fn add(site: &mut Site<'_>) -> Result<()> {
    let facts = site.facts;
    let files = &facts.checked().sources.files;
    let mut rows = Vec::new();
    for (id, file) in files.iter().enumerate() {
        let id = FileId(id as u32);
        let path = urls::file(file);
        let root = urls::root_of(&path);
        let highlighter = Highlighter::new(facts, &root, Some(id));
        let mut html = String::new();
        let mut at = 0;
        for item in facts.items.of_file(id) {
            let (start, end) = (item.span.start as usize, item.span.end as usize);
            html.push_str(&highlighter.html(file.text.get(at..start).unwrap_or("")));
            let inner = highlighter.html(file.text.get(start.max(at)..end).unwrap_or(""));
            match &item.anchor {
                Some(anchor) => html.push_str(&format!("<span class=item id=\"{anchor}\">{inner}</span>")),
                None => html.push_str(&inner),
            }
            at = end.max(at);
        }
        html.push_str(&highlighter.html(file.text.get(at..).unwrap_or("")));
        let docs: Vec<&str> = file.text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect();
        let docs = docs.join(" ");
        rows.push(context! { name => urls::stem(file), url => &path, text => &docs });
        let own = context! { html => Value::from_safe_string(html), path => &file.path };
        let head = Head { title: &file.path, description: &docs, nav: "rules" };
        site.page(&path, "source.html", &head, own)?;
    }
    let own = context! { rows, intro => "The files of rules in the language opmap. Names in them are links." };
    let head = Head { title: "Rules", description: "All files of operator rules.", nav: "rules" };
    site.page("rules/index.html", "list.html", &head, own)
}
