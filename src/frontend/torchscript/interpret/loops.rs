//! Loops: known ones unroll; others become a `higher_order::loop`, ONNX's Loop. Which values it carries, and their types,
//! is found by running the body until nothing changes.

use std::rc::Rc;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use super::Interpreter;
use super::branches::Trial;
use super::merge::{free_names, kind_of};
use super::strides;
use crate::frontend::torchscript::syntax::{Expr, Name, Stmt, StmtKind};
use crate::frontend::torchscript::types::Type;
use crate::frontend::torchscript::values::{Cell, CellData, Item, Tensor, Tuple, Value};
use crate::program::{Arg, Graph, NodeOutput, Output, OutputKind, TensorMeta};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;

/// The body is run at most so often to find the types of what it carries.
const MAX_ROUNDS: usize = 12;

/// A place whose value may change in each round.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Slot {
    Local(Name),
    Cell(Cell),
}

/// What is known of a value in a slot: one entry for each number or tensor in it.
type Plan = Vec<Leaf>;

/// A number or tensor of a slot.
#[derive(Debug, Clone)]
enum Leaf {
    /// It has not changed so far.
    Same,
    /// It is carried.
    Tensor(TensorMeta),
    Number(Dtype),
}

/// A loop that is being found out.
struct Search<'s> {
    count: Option<Value>,
    condition: Option<&'s Name>,
    index: Option<&'s Name>,
    body: &'s [Stmt],
    plans: IndexMap<Slot, Plan>,
    /// Lists to which each round appends one tensor.
    growing: IndexSet<Cell>,
    /// Symbols that came later belong to the body.
    symbols: u32,
}

/// A run of the body with its parameters.
struct Round {
    trial: Trial,
    index: Name,
    /// The parameters by slot, in the order of leaves.
    params: IndexMap<Slot, Vec<Option<Name>>>,
}

impl Interpreter<'_, '_> {
    /// `for name in range(..)`
    pub(super) fn for_loop(&mut self, name: &Name, range: &[Expr], body: &[Stmt]) -> Result<()> {
        let [count] = range else {
            return Err(Error::unsupported("a `for` loop over a range with a start"));
        };
        let count = self.eval(count)?;
        let count = self.numeric(&count.value)?;
        let Value::Int(known) = count else {
            return self.graph_loop(Some(count), None, Some(name), body);
        };
        for index in 0..known.max(0) {
            self.assign(name, Item::int(index))?;
            self.loop_body(body)?;
        }
        Ok(())
    }

    /// `while condition`
    pub(super) fn while_loop(&mut self, condition: &Name, body: &[Stmt]) -> Result<()> {
        loop {
            self.step()?;
            let flag = self.name(condition)?;
            match self.truth(&flag.value)? {
                Value::Bool(true) => self.loop_body(body)?,
                Value::Bool(false) => return Ok(()),
                _ => return self.graph_loop(None, Some(condition), None, body),
            }
        }
    }

    fn loop_body(&mut self, body: &[Stmt]) -> Result<()> {
        match self.block(body)? {
            None => Ok(()),
            Some(_) => Err(Error::unsupported("a `return` is inside of a loop")),
        }
    }

    /// A loop whose number of rounds is only known at run time.
    fn graph_loop(
        &mut self,
        count: Option<Value>,
        condition: Option<&Name>,
        index: Option<&Name>,
        body: &[Stmt],
    ) -> Result<()> {
        let mut assigned = IndexSet::new();
        names_assigned(body, &mut assigned);
        let mut plans = IndexMap::new();
        for name in assigned {
            if let Some(item) = self.frame()?.locals.get(&name).cloned() {
                let leaves = self.leaves(&item.value)?.len();
                plans.insert(Slot::Local(name), vec![Leaf::Same; leaves]);
            }
        }
        let symbols = self.recorder.symbol_count();
        let mut search = Search { count, condition, index, body, plans, growing: IndexSet::new(), symbols };
        for _ in 0..MAX_ROUNDS {
            let round = self.round(&search)?;
            if !self.widened(&mut search, &round)? {
                return self.finish_loop(search, round);
            }
        }
        Err(Error::unsupported("the types of the values that a loop carries do not settle"))
    }

