//! The inputs and outputs of the program: structures become flat lists of tensors and numbers.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::Interpreter;
use crate::syntax::Name;
use crate::values::{Cell, CellData, Item, Key, Value};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_program::{Arg, BoundWeight, Graph, Input, Node, Output, OutputKind, Program, visit};

/// A result with the name that it gets.
pub(super) struct Found {
    name: String,
    value: Value,
}

impl Interpreter<'_, '_> {
    /// The program of what was run: `inputs` in order, and the outputs in `result`.
    pub fn program(&mut self, inputs: Vec<Input>, result: &Item, mutations: Vec<(String, Item)>) -> Result<Program> {
        let mut found = Vec::new();
        self.flatten_outputs("output", result, true, &mut found)?;
        let mut outputs = Vec::with_capacity(found.len());
        let mut names: Vec<(String, String)> = Vec::new();
        for Found { name, value } in found {
            let value = self.output(&value).map_err(|error| error.at(name.clone()))?;
            if let Arg::Tensor(old) | Arg::Sym(old) = &value {
                names.push((old.clone(), name));
            }
            outputs.push(Output { value, kind: OutputKind::User });
        }
        for (path, item) in mutations {
            match self.output(&item.value) {
                Ok(value) => outputs.push(Output { value, kind: OutputKind::BufferMutation(path) }),
                Err(error) => self.notes.push(format!("the new value of the buffer `{path}` is dropped: {error}")),
            }
        }
        let mut graph = Graph { inputs, nodes: self.recorder.take_nodes(), outputs, ..Graph::default() };
        self.recorder.fill_tables(&mut graph);
        rename(&mut graph, names);
        let used = std::mem::take(&mut self.recorder.used);
        let mut weights = Vec::with_capacity(used.len());
        for (name, weight) in used {
            self.recorder.fill(&mut graph, name.to_string());
            weights.push(BoundWeight { value: name.to_string(), weight });
        }
        Ok(Program { graph, weights, notes: std::mem::take(&mut self.notes), ..Program::default() })
    }

    fn output(&mut self, value: &Value) -> Result<Arg> {
        match value {
            Value::Tensor(tensor) => {
                let tensor = self.plain(&tensor.clone())?;
                Ok(Arg::Tensor(tensor.name.to_string()))
            }
            Value::None | Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Sym(_) => {
                self.recorder.number(value)
            }
            other => Err(Error::unsupported(format!("it is {}, which an ONNX model cannot return", other.kind()))),
        }
    }

    fn flatten_outputs(&mut self, name: &str, item: &Item, is_root: bool, found: &mut Vec<Found>) -> Result<()> {
        let child = |part: &str| match is_root {
            true => format!("{name}_{part}"),
            false => format!("{name}.{part}"),
        };
        match &item.value {
            Value::None => Ok(()),
            Value::Tuple(tuple) => {
                for (index, item) in tuple.items.iter().enumerate() {
                    self.nested(|this| this.flatten_outputs(&child(&index.to_string()), item, false, found))?;
                }
                Ok(())
            }
            Value::List(cell) => match self.heap.get(*cell).map(|data| (**data).clone()) {
                Some(CellData::Stacked(_)) => Err(Error::unsupported(
                    "the model returns a list whose length is only known at run time; stack it in the model",
                )),
                _ => {
                    for (index, item) in self.elements(item)?.iter().enumerate() {
                        self.nested(|this| this.flatten_outputs(&child(&index.to_string()), item, false, found))?;
                    }
                    Ok(())
                }
            },
            Value::Dict(cell) => {
                let Some(CellData::Dict(entries)) = self.heap.get(*cell).map(|data| (**data).clone()) else {
                    return Err(Error::internal("expected a dictionary"));
                };
                for (key, (_, value)) in &entries {
                    let key = match key {
                        Key::Str(text) => text.to_string(),
                        Key::Int(number) => number.to_string(),
                        _ => "entry".to_owned(),
                    };
                    self.nested(|this| this.flatten_outputs(&child(&key), value, false, found))?;
                }
                Ok(())
            }
            Value::Enum(member) => {
                self.notes
                    .push(format!("the output `{name}` is dropped: it is the member `{}` of an enum", member.name));
                Ok(())
            }
            Value::Str(text) => {
                self.notes.push(format!("the output `{name}` is dropped: it is the string {text:?}"));
                Ok(())
            }
            Value::Object(cell) => {
                let attributes = self.object(*cell)?.attributes.clone();
                for (part, item) in &attributes {
                    self.nested(|this| this.flatten_outputs(&child(part), item, false, found))?;
                }
                Ok(())
            }
            value => {
                found.push(Found { name: name.to_owned(), value: value.clone() });
                Ok(())
            }
        }
    }

