//! What a newer snapshot brings: the report that `import-onnx` and `import-aten` print.
//!
//! Takes the old and the new schemas, and a function that tells which rule files mention an operator; gives Markdown that says
//! what appeared, vanished and changed, which files it touches, and what they now need.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::schema::aten::{Arg, AtenSchemas, Schema};
use crate::schema::onnx::{Attribute, Change, OnnxSchemas, Port, Version};
use crate::schema::short_types;

/// The rule files that mention an operator.
pub type Uses<'a> = &'a dyn Fn(&str) -> Vec<String>;

/// A report on ONNX's operators: for each new opset what appeared and changed; then what was corrected or vanished.
pub fn onnx_report(old: &OnnxSchemas, new: &OnnxSchemas, uses: Uses<'_>) -> String {
    let mut opsets: BTreeMap<u32, OpsetNews> = BTreeMap::new();
    let mut corrected = Section::new("Corrected in versions that were there");
    let mut vanished = Section::new("Vanished");
    for (name, versions) in &new.ops {
        for (i, version) in versions.iter().enumerate() {
            let before = i.checked_sub(1).and_then(|i| versions.get(i));
            match old.versions(name).iter().find(|v| v.since == version.since) {
                None => opsets.entry(version.since).or_default().add(version, before, uses),
                Some(known) if known != version => {
                    corrected.add(&format!("{name} {}", version.since), &differences(known, version), &uses(name));
                }
                Some(_) => {}
            }
        }
    }
    for version in old.ops.values().flatten() {
        if new.versions(&version.name).iter().all(|v| v.since != version.since) {
            vanished.add(&format!("{} {}", version.name, version.since), &[], &uses(&version.name));
        }
    }
    let mut text = format!("# ONNX operators: {}\n", range(newest(old), newest(new)));
    for (opset, news) in opsets {
        let _ = write!(text, "\n## Opset {opset}\n");
        news.sections(opset).iter().for_each(|s| s.write("###", &mut text));
    }
    corrected.write("##", &mut text);
    vanished.write("##", &mut text);
    finish(text)
}

/// A report on PyTorch's operators: what changed, vanished and appeared.
pub fn aten_report(old: &AtenSchemas, new: &AtenSchemas, uses: Uses<'_>) -> String {
    let mut changed = Section::new("Changed: the headers of their rules no longer hold");
    let mut vanished = Section::new("Vanished: their rules name operators that are no more");
    for was in old.iter() {
        match new.get(&was.name) {
            None => vanished.add(&was.name, &[format!("was `{was}`")], &uses(&was.name)),
            Some(is) if is != was => {
                let mut lines = schema_differences(was, is);
                lines.extend([format!("was `{was}`"), format!("is `{is}`")]);
                changed.add(&was.name, &lines, &uses(&was.name));
            }
            Some(_) => {}
        }
    }
    let mut appeared = Section::new("Appeared");
    for is in new.iter().filter(|s| old.get(&s.name).is_none()) {
        appeared.add(&is.name, &[format!("`{is}`")], &uses(&is.name));
    }
    let mut text = format!(
        "# PyTorch operators: {} changed, {} vanished, {} appeared\n",
        changed.entries, vanished.entries, appeared.entries
    );
    [changed, vanished, appeared].iter().for_each(|s| s.write("##", &mut text));
    finish(text)
}

fn newest(schemas: &OnnxSchemas) -> u32 {
    schemas.ops.values().flatten().map(|v| v.since).max().unwrap_or(0)
}

fn range(old: u32, new: u32) -> String {
    if old == new { format!("opset {new}") } else { format!("from opset {old} to {new}") }
}

fn finish(mut text: String) -> String {
    if text.lines().count() == 1 {
        text.push_str("\nNothing changed.\n");
    }
    text
}

/// A heading and its list, which is not written when it is empty.
struct Section {
    title: String,
    entries: usize,
    body: String,
}

impl Section {
    fn new(title: impl Into<String>) -> Section {
        Section { title: title.into(), entries: 0, body: String::new() }
    }

    /// An operator, what there is to say about it, and the rule files that mention it.
    fn add(&mut self, name: &str, lines: &[String], files: &[String]) {
        self.entries += 1;
        let _ = writeln!(self.body, "- `{name}`");
        for line in lines {
            let _ = writeln!(self.body, "  - {line}");
        }
        if !files.is_empty() {
            let _ = writeln!(self.body, "  - rules: {}", files.join(", "));
        }
    }

