//! The report in Markdown: opset by opset what each operator changes, touches and asks for; then all that is to do, as a list.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::asks::{Ask, asks};
use super::changes::{differences, signature};
use super::{Kind, News, Release};
use aten2onnx_schemas::onnx::{OnnxSchemas, Version};

/// The most names in a list of what an operator touches.
const NAMES: usize = 12;

/// The report on a release.
pub fn onnx_report(release: &Release<'_>) -> String {
    let news = release.news();
    let mut text = format!("# ONNX operators: {}\n", range(newest(release.old), newest(release.new)));
    if let Some(said) = release.said {
        let _ = write!(text, "\nThe source is onnx {}.\n", said.onnx);
    }
    if release.old.ops == release.new.ops {
        text.push_str("\nNothing changed.\n");
        return text;
    }
    text.push_str("\nFiles are those in the folder of the mappings.\n");
    let opsets: BTreeSet<u32> = news.iter().map(|one| one.version.since).collect();
    for opset in opsets {
        let _ = write!(text, "\n## Opset {opset}\n");
        news.iter().filter(|one| one.version.since == opset).for_each(|one| operator(release, one, &mut text));
    }
    released(release, &mut text);
    to_do(release, &news, &mut text);
    text.replace("\n\n\n", "\n\n")
}

/// The newest opset that a snapshot has versions of.
fn newest(schemas: &OnnxSchemas) -> u32 {
    schemas.ops.values().flatten().map(|v| v.since).max().unwrap_or(0)
}

fn range(old: u32, new: u32) -> String {
    if old == new { format!("opset {new}") } else { format!("from opset {old} to {new}") }
}

fn heading(kind: Kind) -> &'static str {
    match kind {
        Kind::Added => "is new",
        Kind::Shape => "has another schema",
        Kind::Types => "takes other types",
        Kind::Text => "has the same inputs, outputs, attributes and types",
        Kind::Deprecated => "is deprecated",
    }
}

/// The section of an operator.
fn operator(release: &Release<'_>, news: &News<'_>, text: &mut String) {
    let _ = write!(text, "\n### `{}` {}\n\n", news.version.name, heading(news.kind));
    let added = (news.kind == Kind::Added).then(|| signature(news.version));
    for line in added.iter().chain(&news.lines) {
        let _ = writeln!(text, "- {line}");
    }
    touched(release, news.version, text);
    if let Some(said) = release.said {
        description(said.texts.get(&news.key()), text);
        if let Some(body) = said.bodies.get(&news.key()) {
            own_function(body.trim_end(), text);
        }
    }
    for ask in asks(release, news) {
        let _ = write!(text, "\n**{}**\n", sentence(&ask));
        if let Some(skeleton) = &ask.skeleton {
            let language = if ask.place.ends_with(".toml") { "toml" } else { "opmap" };
            let _ = write!(text, "\n```{language}\n{skeleton}```\n");
        }
    }
    node_tests(release, news, text);
}

/// Rules, lowerings and targets.
fn touched(release: &Release<'_>, version: &Version, text: &mut String) {
    let places = release.touched.places(&version.name);
    let pairs = |rules: BTreeSet<(String, String)>| {
        rules.into_iter().map(|(rule, file)| format!("`{rule}` ({file})")).collect()
    };
    list("its own rules", pairs(places.own), text);
    list("called by", pairs(places.calls), text);
    list("targets that know it", places.targets.into_iter().collect(), text);
    let plain = |name: &str| name.to_lowercase().replace('_', "");
    let namesakes = release.touched.namesakes().filter(|(name, _)| plain(name) == plain(&version.name));
    list("rules of the same name", namesakes.map(|(name, file)| format!("`aten::{name}` ({file})")).collect(), text);
}

fn list(what: &str, names: Vec<String>, text: &mut String) {
    if names.is_empty() {
        return;
    }
    let rest = names.len().saturating_sub(NAMES);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let shown: Vec<String> = names.into_iter().take(NAMES).collect();
    let _ = writeln!(text, "- {what}: {}{more}", shown.join(", "));
}

fn description(lines: Option<&Vec<String>>, text: &mut String) {
    let Some(lines) = lines else { return };
    let _ = write!(text, "\nIts description:\n\n````text a description\n{}\n````\n", lines.join("\n"));
}

fn own_function(body: &str, text: &mut String) {
    let _ = match body.contains('\n') {
        true => write!(text, "\nONNX's own function:\n\n```text its function\n{body}\n```\n"),
        false => write!(text, "\nONNX's own function: {body}.\n"),
    };
}

