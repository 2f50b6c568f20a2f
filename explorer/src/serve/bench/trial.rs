//! The buttons `try` and `verify`: PyTorch's judgement of the rules as they are written in the page.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aten2onnx_commands::trial;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_examples::{self as examples, Judge};
use aten2onnx_opmap::tree::Example;
use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::MappingFiles;
use aten2onnx_verify::{self as verify, Settings};
use serde_json::{Value, json};

use super::Session;

/// No new calls are made after this time.
const BUDGET: Duration = Duration::from_secs(60);

/// Python is run by one page at a time.
static BUSY: Mutex<()> = Mutex::new(());

/// The rules as they are written, if they have no errors.
fn rules(session: &Session) -> Result<Arc<MappingFiles>> {
    if session.is_broken() {
        let error = Error::input("the files have errors");
        return Err(error.help("mend what the list of problems shows, then run this again"));
    }
    session.rules()
}

/// What `aten2onnx try` says of a rule.
///
/// # Errors
/// The files have errors, the rule has no example, or Python cannot be run.
pub fn examples(session: &Session, op: &str) -> Result<Value> {
    let set = rules(session)?;
    let all = set.checked().program.examples.iter();
    let wanted: Vec<&Example> = all.filter(|example| examples::target(example) == op).collect();
    if wanted.is_empty() {
        let error = Error::input(format!("`{op}` has no example"));
        return Err(error.help("write one below the rule, such as `example aten::relu(f32[2, 3])`"));
    }
    let _one = BUSY.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir()?;
    let python = session.state.python.clone();
    let mappings = Some(session.state.rules.clone());
    let judge = Judge { python, imports: Vec::new(), folder: folder.path().to_owned(), mappings }.start()?;
    let expected = trial::expected_failures(&session.state.rules);
    let tried = trial::try_examples(&wanted, &set, &Rules::of_files(Arc::clone(&set)), judge)?;
    let (text, right) = tried.shown(&|example| expected.contains(example));
    Ok(json!({"text": text, "right": right}))
}

/// What `aten2onnx verify` says of a rule.
///
/// # Errors
/// The files have errors, there is no such rule, or Python cannot be run.
pub fn calls(session: &Session, op: &str) -> Result<Value> {
    let set = rules(session)?;
    if !verify::can_check(&set.checked().program, op) {
        return Err(Error::input(format!("no calls of `{op}` can be made")).help("`try` runs its examples"));
    }
    let _one = BUSY.lock().unwrap_or_else(PoisonError::into_inner);
    let settings = Settings {
        wanted: vec![op.to_owned()],
        seed: verify::SEED,
        opsets: verify::OPSETS.to_vec(),
        typed: verify::TYPED,
        sampled: verify::SAMPLED,
        budget: Some(BUDGET),
        python: session.state.python.clone(),
        imports: Vec::new(),
        jobs: 1,
    };
    let told = Mutex::new((String::new(), true));
    verify::run(&settings, &set, &Rules::of_files(Arc::clone(&set)), &|name, row| {
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = row.lines();
        told.0 = std::iter::once(row.line(name)).chain(lines).collect::<Vec<_>>().join("\n");
        told.1 = row.faults.is_empty();
        Ok(())
    })?;
    let (text, right) = told.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(json!({"text": text, "right": right}))
}
