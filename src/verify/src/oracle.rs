//! The process of Python that knows what PyTorch does. If a call makes it crash, another one takes over.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use aten2onnx_core::error::{Error, Kind, Result};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::relations;
use aten2onnx_examples::{self as examples, Record, Verdict};

const PROGRAM: &str = include_str!("oracle.py");
const RELATIONS: &str = include_str!("relations.py");

/// What PyTorch does with a call.
#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
pub(super) enum Answer {
    /// The dtypes and sizes of its results.
    Types { types: Vec<(String, Vec<i64>)>, random: bool },
    /// It raises an exception, or the arguments break a relation.
    Refused {
        refused: String,
        #[serde(default)]
        broken: bool,
    },
}

/// Why a call is not taken as valid.
#[derive(Debug, Deserialize)]
struct Doubt {
    doubt: Option<String>,
}

/// The relation that a call breaks.
#[derive(Debug, Deserialize)]
struct Relation {
    broken: Option<String>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// A process of Python that answers questions.
#[derive(Debug)]
pub(super) struct Oracle<'a> {
    python: &'a Path,
    folder: &'a Path,
    imports: &'a [String],
    process: Option<Process>,
}

/// Writes its program into a folder. `mappings` is the folder of the rules, if they are read from one.
pub(super) fn write_program(folder: &Path, mappings: Option<&Path>) -> Result<()> {
    examples::write_programs(folder, mappings)?;
    examples::write(&folder.join("relations.py"), RELATIONS)?;
    examples::write(&folder.join("relations.toml"), &relations::text(mappings)?)?;
    examples::write(&folder.join("oracle.py"), PROGRAM)
}

impl<'a> Oracle<'a> {
    pub fn new(python: &'a Path, folder: &'a Path, imports: &'a [String]) -> Oracle<'a> {
        Oracle { python, folder, imports, process: None }
    }

    /// What PyTorch does with calls; None for a call that makes it crash.
    pub fn types(&mut self, records: &[Record]) -> Result<Vec<Option<Answer>>> {
        self.ask("types", records)
    }

    /// Whether PyTorch contradicts itself about a call that a kernel of it takes, or crashes.
    pub fn doubts(&mut self, record: Record) -> Result<bool> {
        let answers: Vec<Option<Doubt>> = self.ask("doubt", &[record])?;
        Ok(answers.into_iter().next().flatten().is_none_or(|answer| answer.doubt.is_some()))
    }

    /// The relation that each call breaks.
    pub fn broken_relations(&mut self, records: &[Record]) -> Result<Vec<Option<String>>> {
        let answers: Vec<Option<Relation>> = self.ask("relation", records)?;
        Ok(answers.into_iter().map(|answer| answer.and_then(|answer| answer.broken)).collect())
    }

    /// What the models do, compared with PyTorch; None for one that makes the process crash.
    pub fn judge(&mut self, records: &[Record]) -> Result<Vec<Option<Verdict>>> {
        self.ask("judge", records)
    }

    fn ask<T: for<'de> Deserialize<'de>>(&mut self, kind: &str, records: &[Record]) -> Result<Vec<Option<T>>> {
        if records.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(answers) = self.asked(kind, records)? {
            return Ok(answers.into_iter().map(Some).collect());
        }
        let [_] = records else {
            let (first, second) = records.split_at(records.len() / 2);
            let mut answers = self.ask(kind, first)?;
            answers.extend(self.ask(kind, second)?);
            return Ok(answers);
        };
        Ok(vec![None])
    }

    /// None if a question made Python crash.
    fn asked<T: for<'de> Deserialize<'de>>(&mut self, kind: &str, records: &[Record]) -> Result<Option<Vec<T>>> {
        if self.process.is_none() {
            self.process = Some(self.started()?);
        }
        let Some(process) = &mut self.process else { return Ok(None) };
        let questions: Vec<Json> = records.iter().map(|record| json!({ kind: record })).collect();
        let mut line = serde_json::to_string(&questions).map_err(faulty)?;
        line.push('\n');
        let mut answers = String::new();
        let done = process.questions.write_all(line.as_bytes()).and_then(|()| process.answers.read_line(&mut answers));
        if matches!(done, Ok(length) if length > 0) {
            return serde_json::from_str(&answers).map_err(faulty);
        }
        let _ = process.child.wait();
        self.process = None;
        Ok(None)
    }

    fn started(&self) -> Result<Process> {
        let mut command = Command::new(self.python);
        command.arg(self.folder.join("oracle.py")).args(self.imports);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).env("TORCH_CPP_LOG_LEVEL", "ERROR");
        let needed = |error: Error| examples::no_python(error, self.python);
        let mut child = command.spawn().map_err(|error| needed(error.into()))?;
        let missing = || Error::internal("a child process has no pipes");
        let questions = child.stdin.take().ok_or_else(missing)?;
        let mut answers = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        let mut greeting = String::new();
        answers.read_line(&mut greeting)?;
        match greeting.trim_end() {
            "ready" => Ok(Process { child, questions, answers }),
            _ => Err(needed(Error::new(Kind::Io, "it did not start"))),
        }
    }
}

impl Drop for Oracle<'_> {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.child.kill();
            let _ = process.child.wait();
        }
    }
}

fn faulty(error: serde_json::Error) -> Error {
    Error::internal(format!("invalid data from the oracle: {error}"))
}
