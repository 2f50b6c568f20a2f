//! `targets/*.toml`: what runtimes support and lack. Each file states its source.

use serde::Deserialize;

use super::{avoid, dtypes};

/// A runtime.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The newest supported opset.
    pub newest_opset: u32,
    /// The newest supported IR version.
    pub newest_ir: u32,
    /// Missing kernels.
    #[serde(default)]
    pub lacks: Vec<Lack>,
}

/// A missing kernel.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lack {
    /// The operator.
    pub op: String,
    /// The version of its schema.
    pub since: u32,
    /// The dtypes (PyTorch's names) of its first type variable without a kernel.
    pub dtypes: Vec<String>,
}

impl Target {
    /// Reads a profile.
    pub fn parse(text: &str) -> Result<Target, String> {
        let read: Target = toml::from_str(text).map_err(|e| e.to_string())?;
        let mut names = read.lacks.iter().flat_map(|l| &l.dtypes);
        match names.find(|name| dtypes::variant(name).is_none()) {
            Some(name) => Err(format!("`{name}` is not a dtype")),
            None => Ok(read),
        }
    }
}

/// The missing kernels of ONNX Runtime, in a file of their own because they are many.
pub const KERNELS: &str = "targets/onnxruntime.toml";

/// Is the file a profile that `--target` knows? All others under `targets/` are.
pub fn is_runtime(name: &str) -> bool {
    name.starts_with("targets/") && name.ends_with(".toml") && name != KERNELS && !avoid::is_forms(name)
}

/// A runtime or compiler with its releases, the newest first.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runtime {
    /// Its name for `--target`.
    pub runtime: String,
    /// Its full name.
    pub what: String,
    /// It lacks the same kernels as `onnxruntime.toml`.
    #[serde(default)]
    pub kernels: bool,
    /// The name alone means the first one.
    pub release: Vec<Release>,
    /// Forms of operators to avoid, from `NAME_forms.toml`.
    #[serde(skip)]
    pub avoid: Vec<avoid::Avoid>,
    /// Forms of operators of which a note tells, from `NAME_forms.toml`.
    #[serde(skip)]
    pub warn: Vec<avoid::Avoid>,
}

/// What a release supports.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// `8.6`
    pub name: String,
    /// The oldest supported opset, if one is stated.
    pub oldest_opset: Option<u32>,
    /// The newest supported opset.
    pub newest_opset: u32,
    /// The opset whose models run fastest, if that was measured.
    pub fastest_opset: Option<u32>,
    /// The newest supported IR version, if it is known.
    pub newest_ir: Option<u32>,
    /// What it does with symbolic sizes, if it needs numbers in general.
    pub symbolic: Option<String>,
    /// Why sizes that only the running model determines have no names in the model, if they have none.
    pub own_sizes: Option<String>,
    /// Dtypes (PyTorch's names) that no operator takes.
    #[serde(default)]
    pub lacks_dtypes: Vec<String>,
    /// Dtypes (PyTorch's names) of which it loads no initializers.
    #[serde(default)]
    pub lacks_constants: Vec<String>,
    /// Dtypes (PyTorch's names) that inputs and outputs of a model cannot have.
    #[serde(default)]
    pub lacks_io_dtypes: Vec<String>,
    /// The most megabytes of weights that it loads, if that is fewer than a file can have.
    pub most_weights: Option<u64>,
    /// Why it runs no model with local functions, if it runs none.
    pub lacks_functions: Option<String>,
    /// Whether float64 is computed in float32 where it has no kernel for it.
    #[serde(default)]
    pub narrows_float64: bool,
    /// Whether int64 is computed in 32 bits.
    #[serde(default)]
    pub narrows_int64: bool,
    /// Whether int32 is kept as int64, so that inputs cannot have it, and outputs have int64.
    #[serde(default)]
    pub widens_int32: bool,
    /// Whether outputs without dimensions have the shape [1].
    #[serde(default)]
    pub lacks_scalar_outputs: bool,
    /// Whether outputs without elements have another shape.
    #[serde(default)]
    pub lacks_empty_outputs: bool,
    /// Why inputs must have dimensions, if they must.
    pub lacks_scalar_inputs: Option<String>,
    /// Why outputs must follow from inputs, if they must.
    pub lacks_constant_outputs: Option<String>,
    /// Whether inputs that nothing reads are left out, so that those after them have other positions.
    #[serde(default)]
    pub drops_inputs: bool,
    /// What an export for it says in a note.
    pub note: Option<String>,
    /// Whether it needs attributes that have their default.
    #[serde(default)]
    pub explicit_attributes: bool,
    /// The bits of the integers that its own operator `MatMulNBits` multiplies with.
    #[serde(default)]
    pub matmul_nbits: Vec<u32>,
    /// Those among them for which the operator is not slower than a product of floats, without rounding the other operand.
    #[serde(default)]
    pub fast_matmul_nbits: Vec<u32>,
    /// The bits of the integers that its own operator `GatherBlockQuantized` looks up.
    #[serde(default)]
    pub gather_nbits: Vec<u32>,
    /// The bits of the integers that its own operator `QMoE` multiplies with.
    #[serde(default)]
    pub experts_nbits: Vec<u32>,
    /// Products with activations that are quantized while the model runs are faster as `MatMulInteger`.
    #[serde(default)]
    pub dynamic_integers: bool,
    /// Operators between QuantizeLinear and DequantizeLinear compute with integers only if the activations are unsigned.
    #[serde(default)]
    pub unsigned_activations: bool,
    /// Activations of 8 bits are signed integers without a zero point, or it refuses the model.
    #[serde(default)]
    pub symmetric_activations: bool,
    /// Operators that compute with integers between DequantizeLinear and QuantizeLinear.
    #[serde(default)]
    pub integer_operators: Vec<String>,
    /// Products among them that also do so if their result stays a float.
    #[serde(default)]
    pub float_results: Vec<String>,
    /// Operators without any kernel.
    #[serde(default)]
    pub lacks: Vec<String>,
    /// Dtypes of operators that it lacks or gets wrong.
    #[serde(default)]
    pub dtypes: Vec<Dtypes>,
    /// Forms of operators that it lacks or gets wrong, for readers.
    #[serde(default)]
    pub forms: Vec<FaultyCase>,
    /// The source of these facts: a page, or the command that measured them.
    pub source: String,
}