    fn write(&self, level: &str, text: &mut String) {
        if self.entries > 0 {
            let _ = write!(text, "\n{level} {}\n\n{}", self.title, self.body);
        }
    }
}

/// What an opset brought, with the names of the sections to come.
#[derive(Default)]
struct OpsetNews {
    appeared: Vec<Entry>,
    shape: Vec<Entry>,
    types: Vec<Entry>,
    texts: Vec<Entry>,
    deprecated: Vec<Entry>,
}

/// An operator, what there is to say about it, the rule files that mention it.
type Entry = (String, Vec<String>, Vec<String>);

impl OpsetNews {
    fn add(&mut self, version: &Version, before: Option<&Version>, uses: Uses<'_>) {
        let mut lines = before.map_or_else(|| vec![signature(version)], |before| differences(before, version));
        let other_sharing = before.is_some_and(|b| sharing(b) != sharing(version));
        if version.deprecated {
            lines.clear();
        }
        let list = match before.map(|before| version.change_from(before)) {
            _ if version.deprecated => &mut self.deprecated,
            None | Some(Change::Appeared) => &mut self.appeared,
            Some(Change::Shape) => &mut self.shape,
            Some(Change::Types) if lines.is_empty() || other_sharing => &mut self.texts,
            Some(Change::Types) => &mut self.types,
        };
        list.push((version.name.clone(), lines, uses(&version.name)));
    }

    fn sections(self, opset: u32) -> Vec<Section> {
        let before = opset.saturating_sub(1);
        let shape = format!("Changed shape: each wants `lower OP before {opset}` or `same OP {before} as {opset}`");
        let titled = [
            (
                "Appeared: a rule that emits one wants `lower OP before N`".replace('N', &opset.to_string()),
                self.appeared,
            ),
            (shape, self.shape),
            (
                "Other types: dtypes are legalised; a change of meaning, if any, belongs into opsets.toml".into(),
                self.types,
            ),
            ("Not in the types alone: the meaning may have changed, which belongs into opsets.toml".into(), self.texts),
            ("Deprecated".into(), self.deprecated),
        ];
        let section = |(title, entries): (String, Vec<Entry>)| {
            let mut section = Section::new(title);
            entries.iter().for_each(|(name, lines, files)| section.add(name, lines, files));
            section
        };
        titled.into_iter().map(section).collect()
    }
}

/// `(X, alpha: FLOAT = 1.0) -> (Y)`
fn signature(version: &Version) -> String {
    let ports = version.inputs.iter().map(ToString::to_string);
    let attributes = version.attributes.iter().map(ToString::to_string);
    let inputs: Vec<String> = ports.chain(attributes).collect();
    let outputs: Vec<String> = version.outputs.iter().map(ToString::to_string).collect();
    format!("`({}) -> ({})`", inputs.join(", "), outputs.join(", "))
}

/// All that differs between two versions, a line each.
fn differences(before: &Version, after: &Version) -> Vec<String> {
    let mut lines = shape_differences(before, after);
    lines.extend(type_differences(before, after));
    if after.deprecated && !before.deprecated {
        lines.push("deprecated".into());
    }
    if before.deprecated && !after.deprecated {
        lines.push("no longer deprecated".into());
    }
    lines
}

/// What differs in inputs, outputs and attributes, a line each.
pub(crate) fn shape_differences(before: &Version, after: &Version) -> Vec<String> {
    let mut lines = port_differences("input", &before.inputs, &after.inputs);
    lines.extend(port_differences("output", &before.outputs, &after.outputs));
    lines.extend(attribute_differences(&before.attributes, &after.attributes));
    lines
}

fn port_differences(what: &str, before: &[Port], after: &[Port]) -> Vec<String> {
    let shape = |p: &Port| (p.option, p.homogeneous);
    let describe = |port: &Port| match after.iter().find(|p| p.name == port.name) {
        None => Some(format!("{what} `{port}` is gone")),
        Some(now) if shape(now) != shape(port) => Some(format!("{what} `{port}` is now `{now}`")),
        Some(_) => None,
    };
    let mut lines: Vec<String> = before.iter().filter_map(describe).collect();
    let fresh = after.iter().filter(|p| before.iter().all(|b| b.name != p.name));
    lines.extend(fresh.map(|port| format!("{what} `{port}` is new")));
    let names = |ports: &[Port]| ports.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
    if lines.is_empty() && names(before) != names(after) {
        lines.push(format!("the order of the {what}s is now {}", names(after).join(", ")));
    }
    lines
}

