//! The options of exports and conversions, defined once: for the library, the command line (with `clap`) and the Python
//! package (with `serde`).
//!
//! To add an option, add a documented field here and use it. See CONTRIBUTING.md.

mod description;
mod inputs;
mod names;
mod precision;
mod quantize;
mod ranges;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use aten2onnx_builder::Builder;
use aten2onnx_builder::passes::{Passes, ValueRanges};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::facts::{DEFAULT_OPSET, MAX_OPSET, MIN_OPSET};
use aten2onnx_onnx::targets::{self, Target};
use aten2onnx_onnx::{ExternalData, Functions, Ir, Provenance};
use aten2onnx_rules::Rules;
pub use description::{Description, Text};
pub use inputs::{DynamicSize, InputSpec, Literal, Size, Spec};
pub use names::{DimName, Rename, WeightName, WhichDim};
pub use precision::{Precision, PrecisionOptions};
pub use quantize::{BlockSize, QuantizeFormat, QuantizeKind, QuantizeOptions, QuantizeScales};
pub use ranges::{Bound, Ranges};
use serde::Deserialize;

/// The options that exports and conversions share.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct OutputOptions {
    /// The opset of the model; by default [`DEFAULT_OPSET`], for a target its fastest, if that was measured, or the nearest that it supports.
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", value_parser = parse_opset, help = opset_help()))]
    pub opset: Option<u32>,
    /// The runtime that the model is for, such as `tensorrt-8.6`; `aten2onnx targets` lists them
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME", value_parser = find_target))]
    #[serde(deserialize_with = "read::target")]
    pub target: Option<&'static Target>,
    /// The IR version: a number, `lowest` (the lowest that the model requires), or `release` (that of the opset's
    /// release)
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value = "lowest"))]
    #[serde(deserialize_with = "read::text")]
    pub ir: Ir,
    /// Where weights are stored
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "WHERE", default_value_t = ExternalData::Auto))]
    pub external_data: ExternalData,
    /// Do not make one operator of several by this `fuse` rule, such as `gelu`, or of `attention`, `heads` or `rotary_embedding`; `*` is any text
    #[cfg_attr(feature = "clap", arg(long, value_name = "PATTERN"))]
    pub no_fuse: Vec<String>,
    /// The precision that it computes in.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub precision: PrecisionOptions,
    /// What its weights are quantized to.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub quantize: QuantizeOptions,
    /// What the model says of itself.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub description: Description,
    /// The rules: built-in ones and those that were added.
    #[cfg_attr(feature = "clap", arg(skip))]
    #[serde(skip)]
    pub rules: Rules,
}

#[cfg(feature = "clap")]
fn opset_help() -> String {
    format!(
        "The opset of the model [default: {DEFAULT_OPSET}; for a target its fastest, if that was measured, or the nearest that it supports]"
    )
}

/// Which program of a file is meant, and what a TorchScript file does not say of its inputs.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SourceOptions {
    /// The program of a `.pt2` package that has several; without it an error lists them
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    pub model: Option<String>,
    /// Read the weights of a `.pt2` package from safetensors: a file, the index of its shards, or a folder. Names are those of the state
    /// dict; the package needs no data of its own
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE|DIR"))]
    pub weights: Vec<PathBuf>,
    /// Read a weight, or all whose names start with `OLD.`, under another name from the files of `--weights`
    #[cfg_attr(feature = "clap", arg(long = "weight-name", value_name = "OLD=NEW|OLD.=NEW."))]
    #[serde(deserialize_with = "read::texts")]
    pub weight_names: Vec<WeightName>,
    /// Describe an input of a TorchScript model: a tensor, a list, a dictionary, a number, a constant
    #[cfg_attr(feature = "clap", arg(long = "input", value_name = "x:f32[batch,3]|n=4"))]
    #[serde(deserialize_with = "read::texts")]
    pub inputs: Vec<InputSpec>,
    /// Make a size of a recorded input of a TorchScript model symbolic
    #[cfg_attr(feature = "clap", arg(long, value_name = "x.0=batch"))]
    #[serde(deserialize_with = "read::texts")]
    pub dynamic: Vec<DynamicSize>,
    /// The method of a TorchScript model [default: forward]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    pub method: Option<String>,
    /// What `torch.get_default_dtype()` was for a TorchScript model, whose file does not say it [default: float32]
    #[cfg_attr(feature = "clap", arg(long, value_name = "DTYPE", value_parser = parse_default_dtype))]
    #[serde(deserialize_with = "read::default_dtype")]
    pub default_dtype: Option<Dtype>,
}

