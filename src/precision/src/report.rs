//! What is said of the result: how much is in half precision, and what is not and why.

use std::collections::BTreeMap;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::Graph;

use crate::bounds::Bounds;
use crate::reasons::Why;
use crate::request::Request;
use crate::units::{Units, is_control};

/// So many operators are named for a reason.
const NAMED: usize = 5;

/// The notes, the most important one first.
pub(crate) fn notes(
    graph: &Graph,
    units: &Units,
    forced: &[Option<Why>],
    choices: &[bool],
    casts: usize,
    request: &Request,
) -> Vec<String> {
    let dtype = request.dtype;
    let (mut half, mut wide) = (0, 0);
    // By the reason: the operators, and how often.
    let mut kept: BTreeMap<String, BTreeMap<&str, usize>> = BTreeMap::new();
    for place in units.nodes.iter().filter(|place| place.is_wide) {
        let is_half = place.unit.and_then(|unit| choices.get(unit)).copied().unwrap_or(false);
        if is_half {
            half += 1;
            continue;
        }
        wide += 1;
        let why = match place.unit {
            None => Some(format!("it has no {dtype} at opset {}", graph.opset)),
            Some(unit) => forced.get(unit).and_then(Option::as_ref).filter(|why| why.is_wide()).map(Why::to_string),
        };
        let why = why.unwrap_or_else(|| "fewer values are cast".to_owned());
        if !is_control(place.op) {
            *kept.entry(why).or_default().entry(place.op).or_default() += 1;
        }
    }
    let mut notes = vec![format!(
        "{dtype}: {half} of {} nodes compute in it, {} read or write float32, {casts} casts",
        half + wide,
        wide
    )];
    for (why, operators) in kept {
        let named: Vec<String> = operators.iter().take(NAMED).map(|(op, count)| format!("{count} {op}")).collect();
        let more = operators.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} other operators") } else { String::new() };
        notes.push(format!("float32 stays for {}{more}: {why}", named.join(", ")));
    }
    notes
}

/// Whether the values in float16 fit, as far as that follows from the weights.
pub(crate) struct Reach {
    /// Values in half precision that fit whatever the inputs are.
    fit: usize,
    /// Names of others.
    unknown: Vec<String>,
}

impl Reach {
    /// Those of a graph before it is rewritten. None where runs were measured, or the dtype holds what float32 does.
    pub fn of(graph: &Graph, units: &Units, choices: &[bool], request: &Request) -> Option<Reach> {
        if request.dtype != Dtype::Float16 || !request.ranges.is_empty() {
            return None;
        }
        let bounds = Bounds::of(graph);
        let is_half = |unit: Option<usize>| unit.and_then(|unit| choices.get(unit)).copied().unwrap_or(false);
        let mut reach = Reach { fit: 0, unknown: Vec::new() };
        for value in units.nodes.iter().filter(|place| is_half(place.unit)).flat_map(|place| &place.outputs) {
            match bounds.get(*value) {
                Some(bound) if bound <= f64::from(half::f16::MAX) => reach.fit += 1,
                _ => reach.unknown.push(graph.name(*value).to_owned()),
            }
        }
        Some(reach)
    }

    /// For people.
    pub fn note(&self) -> Option<String> {
        let all = self.fit + self.unknown.len();
        if all == 0 {
            return None;
        }
        let fit = format!("float16: {} of {all} values in it fit whatever the inputs are, by the weights", self.fit);
        if self.unknown.is_empty() {
            return Some(fit);
        }
        let named: Vec<String> = self.unknown.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
        let more = self.unknown.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        Some(format!("{fit}; runs can tell of the others (`--ranges`): {}{more}", named.join(", ")))
    }
}
