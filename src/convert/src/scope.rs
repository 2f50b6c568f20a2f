//! Resolves names: in the graph, its subgraphs, and functions, which do not see outer names.

use std::collections::{HashMap, HashSet};

use aten2onnx_builder::Known;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::graph::{Type, Value};
use aten2onnx_onnx::proto::AttributeProto;

/// The names of a graph, subgraph or function.
#[derive(Debug, Default)]
pub struct Scope {
    /// The values of names; None for an optional input of a function that is absent.
    pub names: HashMap<String, Option<Known>>,
    /// Declared types.
    pub declared: HashMap<String, Type>,
    /// The names of its outputs.
    pub outputs: HashSet<String>,
    /// The call, if it is a function.
    pub function: Option<Function>,
}

/// The call of a function.
#[derive(Debug, Default)]
pub struct Function {
    /// The opset of the default domain in its body.
    pub opset: u32,
    /// The attributes of the call, and the defaults of others.
    pub attributes: HashMap<String, AttributeProto>,
    /// The prefix for the names of its nodes.
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

    /// Closes the innermost scope.
    pub fn pop(&mut self) -> Scope {
        self.all.pop().unwrap_or_default()
    }

    /// The number of open scopes.
    pub fn depth(&self) -> usize {
        self.all.len()
    }

    /// The innermost scope.
    pub fn last(&self) -> Option<&Scope> {
        self.all.last()
    }

    /// Defines the value of a name.
    pub fn define(&mut self, name: &str, known: Option<Known>) -> Result<()> {
        let Some(scope) = self.all.last_mut() else { return Ok(()) };
        match scope.names.insert(name.to_owned(), known) {
            None => Ok(()),
            Some(_) => Err(Error::input(format!("the value `{name}` is defined twice"))),
        }
    }

    /// The value of a name.
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

    /// The declared type of a value in the innermost scope.
    pub fn declared(&self, name: &str) -> Option<&Type> {
        self.all.last()?.declared.get(name)
    }

    /// The innermost function.
    pub fn function(&self) -> Option<&Function> {
        self.all.iter().rev().find_map(|scope| scope.function.as_ref())
    }
}

/// Names in the result, without duplicates.
#[derive(Debug, Default, Clone)]
pub struct Names {
    /// The names of values.
    pub of: HashMap<Value, String>,
    /// Names in use, with the number to try next as suffix.
    taken: HashMap<String, u32>,
    /// Names of graph outputs that are not assigned yet. Values of subgraphs cannot get them.
    outputs: HashSet<String>,
}

impl Names {
    /// Reserves a name for an output of the graph.
    pub fn reserve(&mut self, output: &str) {
        self.taken.insert(output.to_owned(), 1);
        self.outputs.insert(output.to_owned());
    }

    /// Names a value of the main graph.
    pub fn name_outermost(&mut self, value: Value, name: &str) {
        if self.outputs.remove(name) {
            self.of.insert(value, name.to_owned());
        } else {
            self.assign(value, name);
        }
    }

    /// Names a value; adds a suffix if the name is in use.
    pub fn assign(&mut self, value: Value, name: &str) {
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

    /// Moves the name of a value to another.
    pub fn move_to(&mut self, before: Value, after: Value) {
        if before != after
            && let Some(name) = self.of.remove(&before)
        {
            self.of.insert(after, name);
        }
    }

    /// Whether it has a name.
    pub fn has(&self, value: Value) -> bool {
        self.of.contains_key(&value)
    }
}
