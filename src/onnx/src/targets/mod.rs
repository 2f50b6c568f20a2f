//! Runtimes by name: the newest opset and IR version that each supports, and missing operators. The facts are in
//! `mappings/targets/`.

mod checks;
mod data;
mod notes;

use crate::facts::DEFAULT_OPSET;
use crate::model::Ir;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};

pub use data::{Kernels, all, onnxruntime_lacks, replace};

/// A release of a runtime or compiler.
#[derive(Debug)]
pub struct Target {
    /// `tensorrt`
    pub runtime: &'static str,
    /// `8.6`
    pub release: &'static str,
    /// Its full name.
    pub what: &'static str,
    /// Whether it lacks the kernels that ONNX Runtime's CPU provider lacks.
    pub kernels: bool,
    /// What it does with symbolic sizes, if it needs numbers in general.
    pub symbolic: Option<&'static str>,
    /// Why sizes that only the running model determines have no names in the model, if they have none.
    pub own_sizes: Option<&'static str>,
    /// The oldest supported opset.
    pub oldest_opset: u32,
    /// The newest supported opset.
    pub newest_opset: u32,
    /// The opset whose models run fastest, if that was measured.
    pub fastest_opset: Option<u32>,
    /// The newest supported IR version, if known.
    pub newest_ir: Option<u32>,
    /// Dtypes that no operator takes.
    pub lacks_dtypes: &'static [Dtype],
    /// Dtypes of which it loads no initializers.
    pub lacks_constants: &'static [Dtype],
    /// Dtypes that inputs and outputs of a model cannot have.
    pub lacks_io_dtypes: &'static [Dtype],
    /// The most megabytes of weights that it loads, if that is fewer than a file can have.
    pub most_weights: Option<u64>,
    /// Why it runs no model with local functions, if it runs none.
    pub lacks_functions: Option<&'static str>,
    /// Whether float64 is computed in float32 where it has no kernel for it.
    pub narrows_float64: bool,
    /// Whether int64 is computed in 32 bits.
    pub narrows_int64: bool,
    /// Whether int32 is kept as int64, so that inputs cannot have it, and outputs have int64.
    pub widens_int32: bool,
    /// Whether outputs without dimensions have the shape [1].
    pub lacks_scalar_outputs: bool,
    /// Whether outputs without elements have another shape.
    pub lacks_empty_outputs: bool,
    /// Why inputs must have dimensions, if they must.
    pub lacks_scalar_inputs: Option<&'static str>,
    /// Why outputs must follow from inputs, if they must.
    pub lacks_constant_outputs: Option<&'static str>,
    /// Whether inputs that nothing reads are left out, so that those after them have other positions.
    pub drops_inputs: bool,
    /// What to know of every model in it.
    pub note: Option<&'static str>,
    /// Whether it needs attributes that have their default.
    pub explicit_attributes: bool,
    /// How it computes with quantized weights and activations.
    pub quantized: Quantized,
    /// Operators that are missing entirely.
    pub lacks: &'static [&'static str],
    /// Dtypes of operators that it lacks or gets wrong.
    pub avoids: &'static [Missing],
    /// Forms of operators that it lacks or gets wrong.
    pub forms: &'static [Avoid],
    /// Forms of operators that stay, of which a note tells.
    pub warns: &'static [Avoid],
    /// Operators that do not keep the NaN of their inputs.
    pub loses_nan: &'static [&'static str],
    /// The source of these facts.
    pub source: &'static str,
}

/// How a runtime computes with quantized weights and activations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quantized {
    /// The bits of the integers that its own operator `MatMulNBits` multiplies with; none if it lacks the operator.
    pub matmul: &'static [u32],
    /// Those among them for which the operator is not slower than a product of floats, without rounding the other operand.
    pub fast_matmul: &'static [u32],
    /// The bits of the integers that its own operator `GatherBlockQuantized` looks up; none if it lacks the operator.
    pub gather: &'static [u32],
    /// The bits of the integers that its own operator `QMoE` multiplies with; none if it lacks the operator.
    pub experts: &'static [u32],
    /// Products with activations that are quantized while the model runs are faster as `MatMulInteger`.
    pub dynamic: bool,
    /// Operators between QuantizeLinear and DequantizeLinear compute with integers only if the activations are unsigned.
    pub unsigned: bool,
    /// Activations of 8 bits are signed integers without a zero point, or it refuses the model.
    pub symmetric: bool,
    /// Operators that compute with integers between DequantizeLinear and QuantizeLinear, if that was measured.
    pub operators: &'static [&'static str],
    /// Products among them that also do so if their result stays a float.
    pub float_results: &'static [&'static str],
}