fn attribute_differences(before: &[Attribute], after: &[Attribute]) -> Vec<String> {
    let describe = |attribute: &Attribute| match after.iter().find(|a| a.name == attribute.name) {
        None => Some(format!("attribute `{attribute}` is gone")),
        Some(now) if now != attribute => Some(format!("attribute `{attribute}` is now `{now}`")),
        Some(_) => None,
    };
    let mut lines: Vec<String> = before.iter().filter_map(describe).collect();
    let fresh = after.iter().filter(|a| before.iter().all(|b| b.name != a.name));
    lines.extend(fresh.map(|attribute| format!("attribute `{attribute}` is new")));
    lines
}

/// What the ports of both versions may be now and could not be before: by port, because type variables are renamed at times.
fn type_differences(before: &Version, after: &Version) -> Vec<String> {
    let inputs = before.inputs.iter().map(|was| (was, &after.inputs));
    let outputs = before.outputs.iter().map(|was| (was, &after.outputs));
    let mut ports_by_change: Vec<(String, Vec<&str>)> = Vec::new();
    for (was, ports) in inputs.chain(outputs) {
        let Some(is) = ports.iter().find(|p| p.name == was.name) else { continue };
        let Some(change) = types_change(before.allowed(was), after.allowed(is)) else { continue };
        match ports_by_change.iter_mut().find(|(c, _)| *c == change) {
            Some((_, ports)) => ports.push(&is.name),
            None => ports_by_change.push((change, vec![&is.name])),
        }
    }
    let mut lines: Vec<String> = ports_by_change
        .into_iter()
        .map(|(change, ports)| format!("types of `{}`: {change}", ports.join("`, `")))
        .collect();
    if sharing(before) != sharing(after) && names_alike(before, after) {
        lines.push(format!("ports that share a type are now {}", sharing(after)));
    }
    lines
}

fn names_alike(a: &Version, b: &Version) -> bool {
    let names = |v: &Version| v.inputs.iter().chain(&v.outputs).map(|p| p.name.clone()).collect::<Vec<_>>();
    names(a) == names(b)
}

/// `(X, Z), (Y)`: the ports of each type variable.
fn sharing(version: &Version) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for port in version.inputs.iter().chain(&version.outputs) {
        match groups.iter_mut().find(|(ty, _)| *ty == port.ty) {
            Some((_, ports)) => ports.push(&port.name),
            None => groups.push((&port.ty, vec![&port.name])),
        }
    }
    groups.iter().map(|(_, ports)| format!("({})", ports.join(", "))).collect::<Vec<_>>().join(", ")
}

/// `also bfloat16; no longer int32`
fn types_change(before: &[String], after: &[String]) -> Option<String> {
    let old: BTreeSet<&String> = before.iter().collect();
    let new: BTreeSet<&String> = after.iter().collect();
    let short = |types: Vec<String>| short_types(&types).join(", ");
    let mut parts = Vec::new();
    let added: Vec<String> = new.difference(&old).map(|t| t.to_string()).collect();
    if !added.is_empty() {
        parts.push(format!("also {}", short(added)));
    }
    let removed: Vec<String> = old.difference(&new).map(|t| t.to_string()).collect();
    if !removed.is_empty() {
        parts.push(format!("no longer {}", short(removed)));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// What differs in the arguments and results of an overload, a line each.
fn schema_differences(was: &Schema, is: &Schema) -> Vec<String> {
    let mut lines = Vec::new();
    for arg in &was.args {
        match is.arg(&arg.name) {
            None => lines.push(format!("argument `{arg}` is gone")),
            Some(now) if now != arg => lines.push(argument_change(arg, now)),
            Some(_) => {}
        }
    }
    let fresh = is.args.iter().filter(|a| was.arg(&a.name).is_none());
    lines.extend(fresh.map(|arg| format!("argument `{arg}` is new")));
    let names = |schema: &Schema| schema.args.iter().map(|a| a.name.clone()).collect::<Vec<_>>();
    if lines.is_empty() && names(was) != names(is) {
        lines.push("the order of the arguments differs".into());
    }
    if was.returns != is.returns {
        lines.push("the results differ".into());
    }
    lines
}

fn argument_change(was: &Arg, is: &Arg) -> String {
    let place = match (was.keyword_only, is.keyword_only) {
        (false, true) => ", and by keyword only",
        (true, false) => ", and no longer by keyword only",
        _ => "",
    };
    format!("argument `{was}` is now `{is}`{place}")
}