/// The options of an export.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Options {
    /// The target of the model.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub output: OutputOptions,
    /// The program of the file, and its inputs.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub source: SourceOptions,
    /// The optimization level: 0 leaves the graph as the rules build it, 1 runs all passes
    #[cfg_attr(feature = "clap", arg(short = 'O', value_name = "LEVEL", default_value_t = 1, value_parser = levels()))]
    pub opt_level: u8,
    /// What nodes record about their origin
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "HOW", default_value_t = Provenance::Compact))]
    pub provenance: Provenance,
    /// Keep weights with PATTERN in their names, such as `lora_`, as inputs with default values, which an adapter can replace
    #[cfg_attr(feature = "clap", arg(long, value_name = "PATTERN"))]
    pub adapters: Option<String>,
    /// Turn modules into ONNX functions, which inference engines inline; needs IR version 8
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "WHICH", default_value_t = Functions::None))]
    pub functions: Functions,
    /// Name a symbolic dimension, given as a symbol or as an input and its axis; `inspect` lists them. Dimensions of the same name
    /// are one. A number in place of the name makes the size constant
    #[cfg_attr(feature = "clap", arg(long = "dim", value_name = "s77=batch|x:0=1"))]
    #[serde(deserialize_with = "read::texts")]
    pub dims: Vec<DimName>,
    /// Make all symbolic sizes those of the example that the model was exported with, except those that `--dim` gives
    #[cfg_attr(feature = "clap", arg(long = "static"))]
    #[serde(rename = "static")]
    pub fixed: bool,
    /// Refuse a model that is right for some sizes only, because PyTorch captured decisions that depend on them. By default the file and
    /// the notes state the conditions
    #[cfg_attr(feature = "clap", arg(long))]
    pub strict_shapes: bool,
    /// Name the next input, or the given one
    #[cfg_attr(feature = "clap", arg(long = "input-name", value_name = "[OLD=]NEW"))]
    #[serde(deserialize_with = "read::texts")]
    pub input_names: Vec<Rename>,
    /// Name the next output, or the given one
    #[cfg_attr(feature = "clap", arg(long = "output-name", value_name = "[OLD=]NEW"))]
    #[serde(deserialize_with = "read::texts")]
    pub output_names: Vec<Rename>,
    /// Turn buffers that the model writes to into inputs, and the new values of buffers and inputs into outputs
    #[cfg_attr(feature = "clap", arg(long))]
    pub keep_mutations: bool,
    /// List the assertions of the model that are dropped, because ONNX has none
    #[cfg_attr(feature = "clap", arg(long))]
    pub keep_assertions: bool,
    /// Keep NaN in maxima, minima, max pools and top k as PyTorch does, which takes a second pass over their inputs
    #[cfg_attr(feature = "clap", arg(long))]
    pub exact_nan: bool,
    /// Show which branches the rule of this operator took, and the resulting nodes
    #[cfg_attr(feature = "clap", arg(long, value_name = "aten::OP"))]
    pub trace: Vec<String>,
    /// What happens to operators that have no rule
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "WHAT", default_value_t = Fallback::None))]
    pub fallback: Fallback,
    /// Receives the lines of `trace`; without it they are dropped.
    #[cfg_attr(feature = "clap", arg(skip))]
    #[serde(skip)]
    pub on_trace: Option<fn(&str)>,
}

/// The options of a conversion.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ConvertOptions {
    /// The target of the model. With [`ExternalData::Auto`], weights are stored as in the source.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub output: OutputOptions,
    /// Make a symbolic size constant, given by its name or as an input and its axis
    #[cfg_attr(feature = "clap", arg(long = "dim", value_name = "batch=1|x:0=1"))]
    #[serde(deserialize_with = "read::texts")]
    pub dims: Vec<DimName>,
    /// Read external data also through symbolic links that lead out of the model's folder, as in a cache of Hugging Face
    #[cfg_attr(feature = "clap", arg(long))]
    pub follow_links: bool,
    /// The ranges of values in runs of the model (JSON): for `--quantize static`, and for `--precision float16`, where values that are too large stay float32
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub ranges: Option<PathBuf>,
    /// Replace calls of local functions by their bodies
    #[cfg_attr(feature = "clap", arg(long))]
    pub inline_functions: bool,
    /// The optimization level: 0 changes only what the opset requires, 1 runs all passes and drops unused values
    #[cfg_attr(feature = "clap", arg(short = 'O', value_name = "LEVEL", default_value_t = 0, value_parser = levels()))]
    pub opt_level: u8,
}

