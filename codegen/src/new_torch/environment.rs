//! An environment of Python with a release of PyTorch, which is deleted after it was asked.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::installer::Installer;

/// The program that runs in it.
const PROGRAM: &str = include_str!("ask_torch.py");

/// An interpreter with PyTorch.
#[derive(Debug)]
pub struct Environment {
    python: PathBuf,
    /// The folder with the program, and with the environment if it was made for this.
    folder: TempDir,
}

impl Environment {
    /// Takes an interpreter that has PyTorch.
    ///
    /// # Errors
    /// The program cannot be written.
    pub fn of(python: &Path) -> Result<Environment, String> {
        let folder = tempfile::tempdir().map_err(|error| format!("a temporary folder: {error}"))?;
        std::fs::write(folder.path().join("ask_torch.py"), PROGRAM)
            .map_err(|error| format!("ask_torch.py: {error}"))?;
        Ok(Environment { python: python.to_owned(), folder })
    }

    /// Installs a release and the torchvision that belongs to it, by `uv` if that is there, else by `pip`. The CPU build is taken if the
    /// registry has one. `python` makes the environment.
    ///
    /// # Errors
    /// What the installer says.
    pub fn install(version: &str, python: &Path) -> Result<Environment, String> {
        let mut made = Environment::of(python)?;
        let installer = Installer::new(made.folder.path().join("environment"));
        succeed(&mut installer.create(python), "an environment of Python cannot be made")?;
        let wanted = |suffix: &str| {
            let mut command = installer.install();
            command.arg(format!("torch=={version}{suffix}")).args(["torchvision", "numpy"]);
            command
        };
        let what = format!("PyTorch {version} cannot be installed");
        if succeed(&mut wanted("+cpu"), &what).is_err() {
            succeed(&mut wanted(""), &what)?;
        }
        made.python = installer.python().to_owned();
        Ok(made)
    }

    /// Runs the program with an argument and an input, and returns what it prints. `package` is a folder with the package `aten2onnx`.
    ///
    /// # Errors
    /// It cannot be run, or fails.
    pub fn ask(&self, what: &str, input: &str, package: Option<&Path>) -> Result<String, String> {
        let mut command = Command::new(&self.python);
        command.arg(self.folder.path().join("ask_torch.py")).arg(what).current_dir(self.folder.path());
        if let Some(package) = package {
            let package = std::fs::canonicalize(package).map_err(|error| format!("{}: {error}", package.display()))?;
            command.env("PYTHONPATH", package);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |error: std::io::Error| format!("{}: {error}", self.python.display());
        let mut child = command.spawn().map_err(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that ends early says why.
            let _ = stdin.write_all(input.as_bytes());
        }
        let output = child.wait_with_output().map_err(failed)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.trim().lines().next_back().unwrap_or_default();
            return Err(format!("{}: PyTorch cannot be asked: {last}", self.python.display()));
        }
        String::from_utf8(output.stdout).map_err(|error| format!("PyTorch's answer is no text: {error}"))
    }
}

/// Runs a command that must succeed.
fn succeed(command: &mut Command, what: &str) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{what}: {}: {error}", command.get_program().display()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{what}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}