/// Dtypes of the first type variable of an operator that a runtime lacks or gets wrong.
#[derive(Debug)]
pub struct Missing {
    /// The operator.
    pub op: &'static str,
    /// The version of its schema.
    pub since: u32,
    /// The dtypes. None: the operator has no inputs.
    pub dtypes: &'static [Dtype],
    /// What the runtime does or says.
    pub reason: &'static str,
}

/// A form of an operator that a runtime lacks or gets wrong.
#[derive(Debug)]
pub struct Avoid {
    /// The operator.
    pub op: &'static str,
    /// The versions of its schema; all if it is empty.
    pub since: &'static [u32],
    /// The conditions as written.
    pub when: &'static [&'static str],
    /// The conditions, which must all hold. Without any, it is every form.
    pub conditions: &'static [Condition],
    /// What the runtime does or says.
    pub reason: &'static str,
    /// The version of the runtime that showed it.
    pub seen_in: &'static str,
}

/// A condition on a node.
#[derive(Debug)]
pub enum Condition {
    /// What holds for an input or attribute.
    Is(State, Name),
    /// The number of dimensions of an input.
    Rank(Name, Comparison, i64),
    /// The number of elements of an input of one dimension.
    Length(Name, Comparison, i64),
    /// The last size of an input.
    Last(Name, Comparison, i64),
    /// The first element of an input that is constant.
    First(Name, Comparison, i64),
    /// The operator that an input is an output of.
    MadeBy(Name, Comparison, &'static str),
    /// The dtype of an input.
    Dtype(Name, Comparison, Dtype),
    /// The number of given inputs.
    Inputs(Comparison, i64),
    /// The number of requested outputs.
    Outputs(Comparison, i64),
    /// The number or numbers of an attribute or of a constant input.
    Number(Name, Comparison, f64),
    /// The text of an attribute.
    Text(Name, Comparison, &'static str),
}

/// What may hold for an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is present.
    Given,
    /// It is left out.
    Absent,
    /// It is present and not constant.
    Computed,
    /// It is a constant or a weight.
    Constant,
    /// It is constant, or follows from constants alone.
    Folded,
    /// One of its sizes is not a number.
    Symbolic,
    /// One of its sizes is 0.
    Empty,
    /// It is the output of ConstantOfShape.
    Filled,
    /// It is not constant, and one of its elements is -1.
    Open,
    /// It is not constant, and follows from sizes and constants by integers alone.
    Sized,
    /// It is neither constant nor follows from sizes: elements of tensors decide it.
    Data,
    /// Another input has a size where it has 1 or no dimension.
    Broadcast,
    /// It and another input each have a size where the other has 1 or no dimension.
    Stretched,
    /// It is constant, and one of its elements is not a whole number.
    Fractional,
    /// It is a constant, or an attribute, whose first half is not the second: pads of different sizes at both ends.
    Uneven,
}

/// An input or attribute by its name in the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// An input.
    Input(&'static str),
    /// An attribute.
    Attribute(&'static str),
}

/// How two values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `>`
    Greater,
}

impl Comparison {
    /// Whether a value compares with another one like this.
    pub fn holds<T: PartialOrd>(self, value: &T, other: &T) -> bool {
        match self {
            Comparison::Equal => value == other,
            Comparison::NotEqual => value != other,
            Comparison::Less => value < other,
            Comparison::Greater => value > other,
        }
    }

    /// The same of a list: `==` holds if it holds for all, and the others if they hold for one.
    pub fn holds_for<T: PartialOrd>(self, values: &[T], other: &T) -> bool {
        match self {
            Comparison::Equal => !values.is_empty() && values.iter().all(|value| value == other),
            _ => values.iter().any(|value| self.holds(value, other)),
        }
    }
}

/// Finds a target by name: `tensorrt-8.6`, or `tensorrt` for the newest known release.
pub fn find(name: &str) -> Result<&'static Target> {
    data::find(name).ok_or_else(|| {
        let error = Error::unsupported(format!("unknown target `{name}`"));
        match nearest(name) {
            Some(near) => error.help(format!("did you mean `{near}`? `aten2onnx targets` lists all")),
            None => error.help("`aten2onnx targets` lists all"),
        }
    })
}

impl Target {
    /// `tensorrt-8.6`
    pub fn name(&self) -> String {
        format!("{}-{}", self.runtime, self.release)
    }

