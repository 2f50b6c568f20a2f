//! Parts of ONNX models, changed models, and several as one.

use std::path::PathBuf;

use aten2onnx::ExternalData;
use aten2onnx::convert::Source;
use aten2onnx::error::Result;
use aten2onnx::options::{
    Description, DimName, InputSpec, Rename, find_target, from_json, parse_bytes, parse_dtype, parse_opset,
};
use aten2onnx::weights::Links;
use aten2onnx_archive::wrong;
use aten2onnx_pipelines::Made;
use aten2onnx_pipelines::{diff, edit, extract, join, split};
use aten2onnx_report::differences::{self, Differences};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::errors::argument;
use crate::model::sizes;
use crate::support::Rules;
use crate::work;

/// A model of anybody's: its path, or a name for it and its bytes.
type Given = (PathBuf, Option<Vec<u8>>);

/// A model that is made of others and ready to be written.
#[pyclass(module = "aten2onnx._native")]
pub struct MadeModel {
    made: Made,
}

#[pymethods]
impl MadeModel {
    /// Writes the model to a file, and perhaps its weights to another: their sizes.
    #[pyo3(signature = (path, progress=None))]
    fn save<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let written =
            work::run(py, progress, |meter| self.made.write_file(&path, &mut |done, total| meter.report(done, total)))?;
        sizes(py, &path, &written)
    }

    /// The model in one piece.
    fn serialized<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.made.external_data = ExternalData::Never;
        let bytes = work::run(py, None, |meter| {
            let mut bytes = Vec::new();
            self.made.write_to(&mut bytes, &mut |done, total| meter.report(done, total))?;
            Ok(bytes)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Things worth telling the user.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.made.notes.clone()
    }
}

/// What all that write a model share.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Written {
    external_data: ExternalData,
    follow_links: bool,
    description: Description,
}

impl Written {
    fn links(&self) -> Links {
        Links::of(self.follow_links)
    }

    fn described(&self, mut made: Made) -> Result<MadeModel> {
        self.description.apply(&mut made.model.proto)?;
        Ok(MadeModel { made })
    }
}

fn open((path, bytes): Given, links: Links) -> Result<Source> {
    let source = match bytes {
        Some(bytes) => Source::from_bytes(&path.display().to_string(), bytes)?,
        None => Source::open(&path).map_err(|error| wrong::no_model(&path, error))?,
    };
    Ok(source.with_links(links))
}

fn options<T: DeserializeOwned>(json: &str) -> PyResult<T> {
    from_json(json).map_err(|error| argument(&error))
}

/// Reads an option that is a text on the command line.
fn parsed<T>(option: &str, text: &str, read: impl Fn(&str) -> std::result::Result<T, String>) -> PyResult<T> {
    read(text).map_err(|error| argument(&format!("{option}: `{text}`: {error}")))
}

