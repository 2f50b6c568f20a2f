//! The rules of an export: built-in ones, those compiled by other crates, and mapping files.

use std::path::PathBuf;
use std::sync::Arc;

use crate::interpret::{self, InterpretedRule, MappingFiles, Run};
use crate::level::Support;
use crate::table::{CompiledRules, Rule};
use aten2onnx_builder::{Args, Builder, Out};
use aten2onnx_core::error::Result;
use aten2onnx_onnx::schema::pattern::is_fusion;

/// The rules of an export. Those added last take precedence, then the earlier ones, then those of the build.
///
/// The default has no rules: a program that exports starts with `aten2onnx::rules()`.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Compiled rules; the first are those of the build.
    compiled: Vec<&'static CompiledRules>,
    files: Option<Arc<MappingFiles>>,
}

/// The rule of an overload.
#[derive(Debug, Clone, Copy)]
pub enum RuleRef<'r> {
    /// A compiled rule.
    Compiled(Rule),
    /// A rule of a mapping file.
    Interpreted(InterpretedRule<'r>),
}

impl Rules {
    /// The rules of a build.
    pub fn of(build: &'static CompiledRules) -> Rules {
        Rules { compiled: vec![build], files: None }
    }

    /// The rules of mapping files alone.
    pub fn of_files(files: Arc<MappingFiles>) -> Rules {
        Rules { compiled: Vec::new(), files: Some(files) }
    }

    /// The rules of `mappings/`, interpreted: none is compiled.
    pub fn interpreted() -> Rules {
        Rules { compiled: Vec::new(), files: interpret::of_build() }
    }

    /// Adds rules that another crate has compiled.
    pub fn add(&mut self, rules: &'static CompiledRules) {
        self.compiled.push(rules);
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.compiled.is_empty() && self.files.is_none()
    }

    /// All compiled rules in order of precedence.
    fn compiled(&self) -> impl Iterator<Item = &'static CompiledRules> {
        self.compiled.iter().rev().copied()
    }

    /// Which rules of mapping files are interpreted: all where none is compiled.
    fn run(&self) -> Run {
        if self.compiled.is_empty() { Run::All } else { Run::Own }
    }

    /// Reads mapping files, and all files of folders. They replace those read before.
    ///
    /// # Errors
    /// A file that cannot be read, or all diagnostics of the checker.
    pub fn load(&mut self, paths: &[PathBuf]) -> Result<Arc<MappingFiles>> {
        let files = Arc::new(MappingFiles::load(paths, self.run())?);
        self.files = Some(files.clone());
        Ok(files)
    }

    /// The rule of exactly this overload.
    pub fn find(&self, name: &str) -> Option<RuleRef<'_>> {
        if let Some(rule) = self.files.as_ref().and_then(|files| files.find(name)) {
            return Some(RuleRef::Interpreted(rule));
        }
        self.compiled().find_map(|rules| rules.find(name)).map(RuleRef::Compiled)
    }

    /// The rule of an overload. A copy of a view (`view_copy`) uses the rule of the view.
    pub fn rule_for(&self, name: &str) -> Option<RuleRef<'_>> {
        self.find(name).or_else(|| self.find(&view_of_copy(name)?))
    }

    /// The rule of an overload for complex numbers: its own (`complex::exp`), or the general one if an example covers
    /// complex numbers.
    pub fn complex_rule_for(&self, name: &str) -> Option<RuleRef<'_>> {
        let own = name.strip_prefix("aten::").and_then(|op| self.rule_for(&format!("complex::{op}")));
        own.or_else(|| self.rule_for(name).filter(|rule| self.takes_complex(rule)))
    }

    fn takes_complex(&self, rule: &RuleRef<'_>) -> bool {
        match rule {
            RuleRef::Compiled(rule) => {
                let set = self.compiled().find(|set| set.find(rule.name).is_some());
                set.is_some_and(|set| set.takes_complex(rule.name))
            }
            RuleRef::Interpreted(rule) => rule.takes_complex(),
        }
    }

    /// Why an overload cannot be exported, if that is known. A copy of a view is like the view.
    pub fn unsupported(&self, name: &str) -> Option<&str> {
        self.unsupported_exactly(name).or_else(|| self.unsupported_exactly(&view_of_copy(name)?))
    }

    fn unsupported_exactly(&self, name: &str) -> Option<&str> {
        if let Some(reason) = self.files.as_ref().and_then(|files| files.unsupported(name)) {
            return Some(reason);
        }
        self.compiled().find_map(|rules| rules.unsupported(name))
    }

    /// The overloads of an operator that have rules, sorted.
    pub fn overloads(&self, op: &str) -> Vec<&str> {
        let is_of = |name: &&str| name.strip_prefix(op).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        self.names().into_iter().filter(is_of).collect()
    }

    /// The overloads that have rules, sorted.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.compiled().flat_map(|rules| rules.maps).map(|row| row.0).collect();
        names.extend(self.files.iter().flat_map(|files| files.overloads()));
        names.retain(|name| !is_fusion(name));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The overloads that ONNX cannot express, each with the reason, sorted.
    pub fn all_unsupported(&self) -> Vec<(&str, &str)> {
        let mut all: Vec<(&str, &str)> = self.compiled().flat_map(|rules| rules.unsupported).copied().collect();
        all.extend(self.files.iter().flat_map(|files| files.all_unsupported()));
        all.sort_unstable();
        all.dedup_by_key(|row| row.0);
        all
    }

    /// A builder for a target opset, with the lowerings of these rules.
    pub fn builder(&self, opset: u32) -> Builder {
        let mut builder = Builder::new(opset);
        let mut compiled = self.compiled.iter();
        if let Some(build) = compiled.next() {
            builder.set_lowerings(Arc::new(*build));
        }
        for rules in compiled {
            builder.override_lowerings(Arc::new(*rules));
        }
        if let Some(files) = &self.files {
            builder.override_lowerings(files.clone());
        }
        builder
    }

    /// The location and text of an arm, for `--trace`.
    pub fn arm(&self, arm: u32) -> Option<(String, &str)> {
        if let Some(found) = self.files.as_ref().and_then(|files| files.described(arm)) {
            return Some(found);
        }
        self.compiled().find_map(|rules| rules.arm(arm)).map(|arm| (arm.location.to_owned(), arm.text))
    }
}

