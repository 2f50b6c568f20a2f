//! The overloads that a list of operators stands for: with their functional forms, and with what a program is rewritten to.

use std::collections::BTreeSet;

use aten2onnx_opmap::Checked;
use aten2onnx_opmap::effects::{Term, What};
use aten2onnx_opmap::tree::Program;
use aten2onnx_schemas::nearest::nearest;

/// What is made of any program: writes become new values, views are undone, batches are moved.
const PREPARED: [&str; 11] = [
    "aten::arange",
    "aten::clone",
    "aten::expand_as",
    "aten::movedim.int",
    "aten::permute",
    "aten::reshape",
    "aten::reshape_as",
    "aten::scatter.src",
    "aten::to.dtype",
    "aten::view",
    "aten::view_as",
];

/// The overloads with a rule that a name stands for: that overload (`aten::add.Tensor`), all overloads of an operator without one of this name
/// (`aten::add`, `aten::sum.*`), or the functional form (`aten::add_.Tensor`).
///
/// # Errors
/// No rule is meant.
pub fn resolve<'n>(checked: &Checked, names: impl IntoIterator<Item = &'n str>) -> Result<BTreeSet<String>, String> {
    let mut found: BTreeSet<String> =
        PREPARED.iter().filter(|name| checked.program.map(name).is_some()).map(|name| (*name).to_owned()).collect();
    for name in names {
        let name = name.strip_suffix(".default").unwrap_or(name);
        let meant = meant(checked, name);
        if meant.is_empty() {
            return Err(unknown(&checked.program, name));
        }
        for one in meant {
            with_replacements(checked, one, &mut found);
        }
    }
    Ok(found)
}

/// The overloads that a name stands for, with or without a rule of their own.
fn meant(checked: &Checked, name: &str) -> Vec<String> {
    let program = &checked.program;
    if let Some(op) = name.strip_suffix(".*") {
        return overloads(program, op);
    }
    if program.map(name).is_some() {
        return vec![name.to_owned()];
    }
    let (op, overload) = name.split_once('.').unwrap_or((name, ""));
    if overload.is_empty() && !overloads(program, op).is_empty() {
        return overloads(program, op);
    }
    // Assertions and what gives sizes need no rule.
    let gives_none = |name: &str| {
        checked.schemas.aten.get(name).is_some_and(|schema| schema.returns.iter().all(|r| !r.ty.contains("Tensor")))
    };
    if gives_none(name) || !replacements(checked, name).is_empty() {
        return vec![name.to_owned()];
    }
    let Some(view) = op.strip_suffix("_copy") else { return Vec::new() };
    let view = if overload.is_empty() { view.to_owned() } else { format!("{view}.{overload}") };
    if program.map(&view).is_some() { vec![view] } else { Vec::new() }
}

/// The overloads of an operator that have rules.
fn overloads(program: &Program, op: &str) -> Vec<String> {
    let is_of = |name: &str| name.strip_prefix(op).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    program.operator_maps().map(|map| &map.function.name).filter(|name| is_of(name)).cloned().collect()
}

/// Adds an overload, and what calls of it are rewritten to.
fn with_replacements(checked: &Checked, name: String, found: &mut BTreeSet<String>) {
    let mut open = vec![name];
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        open.extend(replacements(checked, &name));
        if checked.program.map(&name).is_some() {
            found.insert(name);
        }
    }
}

/// What may take the place of calls of an overload: its functional form, and what facts say of it.
fn replacements(checked: &Checked, name: &str) -> Vec<String> {
    let schemas = &checked.schemas;
    let mut found = Vec::new();
    if let Some(schema) = schemas.aten.get(name) {
        found.extend(schemas.aten.writes(schema).and_then(|writes| writes.functional).map(|other| other.name.clone()));
        found.extend(schemas.aten.for_each_element(schema).map(|each| each.schema.name.clone()));
    }
    for fact in checked.program.facts.iter().filter(|fact| fact.op == name) {
        let term = match &fact.what {
            What::View(view) => view.inverse.as_ref(),
            What::Write(write) => write.value.as_ref(),
            What::Update(update) => update.value.as_ref(),
            What::Rewrite(rewrite) => Some(&rewrite.value),
            What::Traits(_) => None,
        };
        if let Some(term) = term {
            calls(term, &mut found);
        }
    }
    found
}

/// The operators that a term calls.
fn calls(term: &Term, found: &mut Vec<String>) {
    match term {
        Term::Call(call) => {
            found.push(call.op.clone());
            call.args.iter().for_each(|(_, value)| calls(value, found));
        }
        Term::List(items) => items.iter().for_each(|item| calls(item, found)),
        Term::Sum(a, b) | Term::Range(a, b) => {
            calls(a, found);
            calls(b, found);
        }
        Term::Inverse(x) | Term::Dtype(x) | Term::Rank(x) => calls(x, found),
        _ => {}
    }
}

fn unknown(program: &Program, name: &str) -> String {
    if let Some(item) = program.unsupported.iter().find(|item| item.name == name) {
        return format!("`{name}` cannot be exported: {}", item.reason);
    }
    let near = nearest(name, program.operator_maps().map(|map| map.function.name.as_str()));
    let help = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    format!("there is no rule for `{name}`{help}")
}
