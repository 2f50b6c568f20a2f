//! The functions that rules call: each `extern fn` in `mappings/` is the function of the same name here.

use aten2onnx::custom::{Builder, Scalar};
use aten2onnx::error::{Error, Result};

/// The weight of each sample, from 0 up to 1.
pub fn fade(_: &mut Builder, samples: i64, curve: &str) -> Result<Vec<Scalar>> {
    let last = (samples - 1).max(1) as f64;
    let steps = (0..samples).map(|i| i as f64 / last);
    match curve {
        "linear" => Ok(steps.map(Scalar::Float).collect()),
        "sine" => Ok(steps.map(|t| Scalar::Float((t * std::f64::consts::FRAC_PI_2).sin())).collect()),
        _ => Err(Error::unsupported(format!("unknown curve `{curve}`: expected `linear` or `sine`"))),
    }
}