/// Types of values by name, such as `f32[batch,3]`. Names may have any letters.
fn types(given: &[(String, String)]) -> PyResult<Vec<InputSpec>> {
    let spec = |(name, text): &(String, String)| {
        let spec: InputSpec = parsed("types", text, |text| format!("x:{text}").parse())?;
        Ok(InputSpec { name: name.clone(), ..spec })
    };
    given.iter().map(spec).collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Extract {
    from: Vec<String>,
    to: Vec<String>,
    types: Vec<(String, String)>,
    written: Written,
}

/// A part of a model.
#[pyfunction]
#[pyo3(name = "extract")]
pub fn extracted(py: Python<'_>, model: Given, rules: &Rules, json: &str) -> PyResult<MadeModel> {
    let asked: Extract = options(json)?;
    let wanted = extract::Options {
        from: asked.from,
        to: asked.to,
        types: types(&asked.types)?,
        external_data: asked.written.external_data,
    };
    work::run(py, None, |_| {
        let made = extract::extract(&open(model, asked.written.links())?, &wanted, &rules.rules)?;
        asked.written.described(made)
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    input_names: Vec<(Option<String>, String)>,
    output_names: Vec<(Option<String>, String)>,
    dims: Vec<String>,
    drop_outputs: Vec<String>,
    input_types: Vec<(String, String)>,
    output_types: Vec<(String, String)>,
    to_inputs: Vec<String>,
    keep_defaults: bool,
    to_weights: Vec<(String, Option<Vec<f64>>)>,
    strip: Vec<String>,
    drop_metadata: Vec<String>,
    sort: bool,
    deduplicate: bool,
    written: Written,
}

/// A changed model.
#[pyfunction]
#[pyo3(name = "edit")]
pub fn edited(py: Python<'_>, model: Given, rules: &Rules, json: &str) -> PyResult<MadeModel> {
    let asked: Edit = options(json)?;
    let renames =
        |names: Vec<(Option<String>, String)>| names.into_iter().map(|(old, new)| Rename { old, new }).collect();
    let dtypes = |option: &str, given: &[(String, String)]| -> PyResult<Vec<_>> {
        given.iter().map(|(name, dtype)| Ok((name.clone(), parsed(option, dtype, parse_dtype)?))).collect()
    };
    let dims: PyResult<Vec<DimName>> = asked.dims.iter().map(|dim| parsed("dims", dim, |dim| dim.parse())).collect();
    let strip: PyResult<Vec<_>> = asked.strip.iter().map(|what| parsed("strip", what, |what| what.parse())).collect();
    let wanted = edit::Options {
        input_names: renames(asked.input_names),
        output_names: renames(asked.output_names),
        dims: dims?,
        drop_outputs: asked.drop_outputs,
        input_types: dtypes("input_types", &asked.input_types)?,
        output_types: dtypes("output_types", &asked.output_types)?,
        to_inputs: asked.to_inputs,
        keep_defaults: asked.keep_defaults,
        to_weights: asked.to_weights,
        strip: strip?,
        drop_metadata: asked.drop_metadata,
        sort: asked.sort,
        deduplicate: asked.deduplicate,
        external_data: asked.written.external_data,
    };
    work::run(py, None, |_| {
        let made = edit::edit(&open(model, asked.written.links())?, &wanted, &rules.rules)?;
        asked.written.described(made)
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Join {
    wires: Vec<(String, String)>,
    share: Vec<String>,
    keep: Vec<String>,
    opset: Option<u32>,
    written: Written,
}

/// Several models as one, each with its name.
#[pyfunction]
#[pyo3(name = "join")]
pub fn joined(
    py: Python<'_>,
    models: Vec<(String, PathBuf, Option<Vec<u8>>)>,
    rules: &Rules,
    json: &str,
) -> PyResult<MadeModel> {
    let asked: Join = options(json)?;
    let opset = asked.opset.map(|opset| parsed("opset_version", &opset.to_string(), parse_opset)).transpose()?;
    let wanted = join::Options {
        wires: asked.wires.into_iter().map(|(from, to)| join::Wire { from, to }).collect(),
        share: asked.share,
        keep: asked.keep,
        opset,
        external_data: asked.written.external_data,
    };
    work::run(py, None, |_| {
        let links = asked.written.links();
        let opened = models.into_iter().map(|(name, path, bytes)| Ok((name, open((path, bytes), links)?)));
        let sources = opened.collect::<Result<Vec<_>>>()?;
        asked.written.described(join::join(&sources, &wanted, &rules.rules)?)
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    at: Vec<String>,
    nodes: Option<usize>,
    bytes: Option<String>,
    parts: Option<usize>,
    target: Option<String>,
    types: Vec<(String, String)>,
    written: Written,
}

impl Parts {
    fn by(&self) -> PyResult<split::By> {
        Ok(match (self.nodes, &self.bytes, self.parts, &self.target) {
            (Some(count), ..) => split::By::Nodes(count),
            (_, Some(limit), ..) => split::By::Bytes(parsed("bytes", limit, parse_bytes)?),
            (_, _, Some(count), _) => split::By::Parts(count),
            (.., Some(target)) => split::By::Target(parsed("target", target, find_target)?),
            (None, None, None, None) => split::By::Places(self.at.clone()),
        })
    }
}

/// Writes the parts of a model into a folder: the notes.
#[pyfunction]
#[pyo3(name = "split", signature = (model, folder, name, rules, json, progress=None))]
pub fn parted(
    py: Python<'_>,
    model: Given,
    folder: PathBuf,
    name: &str,
    rules: &Rules,
    json: &str,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<String>> {
    let asked: Parts = options(json)?;
    let wanted =
        split::Options { by: asked.by()?, types: types(&asked.types)?, external_data: asked.written.external_data };
    work::run(py, progress, |meter| {
        let made = split::split(&open(model, asked.written.links())?, name, &wanted, &rules.rules)?;
        let is_new = !folder.exists();
        aten2onnx::export::many::make_folder(&folder)?;
        let written = made.write(&folder, name, &mut |done, total| meter.report(done, total));
        if is_new && written.is_err() {
            // It is empty then. What cannot be removed is not worth another error.
            let _ = std::fs::remove_dir(&folder);
        }
        written?;
        Ok(made.parts.into_iter().flat_map(|part| part.notes).collect())
    })
}

/// Titles with their lines.
type Sections = Vec<(&'static str, Vec<String>)>;

/// Two names of a value, the node, and how they were matched.
type Pairs = Vec<(String, String, String, &'static str)>;

/// What differs between two models: sections with their lines, and the values that are the same in both, each as their names, the node
/// and how they were matched.
#[pyfunction]
#[pyo3(name = "diff")]
pub fn difference(py: Python<'_>, first: Given, second: Given, follow_links: bool) -> PyResult<(Sections, Pairs)> {
    let links = Links::of(follow_links);
    let found = work::run(py, None, |_| diff::diff(&open(first, links)?, &open(second, links)?))?;
    let sections = found.sections.into_iter().map(|section| (section.title, section.lines)).collect();
    let by = |by: diff::Match| match by {
        diff::Match::Structure => "structure",
        diff::Match::Name => "name",
        diff::Match::Form => "form",
        diff::Match::Output => "output",
    };
    let values = found.values.into_iter().map(|pair| (pair.first, pair.second, pair.node, by(pair.by))).collect();
    Ok((sections, values))
}

/// A model with some of its values as outputs after its own.
#[pyfunction]
pub fn watched(py: Python<'_>, model: Given, names: Vec<String>, follow_links: bool) -> PyResult<MadeModel> {
    let made = work::run(py, None, |_| diff::watched(&open(model, Links::of(follow_links))?, &names))?;
    Ok(MadeModel { made })
}

/// Writes a page about what differs, which is given as JSON.
#[pyfunction]
pub fn difference_page(py: Python<'_>, json: &str, path: PathBuf) -> PyResult<()> {
    let found: Differences = options(json)?;
    work::run(py, None, |_| differences::save(&found, &path))
}
