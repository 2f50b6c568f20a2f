//! `aten2onnx targets`: the runtimes for `--target`.

use super::report::{self, Stop};
use super::text;
use aten2onnx_onnx::targets::{self, Avoid, Target};

/// List the runtimes for `--target`: the opsets and IR versions that they support, and what they lack
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show all facts about one runtime, such as `tract`
    #[arg(value_name = "NAME", value_parser = aten2onnx_options::find_target)]
    name: Option<&'static Target>,
    /// Also print the source of each fact
    #[arg(long)]
    sources: bool,
}

/// The number of operators of which the runtime lacks a dtype.
fn operators(target: &Target) -> usize {
    let mut names: Vec<&str> = target.avoids.iter().map(|missing| missing.op).collect();
    names.dedup();
    names.len()
}

/// What a runtime takes, and how that is known.
fn facts(target: &Target) -> String {
    let ir = target.newest_ir.map_or_else(|| "not known".to_owned(), |ir| ir.to_string());
    let fastest =
        target.fastest_opset.map_or_else(String::new, |opset| format!("; models of opset {opset} run fastest"));
    let mut text = format!(
        "{}: {}\n\nopsets    {} to {}{fastest}\nIR        up to {ir}\nsource    {}\n",
        target.name(),
        target.what,
        target.oldest_opset,
        target.newest_opset,
        target.source
    );
    if !target.is_measured() {
        text.push_str("          a document: nothing was run\n");
    }
    if let Some(reason) = target.symbolic {
        text.push_str(&format!("sizes     numbers: {reason}\n"));
    }
    if let Some(reason) = target.own_sizes {
        text.push_str(&format!("names     none of sizes that only the running model determines: {reason}\n"));
    }
    if let Some(reason) = target.lacks_functions {
        text.push_str(&format!("functions none: {reason}\n"));
    }
    if let Some(most) = target.most_weights {
        text.push_str(&format!("weights   up to {most} MB\n"));
    }
    let of_dtypes =
        [("dtypes", target.lacks_dtypes), ("constants", target.lacks_constants), ("in/out", target.lacks_io_dtypes)];
    for (what, lacking) in of_dtypes.iter().filter(|(_, lacking)| !lacking.is_empty()) {
        let names: Vec<String> = lacking.iter().map(ToString::to_string).collect();
        text.push_str(&format!("{what:<9} not {}\n", names.join(", ")));
    }
    if !target.lacks.is_empty() {
        text.push_str(&format!("\nWithout\n  {}\n", target.lacks.join(", ")));
    }
    if !target.loses_nan.is_empty() {
        text.push_str(&format!("\nNaN becomes a number in\n  {}\n", target.loses_nan.join(", ")));
    }
    for (title, forms) in [("Avoided forms", target.forms), ("Forms that an export tells of", target.warns)] {
        if !forms.is_empty() {
            text.push_str(&format!("\n{title}\n"));
        }
        forms.iter().for_each(|form| text.push_str(&form_text(form)));
    }
    if !target.avoids.is_empty() {
        text.push_str("\nAvoided dtypes\n");
    }
    for missing in target.avoids {
        let names: Vec<String> = missing.dtypes.iter().map(ToString::to_string).collect();
        text.push_str(&format!("  {} {}: {}\n    {}\n", missing.op, missing.since, names.join(", "), missing.reason));
    }
    text
}

/// A form, what the runtime does with it, and the version that showed it.
fn form_text(form: &Avoid) -> String {
    let when = if form.when.is_empty() { "in every form".to_owned() } else { form.when.join(" and ") };
    format!("  {}{}: {when}\n    {} ({})\n", form.op, versions(form.since), form.reason, form.seen_in)
}

/// ` 13, 18`: versions of an operator.
fn versions(since: &[u32]) -> String {
    let numbers: Vec<String> = since.iter().map(ToString::to_string).collect();
    if numbers.is_empty() { String::new() } else { format!(" {}", numbers.join(", ")) }
}

/// Runs the command.
pub fn list_targets(args: &Args) -> Result<(), Stop> {
    if let Some(target) = args.name {
        return report::print(&facts(target));
    }
    let mut text = format!("{:21} {:10} {:8} {:10}\n", "name", "opsets", "IR up to", "facts");
    for target in targets::all() {
        let opsets = format!("{} to {}", target.oldest_opset, target.newest_opset);
        let ir = target.newest_ir.map_or_else(|| "?".to_owned(), |ir| ir.to_string());
        let mut lacks = match target.lacks.len() {
            0 => String::new(),
            count => format!(", without {}", text::count(count, "operator")),
        };
        if !target.avoids.is_empty() {
            let joint = if lacks.is_empty() { ", without" } else { " and" };
            lacks.push_str(&format!("{joint} some dtypes of {}", operators(target)));
        }
        let known = if target.is_measured() { "measured" } else { "documents" };
        text.push_str(&format!("{:21} {opsets:10} {ir:8} {known:10} {}{lacks}\n", target.name(), target.what));
        if args.sources {
            text.push_str(&format!("    {}\n", target.source));
            if !target.lacks.is_empty() {
                text.push_str(&format!("    without {}\n", target.lacks.join(", ")));
            }
        }
    }
    report::print(&text)
}
