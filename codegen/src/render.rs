//! Placeholder until the renderer is merged.
use crate::{diagnostic::Diagnostic, source::Sources};
/// Plain lines.
pub fn render(sources: &Sources, diagnostics: &[Diagnostic], _color: bool) -> String {
    diagnostics.iter().map(|d| {
        let s = d.primary.0;
        format!("{}:{}: error[{}]: {} ({}){}\n", sources.file(s.file).path, sources.line(s), d.code, d.message, d.notes.join("; "), d.help.as_ref().map(|h| format!(" help: {h}")).unwrap_or_default())
    }).collect()
}
