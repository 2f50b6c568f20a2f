//! `aten2onnx inspect`

use std::path::PathBuf;

use super::mappings::Mappings;
use super::report::{self, Stop};
use super::{export, text};
use aten2onnx_convert::Source;
use aten2onnx_core::error::Result;
use aten2onnx_core::weights::Links;
use aten2onnx_export::inspect::{self, Aim, Described, Inspection, Operator, Port, Reason, Verdict, Weights};
use aten2onnx_export::inspect_onnx::{inspect_onnx, is_onnx};
use aten2onnx_export::quantized::{Quantized, Stored};
use aten2onnx_frontend::{self as frontend, Contents};
use aten2onnx_frontend_torchscript::about::Parameter;
use aten2onnx_onnx::targets::Target;
use aten2onnx_report::{self as page, Facts};
use aten2onnx_rules::Rules;

/// The number of calls to print per operator.
const PLACES: usize = 3;
/// The number of characters of a text to print.
const SHOWN: usize = 100;

const EXAMPLES: &str = "\
Examples:
  aten2onnx inspect model.pt2                  inputs, outputs, weights, operators, and which opsets support it
  aten2onnx inspect model.pt2 --opset 11       what opset 11 does not support
  aten2onnx inspect model.pt2 --target tract   what is replaced for a runtime, or impossible there
  aten2onnx inspect model.pt                   methods of a TorchScript file, and the inputs that have to be described
  aten2onnx inspect model.onnx                 the same of an ONNX model, and the opsets that it can be converted to
  aten2onnx inspect model.pt2 --html page.html a page about the model, in one file
  aten2onnx inspect model.pt2 --json | jq '.operators[].operator'";

/// Show what is in a .pt2, TorchScript or ONNX file, and which opsets it can be exported to
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The .pt2, TorchScript or ONNX file; `-` for stdin
    #[arg(value_name = "IN.pt2")]
    input: PathBuf,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    /// Write a page about the model, in one file, instead of printing
    #[arg(long, value_name = "OUT.html", conflicts_with = "json")]
    html: Option<PathBuf>,
    /// Check only this opset
    #[arg(long, value_name = "N", value_parser = aten2onnx_options::parse_opset)]
    opset: Option<u32>,
    /// Show what is replaced for a runtime, such as `tract`, or what is impossible there
    #[arg(long, value_name = "NAME", value_parser = aten2onnx_options::find_target)]
    target: Option<&'static Target>,
    /// Read external data of an ONNX model also through symbolic links that lead out of its folder, as in a cache of Hugging Face
    #[arg(long)]
    follow_links: bool,
    #[command(flatten)]
    source: aten2onnx_options::SourceOptions,
    #[command(flatten)]
    mappings: Mappings,
}

/// What a file is.
enum Model {
    Onnx(Box<Source>),
    Program(Box<Contents>),
}

/// Runs the command.
pub fn inspect_model(args: &Args, build: &Rules) -> Result<(), Stop> {
    let rules = args.mappings.over(build)?;
    let file = export::open(&args.input)?;
    let aim = Aim { opset: args.opset, target: args.target };
    let (name, size) = (text::file_name(&file.path), file.size() as u64);
    let model = match is_onnx(&file) {
        true => Model::Onnx(Box::new(Source::of(file)?.with_links(Links::of(args.follow_links)))),
        false => Model::Program(Box::new(frontend::contents(file, &args.source, &rules)?)),
    };
    if let Some(path) = &args.html {
        let facts = match model {
            Model::Onnx(source) => Facts::of_onnx(&source, &rules, aim)?,
            Model::Program(contents) => Facts::of_contents(*contents, &rules, aim)?,
        };
        return Ok(page::save(&facts.with_file(&name, size), path)?);
    }
    let inspection = match model {
        Model::Onnx(source) => inspect_onnx(&source, &rules, aim)?.0,
        Model::Program(contents) => inspect::inspect_contents(*contents, &rules, aim)?,
    };
    if args.json {
        // Serializing text and numbers cannot fail.
        let text = serde_json::to_string_pretty(&inspection).unwrap_or_default();
        return report::print(&format!("{text}\n"));
    }
    report::print(&render(&inspection))
}

