//! A release of ONNX from the package registry: installed in an environment of its own, asked for what it says, and deleted.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::Said;
use crate::installer::Installer;

/// The script that asks a release, in the folder `tools/schemas` of a checkout.
const SCRIPT: &str = "release_onnx.py";

/// What to do if a version cannot be had.
const INSTEAD: &str = "or give a snapshot that was written elsewhere by `python tools/schemas/dump_onnx.py --out DIR`";

/// Whether a text is a version of a Python package: `1.24.0`, `1.24.0rc1`.
pub fn is_version(text: &str) -> bool {
    let is_part =
        |part: &str| part.starts_with(|c: char| c.is_ascii_digit()) && part.chars().all(|c| c.is_ascii_alphanumeric());
    text.contains('.')
        && text.split('.').all(|part| is_part(part) || part.starts_with("dev") || part.starts_with("post"))
}

/// What a version of the package onnx says of opsets after this one. If `python` has this version, nothing is installed.
///
/// # Errors
/// There is no such version, no network, no Python, or no script. The text says what to do.
pub fn release(version: &str, after: u32, python: &Path, tools: &Path) -> Result<Said, String> {
    let script = tools.join(SCRIPT);
    if !script.is_file() {
        return Err(format!("{}: there is no such file: run the command in a checkout of aten2onnx", script.display()));
    }
    let folder = tempfile::tempdir().map_err(|error| format!("a temporary folder: {error}"))?;
    let found = installed(python)?;
    let python = if found.as_deref() == Some(version) {
        python.to_owned()
    } else {
        environment(version, python, folder.path())?
    };
    let out = folder.path().join("release.json");
    let mut asked = Command::new(&python);
    asked.args(["-W", "ignore"]).arg(&script).args(["--after", &after.to_string(), "--out"]).arg(&out);
    let output = output_of(asked.env("PYTHONDONTWRITEBYTECODE", "1"), &python)?;
    if !output.status.success() {
        return Err(format!("onnx {version} cannot be asked by {}:\n{}", script.display(), last_lines(&output)));
    }
    let text = fs::read_to_string(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    let said =
        Said::parse(&text).map_err(|e| format!("{} wrote something else than was expected: {e}", script.display()))?;
    match said.onnx == version {
        true => Ok(said),
        false => Err(format!(
            "onnx {version} was asked for, and {} was installed: write the version as it is released",
            said.onnx
        )),
    }
}

/// The version of onnx that an interpreter has, if it has any.
fn installed(python: &Path) -> Result<Option<String>, String> {
    let mut asked = Command::new(python);
    let output = output_of(asked.args(["-c", "import importlib.metadata as m; print(m.version('onnx'))"]), python)?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok((output.status.success() && !version.is_empty()).then_some(version))
}

/// Installs a version in a new environment in a folder, by uv or by pip. Returns its interpreter.
fn environment(version: &str, python: &Path, folder: &Path) -> Result<PathBuf, String> {
    let installer = Installer::new(folder.join("env"));
    let made = output_of(&mut installer.create(python), python)?;
    if !made.status.success() {
        return Err(format!("no environment of Python can be made with {}:\n{}", python.display(), last_lines(&made)));
    }
    let own = installer.python();
    let wanted = format!("onnx=={version}");
    let done = output_of(installer.install().args(["--only-binary", "onnx", &wanted]), own)?;
    if done.status.success() { Ok(own.to_owned()) } else { Err(refused(version, &last_lines(&done))) }
}

/// Why a version cannot be installed.
fn refused(version: &str, said: &str) -> String {
    let is_unknown = ["No matching distribution", "no version of", "not found in the package registry"]
        .iter()
        .any(|text| said.contains(text));
    let is_offline = [
        "error sending request",
        "Failed to fetch",
        "NewConnectionError",
        "name resolution",
        "Could not fetch URL",
        "offline",
    ];
    if is_offline.iter().any(|text| said.contains(text)) {
        return format!(
            "the package registry cannot be reached, so onnx {version} cannot be installed: try again with a network, {INSTEAD}\n{said}"
        );
    }
    if is_unknown {
        let help = "give one that is released, such as 1.23.0 or a candidate 1.24.0rc1";
        return format!("there is no onnx {version} that installs here: {help}, {INSTEAD}\n{said}");
    }
    format!("onnx {version} cannot be installed: try `--python` with another version of Python, {INSTEAD}\n{said}")
}

fn output_of(command: &mut Command, program: &Path) -> Result<Output, String> {
    command.output().map_err(|e| match e.kind() {
        ErrorKind::NotFound => {
            format!(
                "{}: there is no such program: name a Python with `--python` or ATEN2ONNX_PYTHON, {INSTEAD}",
                program.display()
            )
        }
        _ => format!("{}: {e}", program.display()),
    })
}

fn last_lines(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(6)..].iter().map(|line| format!("    {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::{is_version, refused};

    #[test]
    fn versions_are_told_from_files() {
        for version in ["1.23.2", "1.24.0rc1", "1.24.0.dev20260101"] {
            assert!(is_version(version), "{version}");
        }
        for file in ["new.txt", "schemas/1.23.2", "onnx", "1", ""] {
            assert!(!is_version(file), "{file}");
        }
    }

    #[test]
    fn what_installers_say_becomes_what_to_do() {
        let uv = "Because there is no version of onnx==9.9.9 and you require onnx==9.9.9";
        let pip = "ERROR: No matching distribution found for onnx==9.9.9";
        for said in [uv, pip] {
            assert!(refused("9.9.9", said).starts_with("there is no onnx 9.9.9"), "{said}");
        }
        let offline = "error sending request for url";
        assert!(refused("1.23.2", offline).contains("cannot be reached"));
        assert!(refused("1.23.2", "disk full").contains("disk full"));
    }
}
