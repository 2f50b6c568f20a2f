//! Loops: known ones unroll; others become a `higher_order::loop`, ONNX's Loop. Which values it carries, and their types,
//! is found by running the body until nothing changes.

use std::rc::Rc;

use indexmap::{IndexMap, IndexSet};

use super::Interpreter;
use super::branches::Trial;
use super::endless;
use super::merge::kind_of;
use super::strides;
use crate::syntax::{Expr, Name, Stmt, StmtKind};
use crate::types::Type;
use crate::values::{Cell, CellData, Item, Tensor, Tuple, Value};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_program::TensorMeta;

/// The body is run at most so often to find the types of what it carries.
const MAX_ROUNDS: usize = 12;

/// A place whose value may change in each round.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Slot {
    Local(Name),
    Cell(Cell),
}

/// What is known of a value in a slot: one entry for each number or tensor in it.
pub(super) type Plan = Vec<Leaf>;

/// A number or tensor of a slot.
#[derive(Debug, Clone)]
pub(super) enum Leaf {
    /// It has not changed so far.
    Same,
    /// It is carried.
    Tensor(TensorMeta),
    Number(Dtype),
}

/// A loop that is being found out.
pub(super) struct Search<'s> {
    pub count: Option<Value>,
    pub condition: Option<&'s Name>,
    pub index: Option<&'s Name>,
    pub body: &'s [Stmt],
    pub plans: IndexMap<Slot, Plan>,
    /// Lists to which each round appends one tensor.
    pub growing: IndexSet<Cell>,
    /// Symbols that came later belong to the body.
    pub symbols: u32,
}

/// A run of the body with its parameters.
pub(super) struct Round {
    pub trial: Trial,
    pub index: Name,
    /// The parameters by slot, in the order of leaves.
    pub params: IndexMap<Slot, Vec<Option<Name>>>,
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
        if usize::try_from(known).is_ok_and(|known| known > super::MAX_ROUNDS) {
            return Err(too_many_rounds());
        }
        for index in 0..known.max(0) {
            self.assign(name, Item::int(index))?;
            self.loop_body(body)?;
        }
        Ok(())
    }

    /// `while condition`
    pub(super) fn while_loop(&mut self, condition: &Name, body: &[Stmt]) -> Result<()> {
        let feeding = endless::feeding(condition, body);
        let mut last: Option<Vec<Option<Value>>> = None;
        loop {
            self.step()?;
            let flag = self.name(condition)?;
            match self.truth(&flag.value)? {
                Value::Bool(true) => {
                    let values = self.plain_values(&feeding)?;
                    if let (Some(last), Some(values)) = (&last, &values)
                        && endless::are_same(last, values)
                    {
                        let error = Error::unsupported(format!("the loop `while {condition}` never ends"));
                        return Err(error.help("nothing that its condition is computed from changes in a round"));
                    }
                    last = values;
                    self.loop_body(body)?;
                }
                Value::Bool(false) => return Ok(()),
                _ => return self.graph_loop(None, Some(condition), None, body),
            }
        }
    }

    fn loop_body(&mut self, body: &[Stmt]) -> Result<()> {
        self.rounds += 1;
        if self.rounds > super::MAX_ROUNDS {
            return Err(too_many_rounds());
        }
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
        let body = search.body;
        let trial = self.trial(&|this: &mut Self| this.block(body));
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
    pub(super) fn before_and_after(&self, slot: &Slot, round: &Round) -> Result<(Vec<Value>, Vec<Value>)> {
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
}

/// The end of the name of a symbol for a size that differs between rounds.
const WIDENED: &str = "_any";

pub(super) fn is_widened(symbol: &str) -> bool {
    symbol.ends_with(WIDENED)
}

fn too_many_rounds() -> Error {
    let error = Error::unsupported(format!("the loops of the model have more than {} rounds", super::MAX_ROUNDS));
    error.help("give what they run over as an input, so that they stay loops: `--input NAME:int`")
}

fn cannot_carry(value: &Value) -> Error {
    Error::unsupported(format!(
        "a loop whose rounds are only known at run time changes {}, which ONNX cannot carry",
        value.kind()
    ))
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
