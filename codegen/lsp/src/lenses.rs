//! Code lenses, and the commands behind them: `try`, `verify` and the graph at the oldest and the newest opset.

use std::path::PathBuf;
use std::process::Command as Process;

use lsp_types::{CodeLens, Command, ExecuteCommandParams};
use serde_json::Value;

use crate::document::Document;
use crate::state::State;

/// The commands that the server runs. Their first argument is an overload or an operator.
pub const COMMANDS: [&str; 3] = ["opmap.try", "opmap.verify", "opmap.expand"];

/// The lenses above the rules and lowerings of a file.
pub fn code_lenses(state: &State, document: &Document) -> Vec<CodeLens> {
    let opsets = &state.schemas.opsets;
    let mut lenses = Vec::new();
    for item in &document.words.items {
        let Some(head) = document.words.head(&document.text, item) else { continue };
        let is_rule = matches!(head.keyword.as_str(), "map" | "lower" | "raise") && !head.name.text.contains('{');
        if !is_rule {
            continue;
        }
        let range = document.range(head.name.range.clone());
        let op = Value::from(head.name.text.clone());
        let mut add = |title: String, command: &str, arguments: Vec<Value>| {
            let command = Command { title, command: command.to_owned(), arguments: Some(arguments) };
            lenses.push(CodeLens { range, command: Some(command), data: None });
        };
        add("try".to_owned(), "opmap.try", vec![op.clone()]);
        if head.keyword == "map" {
            add("verify".to_owned(), "opmap.verify", vec![op.clone()]);
        }
        for opset in [opsets.min, opsets.max].into_iter().filter(|_| state.own.is_none()) {
            add(format!("graph at opset {opset}"), "opmap.expand", vec![op.clone(), Value::from(opset)]);
        }
    }
    lenses
}

/// A program that runs commands on the rules.
#[derive(Debug, Clone)]
pub enum Runner {
    /// `aten2onnx-codegen`, on a folder of rules.
    Codegen(PathBuf),
    /// `aten2onnx`, on mapping files over the rules that it has. It has no `expand`.
    Exporter {
        /// The program.
        program: PathBuf,
        /// What is written before the command: `-m aten2onnx` for Python.
        before: Vec<String>,
        /// Python modules that define the operators.
        imports: Vec<String>,
    },
}

impl Runner {
    /// What the program says.
    ///
    /// # Errors
    /// A command or an argument that there is not, or a program that cannot be run.
    pub fn run(&self, rules: &[PathBuf], params: &ExecuteCommandParams) -> Result<String, String> {
        let args = arguments(params)?;
        let with_rules = rules.iter().flat_map(|path| ["--mappings".into(), path.clone().into_os_string()]);
        let (program, mut process) = match self {
            Runner::Codegen(program) => {
                let mut process = Process::new(program);
                process.args(with_rules).args(args);
                (program, process)
            }
            Runner::Exporter { program, before, imports } => {
                if params.command == "opmap.expand" {
                    return Err(
                        "the rules of a package are not written as graphs here: `aten2onnx-codegen expand` does it"
                            .to_owned(),
                    );
                }
                let mut process = Process::new(program);
                let imports = imports.iter().flat_map(|module| ["--import", module.as_str()]);
                process.args(before).args(args).args(with_rules).args(imports);
                (program, process)
            }
        };
        let output = process.stdin(std::process::Stdio::null()).output();
        let output = output.map_err(|e| format!("{}: {e}", program.display()))?;
        let texts = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        Ok(texts.concat())
    }
}

/// The arguments of the program for a command.
fn arguments(params: &ExecuteCommandParams) -> Result<Vec<String>, String> {
    let op = params.arguments.first().and_then(Value::as_str).unwrap_or("");
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.');
    if op.is_empty() || !op.chars().all(is_name) {
        return Err(format!("not the name of an operator: `{op}`"));
    }
    let op = op.to_owned();
    let args = match params.command.as_str() {
        "opmap.try" => vec!["try".to_owned(), op],
        "opmap.verify" => vec!["verify".to_owned(), op],
        "opmap.expand" => {
            let opset = params.arguments.get(1).and_then(Value::as_u64);
            let opset = opset.into_iter().flat_map(|opset| ["--opset".to_owned(), opset.to_string()]);
            ["expand".to_owned(), op].into_iter().chain(opset).collect()
        }
        other => return Err(format!("there is no command `{other}`; the commands are {}", COMMANDS.join(", "))),
    };
    Ok(args)
}
