//! Runs the judge: a Python program that runs the models and compares them with PyTorch, or with the native operator.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use super::{Record, Verdict, facts};
use aten2onnx_core::error::{Error, Kind, Result};

/// Its program.
const PROGRAM: &str = include_str!("judge.py");
/// What the judge imports: replacements for PyTorch kernels that need another device, what is unique in results, how random results are
/// compared, and how the table is read of what may differ.
const IMPORTED: [(&str, &str); 4] = [
    ("stand_ins.py", include_str!("stand_ins.py")),
    ("unique.py", include_str!("unique.py")),
    ("distributions.py", include_str!("distributions.py")),
    ("differences.py", include_str!("differences.py")),
];

/// How to run the judge.
#[derive(Debug, Clone)]
pub struct Judge {
    /// The interpreter, with torch, onnx and onnxruntime.
    pub python: PathBuf,
    /// Modules to import first, which define custom operators.
    pub imports: Vec<String>,
    /// The folder for cases and verdicts.
    pub folder: PathBuf,
    /// The folder of the rules, if they are read from one: what may differ is then read from its checkout.
    pub mappings: Option<PathBuf>,
}

impl Judge {
    /// Judges the records.
    ///
    /// # Errors
    /// The judge cannot be run or fails.
    pub fn judge(&self, records: &[Record]) -> Result<BTreeMap<usize, Verdict>> {
        if records.is_empty() {
            return Ok(BTreeMap::new());
        }
        let cases = self.folder.join("cases.jsonl");
        let mut command = self.command(&cases)?;
        write(&cases, &lines(records)?)?;
        self.verdicts(command.status(), records)
    }

    /// Starts the judge, which imports PyTorch while the caller makes the records.
    ///
    /// # Errors
    /// The interpreter cannot be run, or the folder cannot be written to.
    pub fn start(self) -> Result<StartedJudge> {
        let child = self.command(Path::new("-"))?.stdin(Stdio::piped()).spawn();
        let child = child.map_err(|error| no_python(error.into(), &self.python))?;
        Ok(StartedJudge { child, judge: self })
    }

    /// The judge of records in a file, or in its standard input.
    fn command(&self, cases: &Path) -> Result<Command> {
        std::fs::create_dir_all(&self.folder).map_err(|error| io_error(error, &self.folder))?;
        let program = write_programs(&self.folder, self.mappings.as_deref())?;
        let mut command = Command::new(&self.python);
        command.arg(&program).args([cases, &self.file_of_verdicts()]).args(&self.imports);
        Ok(command)
    }

    fn file_of_verdicts(&self) -> PathBuf {
        self.folder.join("verdicts.jsonl")
    }

    /// What the judge has written, if it ended well: a verdict for each record.
    fn verdicts(&self, ended: std::io::Result<ExitStatus>, records: &[Record]) -> Result<BTreeMap<usize, Verdict>> {
        let status = ended.map_err(|error| no_python(error.into(), &self.python))?;
        if !status.success() {
            return Err(
                Error::new(Kind::Io, format!("the judge failed: {status}")).at(self.python.display().to_string())
            );
        }
        let verdicts = self.file_of_verdicts();
        let text = std::fs::read_to_string(&verdicts).map_err(|error| io_error(error, &verdicts))?;
        let read =
            |line: &str| serde_json::from_str(line).map(|verdict: Verdict| (verdict.id, verdict)).map_err(faulty);
        let found: BTreeMap<usize, Verdict> = text.lines().map(read).collect::<Result<_>>()?;
        match records.iter().find(|record| !found.contains_key(&record.id)) {
            Some(left_out) => Err(Error::internal(format!("the judge has no verdict for `{}`", left_out.text))),
            None => Ok(found),
        }
    }
}

/// A judge that waits for its records. It ends with this value.
#[derive(Debug)]
pub struct StartedJudge {
    child: Child,
    judge: Judge,
}

impl StartedJudge {
    /// Judges the records.
    ///
    /// # Errors
    /// The judge fails.
    pub fn judge(mut self, records: &[Record]) -> Result<BTreeMap<usize, Verdict>> {
        if records.is_empty() {
            return Ok(BTreeMap::new());
        }
        let text = lines(records)?;
        // It may have been edited since the judge was started, which reads it when it meets a difference.
        write(&self.judge.folder.join(facts::DIFFERENCES_FILE), &facts::differences(self.judge.mappings.as_deref())?)?;
        if let Some(mut input) = self.child.stdin.take() {
            // A judge that has failed reads nothing: how it ended tells.
            let _ = input.write_all(text.as_bytes());
        }
        let ended = self.child.wait();
        self.judge.verdicts(ended, records)
    }
}

impl Drop for StartedJudge {
    fn drop(&mut self) {
        // One that has ended cannot be stopped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Records as lines of JSON.
fn lines(records: &[Record]) -> Result<String> {
    let lines: Vec<String> = records.iter().map(serde_json::to_string).collect::<Result<_, _>>().map_err(faulty)?;
    Ok(lines.join("\n"))
}

/// Writes the judge and what it imports into a folder: its worker processes load it by path. Returns its path. `mappings` is the folder of the
/// rules, if they are read from one.
///
/// # Errors
/// A file cannot be written, or the table of differences beside the rules has an error.
pub fn write_programs(folder: &Path, mappings: Option<&Path>) -> Result<PathBuf> {
    let program = folder.join("judge.py");
    write(&program, PROGRAM)?;
    write(&folder.join(facts::DIFFERENCES_FILE), &facts::differences(mappings)?)?;
    IMPORTED.iter().try_for_each(|(name, text)| write(&folder.join(name), text))?;
    Ok(program)
}

/// The error of an interpreter that cannot be used.
pub fn no_python(error: Error, python: &Path) -> Error {
    error
        .at(python.display().to_string())
        .help("an interpreter with torch, onnx and onnxruntime is needed: set ATEN2ONNX_PYTHON")
}

/// Writes a file.
///
/// # Errors
/// It cannot be written.
pub fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|error| io_error(error, path))
}

fn io_error(error: std::io::Error, path: &Path) -> Error {
    Error::from(error).at(path.display().to_string())
}

fn faulty(error: serde_json::Error) -> Error {
    Error::internal(format!("invalid data from the judge: {error}"))
}

impl Verdict {
    /// The failures as lines.
    pub fn lines(&self) -> Vec<String> {
        self.failures.iter().map(|f| format!("    opset {}: {}", f.opset, f.what)).collect()
    }
}
