//! The length of rules, and the rules that only call a Rust function: a measure of how well the language fits.

use std::fmt::Write;

use aten2onnx_opmap::Checked;
use aten2onnx_opmap::tree::{Expr, Function, Kind};

/// Counts over all rules.
#[derive(Debug)]
pub struct Stats {
    /// Rules.
    pub maps: usize,
    /// Lowerings.
    pub lowers: usize,
    /// Upward rules.
    pub raises: usize,
    /// Helpers in the language.
    pub helpers: usize,
    /// Helpers in Rust.
    pub externs: usize,
    /// Rules, lowerings and upward rules whose whole body is a call of an `extern fn` other than those of the prelude (`lib/`), by name.
    pub external: Vec<String>,
    /// The number of lines of the body of each rule, lowering and upward rule, in ascending order.
    pub lines: Vec<usize>,
}

impl Stats {
    /// Counts the rules.
    pub fn of(checked: &Checked) -> Stats {
        let program = &checked.program;
        let maps = program.maps.iter().map(|m| &m.function);
        let rules: Vec<&Function> =
            maps.chain(program.lowers.iter().chain(&program.raises).map(|l| &l.function)).collect();
        let line_count = |f: &&Function| checked.sources.text(f.body.span).lines().count();
        let mut lines: Vec<usize> = rules.iter().map(line_count).collect();
        lines.sort_unstable();
        let is_word = |f: &Function| checked.sources.file(f.span.file).path.contains("lib/");
        let is_special = |name: &str| program.external(name).is_some_and(|f| !is_word(f));
        Stats {
            maps: program.maps.len(),
            lowers: program.lowers.len(),
            raises: program.raises.len(),
            helpers: program.fns.len(),
            externs: program.externs.len(),
            external: rules.iter().filter(|f| is_external(&f.body, &is_special)).map(|f| f.name.clone()).collect(),
            lines,
        }
    }

    /// The share of them that only call an `extern fn`, in percent.
    fn external_share(&self) -> f64 {
        100.0 * self.external.len() as f64 / (self.maps + self.lowers + self.raises).max(1) as f64
    }

    /// The counts as text.
    pub fn text(&self) -> String {
        let median = self.lines.get(self.lines.len() / 2).copied().unwrap_or_default();
        let longest = self.lines.last().copied().unwrap_or_default();
        let mut text = format!(
            "{} rules, {} lowerings, {} upward rules, {} helpers, {} extern fns\n\
             lines of a body: median {median}, longest {longest}\n\
             whole body an extern fn: {} ({:.1} %)\n",
            self.maps,
            self.lowers,
            self.raises,
            self.helpers,
            self.externs,
            self.external.len(),
            self.external_share(),
        );
        for name in &self.external {
            let _ = writeln!(text, "  {name}");
        }
        text
    }
}

/// Whether a body is only a call of a Rust function.
fn is_external(body: &Expr, is_special: &dyn Fn(&str) -> bool) -> bool {
    match &body.kind {
        Kind::Extern(name, _) => is_special(name),
        Kind::Convert(inner) | Kind::Block(_, inner) => is_external(inner, is_special),
        _ => false,
    }
}
