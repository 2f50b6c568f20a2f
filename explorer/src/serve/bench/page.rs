//! The pages of the workbench: the editor, and the list of what has no rule.

use std::collections::BTreeSet;

use aten2onnx_commands::missing;
use aten2onnx_core::error::Result;
use aten2onnx_rules::Rules;
use serde::Serialize;

use super::files;
use crate::serve::state::State;
use crate::site;

/// What the page of the editor offers.
#[derive(Debug, Serialize)]
struct Editor {
    files: Vec<String>,
    /// The rules, by overload and operator.
    ops: BTreeSet<String>,
    /// The overloads without a rule.
    new: Vec<String>,
    opsets: Vec<u32>,
    chosen: [u32; 2],
}

/// An operator without a rule.
#[derive(Debug, Serialize)]
struct Row {
    op: String,
    overloads: Vec<String>,
    opinfo: usize,
    code: usize,
    reason: String,
}

/// The page of the editor.
///
/// # Errors
/// The folder of rules cannot be read.
pub fn editor(state: &State, chosen: [u32; 2]) -> Result<String> {
    let now = state.now();
    let mut page =
        Editor { files: files::list(&state.rules)?, ops: BTreeSet::new(), new: Vec::new(), opsets: Vec::new(), chosen };
    if let Some(set) = &now.good {
        let checked = set.checked();
        let program = &checked.program;
        page.ops.extend(program.maps.iter().map(|map| map.function.name.clone()));
        page.ops.extend(program.lowers.iter().map(|lower| lower.op.clone()));
        page.new = open(state).into_iter().flat_map(|row| row.overloads).collect();
        page.opsets = (checked.schemas.opsets.min..=checked.schemas.opsets.max).collect();
    }
    site::live_page("workbench.html", "Workbench", &page)
}

/// The list of operators without a rule.
///
/// # Errors
/// None that is known.
pub fn missing(state: &State) -> Result<String> {
    #[derive(Debug, Serialize)]
    struct Page {
        rows: Vec<Row>,
    }
    site::live_page("new.html", "New rule", &Page { rows: open(state) })
}

/// The operators of PyTorch that no rule covers, those that are met most first.
fn open(state: &State) -> Vec<Row> {
    let Some(set) = state.now().good else { return Vec::new() };
    let met = std::fs::read_to_string(state.rules.join("schemas/met.txt")).unwrap_or_default();
    let checked = std::sync::Arc::clone(&set);
    let all = missing::without_rule(&Rules::of_files(set), checked.checked(), &met);
    let known = |name: &String| checked.checked().schemas.aten.get(name).is_some();
    let row = |(op, one): (String, missing::Missing)| {
        let full = |overload: &String| match overload.as_str() {
            "default" => op.clone(),
            overload => format!("{op}.{overload}"),
        };
        let overloads: Vec<String> = one.overloads.iter().map(full).filter(known).collect();
        let (opinfo, code) = (one.met.opinfo, one.met.code);
        Row { reason: one.reason.unwrap_or_default(), op, overloads, opinfo, code }
    };
    all.into_iter().map(row).filter(|row| !row.overloads.is_empty()).collect()
}