    /// Whether the facts come from models that were run; otherwise they come from documents.
    pub fn is_measured(&self) -> bool {
        self.source.starts_with("measured: ")
    }

    /// The opset to write: the requested one, if the runtime supports it; otherwise the one that was measured to be the
    /// fastest, or the supported one that is nearest to the default.
    pub fn opset(&self, asked: Option<u32>) -> Result<u32> {
        let (oldest, newest) = (self.oldest_opset, self.newest_opset);
        match asked {
            None => Ok(self.fastest_opset.unwrap_or_else(|| DEFAULT_OPSET.clamp(oldest.min(newest), newest))),
            Some(opset) if (oldest..=newest).contains(&opset) => Ok(opset),
            Some(opset) => Err(Error::unsupported(format!("{} does not support opset {opset}", self.name()))
                .help(format!("it supports {oldest} to {newest}; omit `--opset` to use one of these"))),
        }
    }

    /// What to do about the symbolic sizes of a model, if the runtime needs numbers in general.
    pub fn advice(&self, symbols: impl ExactSizeIterator) -> Option<String> {
        let reason = self.symbolic.filter(|_| symbols.len() > 0)?;
        Some(format!("{reason}; `--static` or `--dim` makes symbolic sizes numbers"))
    }

    /// Checks that the runtime supports the requested IR version.
    pub fn check_ir(&self, asked: Ir, opset: u32) -> Result<()> {
        match (asked.version(opset), self.newest_ir) {
            (Some(ir), Some(newest)) if ir > newest => {
                Err(Error::unsupported(format!("{} does not support IR version {ir}", self.name())).help(format!(
                    "the newest that it supports is {newest}; omit `--ir` to use the lowest that the model requires"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the runtime runs models with local functions.
    pub fn check_functions(&self) -> Result<()> {
        match self.lacks_functions {
            Some(reason) => {
                Err(Error::unsupported(format!("{} runs no functions: {reason}", self.name()))
                    .help("omit `--functions`"))
            }
            None => Ok(()),
        }
    }

    /// Checks that the runtime supports the IR version that the model requires.
    pub fn check_needed_ir(&self, needed: i64) -> Result<()> {
        match self.newest_ir {
            Some(newest) if needed > i64::from(newest) => Err(Error::unsupported(format!(
                "the model needs IR version {needed}, but {} supports at most {newest}",
                self.name()
            ))),
            _ => Ok(()),
        }
    }
}

/// The known name with the smallest edit distance.
fn nearest(name: &str) -> Option<String> {
    let names = data::names().flat_map(|(runtime, release)| [runtime.to_owned(), format!("{runtime}-{release}")]);
    let best = names.map(|known| (distance(name, &known), known)).min()?;
    (best.0 <= name.chars().count().max(4) / 2).then_some(best.1)
}

/// The edit distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_name_alone_is_the_newest_release() {
        assert_eq!(find("tensorrt").unwrap().name(), "tensorrt-11");
        assert_eq!(find("tensorrt-8.6").unwrap().newest_opset, 17);
        assert_eq!(find("onnxruntime").unwrap().name(), "onnxruntime-1.31");
    }

    #[test]
    fn unknown_names_get_the_nearest() {
        assert!(find("tensort-8.4").unwrap_err().help.clone().unwrap().contains("`tensorrt-8.4`"));
        assert!(find("onnxruntme").unwrap_err().help.clone().unwrap().contains("`onnxruntime`"));
        assert!(!find("a toaster with no name at all").unwrap_err().help.clone().unwrap().contains("did you mean"));
    }

    #[test]
    fn the_fastest_opset_is_written_if_it_was_measured() {
        let target = find("onnxruntime").unwrap();
        assert_eq!(target.opset(None).unwrap(), target.fastest_opset.unwrap());
        assert_eq!(target.opset(Some(13)).unwrap(), 13);
    }

    #[test]
    fn the_default_opset_is_kept_if_supported() {
        assert_eq!(find("onnxruntime-1.24").unwrap().opset(None).unwrap(), DEFAULT_OPSET);
        assert_eq!(find("tensorrt-8.4").unwrap().opset(None).unwrap(), 13);
        assert_eq!(find("sima").unwrap().opset(Some(17)).unwrap(), 17);
        let error = find("sima").unwrap().opset(Some(13)).unwrap_err();
        assert!(error.message.contains("does not support opset 13"), "{error}");
        assert!(find("horizon").unwrap().check_ir(Ir::Version(10), 19).is_err());
        assert!(find("horizon").unwrap().check_needed_ir(10).is_err());
    }
}
