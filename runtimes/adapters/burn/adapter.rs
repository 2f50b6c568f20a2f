//! Burn. burn-onnx writes Rust code for a model. It is compiled with `runner.rs` against the libraries of the environment, and runs as a
//! process of its own, which gets the messages of the harness.

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use std::{env, fs};

use serde_json::{Value, json};

const LIBRARIES: [&str; 4] = ["burn", "burn_store", "half", "serde_json"];

fn main() {
    // The code is written by a process of its own, because burn-onnx prints to the standard output and panics.
    if let [_, model, folder] = &env::args().collect::<Vec<_>>()[..] {
        return burn_onnx::ModelGen::new().input(model).out_dir(folder).run_from_cli();
    }
    say(&json!({"ready": env!("RUNTIME_VERSION")}));
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        if let Err(error) = answer(&line) {
            say(&json!({"error": error}));
        }
    }
}

fn say(message: &Value) {
    println!("{message}");
    io::stdout().flush().expect("the harness listens");
}

fn answer(line: &str) -> Result<(), String> {
    let job: Value = serde_json::from_str(line).map_err(text)?;
    let start = Instant::now();
    let folder = env::current_dir().map_err(text)?.join("burn-model");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(text)?;
    }
    fs::create_dir(&folder).map_err(text)?;
    write_code(job["model"].as_str().unwrap_or_default(), &folder)?;
    run(&compile(&folder)?, line, start)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Writes `model.rs` and what it needs. The reason of a refusal is the message of the panic.
fn write_code(model: &str, folder: &Path) -> Result<(), String> {
    let written = folder.join("written");
    let done = Command::new(env::current_exe().map_err(text)?).arg(model).arg(&written).output().map_err(text)?;
    if !done.status.success() {
        let told = String::from_utf8_lossy(&done.stderr);
        let message: Vec<&str> = told
            .lines()
            .skip_while(|line| !line.contains("panicked at"))
            .skip(1)
            .take_while(|line| !line.starts_with("note:"))
            .collect();
        return Err(format!(
            "burn-onnx: {}",
            if message.is_empty() { done.status.to_string() } else { message.join(" ") }
        ));
    }
    let code = files(&written)?.into_iter().find(|file| file.extension().is_some_and(|ending| ending == "rs"));
    fs::copy(code.ok_or("burn-onnx wrote no code")?, folder.join("model.rs")).map_err(text)?;
    fs::write(folder.join("main.rs"), include_str!("runner.rs")).map_err(text)?;
    fs::write(folder.join("serve.rs"), include_str!("serve.rs")).map_err(text)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    fs::read_dir(folder).map_err(text)?.map(|entry| Ok(entry.map_err(text)?.path())).collect()
}

/// Compiles the code. The reason of a failure is the first error.
fn compile(folder: &Path) -> Result<PathBuf, String> {
    let libraries = env::current_exe().map_err(text)?.with_file_name("deps");
    let program = folder.join("program");
    let mut command = Command::new("rustc");
    command
        .args(["--edition", "2024", "-C", "opt-level=1", "-C", "debuginfo=0", "--cap-lints", "allow", "-o"])
        .arg(&program);
    command.arg("-L").arg(format!("dependency={}", libraries.display()));
    for name in LIBRARIES {
        command.arg("--extern").arg(format!("{name}={}", library(&libraries, name)?.display()));
    }
    let done = command.arg(folder.join("main.rs")).output().map_err(|error| format!("rustc: {error}"))?;
    if done.status.success() {
        return Ok(program);
    }
    let told = String::from_utf8_lossy(&done.stderr);
    let errors: Vec<&str> =
        told.lines().filter(|line| line.starts_with("error") && !line.contains("aborting due to")).collect();
    Err(format!("the code does not compile: {} ({} errors)", errors.first().unwrap_or(&"no reason told"), errors.len()))
}

fn library(folder: &Path, name: &str) -> Result<PathBuf, String> {
    let start = format!("lib{name}-");
    let is_it = |file: &PathBuf| {
        file.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with(&start) && name.ends_with(".rlib"))
    };
    files(folder)?
        .into_iter()
        .find(is_it)
        .ok_or_else(|| format!("no library {name} in {}: run setup.py again", folder.display()))
}

/// Runs the program with the message of the harness, and passes on its answers. The time to load contains the compilation.
fn run(program: &Path, line: &str, start: Instant) -> Result<(), String> {
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(text)?;
    let mut to = child.stdin.take().ok_or("no standard input")?;
    writeln!(to, "{line}").map_err(text)?;
    drop(to);
    let mut is_answered = false;
    for answer in BufReader::new(child.stdout.take().ok_or("no standard output")?).lines() {
        let mut answer: Value = serde_json::from_str(&answer.map_err(text)?).map_err(text)?;
        if answer.get("loaded").is_some() {
            answer["loaded"] = json!(start.elapsed().as_secs_f64());
        }
        is_answered |= answer.get("error").is_some() || answer.get("outputs").is_some();
        if answer.get("ready").is_none() {
            say(&answer);
        }
    }
    let status = child.wait().map_err(text)?;
    if is_answered { Ok(()) } else { Err(format!("the process of the model ended ({status})")) }
}
