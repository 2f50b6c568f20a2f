//! The static site: all pages, as files in memory. Nothing here reads the clock or the machine, so the same rules give the same bytes.

/// The names and values of a template. Values are whatever serde takes.
macro_rules! context {
    (@value $key:ident) => { $crate::site::value(&$key) };
    (@value $key:ident => $value:expr) => { $crate::site::value(&$value) };
    ($($key:ident $(=> $value:expr)?),* $(,)?) => {
        minijinja::context! { $($key => context!(@value $key $(=> $value)?)),* }
    };
}

mod coverage;
mod documents;
mod front;
mod graphs;
pub mod highlight;
mod markdown;
mod operators;
mod overloads;
mod packed;
mod parts;
mod runtimes;
mod search;
mod sources;
pub mod urls;

use std::collections::BTreeMap;

use aten2onnx_core::error::{Error, Result};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, ValueKind, merge_maps};
use minijinja::{Environment, Value};
use serde::Serialize;

use crate::draw;
use crate::facts::{Facts, OfDtype};

/// The templates.
const TEMPLATES: [(&str, &str); 16] = [
    ("base.html", include_str!("../../templates/base.html")),
    ("coverage.html", include_str!("../../templates/coverage.html")),
    ("document.html", include_str!("../../templates/document.html")),
    ("frame.html", include_str!("../../templates/frame.html")),
    ("front.html", include_str!("../../templates/front.html")),
    ("grid.html", include_str!("../../templates/grid.html")),
    ("matrix.html", include_str!("../../templates/matrix.html")),
    ("list.html", include_str!("../../templates/list.html")),
    ("operator.html", include_str!("../../templates/operator.html")),
    ("opset.html", include_str!("../../templates/opset.html")),
    ("overload.html", include_str!("../../templates/overload.html")),
    ("new.html", include_str!("../../templates/new.html")),
    ("parts.html", include_str!("../../templates/parts.html")),
    ("runtime.html", include_str!("../../templates/runtime.html")),
    ("source.html", include_str!("../../templates/source.html")),
    ("workbench.html", include_str!("../../templates/workbench.html")),
];

/// Files by their paths: `aten/gelu/index.html`.
pub type Files = BTreeMap<String, Vec<u8>>;

/// What makes pages.
pub struct Site<'f> {
    facts: &'f Facts,
    templates: Environment<'static>,
    files: Files,
}

/// All files of the site.
///
/// # Errors
/// A document that cannot be read.
pub fn build(facts: &Facts) -> Result<Files> {
    let mut site = Site { facts, templates: templates()?, files: Files::new() };
    site.assets();
    front::add(&mut site)?;
    overloads::add(&mut site)?;
    operators::add(&mut site)?;
    sources::add(&mut site)?;
    coverage::add(&mut site)?;
    runtimes::add(&mut site)?;
    documents::add(&mut site)?;
    search::add(&mut site)?;
    Ok(site.files)
}

/// What all pages use.
pub fn assets() -> Files {
    let style = format!("{}\n{}", include_str!("../../assets/site.css"), draw::STYLE);
    let file = |name: &str, bytes: &[u8]| (format!("assets/{name}"), bytes.to_vec());
    let icon = file("icon.svg", include_bytes!("../../assets/icon.svg"));
    let script = file("site.js", include_bytes!("../../assets/site.js"));
    [file("site.css", style.as_bytes()), icon, script].into()
}

/// A page with a body of its own, in the frame of the others. `root` leads to the root of the site: `../../`, or `/` on a server.
///
/// # Errors
/// None that is known.
pub fn frame(title: &str, root: &str, body: &str) -> Result<String> {
    let page =
        context! { title, root, description => title, nav => "", body => Value::from_safe_string(body.to_owned()) };
    render(&templates()?, "frame.html", page)
}

/// A page of the server by a template of its own, in the frame of the others.
///
/// # Errors
/// A template that cannot be filled.
pub fn live_page(template: &str, title: &str, own: &impl Serialize) -> Result<String> {
    let head = context! { title, root => "/", description => title, nav => "live" };
    render(&templates()?, template, merge_maps([head, value(own)]))
}

/// Support by opset and dtype, as a part of a page.
///
/// # Errors
/// None that is known.
pub fn matrix(all: &[OfDtype], opsets: &[u32]) -> Result<String> {
    let (rows, reasons) = overloads::matrix(all);
    render(&templates()?, "matrix.html", context! { rows, reasons, opsets })
}

fn templates() -> Result<Environment<'static>> {
    let mut templates = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().map_err(wrong)?;
    templates.set_syntax(syntax);
    templates.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    for (name, text) in TEMPLATES {
        templates.add_template(name, text).map_err(wrong)?;
    }
    // The built-in one escapes slashes, of which addresses are full.
    templates.set_formatter(|out, _, value| match value.is_safe() || value.kind() == ValueKind::Number {
        true => write!(out, "{value}").map_err(Into::into),
        false => out.write_str(&highlight::escaped(&value.to_string())).map_err(Into::into),
    });
    templates.add_filter("ticks", |text: &str| Value::from_safe_string(ticks(text)));
    templates.add_global("repository", env!("CARGO_PKG_REPOSITORY"));
    templates.add_global("version", env!("CARGO_PKG_VERSION"));
    Ok(templates)
}

/// Text for HTML, with what is between backticks as code.
fn ticks(text: &str) -> String {
    let parts = text.split('`').map(highlight::escaped).enumerate();
    let closed = text.matches('`').count() / 2 * 2;
    parts
        .map(|(i, part)| match i {
            0 => part,
            i if i > closed => format!("`{part}"),
            i if i % 2 == 1 => format!("<code>{part}"),
            _ => format!("</code>{part}"),
        })
        .collect()
}

/// A value for a template.
fn value<T: Serialize>(of: &T) -> Value {
    Value::from(Serde(of))
}

fn wrong(error: minijinja::Error) -> Error {
    Error::internal(format!("a template: {error:#}"))
}

fn render(templates: &Environment<'_>, template: &str, context: Value) -> Result<String> {
    templates.get_template(template).and_then(|template| template.render(context)).map_err(wrong)
}

/// What each page says of itself.
#[derive(Debug, Serialize)]
struct Head<'a> {
    title: &'a str,
    /// For search engines.
    description: &'a str,
    /// The entry of the navigation that is marked.
    nav: &'a str,
}

impl Site<'_> {
    /// Adds a page.
    fn page(&mut self, path: &str, template: &str, head: &Head<'_>, own: Value) -> Result<()> {
        let root = urls::root_of(path);
        let opsets = self.facts.opsets();
        let context = merge_maps([value(head), context! { root, opsets }, own]);
        let html = render(&self.templates, template, context)?;
        self.files.insert(path.to_owned(), html.into_bytes());
        Ok(())
    }

    fn assets(&mut self) {
        self.files.extend(assets());
        // Hosts that would leave out folders with an underscore at the start, such as `_operator`, keep them because of this file.
        self.files.insert(".nojekyll".to_owned(), Vec::new());
    }
}
