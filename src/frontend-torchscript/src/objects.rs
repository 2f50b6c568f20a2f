//! Builds the objects of a pickle on the heap. Nothing is executed: objects whose class has `__setstate__` are listed,
//! and the interpreter runs it.

use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::code::{ClassCode, Code, readable};
use super::parser;
use super::quantized;
use super::syntax::Name;
use super::types::Type;
use super::values::{Cell, CellData, Heap, Item, Key, Member, Memory, Object, Quantized, Tensor, Tuple, Value};
use aten2onnx_archive::pickle::{Id, Object as Pickled, Pickle, ReduceCall};
use aten2onnx_archive::saved::{self, SavedTensor};
use aten2onnx_archive::zip::Archive;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::weights::Weight;

/// The deepest nesting of objects.
const MAX_DEPTH: usize = 200;
/// The most values that are built: shared ones inside of lists count each time.
const MAX_VALUES: usize = 20_000_000;

/// The tensors of all pickles of an archive.
#[derive(Debug, Default)]
pub struct Weights {
    by_identity: FxHashMap<Identity, Name>,
    /// By name in the program, in the order in which they were found.
    pub found: IndexMap<Name, Arc<Weight>>,
    memories: FxHashMap<(usize, usize), Memory>,
}

type Identity = (usize, usize, Dtype, i64, Vec<i64>, Vec<i64>);

/// Objects to whose `__setstate__` a state is to be given.
pub type States = Vec<(Cell, Item)>;

/// Reads the objects of one pickle.
pub struct Reader<'r, 'p, 'a> {
    pub archive: &'a Archive,
    /// `data/`
    pub folder: &'static str,
    pub pickle: &'r Pickle<'p>,
    pub code: &'r mut Code<'a>,
    pub heap: &'r mut Heap,
    pub weights: &'r mut Weights,
    pub states: &'r mut States,
    known: FxHashMap<Id, Item>,
    depth: usize,
    budget: usize,
}

impl Weights {
    /// The tensor of a weight; equal ones are one. The name is that of the first place where it was found.
    pub fn tensor(&mut self, weight: Weight) -> Tensor {
        let bytes = weight.storage.bytes();
        let place = (bytes.as_ptr() as usize, bytes.len());
        let count = self.memories.len();
        let memory = *self.memories.entry(place).or_insert(Memory(u32::try_from(count).unwrap_or(u32::MAX)));
        let identity = (place.0, place.1, weight.dtype, weight.offset, weight.sizes.clone(), weight.strides.clone());
        if let Some(name) = self.by_identity.get(&identity) {
            return Tensor { name: Rc::clone(name), memory, quantized: None };
        }
        let stem: String = weight.name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        let mut name = format!("p_{stem}");
        let mut number = 1;
        while self.found.contains_key(name.as_str()) {
            number += 1;
            name = format!("p_{stem}_{number}");
        }
        let name: Name = Rc::from(name);
        self.by_identity.insert(identity, Rc::clone(&name));
        self.found.insert(Rc::clone(&name), Arc::new(weight));
        Tensor { name, memory, quantized: None }
    }

    /// The first number that no memory of a weight has.
    pub fn next_memory(&self) -> u32 {
        u32::try_from(self.memories.len()).unwrap_or(u32::MAX)
    }
}

impl<'r, 'p, 'a> Reader<'r, 'p, 'a> {
    /// A reader of a pickle whose storages are in `folder`.
    pub fn new(
        archive: &'a Archive,
        folder: &'static str,
        pickle: &'r Pickle<'p>,
        code: &'r mut Code<'a>,
        heap: &'r mut Heap,
        weights: &'r mut Weights,
        states: &'r mut States,
    ) -> Self {
        let known = FxHashMap::default();
        Reader { archive, folder, pickle, code, heap, weights, states, known, depth: 0, budget: MAX_VALUES }
    }

    /// The root object. `path` is the prefix of the names of weights.
    pub fn root(&mut self, path: &str) -> Result<Item> {
        self.item(self.pickle.root(), None, path)
    }

