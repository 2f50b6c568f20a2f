//! `api`: the public interface of the library, one item a line, as rustdoc sees it.
//!
//! rustdoc gives it as JSON on nightly toolchains only; `xtask/rustdoc` makes the stable one do the same. Nothing but this command depends on it.

use std::collections::HashMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// The file with the interface.
pub const TARGET: &str = "docs/api.txt";

/// The root package, and the crates that it gives to others as modules.
const PACKAGES: [&str; 6] = [
    "aten2onnx",
    "aten2onnx-convert",
    "aten2onnx-export",
    "aten2onnx-frontend",
    "aten2onnx-options",
    "aten2onnx-program",
];

/// The interface of the library.
///
/// rustdoc reads the crates that a build of all programs and tests left. `cargo doc` would check each of them, and what it depends on, once more.
pub fn generate(root: &Path) -> Result<String, Box<dyn Error>> {
    let built = Built::of_workspace(root)?;
    let folder = tempfile::tempdir()?;
    PACKAGES.iter().map(|package| interface(&built, root, package, folder.path())).collect()
}

/// The interface of a package, from the JSON that rustdoc writes into `folder`.
fn interface(built: &Built, root: &Path, package: &str, folder: &Path) -> Result<String, Box<dyn Error>> {
    let status = built.rustdoc(root, package, folder)?.status()?;
    if !status.success() {
        return Err(format!("rustdoc of `{package}`: {status}").into());
    }
    let api = public_api::Builder::from_rustdoc_json(folder.join(package.replace('-', "_")).with_extension("json"))
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .map_err(|error| {
            format!("{error}\nthe JSON of rustdoc {} is not known to this `public-api`", env!("CARGO_PKG_RUST_VERSION"))
        })?;
    Ok(api.items().map(|item| format!("{item}\n")).collect())
}

/// What Cargo says of the libraries of the workspace and of what they depend on, by the identifier of their package.
#[derive(Default)]
struct Built {
    /// The messages of a build: `compiler-artifact` of each library.
    libraries: HashMap<String, Value>,
    /// The folders of generated sources.
    generated: HashMap<String, String>,
    /// `packages` of `cargo metadata`.
    packages: HashMap<String, Value>,
    /// `resolve.nodes.deps` of `cargo metadata`.
    dependencies: HashMap<String, Value>,
}

impl Built {
    fn of_workspace(root: &Path) -> Result<Self, Box<dyn Error>> {
        let mut found = Self::default();
        let build = ["build", "--quiet", "--workspace", "--all-targets", "--message-format", "json-render-diagnostics"];
        for line in said_by_cargo(root, &build)?.lines() {
            let message: Value = serde_json::from_str(line)?;
            let package = text(&message["package_id"]);
            if message["reason"] == "build-script-executed" {
                found.generated.insert(package, text(&message["out_dir"]));
            } else if message["reason"] == "compiler-artifact" && is_library(&message) {
                found.libraries.insert(package, message);
            }
        }
        let metadata: Value = serde_json::from_str(&said_by_cargo(root, &["metadata", "--format-version", "1"])?)?;
        let all = |value: &Value| value.as_array().cloned().unwrap_or_default();
        found.packages =
            all(&metadata["packages"]).into_iter().map(|package| (text(&package["id"]), package)).collect();
        let nodes = all(&metadata["resolve"]["nodes"]).into_iter();
        found.dependencies = nodes.map(|mut node| (text(&node["id"]), node["deps"].take())).collect();
        Ok(found)
    }

    /// rustdoc for the library of a package of the workspace, as Cargo would start it.
    fn rustdoc(&self, root: &Path, package: &str, out: &Path) -> Result<Command, Box<dyn Error>> {
        let of_workspace = |entry: &&Value| entry["source"].is_null() && entry["name"] == package;
        let entry =
            self.packages.values().find(of_workspace).ok_or_else(|| format!("there is no package `{package}`"))?;
        let id = text(&entry["id"]);
        let library = self.library(&id)?;
        let mut command = Command::new(root.join("xtask/rustdoc"));
        command
            .args(["-Z", "unstable-options", "--output-format", "json", "--crate-type", "lib", "--out-dir"])
            .arg(out)
            .args(["--crate-name", &package.replace('-', "_"), "--edition", &text(&library["target"]["edition"])])
            .arg(text(&library["target"]["src_path"]))
            .env("CARGO_PKG_VERSION", text(&entry["version"]))
            .env("CARGO_MANIFEST_DIR", text(&entry["manifest_path"]).trim_end_matches("/Cargo.toml"))
            .current_dir(root);
        if let Some(folder) = self.generated.get(&id) {
            command.env("OUT_DIR", folder);
        }
        for feature in library["features"].as_array().into_iter().flatten() {
            command.arg("--cfg").arg(format!("feature={feature}"));
        }
        for dependency in self.dependencies[&id].as_array().into_iter().flatten() {
            // What only tests depend on is given too, if it is a library: nothing names it.
            let Ok(file) = self.file(&text(&dependency["pkg"])) else { continue };
            let folder = file.parent().unwrap_or(root).display().to_string();
            command.arg("-L").arg(format!("dependency={folder}"));
            command.arg("--extern").arg(format!("{}={}", text(&dependency["name"]), file.display()));
        }
        Ok(command)
    }

    fn library(&self, id: &str) -> Result<&Value, Box<dyn Error>> {
        self.libraries.get(id).ok_or_else(|| format!("the build gave no library of `{id}`").into())
    }

    /// The compiled library of a package: that of a procedural macro is an object file, and the others have their metadata in a file as well.
    fn file(&self, id: &str) -> Result<PathBuf, Box<dyn Error>> {
        let files: Vec<String> = self.library(id)?["filenames"].as_array().into_iter().flatten().map(text).collect();
        let metadata = files.iter().find(|file| file.ends_with(".rmeta"));
        Ok(metadata.or(files.first()).ok_or("a library without a file")?.into())
    }
}

/// Whether a message is of a library that other crates can use, not of its tests.
fn is_library(message: &Value) -> bool {
    let mut kinds = message["target"]["kind"].as_array().into_iter().flatten();
    message["profile"]["test"] == false
        && kinds.any(|kind| ["lib", "rlib", "proc-macro"].iter().any(|name| kind == name))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().into()
}

fn said_by_cargo(root: &Path, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let done = Command::new(env!("CARGO")).args(arguments).current_dir(root).stderr(Stdio::inherit()).output()?;
    if !done.status.success() {
        return Err(format!("`cargo {}`: {}", arguments.join(" "), done.status).into());
    }
    Ok(String::from_utf8(done.stdout)?)
}