/// Dtypes of an operator that do not work.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dtypes {
    /// The operator.
    pub op: String,
    /// The versions of its schema.
    pub since: Vec<u32>,
    /// The dtypes (PyTorch's names) of its first type variable that are refused or fail.
    #[serde(default)]
    pub lacks: Vec<String>,
    /// The dtypes that give wrong numbers.
    #[serde(default)]
    pub wrong: Vec<String>,
    /// What the runtime says.
    #[serde(default)]
    pub reason: String,
}

/// Cases of an operator that do not work, although others of the same dtype do.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultyCase {
    /// The operator.
    pub op: String,
    /// The versions of its schema.
    pub since: Vec<u32>,
    /// `constant`, `computed` or `symbolic`.
    pub form: String,
    /// The cases that are refused or fail; `*` is all.
    #[serde(default)]
    pub lacks: Vec<String>,
    /// The cases that give wrong numbers.
    #[serde(default)]
    pub wrong: Vec<String>,
    /// The cases that lose infinities or NaN.
    #[serde(default)]
    pub nonfinite: Vec<String>,
    /// What the runtime says.
    #[serde(default)]
    pub reason: String,
}

impl Dtypes {
    /// All dtypes to avoid. The name of none is empty: the operator has no inputs.
    pub fn avoided(&self) -> impl Iterator<Item = &str> {
        self.lacks.iter().chain(&self.wrong).map(String::as_str).filter(|name| !name.is_empty())
    }
}

/// The form of the models in `runtimes/forms`, and the case whose inputs have a NaN.
const NAN: (&str, &str) = ("exported", "nan");

impl Release {
    /// The operators that give a number, or infinity, where ONNX Runtime keeps a NaN of their inputs.
    pub fn loses_nan(&self) -> Vec<&str> {
        let of_nan =
            self.forms.iter().filter(|form| form.form == NAN.0 && form.nonfinite.iter().any(|case| case == NAN.1));
        let mut names: Vec<&str> = of_nan.map(|form| form.op.as_str()).collect();
        names.dedup();
        names
    }

    /// What is wrong if the fastest opset is not among those that it supports.
    fn fastest_beyond(&self) -> Option<String> {
        let opset = self.fastest_opset?;
        let oldest = self.oldest_opset.unwrap_or(0);
        let is_beyond = !(oldest..=self.newest_opset).contains(&opset);
        is_beyond.then(|| {
            format!("release {}: `fastest_opset = {opset}` is not among {oldest} to {}", self.name, self.newest_opset)
        })
    }
}

impl Runtime {
    /// Reads a profile.
    pub fn parse(text: &str) -> Result<Runtime, String> {
        let read: Runtime = toml::from_str(text).map_err(|e| e.to_string())?;
        if read.release.is_empty() {
            return Err("a runtime without releases".to_owned());
        }
        if let Some(release) = read.release.iter().find(|release| release.source.is_empty()) {
            return Err(format!("release {} has no source", release.name));
        }
        if let Some(beyond) = read.release.iter().find_map(Release::fastest_beyond) {
            return Err(beyond);
        }
        let unknown = read.avoided().find(|name| dtypes::variant(name).is_none()).map(str::to_owned);
        unknown.map_or(Ok(read), |name| Err(format!("`{name}` is not a dtype")))
    }

