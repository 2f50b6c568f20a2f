//! Operators on lists and dictionaries, which have an identity: what is written through one name is seen through others.

use std::cmp::Ordering;
use std::rc::Rc;

use indexmap::IndexMap;

use super::Interpreter;
use super::expressions::{clamped, known_index};
use super::numbers::key;
use super::operators::OperatorCall;
use crate::types::Type;
use crate::values::{Cell, CellData, Item, Key, Value};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_program::Arg;

/// The longest list that is built.
pub(super) const MAX_LENGTH: usize = 1_000_000;

impl Interpreter<'_, '_> {
    /// The elements of a list or tuple.
    pub(super) fn elements(&mut self, item: &Item) -> Result<Vec<Item>> {
        match &item.value {
            Value::Tuple(tuple) => Ok(tuple.items.clone()),
            Value::List(cell) => match self.heap.get(*cell).map(|data| &**data) {
                Some(CellData::List(items)) => {
                    let items = items.clone();
                    self.charge(items.len())?;
                    Ok(items)
                }
                Some(CellData::Stacked(_)) => Err(Error::unsupported(
                    "the elements of a list are used one by one, whose number is only known at run time",
                )),
                Some(CellData::Growing(_)) => Err(grows()),
                _ => Err(Error::internal("expected a list")),
            },
            other => Err(Error::unsupported(format!("{} is used as a list", other.kind()))),
        }
    }

    fn list_mut(&mut self, cell: Cell) -> Result<&mut Vec<Item>> {
        match self.heap.get_mut(cell) {
            Some(CellData::List(items)) => Ok(items),
            Some(CellData::Growing(_)) => Err(grows()),
            Some(CellData::Stacked(_)) => {
                Err(Error::unsupported("a list is changed whose length is only known at run time"))
            }
            _ => Err(Error::internal("expected a list")),
        }
    }

    /// An operator on lists or dictionaries; None if it is not one.
    pub(super) fn container_function(&mut self, call: &OperatorCall) -> Result<Option<Item>> {
        let (_, short) = call.name().split_once("::").unwrap_or(("", call.name()));
        match call.value(0) {
            Value::Dict(cell) => self.dict_function(short, *cell, call),
            Value::List(cell) => {
                let cell = *cell;
                if short == "dict" {
                    return self.dict_of_pairs(call).map(Some);
                }
                match self.heap.get(cell).map(|data| &**data) {
                    Some(CellData::Stacked(_)) => self.stacked_function(short, cell, call),
                    _ => self.list_function(short, cell, call),
                }
            }
            _ => match short {
                "rangelist" => {
                    let Value::Int(count) = call.value(0) else {
                        return Err(Error::unsupported("the length of a list is only known at run time"));
                    };
                    let count = usize::try_from(*count).unwrap_or(0).min(MAX_LENGTH);
                    let items = (0..count).map(|number| Item::int(number as i64)).collect();
                    self.list_of(Type::Int, items).map(Some)
                }
                "dict" => {
                    let cell = self.add(CellData::Dict(IndexMap::new()))?;
                    Ok(Some(Item::new(Value::Dict(cell), call.returns())))
                }
                // `mul(2, [1, 2])`
                "mul" if matches!(call.value(1), Value::List(_)) => {
                    let items = self.elements(call.item(1)?)?;
                    let of = call.item(1)?.ty.element();
                    let items = repeated(&items, call.value(0))?;
                    self.list_of(of, items).map(Some)
                }
                _ => Ok(None),
            },
        }
    }