/// Calls of ONNX's own tests.
fn node_tests(release: &Release<'_>, news: &News<'_>, text: &mut String) {
    let Some(tests) = release.said.and_then(|said| said.tests.get(&news.key())) else { return };
    let shown = tests.calls.len();
    let _ = write!(text, "\nONNX's own tests, {shown} of {}:\n", tests.count);
    let examples: Vec<String> = tests
        .calls
        .iter()
        .filter_map(|call| call.example.as_ref().map(|example| format!("// {}\nexample {example}\n", call.name)))
        .collect();
    if !examples.is_empty() {
        let _ = write!(text, "\n```opmap\n{}```\n", examples.concat());
    }
    let words = tests.calls.iter().filter_map(|call| call.words.as_ref().map(|words| (&call.name, words)));
    let words: String = words.map(|(name, words)| format!("- `{name}`: {words}\n")).collect();
    if !words.is_empty() {
        let _ = write!(text, "\n{words}");
    }
}

/// What is not as it was released, and what the release lacks.
fn released(release: &Release<'_>, text: &mut String) {
    let (mut corrected, mut removed) = (String::new(), String::new());
    for known in release.old.ops.values().flatten() {
        let key = format!("{} {}", known.name, known.since);
        match release.new.versions(&known.name).iter().find(|v| v.since == known.since) {
            None => removed.push_str(&format!("- `{key}`{}\n", files(release, &known.name))),
            Some(version) if version != known => {
                corrected.push_str(&format!("- `{key}`{}\n", files(release, &known.name)));
                corrected.extend(differences(known, version).iter().map(|line| format!("  - {line}\n")));
            }
            Some(_) => {}
        }
    }
    let sections = [
        ("Released versions that differ: correct the snapshot by hand, or the release is wrong", corrected),
        ("Released versions that it lacks: they stay in the snapshot", removed),
    ];
    for (title, body) in sections.into_iter().filter(|(_, body)| !body.is_empty()) {
        let _ = write!(text, "\n## {title}\n\n{body}");
    }
}

fn files(release: &Release<'_>, op: &str) -> String {
    let places = release.touched.places(op);
    let files: BTreeSet<String> = places.own.into_iter().chain(places.calls).map(|(_, file)| file).collect();
    if files.is_empty() { String::new() } else { format!(": {}", files.into_iter().collect::<Vec<_>>().join(", ")) }
}

/// `lower Gelu before 20 in onnx/activation.opmap`
fn sentence(ask: &Ask) -> String {
    let only_if = ask.only_if.map(|reason| format!(", if {reason}")).unwrap_or_default();
    format!("{} in `{}`{only_if}", ask.what, ask.place)
}

/// Everything that the sections ask for, and what follows for all of them.
fn to_do(release: &Release<'_>, news: &[News<'_>], text: &mut String) {
    if news.is_empty() {
        return;
    }
    let all: Vec<Ask> = news.iter().flat_map(|one| asks(release, one)).collect();
    text.push_str("\n## To do\n\n");
    for ask in all.iter().filter(|ask| ask.only_if.is_none()) {
        let _ = writeln!(text, "- [ ] {}", sentence(ask));
    }
    if release.said.is_none() {
        text.push_str(
            "- [ ] the opset, its release and its IR version under `[opsets]`, and `max`, in `opsets.toml`\n",
        );
    }
    let optional: Vec<&Ask> = all.iter().filter(|ask| ask.only_if.is_some()).collect();
    let mut reasons: Vec<&str> = optional.iter().filter_map(|ask| ask.only_if).collect();
    reasons.sort_unstable();
    reasons.dedup();
    for reason in reasons {
        let _ = write!(text, "\nIf {reason}:\n\n");
        for ask in optional.iter().filter(|ask| ask.only_if == Some(reason)) {
            let _ = writeln!(text, "- [ ] {} in `{}`", ask.what, ask.place);
        }
    }
    text.push_str("\nAfterwards:\n\n- [ ] `aten2onnx-codegen check`, until there is no error\n");
    text.push_str("- [ ] `aten2onnx-codegen matrix --format page --out docs/operators.md`\n");
    text.push_str("- [ ] rules that are shorter with what is new, such as those of the same name\n");
    let runtimes: Vec<&str> = release.touched.runtimes().collect();
    if !runtimes.is_empty() {
        let what = "the runtimes, once they have the opset (`python runtimes/facts.py NAME`, `python tools/targets/dump_onnxruntime.py`)";
        let _ = writeln!(text, "- [ ] {what}: {}", runtimes.join(", "));
    }
}
