//! The rules of an export: built-in ones, those compiled by other crates, and mapping files.

use std::path::PathBuf;
use std::sync::Arc;

use crate::compiled::{BUILT_IN, CompiledRules, Rule, Support};
#[cfg(feature = "mappings")]
use crate::interpret::{InterpretedRule, MappingFiles};
use aten2onnx_builder::{Args, Builder, Out};
use aten2onnx_core::error::Result;

/// The rules of an export. Those added last take precedence, then the earlier ones, then the built-in ones.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "interpreted"), derive(Default))]
pub struct Rules {
    /// Rules of other crates.
    added: Vec<&'static CompiledRules>,
    #[cfg(feature = "mappings")]
    files: Option<Arc<MappingFiles>>,
}

#[cfg(feature = "interpreted")]
impl Default for Rules {
    fn default() -> Rules {
        Rules { added: Vec::new(), files: crate::interpret::of_build() }
    }
}

/// The rule of an overload.
#[derive(Debug, Clone, Copy)]
pub enum RuleRef<'r> {
    /// A compiled rule.
    Compiled(&'r Rule),
    /// A rule of a mapping file.
    #[cfg(feature = "mappings")]
    Interpreted(InterpretedRule<'r>),
}

impl Rules {
    /// Adds rules that another crate has compiled.
    pub fn add(&mut self, rules: &'static CompiledRules) {
        self.added.push(rules);
    }

    /// All compiled rules in order of precedence.
    fn compiled(&self) -> impl Iterator<Item = &'static CompiledRules> {
        self.added.iter().rev().copied().chain([&BUILT_IN])
    }

    /// Reads mapping files, and all files of folders. They replace those read before.
    ///
    /// # Errors
    /// A file that cannot be read, or all diagnostics of the checker.
    pub fn load(&mut self, paths: &[PathBuf]) -> Result<()> {
        #[cfg(feature = "mappings")]
        {
            self.files = Some(Arc::new(MappingFiles::load(paths)?));
            Ok(())
        }
        #[cfg(not(feature = "mappings"))]
        {
            let _ = paths;
            let error =
                aten2onnx_core::error::Error::unsupported("this program was built without mapping files at run time");
            Err(error.help("build it with the cargo feature `mappings`"))
        }
    }

    /// Sets the rules of mapping files.
    #[cfg(feature = "mappings")]
    pub fn set_files(&mut self, files: Arc<MappingFiles>) {
        self.files = Some(files);
    }

    /// The rule of exactly this overload.
    pub fn find(&self, name: &str) -> Option<RuleRef<'_>> {
        #[cfg(feature = "mappings")]
        if let Some(rule) = self.files.as_ref().and_then(|files| files.find(name)) {
            return Some(RuleRef::Interpreted(rule));
        }
        self.compiled().find_map(|rules| rules.find(name)).map(RuleRef::Compiled)
    }

    /// The rule of an overload. A copy of a view (`view_copy`) uses the rule of the view.
    pub fn rule_for(&self, name: &str) -> Option<RuleRef<'_>> {
        self.find(name).or_else(|| {
            let (op, overload) = name.split_once('.').unwrap_or((name, ""));
            let view = op.strip_suffix("_copy")?;
            if overload.is_empty() { self.find(view) } else { self.find(&format!("{view}.{overload}")) }
        })
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
            #[cfg(feature = "mappings")]
            RuleRef::Interpreted(rule) => rule.takes_complex(),
        }
    }

    /// Why ONNX cannot express an overload, if so.
    pub fn unsupported(&self, name: &str) -> Option<&str> {
        #[cfg(feature = "mappings")]
        if let Some(reason) = self.files.as_ref().and_then(|files| files.unsupported(name)) {
            return Some(reason);
        }
        self.compiled().find_map(|rules| rules.unsupported(name))
    }

    /// The overloads of an operator that have rules, sorted.
    pub fn overloads(&self, op: &str) -> Vec<&str> {
        let is_of = |name: &&str| name.strip_prefix(op).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let compiled = self.compiled().flat_map(|rules| rules.rules).map(|rule| rule.name);
        let mut names: Vec<&str> = compiled.filter(is_of).collect();
        #[cfg(feature = "mappings")]
        names.extend(self.files.iter().flat_map(|files| files.overloads()).filter(is_of));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// A builder for a target opset, with the lowerings of these rules.
    pub fn builder(&self, opset: u32) -> Builder {
        let mut builder = Builder::new(opset);
        builder.set_lowerings(Arc::new(&BUILT_IN));
        for rules in &self.added {
            builder.override_lowerings(Arc::new(*rules));
        }
        #[cfg(feature = "mappings")]
        if let Some(files) = &self.files {
            builder.override_lowerings(files.clone());
        }
        builder
    }

    /// The location and text of an arm, for `--trace`.
    pub fn arm(&self, arm: u32) -> Option<(String, &str)> {
        #[cfg(feature = "mappings")]
        if let Some(found) = self.files.as_ref().and_then(|files| files.described(arm)) {
            return Some(found);
        }
        self.compiled().find_map(|rules| rules.arm(arm)).map(|arm| (arm.location.to_owned(), arm.text))
    }
}

impl<'r> RuleRef<'r> {
    /// The overload.
    pub fn name(&self) -> &'r str {
        match self {
            RuleRef::Compiled(rule) => rule.name,
            #[cfg(feature = "mappings")]
            RuleRef::Interpreted(rule) => rule.name(),
        }
    }

    /// `mappings/aten/activation.opmap:4`
    pub fn location(&self) -> String {
        match self {
            RuleRef::Compiled(rule) => rule.location.to_owned(),
            #[cfg(feature = "mappings")]
            RuleRef::Interpreted(rule) => rule.location(),
        }
    }

    /// The names of its parameters; None for compiled rules, which only know them when they are called.
    pub fn params(&self) -> Option<Vec<&'r str>> {
        match self {
            RuleRef::Compiled(_) => None,
            #[cfg(feature = "mappings")]
            RuleRef::Interpreted(rule) => Some(rule.params().collect()),
        }
    }

    /// The support at an opset.
    pub fn support(&self, opset: u32) -> Support {
        match self {
            RuleRef::Compiled(rule) => rule.support(opset),
            #[cfg(feature = "mappings")]
            RuleRef::Interpreted(rule) => rule.support(opset),
        }
    }

    /// Why it is not supported at an opset.
    pub fn reasons(&self, #[allow(unused)] opset: u32) -> Vec<&'r str> {
        match self {
            RuleRef::Compiled(rule) => rule.reasons.to_vec(),
            #[cfg(feature = "mappings")]
            RuleRef::Interpreted(rule) => rule.reasons(opset),
        }
    }

    /// Converts the arguments and runs the rule.
    pub fn call(&self, cx: &mut Builder, args: &Args) -> Result<Vec<Out>> {
        match self {
            RuleRef::Compiled(rule) => (rule.call)(cx, args),
            #[cfg(feature = "mappings")]
            RuleRef::Interpreted(rule) => rule.call(cx, args),
        }
    }
}
