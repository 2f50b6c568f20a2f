//! What names stand for: in the graph, in bodies inside it, and in functions, which see nothing of what is around them.

use std::collections::{HashMap, HashSet};

use aten2onnx_builder::Known;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::graph::{Type, Value};
use aten2onnx_onnx::proto::AttributeProto;

/// The names of a graph, a body or a function.
#[derive(Debug, Default)]
pub struct Scope {
    /// None for an optional input of a function that is not given.
    pub names: HashMap<String, Option<Known>>,
    /// What is stated of values.
    pub declared: HashMap<String, Type>,
    /// The names of its outputs.
    pub outputs: HashSet<String>,
    /// Of a function.
    pub function: Option<Function>,
}

/// The call of a function.
#[derive(Debug, Default)]
pub struct Function {
    /// The opset of the default domain that its body is written for.
    pub opset: u32,
    /// What the call gives, and what stands for what it does not.
    pub attributes: HashMap<String, AttributeProto>,
    /// What the names of its nodes begin with.
    pub prefix: String,
}

/// The scopes, the innermost one last.
#[derive(Debug, Default)]
pub struct Scopes {
    all: Vec<Scope>,
}

impl Scopes {
    /// Opens a scope.
    pub fn push(&mut self, scope: Scope) {
        self.all.push(scope);
    }

    /// Closes the innermost one.
    pub fn pop(&mut self) -> Scope {
        self.all.pop().unwrap_or_default()
    }

    /// The number of scopes that are open.
    pub fn depth(&self) -> usize {
        self.all.len()
    }

    /// The innermost scope.
    pub fn last(&self) -> Option<&Scope> {
        self.all.last()
    }

    /// States what a name stands for.
    pub fn define(&mut self, name: &str, known: Option<Known>) -> Result<()> {
        let Some(scope) = self.all.last_mut() else { return Ok(()) };
        match scope.names.insert(name.to_owned(), known) {
            None => Ok(()),
            Some(_) => Err(Error::input(format!("the value `{name}` is defined twice"))),
        }
    }

    /// What a name stands for.
    pub fn find(&self, name: &str) -> Result<Option<Known>> {
        for scope in self.all.iter().rev() {
            if let Some(known) = scope.names.get(name) {
                return Ok(*known);
            }
            if scope.function.is_some() {
                break;
            }
        }
        Err(Error::input(format!("the value `{name}` is used before it is defined, or never defined")))
    }

    /// What the model states of a value that is defined in the innermost scope.
    pub fn declared(&self, name: &str) -> Option<&Type> {
        self.all.last()?.declared.get(name)
    }

    /// The innermost function.
    pub fn function(&self) -> Option<&Function> {
        self.all.iter().rev().find_map(|scope| scope.function.as_ref())
    }
}

/// Names in the result: each is given once.
#[derive(Debug, Default)]
pub struct Names {
    /// Of values.
    pub of: HashMap<Value, String>,
    /// Names that are taken, and the number to try next behind each.
    taken: HashMap<String, u32>,
    /// Names of the graph's outputs that are not given yet. No value of a body gets one, though it may be first.
    outputs: HashSet<String>,
}

impl Names {
    /// Keeps a name for an output of the graph.
    pub fn reserve(&mut self, output: &str) {
        self.taken.insert(output.to_owned(), 1);
        self.outputs.insert(output.to_owned());
    }

    /// Gives a value of the graph itself its name.
    pub fn give_outermost(&mut self, value: Value, name: &str) {
        if self.outputs.remove(name) {
            self.of.insert(value, name.to_owned());
        } else {
            self.give(value, name);
        }
    }

    /// Gives a value a name, or one like it where it is taken.
    pub fn give(&mut self, value: Value, name: &str) {
        let mut free = name.to_owned();
        let mut count = self.taken.get(name).copied();
        while let Some(number) = count.filter(|_| self.taken.contains_key(&free)) {
            free = format!("{name}_{number}");
            count = Some(number.saturating_add(1));
        }
        if let Some(next) = count {
            self.taken.insert(name.to_owned(), next);
        }
        self.taken.insert(free.clone(), 1);
        self.of.insert(value, free);
    }

    /// The name of a value is that of another now.
    pub fn move_to(&mut self, before: Value, after: Value) {
        if before != after
            && let Some(name) = self.of.remove(&before)
        {
            self.of.insert(after, name);
        }
    }

    /// Has it a name?
    pub fn has(&self, value: Value) -> bool {
        self.of.contains_key(&value)
    }
}