    /// The dtypes that some release avoids.
    fn avoided(&self) -> impl Iterator<Item = &str> {
        let whole = self.release.iter().flat_map(|release| {
            release.lacks_dtypes.iter().chain(&release.lacks_constants).chain(&release.lacks_io_dtypes)
        });
        let whole = whole.map(String::as_str);
        whole.chain(self.release.iter().flat_map(|release| &release.dtypes).flat_map(Dtypes::avoided))
    }
}

/// Adds what was found by hand to what was measured. Runtimes that have the kernels of ONNX Runtime also have its forms.
///
/// # Errors
/// There is no such runtime.
pub fn add_forms(runtimes: &mut [Runtime], forms: avoid::Forms) -> Result<(), String> {
    let avoid::Forms { runtime, avoid, warn } = forms;
    let found = runtimes.iter().find(|known| known.runtime == runtime);
    let kernels = found.ok_or_else(|| format!("there is no runtime `{runtime}` in the other files"))?.kernels;
    for known in runtimes.iter_mut().filter(|known| known.runtime == runtime || kernels && known.kernels) {
        known.avoid.extend(avoid.iter().cloned());
        known.warn.extend(warn.iter().cloned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const MEASURED: &str = r#"
        runtime = "x"
        what = "X"
        [[release]]
        name = "1"
        newest_opset = 18
        source = "measured"
        [[release.dtypes]]
        op = "Erf"
        since = [9, 13]
        lacks = ["float64", ""]
        wrong = ["int8"]
        [[release.forms]]
        op = "Resize"
        since = [18]
        form = "symbolic"
        wrong = ["*"]
    "#;

    #[test]
    fn measured_dtypes_are_avoided_whether_lacking_or_wrong() {
        let read = Runtime::parse(MEASURED).unwrap();
        assert_eq!(read.release[0].dtypes[0].avoided().collect::<Vec<_>>(), ["float64", "int8"]);
        assert_eq!(read.release[0].forms[0].wrong, ["*"]);
    }

    #[test]
    fn operators_that_lose_nan_are_those_of_the_case_with_nan() {
        let nan = format!(
            "{MEASURED}[[release.forms]]\nop = \"Relu\"\nsince = [14]\nform = \"exported\"\nnonfinite = [\"nan\"]\n"
        );
        assert_eq!(Runtime::parse(&nan).unwrap().release[0].loses_nan(), ["Relu"]);
        let other = nan.replace("[\"nan\"]", "[\"large\"]");
        assert!(Runtime::parse(&other).unwrap().release[0].loses_nan().is_empty());
    }

    #[test]
    fn forms_are_those_of_all_runtimes_with_the_same_kernels() {
        let named = |name: &str, kernels| Runtime { runtime: name.to_owned(), kernels, ..Runtime::default() };
        let forms = |runtime: &str| {
            let mut runtimes = [named("ort", true), named("ort-web", true), named("tract", false)];
            let warn = vec![avoid::Avoid::default()];
            add_forms(&mut runtimes, avoid::Forms { runtime: runtime.to_owned(), avoid: Vec::new(), warn }).unwrap();
            runtimes.map(|known| known.warn.len())
        };
        assert_eq!(forms("ort"), [1, 1, 0]);
        assert_eq!(forms("tract"), [0, 0, 1]);
    }

    #[test]
    fn the_fastest_opset_is_one_that_the_release_supports() {
        let fastest =
            |opset| MEASURED.replace("newest_opset = 18", &format!("newest_opset = 18\nfastest_opset = {opset}"));
        assert_eq!(Runtime::parse(&fastest(17)).unwrap().release[0].fastest_opset, Some(17));
        let error = Runtime::parse(&fastest(19)).unwrap_err();
        assert_eq!(error, "release 1: `fastest_opset = 19` is not among 0 to 18");
    }

    #[test]
    fn unknown_dtypes_and_missing_sources_are_errors() {
        assert_eq!(Runtime::parse(&MEASURED.replace("int8", "int7")).unwrap_err(), "`int7` is not a dtype");
        let whole = MEASURED.replace("newest_opset = 18", "newest_opset = 18\nlacks_dtypes = [\"bf16\"]");
        assert_eq!(Runtime::parse(&whole).unwrap_err(), "`bf16` is not a dtype");
        assert!(Runtime::parse(&MEASURED.replace("\"measured\"", "\"\"")).unwrap_err().contains("no source"));
    }
}
