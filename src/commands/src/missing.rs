//! `aten2onnx ops --missing`: what PyTorch has and no rule covers, by how often it is met.

use std::collections::BTreeMap;

use aten2onnx_core::error::{Error, Result};
use aten2onnx_opmap::Checked;
use aten2onnx_opmap::effects::What;
use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::{built_in, of_build};
use aten2onnx_schemas::aten::Schema;
use aten2onnx_schemas::writes::SchemaForm;

/// Where higher-order operators are handled, which are no rules.
const HIGHER_ORDER: &str = "src/translate/src/control.rs";

/// Higher-order operators of which nothing is left when a program is translated: the front end and `aten2onnx-prepare` take them away.
const TAKEN_AWAY: [&str; 2] = ["with_effects", "wrap_with_autocast"];

/// An operator that no rule covers.
#[derive(Debug)]
pub struct Missing {
    /// The overloads, without the operator's name where it has one.
    pub overloads: Vec<String>,
    /// How often it is met.
    pub met: Met,
    /// Why ONNX cannot express it; None if nobody has looked.
    pub reason: Option<String>,
    /// The line to start with: the head of a rule, or the file that handles higher-order operators.
    pub start: String,
}

/// How often an operator is met: `mappings/schemas/met.txt`.
#[derive(Debug, Default, Clone)]
pub struct Met {
    /// Families of samples of PyTorch's own tests.
    pub opinfo: usize,
    /// Calls in the sources of transformers and torchvision.
    pub code: usize,
    /// Mentions in reports of users.
    pub reports: usize,
    /// Other compilers that translate it, with commas between: torch-mlir, pnnx.
    pub peers: String,
    /// PyTorch composes it of other operators.
    pub decomposed: bool,
}

impl Met {
    /// What is met more is greater.
    fn rank(&self) -> (bool, usize, usize, usize, usize) {
        let peers = self.peers.split(", ").filter(|name| !name.is_empty()).count();
        (self.opinfo > 0, self.reports, peers, self.code, self.opinfo)
    }
}

/// The operators without a rule by name, those that are met most first.
///
/// # Errors
/// The program was built without the schemas.
pub fn missing(rules: &Rules) -> Result<Vec<(String, Missing)>> {
    let files = of_build().ok_or_else(|| Error::internal("the rules of the build cannot be read"))?;
    let text = built_in("schemas/met.txt").map_err(Error::internal)?;
    Ok(without_rule(rules, files.checked(), text))
}

/// The same for rules that were checked. `met` is the text of `schemas/met.txt`.
pub fn without_rule(rules: &Rules, checked: &Checked, met: &str) -> Vec<(String, Missing)> {
    let met: BTreeMap<&str, Met> = met.lines().filter(|line| !line.starts_with('#')).filter_map(parsed).collect();
    let mut found: BTreeMap<String, Missing> = BTreeMap::new();
    for schema in checked.schemas.aten.iter().filter(|schema| !is_covered(schema, checked, rules)) {
        let overload = schema.name.split_once('.').map_or("default", |(_, overload)| overload);
        let entry = entry(&mut found, schema.op(), &met, || format!("map {schema}"));
        entry.overloads.push(overload.to_owned());
        entry.reason = entry.reason.take().or_else(|| rules.unsupported(&schema.name).map(str::to_owned));
    }
    let unknown = |name: &&str| {
        let operator = name.strip_prefix("higher_order::");
        operator.is_some_and(|name| !aten2onnx_translate::is_known(name) && !TAKEN_AWAY.contains(&name))
    };
    for name in met.keys().copied().filter(unknown) {
        let entry = entry(&mut found, name, &met, || HIGHER_ORDER.to_owned());
        entry.overloads.push("default".to_owned());
        entry.reason = rules.unsupported(name).map(str::to_owned);
    }
    let mut sorted: Vec<(String, Missing)> = found.into_iter().collect();
    sorted.sort_by_key(|(_, one)| std::cmp::Reverse(one.met.rank()));
    sorted
}

/// The entry of an operator. The first overload says how to start.
fn entry<'f>(
    found: &'f mut BTreeMap<String, Missing>,
    op: &str,
    met: &BTreeMap<&str, Met>,
    start: impl FnOnce() -> String,
) -> &'f mut Missing {
    found.entry(op.to_owned()).or_insert_with(|| Missing {
        overloads: Vec::new(),
        met: met.get(op).cloned().unwrap_or_default(),
        reason: None,
        start: start(),
    })
}

/// `aten::relu opinfo=1 code=20 decomposed`
fn parsed(line: &str) -> Option<(&str, Met)> {
    let mut words = line.split(' ');
    let name = words.next()?;
    let mut met = Met::default();
    for word in words {
        match word.split_once('=') {
            Some(("opinfo", count)) => met.opinfo = count.parse().ok()?,
            Some(("code", count)) => met.code = count.parse().ok()?,
            Some(("reports", count)) => met.reports = count.parse().ok()?,
            Some(("peers", names)) => met.peers = names.replace(',', ", "),
            _ => met.decomposed |= word == "decomposed",
        }
    }
    Some((name, met))
}

/// Whether a rule, or what takes the place of a call, covers an overload; or it needs no rule, because it gives numbers.
fn is_covered(schema: &Schema, checked: &Checked, rules: &Rules) -> bool {
    let has = |name: &str| rules.rule_for(name).is_some();
    if has(&schema.name) || !schema.returns.iter().any(|r| r.ty.contains("Tensor")) {
        return true;
    }
    let aten = &checked.schemas.aten;
    if let Some(writes) = aten.writes(schema)
        && let Some(functional) = writes.functional
    {
        // Without its functional form, that form is the one that is missing.
        return writes.form == SchemaForm::Out || writes.form == SchemaForm::InPlace || has(&functional.name);
    }
    if aten.for_each_element(schema).is_some_and(|each| has(&each.schema.name)) {
        return true;
    }
    let replaces = |what: &What| match what {
        What::Write(write) => write.value.is_some(),
        What::Update(update) => update.value.is_some(),
        What::Rewrite(_) => true,
        What::View(_) | What::Traits(_) => false,
    };
    checked.program.facts.iter().any(|fact| fact.op == schema.name && replaces(&fact.what))
}

impl Missing {
    /// The cells of a row.
    pub fn cells(&self, name: &str) -> Vec<String> {
        let number = |count: usize| if count == 0 { String::new() } else { count.to_string() };
        let reason = match (&self.reason, self.met.decomposed) {
            (Some(reason), _) => reason.clone(),
            (None, true) => "open; `run_decompositions()` replaces it".to_owned(),
            (None, false) => "open".to_owned(),
        };
        let overloads = self.overloads.join(", ");
        vec![
            name.to_owned(),
            overloads,
            number(self.met.opinfo),
            number(self.met.code),
            number(self.met.reports),
            self.met.peers.clone(),
            reason,
            self.start.clone(),
        ]
    }
}

/// The head of a table.
pub fn head() -> Vec<String> {
    ["operator", "overloads", "OpInfo", "calls", "reports", "peers", "reason", "start with"].map(str::to_owned).to_vec()
}
