//! Compares a trace with the closure that it was recorded from.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tch::{CModule, Kind, Tensor};

use super::tracer::{Closure, Run, Tracer, joined_results, of_panic, of_torch};
use aten2onnx_core::error::{Error, Result};

/// The largest difference, relative to the largest element, that rounding explains.
const TOLERANCE: f64 = 1e-4;

/// Notes about the comparison of each trace with the closure.
///
/// # Errors
/// The results differ, and the trace is not random.
pub(super) fn check(tracer: &Tracer<'_>, runs: &[Run], closure: &mut Closure<'_>) -> Result<Vec<String>> {
    for run in runs {
        let arguments = tracer.arguments(&run.inputs);
        let traced = ran(&run.module, &arguments)?;
        if difference(&traced, &ran(&run.module, &arguments)?).is_some() {
            let note = "the results are random: they were not compared with those of the closure, and the model draws other numbers";
            return Ok(vec![note.to_owned()]);
        }
        let own = tch::no_grad(|| catch_unwind(AssertUnwindSafe(|| joined_results(&closure(&run.inputs)))));
        let own = own.map_err(|panic| of_panic(panic.as_ref(), &run.sizes))?;
        let Some(own) = own else { return Err(Error::unsupported("the closure returns no tensor")) };
        if let Some(difference) = difference(&own, &traced) {
            let message = format!("the trace does not compute what the closure does: {difference}");
            let help =
                "the closure depends on more than its inputs: data of Rust, a state, or elements of tensors as numbers";
            return Err(Error::unsupported(message).help(help));
        }
    }
    Ok(Vec::new())
}

fn ran(module: &CModule, arguments: &[Tensor]) -> Result<Tensor> {
    tch::no_grad(|| module.method_ts("forward", arguments)).map_err(|error| of_torch(&error.to_string()))
}

/// How two tensors differ by more than rounding.
fn difference(wanted: &Tensor, have: &Tensor) -> Option<String> {
    if wanted.size() != have.size() {
        return Some(format!("{} elements in the place of {}", have.numel(), wanted.numel()));
    }
    if wanted.numel() == 0 {
        return None;
    }
    let plain = |tensor: &Tensor| match tensor.is_complex() {
        true => tensor.view_as_real().to_kind(Kind::Double),
        false => tensor.to_kind(Kind::Double),
    };
    let (wanted, have) = (plain(wanted), plain(have));
    let finite = wanted.where_self(&wanted.isfinite(), &wanted.zeros_like());
    let scale = f64::try_from(finite.abs().max()).unwrap_or(0.0).max(1e-3);
    if have.allclose(&wanted, TOLERANCE, TOLERANCE * scale, true) {
        return None;
    }
    let largest =
        f64::try_from((&have - &wanted).abs().nan_to_num(f64::INFINITY, None, None).max()).unwrap_or(f64::NAN);
    Some(format!("a result differs by {largest}"))
}
