//! The static site: every page is there, every link leads somewhere, and the same rules give the same bytes.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use aten2onnx_explorer::facts::Facts;
use aten2onnx_explorer::site::{self, Files, urls};

/// Their examples are run; those of all operators would take a minute without optimization.
const ONLY: [&str; 4] = ["aten::gelu", "aten::grid_sampler_2d", "Gelu", "Resize"];

fn gathered() -> Facts {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mappings");
    Facts::gather(&rules, &ONLY.map(str::to_owned)).unwrap()
}

static FACTS: LazyLock<Facts> = LazyLock::new(gathered);
static FILES: LazyLock<Files> = LazyLock::new(|| site::build(&FACTS).unwrap());

fn page(path: &str) -> &'static str {
    let bytes = FILES.get(path).unwrap_or_else(|| panic!("there is no {path}"));
    std::str::from_utf8(bytes).unwrap()
}

/// The values of an attribute.
fn values<'t>(html: &'t str, attribute: &str) -> Vec<&'t str> {
    let start = format!(" {attribute}=\"");
    html.match_indices(&start).map(|(at, _)| html[at + start.len()..].split('"').next().unwrap()).collect()
}

/// A relative link from a page, as a path of the site.
fn resolved(page: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            other => parts.push(other),
        }
    }
    Some(parts.join("/"))
}

#[test]
fn what_was_not_asked_for_is_not_drawn_and_not_refused() {
    let (drawn, other) = (page(&urls::operator("aten::gelu")), page(&urls::operator("aten::elu")));
    assert!(drawn.contains("one form at every opset") || drawn.contains(" forms"), "its examples are drawn");
    assert!(!drawn.contains("not drawn"));
    assert!(other.contains("not drawn: only other operators were asked for"));
    for claim in ["refused at every opset", "The same nodes as in", "examples of other rules"] {
        assert!(!other.contains(claim), "{claim}");
    }
}

#[test]
fn links_lead_to_files_and_anchors() {
    let anchors: BTreeMap<&str, BTreeSet<&str>> = FILES
        .iter()
        .filter(|(path, _)| path.ends_with(".html"))
        .map(|(path, bytes)| (path.as_str(), values(std::str::from_utf8(bytes).unwrap(), "id").into_iter().collect()))
        .collect();
    let (mut count, mut broken) = (0, Vec::new());
    for path in anchors.keys() {
        let html = page(path);
        for link in values(html, "href").into_iter().chain(values(html, "src")) {
            if link.contains("://") || link.starts_with("data:") {
                continue;
            }
            count += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let to = if file.is_empty() { Some((*path).to_owned()) } else { resolved(path, file) };
            let found = to.as_deref().filter(|to| FILES.contains_key(*to));
            let is_there =
                found.is_some_and(|to| anchor.is_empty() || anchors.get(to).is_some_and(|ids| ids.contains(anchor)));
            if !is_there {
                broken.push(format!("{path}: {link}"));
            }
        }
    }
    broken.sort();
    broken.dedup();
    assert!(broken.is_empty(), "{} broken links:\n{}", broken.len(), broken[..broken.len().min(40)].join("\n"));
    assert!(count > 50_000, "only {count} links were found");
}

#[test]
fn each_overload_and_each_operator_has_a_page() {
    let program = &FACTS.checked().program;
    assert!(program.maps.len() > 1000, "only {} rules", program.maps.len());
    for map in &program.maps {
        let html = page(&urls::operator(&map.function.name));
        assert!(html.contains(&format!("<title>{} ·", map.function.name)), "{} shares its page", map.function.name);
        assert!(html.contains("id=\"support\"") && html.contains("id=\"rule\""), "{}", map.function.name);
    }
    let others = program.unsupported.iter().map(|unsupported| &unsupported.name);
    for name in others.chain(FACTS.checked().schemas.onnx.ops.keys()) {
        assert!(page(&urls::operator(name)).contains(&format!("<title>{name} ·")), "{name}");
    }
}

