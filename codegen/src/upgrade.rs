//! Reports on newer snapshots, for `import-onnx` and `import-aten`.
//!
//! From the old and the new schemas they list in Markdown what was added, removed and changed, which rule files are affected, and
//! what these now need.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use aten2onnx_opmap::schema::aten::{Arg, AtenSchemas, Schema};
use aten2onnx_opmap::schema::onnx::{Change, OnnxSchemas, Version};
use aten2onnx_opmap::schema::onnx_diff::shape_differences;
use aten2onnx_opmap::schema::short_types;

/// The rule files that mention an operator.
pub type RuleFiles<'a> = &'a dyn Fn(&str) -> Vec<String>;

/// A report on ONNX's operators: what each new opset added and changed, and what was corrected or removed.
pub fn onnx_report(old: &OnnxSchemas, new: &OnnxSchemas, rule_files: RuleFiles<'_>) -> String {
    let mut opsets: BTreeMap<u32, OpsetNews> = BTreeMap::new();
    let mut corrected = Section::new("Corrections of existing versions");
    let mut removed_ops = Section::new("Removed");
    for (name, versions) in &new.ops {
        for (i, version) in versions.iter().enumerate() {
            let before = i.checked_sub(1).and_then(|i| versions.get(i));
            match old.versions(name).iter().find(|v| v.since == version.since) {
                None => opsets.entry(version.since).or_default().add(version, before, rule_files),
                Some(known) if known != version => {
                    corrected.add(
                        &format!("{name} {}", version.since),
                        &differences(known, version),
                        &rule_files(name),
                    );
                }
                Some(_) => {}
            }
        }
    }
    for version in old.ops.values().flatten() {
        if new.versions(&version.name).iter().all(|v| v.since != version.since) {
            removed_ops.add(&format!("{} {}", version.name, version.since), &[], &rule_files(&version.name));
        }
    }
    let mut text = format!("# ONNX operators: {}\n", range(newest(old), newest(new)));
    for (opset, news) in opsets {
        let _ = write!(text, "\n## Opset {opset}\n");
        news.sections(opset).iter().for_each(|s| s.write("###", &mut text));
    }
    corrected.write("##", &mut text);
    removed_ops.write("##", &mut text);
    finish(text)
}

/// A report on PyTorch's operators: what was changed, removed and added.
pub fn aten_report(old: &AtenSchemas, new: &AtenSchemas, rule_files: RuleFiles<'_>) -> String {
    let mut changed = Section::new("Changed: the headers of their rules no longer match");
    let mut removed_ops = Section::new("Removed: their rules name operators that no longer exist");
    for was in old.iter() {
        match new.get(&was.name) {
            None => removed_ops.add(&was.name, &[format!("was `{was}`")], &rule_files(&was.name)),
            Some(is) if is != was => {
                let mut lines = schema_differences(was, is);
                lines.extend([format!("was `{was}`"), format!("is `{is}`")]);
                changed.add(&was.name, &lines, &rule_files(&was.name));
            }
            Some(_) => {}
        }
    }
    let mut added = Section::new("Added");
    for is in new.iter().filter(|s| old.get(&s.name).is_none()) {
        added.add(&is.name, &[format!("`{is}`")], &rule_files(&is.name));
    }
    let mut text = format!(
        "# PyTorch operators: {} changed, {} removed, {} added\n",
        changed.entries, removed_ops.entries, added.entries
    );
    [changed, removed_ops, added].iter().for_each(|s| s.write("##", &mut text));
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

/// A heading and its list. An empty section is not written.
struct Section {
    title: String,
    entries: usize,
    body: String,
}

impl Section {
    fn new(title: impl Into<String>) -> Section {
        Section { title: title.into(), entries: 0, body: String::new() }
    }

    /// An operator, its changes, and the rule files that mention it.
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

/// The changes of an opset, by section.
#[derive(Default)]
struct OpsetNews {
    added: Vec<Entry>,
    shape: Vec<Entry>,
    types: Vec<Entry>,
    texts: Vec<Entry>,
    deprecated: Vec<Entry>,
}

/// An operator, its changes, and the rule files that mention it.
type Entry = (String, Vec<String>, Vec<String>);

impl OpsetNews {
    fn add(&mut self, version: &Version, before: Option<&Version>, rule_files: RuleFiles<'_>) {
        let mut lines = before.map_or_else(|| vec![signature(version)], |before| differences(before, version));
        let other_sharing = before.is_some_and(|b| sharing(b) != sharing(version));
        if version.deprecated {
            lines.clear();
        }
        let list = match before.map(|before| version.change_from(before)) {
            _ if version.deprecated => &mut self.deprecated,
            None | Some(Change::Appeared) => &mut self.added,
            Some(Change::Shape) => &mut self.shape,
            Some(Change::Types) if lines.is_empty() || other_sharing => &mut self.texts,
            Some(Change::Types) => &mut self.types,
        };
        list.push((version.name.clone(), lines, rule_files(&version.name)));
    }

    fn sections(self, opset: u32) -> Vec<Section> {
        let before = opset.saturating_sub(1);
        let shape = format!(
            "Changed shape: each needs `lower OP before {opset}` and, unless it only adds something, `raise OP from {opset}`; or \
             `same OP {before} as {opset}`"
        );
        let titled = [
            ("Added: a rule that emits one needs `lower OP before N`".replace('N', &opset.to_string()), self.added),
            (shape, self.shape),
            ("Other types: dtypes are legalised; add a change of meaning, if any, to opsets.toml".into(), self.types),
            ("Other changes: if the meaning changed, add it to opsets.toml".into(), self.texts),
            (format!("Deprecated: each needs `raise OP from {opset}`"), self.deprecated),
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

/// All differences between two versions, one per line.
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

/// The differences in allowed types, by port, because type variables are sometimes renamed.
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

/// The differences in arguments and results of an overload, one per line.
fn schema_differences(was: &Schema, is: &Schema) -> Vec<String> {
    let mut lines = Vec::new();
    for arg in &was.args {
        match is.arg(&arg.name) {
            None => lines.push(format!("argument `{arg}` was removed")),
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
