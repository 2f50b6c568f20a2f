//! Finds classes and functions by their qualified names; files are parsed when they are first needed.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::parser;
use super::syntax::{Class, Function, Module, Name};
use aten2onnx_archive::zip::Archive;
use aten2onnx_core::error::{Error, Result};

/// The most bytes of code that are read of an archive. A large trace has a few MiB.
pub const MAX_CODE: usize = 512 << 20;

/// The code of an archive.
#[derive(Debug)]
pub struct Code<'a> {
    archive: &'a Archive,
    files: FxHashMap<String, Rc<Module>>,
    found: FxHashMap<String, Option<Definition>>,
    budget: usize,
}

/// What a name stands for.
#[derive(Debug, Clone)]
pub enum Definition {
    Class(Rc<ClassCode>),
    Function(Rc<FunctionCode>),
}

/// A class and where it is.
#[derive(Debug)]
pub struct ClassCode {
    /// `__torch__.a.b.Cls`
    pub name: Name,
    /// The entry of the archive.
    pub file: Name,
    pub tree: Rc<Class>,
}

/// A function or method and where it is.
#[derive(Debug)]
pub struct FunctionCode {
    /// The qualified name of the function or of the class.
    pub owner: Name,
    pub file: Name,
    pub tree: Rc<Function>,
}

impl ClassCode {
    /// A method.
    pub fn method(&self, name: &str) -> Option<Rc<FunctionCode>> {
        let tree = self.tree.methods.iter().find(|method| &*method.name == name)?;
        let tree = Rc::clone(tree);
        Some(Rc::new(FunctionCode { owner: Rc::clone(&self.name), file: Rc::clone(&self.file), tree }))
    }

    /// Whether it is a class with this base.
    pub fn has_base(&self, base: &str) -> bool {
        self.tree.base.as_deref() == Some(base)
    }
}

impl<'a> Code<'a> {
    /// The code of an archive.
    pub fn new(archive: &'a Archive) -> Code<'a> {
        Code { archive, files: FxHashMap::default(), found: FxHashMap::default(), budget: MAX_CODE }
    }

    /// A class by its qualified name.
    pub fn class(&mut self, name: &str) -> Result<Rc<ClassCode>> {
        match self.find(name)? {
            Some(Definition::Class(class)) => Ok(class),
            _ => Err(Error::input(format!("the archive has no code for the class `{}`", readable(name)))),
        }
    }

    /// What a qualified name stands for; None if nothing has it.
    pub fn find(&mut self, name: &str) -> Result<Option<Definition>> {
        if let Some(known) = self.found.get(name) {
            return Ok(known.clone());
        }
        let found = self.look_up(name)?;
        self.found.insert(name.to_owned(), found.clone());
        Ok(found)
    }

    fn look_up(&mut self, name: &str) -> Result<Option<Definition>> {
        let Some((unit, item)) = name.rsplit_once('.') else { return Ok(None) };
        let file = format!("code/{}.py", unit.replace('.', "/"));
        if !self.archive.contains(&file) {
            return Ok(None);
        }
        let module = self.module(&file)?;
        let file: Name = Rc::from(file);
        let owner: Name = Rc::from(name);
        // Old archives define a class again; the last one counts.
        if let Some(tree) = module.classes.iter().rfind(|class| &*class.name == item) {
            return Ok(Some(Definition::Class(Rc::new(ClassCode { name: owner, file, tree: Rc::clone(tree) }))));
        }
        let tree = module.functions.iter().find(|function| &*function.name == item);
        let function = |tree: &Rc<Function>| Rc::new(FunctionCode { owner, file, tree: Rc::clone(tree) });
        Ok(tree.map(function).map(Definition::Function))
    }

    /// All files, by name.
    pub fn files(&mut self) -> Result<Vec<(String, Rc<Module>)>> {
        let is_code = |name: &&str| name.starts_with("code/") && name.ends_with(".py");
        let mut names: Vec<String> = self.archive.names().filter(is_code).map(str::to_owned).collect();
        names.sort_unstable();
        names.into_iter().map(|name| Ok((name.clone(), self.module(&name)?))).collect()
    }

    fn module(&mut self, file: &str) -> Result<Rc<Module>> {
        if let Some(module) = self.files.get(file) {
            return Ok(Rc::clone(module));
        }
        let bytes = self.archive.inflated(file, self.budget)?;
        self.budget = self.budget.saturating_sub(bytes.len());
        let text = String::from_utf8_lossy(&bytes);
        let module = parser::module(&text).map_err(|error| self.archive.error(file, error))?;
        let module = Rc::new(module);
        self.files.insert(file.to_owned(), Rc::clone(&module));
        Ok(module)
    }
}

/// A qualified name as people know it: without `__torch__` and the parts that make names unique.
pub fn readable(name: &str) -> String {
    let is_plain = |part: &&str| *part != "__torch__" && !part.starts_with("___torch_mangle_");
    name.split('.').filter(is_plain).collect::<Vec<_>>().join(".")
}
