//! The rules that an export goes by: those of the build, those that another crate has compiled, those of mapping files.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Arm, Rule, Support};
use crate::builder::{Args, Builder, Call, Lowerings, Out};
use crate::error::Result;
use crate::graph::Value;
#[cfg(feature = "mappings")]
use crate::interpret::{Interpreted, Ruleset};
use crate::schema::LowerFn;

/// Rules that another crate has compiled; see `aten2onnx_codegen::build_mappings`.
#[derive(Debug)]
pub struct Set {
    /// Every `map`, sorted by overload.
    pub rules: &'static [Rule],
    /// Every `lower`: operator, opset, function. Sorted.
    pub lowers: &'static [(&'static str, u32, LowerFn)],
    /// What cannot be said, and why. Sorted.
    pub unsupported: &'static [(&'static str, &'static str)],
    /// Every branch of every rule, by its number.
    pub arms: &'static [Arm],
    /// The number of the first one.
    pub first_arm: u32,
}

impl Set {
    fn find(&self, name: &str) -> Option<&'static Rule> {
        let at = self.rules.binary_search_by(|rule| rule.name.cmp(name)).ok()?;
        self.rules.get(at)
    }

    fn lower(&self, op: &str, before: u32) -> Option<LowerFn> {
        let at = self.lowers.binary_search_by(|row| (row.0, row.1).cmp(&(op, before))).ok()?;
        self.lowers.get(at).map(|row| row.2)
    }
}

impl Lowerings for &'static Set {
    fn has(&self, op: &str, before: u32) -> bool {
        self.lower(op, before).is_some()
    }

    fn is_same(&self, _: &str, _: u32) -> bool {
        false
    }

    fn call(&self, before: u32, cx: &mut Builder, call: &Call) -> Result<Vec<Value>> {
        match self.lower(call.op, before) {
            Some(lower) => lower(cx, call),
            None => Err(cx.fault(format!("there is no `lower {} before {before}`", call.op))),
        }
    }
}

/// The rules of an export. The last that were added come first, those of the build last.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    sets: Vec<&'static Set>,
    #[cfg(feature = "mappings")]
    files: Option<Arc<Ruleset>>,
}

