//! `aten2onnx ops`: the matrix of operators and opsets, computed at build time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::ValueEnum;

use super::mappings::Mappings;
use super::missing;
use super::report::{self, Stop};
use super::text;
use aten2onnx_core::error::Result;
use aten2onnx_onnx::facts::{MAX_OPSET, MIN_OPSET};
use aten2onnx_options::SourceOptions;
use aten2onnx_rules::{RuleRef, Rules, Support};

const EXAMPLES: &str = "\
Examples:
  aten2onnx ops                          every operator and the opsets that support it
  aten2onnx ops --opset 11               what opset 11 supports
  aten2onnx ops --format json > ops.json
  aten2onnx ops --missing                what PyTorch has and no rule covers
  aten2onnx ops --of model.pt2           the overloads whose rules a model needs";

/// List the operators that can be exported, by opset
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Only this opset
    #[arg(long, value_name = "N", value_parser = aten2onnx_options::parse_opset)]
    opset: Option<u32>,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// List the overloads whose rules these models need, one a line, in the place of all operators
    #[arg(long, value_name = "MODEL.pt2", num_args = 1.., conflicts_with_all = ["opset", "format"])]
    of: Vec<PathBuf>,
    /// List what PyTorch has and no rule covers, what is met most first
    #[arg(long, conflicts_with_all = ["opset", "of"])]
    missing: bool,
    #[command(flatten)]
    mappings: Mappings,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// Aligned columns
    Text,
    /// A Markdown table
    Md,
    /// An object for each operator
    Json,
}

/// An operator.
#[derive(Debug, serde::Serialize)]
struct Row {
    /// `aten::add.Tensor`
    operator: String,
    /// The opsets where every call works.
    full: Vec<u32>,
    /// The opsets where some calls are refused.
    partial: Vec<u32>,
    /// Why it is not supported everywhere.
    reasons: Vec<String>,
    /// The rule, `mappings/..:line`.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
}

/// Runs the command.
pub fn list_operators(args: &Args, build: &Rules) -> Result<(), Stop> {
    let rules = &args.mappings.over(build)?;
    if !args.of.is_empty() {
        return report::print(&of_models(&args.of, rules)?);
    }
    if args.missing {
        return report::print(&without_rules(rules, args.format)?);
    }
    let rows = rows(rules, args.opset);
    let text = match args.format {
        Format::Text => as_text(&rows, args.opset),
        Format::Md => as_markdown(&rows, args.opset),
        Format::Json => as_json(&rows),
    };
    report::print(&text)
}

/// The overloads whose rules models need, a line each. What has no rule is told.
fn of_models(models: &[PathBuf], rules: &Rules) -> Result<String, Stop> {
    let mut found = BTreeSet::new();
    for path in models {
        let program = aten2onnx_frontend::read(path, &SourceOptions::default(), rules)?;
        let needed = aten2onnx_export::needed(program, rules, MAX_OPSET)?;
        found.extend(needed.rules);
        for missing in needed.missing {
            report::say(&format!("{}: {}", path.display(), missing.reason));
        }
    }
    Ok(found.into_iter().map(|name| name + "\n").collect())
}

/// What no rule covers.
fn without_rules(rules: &Rules, format: Format) -> Result<String> {
    let found = missing::missing(rules)?;
    let lines = || found.iter().map(|(name, one)| one.cells(name));
    Ok(match format {
        Format::Text => text::table(&std::iter::once(missing::head()).chain(lines()).collect::<Vec<_>>()),
        Format::Md => {
            let row = |(name, one): &(String, missing::Missing)| {
                let is_code = |head: &str| ["operator", "overloads", "start with"].contains(&head);
                let cells = missing::head().into_iter().zip(one.cells(name));
                let cells = cells.map(|(head, cell)| if is_code(&head) { format!("`{cell}`") } else { cell });
                markdown(&cells.collect::<Vec<_>>())
            };
            markdown(&missing::head())
                + &"|---".repeat(missing::head().len())
                + "|\n"
                + &found.iter().map(row).collect::<String>()
        }
        Format::Json => {
            let rows: Vec<BTreeMap<String, String>> =
                lines().map(|cells| missing::head().into_iter().zip(cells).collect()).collect();
            serde_json::to_string_pretty(&rows).unwrap_or_default() + "\n"
        }
    })
}

