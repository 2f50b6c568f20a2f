//! The schema snapshots and the facts beside them. All knowledge of PyTorch's and ONNX's operators comes from `mappings/`.
//!
//! The rule compiler proves rules against them. The tables that programs have of them are written by `emit`, for build scripts: these need no rules,
//! so the crates with the tables are built beside the rule compiler.

pub mod aten;
mod aten_parse;
pub mod avoid;
pub mod build_script;
pub mod dtypes;
pub mod emit;
pub mod facts;
pub mod kernels;
pub mod nearest;
pub mod onnx;
pub mod onnx_diff;
mod onnx_parse;
mod onnx_print;
pub mod operators;
pub mod place;
pub mod targets;
pub mod targets_text;
mod text;
pub mod writes;

use std::path::Path;

use aten2onnx_operators::plan::Difference;
pub use onnx_print::short_types;

/// The snapshots of PyTorch's operators and their namespaces.
const ATEN: [(&str, &str); 5] = [
    ("aten.txt", "aten"),
    ("prims.txt", "prims"),
    ("quantized_decomposed.txt", "quantized_decomposed"),
    ("torch.onnx.txt", "onnx"),
    ("torchvision.txt", "torchvision"),
];

/// The domains with a snapshot, besides ONNX's own. Their version is 1.
pub const DOMAINS: [&str; 1] = ["com.microsoft"];

/// The file name of the snapshot for these schemas. None if they are not all of one known namespace.
pub fn snapshot_of(schemas: &aten::AtenSchemas) -> Option<&'static str> {
    let namespace = |name: &str| name.split_once("::").map(|(namespace, _)| namespace.to_owned());
    let first = namespace(schemas.names().next()?)?;
    let alone = schemas.names().all(|name| namespace(name).as_ref() == Some(&first));
    let (file, _) = ATEN.into_iter().find(|(_, namespace)| alone && *namespace == first)?;
    Some(file)
}

/// The file name of the snapshot of a namespace.
pub fn snapshot_file(namespace: &str) -> Option<&'static str> {
    ATEN.into_iter().find(|(_, known)| *known == namespace).map(|(file, _)| file)
}

/// All of it.
#[derive(Debug, Clone, Default)]
pub struct Schemas {
    /// `schemas/onnx.txt`, and `schemas/com.microsoft.txt` with the domain in the names
    pub onnx: onnx::OnnxSchemas,
    /// `schemas/aten.txt`, `prims.txt`, `quantized_decomposed.txt`, `torch.onnx.txt`, `torchvision.txt`
    pub aten: aten::AtenSchemas,
    /// `opsets.toml`
    pub opsets: facts::Opsets,
    /// `operators.toml`
    pub operators: operators::Operators,
    /// `dtypes.toml`
    pub dtypes: facts::Dtypes,
    /// `ignored_arguments.toml`
    pub ignored: facts::IgnoredArguments,
    /// `schemas/promotion.txt`
    pub promotion: facts::Promotion,
    /// `schemas/kernels.txt`
    pub kernels: kernels::Kernels,
    /// `targets/onnxruntime.toml`
    pub onnxruntime: targets::Target,
    /// The other files of `targets/`.
    pub runtimes: Vec<targets::Runtime>,
}

impl Schemas {
    /// Reads everything under `mappings/`. An error names the file, and the line where it can be told.
    pub fn load(mappings_dir: &Path) -> Result<Schemas, String> {
        Schemas::load_with(mappings_dir, &|_| None)
    }

    /// The same with texts in place of some files, by their paths under `mappings/`.
    pub fn load_with(mappings_dir: &Path, replaced: &dyn Fn(&str) -> Option<String>) -> Result<Schemas, String> {
        let targets = mappings_dir.join("targets");
        let entries = std::fs::read_dir(&targets).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let entries = entries.map_err(|e| format!("{}: {e}", targets.display()))?;
        let mut names: Vec<String> =
            entries.iter().map(|entry| format!("targets/{}", entry.file_name().to_string_lossy())).collect();
        names.sort();
        let read = |name: &str| match replaced(name) {
            Some(text) => Ok(text),
            None => std::fs::read_to_string(mappings_dir.join(name)).map_err(|e| format!("{name}: {e}")),
        };
        let schemas = Schemas::from_files(&mut names.iter().map(String::as_str), &read);
        schemas.map_err(|e| format!("{}/{e}", mappings_dir.display()))
    }

