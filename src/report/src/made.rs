//! What is on top of a page: the model that was made, or that would be, in numbers; and the notes.

use super::facts::Facts;
use super::html::{Html, code, escaped};
use super::page::{bytes, list};

/// The model that a page is about. What it took and how large it is comes from the caller: a page without them depends on the model alone.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Made {
    /// The opset of the default domain.
    pub opset: Option<u32>,
    /// The IR version.
    pub ir_version: Option<i64>,
    /// The files and their sizes in bytes.
    pub files: Vec<(String, u64)>,
    /// The time of the export in seconds.
    pub seconds: Option<f64>,
}

/// Writes the table and the notes.
pub fn section(html: &mut Html, facts: &Facts) {
    let made = &facts.made;
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |name: &str, value: String| rows.push(vec![escaped(name), value]);
    if let Some(opset) = made.opset {
        row("opset", opset.to_string());
    }
    if let Some(ir_version) = made.ir_version {
        row("IR version", ir_version.to_string());
    }
    for (name, size) in &made.files {
        row("file", format!("{}, {}", code(name), bytes(*size)));
    }
    if let Some(seconds) = made.seconds {
        row("time", duration(seconds));
    }
    let notes = &facts.inspection.notes;
    if rows.is_empty() && notes.is_empty() {
        return;
    }
    html.markup("<section class=\"made\">\n");
    html.list_of_terms(&rows);
    if !notes.is_empty() {
        html.element("h2", "Notes").markup("\n");
        list(html, notes);
    }
    html.markup("</section>\n");
}

/// `12 ms`, `1.2 s`
fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds >= 1.0 => format!("{seconds:.1} s"),
        seconds => format!("{:.0} ms", (seconds * 1e3).max(1.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_on_top() {
        let mut facts = Facts::unread("model.pt2", "no");
        facts.inspection.notes = vec!["a < b".to_owned()];
        facts.made = Made {
            opset: Some(13),
            ir_version: Some(7),
            files: vec![("m.onnx".to_owned(), 1_234_567)],
            seconds: Some(0.0123),
        };
        let page = crate::page(&facts);
        let top = page.split("<h2>Error</h2>").next().unwrap_or_default();
        for text in ["13", "7", "<code>m.onnx</code>, 1.2 MB", "12 ms"] {
            assert!(top.contains(&format!("<dd>{text}</dd>")), "{text}: {top}");
        }
        assert!(top.contains("<li>a &lt; b</li>"), "{top}");
        assert_eq!((duration(2.345), duration(0.0)), ("2.3 s".to_owned(), "1 ms".to_owned()));
    }

    #[test]
    fn of_nothing_nothing_is_said() {
        assert!(!crate::page(&Facts::unread("model.pt2", "no")).contains("class=\"made\""));
    }
}
