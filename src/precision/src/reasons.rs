//! What forces a node to a precision.

use std::fmt;

use half::{bf16, f16};
use rustc_hash::FxHashMap;
use wildmatch::WildMatch;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::largest_finite;
use aten2onnx_onnx::graph::{Graph, Source, Value};
use aten2onnx_onnx::schema::{self, Half, Shape};
use aten2onnx_onnx::targets::onnxruntime_lacks;

use crate::origins::ValueOrigins;
use crate::request::{MARGIN, Request};
use crate::units::{NodePorts, Units};

/// Why a node computes in a precision.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Why {
    /// A pattern of the user.
    Asked,
    /// The model widened its values itself.
    Widened,
    /// It sums, grows or takes large numbers.
    Sums,
    /// The runtime has no kernel.
    Lacked,
    /// A constant is larger than the dtype holds.
    Large(String, f32),
    /// A constant is smaller than the dtype holds with all its digits.
    Small(String, f32),
    /// A value was larger in a run than the dtype holds with a margin.
    Measured(String, f64),
    /// It computes positions.
    Positions,
    /// It is a product: in half precision.
    Product,
}

impl Why {
    /// Whether it forces float32.
    pub fn is_wide(&self) -> bool {
        *self != Why::Product
    }
}

/// For people, after "stays float32: ".
impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Asked => f.write_str("as asked"),
            Why::Widened => f.write_str("the model computes it in float32 among half precision"),
            Why::Sums => f.write_str("sums, exponentials and the like lose digits or overflow"),
            Why::Lacked => f.write_str("the runtime has no kernel in half precision"),
            Why::Large(name, number) => write!(f, "the constant `{name}` holds {number:e}, which is too large"),
            Why::Small(name, number) => write!(f, "the constant `{name}` holds {number:e}, which is too small"),
            Why::Measured(name, number) => {
                write!(f, "`{name}` reached {number:.3e} in the measured runs, and {MARGIN} times as much must fit")
            }
            Why::Positions => f.write_str("positions and sizes need all digits"),
            Why::Product => f.write_str("products are in half precision"),
        }
    }
}

/// For each unit what forces it, if anything does.
///
/// # Errors
/// A pattern that names nothing.
pub(crate) fn forced(graph: &Graph, units: &Units, request: &Request) -> Result<Vec<Option<Why>>> {
    let origins = ValueOrigins::of(graph, units);
    let mut constants = Constants { graph, dtype: request.dtype, known: FxHashMap::default() };
    let kept = kept(graph, units, request)?;
    let mut found = Vec::with_capacity(units.all.len());
    for unit in &units.all {
        let Some((number, place)) = unit.node.and_then(|number| Some((number, units.nodes.get(number)?))) else {
            found.push(None);
            continue;
        };
        let is_kept = kept.get(number).copied().unwrap_or(false);
        let is_counted = schema::facts(place.op).shape == Shape::Cast
            || unit.reads.iter().any(|value| origins.positions.contains(value));
        let why = if is_kept {
            Some(Why::Asked)
        } else if unit.reads.iter().chain(&unit.makes).any(|value| origins.widened.contains(value)) {
            Some(Why::Widened)
        } else if schema::facts(place.op).half == Half::Never && !is_stored(graph, place) {
            Some(Why::Sums)
        } else if lacks(graph, place, request) {
            Some(Why::Lacked)
        } else if let Some(why) = unit.reads.iter().find_map(|value| constants.unfit(*value)) {
            Some(why)
        } else if let Some(why) =
            unit.reads.iter().chain(&unit.makes).find_map(|value| measured(graph, request, *value))
        {
            Some(why)
        } else if is_counted && unit.makes.iter().any(|value| origins.positions.contains(value)) {
            Some(Why::Positions)
        } else {
            (schema::facts(place.op).half == Half::Product).then_some(Why::Product)
        };
        found.push(why);
    }
    Ok(found)
}

/// Why a value that was measured stays float32.
fn measured(graph: &Graph, request: &Request, value: Value) -> Option<Why> {
    request.excess(value).map(|largest| Why::Measured(graph.name(value).to_owned(), largest))
}