/// The view of which an overload makes a copy: `aten::slice.Tensor` of `aten::slice_copy.Tensor`.
fn view_of_copy(name: &str) -> Option<String> {
    let (op, overload) = name.split_once('.').unwrap_or((name, ""));
    let view = op.strip_suffix("_copy")?;
    Some(if overload.is_empty() { view.to_owned() } else { format!("{view}.{overload}") })
}

impl<'r> RuleRef<'r> {
    /// The overload.
    pub fn name(&self) -> &'r str {
        match self {
            RuleRef::Compiled(rule) => rule.name,
            RuleRef::Interpreted(rule) => rule.name(),
        }
    }

    /// `mappings/aten/activation.opmap:4`
    pub fn location(&self) -> String {
        match self {
            RuleRef::Compiled(rule) => rule.location().to_owned(),
            RuleRef::Interpreted(rule) => rule.location(),
        }
    }

    /// The names of its parameters; None for compiled rules, which do not know those that ONNX does not use.
    pub fn params(&self) -> Option<Vec<&'r str>> {
        match self {
            RuleRef::Compiled(_) => None,
            RuleRef::Interpreted(rule) => Some(rule.params().collect()),
        }
    }

    /// The support at an opset.
    pub fn support(&self, opset: u32) -> Support {
        match self {
            RuleRef::Compiled(rule) => rule.support(opset),
            RuleRef::Interpreted(rule) => rule.support(opset),
        }
    }

    /// Why it is not supported at an opset.
    pub fn reasons(&self, opset: u32) -> Vec<&'r str> {
        match self {
            RuleRef::Compiled(rule) => rule.reasons(),
            RuleRef::Interpreted(rule) => rule.reasons(opset),
        }
    }

    /// Converts the arguments and runs the rule.
    pub fn call(&self, cx: &mut Builder, args: &Args) -> Result<Vec<Out>> {
        match self {
            RuleRef::Compiled(rule) => rule.call(cx, args),
            RuleRef::Interpreted(rule) => rule.call(cx, args),
        }
    }
}
