//! Reports on newer snapshots, for `import-onnx` (in `onnx`) and `import-aten`.
//!
//! From the old and the new schemas they list in Markdown what was added, removed and changed, which rule files are affected, and
//! what these now need.

pub mod onnx;

use std::fmt::Write;

use aten2onnx_schemas::aten::{Arg, AtenSchemas, Schema};

/// The rule files that mention an operator.
pub type RuleFiles<'a> = &'a dyn Fn(&str) -> Vec<String>;

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