/// What says what an overload means.
#[derive(Debug, Clone, Copy)]
pub enum Meaning<'r> {
    /// A compiled rule.
    Compiled(&'r Rule),
    /// A rule of a mapping file.
    #[cfg(feature = "mappings")]
    Interpreted(Interpreted<'r>),
}

impl Rules {
    /// Adds rules that another crate has compiled.
    pub fn add(&mut self, set: &'static Set) {
        self.sets.push(set);
    }

    /// Reads mapping files, and all of a folder where one is named: they take the place of those that were read before.
    ///
    /// # Errors
    /// A file that cannot be read, or everything that the checker has to say.
    pub fn load(&mut self, paths: &[PathBuf]) -> Result<()> {
        #[cfg(feature = "mappings")]
        {
            self.files = Some(Arc::new(Ruleset::load(paths)?));
            Ok(())
        }
        #[cfg(not(feature = "mappings"))]
        {
            let _ = paths;
            let error = crate::error::Error::unsupported("this program was built without mapping files at run time");
            Err(error.help("build it with the cargo feature `mappings`"))
        }
    }

    /// Sets the rules of mapping files.
    #[cfg(feature = "mappings")]
    pub fn set_files(&mut self, files: Arc<Ruleset>) {
        self.files = Some(files);
    }

    /// The rule of exactly this overload.
    pub fn find(&self, name: &str) -> Option<Meaning<'_>> {
        #[cfg(feature = "mappings")]
        if let Some(rule) = self.files.as_ref().and_then(|files| files.find(name)) {
            return Some(Meaning::Interpreted(rule));
        }
        let added = self.sets.iter().rev().find_map(|set| set.find(name));
        added.or_else(|| super::find(name)).map(Meaning::Compiled)
    }

    /// The rule that says what an overload means: its own, or for one that only copies what a view shows (`view_copy`), the view's.
    pub fn meaning(&self, name: &str) -> Option<Meaning<'_>> {
        self.find(name).or_else(|| {
            let (op, overload) = name.split_once('.').unwrap_or((name, ""));
            let view = op.strip_suffix("_copy")?;
            if overload.is_empty() { self.find(view) } else { self.find(&format!("{view}.{overload}")) }
        })
    }

    /// The rule that says what an overload means on complex numbers: one of its own (`complex::exp`), or the general one where an
    /// example shows that it holds.
    pub fn complex_meaning(&self, name: &str) -> Option<Meaning<'_>> {
        let own = name.strip_prefix("aten::").and_then(|op| self.meaning(&format!("complex::{op}")));
        own.or_else(|| self.meaning(name).filter(Meaning::takes_complex))
    }

    /// Why an overload cannot be had in ONNX, if that is so.
    pub fn unsupported(&self, name: &str) -> Option<&str> {
        #[cfg(feature = "mappings")]
        if let Some(reason) = self.files.as_ref().and_then(|files| files.unsupported(name)) {
            return Some(reason);
        }
        let added = |set: &&'static Set| set.unsupported.iter().find(|row| row.0 == name).map(|row| row.1);
        self.sets.iter().rev().find_map(added).or_else(|| super::unsupported(name))
    }

    /// The overloads of an operator that have rules, sorted.
    pub fn overloads(&self, op: &str) -> Vec<&str> {
        let is_of = |name: &&str| name.strip_prefix(op).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let compiled = self.sets.iter().flat_map(|set| set.rules).chain(super::RULES).map(|rule| rule.name);
        let mut names: Vec<&str> = compiled.filter(is_of).collect();
        #[cfg(feature = "mappings")]
        names.extend(self.files.iter().flat_map(|files| files.overloads()).filter(is_of));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Tells a builder of the lowerings that are not of the build.
    pub fn install(&self, builder: &mut Builder) {
        for set in &self.sets {
            builder.add_lowerings(Arc::new(*set));
        }
        #[cfg(feature = "mappings")]
        if let Some(files) = &self.files {
            builder.add_lowerings(files.clone());
        }
    }

    /// An arm that `--trace` tells of: where it is, and what it says.
    pub fn arm(&self, arm: u32) -> Option<(String, &str)> {
        #[cfg(feature = "mappings")]
        if let Some(found) = self.files.as_ref().and_then(|files| files.described(arm)) {
            return Some(found);
        }
        let of_set = |set: &&'static Set| set.arms.get(arm.checked_sub(set.first_arm)? as usize);
        let found = self.sets.iter().find_map(of_set).or_else(|| super::ARMS.get(arm as usize));
        found.map(|arm| (arm.location.to_owned(), arm.text))
    }
}

impl<'r> Meaning<'r> {
    /// The overload.
    pub fn name(&self) -> &'r str {
        match self {
            Meaning::Compiled(rule) => rule.name,
            #[cfg(feature = "mappings")]
            Meaning::Interpreted(rule) => rule.name(),
        }
    }

    /// `mappings/aten/activation.opmap:4`
    pub fn location(&self) -> String {
        match self {
            Meaning::Compiled(rule) => rule.location.to_owned(),
            #[cfg(feature = "mappings")]
            Meaning::Interpreted(rule) => rule.location(),
        }
    }

    fn takes_complex(&self) -> bool {
        match self {
            Meaning::Compiled(rule) => super::takes_complex(rule.name),
            #[cfg(feature = "mappings")]
            Meaning::Interpreted(rule) => rule.takes_complex(),
        }
    }

    /// What it can do at an opset.
    pub fn support(&self, opset: u32) -> Support {
        match self {
            Meaning::Compiled(rule) => rule.support(opset),
            #[cfg(feature = "mappings")]
            Meaning::Interpreted(rule) => rule.support(opset),
        }
    }

    /// Why it does not work at an opset.
    pub fn reasons(&self, #[allow(unused)] opset: u32) -> Vec<&'r str> {
        match self {
            Meaning::Compiled(rule) => rule.reasons.to_vec(),
            #[cfg(feature = "mappings")]
            Meaning::Interpreted(rule) => rule.reasons(opset),
        }
    }

    /// Takes the arguments apart and runs the rule.
    pub fn call(&self, cx: &mut Builder, args: &Args) -> Result<Vec<Out>> {
        match self {
            Meaning::Compiled(rule) => (rule.call)(cx, args),
            #[cfg(feature = "mappings")]
            Meaning::Interpreted(rule) => rule.call(cx, args),
        }
    }
}