    /// The same from texts that `read` finds by their paths under `mappings/`, such as `schemas/onnx.txt`. `names` are the files
    /// that there are; those of runtimes are found among them.
    pub fn from_files(
        names: &mut dyn Iterator<Item = &str>,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Schemas, String> {
        let aten: Vec<String> =
            ATEN.iter().map(|(name, _)| read(&format!("schemas/{name}"))).collect::<Result<_, _>>()?;
        let mut onnx = parse(read, "schemas/onnx.txt", onnx::OnnxSchemas::parse)?;
        for domain in DOMAINS {
            onnx.add(parse(read, &format!("schemas/{domain}.txt"), onnx::OnnxSchemas::parse)?);
        }
        let (mut forms, mut runtimes, mut files) = (Vec::new(), Vec::new(), Vec::new());
        for name in names {
            if avoid::is_forms(name) {
                forms.push((name.to_owned(), parse(read, name, |text| avoid::Forms::parse(text, &onnx))?));
            } else if targets::is_runtime(name) {
                runtimes.push(parse(read, name, targets::Runtime::parse)?);
                files.push(name.to_owned());
            }
        }
        for (name, forms) in forms {
            let added = targets::add_forms(&mut runtimes, forms);
            added.map_err(|e| place::placed(&name, &read(&name).unwrap_or_default(), &e))?;
        }
        let schemas = Schemas {
            onnx,
            aten: aten::AtenSchemas::index(aten.iter().map(String::as_str))?,
            opsets: parse(read, "opsets.toml", facts::Opsets::parse)?,
            operators: parse(read, "operators.toml", operators::Operators::parse)?,
            dtypes: parse(read, "dtypes.toml", facts::Dtypes::parse)?,
            ignored: parse(read, "ignored_arguments.toml", facts::IgnoredArguments::parse)?,
            promotion: parse(read, "schemas/promotion.txt", facts::Promotion::parse)?,
            kernels: parse(read, "schemas/kernels.txt", kernels::Kernels::parse)?,
            onnxruntime: parse(read, targets::KERNELS, targets::Target::parse)?,
            runtimes,
        };
        let faulty = |name: &str, e: String| place::placed(name, &read(name).unwrap_or_default(), &e);
        for (runtime, name) in schemas.runtimes.iter().zip(&files) {
            let lacks = runtime.release.iter().flat_map(|r| r.lacks.iter().chain(r.dtypes.iter().map(|of| &of.op)));
            if let Some(op) = lacks.into_iter().find(|op| schemas.onnx.versions(op).is_empty()) {
                return Err(faulty(name, format!("there is no operator `{op}`")));
            }
        }
        schemas.opsets.check(&schemas.onnx).map_err(|e| faulty("opsets.toml", e))?;
        schemas.operators.check(&schemas.onnx).map_err(|e| faulty("operators.toml", e))?;
        Ok(schemas)
    }

    /// How a version of an operator differs from the one before: as [`onnx::OnnxSchemas::change`], but the changes of meaning in
    /// `opsets.toml` count as changes of shape.
    pub fn change(&self, op: &str, since: u32) -> Option<onnx::Change> {
        self.opsets.change(&self.onnx, op, since)
    }

    /// How a version differs from the one before. `is_same`: whether a `same` states that calls mean the same.
    pub fn difference(&self, op: &str, since: u32, is_same: bool) -> Difference {
        match self.change(op, since) {
            None | Some(onnx::Change::Appeared) => Difference::Appeared,
            Some(onnx::Change::Types) => Difference::Types,
            Some(onnx::Change::Shape) if is_same => Difference::Same,
            Some(onnx::Change::Shape) => Difference::Changed,
        }
    }

    /// Whether calls in the form of the previous version mean the same in this version: it only adds values, types, optional
    /// inputs and outputs, and attributes with defaults.
    pub fn extends(&self, op: &str, since: u32) -> bool {
        let is_meaning =
            self.opsets.meaning(op, since).is_some_and(|change| change.kind == facts::MeaningKind::Meaning);
        !is_meaning && self.onnx.extends(op, since)
    }

    /// Whether this version added the operator or changed its shape or meaning.
    pub fn shape_change(&self, op: &str, since: u32) -> bool {
        self.change(op, since).is_some_and(|change| change != onnx::Change::Types)
    }
}

fn parse<T>(
    read: &dyn Fn(&str) -> Result<String, String>,
    name: &str,
    parser: impl Fn(&str) -> Result<T, String>,
) -> Result<T, String> {
    let text = read(name)?;
    parser(&text).map_err(|e| place::placed(name, &text, &e))
}

/// The code blocks of the README are compiled as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