    /// Runs the body once with parameters for what it carries.
    fn round(&mut self, search: &Search<'_>) -> Result<Round> {
        let locals = self.frame()?.locals.clone();
        self.heap.begin();
        let index = self.recorder.fresh("i");
        let symbol = self.recorder.symbol();
        let number = self.recorder.define_int(&index, symbol);
        let mut params = IndexMap::new();
        for (slot, plan) in &search.plans {
            let mut names = Vec::with_capacity(plan.len());
            let mut plan = plan.iter();
            match slot {
                Slot::Local(name) => {
                    let item = locals.get(name).cloned().ok_or_else(|| Error::internal("a variable is missing"))?;
                    let item = self.parameters(&item, &mut plan, &mut names)?;
                    self.assign(name, item)?;
                }
                Slot::Cell(cell) => {
                    let data = self.heap.get(*cell).map(|data| (**data).clone());
                    let data = data.ok_or_else(|| Error::internal("an object is missing"))?;
                    let data = self.parameters_of(data, &mut plan, &mut names)?;
                    if let Some(slot) = self.heap.get_mut(*cell) {
                        *slot = data;
                    }
                }
            }
            params.insert(slot.clone(), names);
        }
        for cell in &search.growing {
            if let Some(slot) = self.heap.get_mut(*cell) {
                *slot = CellData::Growing(Vec::new());
            }
        }
        if let Some(name) = search.index {
            self.assign(name, Item::new(number, Type::Int))?;
        }
        let trial = self.trial(search.body);
        self.frame_mut()?.locals = locals;
        let mut outer = self.heap.undo();
        let mut trial = trial?.ok_or_else(|| Error::unsupported("each round of a loop raises an exception"))?;
        // What the parameters replaced was not changed by the body unless the body did.
        for (cell, data) in outer.drain() {
            trial.changes.entry(cell).or_insert(data);
        }
        Ok(Round { trial, index, params })
    }

    /// The value of a slot in a round: parameters for what is carried.
    fn parameters(
        &mut self,
        item: &Item,
        plan: &mut std::slice::Iter<'_, Leaf>,
        names: &mut Vec<Option<Name>>,
    ) -> Result<Item> {
        let value = match &item.value {
            Value::Tuple(tuple) => {
                let items = tuple.items.iter().map(|item| self.parameters(item, plan, names));
                Value::Tuple(Rc::new(Tuple { items: items.collect::<Result<_>>()?, class: tuple.class.clone() }))
            }
            other => match plan.next() {
                None | Some(Leaf::Same) => {
                    names.push(None);
                    other.clone()
                }
                Some(Leaf::Tensor(meta)) => {
                    let name = self.recorder.fresh("carried");
                    self.recorder.scratch.define(&name, meta.dtype, meta.sizes.clone());
                    let memory = self.recorder.memory();
                    let tensor = self.recorder.define(&name, meta.clone(), memory);
                    names.push(Some(name));
                    let quantized = match other {
                        Value::Tensor(tensor) => tensor.quantized.clone(),
                        _ => None,
                    };
                    Value::Tensor(Tensor { quantized, ..tensor })
                }
                Some(Leaf::Number(dtype)) => {
                    let name = self.recorder.fresh("carried");
                    let value = self.recorder.define_number(&name, *dtype);
                    names.push(Some(name));
                    value
                }
            },
        };
        Ok(Item::new(value, item.ty.clone()))
    }

    fn parameters_of(
        &mut self,
        data: CellData,
        plan: &mut std::slice::Iter<'_, Leaf>,
        names: &mut Vec<Option<Name>>,
    ) -> Result<CellData> {
        Ok(match data {
            CellData::List(items) => {
                CellData::List(items.iter().map(|item| self.parameters(item, plan, names)).collect::<Result<_>>()?)
            }
            CellData::Dict(mut entries) => {
                for (_, value) in entries.values_mut() {
                    *value = self.parameters(&value.clone(), plan, names)?;
                }
                CellData::Dict(entries)
            }
            CellData::Object(mut object) => {
                for value in object.attributes.values_mut() {
                    *value = self.parameters(&value.clone(), plan, names)?;
                }
                CellData::Object(object)
            }
            other => other,
        })
    }

    /// The numbers and tensors in a value; objects are slots of their own.
    fn leaves(&self, value: &Value) -> Result<Vec<Value>> {
        Ok(match value {
            Value::Tuple(tuple) => {
                let mut all = Vec::new();
                for item in &tuple.items {
                    all.extend(self.leaves(&item.value)?);
                }
                all
            }
            other => vec![other.clone()],
        })
    }

