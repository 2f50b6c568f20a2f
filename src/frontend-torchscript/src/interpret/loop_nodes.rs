//! The node of a loop whose types are known: its body, what it starts with, and what it leaves behind.

use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexSet;

use super::Interpreter;
use super::loops::{Leaf, Round, Search, Slot, is_widened};
use super::merge::free_names;
use super::strides;
use crate::syntax::Name;
use crate::values::{Cell, CellData, Changes, Item, Tuple, Value};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_program::{Arg, Graph, NodeOutput, Output, OutputKind, TensorMeta};

impl Interpreter<'_, '_> {
    /// Adds the node of a loop whose types are known.
    pub(super) fn finish_loop(&mut self, search: Search<'_>, round: Round) -> Result<()> {
        let Search { count, condition, plans, growing, symbols, .. } = search;
        let mut carried: Vec<(Slot, usize, Leaf, Value, Value, Name)> = Vec::new();
        for (slot, plan) in &plans {
            let (before, after) = self.before_and_after(slot, &round)?;
            let params = round.params.get(slot).cloned().unwrap_or_default();
            let leaves = plan.iter().zip(params).zip(before.into_iter().zip(after)).enumerate();
            for (at, ((leaf, param), (before, after))) in leaves {
                if let Some(param) = param {
                    carried.push((slot.clone(), at, leaf.clone(), before, after, param));
                }
            }
        }
        let flag_after = match condition {
            Some(name) => round.trial.locals.get(name).map(|item| item.value.clone()),
            None => None,
        };
        // What the body returns.
        self.recorder.reopen(round.trial.body);
        let body = self.body_results(flag_after.as_ref(), &carried, &growing, &round.trial.changes, symbols);
        let nodes = self.recorder.close().nodes();
        let (results, scans) = body?;
        let result = |value| Output { value, kind: OutputKind::User };
        let mut graph = Graph { nodes, outputs: results.into_iter().map(result).collect(), ..Graph::default() };
        let mut free = IndexSet::new();
        free_names(&graph, &mut free);
        let params: Vec<&Name> = carried.iter().map(|(.., param)| param).collect();
        let is_param = |name: &String| *name == *round.index || params.iter().any(|param| ***param == **name);
        let free: Vec<String> = free.into_iter().filter(|name| !is_param(name)).collect();
        let inputs = std::iter::once(&*round.index).chain(params.iter().map(|param| &***param));
        let written = self.complete(&mut graph, inputs.chain(free.iter().map(String::as_str)))?;
        self.check_written(&written, &carried)?;
        let outside: IndexSet<String> = written.iter().filter(|name| free.contains(name)).cloned().collect();
        reorder(&mut graph, carried.len(), &outside, flag_after.is_some());
        let mut starts: Vec<Option<String>> = Vec::with_capacity(carried.len());
        for (_, _, leaf, before, ..) in &carried {
            starts.push(Some(self.start(leaf, before, symbols)?));
        }
        starts.extend(outside.iter().cloned().map(Some));
        let more = free.iter().filter(|name| !outside.contains(*name)).cloned().map(Some).collect();
        let count = match &count {
            Some(count) => self.recorder.number(count)?,
            None => Arg::None,
        };
        let flag = match condition {
            Some(name) => {
                let flag = self.name(name)?;
                let flag = self.truth(&flag.value)?;
                self.recorder.number(&flag)?
            }
            None => Arg::None,
        };
        let mut outputs = Vec::new();
        let mut news = Vec::new();
        for (slot, at, leaf, ..) in &carried {
            news.push((slot.clone(), *at, self.loop_output(leaf, symbols, &mut outputs)?));
        }
        let written_back = self.declare_written(&outside, &mut outputs)?;
        let mut stacks = Vec::new();
        for (cell, meta) in scans {
            let rounds = SymInt::symbol(self.recorder.symbol());
            let sizes: Vec<SymInt> = std::iter::once(rounds)
                .chain(meta.sizes.iter().map(|size| self.recorder.outside(size, symbols)))
                .collect();
            let strides = strides::contiguous(&sizes);
            let meta = TensorMeta { sizes, strides, ..meta };
            let item = self.loop_output(&Leaf::Tensor(meta), symbols, &mut outputs)?;
            stacks.push((cell, item));
        }
        let graph = (String::new(), Arg::Graph(Arc::new(graph)));
        let arg = |arg: Arg| (String::new(), arg);
        let args = vec![graph, arg(count), arg(flag), arg(Arg::Tensors(starts)), arg(Arg::Tensors(more))];
        self.push_nested("higher_order::loop", args, outputs)?;
        self.write_back(written_back)?;
        for ((_, _, _, before, _, param), (_, _, new)) in carried.iter().zip(&news) {
            if let (true, Value::Tensor(old), Value::Tensor(new)) =
                (written.iter().any(|name| **name == **param), before, new)
            {
                self.write_back(vec![(old.name.to_string(), Rc::clone(&new.name))])?;
            }
        }
        self.update(news)?;
        for (cell, value) in stacks {
            if let (Value::Tensor(tensor), Some(slot)) = (value, self.heap.get_mut(cell)) {
                *slot = CellData::Stacked(tensor);
            }
        }
        Ok(())
    }

