//! The documents of the project and the error codes.

use aten2onnx_core::error::{Error, Result};
use aten2onnx_opmap::explain;
use minijinja::Value;

use super::markdown::{Document, PagePlace, render};
use super::{Head, Site, urls};
use crate::facts::Facts;

/// Documents beside those in `docs/`.
const OTHERS: [&str; 3] = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"];

/// The documents that become pages, from the folder of the project. `operators.md` is left out, because the pages say more.
///
/// # Errors
/// A folder that cannot be read.
pub fn paths(facts: &Facts) -> Result<Vec<String>> {
    let folder = facts.project.join("docs");
    let unread = |e: std::io::Error| Error::new(aten2onnx_core::error::Kind::Io, format!("{}: {e}", folder.display()));
    let entries = std::fs::read_dir(&folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>).map_err(unread)?;
    let names = entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut all: Vec<String> = names
        .filter(|name| name.ends_with(".md") && name != "operators.md")
        .map(|name| format!("docs/{name}"))
        .collect();
    all.extend(OTHERS.into_iter().filter(|name| facts.project.join(name).exists()).map(str::to_owned));
    all.sort();
    Ok(all)
}

/// A document, with links for a page in its own folder.
///
/// # Errors
/// A file that cannot be read.
pub fn document(facts: &Facts, path: &str, documents: &[String]) -> Result<Document> {
    let text = facts.read(path)?;
    let root = urls::root_of(&urls::document(path));
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    Ok(render(&text, PagePlace { facts, root: &root, folder, documents }))
}

/// Adds all of them, and the lists of them.
pub fn add(site: &mut Site<'_>) -> Result<()> {
    let facts = site.facts;
    let documents = paths(facts)?;
    let mut rows = Vec::new();
    for path in &documents {
        let Document { title, html, headings } = document(facts, path, &documents)?;
        let url = urls::document(path);
        rows.push(context! { name => &title, url => &url, text => path });
        let description = format!("{title}: {path} of aten2onnx");
        let own = context! { html => Value::from_safe_string(html), headings, source => path };
        site.page(&url, "document.html", &Head { title: &title, description: &description, nav: "docs" }, own)?;
    }
    let head = Head { title: "Documentation", description: "The documents of aten2onnx.", nav: "docs" };
    site.page("docs/index.html", "list.html", &head, context! { rows, intro => "" })?;
    errors(site, &documents)
}

fn errors(site: &mut Site<'_>, documents: &[String]) -> Result<()> {
    let facts = site.facts;
    let mut rows = Vec::new();
    for code in explain::codes() {
        let url = urls::error(code);
        let root = urls::root_of(&url);
        let place = PagePlace { facts, root: &root, folder: "codegen/opmap/src/errors", documents };
        let Document { title, html, headings } = render(explain::explain(code).unwrap_or_default(), place);
        let meaning = title.split_once(": ").map_or(title.as_str(), |(_, meaning)| meaning).to_owned();
        rows.push(context! { name => code, url => &url, text => &meaning });
        let source = format!("codegen/opmap/src/errors/{code}.md");
        let own = context! { html => Value::from_safe_string(html), headings, source };
        site.page(&url, "document.html", &Head { title: &title, description: &meaning, nav: "errors" }, own)?;
    }
    let intro = "What the rule compiler says when a rule is wrong, and what to do.";
    let head = Head { title: "Errors", description: intro, nav: "errors" };
    site.page("errors/index.html", "list.html", &head, context! { rows, intro })
}
