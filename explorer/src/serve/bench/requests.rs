//! The answers to requests that begin with `workbench/`.

use std::path::Path;

use aten2onnx_core::error::{Error, Result};
use aten2onnx_opmap::Checked;
use aten2onnx_opmap::tree::Function;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Session, drawing, files, skeleton, trial};

/// What is opened: a file, the rule of an overload or operator, or a new rule.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Open {
    file: Option<String>,
    op: Option<String>,
    new: Option<String>,
}

#[derive(Debug, Deserialize)]
struct OfFile {
    file: String,
}

#[derive(Debug, Deserialize)]
struct OfRule {
    op: String,
}

#[derive(Debug, Deserialize)]
struct Save {
    files: Vec<files::Edited>,
}

/// The answer to a request.
///
/// # Errors
/// A request that there is not, that cannot be read, or that is refused.
pub fn answer(session: &Session, method: &str, params: Value) -> Result<Value> {
    let rules = session.state.rules.as_path();
    match method {
        "workbench/open" => open(session, &read(params)?),
        "workbench/read" => {
            let asked: OfFile = read(params)?;
            Ok(json!({"text": files::read(rules, &asked.file).ok()}))
        }
        "workbench/save" => {
            let asked: Save = read(params)?;
            let saved = asked.files.iter().map(|file| files::save(rules, file)).collect::<Result<Vec<_>>>()?;
            Ok(json!(saved))
        }
        "workbench/view" => Ok(json!(drawing::view(session, &read(params)?)?)),
        "workbench/try" => {
            let asked: OfRule = read(params)?;
            trial::examples(session, &asked.op)
        }
        "workbench/verify" => {
            let asked: OfRule = read(params)?;
            trial::calls(session, &asked.op)
        }
        other => Err(Error::input(format!("there is no request `{other}`"))),
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T> {
    serde_json::from_value(params).map_err(|error| Error::input(error.to_string()))
}

fn open(session: &Session, asked: &Open) -> Result<Value> {
    let rules = session.rules()?;
    let checked = rules.checked();
    if let Some(overload) = &asked.new {
        let written = skeleton::skeleton(checked, overload)?;
        let file = match &asked.file {
            Some(file) => file.clone(),
            None => skeleton::home(checked, overload)?,
        };
        let mut answer = opened(session, &file, None)?;
        answer["insert"] = json!(written);
        return Ok(answer);
    }
    if let Some(file) = &asked.file {
        return opened(session, file, None);
    }
    let op = asked.op.as_deref().unwrap_or_default();
    let Some(function) = rule(checked, op) else {
        let error = Error::input(format!("there is no rule for `{op}`"));
        return Err(error.help("name an overload (`aten::elu`) or an ONNX operator with a lowering (`Gelu`)"));
    };
    let file = checked.sources.file(function.span.file);
    let inside = file.path.split_once('/').map_or(file.path.as_str(), |(_, inside)| inside);
    opened(session, inside, Some(checked.sources.line(function.span)))
}

/// The first rule or lowering of an overload or operator.
fn rule<'c>(checked: &'c Checked, op: &str) -> Option<&'c Function> {
    let program = &checked.program;
    let maps = program.maps.iter().map(|map| (&map.function.name, &map.function));
    let lowers = program.lowers.iter().chain(&program.raises).map(|lower| (&lower.op, &lower.function));
    maps.chain(lowers).find(|(name, _)| *name == op).map(|(_, function)| function)
}

fn opened(session: &Session, file: &str, line: Option<usize>) -> Result<Value> {
    let rules = session.state.rules.as_path();
    let path = files::path(rules, file)?;
    let text = files::read(rules, file)?;
    Ok(json!({"file": file, "uri": address(&path), "text": text, "line": line}))
}

/// The address of a file, as the language server has it.
fn address(path: &Path) -> Option<String> {
    aten2onnx_lsp::address(&path.canonicalize().ok()?)
}