    /// The outputs of the body: the condition, the carried values, and slices of lists that grow.
    #[allow(clippy::type_complexity)]
    fn body_results(
        &mut self,
        flag: Option<&Value>,
        carried: &[(Slot, usize, Leaf, Value, Value, Name)],
        growing: &IndexSet<Cell>,
        changes: &Changes,
        symbols: u32,
    ) -> Result<(Vec<Arg>, Vec<(Cell, TensorMeta)>)> {
        let mut results = Vec::new();
        if let Some(flag) = flag {
            let flag = self.truth(flag)?;
            results.push(Arg::Sym(self.recorder.named_number(&flag)?.to_string()));
        }
        for (_, _, leaf, _, after, _) in carried {
            results.push(match (leaf, after) {
                (Leaf::Tensor(_), Value::Tensor(tensor)) => {
                    self.recorder.meta(tensor)?;
                    Arg::Tensor(tensor.name.to_string())
                }
                (Leaf::Tensor(meta), _) => Arg::Tensor(self.zeros_like(meta, symbols)?.name.to_string()),
                (Leaf::Number(dtype), after) => {
                    let after = converted(after, *dtype);
                    Arg::Sym(self.recorder.named_number(&after)?.to_string())
                }
                (Leaf::Same, _) => return Err(Error::internal("a value that is not carried")),
            });
        }
        let mut scans = Vec::new();
        for cell in growing {
            let item = match changes.get(cell).map(|data| &**data) {
                Some(CellData::Growing(items)) => items.first().cloned(),
                _ => None,
            };
            match item.map(|item| item.value) {
                Some(Value::Tensor(tensor)) => {
                    scans.push((*cell, self.recorder.meta(&tensor)?));
                    results.push(Arg::Tensor(tensor.name.to_string()));
                }
                other => {
                    let kind = other.map_or("nothing", |value| value.kind());
                    return Err(Error::unsupported(format!(
                        "a loop appends {kind} to a list; only tensors can be appended"
                    )));
                }
            }
        }
        Ok((results, scans))
    }

    /// A parameter that the body writes to must be what it carries on, so that the write is seen after the loop.
    fn check_written(&self, written: &[String], carried: &[(Slot, usize, Leaf, Value, Value, Name)]) -> Result<()> {
        for (.., after, param) in carried {
            if !written.iter().any(|name| **name == **param) {
                continue;
            }
            let is_same_memory = match after {
                Value::Tensor(tensor) => self.recorder.memory_of(param) == Some(tensor.memory),
                _ => false,
            };
            if !is_same_memory {
                return Err(Error::unsupported("a loop writes to a tensor in place and then carries another one"));
            }
        }
        Ok(())
    }

    /// The value that a carried value starts with, by name.
    fn start(&mut self, leaf: &Leaf, before: &Value, symbols: u32) -> Result<String> {
        Ok(match (leaf, before) {
            (Leaf::Tensor(_), Value::Tensor(tensor)) => {
                self.recorder.meta(tensor)?;
                tensor.name.to_string()
            }
            (Leaf::Tensor(meta), _) => self.zeros_like(meta, symbols)?.name.to_string(),
            (Leaf::Number(dtype), before) => {
                let before = converted(before, *dtype);
                self.recorder.named_number(&before)?.to_string()
            }
            (Leaf::Same, _) => return Err(Error::internal("a value that is not carried")),
        })
    }