/// What happens to operators that have no rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Fallback {
    /// An error that lists them
    #[default]
    None,
    /// They become nodes of the domain org.pytorch.aten, for runtimes that have kernels for them
    Aten,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            output: OutputOptions::default(),
            source: SourceOptions::default(),
            opt_level: 1,
            provenance: Provenance::Compact,
            adapters: None,
            functions: Functions::None,
            dims: Vec::new(),
            fixed: false,
            strict_shapes: false,
            input_names: Vec::new(),
            output_names: Vec::new(),
            keep_mutations: false,
            keep_assertions: false,
            exact_nan: false,
            trace: Vec::new(),
            fallback: Fallback::None,
            on_trace: None,
        }
    }
}

impl From<OutputOptions> for Options {
    fn from(output: OutputOptions) -> Options {
        Options { output, ..Options::default() }
    }
}

impl From<OutputOptions> for ConvertOptions {
    fn from(output: OutputOptions) -> ConvertOptions {
        ConvertOptions { output, ..ConvertOptions::default() }
    }
}

impl OutputOptions {
    /// The options for an opset.
    pub fn for_opset(opset: u32) -> OutputOptions {
        OutputOptions { opset: Some(opset), ..OutputOptions::default() }
    }

    /// The options for an opset and a runtime, by these rules.
    pub fn of_rules(rules: &Rules, opset: u32, target: Option<&'static Target>) -> OutputOptions {
        OutputOptions { rules: rules.clone(), target, ..OutputOptions::for_opset(opset) }
    }

    /// The opset to write: the requested one, the default one, or that which [`Target::opset`] chooses.
    ///
    /// # Errors
    /// The opset is not supported at all, or not by the target.
    pub fn opset(&self) -> Result<u32> {
        if let Some(opset) = self.opset {
            check_opset(opset)?;
        }
        match self.target {
            Some(target) => target.opset(self.opset),
            None => Ok(self.opset.unwrap_or(DEFAULT_OPSET)),
        }
    }

    /// The opset to write, after checking that there are rules and that the target supports the requested IR version.
    ///
    /// # Errors
    /// One of them fails.
    pub fn checked_opset(&self) -> Result<u32> {
        if self.rules.is_empty() {
            let error = Error::unsupported("these options have no rules");
            return Err(error.help("set `output.rules` to `aten2onnx::rules()`, or start from `aten2onnx::Exporter`"));
        }
        let opset = self.opset()?;
        if let Some(target) = self.target {
            target.check_ir(self.ir, opset)?;
        }
        Ok(opset)
    }

    /// The passes of a level, given how weights are stored.
    pub fn passes(&self, opt_level: u8) -> Passes {
        Passes::of(opt_level, self.external_data)
    }

    /// Runs the passes of a level over a graph, and quantizes its weights if that is asked for, and what else if the ranges of values are known.
    /// Returns what to know of it.
    ///
    /// # Errors
    /// Options for the weights that contradict each other, or that the model cannot have.
    pub fn run_passes(&self, opt_level: u8, builder: &mut Builder, ranges: Option<ValueRanges>) -> Result<Vec<String>> {
        let passes = self.passes(opt_level);
        passes.leave_unfused(builder, &self.no_fuse)?;
        passes.run(builder);
        match self.quantize.request(self.external_data, self.precision.precision, ranges)? {
            Some(wanted) => passes.quantize(builder, &wanted),
            None => Ok(Vec::new()),
        }
    }
}

/// Checks that the opset is supported.
///
/// # Errors
/// The opset is not supported.
pub fn check_opset(opset: u32) -> Result<()> {
    let message = match opset {
        _ if opset < MIN_OPSET => format!("opset {opset} is too old"),
        _ if opset > MAX_OPSET => format!("opset {opset} is not supported yet"),
        _ => return Ok(()),
    };
    Err(Error::unsupported(message).help(supported()))
}

fn supported() -> String {
    format!("supported opsets: {MIN_OPSET}–{MAX_OPSET} (default: {DEFAULT_OPSET})")
}

/// Parses an opset, with advice for unsupported ones.
///
/// # Errors
/// It is no opset that is supported.
pub fn parse_opset(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(opset) => check_opset(opset).map(|()| opset).map_err(|error| format!("{}; {}", error.message, supported())),
        Err(_) => Err(format!("not a number; {}", supported())),
    }
}

