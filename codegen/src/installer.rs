//! Packages of Python in an environment of their own, by `uv` if that is there, else by `venv` and `pip`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// An environment that is made in a folder.
#[derive(Debug)]
pub struct Installer {
    home: PathBuf,
    python: PathBuf,
    has_uv: bool,
}

impl Installer {
    /// An environment in this folder, which is not there yet.
    pub fn new(home: PathBuf) -> Installer {
        let python = home.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
        let has_uv = Command::new("uv").arg("--version").output().is_ok_and(|output| output.status.success());
        Installer { home, python, has_uv }
    }

    /// The interpreter of the environment.
    pub fn python(&self) -> &Path {
        &self.python
    }

    /// Makes the environment with an interpreter.
    pub fn create(&self, with: &Path) -> Command {
        let mut command = Command::new(if self.has_uv { Path::new("uv") } else { with });
        if self.has_uv {
            command.args(["venv", "--quiet", "--no-project", "--python"]).arg(with);
        } else {
            command.args(["-m", "venv"]);
        }
        command.arg(&self.home);
        command
    }

    /// Installs the packages that are named by further arguments.
    pub fn install(&self) -> Command {
        let mut command = Command::new(if self.has_uv { Path::new("uv") } else { &self.python });
        if self.has_uv {
            command.args(["pip", "install", "--quiet", "--python"]).arg(&self.python);
        } else {
            command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        }
        command
    }
}
