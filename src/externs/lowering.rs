//! What lowerings need beyond the language: running sums and products, step by step.

use crate::builder::Builder;
use crate::error::Result;
use crate::graph::{Attr, Type, Value};

/// `extern fn running`
pub fn running(cx: &mut Builder, x: Value, dim: i64, op: &str, exclusive: bool, backwards: bool) -> Result<Value> {
    let (op, start) = if op == "product" { ("Mul", 1) } else { ("Add", 0) };
    let dtype = cx.dtype(x);
    let mut sizes = cx.shape(x)?;
    if let Ok(at) = usize::try_from(dim)
        && at < sizes.len()
    {
        sizes.remove(at);
    }
    let start = super::full(cx, &sizes, &start.into(), dtype)?;
    let slice = Type::tensor(dtype, sizes);
    let body = cx.body(&[slice.clone(), slice], |cx, params| {
        let [before, element] = params else { return Err(cx.fault("a step takes two values")) };
        let after = cx.node1(op, vec![(*before).into(), (*element).into()], Vec::new())?;
        Ok(vec![after, if exclusive { *before } else { after }])
    })?;
    let direction = Attr::Ints(vec![backwards.into()]);
    let attrs = vec![
        ("body", body),
        ("num_scan_inputs", Attr::Int(1)),
        ("scan_input_axes", Attr::Ints(vec![dim])),
        ("scan_input_directions", direction.clone()),
        ("scan_output_axes", Attr::Ints(vec![dim])),
        ("scan_output_directions", direction),
    ];
    let values = cx.node("Scan", vec![start.into(), x.into()], attrs, 2)?;
    values.get(1).copied().ok_or_else(|| cx.fault("a scan without a result"))
}