/// The values of `-O`.
#[cfg(feature = "clap")]
fn levels() -> clap::builder::RangedI64ValueParser<u8> {
    clap::value_parser!(u8).range(0..=1)
}

/// Reads a number of bytes: `1000`, `500MB`, `1.5 GiB`.
///
/// # Errors
/// It is none.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, f64); 7] =
        [("kib", 1024.0), ("mib", 1048576.0), ("gib", 1073741824.0), ("kb", 1e3), ("mb", 1e6), ("gb", 1e9), ("b", 1.0)];
    let lower = text.trim().to_lowercase();
    let unit = UNITS.iter().find_map(|(unit, size)| Some((lower.strip_suffix(unit)?, *size)));
    let (number, size) = unit.unwrap_or((&lower, 1.0));
    let count = number.trim().parse::<f64>().ok().map(|count| count * size);
    let count = count.filter(|count| *count >= 1.0 && *count < u64::MAX as f64);
    count.map(|count| count as u64).ok_or_else(|| "write a size such as `500MB` or `1GiB`".to_owned())
}

/// Parses a dtype: `float16` or `f16`.
///
/// # Errors
/// There is no such dtype.
pub fn parse_dtype(text: &str) -> Result<Dtype, String> {
    inputs::dtype(text).ok_or_else(|| format!("`{text}` is no dtype: write `float32` or `f32`"))
}

/// A dtype that `torch.set_default_dtype` takes.
fn parse_default_dtype(text: &str) -> Result<Dtype, String> {
    let name = text.strip_prefix("torch.").unwrap_or(text);
    let floats = [Dtype::Float16, Dtype::Bfloat16, Dtype::Float32, Dtype::Float64];
    let found = inputs::dtype(name).filter(|dtype| floats.contains(dtype));
    found.ok_or_else(|| "expected float32, float64, float16 or bfloat16".to_owned())
}

/// Finds a runtime by name, with advice for unknown ones.
///
/// # Errors
/// No runtime has this name.
pub fn find_target(name: &str) -> Result<&'static Target, String> {
    targets::find(name).map_err(|error| match &error.help {
        Some(help) => format!("{}; {help}", error.message),
        None => error.message.clone(),
    })
}

/// Reads options from JSON, as the Python package passes them: `{"output": {"opset": 13}, "opt_level": 1}`.
///
/// # Errors
/// The invalid option, and what was expected.
pub fn from_json<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, String> {
    serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(json)).map_err(|error| {
        let path = error.path().to_string();
        // The position in the text does not help users of dictionaries.
        let message = error.inner().to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        format!("{}: {message}", path.strip_prefix("output.").unwrap_or(&path))
    })
}

/// Deserializes options that are strings on the command line.
mod read {
    use std::fmt::Display;
    use std::str::FromStr;

    use aten2onnx_core::dtype::Dtype;
    use aten2onnx_onnx::targets::Target;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer};

    pub(super) fn target<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'static Target>, D::Error> {
        let name = Option::<String>::deserialize(from)?;
        name.map(|name| super::find_target(&name).map_err(Error::custom)).transpose()
    }

    pub(super) fn default_dtype<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Dtype>, D::Error> {
        let name = Option::<String>::deserialize(from)?;
        name.map(|name| super::parse_default_dtype(&name).map_err(Error::custom)).transpose()
    }

    pub(super) fn some_dtype<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Dtype>, D::Error> {
        let name = Option::<String>::deserialize(from)?;
        name.map(|name| super::parse_dtype(&name).map_err(Error::custom)).transpose()
    }

    pub(super) fn some_text<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(
        from: D,
    ) -> Result<Option<T>, D::Error> {
        Option::<String>::deserialize(from)?.map(|text| parsed(&text)).transpose()
    }

    pub(super) fn text<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(from: D) -> Result<T, D::Error> {
        parsed(&String::deserialize(from)?)
    }

    pub(super) fn texts<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(from: D) -> Result<Vec<T>, D::Error> {
        Vec::<String>::deserialize(from)?.iter().map(|text| parsed(text)).collect()
    }

    fn parsed<T: FromStr<Err: Display>, E: Error>(text: &str) -> Result<T, E> {
        text.parse().map_err(|expected| E::custom(format!("invalid value `{text}`: expected {expected}")))
    }
}