    fn list_function(&mut self, short: &str, cell: Cell, call: &OperatorCall) -> Result<Option<Item>> {
        let this = call.item(0)?.clone();
        let of = this.ty.element();
        if short == "append" {
            let item = call.item(1)?.clone().typed(of);
            match self.heap.get_mut(cell) {
                Some(CellData::List(items) | CellData::Growing(items)) if items.len() < MAX_LENGTH => items.push(item),
                _ => return Err(Error::unsupported("an element is appended to a list that cannot grow")),
            }
            return Ok(Some(this));
        }
        let items = self.elements(&this)?;
        Ok(Some(match short {
            "len" => Item::int(items.len() as i64),
            "__getitem__" => {
                let index = call.item(1)?;
                if let Some(choice) = self.choice(index, items.clone())? {
                    let found = self.chosen(&choice, 0, &|_, item| Ok(item.clone()))?;
                    return Ok(Some(found.typed(of)));
                }
                let at = known_index(index, items.len())?;
                let found = items.get(at).cloned().ok_or_else(|| Error::internal("an index is out of range"))?;
                found.typed(of)
            }
            "_set_item" => {
                let at = known_index(call.item(1)?, items.len())?;
                let new = call.item(2)?.clone().typed(of);
                if let Some(slot) = self.list_mut(cell)?.get_mut(at) {
                    *slot = new;
                }
                this
            }
            "extend" => {
                let more = self.elements(call.item(1)?)?;
                let list = self.list_mut(cell)?;
                if list.len() + more.len() > MAX_LENGTH {
                    return Err(Error::unsupported("a list is too long"));
                }
                list.extend(more);
                Item::none()
            }
            "add_" => {
                let more = self.elements(call.item(1)?)?;
                let list = self.list_mut(cell)?;
                if list.len() + more.len() > MAX_LENGTH {
                    return Err(Error::unsupported("a list is too long"));
                }
                list.extend(more);
                this
            }
            "mul_" => {
                let items = repeated(&items, call.value(1))?;
                *self.list_mut(cell)? = items;
                this
            }
            "insert" => {
                let at = clamped(call.item(1)?, items.len()).unwrap_or(0);
                let new = call.item(2)?.clone().typed(of);
                self.list_mut(cell)?.insert(at.min(items.len()), new);
                Item::none()
            }
            "pop" | "Delete" => {
                let index = match call.args.get(1) {
                    Some(Some(index)) => index.clone(),
                    _ => Item::int(-1),
                };
                let at = known_index(&index, items.len())?;
                self.list_mut(cell)?.remove(at).typed(of)
            }
            "remove" => {
                let at = self.position(&items, call.value(1))?;
                let at = at.ok_or_else(|| Error::input("a list has no such element to remove"))?;
                self.list_mut(cell)?.remove(at);
                Item::none()
            }
            "clear" => {
                self.list_mut(cell)?.clear();
                Item::none()
            }
            "reverse" => {
                self.list_mut(cell)?.reverse();
                Item::none()
            }
            "sort" => {
                let sorted = sorted(items, matches!(call.value(1), Value::Bool(true)))?;
                *self.list_mut(cell)? = sorted;
                Item::none()
            }
            "sorted" => self.list_of(of, sorted(items, false)?)?,
            "copy" | "list" => self.list_of(of, items)?,
            "add" => {
                let more = self.elements(call.item(1)?)?;
                self.list_of(of, items.into_iter().chain(more).collect())?
            }
            "mul" => {
                let items = repeated(&items, call.value(1))?;
                self.list_of(of, items)?
            }
            "slice" => {
                let items = sliced(&items, call)?;
                self.list_of(of, items)?
            }
            "__contains__" => match call.found.schema.params.first().map(|param| param.name.as_str()) {
                _ if matches!(call.value(1), Value::List(_)) => return Ok(None),
                _ => {
                    let mut found = Value::Bool(false);
                    for item in &items {
                        let same = self.equal(&item.value, call.value(1))?;
                        found = self.binary("__or__", &found, &same)?;
                    }
                    Item::new(found, Type::Bool)
                }
            },
            "index" => {
                let at = self.position(&items, call.value(1))?;
                Item::int(at.ok_or_else(|| Error::input("a list has no such element"))? as i64)
            }
            "count" => {
                let mut count = 0;
                for item in &items {
                    count += i64::from(matches!(self.equal(&item.value, call.value(1))?, Value::Bool(true)));
                }
                Item::int(count)
            }
            "eq" => Item::new(self.equal(&this.value, call.value(1))?, Type::Bool),
            "ne" => {
                let equal = self.equal(&this.value, call.value(1))?;
                Item::new(self.not(&equal)?, Type::Bool)
            }
            "sum" => {
                let mut total = if call.returns() == Type::Float { Value::Float(0.0) } else { Value::Int(0) };
                for item in &items {
                    total = self.binary("add", &total, &item.value)?;
                }
                Item::new(total, call.returns())
            }
            "any" | "all" => {
                let op = if short == "any" { "__or__" } else { "__and__" };
                let mut found = Value::Bool(short == "all");
                for item in &items {
                    let truth = self.truth(&item.value)?;
                    found = self.binary(op, &found, &truth)?;
                }
                Item::new(found, Type::Bool)
            }
            "min" | "max" if call.args.len() == 1 => {
                let mut items = items.into_iter();
                let first = items.next().ok_or_else(|| Error::input(format!("`{short}` of an empty list")))?;
                let mut best = first.value;
                for item in items {
                    best = self.binary(short, &best, &item.value)?;
                }
                Item::new(best, of)
            }
            _ => return Ok(None),
        }))
    }

