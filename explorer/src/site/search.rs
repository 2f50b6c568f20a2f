//! The search index, as a script, because pages that are opened as files cannot fetch data.

use aten2onnx_core::error::{Error, Result};
use aten2onnx_opmap::explain;
use aten2onnx_opmap::tree::{AVOIDED, short_name};
use serde::Serialize;

use super::{Site, documents, operators, parts, urls};
use crate::facts::{self, Level};

/// What can be found: kind, name, address without `index.html`, a hint, a letter for the level at each opset.
#[derive(Debug, Serialize)]
struct Entry(&'static str, String, String, String, String);

/// Adds `assets/search.js`.
pub fn add(site: &mut Site<'_>) -> Result<()> {
    let facts = site.facts;
    let checked = facts.checked();
    let program = &checked.program;
    let letters = |levels: Vec<Level>| levels.into_iter().map(Level::letter).collect::<String>();
    let mut entries = Vec::new();
    for map in &program.maps {
        let name = &map.function.name;
        let hint = parts::first_sentence(&map.function.docs);
        entries.push(Entry("op", name.clone(), urls::operator(name), hint, letters(facts.levels(name))));
    }
    for unsupported in &program.unsupported {
        let (name, reason) = (&unsupported.name, &unsupported.reason);
        let none = letters(vec![Level::Refused; facts.opsets().len()]);
        entries.push(Entry("op", name.clone(), urls::operator(name), format!("not in ONNX: {reason}"), none));
    }
    for name in checked.schemas.onnx.ops.keys() {
        entries.push(Entry(
            "onnx",
            name.clone(),
            urls::operator(name),
            String::new(),
            letters(operators::levels(facts, name)),
        ));
    }
    for (word, rules) in [("lower", &program.lowers), ("raise", &program.raises)] {
        for rule in rules {
            let number = if rule.before == AVOIDED { "avoided".to_owned() } else { rule.before.to_string() };
            let url = format!("{}#{word}-{number}", urls::operator(&rule.op));
            let hint = parts::first_sentence(&rule.function.docs);
            entries.push(Entry("lowering", format!("{word} {}", rule.function.name), url, hint, String::new()));
        }
    }
    for function in program.fns.iter().chain(&program.externs) {
        let short = short_name(&function.name);
        let file = checked.sources.file(function.span.file);
        let url = format!("{}#fn-{short}", urls::file(file));
        let docs = parts::first_sentence(&function.docs);
        let hint = if docs.is_empty() { file.path.clone() } else { docs };
        entries.push(Entry("helper", short.to_owned(), url, hint, String::new()));
    }
    for target in facts::newest() {
        let hint = format!("release {}, opset {} to {}", target.release, target.oldest_opset, target.newest_opset);
        entries.push(Entry("runtime", target.what.to_owned(), urls::runtime(target.runtime), hint, String::new()));
    }
    for opset in facts.opsets() {
        entries.push(Entry("opset", format!("opset {opset}"), urls::opset(opset), String::new(), String::new()));
    }
    for code in explain::codes() {
        let page = explain::explain(code).unwrap_or_default();
        let title = page.lines().next().unwrap_or_default().trim_start_matches("# ");
        let hint = title.split_once(": ").map_or("", |(_, meaning)| meaning);
        entries.push(Entry("error", (*code).to_owned(), urls::error(code), hint.to_owned(), String::new()));
    }
    let all = documents::paths(facts)?;
    for path in &all {
        let document = documents::document(facts, path, &all)?;
        let url = urls::document(path);
        for (slug, text) in document.headings {
            entries.push(Entry("doc", text, format!("{url}#{slug}"), document.title.clone(), String::new()));
        }
        entries.push(Entry("doc", document.title, url, path.clone(), String::new()));
    }
    let lines: Vec<String> = entries.iter().map(json).collect::<Result<_>>()?;
    let text = format!("window.OPSETS={};\nwindow.SEARCH=[\n{}\n];\n", json(&facts.opsets())?, lines.join(",\n"));
    site.files.insert("assets/search.js".to_owned(), text.into_bytes());
    Ok(())
}

fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|e| Error::internal(format!("the search index: {e}")))
}
