//! Runs a call that was typed: `aten::gelu(f16[2, n], approximate = "tanh") with n = 3`.

use std::sync::Arc;

use aten2onnx_builder::passes::Passes;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_examples::{self as examples, Judge};
use aten2onnx_opmap::source::Sources;
use aten2onnx_opmap::tree::Example;
use aten2onnx_opmap::{check_with_base, render};
use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::MappingFiles;

use super::state::State;
use super::view::{drawn, escaped, graph};

/// The name of the file that a call is in, for errors.
const FILE: &str = "call";

/// The call as an example that fits its rule.
fn parsed(set: &MappingFiles, call: &str) -> Result<Example> {
    let checked = set.checked();
    let mut base = Sources::default();
    for file in &checked.sources.files {
        base.add(file.path.clone(), file.text.as_str());
    }
    let call = call.trim().trim_start_matches("example ");
    let with = if call.contains(" with ") { String::new() } else { symbols(call) };
    let mut own = Sources::default();
    own.add(FILE.to_owned(), format!("example {call}{with}\n"));
    let of_call = check_with_base(base, own, checked.schemas.clone());
    if !of_call.diagnostics.is_empty() {
        return Err(Error::input(render::render(&of_call.sources, &of_call.diagnostics, false)));
    }
    let found = of_call.program.examples.iter().find(|example| of_call.is_own(example.span.file));
    let missing = || Error::input("this is no call").help("write a call such as `aten::gelu(f32[2, 3])`");
    found.cloned().ok_or_else(missing)
}

/// ` with n = 2, m = 3` for the symbolic sizes of a call: each needs a value for the comparison.
fn symbols(call: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    // The innermost brackets are those of sizes.
    for part in call.split('[').skip(1).filter_map(|rest| Some(rest.split_once(']')?.0)) {
        for name in part.split(',').map(str::trim) {
            let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if is_name && !matches!(name, "true" | "false" | "none") && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let values: Vec<String> = names.iter().zip(2..).map(|(name, value)| format!("{name} = {value}")).collect();
    if values.is_empty() { String::new() } else { format!(" with {}", values.join(", ")) }
}

/// The graphs of a call as a part of a page.
pub fn draw_call(set: &Arc<MappingFiles>, call: &str, opsets: &[u32]) -> String {
    let example = match parsed(set, call) {
        Ok(example) => example,
        Err(error) => return refusal(&error),
    };
    let mut html = format!("<h3>{}</h3><div class=\"pair\">", escaped(example.text.trim_start_matches("example ")));
    for opset in opsets {
        html.push_str(&drawn(&format!("opset {opset}"), &graph(set, &example, *opset), None));
    }
    html + "</div>"
}

/// What PyTorch and ONNX Runtime say of the call at all opsets, as a part of a page.
pub fn compare(state: &State, set: &Arc<MappingFiles>, call: &str) -> String {
    match compared(state, set, call) {
        Ok(lines) => lines.iter().map(|line| format!("<pre>{}</pre>", escaped(line))).collect(),
        Err(error) => refusal(&error),
    }
}

fn compared(state: &State, set: &Arc<MappingFiles>, call: &str) -> Result<Vec<String>> {
    let example = parsed(set, call)?;
    let rules = Rules::of_files(Arc::clone(set));
    let tried = examples::build_example(0, &example, set.checked(), &rules, Passes::NONE);
    let mut lines = tried.failures;
    if let Some(record) = tried.record {
        let folder = tempfile::tempdir()?;
        let judge = Judge {
            python: state.python.clone(),
            imports: Vec::new(),
            folder: folder.path().to_owned(),
            mappings: Some(state.rules.clone()),
        };
        lines.extend(judge.judge(&[record])?.values().flat_map(|verdict| verdict.lines()));
    }
    if lines.is_empty() {
        lines.push("The results are those of PyTorch at every opset that has a form.".to_owned());
    }
    if !tried.refused.is_empty() {
        let opsets: Vec<String> = tried.refused.iter().map(u32::to_string).collect();
        lines.push(format!("Not at opset {}.", opsets.join(", ")));
    }
    Ok(lines)
}

fn refusal(error: &Error) -> String {
    let help = error.help.as_deref().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
    format!("<pre class=\"problem\">{}</pre>", escaped(&format!("{error}{help}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbolic_sizes_of_a_call_get_values() {
        assert_eq!(symbols("aten::gelu(f16[2, n], approximate = \"tanh\")"), " with n = 2");
        assert_eq!(symbols("aten::cat([f32[n, m], f32[n, 3]], 0)"), " with n = 2, m = 3");
        assert_eq!(symbols("aten::any.dims(bool[2], [true, none])"), "");
    }
}
