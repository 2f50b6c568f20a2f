//! Writes HTML: every text goes through [`escaped`].

use std::fmt::Write;

/// A page that is being written.
#[derive(Debug, Default)]
pub struct Html(String);

impl Html {
    /// Adds markup of the program itself.
    pub fn markup(&mut self, markup: &str) -> &mut Html {
        self.0.push_str(markup);
        self
    }

    /// Adds markup whose arguments are numbers or already escaped.
    pub fn format(&mut self, markup: std::fmt::Arguments<'_>) -> &mut Html {
        // Writing to a string cannot fail.
        let _ = self.0.write_fmt(markup);
        self
    }

    /// Adds text.
    pub fn text(&mut self, text: &str) -> &mut Html {
        self.0.push_str(&escaped(text));
        self
    }

    /// `<tag>text</tag>`
    pub fn element(&mut self, tag: &str, text: &str) -> &mut Html {
        self.format(format_args!("<{tag}>{}</{tag}>", escaped(text)))
    }

    /// A table; numbers are right-aligned if `number` says so of their column. Cells are markup.
    pub fn table(&mut self, head: &[&str], rows: &[Vec<String>], number: &[usize]) -> &mut Html {
        if rows.is_empty() {
            return self;
        }
        self.markup("<div class=\"wide\" tabindex=\"0\"><table><thead><tr>");
        for title in head {
            self.format(format_args!("<th scope=\"col\">{}</th>", escaped(title)));
        }
        self.markup("</tr></thead><tbody>\n");
        for row in rows {
            self.markup("<tr>");
            for (i, cell) in row.iter().enumerate() {
                let class = if number.contains(&i) { " class=\"number\"" } else { "" };
                self.format(format_args!("<td{class}>{cell}</td>"));
            }
            self.markup("</tr>\n");
        }
        self.markup("</tbody></table></div>\n")
    }

    /// Terms and what they are, as markup.
    pub fn list_of_terms(&mut self, rows: &[Vec<String>]) -> &mut Html {
        if rows.is_empty() {
            return self;
        }
        self.markup("<dl>");
        for row in rows {
            if let [term, meaning] = row.as_slice() {
                self.format(format_args!("<div><dt>{term}</dt><dd>{meaning}</dd></div>"));
            }
        }
        self.markup("</dl>\n")
    }

    /// The page.
    pub fn finish(self) -> String {
        self.0
    }
}

/// The text for HTML, in elements and attributes.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// `<code>text</code>`
pub fn code(text: &str) -> String {
    format!("<code>{}</code>", escaped(text))
}
