//! In place of the interpreter, in an exporter for one opset: there are no mapping files at run time.

use std::path::PathBuf;
use std::sync::Arc;

use crate::level::Support;
use aten2onnx_builder::{Args, Builder, Lowerings, NodeCall, Out};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::graph::Value;
use aten2onnx_onnx::schema::pattern::Fusion;

/// Which rules of a set of mapping files are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// Those of the user's files.
    Own,
    /// All.
    All,
}

/// No mapping files.
#[derive(Debug, Clone, Copy)]
pub enum MappingFiles {}

/// No rule.
#[derive(Debug, Clone, Copy)]
pub struct InterpretedRule<'r>(&'r MappingFiles);

/// The rules of the build, interpreted: there are none.
pub fn of_build() -> Option<Arc<MappingFiles>> {
    None
}

impl MappingFiles {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn load(_: &[PathBuf], _: Run) -> Result<MappingFiles> {
        let error = Error::unsupported("this exporter takes no mapping files: its rules are compiled");
        Err(error.help("make it again with `aten2onnx-codegen exporter .. --own-mappings DIR`"))
    }

    pub fn find(&self, _: &str) -> Option<InterpretedRule<'_>> {
        match *self {}
    }

    pub fn overloads(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }

    pub fn unsupported(&self, _: &str) -> Option<&str> {
        match *self {}
    }

    pub fn all_unsupported(&self) -> impl Iterator<Item = (&str, &str)> {
        std::iter::empty()
    }

    pub fn described(&self, _: u32) -> Option<(String, &str)> {
        match *self {}
    }
}

impl<'r> InterpretedRule<'r> {
    pub fn name(&self) -> &'r str {
        match *self.0 {}
    }

    pub fn location(&self) -> String {
        match *self.0 {}
    }

    pub fn params(&self) -> impl Iterator<Item = &'r str> {
        std::iter::empty()
    }

    pub fn takes_complex(&self) -> bool {
        match *self.0 {}
    }

    pub fn support(&self, _: u32) -> Support {
        match *self.0 {}
    }

    pub fn reasons(&self, _: u32) -> Vec<&'r str> {
        match *self.0 {}
    }

    pub fn call(&self, _: &mut Builder, _: &Args) -> Result<Vec<Out>> {
        match *self.0 {}
    }
}

impl Lowerings for MappingFiles {
    fn has(&self, _: &str, _: u32) -> bool {
        match *self {}
    }

    fn has_raise(&self, _: &str, _: u32) -> bool {
        match *self {}
    }

    fn is_same(&self, _: &str, _: u32) -> bool {
        match *self {}
    }

    fn call(&self, _: u32, _: &mut Builder, _: &NodeCall) -> Result<Vec<Value>> {
        match *self {}
    }

    fn raise(&self, _: u32, _: &mut Builder, _: &NodeCall) -> Result<Vec<Value>> {
        match *self {}
    }

    fn fusions(&self) -> &[Fusion] {
        match *self {}
    }

    fn fuse(&self, _: &str, _: &mut Builder, _: &Args) -> Result<Value> {
        match *self {}
    }
}