#[test]
fn addresses_differ_also_where_case_does_not_count() {
    let mut seen = BTreeMap::new();
    for path in FILES.keys() {
        if let Some(other) = seen.insert(path.to_lowercase(), path) {
            panic!("{path} and {other} are one file where case does not count");
        }
    }
}

#[test]
fn the_search_index_has_everything() {
    let script = page("assets/search.js");
    let json = script.split_once("window.SEARCH=").unwrap().1.trim_end().trim_end_matches(';');
    let entries: Vec<[String; 5]> = serde_json::from_str(json).unwrap();
    let names = |kind: &str| -> BTreeSet<&str> {
        entries.iter().filter(|entry| entry[0] == kind).map(|entry| entry[1].as_str()).collect()
    };
    let checked = FACTS.checked();
    let overloads = names("op");
    for map in &checked.program.maps {
        assert!(overloads.contains(map.function.name.as_str()), "{}", map.function.name);
    }
    assert!(overloads.len() > checked.program.maps.len(), "operators that ONNX cannot express are missing");
    assert_eq!(names("onnx").len(), checked.schemas.onnx.ops.len());
    assert_eq!(names("error").len(), aten2onnx_opmap::explain::codes().len());
    assert_eq!(names("opset").len(), FACTS.opsets().len());
    for kind in ["lowering", "helper", "doc", "runtime"] {
        assert!(names(kind).len() > 10, "{kind}: {:?}", names(kind));
    }
    for [_, name, url, _, letters] in &entries {
        let file = url.split('#').next().unwrap();
        assert!(FILES.contains_key(file), "{name}: there is no {file}");
        assert!(letters.is_empty() || letters.len() == FACTS.opsets().len(), "{name}: {letters}");
    }
}

/// "My runtime takes opset 13: does `aten::grid_sampler_2d` work?" The search tells, and its first click leads to the table.
#[test]
fn the_support_of_an_operator_is_on_its_page() {
    let levels = FACTS.levels("aten::grid_sampler_2d");
    let at = FACTS.opsets().iter().position(|opset| *opset == 13).unwrap();
    let html = page("aten/grid_sampler_2d/index.html");
    let row = html.split("<th scope=\"row\">float32").nth(1).unwrap().split("</tr>").next().unwrap();
    let cell = row.split("<td class=").nth(at + 1).unwrap();
    assert!(cell.starts_with(levels[at].letter()), "{cell}");
    assert!(html.contains("GridSample"), "the graph of the newest opset is not there");
}

#[test]
fn graphs_are_drawn_and_their_differences_are_listed() {
    let html = page("aten/gelu/index.html");
    assert!(html.matches("<svg").count() >= 4, "two examples of two forms");
    assert!(html.contains("Opset 9 to 19") && html.contains("Opset 20 to 28"));
    let differences = values(html, "data-diff");
    assert!(differences.iter().any(|pairs| pairs.starts_with("0-1:")), "{differences:?}");
}

#[test]
fn pages_load_nothing_from_elsewhere() {
    for (path, bytes) in FILES.iter().filter(|(path, _)| path.ends_with(".html")) {
        let html = std::str::from_utf8(bytes).unwrap();
        let loaded = values(html, "src")
            .into_iter()
            .chain(html.split("<link ").skip(1).flat_map(|tag| values(tag.split('>').next().unwrap(), "href")));
        loaded.for_each(|address| assert!(!address.contains("//"), "{path} loads {address}"));
    }
    let style = page("assets/site.css");
    assert!(!style.contains("url(") && !style.contains("@import"), "the style sheet loads something");
}

#[test]
fn the_same_rules_give_the_same_bytes() {
    let again = site::build(&FACTS).unwrap();
    let differing: Vec<&String> =
        FILES.iter().filter(|(path, bytes)| again.get(*path) != Some(bytes)).map(|(path, _)| path).collect();
    assert!(differing.is_empty(), "{differing:?}");
    assert_eq!(again.len(), FILES.len());
}

#[test]
fn an_unknown_operator_is_an_error() {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mappings");
    let error = Facts::gather(&rules, &["aten::nothing".to_owned()]).unwrap_err();
    assert!(error.message.contains("`aten::nothing`"), "{error}");
}
