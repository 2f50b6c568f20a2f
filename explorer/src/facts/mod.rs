//! What the rules, their examples, the proof, runtimes and models say of each operator. Pages are made from it.

mod calls;
mod items;
mod level;
mod models;
mod run;
mod runtimes;
mod verified;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aten2onnx_core::error::{Error, Kind, Result};
use aten2onnx_opmap::Checked;
use aten2onnx_opmap::tree::{Example, Target};
use aten2onnx_rules::interpret::MappingFiles;

pub use calls::Calls;
pub use items::{ItemRef, Items};
pub use level::{Level, OfDtype, levels_by_dtype};
pub use models::Models;
pub use run::{Run, State};
pub use runtimes::{Use, newest};
pub use verified::Verified;

/// All of it.
#[derive(Debug)]
pub struct Facts {
    /// The folder of the project, whose documents become pages.
    pub project: PathBuf,
    /// Checked rules without errors.
    pub set: Arc<MappingFiles>,
    /// Where rules and helpers are in their files.
    pub items: Items,
    /// Which rules call what.
    pub calls: Calls,
    /// The proof, by overload and dtype.
    pub by_dtype: BTreeMap<String, Vec<OfDtype>>,
    /// How far random calls checked each rule.
    pub verified: BTreeMap<String, Verified>,
    /// Which models use which operators.
    pub models: Models,
    /// Each example at each opset, in the order of the program.
    pub runs: Vec<Run>,
    /// What each overload becomes for each runtime.
    pub uses: BTreeMap<String, Vec<Use>>,
}

impl Facts {
    /// Reads and runs everything under a folder of rules. `only` limits the examples that are run to those of some operators.
    ///
    /// # Errors
    /// Files that cannot be read, and rules with errors.
    pub fn gather(rules: &Path, only: &[String]) -> Result<Facts> {
        let set = Arc::new(MappingFiles::replacing(rules)?);
        let checked = set.checked();
        let program = &checked.program;
        let known = |name: &String| program.map(name).is_some() || !checked.schemas.onnx.versions(name).is_empty();
        if let Some(unknown) = only.iter().find(|name| !known(name)) {
            let error = Error::unsupported(format!("there is no rule for `{unknown}`"));
            return Err(error.help("name an overload (`aten::add.Tensor`) or an ONNX operator (`Resize`)"));
        }
        let project = rules.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let text = read(&project.join("docs/verified.json"))?;
        let runs = run::all(&set, only);
        Ok(Facts {
            items: Items::of(checked),
            calls: Calls::of(program),
            by_dtype: level::by_dtype(checked, &opsets(checked)),
            verified: verified::read(&text)?,
            models: Models::read()?,
            uses: runtimes::uses(&set, only),
            project: project.to_owned(),
            runs,
            set: Arc::clone(&set),
        })
    }

    /// The checked rules.
    pub fn checked(&self) -> &Checked {
        self.set.checked()
    }

    /// A file of the project.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(&self, path: &str) -> Result<String> {
        read(&self.project.join(path))
    }

    /// The opsets, oldest first.
    pub fn opsets(&self) -> Vec<u32> {
        opsets(self.checked())
    }

    /// The examples of an overload or an ONNX operator, with what they become.
    pub fn examples(&self, name: &str) -> Vec<(&Example, &Run)> {
        let all = self.checked().program.examples.iter().zip(&self.runs);
        all.filter(|(example, _)| target(example) == name).collect()
    }

    /// The level of an overload at each opset.
    pub fn levels(&self, overload: &str) -> Vec<Level> {
        level::levels(self, overload)
    }
}

fn opsets(checked: &Checked) -> Vec<u32> {
    let opsets = &checked.schemas.opsets;
    (opsets.min..=opsets.max).collect()
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|e| {
        let error = Error::new(Kind::Io, format!("{}: {e}", path.display()));
        error.help("the folder of rules must be that of the project, whose documents become pages, too")
    })
}

/// The overload or operator of an example.
pub fn target(example: &Example) -> &str {
    match &example.target {
        Target::Map(name) | Target::Lower(name) | Target::Raise(name, _) => name,
    }
}
