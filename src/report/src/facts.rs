//! Everything that a page says of a model.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashSet;
use serde::Deserialize;

use super::made::Made;
use super::modules::Module;
use aten2onnx_convert::{Source, convert};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::Weight as Data;
use aten2onnx_export::export_program;
use aten2onnx_export::inspect::{Aim, Inspection, inspect, inspect_contents};
use aten2onnx_export::inspect_onnx::inspect_onnx;
use aten2onnx_frontend::Contents;
use aten2onnx_onnx::facts::DEFAULT_OPSET;
use aten2onnx_onnx::graph::Graph;
use aten2onnx_options::{ConvertOptions, Options, OutputOptions};
use aten2onnx_program::Program;
use aten2onnx_rules::Rules;

/// What a page shows.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Inputs, outputs, operators, opsets, notes.
    pub inspection: Inspection,
    /// The modules and their nodes.
    pub modules: Module,
    /// Each weight once, the largest first.
    pub weights: Vec<Weight>,
    /// The model at one opset, if it can be built.
    pub built: Option<Built>,
    /// Why the export failed.
    pub error: Option<String>,
    /// The results compared with PyTorch's.
    pub verification: Option<Verification>,
    /// The numbers on top.
    pub made: Made,
}

/// A weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weight {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub dtype: String,
    /// Its sizes.
    pub sizes: Vec<i64>,
    /// Its size in bytes.
    pub bytes: u64,
}

/// The nodes of a model by operator.
#[derive(Debug, Clone)]
pub struct Built {
    /// The opset.
    pub opset: u32,
    /// The IR version.
    pub ir_version: i64,
    /// As rules build it, without the passes.
    pub before: BTreeMap<String, usize>,
    /// After the passes; None if they are off.
    pub after: Option<BTreeMap<String, usize>>,
    /// What was replaced because the runtime lacks it or gets it wrong, and how often.
    pub replaced: BTreeMap<String, usize>,
}

/// The results in a runtime, compared with PyTorch's.
#[derive(Debug, Clone, Deserialize)]
pub struct Verification {
    /// The version of ONNX Runtime.
    pub onnxruntime: String,
    /// The outputs in order.
    pub outputs: Vec<Compared>,
}

/// An output.
#[derive(Debug, Clone, Deserialize)]
pub struct Compared {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub dtype: String,
    /// Whether it is equal within the tolerance.
    pub ok: bool,
    /// None if the tensors cannot be compared.
    pub largest_difference: Option<f64>,
    /// The largest value of PyTorch.
    pub largest_value: Option<f64>,
    /// The number of elements by the decimal exponent of their difference; `exact` for no difference.
    #[serde(default)]
    pub differences: BTreeMap<String, u64>,
    /// Why the tensors cannot be compared.
    pub problem: Option<String>,
}

impl Facts {
    /// What a file contains, for `inspect`.
    ///
    /// # Errors
    /// There is nothing to show.
    pub fn of_contents(contents: Contents, rules: &Rules, aim: Aim) -> Result<Facts> {
        let program = contents.program.as_ref().ok().cloned();
        let of_archive = contents.about.as_ref().map(|about| about.weights.clone());
        let inspection = inspect_contents(contents, rules, aim)?;
        let Some(program) = program else {
            let weights = listed(of_archive.iter().flatten());
            return Ok(Facts { weights, ..Facts::plain(inspection) });
        };
        let options = chosen(&inspection, rules, aim).map(Options::from);
        Ok(Facts::of(inspection, &program, options.as_ref()))
    }

    /// A program that is exported with options.
    ///
    /// # Errors
    /// The runtime does not support the opset.
    pub fn of_program(program: &Program, options: &Options) -> Result<Facts> {
        let output = &options.output;
        let opset = output.target.and(output.opset);
        let inspection = inspect(program, &output.rules, Aim { opset, target: output.target })?;
        Ok(Facts::of(inspection, program, Some(options)))
    }

    fn of(inspection: Inspection, program: &Program, options: Option<&Options>) -> Facts {
        let (built, graph) = options.and_then(|options| built(program, options)).unzip();
        let modules = Module::of_program(program, graph.as_ref());
        let weights = listed(program.weights.iter().map(|bound| &bound.weight));
        let made = built.as_ref().map(Built::made).unwrap_or_default();
        Facts { modules, weights, built, made, ..Facts::plain(inspection) }
    }

