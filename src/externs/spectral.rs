//! Fourier transforms along several dimensions.

use crate::builder::Builder;
use crate::error::Result;
use crate::graph::{Attr, Value};

/// DFT along some dimensions, one after another, of real or complex numbers to complex ones.
pub fn transforms(cx: &mut Builder, x: Value, dims: &[i64], inverse: bool) -> Result<Value> {
    let mut result = x;
    for dim in dims {
        let signal = if cx.is_complex(result) { cx.joined(result)? } else { cx.unsqueeze(result, &[-1])? };
        let length = crate::builder::In::None;
        let inputs = vec![signal.into(), length, (*dim).into()];
        let spectrum = cx.op_with("DFT", inputs, "inverse", Attr::Int(inverse.into()))?;
        result = cx.paired(spectrum)?;
    }
    Ok(result)
}