    fn position(&mut self, items: &[Item], wanted: &Value) -> Result<Option<usize>> {
        for (at, item) in items.iter().enumerate() {
            match self.equal(&item.value, wanted)? {
                Value::Bool(true) => return Ok(Some(at)),
                Value::Bool(false) => {}
                _ => return Err(Error::unsupported("the position of an element depends on data")),
            }
        }
        Ok(None)
    }

    /// What can be done with a list whose elements are the slices of a tensor.
    fn stacked_function(&mut self, short: &str, cell: Cell, call: &OperatorCall) -> Result<Option<Item>> {
        let Some(CellData::Stacked(tensor)) = self.heap.get(cell).map(|data| (**data).clone()) else { return Ok(None) };
        match short {
            "len" => {
                let size = self.recorder.meta(&tensor)?.sizes.first().cloned().unwrap_or_default();
                Ok(Some(Item::size(size)))
            }
            "__getitem__" => {
                let index = self.number_arg(call.value(1))?;
                let name = Arg::Tensor(tensor.name.to_string());
                let slice =
                    self.tensor_node("aten::select.int", vec![("self", name), ("dim", Arg::Int(0)), ("index", index)])?;
                Ok(Some(Item::tensor(slice)))
            }
            _ => Ok(None),
        }
    }

    fn dict_of_pairs(&mut self, call: &OperatorCall) -> Result<Item> {
        let mut entries = IndexMap::new();
        for pair in self.elements(call.item(0)?)? {
            if let [first, second] = self.unpacked(&pair, 2)?.as_slice() {
                entries.insert(key(&first.value)?, (first.clone(), second.clone()));
            }
        }
        let cell = self.add(CellData::Dict(entries))?;
        Ok(Item::new(Value::Dict(cell), call.returns()))
    }

    fn dict_function(&mut self, short: &str, cell: Cell, call: &OperatorCall) -> Result<Option<Item>> {
        let this = call.item(0)?.clone();
        let (key_type, value_type) = match this.ty.unwrapped() {
            Type::Dict(of) => (of.0.clone(), of.1.clone()),
            _ => (Type::Any, Type::Any),
        };
        let Some(CellData::Dict(entries)) = self.heap.get(cell).map(|data| (**data).clone()) else { return Ok(None) };
        self.charge(entries.len())?;
        let wanted = call.args.get(1).and_then(Option::as_ref);
        let missing = || Error::input("a dictionary has no such key");
        Ok(Some(match (short, wanted) {
            ("__getitem__", Some(wanted)) => {
                let found = entries.get(&key(&wanted.value)?).map(|(_, value)| value.clone());
                found.ok_or_else(missing)?.typed(value_type)
            }
            ("__contains__", Some(wanted)) => Item::bool(entries.contains_key(&key(&wanted.value)?)),
            ("get", Some(wanted)) => {
                let found = entries.get(&key(&wanted.value)?).map(|(_, value)| value.clone());
                let default = call.args.get(2).and_then(Option::as_ref).cloned().unwrap_or_else(Item::none);
                found.unwrap_or(default).typed(call.returns())
            }
            ("setdefault", Some(wanted)) => match entries.get(&key(&wanted.value)?) {
                Some((_, value)) => value.clone(),
                None => {
                    let value = call.item(2)?.clone();
                    self.insert(cell, wanted.clone(), value.clone())?;
                    value
                }
            },
            ("_set_item", Some(wanted)) => {
                let value = call.item(2)?.clone().typed(value_type);
                self.insert(cell, wanted.clone(), value)?;
                Item::none()
            }
            ("pop" | "Delete", Some(wanted)) => {
                let found = match self.heap.get_mut(cell) {
                    Some(CellData::Dict(entries)) => entries.shift_remove(&key(&wanted.value)?),
                    _ => None,
                };
                let default = call.args.get(2).and_then(Option::as_ref).cloned();
                found.map(|(_, value)| value).or(default).ok_or_else(missing)?
            }
            ("update", Some(other)) => {
                if let Value::Dict(other) = other.value
                    && let Some(CellData::Dict(more)) = self.heap.get(other).map(|data| (**data).clone())
                    && let Some(CellData::Dict(entries)) = self.heap.get_mut(cell)
                {
                    entries.extend(more);
                }
                Item::none()
            }
            ("len", _) => Item::int(entries.len() as i64),
            ("keys", _) => self.list_of(key_type, entries.into_values().map(|(key, _)| key).collect())?,
            ("values", _) => self.list_of(value_type, entries.into_values().map(|(_, value)| value).collect())?,
            ("items", _) => {
                let pairs: Vec<Item> = entries
                    .into_values()
                    .map(|(key, value)| Item::tuple(vec![key, value.typed(value_type.clone())]))
                    .collect();
                self.list_of(Type::tuple(vec![key_type, value_type]), pairs)?
            }
            ("clear", _) => {
                if let Some(CellData::Dict(entries)) = self.heap.get_mut(cell) {
                    entries.clear();
                }
                Item::none()
            }
            ("copy" | "dict", _) => {
                let cell = self.add(CellData::Dict(entries))?;
                Item::new(Value::Dict(cell), this.ty)
            }
            _ => return Ok(None),
        }))
    }

