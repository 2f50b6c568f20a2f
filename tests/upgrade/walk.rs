//! A copy of the mappings as of an older opset, and the walk to the next one: import, write by hand what the report asks for, check.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common;

/// The command, which `tests/run` has built.
pub fn codegen() -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_aten2onnx")).with_file_name("aten2onnx-codegen");
    assert!(program.exists(), "{} does not exist: run `cargo build --workspace --bins`", program.display());
    Command::new(program)
}

/// What a command printed.
pub fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

/// The mappings with what there was at an opset.
pub struct Written<'a> {
    /// The snapshot of the schemas and the list of opsets end here.
    pub opset: u32,
    /// What is written by hand ends here, but for `with`.
    pub by_hand: u32,
    /// What targets say ends here.
    pub measured: u32,
    /// Items that are newer.
    pub with: &'a [String],
}

/// The mappings as of an opset.
pub fn of_opset(opset: u32) -> Written<'static> {
    Written { opset, by_hand: opset, measured: opset, with: &[] }
}

impl Written<'_> {
    /// Writes them to `OUT/mappings`, which does not exist yet.
    pub fn write(&self, interpreter: &Path, out: &Path) -> PathBuf {
        let target = out.join("mappings");
        let mut python = Command::new(interpreter);
        python.arg(common::root().join("tests/upgrade/limit.py")).arg(common::root().join("mappings")).arg(&target);
        python.arg(self.opset.to_string());
        python.args(["--written", &self.by_hand.to_string(), "--measured", &self.measured.to_string()]);
        for item in self.with {
            python.arg("--with").arg(item);
        }
        let output = python.output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        target
    }
}

/// A project in git with nothing but mappings.
pub struct Project {
    folder: tempfile::TempDir,
    interpreter: PathBuf,
}

/// How much changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    pub files: usize,
    pub added: usize,
    pub removed: usize,
}

impl Project {
    /// One whose newest opset is this.
    pub fn of(opset: u32, interpreter: PathBuf) -> Project {
        let folder = tempfile::tempdir().unwrap();
        of_opset(opset).write(&interpreter, folder.path());
        let project = Project { folder, interpreter };
        project.git(&["init", "--quiet"]);
        project.commit();
        project
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn mappings(&self) -> PathBuf {
        self.folder().join("mappings")
    }

    /// What git says, with a name of its own.
    pub fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]).args(arguments);
        let output = git.current_dir(self.folder()).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "."]);
    }

    /// The command in this project.
    pub fn run(&self, arguments: &[&str]) -> Output {
        let mut command = codegen();
        command.args(arguments).current_dir(self.folder()).env("ATEN2ONNX_PYTHON", &self.interpreter);
        command.output().unwrap()
    }

    /// A block of a page in this project.
    pub fn shell(&self, script: &str) -> Output {
        let program = Path::new(env!("CARGO_BIN_EXE_aten2onnx")).parent().unwrap().to_owned();
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(program).chain(std::env::split_paths(&inherited))).unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", script]).current_dir(self.folder()).env("PATH", path);
        shell.env("ATEN2ONNX_PYTHON", &self.interpreter).output().unwrap()
    }

    /// Imports the opsets up to this one, and returns the report.
    pub fn import(&self, version: &str, opset: u32) -> String {
        let output = self.run(&["import-onnx", version, "--up-to", &opset.to_string()]);
        assert!(output.status.success(), "{}", text(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What differs from the last commit.
    pub fn size(&self) -> Size {
        let numbers = self.git(&["diff", "--numstat"]);
        let mut size = Size::default();
        for line in numbers.lines() {
            let mut words = line.split_whitespace().map(|word| word.parse::<usize>().unwrap_or(0));
            size.files += 1;
            size.added += words.next().unwrap();
            size.removed += words.next().unwrap();
        }
        size
    }

    /// Writes by hand what the report on the next opset asks for, and nothing else. `Err`: what is wrong then, or differs from the project of today.
    pub fn write_by_hand(&self, report: &str, opset: u32) -> Result<(), String> {
        self.write_all_by_hand(report, opset - 1, opset)
    }

    /// The same for all opsets after one.
    pub fn write_all_by_hand(&self, report: &str, after: u32, opset: u32) -> Result<(), String> {
        let with = asked(report);
        let is_measured = report.contains("runtimes/facts.py");
        let scratch = tempfile::tempdir().unwrap();
        let measured = if is_measured { opset } else { after };
        let made = Written { opset, by_hand: after, measured, with: &with }.write(&self.interpreter, scratch.path());
        for generated in ["schemas/onnx.txt", "opsets.toml"] {
            let lines = |folder: &Path| fs::read_to_string(folder.join(generated)).unwrap();
            let (own, wanted) = (lines(&self.mappings()), lines(&made));
            let is_source = |line: &&str| line.starts_with("# Source: onnx ");
            let missing: Vec<&str> =
                own.lines().filter(|line| !is_source(line) && !wanted.lines().any(|other| other == *line)).collect();
            if !missing.is_empty() {
                return Err(format!("the command wrote other lines into {generated}: {missing:?}"));
            }
        }
        for (name, text) in files(&made) {
            fs::write(self.mappings().join(name), text).unwrap();
        }
        let check = self.run(&["check"]);
        if !check.status.success() {
            return Err(text(&check));
        }
        let other = tempfile::tempdir().unwrap();
        let (own, wanted) = (files(&self.mappings()), files(&of_opset(opset).write(&self.interpreter, other.path())));
        let differing: Vec<&String> =
            wanted.iter().filter(|(name, text)| own.get(*name) != Some(text)).map(|(name, _)| name).collect();
        if differing.is_empty() { Ok(()) } else { Err(format!("differs from opset {opset} of today: {differing:?}")) }
    }
}

/// The items that a report asks for, or may ask for, with the names that `limit.py` knows.
pub fn asked(report: &str) -> Vec<String> {
    let lines = report.lines().filter_map(|line| line.strip_prefix("- [ ] "));
    lines.flat_map(items).collect()
}

/// `` `lower Range before 27` or `same Range 11 as 27` in `onnx/counting.opmap` `` -> `lower Range before 27`, `same Range 11 as 27`
fn items(line: &str) -> Vec<String> {
    let plain = line.replace('`', "");
    let what = plain.split(" in ").next().unwrap();
    if let Some(rest) = what.strip_prefix("the entry ") {
        return vec![format!("entry {}", rest.split(' ').next().unwrap())];
    }
    let what = what.strip_prefix("the header ").unwrap_or(what);
    what.split(" or ").map(|item| item.split(" (").next().unwrap().to_owned()).collect()
}

/// The texts below a folder, by their path in it.
pub fn files(folder: &Path) -> BTreeMap<String, String> {
    common::files(folder).into_iter().map(|(name, bytes)| (name, String::from_utf8(bytes).unwrap())).collect()
}
