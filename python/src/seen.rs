//! What Python saw while it recorded a model.

use std::collections::HashMap;

use aten2onnx_frontend_recorded::{Bounds, Extent, Recording, Run};
use pyo3::prelude::*;

/// The values of symbols, and the sizes of tensors by name.
type SeenRun = (HashMap<String, i64>, HashMap<String, Vec<i64>>);

/// A recording: sizes of inputs, bounds of symbols, runs, and tensors whose sizes depend on elements.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Seen {
    inputs: HashMap<String, Vec<Size>>,
    bounds: Vec<(String, Bounds)>,
    runs: Vec<SeenRun>,
    from_data: Vec<String>,
}

/// A size of an input: a number, (factor, symbol, offset), or two symbols whose sum it is.
#[derive(FromPyObject)]
enum Size {
    Known(i64),
    Of(i64, String, i64),
    Sum(String, String),
}

impl Seen {
    pub fn into_recording(self) -> Recording {
        let size = |size| match size {
            Size::Known(size) => Extent::Known(size),
            Size::Of(factor, symbol, offset) => Extent::Of { factor, symbol, offset },
            Size::Sum(one, other) => Extent::Sum(one, other),
        };
        let sizes = |sizes: Vec<Size>| sizes.into_iter().map(size).collect();
        let run = |(symbols, sizes): SeenRun| Run {
            symbols: symbols.into_iter().collect(),
            sizes: sizes.into_iter().collect(),
        };
        Recording {
            inputs: self.inputs.into_iter().map(|(name, all)| (name, sizes(all))).collect(),
            bounds: self.bounds,
            runs: self.runs.into_iter().map(run).collect(),
            from_data: self.from_data.into_iter().collect(),
        }
    }
}