    /// An object, with the type that was declared for it.
    fn item(&mut self, id: Id, declared: Option<&Type>, path: &str) -> Result<Item> {
        if let Some(known) = self.known.get(&id) {
            let known = known.clone();
            return Ok(match declared {
                Some(ty) => known.typed(ty.clone()),
                None => known,
            });
        }
        self.budget = self.budget.checked_sub(1).ok_or_else(|| Error::unsupported("it has too many objects"))?;
        if self.depth >= MAX_DEPTH {
            return Err(Error::unsupported(format!("its objects are nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let item = self.build(id, declared, path);
        self.depth -= 1;
        let item = item?;
        if !matches!(item.value, Value::None | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_)) {
            self.known.insert(id, item.clone());
        }
        Ok(match declared {
            Some(ty) => item.typed(ty.clone()),
            None => item,
        })
    }

    fn build(&mut self, id: Id, declared: Option<&Type>, path: &str) -> Result<Item> {
        let pickle = self.pickle;
        Ok(match pickle.get(id) {
            Pickled::None => Item::none(),
            Pickled::Bool(flag) => Item::bool(*flag),
            Pickled::Int(Some(number)) => match declared.map(Type::unwrapped) {
                Some(Type::Float) => Item::float(*number as f64),
                _ => Item::int(*number),
            },
            Pickled::Int(None) => return Err(Error::unsupported("an integer does not fit into 64 bits")),
            Pickled::Float(number) => Item::float(*number),
            Pickled::Str(text) => Item::str(text),
            Pickled::Tuple(items) => self.tuple(items, declared, path)?,
            Pickled::List(items) => self.list(id, items, declared, path)?,
            Pickled::Dict(pairs) => self.dict(id, pairs, declared, path)?,
            Pickled::Call(call) => self.call(id, call, declared, path)?,
            Pickled::Global(module, name) => Item::new(Value::Opaque(Rc::from(format!("{module}.{name}"))), Type::Any),
            Pickled::Bytes(_) | Pickled::Persistent(_) => {
                return Err(Error::unsupported("an object is of a kind that TorchScript does not save"));
            }
        })
    }

    fn tuple(&mut self, ids: &[Id], declared: Option<&Type>, path: &str) -> Result<Item> {
        let of = |index: usize| match declared.map(Type::unwrapped) {
            Some(Type::Tuple(types)) => types.get(index).cloned(),
            _ => None,
        };
        let items = ids.iter().enumerate().map(|(index, id)| {
            let ty = of(index);
            self.item(*id, ty.as_ref(), &joined(path, &index.to_string()))
        });
        let items = items.collect::<Result<Vec<Item>>>()?;
        let class = match declared.map(Type::unwrapped) {
            Some(Type::Class(name)) => Some(self.code.class(name)?),
            _ => None,
        };
        let mut tuple = Item::tuple(items.clone());
        tuple.value = Value::Tuple(Rc::new(Tuple { items, class }));
        Ok(tuple)
    }

    fn list(&mut self, id: Id, ids: &[Id], declared: Option<&Type>, path: &str) -> Result<Item> {
        let cell = self.heap.add(CellData::List(Vec::new()));
        let wanted = match declared.map(Type::unwrapped) {
            Some(Type::List(of)) => Some(Type::clone(of)),
            _ => None,
        };
        let early = Type::list(wanted.clone().unwrap_or(Type::Any));
        self.known.insert(id, Item::new(Value::List(cell), early));
        let mut items = Vec::with_capacity(ids.len());
        for (index, id) in ids.iter().enumerate() {
            items.push(self.item(*id, wanted.as_ref(), &joined(path, &index.to_string()))?);
        }
        let of = wanted.or_else(|| items.first().map(|item| item.ty.clone())).unwrap_or(Type::Tensor);
        if let Some(data) = self.heap.get_mut(cell) {
            *data = CellData::List(items);
        }
        Ok(Item::new(Value::List(cell), Type::list(of)))
    }

    fn dict(&mut self, id: Id, pairs: &[(Id, Id)], declared: Option<&Type>, path: &str) -> Result<Item> {
        let cell = self.heap.add(CellData::Dict(IndexMap::new()));
        let (key_type, value_type) = match declared.map(Type::unwrapped) {
            Some(Type::Dict(of)) => (Some(of.0.clone()), Some(of.1.clone())),
            _ => (None, None),
        };
        self.known.insert(id, Item::new(Value::Dict(cell), declared.cloned().unwrap_or(Type::Any)));
        let mut entries = IndexMap::new();
        for (key, value) in pairs {
            let key = self.item(*key, key_type.as_ref(), path)?;
            let hashed = Key::of(&key.value).ok_or_else(|| Error::unsupported("a dictionary has an unusual key"))?;
            let part = match &hashed {
                Key::Str(text) => text.to_string(),
                Key::Int(number) => number.to_string(),
                _ => "entry".to_owned(),
            };
            let value = self.item(*value, value_type.as_ref(), &joined(path, &part))?;
            entries.insert(hashed, (key, value));
        }
        let first = entries.values().next();
        let key_type = key_type.or_else(|| first.map(|(key, _)| key.ty.clone())).unwrap_or(Type::Str);
        let value_type = value_type.or_else(|| first.map(|(_, value)| value.ty.clone())).unwrap_or(Type::Tensor);
        if let Some(data) = self.heap.get_mut(cell) {
            *data = CellData::Dict(entries);
        }
        Ok(Item::new(Value::Dict(cell), Type::dict(key_type, value_type)))
    }

    fn call(&mut self, id: Id, call: &ReduceCall, declared: Option<&Type>, path: &str) -> Result<Item> {
        let pickle = self.pickle;
        let (module, name) = pickle.global(call.callable).unwrap_or(("?", "?"));
        let args = pickle.tuple(call.args).unwrap_or_default();
        match (module, name, args) {
            ("torch._utils", "_rebuild_qtensor", _) => self.quantized_tensor(args, path),
            ("torch._utils", _, _) => self.plain_tensor(id, path),
            ("torch.jit._pickle", "restore_type_tag", [value, tag]) => {
                let tag = pickle.str(*tag).unwrap_or_default();
                let ty = parser::expression(tag).and_then(|tag| Type::read(&tag));
                self.item(*value, Some(&ty?), path)
            }
            ("torch.jit._pickle", _, [list]) => {
                let of = match name {
                    "build_intlist" => Type::Int,
                    "build_tensorlist" => Type::Tensor,
                    "build_doublelist" => Type::Float,
                    "build_boollist" => Type::Bool,
                    _ => return Err(unknown(module, name)),
                };
                self.item(*list, Some(&Type::list(of)), path)
            }
            ("torch", "device", _) => {
                let device = args.first().and_then(|id| pickle.str(*id)).unwrap_or("cpu");
                Ok(Item::new(Value::Device(Rc::from(device)), Type::Device))
            }
            ("builtins", "complex", [re, im]) => {
                let part = |id: &Id| match pickle.get(*id) {
                    Pickled::Float(number) => *number,
                    Pickled::Int(Some(number)) => *number as f64,
                    _ => 0.0,
                };
                Ok(Item::new(Value::Complex(part(re), part(im)), Type::Complex))
            }
            ("collections", "OrderedDict", _) => self.dict(id, &call.pairs, declared, path),
            _ if module.starts_with("__torch__") => self.object(id, call, &format!("{module}.{name}"), path),
            _ => Err(unknown(module, name)),
        }
    }

    fn plain_tensor(&mut self, id: Id, path: &str) -> Result<Item> {
        let in_tensor = |error: Error| error.at(format!("tensor `{path}`"));
        let tensor = saved::tensor(self.pickle, id, 0).map_err(in_tensor)?;
        self.weight(tensor, path).map(Item::tensor).map_err(in_tensor)
    }

    fn weight(&mut self, tensor: SavedTensor, path: &str) -> Result<Tensor> {
        let storage = self.archive.storage(&format!("{}{}", self.folder, tensor.key))?;
        let SavedTensor { dtype, sizes, strides, offset, .. } = tensor;
        let weight = Weight { name: path.to_owned(), dtype, sizes, strides, offset, storage };
        weight.check()?;
        Ok(self.weights.tensor(weight))
    }

    /// `(storage, offset, sizes, strides, (scheme, ..), ..)`
    fn quantized_tensor(&mut self, args: &[Id], path: &str) -> Result<Item> {
        let pickle = self.pickle;
        let damaged = || Error::input(format!("the description of the tensor `{path}` is damaged"));
        let [storage, offset, sizes, strides, scheme, ..] = args else { return Err(damaged()) };
        let saved = saved::view(pickle, *storage, None, [*offset, *sizes, *strides])?;
        let dtype = saved.dtype;
        let mut tensor = self.weight(saved, path)?;
        let Some([kind, scale, zero_point, more @ ..]) = pickle.tuple(*scheme) else { return Err(damaged()) };
        let axis = match pickle.global(*kind).map(|(_, name)| name) {
            Some("per_tensor_affine") => None,
            Some("per_channel_affine") => more.first().and_then(|axis| pickle.int(*axis)),
            other => {
                let scheme = other.unwrap_or("?");
                return Err(Error::unsupported(format!("`{path}` is quantized by the scheme {scheme}")));
            }
        };
        let scale = self.item(*scale, None, &format!("{path}.scale"))?.value;
        let zero_point = self.item(*zero_point, None, &format!("{path}.zero_point"))?.value;
        tensor.quantized = Some(Rc::new(Quantized { dtype, scale, zero_point, axis, is_raw: true }));
        Ok(Item::tensor(tensor))
    }

    fn object(&mut self, id: Id, call: &ReduceCall, class: &str, path: &str) -> Result<Item> {
        if class.starts_with("__torch__.torch.classes.") {
            let state = call.state.ok_or_else(|| unknown("", class))?;
            let state = self.item(state, None, path)?;
            let packed = quantized::packed(class, &state, self.heap).map_err(|error| error.at(path.to_owned()))?;
            return Ok(Item::new(packed, Type::Class(Rc::from(class))));
        }
        let class = self.code.class(class)?;
        if class.has_base("Enum") {
            return self.member(&class, call.args);
        }
        let ty = Type::Class(Rc::clone(&class.name));
        let own = Object { class: Rc::clone(&class), attributes: IndexMap::new(), path: Some(Rc::from(path)) };
        let cell = self.heap.add(CellData::Object(own));
        let item = Item::new(Value::Object(cell), ty);
        self.known.insert(id, item.clone());
        let Some(state) = call.state else { return Ok(item) };
        if class.method("__setstate__").is_some() {
            let state = self.item(state, None, path)?;
            self.states.push((cell, state));
            return Ok(item);
        }
        let pickle = self.pickle;
        let pairs = pickle.dict(state).ok_or_else(|| Error::input("the state of an object is no dictionary"))?;
        let mut types: FxHashMap<&str, Type> = FxHashMap::default();
        for attribute in &class.tree.attributes {
            if let Some(ty) = &attribute.ty {
                types.insert(&attribute.name, Type::read(ty)?);
            }
        }
        let mut attributes = IndexMap::with_capacity(pairs.len());
        for (name, value) in pairs {
            let name = pickle.str(*name).ok_or_else(|| Error::input("the name of an attribute is no string"))?;
            let value = self.item(*value, types.get(name), &joined(path, name))?;
            attributes.insert(Rc::from(name), value);
        }
        if let Some(CellData::Object(object)) = self.heap.get_mut(cell) {
            object.attributes = attributes;
        }
        Ok(item)
    }

    /// The member of an enum with this value.
    fn member(&mut self, class: &Rc<ClassCode>, value: Id) -> Result<Item> {
        let value = match self.pickle.get(value) {
            Pickled::Tuple(items) if items.len() == 1 => *items.first().unwrap_or(&value),
            _ => value,
        };
        let value = self.item(value, None, "")?;
        let found = members(class).into_iter().find(|member| member.value.value.is_same(&value.value));
        let member = found.ok_or_else(|| Error::input(format!("`{}` has no such member", readable(&class.name))))?;
        Ok(Item::new(Value::Enum(Rc::new(member)), Type::Class(Rc::clone(&class.name))))
    }
}

/// The members of an enum.
pub fn members(class: &ClassCode) -> Vec<Member> {
    use super::syntax::ExprKind;
    let member = |attribute: &super::syntax::Attribute| {
        let value = match &attribute.value.as_ref()?.kind {
            ExprKind::Int(number) => Item::int(*number),
            ExprKind::Float(number) => Item::float(*number),
            ExprKind::Str(text) => Item::str(text),
            _ => return None,
        };
        Some(Member { class: Rc::clone(&class.name), name: Rc::clone(&attribute.name), value })
    };
    class.tree.attributes.iter().filter_map(member).collect()
}

fn joined(path: &str, part: &str) -> String {
    match path.is_empty() {
        true => part.to_owned(),
        false => format!("{path}.{part}"),
    }
}

fn unknown(module: &str, name: &str) -> Error {
    Error::unsupported(format!("an object was saved as `{module}.{name}`, which has no meaning here"))
}
