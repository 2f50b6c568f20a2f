//! What a release makes of a call of each overload that is new or changed: torch.export, its decompositions, and the recorder.

use std::fmt::Write;

use serde::Deserialize;

use super::known::{Known, Rules};

/// What `ask_torch.py try` says of an overload.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Tried {
    /// `aten::gelu`
    pub name: String,
    /// Why no call was made.
    pub problem: Option<String>,
    /// The arguments of the call.
    pub call: Option<String>,
    /// PyTorch composes it of other operators (CompositeImplicitAutograd).
    pub composed: bool,
    /// The tables of `torch._decomp` that have it.
    pub tables: Vec<String>,
    /// Whether `run_decompositions()` decomposes it by default.
    pub core: bool,
    /// What torch.export gives.
    pub exported: Option<Outcome>,
    /// What a decomposition of that gives.
    pub decomposed: Option<Outcome>,
    /// What the recorder gives.
    pub recorded: Option<Outcome>,
}

/// The operators that come of a call, or why none do.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Outcome {
    /// By name, each once.
    pub operators: Vec<String>,
    /// Why there are none.
    pub problem: Option<String>,
}

impl Tried {
    /// Reads the lines that the program printed.
    ///
    /// # Errors
    /// A line is something else.
    pub fn parse(text: &str) -> Result<Vec<Tried>, String> {
        let one = |line: &str| {
            serde_json::from_str(line).map_err(|error| format!("PyTorch's answer cannot be read: {error}"))
        };
        text.lines().filter(|line| line.starts_with('{')).map(one).collect()
    }

    fn lines(&self, rules: &Rules) -> Vec<String> {
        let mut lines = Vec::new();
        match (&self.call, &self.problem) {
            (Some(call), _) => lines.push(format!("called with `{call}`")),
            (None, Some(problem)) => lines.push(format!("not called: {problem}")),
            (None, None) => {}
        }
        if let Some(exported) = &self.exported {
            lines.push(format!("torch.export: {}", exported.text(Some(rules))));
        }
        if let Some(recorded) = &self.recorded {
            lines.push(format!("the recorder, in ONNX: {}", recorded.text(None)));
        }
        lines.extend(self.decomposition(rules));
        lines
    }

    /// Which decompositions PyTorch has, and what they give.
    fn decomposition(&self, rules: &Rules) -> Option<String> {
        let mut from = Vec::new();
        if self.composed {
            from.push("it is CompositeImplicitAutograd".to_owned());
        }
        if !self.tables.is_empty() {
            let default = if self.core { ", which `run_decompositions()` uses" } else { "" };
            from.push(format!("`torch._decomp` has it ({}){default}", self.tables.join(", ")));
        }
        if from.is_empty() {
            return (self.call.is_some()).then(|| "PyTorch has no decomposition".to_owned());
        }
        let own = [self.name.clone()];
        let gives = self.decomposed.as_ref().filter(|outcome| outcome.operators != own);
        let gives = gives.map_or_else(String::new, |outcome| format!(": {}", outcome.text(Some(rules))));
        Some(format!("decomposition: {}{gives}", from.join("; ")))
    }
}

impl Outcome {
    /// The operators; with rules, those are marked that have none.
    fn text(&self, rules: Option<&Rules>) -> String {
        if let Some(problem) = &self.problem {
            return format!("refused: {problem}");
        }
        let is_open = |name: &str| {
            let known = |rules: &Rules| rules.schema(name).map(|schema| rules.of(schema) == Known::Open);
            rules.and_then(known).unwrap_or(false)
        };
        let shown = self.operators.iter().map(|name| {
            let mark = if is_open(name) { " (no rule)" } else { "" };
            format!("`{name}`{mark}")
        });
        let all: Vec<String> = shown.collect();
        if all.is_empty() { "no operator".to_owned() } else { all.join(", ") }
    }
}

/// The part of a report about overloads that are new or changed: which rule covers each, and what the release makes of it. `tried` may lack some.
pub fn tried_report(names: &[String], rules: &Rules, tried: &[Tried]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let mut text = String::from("\n## Rules for what was added or changed\n\n");
    let mut open = 0;
    for schema in names.iter().filter_map(|name| rules.schema(name)) {
        let known = rules.of(schema);
        let line = match &known {
            Known::Rule(place) => format!("rule: {place}"),
            Known::Other(name, place) => format!("rule: {place}, by `{name}`"),
            Known::Unsupported(reason, place) => format!("stated as impossible: {place}: {reason}"),
            Known::Fact(place) => format!("fact: {place}"),
            Known::NoTensor => "no rule is needed: it returns no tensor".to_owned(),
            Known::Open => {
                open += 1;
                format!("open: begin with `map {schema}`")
            }
        };
        let _ = writeln!(text, "- `{}`\n  - {line}", schema.name);
        if let Some(one) = tried.iter().find(|one| one.name == schema.name) {
            for line in one.lines(rules) {
                let _ = writeln!(text, "  - {line}");
            }
        }
    }
    let _ = write!(text, "\n{} of {} have no rule.\n", open, names.len());
    text
}