    fn leaves_of(&self, data: &CellData) -> Result<Vec<Value>> {
        let items: Vec<&Item> = match data {
            CellData::List(items) => items.iter().collect(),
            CellData::Dict(entries) => entries.values().map(|(_, value)| value).collect(),
            CellData::Object(object) => object.attributes.values().collect(),
            CellData::Stacked(_) | CellData::Growing(_) => Vec::new(),
        };
        let mut all = Vec::new();
        for item in items {
            all.extend(self.leaves(&item.value)?);
        }
        Ok(all)
    }

    /// The leaves of a slot before the loop, and after a round.
    fn before_and_after(&self, slot: &Slot, round: &Round) -> Result<(Vec<Value>, Vec<Value>)> {
        let missing = || Error::internal("a slot of a loop is missing");
        let (before, after) = match slot {
            Slot::Local(name) => {
                let before = self.frame()?.locals.get(name).ok_or_else(missing)?;
                let after = round.trial.locals.get(name).ok_or_else(missing)?;
                if let Value::Broken(error) = &after.value {
                    return Err((**error).clone());
                }
                (self.leaves(&before.value)?, self.leaves(&after.value)?)
            }
            Slot::Cell(cell) => {
                let before = self.heap.get(*cell).ok_or_else(missing)?;
                let after = round.trial.changes.get(cell).unwrap_or(before);
                (self.leaves_of(before)?, self.leaves_of(after)?)
            }
        };
        match before.len() == after.len() {
            true => Ok((before, after)),
            false => Err(Error::unsupported(
                "the length of a list changes in a loop whose rounds are only known at run time",
            )),
        }
    }

    /// Compares what a round did with what was assumed; returns whether more must be carried.
    fn widened(&mut self, search: &mut Search<'_>, round: &Round) -> Result<bool> {
        let mut changed = self.new_slots(search, round)?;
        let slots: Vec<Slot> = search.plans.keys().cloned().collect();
        for slot in slots {
            if !round.params.contains_key(&slot) {
                continue;
            }
            let (before, after) = self.before_and_after(&slot, round)?;
            let plan = search.plans.get(&slot).cloned().unwrap_or_default();
            let mut next = Vec::with_capacity(plan.len());
            for (leaf, (before, after)) in plan.iter().zip(before.iter().zip(&after)) {
                let (leaf, is_new) = self.next_leaf(leaf, before, after, search.symbols)?;
                changed |= is_new;
                next.push(leaf);
            }
            search.plans.insert(slot, next);
        }
        Ok(changed)
    }

    /// Objects that the body changed and that are not yet known to change.
    fn new_slots(&mut self, search: &mut Search<'_>, round: &Round) -> Result<bool> {
        let mut cells: Vec<Cell> = round.trial.changes.keys().copied().collect();
        cells.sort_by_key(|cell| cell.0);
        let mut changed = false;
        for cell in cells {
            if search.plans.contains_key(&Slot::Cell(cell)) {
                continue;
            }
            let (Some(before), Some(after)) = (self.heap.get(cell), round.trial.changes.get(&cell)) else { continue };
            if search.growing.contains(&cell) {
                let is_one = matches!(&**after, CellData::Growing(items) if items.len() == 1);
                if !is_one {
                    return Err(Error::unsupported(
                        "a round of a loop appends another number of elements than one to a list",
                    ));
                }
                continue;
            }
            changed = true;
            match (&**before, &**after) {
                (CellData::List(old), CellData::List(new)) if new.len() > old.len() => {
                    if !old.is_empty() {
                        return Err(Error::unsupported(
                            "a loop whose rounds are only known at run time appends to a list that is not empty",
                        ));
                    }
                    search.growing.insert(cell);
                }
                (before, _) => {
                    let leaves = self.leaves_of(before)?.len();
                    search.plans.insert(Slot::Cell(cell), vec![Leaf::Same; leaves]);
                }
            }
        }
        Ok(changed)
    }

