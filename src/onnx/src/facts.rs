//! Facts about opsets and dtypes: static tables generated from `mappings/opsets.toml` and `mappings/dtypes.toml`.

include!(concat!(env!("OUT_DIR"), "/facts.rs"));

use std::sync::OnceLock;

/// (operator, opset, name, is it an input), as [`NEGATIVE_AXES`].
pub type NegativeAxes = (&'static str, u32, &'static str, bool);

/// What takes the place of [`WIDER`] and [`NEGATIVE_AXES`].
#[derive(Debug)]
pub struct Replaced {
    /// The dtypes that hold every value of a dtype, best first.
    pub wider: Vec<(Dtype, Vec<Dtype>)>,
    /// Sorted.
    pub negative_axes: Vec<NegativeAxes>,
}

static REPLACED: OnceLock<Replaced> = OnceLock::new();

/// Takes facts in place of those of the build, for developers who change them. False: they were replaced before.
pub fn replace(facts: Replaced) -> bool {
    REPLACED.set(facts).is_ok()
}

/// The dtypes that hold every value of a dtype, in order of preference.
pub fn wider(dtype: Dtype) -> &'static [Dtype] {
    if let Some(replaced) = REPLACED.get() {
        return replaced.wider.iter().find(|row| row.0 == dtype).map_or(&[], |row| row.1.as_slice());
    }
    WIDER.iter().find(|row| row.0 == dtype).map_or(&[], |row| row.1)
}

/// The axes of an operator that must not be negative below an opset.
pub fn negative_axes(op: &str) -> impl Iterator<Item = &'static NegativeAxes> {
    let rows = REPLACED.get().map_or(NEGATIVE_AXES, |replaced| replaced.negative_axes.as_slice());
    let start = rows.partition_point(|row| row.0 < op);
    rows.get(start..).unwrap_or_default().iter().take_while(move |row| row.0 == op)
}