    fn insert(&mut self, cell: Cell, name: Item, value: Item) -> Result<()> {
        let hashed: Key = key(&name.value)?;
        match self.heap.get_mut(cell) {
            Some(CellData::Dict(entries)) => {
                entries.insert(hashed, (name, value));
                Ok(())
            }
            _ => Err(Error::internal("expected a dictionary")),
        }
    }
}

fn grows() -> Error {
    Error::unsupported("a loop of the graph reads a list to which it appends")
        .help("read the list after the loop, or give the size that the loop runs over as a number")
}

fn repeated(items: &[Item], count: &Value) -> Result<Vec<Item>> {
    let Value::Int(count) = count else {
        return Err(Error::unsupported("the length of a list is only known at run time"));
    };
    let count = usize::try_from(*count).unwrap_or(0);
    if items.len().saturating_mul(count) > MAX_LENGTH {
        return Err(Error::unsupported("a list is too long"));
    }
    Ok(items.iter().cloned().cycle().take(items.len() * count).collect())
}

fn sliced(items: &[Item], call: &OperatorCall) -> Result<Vec<Item>> {
    let len = items.len() as i64;
    let number = |index: usize| match call.value(index) {
        Value::None => Ok(None),
        Value::Int(number) => Ok(Some(*number)),
        _ => Err(Error::unsupported("the bounds of a slice of a list are only known at run time")),
    };
    let step = number(3)?.unwrap_or(1);
    let from_end = |at: i64| if at < 0 { at.saturating_add(len) } else { at };
    // A backward slice starts at the last element and ends before the first.
    let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
    let start = number(1)?.map_or(if step > 0 { 0 } else { len - 1 }, |at| from_end(at).clamp(low, high));
    // torch leaves out the end of a slice by the largest int.
    let end = number(2)?.filter(|at| step > 0 || *at != i64::MAX);
    let end = end.map_or(if step > 0 { len } else { -1 }, |at| from_end(at).clamp(low, high));
    let mut found = Vec::new();
    let mut at = start;
    while step != 0 && ((step > 0 && at < end) || (step < 0 && at > end)) {
        found.extend(usize::try_from(at).ok().and_then(|at| items.get(at)).cloned());
        at = at.saturating_add(step);
    }
    match step {
        0 => Err(Error::input("the step of a slice is 0")),
        _ => Ok(found),
    }
}

fn sorted(mut items: Vec<Item>, reverse: bool) -> Result<Vec<Item>> {
    let is_known = |item: &Item| matches!(item.value, Value::Int(_) | Value::Float(_) | Value::Str(_) | Value::Bool(_));
    if !items.iter().all(is_known) {
        return Err(Error::unsupported("a list is sorted whose elements are only known at run time"));
    }
    items.sort_by(|a, b| {
        let order = match (&a.value, &b.value) {
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
            (Value::Str(a), Value::Str(b)) => Rc::cmp(a, b),
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            _ => Ordering::Equal,
        };
        if reverse { order.reverse() } else { order }
    });
    Ok(items)
}
