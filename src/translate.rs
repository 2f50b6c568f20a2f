//! From the ATen program to the ONNX graph, rule by rule.

use crate::error::{Error, Result};
use crate::export::Options;
use crate::graph::Graph;
use crate::program::Program;

/// Translates a functional program.
pub fn translate(_program: &Program, _options: &Options) -> Result<Graph> {
    Err(Error::internal("translation is not there yet"))
}
