//! Half precision: which nodes of a graph compute in float16 or bfloat16, which stay in float32 and why, and where values are cast.
//!
//! The graph is finished and typed when it comes here, so that the dtypes of a node follow from the schema of its operator at the graph's opset, also in
//! the bodies of If, Loop and Scan. Only float32 changes: integers, bools and other floats are as before.
//!
//! A module imports only modules of lower floors, which a test checks. The lowest floor comes first:
//!
//! | floor | modules | contents |
//! |---|---|---|
//! | request | `request` | what is asked for |
//! | units | `units` | nodes, and the values that they read and make in a precision of their choice |
//! | origins | `origins` | values that come from positions or from the model's own half precision |
//! | bounds | `bounds` | how far from 0 values can be, whatever the inputs are |
//! | reasons | `reasons` | what a node's precision is forced by |
//! | choice | `cut` | the precision of the others, with the fewest casts |
//! | result | `report`, `rewrite` | the graph in both precisions, and what is said of it |

mod bounds;
mod cut;
mod origins;
mod reasons;
mod report;
mod request;
mod rewrite;
#[cfg(test)]
mod tests;
mod units;

use aten2onnx_core::error::Result;
use aten2onnx_onnx::graph::Graph;

pub use request::{Extent, Outside, Request};

/// Computes what can be in half precision, and returns what to know of it, for people.
///
/// # Errors
/// A pattern of [`Request::keep`] that names nothing, or an opset that has no such dtype.
pub fn narrow(graph: &mut Graph, request: &Request) -> Result<Vec<String>> {
    request.check(graph)?;
    let units = units::Units::of(graph, request);
    let forced = reasons::forced(graph, &units, request)?;
    let choices = cut::choose(graph, &units, &forced, request);
    let reach = report::Reach::of(graph, &units, &choices, request);
    let casts = rewrite::rewrite(graph, &units, &choices, request);
    let mut notes = report::notes(graph, &units, &forced, &choices, casts, request);
    notes.extend(reach.and_then(|reach| reach.note()));
    Ok(notes)
}