    /// Attributes that the run has changed: tensors by their paths; others are noted.
    pub fn changed_attributes(&mut self, before: &FxHashMap<Cell, Vec<(Name, Item)>>) -> Vec<(String, Item)> {
        let mut changed = Vec::new();
        let mut cells: Vec<&Cell> = before.keys().collect();
        cells.sort_by_key(|cell| cell.0);
        for cell in cells {
            let Some(CellData::Object(object)) = self.heap.get(*cell).map(|data| &**data) else { continue };
            let Some(path) = &object.path else { continue };
            for (name, old) in before.get(cell).into_iter().flatten() {
                let Some(new) = object.attributes.get(name) else { continue };
                if new.value.is_same(&old.value) {
                    continue;
                }
                let full = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
                match (&old.value, &new.value) {
                    (Value::Tensor(_), Value::Tensor(_)) => changed.push((full, new.clone())),
                    _ => self.notes.push(format!(
                        "the model changes its attribute `{full}`; the exported model does not change it"
                    )),
                }
            }
        }
        changed
    }

    /// The attributes of all objects in the tree of modules.
    pub fn attributes(&self) -> FxHashMap<Cell, Vec<(Name, Item)>> {
        let cells = (0..u32::try_from(self.heap.len()).unwrap_or(u32::MAX)).map(Cell);
        let attributes = cells.filter_map(|cell| match self.heap.get(cell).map(|data| &**data) {
            Some(CellData::Object(object)) => {
                let attributes = object.attributes.iter().map(|(name, item)| (Rc::clone(name), item.clone()));
                Some((cell, attributes.collect()))
            }
            _ => None,
        });
        attributes.collect()
    }
}

/// Gives results the names of the outputs. A value that is returned twice, an input or a weight keeps its own.
fn rename(graph: &mut Graph, names: Vec<(String, String)>) {
    let made: rustc_hash::FxHashSet<String> = graph.nodes.iter().flat_map(visit::results).map(str::to_owned).collect();
    let mut taken: rustc_hash::FxHashSet<String> = made.clone();
    taken.extend(graph.inputs.iter().map(|input| input.name.clone()));
    let mut new: FxHashMap<String, String> = FxHashMap::default();
    for (old, name) in names {
        if made.contains(&old) && !new.contains_key(&old) && taken.insert(name.clone()) {
            new.insert(old, name);
        }
    }
    if new.is_empty() {
        return;
    }
    let rename = |name: &mut String| {
        if let Some(new) = new.get(name) {
            name.clone_from(new);
        }
    };
    for Node { args, outputs, .. } in &mut graph.nodes {
        for (_, arg) in args {
            visit::each_name_mut(arg, &mut |name| rename(name));
        }
        for output in outputs {
            match output {
                aten2onnx_program::NodeOutput::Tensor(name) | aten2onnx_program::NodeOutput::Sym(name) => rename(name),
                aten2onnx_program::NodeOutput::Tensors(names) => names.iter_mut().for_each(&rename),
                aten2onnx_program::NodeOutput::None => {}
            }
        }
    }
    for output in &mut graph.outputs {
        visit::each_name_mut(&mut output.value, &mut |name| rename(name));
    }
    for (old, name) in &new {
        if let Some(meta) = graph.tensors.remove(old) {
            graph.tensors.insert(name.clone(), meta);
        } else if let Some(size) = graph.sym_ints.remove(old) {
            graph.sym_ints.insert(name.clone(), size);
        } else if let Some(number) = graph.sym_floats.remove(old) {
            graph.sym_floats.insert(name.clone(), number);
        } else if let Some(number) = graph.sym_bools.remove(old) {
            graph.sym_bools.insert(name.clone(), number);
        }
    }
}