    /// An ONNX model.
    ///
    /// # Errors
    /// There is nothing to show.
    pub fn of_onnx(source: &Source, rules: &Rules, aim: Aim) -> Result<Facts> {
        let (inspection, graph) = inspect_onnx(source, rules, aim)?;
        let output = chosen(&inspection, rules, aim);
        let at = |output: &OutputOptions, opt_level| {
            let mut options = ConvertOptions::from(output.clone());
            options.opt_level = opt_level;
            convert(source, &options).ok()
        };
        let built = output.as_ref().and_then(|output| {
            let (plain, passed) = (at(output, 0)?, at(output, 1)?);
            Some(Built::of(&plain.graph, Some(&passed.graph), passed.ir_version()))
        });
        let made = Made { opset: own_opset(source), ir_version: Some(source.proto.ir_version()), ..Made::default() };
        let Some(graph) = graph else { return Ok(Facts { built, made, ..Facts::plain(inspection) }) };
        let weights = listed(graph.initializers.iter().filter_map(|value| graph.weight(*value)));
        Ok(Facts { modules: Module::of_onnx(&graph), weights, built, made, ..Facts::plain(inspection) })
    }

    /// A model that could not be read, and why.
    pub fn unread(name: &str, error: &str) -> Facts {
        let inspection = Inspection { source: name.to_owned(), ..Inspection::default() };
        Facts { error: Some(error.to_owned()), ..Facts::plain(inspection) }
    }

    fn plain(inspection: Inspection) -> Facts {
        Facts {
            inspection,
            modules: Module::default(),
            weights: Vec::new(),
            built: None,
            error: None,
            verification: None,
            made: Made::default(),
        }
    }

    /// Replaces the notes by those of the export.
    #[must_use]
    pub fn with_notes(mut self, notes: &[String]) -> Facts {
        self.inspection.notes = notes.to_vec();
        self
    }

    /// Adds a file of the model and its size in bytes.
    #[must_use]
    pub fn with_file(mut self, name: &str, bytes: u64) -> Facts {
        self.made.files.push((name.to_owned(), bytes));
        self
    }

    /// Adds the time of the export.
    #[must_use]
    pub fn with_time(mut self, seconds: f64) -> Facts {
        self.made.seconds = Some(seconds);
        self
    }

    /// Adds why the export failed.
    #[must_use]
    pub fn failed(self, error: &Error) -> Facts {
        Facts { error: Some(error.to_string()), made: Made::default(), ..self }
    }
}

/// The opset of the default domain that an ONNX model states.
fn own_opset(source: &Source) -> Option<u32> {
    let is_default = |domain: &str| matches!(domain, "" | "ai.onnx");
    let own = source.proto.opset_import.iter().find(|import| is_default(import.domain()))?;
    u32::try_from(own.version()).ok()
}

/// The options of the model that a page of `inspect` shows: at the requested opset, the default one, or the nearest possible one.
fn chosen(inspection: &Inspection, rules: &Rules, aim: Aim) -> Option<OutputOptions> {
    let possible = inspection.opsets.iter().filter(|verdict| verdict.ok).map(|verdict| verdict.opset);
    let opset = possible.min_by_key(|opset| opset.abs_diff(DEFAULT_OPSET))?;
    Some(OutputOptions::of_rules(rules, opset, aim.target))
}

/// The model with and without the passes; None if it cannot be built.
fn built(program: &Program, options: &Options) -> Option<(Built, Graph)> {
    let at = |opt_level| {
        let mut options = options.clone();
        options.opt_level = opt_level;
        options.trace.clear();
        export_program(program.clone(), &options).ok()
    };
    let plain = at(0)?;
    if options.opt_level == 0 {
        return Some((Built::of(&plain.graph, None, plain.ir_version()), plain.graph));
    }
    let passed = at(options.opt_level)?;
    Some((Built::of(&plain.graph, Some(&passed.graph), passed.ir_version()), passed.graph))
}

impl Built {
    fn made(&self) -> Made {
        Made { opset: Some(self.opset), ir_version: Some(self.ir_version), ..Made::default() }
    }

    fn of(plain: &Graph, passed: Option<&Graph>, ir_version: i64) -> Built {
        let replaced = passed.unwrap_or(plain).replaced.clone();
        Built { opset: plain.opset, ir_version, before: counts(plain), after: passed.map(counts), replaced }
    }
}

fn counts(graph: &Graph) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    graph.body.visit(&mut |node| *counts.entry(node.op.to_owned()).or_default() += 1);
    counts
}

/// Weights once each, the largest first.
fn listed<'a>(weights: impl Iterator<Item = &'a Arc<Data>>) -> Vec<Weight> {
    let mut seen = FxHashSet::default();
    let row = |weight: &Arc<Data>| Weight {
        name: weight.name.clone(),
        dtype: weight.dtype.to_string(),
        sizes: weight.sizes.clone(),
        bytes: weight.byte_len().unwrap_or(0),
    };
    let mut rows: Vec<Weight> = weights.filter(|weight| seen.insert(Arc::as_ptr(weight))).map(row).collect();
    rows.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    rows
}