/// A row of a table.
fn markdown(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn rows(rules: &Rules, only: Option<u32>) -> Vec<Row> {
    let supported = rules.names().into_iter().filter_map(|name| {
        let rule = rules.find(name)?;
        let at =
            |wanted: Support| opsets(&rule, wanted).filter(|opset| only.is_none_or(|only| only == *opset)).collect();
        let (full, partial) = (at(Support::Full), at(Support::Partial));
        Some(Row { operator: name.to_owned(), full, partial, reasons: all_reasons(&rule), rule: Some(rule.location()) })
    });
    let unsupported = rules.all_unsupported().into_iter().map(|(name, reason)| Row {
        operator: name.to_owned(),
        full: Vec::new(),
        partial: Vec::new(),
        reasons: vec![reason.to_owned()],
        rule: None,
    });
    let mut rows: Vec<Row> = supported.chain(unsupported).collect();
    rows.sort_by(|a, b| a.operator.cmp(&b.operator));
    rows
}

fn opsets(rule: &RuleRef<'_>, wanted: Support) -> impl Iterator<Item = u32> {
    (MIN_OPSET..=MAX_OPSET).filter(move |opset| rule.support(*opset) == wanted)
}

/// Why a rule is not supported everywhere, without repetitions.
fn all_reasons(rule: &RuleRef<'_>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for reason in (MIN_OPSET..=MAX_OPSET).flat_map(|opset| rule.reasons(opset)) {
        if !all.iter().any(|known| known == reason) {
            all.push(reason.to_owned());
        }
    }
    all
}

impl Row {
    /// `yes`, `partly`, `no`
    fn answer(&self) -> &'static str {
        match (self.full.is_empty(), self.partial.is_empty()) {
            (false, _) => "yes",
            (true, false) => "partly",
            (true, true) => "no",
        }
    }

    /// Such as `9-15`, or `16-17, partly 9-15`.
    fn opsets(&self) -> String {
        let parts = [(&self.full, ""), (&self.partial, "partly ")];
        let parts = parts.into_iter().filter(|(opsets, _)| !opsets.is_empty());
        let parts: Vec<String> = parts.map(|(opsets, word)| format!("{word}{}", text::ranges(opsets))).collect();
        if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
    }

    fn cells(&self, only: Option<u32>) -> Vec<String> {
        let support = if only.is_some() { self.answer().to_owned() } else { self.opsets() };
        let whole = only.is_some() && self.answer() == "yes";
        vec![self.operator.clone(), support, if whole { String::new() } else { self.reasons.join("; ") }]
    }
}

fn head(only: Option<u32>) -> Vec<String> {
    let support = only.map_or("opsets".to_owned(), |opset| format!("opset {opset}"));
    vec!["operator".to_owned(), support, "why not everywhere".to_owned()]
}

fn as_text(rows: &[Row], only: Option<u32>) -> String {
    let lines: Vec<Vec<String>> = std::iter::once(head(only)).chain(rows.iter().map(|row| row.cells(only))).collect();
    text::table(&lines)
}

fn as_markdown(rows: &[Row], only: Option<u32>) -> String {
    let mut text = markdown(&head(only));
    text.push_str("|---|---|---|\n");
    for row in rows {
        let mut cells = row.cells(only);
        if let Some(operator) = cells.first_mut() {
            *operator = format!("`{operator}`");
        }
        text.push_str(&markdown(&cells));
    }
    text
}

fn as_json(rows: &[Row]) -> String {
    // Serializing text and numbers cannot fail.
    let mut text = serde_json::to_string_pretty(rows).unwrap_or_default();
    text.push('\n');
    text
}
