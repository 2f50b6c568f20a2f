//! Failures that are expected, because the reason is not in this project: `expected_failures.txt`.
//!
//! The list is strict. An example that passes, that fails at other opsets, or that fails in another way than its entry says, fails
//! the test.

use std::collections::{BTreeMap, BTreeSet};

use aten2onnx_examples::Verdict;

const LIST: &str = include_str!("expected_failures.txt");

/// How an example fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The model gives other values.
    Wrong,
    /// The runtime cannot load or run the model.
    Error,
}

impl Kind {
    /// The kind of a failure, by the text of `judge.py`.
    fn of(what: &str) -> Kind {
        let is_wrong = what.starts_with("output ") || what.contains(" outputs, wanted ");
        if is_wrong { Kind::Wrong } else { Kind::Error }
    }
}

/// An entry of the list: `wrong|error OPSETS EXAMPLE => REASON`.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    kind: Kind,
    opsets: BTreeSet<u32>,
}

/// The entries by the text of the example.
fn entries() -> BTreeMap<&'static str, Entry> {
    let lines = LIST.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let entries =
        lines.map(|line| parse(line).unwrap_or_else(|| panic!("expected_failures.txt: cannot read `{line}`")));
    entries.collect()
}

fn parse(line: &'static str) -> Option<(&'static str, Entry)> {
    let (head, reason) = line.split_once(" => ")?;
    let (kind, head) = head.split_once(' ')?;
    let (opsets, example) = head.split_once(' ')?;
    let kind = match kind {
        "wrong" => Kind::Wrong,
        "error" => Kind::Error,
        _ => return None,
    };
    let opsets = opsets.split(',').map(|opset| opset.parse().ok()).collect::<Option<_>>()?;
    (!reason.is_empty()).then_some((example, Entry { kind, opsets }))
}

/// What differs from the list: a text for each example. `is_complete` is whether all examples were run.
pub fn unexpected(verdicts: &[(&str, &Verdict)], is_complete: bool) -> Vec<String> {
    let mut entries = entries();
    let mut found = Vec::new();
    for (text, verdict) in verdicts.iter().filter(|(_, verdict)| !verdict.failures.is_empty()) {
        let failures = verdict.lines().join("\n");
        match entries.remove(text) {
            None => found.push(format!("{text}\n{failures}")),
            Some(entry) if !entry.covers(verdict) => {
                found.push(format!("{text}\n{failures}\n    expected_failures.txt has another failure: {entry:?}"));
            }
            Some(_) => {}
        }
    }
    if is_complete {
        let passed = entries.keys().map(|text| {
            let exists = verdicts.iter().any(|(other, _)| other == text);
            let what = if exists { "passes" } else { "is no example" };
            format!("{text}\n    {what}: remove it from expected_failures.txt")
        });
        found.extend(passed);
    }
    found
}

impl Entry {
    fn covers(&self, verdict: &Verdict) -> bool {
        let opsets: BTreeSet<u32> = verdict.failures.iter().map(|failure| failure.opset).collect();
        opsets == self.opsets && verdict.failures.iter().all(|failure| Kind::of(&failure.what) == self.kind)
    }
}

#[test]
fn an_entry_covers_its_own_failures_only() {
    let entry = Entry { kind: Kind::Error, opsets: BTreeSet::from([23, 24]) };
    let verdict =
        |failures: &str| serde_json::from_str::<Verdict>(&format!(r#"{{"id": 0, "failures": [{failures}]}}"#));
    let covers = |failures: &str| entry.covers(&verdict(failures).unwrap());
    let at = |opset: u32, what: &str| format!(r#"{{"opset": {opset}, "what": "{what}"}}"#);
    let (first, second) = (at(23, "Fail: no kernel"), at(24, "Fail: no kernel"));
    assert!(covers(&format!("{first}, {second}")));
    assert!(!covers(&first), "another opset passes");
    assert!(!covers(&format!("{first}, {second}, {}", at(9, "Fail: no kernel"))), "a further opset fails");
    assert!(
        !covers(&format!("{first}, {}", at(24, "output 0: 1 of 2 values differ"))),
        "an error became a wrong value"
    );
}