    /// What must be known of a value after a round, and whether that is new.
    fn next_leaf(&mut self, leaf: &Leaf, before: &Value, after: &Value, symbols: u32) -> Result<(Leaf, bool)> {
        match leaf {
            Leaf::Same if before.is_same(after) => Ok((Leaf::Same, false)),
            Leaf::Same => Ok((self.first_leaf(before, after, symbols)?, true)),
            Leaf::Number(dtype) => match kind_of(after) {
                Some(kind) if kind == *dtype => Ok((leaf.clone(), false)),
                Some(_) => Ok((Leaf::Number(Dtype::Float64), *dtype != Dtype::Float64)),
                None if matches!(after, Value::Uninitialized) => Ok((leaf.clone(), false)),
                None => Err(cannot_carry(after)),
            },
            Leaf::Tensor(meta) => match after {
                Value::Tensor(tensor) => {
                    let new = self.recorder.meta(tensor)?;
                    if new.dtype != meta.dtype || new.sizes.len() != meta.sizes.len() {
                        self.joined_meta(meta, &new, symbols)?;
                    }
                    let mut sizes = Vec::with_capacity(meta.sizes.len());
                    let mut changed = false;
                    for (old, new) in meta.sizes.iter().zip(&new.sizes) {
                        let keeps = old == new || old.as_symbol().is_some_and(is_widened);
                        changed |= !keeps;
                        sizes.push(if keeps { old.clone() } else { SymInt::symbol(self.recorder.symbol() + WIDENED) });
                    }
                    let strides = match meta.strides == new.strides && !changed {
                        true => meta.strides.clone(),
                        false if strides::is_contiguous(meta) && strides::is_contiguous(&new) => {
                            strides::contiguous(&sizes)
                        }
                        false => Vec::new(),
                    };
                    changed |= strides != meta.strides;
                    let storage_offset = SymInt::from(0);
                    Ok((Leaf::Tensor(TensorMeta { dtype: meta.dtype, sizes, strides, storage_offset }), changed))
                }
                Value::Uninitialized => Ok((leaf.clone(), false)),
                other => Err(cannot_carry(other)),
            },
        }
    }

    fn first_leaf(&mut self, before: &Value, after: &Value, symbols: u32) -> Result<Leaf> {
        let of_meta = |this: &mut Self, tensor: &Tensor| -> Result<Leaf> {
            let meta = this.recorder.meta(tensor)?;
            let sizes: Vec<SymInt> = meta.sizes.iter().map(|size| this.recorder.outside(size, symbols)).collect();
            let strides = if sizes == meta.sizes { meta.strides } else { Vec::new() };
            Ok(Leaf::Tensor(TensorMeta { dtype: meta.dtype, sizes, strides, storage_offset: SymInt::from(0) }))
        };
        match (before, after) {
            (Value::Tensor(tensor), _) | (Value::Uninitialized, Value::Tensor(tensor)) => of_meta(self, tensor),
            _ => match (kind_of(before), kind_of(after)) {
                (Some(a), Some(b)) => Ok(Leaf::Number(if a == b { a } else { Dtype::Float64 })),
                (Some(kind), None) | (None, Some(kind))
                    if matches!(before, Value::Uninitialized) || matches!(after, Value::Uninitialized) =>
                {
                    Ok(Leaf::Number(kind))
                }
                _ => Err(cannot_carry(if kind_of(before).is_some() { after } else { before })),
            },
        }
    }

    /// Adds the node of a loop whose types are known.
    fn finish_loop(&mut self, search: Search<'_>, round: Round) -> Result<()> {
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
        changes: &crate::frontend::torchscript::values::Changes,
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

/// The end of the name of a symbol for a size that differs between rounds.
const WIDENED: &str = "_any";

fn is_widened(symbol: &str) -> bool {
    symbol.ends_with(WIDENED)
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

fn cannot_carry(value: &Value) -> Error {
    Error::unsupported(format!(
        "a loop whose rounds are only known at run time changes {}, which ONNX cannot carry",
        value.kind()
    ))
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

/// The variables that statements give values.
fn names_assigned(body: &[Stmt], found: &mut IndexSet<Name>) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::Assign { targets, .. } => found.extend(targets.iter().cloned()),
            StmtKind::Declare { name, .. } => {
                found.insert(Rc::clone(name));
            }
            StmtKind::If { yes, no, .. } => {
                names_assigned(yes, found);
                names_assigned(no, found);
            }
            StmtKind::For { name, body, .. } => {
                found.insert(Rc::clone(name));
                names_assigned(body, found);
            }
            StmtKind::While { body, .. } | StmtKind::With { body, .. } => names_assigned(body, found),
            _ => {}
        }
    }
}
