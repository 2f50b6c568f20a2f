//! Writes docs/differences.md: the table of src/examples/src/differences.toml for readers.

use std::error::Error;
use std::fs;
use std::path::Path;

use toml::{Table, Value};

/// The generated file.
pub const TARGET: &str = "docs/differences.md";

const SOURCE: &str = "src/examples/src/differences.toml";

const HEAD: &str = "\
# Where a model may give other numbers than PyTorch

<!-- Written by `cargo run -p xtask -- differences` from src/examples/src/differences.toml. -->

A model gives PyTorch's results up to rounding: an element differs by at most a share of itself and, near 0, by at most this share of the largest
element of the result, or of 1 if that is less. The share is 1e-4 in float32, 1e-6 in float64, 1e-2 in float16, 3e-2 in bfloat16. Integers and bools are equal.
Operators stand for all their overloads, except where one is named. This page lists all exceptions that are known. The tests read the same table: a
difference that it does not list is a failure, so please report one that you find.

";

/// The text of the page.
pub fn generate(root: &Path) -> Result<String, Box<dyn Error>> {
    let table: Table = fs::read_to_string(root.join(SOURCE))?.parse()?;
    let entries = table.get("difference").and_then(Value::as_array).ok_or("there is no `difference`")?;
    let sections: Vec<String> = entries.iter().map(section).collect::<Result<_, _>>()?;
    Ok(format!("{HEAD}{}", sections.join("\n")))
}

fn section(entry: &Value) -> Result<String, Box<dyn Error>> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).ok_or(format!("an entry has no `{name}`"));
    let list = |name: &str| {
        let items = entry.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        items.iter().filter_map(Value::as_str).collect::<Vec<_>>()
    };
    let named: Vec<String> = list("operators").iter().map(|operator| format!("`{operator}`")).collect();
    let operators = if named.is_empty() { "all".to_owned() } else { named.join(", ") };
    let when: Vec<String> = list("when").into_iter().map(condition).collect::<Result<_, _>>()?;
    let when = if when.is_empty() { "any inputs".to_owned() } else { when.join(", ") };
    Ok(format!(
        "## {}\n\n{}\n\n- Operators: {}\n- With: {when}\n- Accepted: {}\n- Name in the tests: `{}`\n",
        text("title")?,
        text("why")?,
        operators,
        accepted(text("accept")?)?,
        text("id")?,
    ))
}

fn condition(name: &str) -> Result<String, String> {
    Ok(match name {
        "nan" => "a NaN in a tensor",
        "infinite" => "an infinite or NaN element or number",
        "infinite matrix" => "a matrix with an infinite or NaN element",
        "singular" => "a matrix that is singular as far as its dtype can tell",
        "half" => "float16 or bfloat16",
        "bytes" => "uint8",
        "falling" => "offsets that are not sorted",
        "unsorted" => "`sorted=False`",
        "complex" => "complex numbers",
        "large" => "an integer beyond 32 bits",
        "indefinite" => "a matrix that is not positive definite",
        "narrow" => "an image of another height that becomes one of width 1",
        "kept" => "a factor other than 1 that keeps a size",
        "constant" => "a dimension of size 1, or equal elements side by side",
        "empty" => "a tensor without elements",
        "integers" => "integers",
        "near" => "a vector of one tensor that is nearly one of another tensor",
        "no products" => "`alpha=0`",
        other => return Err(format!("unknown condition `{other}`")),
    }
    .to_owned())
}

fn accepted(name: &str) -> Result<String, String> {
    if let Some(number) = name.strip_prefix("within ") {
        return Ok(format!("elements that differ by at most {number}"));
    }
    Ok(match name {
        "equals" => "other positions of equal elements; no position is there twice",
        "any order" => "the same elements with their positions, in any order; no position is there twice",
        "touched" => {
            "any number, in elements that depend on what stands under *With*: they change if it is replaced by something else"
        }
        "touched floats" => {
            "any float, in elements that depend on what stands under *With*: they change if it is replaced by something else"
        }
        "not finite" => {
            "any number where PyTorch's is infinite or NaN; elsewhere 8 times the usual tolerance, as measured by the largest element"
        }
        "lines" => "any number beside one that is infinite or NaN in PyTorch, along the last two dimensions",
        "images" => "any number in an image of which an element is infinite or NaN",
        "rounding" => "8 times the usual tolerance, as measured by the largest element",
        "as halves" => "8 times the usual tolerance of the 16-bit dtype, as measured by the largest element",
        "moved" => "elements that differ by at most twice the largest one",
        "uncertain" => "0 or 1 where the probability is less than 1",
        "bags before" => "any number in bags from the first on whose offset falls, and in the results beside the first",
        "written paths" => "any number in the second result, beyond the length of a sequence",
        "other than nan" => {
            "NaN in any number; the other elements of the first result agree in their order, results beside the first have any elements"
        }
        other => return Err(format!("unknown comparison `{other}`")),
    }
    .to_owned())
}
