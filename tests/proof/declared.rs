//! The declarations of `extern fn`s, and of the builder in `opsets.toml`, against what these emit and refuse.

use std::collections::{BTreeMap, BTreeSet};

use aten2onnx_builder::ExternRecord;
use aten2onnx_opmap::Checked;

fn list(ops: &BTreeSet<&str>) -> String {
    format!("[{}]", ops.iter().copied().collect::<Vec<_>>().join(", "))
}

/// Whether a node refuses its dtype, which is no part of a declaration: the proof follows the dtypes of nodes itself.
fn is_of_dtype(reason: &str, ops: &[String]) -> bool {
    let of = |op: &String| reason.strip_prefix(&format!("`{op}` does not "));
    ops.iter().filter_map(of).any(|rest| rest.starts_with("take ") || rest.starts_with("give "))
}

/// The functions of Rust that emit or refuse something else than they declare.
pub fn wrong_externs(checked: &Checked, externs: &BTreeMap<String, ExternRecord>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, did) in externs {
        let emits = checked.program.emits.get(name).cloned().unwrap_or_default();
        let mut ops = emits.ops;
        ops.sort();
        if !did.ops.iter().eq(&ops) {
            let (does, declares) = (list(&did.ops), ops.join(", "));
            wrong.push(format!("extern fn {name} emits {does}\n    but declares [{declares}]"));
        }
        let declared: BTreeSet<(u32, String)> = emits.since.into_iter().collect();
        for (since, reason) in did.refusals.difference(&declared).filter(|refusal| !is_of_dtype(&refusal.1, &ops)) {
            wrong.push(format!(
                "extern fn {name} refuses opsets below {since}\n    but does not declare `since {since} {reason:?}`"
            ));
        }
        for (since, reason) in declared.difference(&did.refusals) {
            wrong.push(format!(
                "extern fn {name} declares `since {since} {reason:?}`\n    but no example makes it refuse"
            ));
        }
    }
    wrong
}

/// The operators that the builder emits by itself, if `opsets.toml` has others.
pub fn wrong_implicit(checked: &Checked, implicit: &BTreeSet<&str>) -> Option<String> {
    let mut declared = checked.schemas.opsets.implicit.clone();
    declared.sort();
    let differs = !implicit.iter().eq(&declared);
    differs.then(|| format!("the builder emits {}\n    but opsets.toml has [{}]", list(implicit), declared.join(", ")))
}
