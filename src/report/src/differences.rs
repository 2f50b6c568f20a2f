//! A page about what differs between two models, in one file without scripts.

use std::path::Path;

use super::html::{Html, code, escaped};
use super::page::{head, section};
use aten2onnx_core::error::Result;
use serde::Deserialize;

/// Of more values, only the first are listed.
const VALUES: usize = 200;

/// What differs between two models.
#[derive(Debug, Default, Deserialize)]
pub struct Differences {
    /// The name of the first model.
    pub first: String,
    /// The name of the second model.
    pub second: String,
    /// Titles, and lines that begin with `-` for what only the first model has, and with `+` for the second one.
    pub sections: Vec<(String, Vec<String>)>,
    /// The values that were compared, if both models were run, in the order in which the first model computes them.
    #[serde(default)]
    pub values: Vec<ComparedValue>,
}

/// A value of both models that was compared.
#[derive(Debug, Default, Deserialize)]
pub struct ComparedValue {
    /// Its name in the first model.
    pub first: String,
    /// Its name in the second model.
    pub second: String,
    /// The node of the first model that computes it.
    pub node: String,
    /// How the values were matched: `structure`, `name`, `form` or `output`.
    pub matched: String,
    /// Whether they are equal within the tolerance.
    pub equal: bool,
    /// What differs, or the largest difference.
    pub text: String,
}

/// The page.
pub fn page(differences: &Differences) -> String {
    let mut html = Html::default();
    head(&mut html, &format!("{} and {}", differences.first, differences.second), "what differs; ");
    if differences.sections.is_empty() {
        html.element("p", "The graphs, weights and texts of the models are equal.");
    }
    if !differences.values.is_empty() {
        section(&mut html, "Values", |html| values(html, differences));
    }
    for (title, lines) in &differences.sections {
        section(&mut html, title, |html| {
            html.markup("<div class=\"changes\">\n");
            for line in lines {
                let class = if line.starts_with('+') { "yes" } else { "no" };
                html.format(format_args!("<pre class=\"{class}\">{}</pre>\n", escaped(line)));
            }
            html.markup("</div>\n");
        });
    }
    html.markup("</main>\n</body>\n</html>\n");
    html.finish()
}

fn values(html: &mut Html, differences: &Differences) {
    let wrong = differences.values.iter().filter(|value| !value.equal);
    let count = wrong.clone().count();
    match differences.values.iter().find(|value| !value.equal) {
        Some(first) => {
            let (name, node) = (code(&first.first), code(&first.node));
            html.format(format_args!(
                "<p>The first value that differs is {name}, of {node}: {}.",
                escaped(&first.text)
            ));
            html.format(format_args!(" {count} of {} differ.</p>\n", differences.values.len()));
        }
        None => {
            html.format(format_args!("<p>All {} are equal within the tolerance.</p>\n", differences.values.len()));
        }
    }
    let row = |value: &ComparedValue| {
        let mark = if value.equal { "equal" } else { "<strong>differs</strong>" };
        vec![
            mark.to_owned(),
            code(&value.first),
            code(&value.second),
            escaped(&value.matched),
            escaped(&value.node),
            escaped(&value.text),
        ]
    };
    // Those that differ are what the page is for.
    let shown: Vec<Vec<String>> =
        wrong.chain(differences.values.iter().filter(|value| value.equal)).take(VALUES).map(row).collect();
    let left = differences.values.len().saturating_sub(shown.len());
    html.table(&["", &differences.first, &differences.second, "matched by", "node", "difference"], &shown, &[]);
    if left > 0 {
        html.format(format_args!("<p>{left} more are left out.</p>\n"));
    }
}

/// Writes the page to a file, which appears when it is complete.
///
/// # Errors
/// The file cannot be written.
pub fn save(differences: &Differences, path: &Path) -> Result<()> {
    super::written(path, &page(differences))
}
