//! The exporter for use from Rust.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::compiled::with_rules;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_export::{export_program, many, save};
use aten2onnx_onnx::{Exported, Summary};
use aten2onnx_onnx::{ExternalData, Functions, Ir, Provenance};
use aten2onnx_options::{DimName, Fallback, Options, Precision, Rename, Text, WhichDim};
use aten2onnx_rules::CompiledRules;

/// Exports models with the given options.
///
/// ```
/// use aten2onnx::Exporter;
/// use aten2onnx::ExternalData;
///
/// # let model = "tests/data/models/mobilenet_like.pt2";
/// # let folder = tempfile::tempdir()?;
/// let exporter = Exporter::new().opset(17).external_data(ExternalData::Always);
/// for name in ["first", "second"] {
///     exporter.export(model, folder.path().join(format!("{name}.onnx")))?;
/// }
/// assert!(folder.path().join("second.onnx.data").exists());
/// # Ok::<(), aten2onnx::error::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Exporter {
    options: Options,
}

impl Exporter {
    /// An exporter with the default options.
    pub fn new() -> Exporter {
        Exporter::from(Options::default())
    }

    /// The opset of the default domain.
    #[must_use]
    pub fn opset(mut self, opset: u32) -> Exporter {
        self.options.output.opset = Some(opset);
        self
    }

    /// The runtime that the model is for, by name (`tensorrt-8.6`). It determines the opset, unless [`Exporter::opset`]
    /// sets one that it supports.
    ///
    /// # Errors
    /// No runtime has this name.
    pub fn target(mut self, name: &str) -> Result<Exporter> {
        self.options.output.target = Some(aten2onnx_onnx::targets::find(name)?);
        Ok(self)
    }

    /// The IR version; by default the lowest that the model requires.
    #[must_use]
    pub fn ir(mut self, ir: Ir) -> Exporter {
        self.options.output.ir = ir;
        self
    }

    /// Where weights are stored.
    #[must_use]
    pub fn external_data(mut self, external_data: ExternalData) -> Exporter {
        self.options.output.external_data = external_data;
        self
    }

