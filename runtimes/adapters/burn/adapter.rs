//! Burn. burn-onnx writes Rust code for models. It is compiled with `runner.rs` against the libraries of the environment, and runs as a
//! process of its own, which gets the messages of the harness.
//!
//! A compilation takes seconds, mostly for what models share. So many models are compiled into one program when the harness asks for that
//! (`{"prepare": [FILE, ..]}`); what became of each is in `burn/prepared.json` of the working directory, for later processes too.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Instant, UNIX_EPOCH};
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
    let folder = env::current_dir().map_err(text)?.join("burn");
    if let Some(models) = job["prepare"].as_array() {
        let models: Vec<&str> = models.iter().filter_map(Value::as_str).collect();
        prepare(&models, &folder)?;
        say(&json!({"prepared": models.len()}));
        return Ok(());
    }
    let model = job["model"].as_str().unwrap_or_default();
    let program = match prepared(model, &folder)? {
        Some(prepared) => prepared?,
        None => {
            prepare(&[model], &folder)?;
            prepared(model, &folder)?.ok_or("the model changed while it was compiled")??
        }
    };
    run(&program, line, start)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The name of a model in `prepared.json`: its file and when that changed.
fn key(model: &str) -> Result<String, String> {
    let changed = fs::metadata(model).and_then(|file| file.modified()).map_err(|error| format!("{model}: {error}"))?;
    Ok(format!("{model} {}", changed.duration_since(UNIX_EPOCH).map_err(text)?.as_nanos()))
}

/// The program of a model that was compiled before, or the reason of its refusal.
fn prepared(model: &str, folder: &Path) -> Result<Option<Result<PathBuf, String>>, String> {
    let Ok(file) = fs::read(folder.join("prepared.json")) else { return Ok(None) };
    let all: Value = serde_json::from_slice(&file).map_err(text)?;
    let found = &all[key(model)?];
    let program = found["program"].as_str().map(|program| Ok(PathBuf::from(program)));
    Ok(program.or_else(|| found["refused"].as_str().map(|reason| Err(reason.to_owned()))))
}

/// Writes and compiles the code of models, and `prepared.json`. The folder is made anew.
fn prepare(models: &[&str], folder: &Path) -> Result<(), String> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(text)?;
    }
    fs::create_dir(folder).map_err(text)?;
    fs::write(folder.join("runner.rs"), include_str!("runner.rs")).map_err(text)?;
    fs::write(folder.join("serve.rs"), include_str!("serve.rs")).map_err(text)?;
    let mut refused = BTreeMap::new();
    for (index, model) in models.iter().enumerate() {
        if let Err(reason) = write_code(model, &folder.join(format!("m{index}"))) {
            refused.insert(index, reason);
        }
    }
    let mut programs = BTreeMap::new();
    let written = (0..models.len()).filter(|index| !refused.contains_key(index)).collect();
    build(models, written, folder, &mut programs, &mut refused)?;
    let mut all = serde_json::Map::new();
    for (index, program) in programs {
        all.insert(key(models[index])?, json!({"program": program}));
    }
    for (index, reason) in refused {
        all.insert(key(models[index])?, json!({"refused": reason}));
    }
    fs::write(folder.join("prepared.json"), Value::Object(all).to_string()).map_err(text)
}

/// Writes `model.rs` and what it needs. The reason of a refusal is the message of the panic.
fn write_code(model: &str, folder: &Path) -> Result<(), String> {
    fs::create_dir(folder).map_err(text)?;
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
        let message = if message.is_empty() { done.status.to_string() } else { message.join(" ") };
        return Err(format!("burn-onnx: {message}"));
    }
    let code = files(&written)?.into_iter().find(|file| file.extension().is_some_and(|ending| ending == "rs"));
    fs::copy(code.ok_or("burn-onnx wrote no code")?, folder.join("model.rs")).map_err(text)?;
    fs::write(folder.join("mod.rs"), MODULE).map_err(text)
}