/// The nodes that patterns keep.
fn kept(graph: &Graph, units: &Units, request: &Request) -> Result<Vec<bool>> {
    let mut kept = vec![false; units.nodes.len()];
    for text in &request.keep {
        let pattern = WildMatch::new(text);
        // A module is known by its path, and in converted models by the names of its nodes.
        let below = [".*", "/*"].map(|rest| WildMatch::new(&format!("{text}{rest}")));
        let mut is_used = false;
        for (kept, place) in kept.iter_mut().zip(&units.nodes) {
            let module = graph.provenance.get(place.origin as usize).and_then(|origin| origin.module.as_deref());
            let is_named = pattern.matches(place.op)
                || pattern.matches(&place.name)
                || below.iter().any(|below| below.matches(&place.name))
                || place.outputs.iter().any(|value| pattern.matches(graph.name(*value)))
                || module
                    .is_some_and(|module| pattern.matches(module) || below.iter().any(|below| below.matches(module)));
            *kept |= is_named;
            is_used |= is_named;
        }
        if !is_used {
            return Err(Error::unsupported(format!(
                "no operator, node, value or module of the model is named `{text}`"
            ))
            .help(
                "write an operator such as `Softmax`, or a module such as `encoder.layers.0`; `*` stands for any text",
            ));
        }
    }
    Ok(kept)
}

/// Whether a node computes floats of a stored weight of integers, whose scales were chosen for the dtype or are as exact as floats of it.
fn is_stored(graph: &Graph, place: &NodePorts) -> bool {
    let is_weight = |value: &Value| matches!(graph.info(*value).source, Source::Constant(_) | Source::Weight(_));
    schema::facts(place.op).shape == Shape::Dequantize && place.inputs.iter().all(is_weight)
}

/// Whether the runtime lacks the operator in half precision.
fn lacks(graph: &Graph, place: &NodePorts, request: &Request) -> bool {
    let Some(target) = request.target else { return false };
    if place.op.contains("::") {
        // Its kernels are not measured. ONNX Runtime computes float16 in float32 where it has none.
        return target.kernels && request.dtype == Dtype::Bfloat16;
    }
    let since = schema::find(place.op).and_then(|op| op.at(graph.opset)).map(|version| version.since);
    let kernels =
        onnxruntime_lacks().iter().filter(|lacks| target.kernels && lacks.op == place.op && Some(lacks.since) == since);
    let avoided = target.avoids.iter().filter(|lacks| lacks.op == place.op && Some(lacks.since) == since);
    kernels
        .flat_map(|lacks| lacks.dtypes)
        .chain(avoided.flat_map(|lacks| lacks.dtypes))
        .any(|dtype| *dtype == request.dtype)
}

/// The largest elements of constants and weights.
struct Constants<'g> {
    graph: &'g Graph,
    dtype: Dtype,
    known: FxHashMap<Value, f32>,
}

impl Constants<'_> {
    /// Why a constant cannot be in half precision. Infinities can.
    fn unfit(&mut self, value: Value) -> Option<Why> {
        let largest = self.largest(value)?;
        let (least, most) = match self.dtype {
            Dtype::Bfloat16 => (bf16::MIN_POSITIVE.to_f32(), bf16::MAX.to_f32()),
            _ => (f16::MIN_POSITIVE.to_f32(), f16::MAX.to_f32()),
        };
        let name = || self.graph.name(value).to_owned();
        if largest > most {
            return Some(Why::Large(name(), largest));
        }
        (largest > 0.0 && largest < least).then(|| Why::Small(name(), largest))
    }

    fn largest(&mut self, value: Value) -> Option<f32> {
        if let Some(largest) = self.known.get(&value) {
            return Some(*largest);
        }
        let largest = match &self.graph.info(value).source {
            Source::Constant(constant) if constant.dtype == Dtype::Float32 => largest_finite(constant.bytes()),
            Source::Weight(weight) => weight.largest_finite()?,
            _ => return None,
        };
        self.known.insert(value, largest);
        Some(largest)
    }
}