    /// The program to export, of a `.pt2` package that has several.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>) -> Exporter {
        self.options.source.model = Some(name.into());
        self
    }

    /// How the graph is optimized: 0 leaves it as the rules build it, 1 (the default) runs all passes.
    #[must_use]
    pub fn opt_level(mut self, level: u8) -> Exporter {
        self.options.opt_level = level;
        self
    }

    /// How much nodes record about their origin.
    #[must_use]
    pub fn provenance(mut self, provenance: Provenance) -> Exporter {
        self.options.provenance = provenance;
        self
    }

    /// Keeps weights with this in their names, such as `lora_`, as inputs with default values, which an adapter can replace:
    /// [`adapters::write`](aten2onnx_export::adapters::write).
    #[must_use]
    pub fn adapters(mut self, pattern: impl Into<String>) -> Exporter {
        self.options.adapters = Some(pattern.into());
        self
    }

    /// Which modules become ONNX functions.
    #[must_use]
    pub fn functions(mut self, functions: Functions) -> Exporter {
        self.options.functions = functions;
        self
    }

    /// A name for a symbolic dimension: `.dim("s77", "batch")`.
    #[must_use]
    pub fn dim(mut self, symbol: impl Into<String>, name: impl Into<String>) -> Exporter {
        self.options.dims.push(DimName { which: WhichDim::Symbol(symbol.into()), name: name.into() });
        self
    }

    /// Makes a symbolic size constant: `.size("s77", 1)`.
    #[must_use]
    pub fn size(mut self, symbol: impl Into<String>, size: u32) -> Exporter {
        self.options.dims.push(DimName { which: WhichDim::Symbol(symbol.into()), name: size.to_string() });
        self
    }

    /// Makes all symbolic sizes those of the example that the model was exported with, except those given with [`Exporter::size`].
    #[must_use]
    pub fn fixed(mut self, fixed: bool) -> Exporter {
        self.options.fixed = fixed;
        self
    }

    /// Computes in half precision what can be, with weights of it.
    #[must_use]
    pub fn precision(mut self, precision: Precision) -> Exporter {
        self.options.output.precision.precision = Some(precision);
        self
    }

    /// Adds an entry to the model's metadata, which applications read.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Exporter {
        self.options.output.description.metadata.push((key.into(), Text::Given(value.into())));
        self
    }

    /// Refuses a program that is right under conditions on its sizes only. By default such conditions are told.
    #[must_use]
    pub fn strict_shapes(mut self, strict: bool) -> Exporter {
        self.options.strict_shapes = strict;
        self
    }

    /// A name for the next input, in order.
    #[must_use]
    pub fn input_name(mut self, name: impl Into<String>) -> Exporter {
        self.options.input_names.push(Rename { old: None, new: name.into() });
        self
    }

    /// A name for the next output, in order.
    #[must_use]
    pub fn output_name(mut self, name: impl Into<String>) -> Exporter {
        self.options.output_names.push(Rename { old: None, new: name.into() });
        self
    }

    /// Turns buffers that the model writes to into inputs, and the new values of buffers and inputs into outputs.
    #[must_use]
    pub fn keep_mutations(mut self) -> Exporter {
        self.options.keep_mutations = true;
        self
    }

    /// Lists the assertions of the model that are dropped in the notes.
    #[must_use]
    pub fn keep_assertions(mut self) -> Exporter {
        self.options.keep_assertions = true;
        self
    }

    /// Keeps NaN in maxima, minima, max pools and top k as PyTorch does, which takes a second pass over their inputs.
    #[must_use]
    pub fn exact_nan(mut self) -> Exporter {
        self.options.exact_nan = true;
        self
    }

    /// Adds rules from mapping files, or all files of a folder: they define custom operators and override built-in
    /// rules. A second call replaces the first.
    ///
    /// # Errors
    /// A file that cannot be read, or all diagnostics of the checker.
    ///
    /// ```
    /// # use aten2onnx::Exporter;
    /// # let model = "tests/data/models/mobilenet_like.pt2";
    /// # let folder = tempfile::tempdir()?;
    /// let rules = folder.path().join("mine.opmap");
    /// std::fs::write(&rules, "map aten::hardswish(Tensor self) -> Tensor = self * HardSigmoid(self, alpha_f = 1 / 6.0)")?;
    ///
    /// let exported = Exporter::new().opt_level(0).mappings([&rules])?.read(model)?;
    /// let mut count = 0;
    /// exported.graph.body.visit(&mut |node| count += usize::from(node.op == "HardSwish"));
    /// assert_eq!(count, 0);
    ///
    /// let wrong = "map aten::hardswish(Tensor self) -> Tensor = HardSwosh(self)";
    /// std::fs::write(&rules, wrong)?;
    /// let error = Exporter::new().mappings([&rules]).unwrap_err();
    /// assert!(error.message.contains("did you mean `HardSwish`?"));
    /// # Ok::<(), aten2onnx::error::Error>(())
    /// ```
    pub fn mappings<P: AsRef<Path>>(mut self, paths: impl IntoIterator<Item = P>) -> Result<Exporter> {
        let paths: Vec<PathBuf> = paths.into_iter().map(|path| path.as_ref().to_owned()).collect();
        self.options.output.rules.load(&paths)?;
        Ok(self)
    }

    /// Adds rules that another crate has compiled: see `docs/custom-operators.md`.
    #[must_use]
    pub fn rules(mut self, set: &'static CompiledRules) -> Exporter {
        self.options.output.rules.add(set);
        self
    }

    /// What happens to operators without a rule.
    #[must_use]
    pub fn fallback(mut self, fallback: Fallback) -> Exporter {
        self.options.fallback = fallback;
        self
    }

    /// Describes an input of a TorchScript file that does not record it: `.input("x:f32[batch,3]")`, `.input("n=4")`.
    ///
    /// # Errors
    /// The text is no description.
    pub fn input(mut self, text: &str) -> Result<Exporter> {
        self.options.source.inputs.push(text.parse().map_err(Error::unsupported)?);
        Ok(self)
    }

    /// Makes a size of a recorded input of a TorchScript file symbolic: `.dynamic("x.0=batch")`.
    ///
    /// # Errors
    /// The text names no size.
    pub fn dynamic(mut self, text: &str) -> Result<Exporter> {
        self.options.source.dynamic.push(text.parse().map_err(Error::unsupported)?);
        Ok(self)
    }

    /// The method of a TorchScript file; by default `forward`.
    #[must_use]
    pub fn method(mut self, name: impl Into<String>) -> Exporter {
        self.options.source.method = Some(name.into());
        self
    }

    /// What `torch.get_default_dtype()` was for a TorchScript file, which does not say it; by default float32.
    #[must_use]
    pub fn default_dtype(mut self, dtype: Dtype) -> Exporter {
        self.options.source.default_dtype = Some(dtype);
        self
    }

    /// Reads a `.pt2` file or a TorchScript file, and builds the model without writing it. Weights are not read.
    pub fn read(&self, source: impl AsRef<Path>) -> Result<Exported> {
        let program = aten2onnx_frontend::read(source.as_ref(), &self.options.source, &self.options.output.rules)?;
        export_program(program, &self.options)
    }

    /// Exports a `.pt2` file or a TorchScript file to an `.onnx` file.
    pub fn export(&self, source: impl AsRef<Path>, destination: impl AsRef<Path>) -> Result<Summary> {
        save(Instant::now(), || self.read(source), destination.as_ref())
    }

    /// Exports several files into a folder, each to `NAME.onnx`, with one file for the weights of all: equal ones are written once.
    ///
    /// ```
    /// use aten2onnx::Exporter;
    ///
    /// # let model = "tests/data/models/mobilenet_like.pt2";
    /// # let folder = tempfile::tempdir()?;
    /// let summaries = Exporter::new().export_many([("encoder", model), ("decoder", model)], folder.path())?;
    /// let weights = &summaries[0].written;
    /// assert!(weights.data.as_ref().is_some_and(|(_, bytes)| *bytes < 2 * weights.weights));
    /// # assert!(folder.path().join("encoder.onnx").exists() && folder.path().join("decoder.onnx").exists());
    /// # Ok::<(), aten2onnx::error::Error>(())
    /// ```
    pub fn export_many<N: Into<String>, P: AsRef<Path>>(
        &self,
        sources: impl IntoIterator<Item = (N, P)>,
        folder: impl AsRef<Path>,
    ) -> Result<Vec<Summary>> {
        let start = Instant::now();
        let read = |(name, source): (N, P)| {
            let options = &self.options;
            Ok((name.into(), aten2onnx_frontend::read(source.as_ref(), &options.source, &options.output.rules)?))
        };
        let programs = sources.into_iter().map(read).collect::<Result<Vec<_>>>()?;
        let models = many::export_programs(programs, &self.options)?;
        let pairs: Vec<_> = models.iter().map(many::Named::pair).collect();
        let written = many::write_folder(&pairs, folder.as_ref(), &mut |_, _| Ok(()))?;
        Ok(many::summaries(&models, written, start))
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }
}

impl Default for Exporter {
    fn default() -> Exporter {
        Exporter::new()
    }
}

/// Options without rules get those of this build.
impl From<Options> for Exporter {
    fn from(mut options: Options) -> Exporter {
        with_rules(&mut options.output);
        Exporter { options }
    }
}