/// An inspection as text.
pub fn render(inspection: &Inspection) -> String {
    let weights = &inspection.weights;
    let parts = [
        title(inspection),
        described(inspection.described.as_ref()),
        methods(inspection),
        ports("Inputs", &inspection.inputs),
        ports("Outputs", &inspection.outputs),
        symbols(inspection),
        conditions(inspection),
        format!(
            "Weights\n  {}, {} elements, {}{}\n",
            text::count(weights.tensors, "tensor"),
            weights.elements,
            text::bytes(weights.bytes),
            dtypes(weights)
        ),
        operators(&inspection.operators),
        opsets(&inspection.opsets),
        quantized(&inspection.opsets),
        replaced(inspection),
        notes(&inspection.notes),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

fn title(inspection: &Inspection) -> String {
    let producer = inspection.described.as_ref().map(producer).filter(|producer| !producer.is_empty());
    let writer = match (&inspection.torchscript, &inspection.torch_version) {
        (None, None) => producer.map(|producer| format!(", written by {producer}")).unwrap_or_default(),
        (Some(facts), _) => format!(", a TorchScript archive of version {}", facts.version),
        (None, Some(version)) => format!(", written by torch {version}"),
    };
    format!("{}{writer}\n", inspection.source)
}

fn producer(described: &Described) -> String {
    format!("{} {}", described.producer_name, described.producer_version).trim().to_owned()
}

/// What an ONNX model says of itself: its documentation, that of its inputs and outputs, and its metadata.
fn described(described: Option<&Described>) -> String {
    let Some(described) = described else { return String::new() };
    let whole = Some(&described.doc_string).filter(|text| !text.is_empty());
    let mut docs: Vec<Vec<String>> = whole.iter().map(|text| vec!["the model".to_owned(), beginning(text)]).collect();
    docs.extend(described.value_docs.iter().map(|(name, text)| vec![name.clone(), beginning(text)]));
    let entry = |(key, value): (&String, &String)| vec![key.clone(), beginning(value)];
    let parts = [
        section("Documentation", &docs),
        section("Metadata", &described.metadata.iter().map(entry).collect::<Vec<_>>()),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The beginning of a text in one line, with the number of characters of a longer one.
fn beginning(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let count = line.chars().count();
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}.. ({count} characters)", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// The methods of a TorchScript archive, each with its parameters.
fn methods(inspection: &Inspection) -> String {
    let methods = inspection.torchscript.iter().flat_map(|facts| &facts.methods);
    let shown: Vec<String> = methods
        .map(|method| {
            let rows: Vec<Vec<String>> = method.parameters.iter().map(parameter).collect();
            let lines: Vec<String> = text::table(&rows).lines().map(|line| format!("    {line}\n")).collect();
            format!("  {}\n{}", method.signature, lines.concat())
        })
        .collect();
    if shown.is_empty() { String::new() } else { format!("Methods\n{}", shown.concat()) }
}

fn parameter(parameter: &Parameter) -> Vec<String> {
    let known = match (&parameter.recorded, &parameter.default, &parameter.describe) {
        (Some(recorded), ..) => format!("recorded: {recorded}"),
        (_, Some(default), _) => format!("default: {default}"),
        (_, _, Some(describe)) => format!("to be described, such as --input \"{describe}\""),
        _ => String::new(),
    };
    vec![parameter.name.clone(), known]
}

/// `: 12 float32, 1 int64`
fn dtypes(weights: &Weights) -> String {
    let counts: Vec<String> = weights.dtypes.iter().map(|(dtype, count)| format!("{count} {dtype}")).collect();
    if counts.is_empty() { String::new() } else { format!(" ({})", counts.join(", ")) }
}

/// A heading and an indented table.
fn section(title: &str, rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = text::table(rows).lines().map(|line| format!("  {line}\n")).collect();
    format!("{title}\n{}", lines.concat())
}

fn ports(title: &str, ports: &[Port]) -> String {
    let row = |port: &Port| {
        let ty = match (&port.dtype, &port.shape) {
            (Some(dtype), Some(shape)) => format!("{dtype}[{}]", shape.join(", ")),
            _ => port.kind.to_owned(),
        };
        let kind = if port.kind.contains("mutation") { port.kind.to_owned() } else { String::new() };
        vec![port.name.clone(), ty, kind]
    };
    section(title, &ports.iter().map(row).collect::<Vec<_>>())
}

fn symbols(inspection: &Inspection) -> String {
    let rows = inspection.symbols.iter().map(|(name, bounds)| {
        let least = bounds.min.map_or("any".to_owned(), |min| min.to_string());
        let most = bounds.max.map_or("any".to_owned(), |max| max.to_string());
        vec![name.clone(), format!("{least} to {most}")]
    });
    section("Symbolic dimensions", &rows.collect::<Vec<_>>())
}

/// Where the model is right.
fn conditions(inspection: &Inspection) -> String {
    let rows: Vec<Vec<String>> = inspection.conditions.iter().map(|text| vec![text.clone()]).collect();
    section("Right only where", &rows)
}

fn operators(operators: &[Operator]) -> String {
    let row = |operator: &Operator| {
        let mut places: Vec<&str> = Vec::new();
        for call in &operator.calls {
            let place = call.module.as_deref().filter(|module| !module.is_empty()).unwrap_or(&call.node);
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let more = places.len().saturating_sub(PLACES);
        let mut shown = places.into_iter().take(PLACES).collect::<Vec<_>>().join(", ");
        if more > 0 {
            shown.push_str(&format!(" and {more} more"));
        }
        vec![format!("{:>5}", operator.count), operator.operator.clone(), shown]
    };
    section("Operators", &operators.iter().map(row).collect::<Vec<_>>())
}

/// Groups opsets with the same reasons.
fn opsets(verdicts: &[Verdict]) -> String {
    let mut groups: Vec<(&[Reason], Vec<u32>)> = Vec::new();
    for verdict in verdicts {
        match groups.iter_mut().find(|(reasons, _)| *reasons == verdict.reasons.as_slice()) {
            Some((_, opsets)) => opsets.push(verdict.opset),
            None => groups.push((&verdict.reasons, vec![verdict.opset])),
        }
    }
    let mut shown = String::from("Opsets\n");
    for (reasons, opsets) in groups {
        let opsets = text::ranges(&opsets);
        shown.push_str(&format!("  {opsets}: {}\n", if reasons.is_empty() { "yes" } else { "no" }));
        for reason in reasons {
            shown.push_str(&why(reason));
        }
    }
    shown
}

/// What quantized weights are written as. Opsets that write the same are grouped.
fn quantized(verdicts: &[Verdict]) -> String {
    let mut groups: Vec<(Vec<Vec<String>>, Vec<u32>)> = Vec::new();
    for verdict in verdicts {
        let Some(found) = &verdict.quantized else { continue };
        let shown = stored(found);
        match groups.iter_mut().find(|(known, _)| *known == shown) {
            Some((_, opsets)) => opsets.push(verdict.opset),
            None => groups.push((shown, vec![verdict.opset])),
        }
    }
    let rows: Vec<Vec<String>> = (groups.into_iter())
        .flat_map(|(rows, opsets)| {
            let opsets = format!("opset {}", text::ranges(&opsets));
            rows.into_iter().enumerate().map(move |(i, row)| {
                let first = if i == 0 { opsets.clone() } else { String::new() };
                std::iter::once(first).chain(row).collect()
            })
        })
        .collect();
    section("Quantized weights", &rows)
}

/// A row for each dtype, and one for their scales and the average.
fn stored(found: &Quantized) -> Vec<Vec<String>> {
    let row = |(dtype, stored): (&String, &Stored)| {
        let count = format!("{} {dtype}", stored.tensors);
        vec![count, format!("{} weights", stored.weights), text::bytes(stored.bytes)]
    };
    let average = format!("{:.2} bits per weight", found.bits_per_weight);
    let total = vec!["scales and zero points".to_owned(), average, text::bytes(found.scale_bytes)];
    found.dtypes.iter().map(row).chain([total]).collect()
}

/// What is replaced for the runtime.
fn replaced(inspection: &Inspection) -> String {
    let Some(target) = &inspection.target else { return String::new() };
    let rows: Vec<Vec<String>> = (inspection.opsets.iter().flat_map(|verdict| &verdict.replaced))
        .map(|(what, count)| vec![format!("{count:>5}"), what.clone()])
        .collect();
    section(&format!("Replaced for {target}"), &rows)
}

fn why(reason: &Reason) -> String {
    let mut shown = format!("    {}\n", reason.message.replace('\n', "\n    "));
    for place in &reason.place {
        shown.push_str(&format!("      --> {place}\n"));
    }
    if let Some(opset) = reason.needs_opset {
        shown.push_str(&format!("      help: use opset {opset}\n"));
    }
    if let Some(help) = &reason.help {
        shown.push_str(&format!("      help: {help}\n"));
    }
    shown
}

fn notes(notes: &[String]) -> String {
    section("Notes", &notes.iter().map(|note| vec![note.clone()]).collect::<Vec<_>>())
}