    /// A result of the loop.
    fn loop_output(&mut self, leaf: &Leaf, symbols: u32, outputs: &mut Vec<NodeOutput>) -> Result<Value> {
        let name = self.recorder.fresh("loop_out");
        Ok(match leaf {
            Leaf::Tensor(meta) => {
                outputs.push(NodeOutput::Tensor(name.to_string()));
                let sizes: Vec<SymInt> = meta
                    .sizes
                    .iter()
                    .map(|size| match size.as_symbol().is_some_and(is_widened) {
                        true => SymInt::symbol(self.recorder.symbol()),
                        false => self.recorder.outside(size, symbols),
                    })
                    .collect();
                let strides = if sizes == meta.sizes { meta.strides.clone() } else { Vec::new() };
                self.recorder.scratch.define(&name, meta.dtype, sizes.clone());
                let memory = self.recorder.memory();
                let meta = TensorMeta { dtype: meta.dtype, sizes, strides, storage_offset: SymInt::from(0) };
                Value::Tensor(self.recorder.define(&name, meta, memory))
            }
            Leaf::Number(dtype) => {
                outputs.push(NodeOutput::Sym(name.to_string()));
                self.recorder.define_number(&name, *dtype)
            }
            Leaf::Same => return Err(Error::internal("a value that is not carried")),
        })
    }

    /// Gives the slots their values after the loop.
    fn update(&mut self, news: Vec<(Slot, usize, Value)>) -> Result<()> {
        for (slot, at, value) in news {
            let mut left = at;
            match slot {
                Slot::Local(name) => {
                    if let Some(item) = self.frame()?.locals.get(&name).cloned() {
                        let item = replaced(&item, &mut left, &value);
                        self.assign(&name, item)?;
                    }
                }
                Slot::Cell(cell) => match self.heap.get_mut(cell) {
                    Some(CellData::List(items)) => {
                        items.iter_mut().for_each(|item| *item = replaced(item, &mut left, &value))
                    }
                    Some(CellData::Dict(entries)) => {
                        entries.values_mut().for_each(|(_, item)| *item = replaced(item, &mut left, &value));
                    }
                    Some(CellData::Object(object)) => {
                        object.attributes.values_mut().for_each(|item| *item = replaced(item, &mut left, &value));
                    }
                    _ => return Err(Error::internal("a slot of a loop is missing")),
                },
            }
        }
        Ok(())
    }
}

/// The item with its leaf number `left` replaced.
fn replaced(item: &Item, left: &mut usize, value: &Value) -> Item {
    let new = match &item.value {
        Value::Tuple(tuple) => {
            let items = tuple.items.iter().map(|item| replaced(item, left, value)).collect();
            Value::Tuple(Rc::new(Tuple { items, class: tuple.class.clone() }))
        }
        old => {
            let is_it = *left == 0;
            *left = left.wrapping_sub(1);
            if is_it { value.clone() } else { old.clone() }
        }
    };
    Item::new(new, item.ty.clone())
}

/// A known number as one of this kind.
fn converted(value: &Value, dtype: Dtype) -> Value {
    match (value, dtype) {
        (Value::Int(number), Dtype::Float64) => Value::Float(*number as f64),
        (Value::Bool(flag), Dtype::Float64) => Value::Float(f64::from(u8::from(*flag))),
        (Value::Uninitialized, Dtype::Bool) => Value::Bool(false),
        (Value::Uninitialized, Dtype::Int64) => Value::Int(0),
        (Value::Uninitialized, _) => Value::Float(0.0),
        (other, _) => other.clone(),
    }
}

/// Moves the tensors from outside that the body writes behind the carried values, and their new values likewise.
fn reorder(graph: &mut Graph, carried: usize, outside: &IndexSet<String>, has_condition: bool) {
    let inputs = std::mem::take(&mut graph.inputs);
    let (mut own, rest): (Vec<_>, Vec<_>) = {
        let mut inputs = inputs.into_iter();
        let own: Vec<_> = inputs.by_ref().take(carried + 1).collect();
        (own, inputs.collect())
    };
    let (written, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(|input| outside.contains(&input.name));
    let mut written: Vec<_> = written.into_iter().map(Some).collect();
    for name in outside {
        let at = written.iter().position(|input| input.as_ref().is_some_and(|input| input.name == *name));
        own.extend(at.and_then(|at| written.get_mut(at)).and_then(Option::take));
    }
    own.extend(rest);
    graph.inputs = own;
    let outputs = std::mem::take(&mut graph.outputs);
    let (user, mutations): (Vec<_>, Vec<_>) = outputs.into_iter().partition(|output| output.kind == OutputKind::User);
    let first = carried + usize::from(has_condition);
    let mut user = user.into_iter();
    graph.outputs = user.by_ref().take(first).collect();
    for name in outside {
        let is_new = |output: &&Output| output.kind == OutputKind::InputMutation(name.clone());
        if let Some(output) = mutations.iter().find(is_new) {
            graph.outputs.push(Output { value: output.value.clone(), kind: OutputKind::User });
        }
    }
    graph.outputs.extend(user);
}