/// The module of one model. The compiler tells errors of its types in this file.
const MODULE: &str = "mod model;
pub fn load() -> crate::Loaded {
    let model = model::Model::default();
    Box::new(move |inputs| crate::call(model::Model::forward, &model, inputs))
}
";

fn files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    fs::read_dir(folder).map_err(text)?.map(|entry| Ok(entry.map_err(text)?.path())).collect()
}

/// Compiles the code of models into one program. Those that do not compile are left out; if none can be blamed, each half is compiled.
fn build(
    models: &[&str],
    mut left: Vec<usize>,
    folder: &Path,
    programs: &mut BTreeMap<usize, PathBuf>,
    refused: &mut BTreeMap<usize, String>,
) -> Result<(), String> {
    while let Some(first) = left.first() {
        let program = folder.join(format!("program{first}"));
        write_main(models, &left, folder)?;
        let Err(told) = compile(folder, &program, left.len())? else {
            programs.extend(left.iter().map(|index| (*index, program.clone())));
            return Ok(());
        };
        let blamed = blamed(&told);
        if blamed.is_empty() && left.len() == 1 {
            refused.insert(*first, refusal(&told.iter().collect::<Vec<_>>()));
            return Ok(());
        }
        if blamed.is_empty() {
            let half = left.split_off(left.len() / 2);
            build(models, half, folder, programs, refused)?;
        }
        left.retain(|index| !blamed.contains_key(index));
        refused.extend(blamed.iter().map(|(index, errors)| (*index, refusal(errors))));
    }
    Ok(())
}

fn write_main(models: &[&str], left: &[usize], folder: &Path) -> Result<(), String> {
    let mut code = String::from("#![allow(warnings)]\nmod runner;\nmod serve;\npub use runner::{call, Loaded};\n");
    for index in left {
        writeln!(code, "mod m{index};").map_err(text)?;
    }
    code.push_str("fn main() {\n    runner::main(&[\n");
    for index in left {
        writeln!(code, "        ({:?}, m{index}::load),", models[*index]).map_err(text)?;
    }
    code.push_str("    ]);\n}\n");
    fs::write(folder.join("main.rs"), code).map_err(text)
}

/// Compiles `main.rs`. The inner error has the lines of the compiler that tell errors.
fn compile(folder: &Path, program: &Path, models: usize) -> Result<Result<(), Vec<String>>, String> {
    let libraries = env::current_exe().map_err(text)?.with_file_name("deps");
    // One model is compiled for a measurement of its time.
    let level = if models == 1 { "opt-level=1" } else { "opt-level=0" };
    let mut command = Command::new("rustc");
    command
        .args(["--edition", "2024", "-C", level, "-C", "debuginfo=0", "--cap-lints", "allow", "--error-format", "short", "-o"])
        .arg(program);
    command.arg("-L").arg(format!("dependency={}", libraries.display()));
    for name in LIBRARIES {
        command.arg("--extern").arg(format!("{name}={}", library(&libraries, name)?.display()));
    }
    let done = command.arg(folder.join("main.rs")).output().map_err(|error| format!("rustc: {error}"))?;
    if done.status.success() {
        return Ok(Ok(()));
    }
    let told = String::from_utf8_lossy(&done.stderr);
    let is_error = |line: &&str| line.contains("error") && !line.contains("aborting due to");
    Ok(Err(told.lines().filter(is_error).map(str::to_owned).collect()))
}

/// The errors in the files of each model.
fn blamed(told: &[String]) -> BTreeMap<usize, Vec<&String>> {
    let mut found: BTreeMap<usize, Vec<&String>> = BTreeMap::new();
    for line in told {
        let file = Path::new(line.split(':').next().unwrap_or_default());
        let folder = file.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        let index = folder.and_then(|name| name.strip_prefix('m')).and_then(|number| number.parse().ok());
        if let Some(index) = index {
            found.entry(index).or_default().push(line);
        }
    }
    found
}

fn refusal(errors: &[&String]) -> String {
    let first = errors.first().map_or("no reason told", |line| &line[line.find("error").unwrap_or(0)..]);
    format!("the code does not compile: {first} ({} errors)", errors.len())
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
