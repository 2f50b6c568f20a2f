//! The matrix as a self-contained HTML page, with a search field.

use std::fmt::Write;

use super::{Level, Row, Table};
use aten2onnx_opmap::coverage::ranges;

const STYLE: &str = "\
:root { color-scheme: light dark; --line: light-dark(#ddd, #444); --back: light-dark(#fff, #1b1b1b); }
body { font: 14px/1.4 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; background: var(--back); }
input { font: inherit; padding: .3rem .6rem; width: 20rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th { position: sticky; top: 0; background: var(--back); font-weight: 600; text-align: left; }
th, td { border-bottom: 1px solid var(--line); padding: .15rem .4rem; vertical-align: top; }
td.l { text-align: center; width: 1.4rem; padding: .15rem 0; }
.full { background: light-dark(#c9ebcf, #1f5130); }
.partial { background: light-dark(#fbe7b0, #5d4a10); }
.none { background: light-dark(#f6cccc, #5c2323); }
code { font-size: 13px; }
.why { color: light-dark(#555, #aaa); }
";

const SCRIPT: &str = "\
const search = document.querySelector('input');
const rows = [...document.querySelectorAll('tr[data-name]')];
search.addEventListener('input', () => {
  const words = search.value.toLowerCase().split(/\\s+/);
  for (const row of rows) row.hidden = !words.every(word => row.dataset.name.includes(word));
});
";

impl Table {
    /// As an HTML page.
    pub fn html(&self) -> String {
        let mut page = String::from("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n");
        page.push_str(
            "<meta name=\"viewport\" content=\"width=device-width\">\n<title>Support of PyTorch's operators</title>\n",
        );
        let _ = write!(page, "<style>\n{STYLE}</style>\n<h1>Support of PyTorch's operators</h1>\n");
        let _ = writeln!(
            page,
            "<p>{} overloads have a rule, {} cannot be expressed in ONNX.\n<span class=\"full\">&nbsp;F&nbsp;</span> every call works, \
             <span class=\"partial\">&nbsp;P&nbsp;</span> some calls are refused, <span class=\"none\">&nbsp;–&nbsp;</span> all are.</p>",
            self.rows.len(),
            self.unsupported.len()
        );
        page.push_str("<p><input type=\"search\" placeholder=\"Search: aten::conv\" aria-label=\"Search\"></p>\n");
        self.html_grid(&mut page);
        self.html_unsupported(&mut page);
        let _ = write!(page, "<script>\n{SCRIPT}</script>\n</html>\n");
        page
    }

    fn html_grid(&self, page: &mut String) {
        page.push_str("<table>\n<thead><tr><th>overload</th>");
        for opset in &self.opsets {
            let _ = write!(page, "<th>{opset}</th>");
        }
        page.push_str("<th>reasons</th></tr></thead>\n<tbody>\n<tr><td>full</td>");
        for index in 0..self.opsets.len() {
            let _ = write!(page, "<td class=\"l\">{}</td>", self.count(index, Level::Full));
        }
        page.push_str("<td></td></tr>\n");
        for row in &self.rows {
            html_row(row, page);
        }
        page.push_str("</tbody>\n</table>\n");
    }

    fn html_unsupported(&self, page: &mut String) {
        if self.unsupported.is_empty() {
            return;
        }
        page.push_str("<h2>Not in ONNX</h2>\n<table>\n<tbody>\n");
        for (name, reason) in &self.unsupported {
            let (name, reason) = (escaped(name), escaped(reason));
            let key = name.to_lowercase();
            let _ = writeln!(
                page,
                "<tr data-name=\"{key}\"><td><code>{name}</code></td><td class=\"why\">{reason}</td></tr>"
            );
        }
        page.push_str("</tbody>\n</table>\n");
    }
}

fn html_row(row: &Row, page: &mut String) {
    let name = escaped(&row.name);
    let _ = write!(
        page,
        "<tr data-name=\"{}\"><td title=\"{}\"><code>{name}</code></td>",
        name.to_lowercase(),
        escaped(&row.location)
    );
    for level in &row.levels {
        let letter = match level {
            Level::Full => "F",
            Level::Partial => "P",
            Level::None => "–",
        };
        let _ = write!(page, "<td class=\"l {}\">{letter}</td>", level.name());
    }
    let reasons = row.reasons.iter().map(|(reason, at)| format!("{}: {}", ranges(at), escaped(reason)));
    let _ = writeln!(page, "<td class=\"why\">{}</td></tr>", reasons.collect::<Vec<_>>().join("<br>"));
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
