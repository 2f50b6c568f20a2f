//! Values of the interpreter, and the heap of objects that have an identity.

use std::rc::Rc;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::code::{ClassCode, FunctionCode};
use super::syntax::Name;
use super::types::Type;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Error;
use aten2onnx_core::sym::SymInt;

/// A value and the static type of the expression that gave it, by which overloads are chosen.
#[derive(Debug, Clone)]
pub struct Item {
    pub value: Value,
    pub ty: Type,
}

/// A value.
#[derive(Debug, Clone)]
pub enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Complex(f64, f64),
    Str(Name),
    /// A number that depends on sizes or data.
    Sym(Rc<Sym>),
    Tensor(Tensor),
    List(Cell),
    Dict(Cell),
    Object(Cell),
    Tuple(Rc<Tuple>),
    Device(Name),
    Function(Rc<FunctionCode>),
    Class(Name),
    Enum(Rc<Member>),
    /// A value that nobody reads where it matters.
    Uninitialized,
    /// The packed weights of a quantized operator.
    Packed(Rc<Packed>),
    /// A module that data chooses.
    Choice(Rc<Choice>),
    /// What has no meaning here: a generator, a stream.
    Opaque(Name),
    /// A variable that could not be united after branches: an error for whoever reads it.
    Broken(Rc<Error>),
}

/// One of several values, by an index that is only known at run time.
#[derive(Debug)]
pub struct Choice {
    pub index: Value,
    pub items: Vec<Item>,
}

/// A tuple.
#[derive(Debug)]
pub struct Tuple {
    pub items: Vec<Item>,
    /// The names of the fields of a NamedTuple, and its class.
    pub class: Option<Rc<ClassCode>>,
}

/// A member of an enum.
#[derive(Debug)]
pub struct Member {
    pub class: Name,
    pub name: Name,
    pub value: Item,
}

/// A symbolic number.
#[derive(Debug, Clone)]
pub enum Sym {
    /// An integer by its expression.
    Int(SymInt),
    /// A float or bool by its name in the graph.
    Float(Name),
    Bool(Name),
}

/// A tensor of the program.
#[derive(Debug, Clone)]
pub struct Tensor {
    /// Its name in the program.
    pub name: Name,
    /// The memory, which views share.
    pub memory: Memory,
    /// For a quantized tensor: what it was rounded with. The named tensor has its elements as floats, unless it is raw.
    pub quantized: Option<Rc<Quantized>>,
}

/// Identifies the memory of tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Memory(pub u32);

/// The parameters of a quantized tensor.
#[derive(Debug, Clone)]
pub struct Quantized {
    pub dtype: Dtype,
    pub scale: Value,
    pub zero_point: Value,
    /// The axis of parameters for each channel.
    pub axis: Option<i64>,
    /// Whether the named tensor has the integers, as it was saved.
    pub is_raw: bool,
}

/// Packed weights: a weight, a bias, and the numbers of a convolution.
#[derive(Debug)]
pub struct Packed {
    pub weight: Tensor,
    pub bias: Option<Tensor>,
    /// Stride, padding, dilation and output padding of a convolution.
    pub geometry: Vec<Vec<i64>>,
    pub groups: i64,
    pub transposed: bool,
    /// A tensor with these numbers, as they were saved.
    pub config: Option<Tensor>,
    /// For a recurrent cell: weights of the inputs and of the states.
    pub parts: Vec<Rc<Packed>>,
    /// How such a cell rounds its operands.
    pub rounding: Rounding,
}

/// How dynamic quantization rounds the operand of a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// Not at all: the weights are halves.
    None,
    /// To 8 bits.
    Full,
    /// To 7 bits.
    Reduced,
}

impl Packed {
    /// A weight and a bias.
    pub fn of(weight: Tensor, bias: Option<Tensor>) -> Packed {
        Packed {
            weight,
            bias,
            geometry: Vec::new(),
            groups: 1,
            transposed: false,
            config: None,
            parts: Vec::new(),
            rounding: Rounding::Reduced,
        }
    }

    /// A cell of these parts.
    pub fn with_parts(self, parts: Vec<Rc<Packed>>) -> Packed {
        Packed { parts, ..self }
    }
}

/// The index of an object of the heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cell(pub u32);

/// An object with an identity.
#[derive(Debug, Clone)]
pub enum CellData {
    List(Vec<Item>),
    /// A list to which a loop of the graph appended one tensor in each round: they are slices of this tensor.
    Stacked(Tensor),
    /// In the body of such a loop: what this round has appended.
    Growing(Vec<Item>),
    Dict(IndexMap<Key, (Item, Item)>),
    Object(Object),
}

/// An object of a class.
#[derive(Debug, Clone)]
pub struct Object {
    pub class: Rc<ClassCode>,
    pub attributes: IndexMap<Name, Item>,
    /// Where it is in the tree of modules: `layer1.0.conv1`. None for objects that are no part of it.
    pub path: Option<Name>,
}

/// A key of a dictionary.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
    Int(i64),
    Str(Name),
    Float(u64),
    Bool(bool),
    Tensor(Name),
}

impl Key {
    /// The key of a value; None if it has no known one.
    pub fn of(value: &Value) -> Option<Key> {
        Some(match value {
            Value::Int(number) => Key::Int(*number),
            Value::Str(text) => Key::Str(Rc::clone(text)),
            Value::Float(number) => Key::Float(number.to_bits()),
            Value::Bool(flag) => Key::Bool(*flag),
            Value::Tensor(tensor) => Key::Tensor(Rc::clone(&tensor.name)),
            _ => return None,
        })
    }
}

impl Item {
    /// A value with its type.
    pub fn new(value: Value, ty: Type) -> Item {
        Item { value, ty }
    }

    /// `None`
    pub fn none() -> Item {
        Item::new(Value::None, Type::None)
    }

    /// An int.
    pub fn int(number: i64) -> Item {
        Item::new(Value::Int(number), Type::Int)
    }

    /// A bool.
    pub fn bool(flag: bool) -> Item {
        Item::new(Value::Bool(flag), Type::Bool)
    }

    /// A float.
    pub fn float(number: f64) -> Item {
        Item::new(Value::Float(number), Type::Float)
    }

    /// A string.
    pub fn str(text: &str) -> Item {
        Item::new(Value::Str(Rc::from(text)), Type::Str)
    }

    /// An integer that may be symbolic.
    pub fn size(size: SymInt) -> Item {
        Item::new(Value::size(size), Type::Int)
    }

    /// A tensor.
    pub fn tensor(tensor: Tensor) -> Item {
        Item::new(Value::Tensor(tensor), Type::Tensor)
    }

    /// A tuple.
    pub fn tuple(items: Vec<Item>) -> Item {
        let ty = Type::tuple(items.iter().map(|item| item.ty.clone()).collect());
        Item::new(Value::Tuple(Rc::new(Tuple { items, class: None })), ty)
    }

    /// The same value with another static type.
    pub fn typed(self, ty: Type) -> Item {
        Item { ty, ..self }
    }
}

impl Value {
    /// An integer that may be symbolic.
    pub fn size(size: SymInt) -> Value {
        match size.known() {
            Some(number) => Value::Int(number),
            None => Value::Sym(Rc::new(Sym::Int(size))),
        }
    }

    /// The integer as an expression; booleans are 0 and 1.
    pub fn as_size(&self) -> Option<SymInt> {
        match self {
            Value::Int(number) => Some(SymInt::from(*number)),
            Value::Bool(flag) => Some(SymInt::from(i64::from(*flag))),
            Value::Sym(sym) => match &**sym {
                Sym::Int(size) => Some(size.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether both are the same, known or the same object.
    pub fn is_same(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::None, Value::None) | (Value::Uninitialized, Value::Uninitialized) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
            (Value::Complex(a, b), Value::Complex(c, d)) => a.to_bits() == c.to_bits() && b.to_bits() == d.to_bits(),
            (Value::Str(a), Value::Str(b)) | (Value::Class(a), Value::Class(b)) => a == b,
            (Value::Device(a), Value::Device(b)) | (Value::Opaque(a), Value::Opaque(b)) => a == b,
            (Value::Sym(a), Value::Sym(b)) => match (&**a, &**b) {
                (Sym::Int(a), Sym::Int(b)) => a == b,
                (Sym::Float(a), Sym::Float(b)) | (Sym::Bool(a), Sym::Bool(b)) => a == b,
                _ => false,
            },
            (Value::Tensor(a), Value::Tensor(b)) => a.name == b.name,
            (Value::List(a), Value::List(b)) | (Value::Dict(a), Value::Dict(b)) => a == b,
            (Value::Object(a), Value::Object(b)) => a == b,
            (Value::Enum(a), Value::Enum(b)) => a.class == b.class && a.name == b.name,
            (Value::Function(a), Value::Function(b)) => a.owner == b.owner && a.tree.name == b.tree.name,
            (Value::Packed(a), Value::Packed(b)) => Rc::ptr_eq(a, b),
            (Value::Choice(a), Value::Choice(b)) => Rc::ptr_eq(a, b),
            (Value::Tuple(a), Value::Tuple(b)) => {
                a.items.len() == b.items.len() && a.items.iter().zip(&b.items).all(|(a, b)| a.value.is_same(&b.value))
            }
            _ => false,
        }
    }

    /// What it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::None => "None",
            Value::Bool(_) => "a bool",
            Value::Int(_) => "an int",
            Value::Float(_) => "a float",
            Value::Complex(..) => "a complex number",
            Value::Str(_) => "a string",
            Value::Sym(_) => "a number that is only known at run time",
            Value::Tensor(_) => "a tensor",
            Value::List(_) => "a list",
            Value::Dict(_) => "a dictionary",
            Value::Object(_) => "an object",
            Value::Tuple(_) => "a tuple",
            Value::Device(_) => "a device",
            Value::Function(_) => "a function",
            Value::Class(_) => "a class",
            Value::Enum(_) => "a member of an enum",
            Value::Uninitialized => "an uninitialized value",
            Value::Packed(_) => "packed weights",
            Value::Choice(_) => "a module that is chosen at run time",
            Value::Opaque(_) => "an opaque object",
            Value::Broken(_) => "a value that depends on a condition",
        }
    }
}

/// Objects with an identity, and what they were before the branches that are tried.
#[derive(Debug, Default)]
pub struct Heap {
    cells: Vec<Rc<CellData>>,
    /// One for each branch or body that is being tried.
    journals: Vec<Journal>,
}

/// What a branch or body changed.
#[derive(Debug)]
struct Journal {
    /// The number of objects before it; those that it adds need no record.
    start: usize,
    /// The objects as they were before.
    before: Changes,
}

/// Objects and their contents.
pub type Changes = FxHashMap<Cell, Rc<CellData>>;

impl Heap {
    /// Adds an object.
    pub fn add(&mut self, data: CellData) -> Cell {
        self.cells.push(Rc::new(data));
        Cell(u32::try_from(self.cells.len() - 1).unwrap_or(u32::MAX))
    }

    /// An object.
    pub fn get(&self, cell: Cell) -> Option<&Rc<CellData>> {
        self.cells.get(cell.0 as usize)
    }

    /// An object, to be changed.
    pub fn get_mut(&mut self, cell: Cell) -> Option<&mut CellData> {
        let index = cell.0 as usize;
        let data = self.cells.get_mut(index)?;
        if let Some(journal) = self.journals.last_mut().filter(|journal| index < journal.start) {
            journal.before.entry(cell).or_insert_with(|| Rc::clone(data));
        }
        Some(Rc::make_mut(data))
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Starts to record changes.
    pub fn begin(&mut self) {
        self.journals.push(Journal { start: self.cells.len(), before: Changes::default() });
    }

    /// Undoes all changes since the last [`Heap::begin`], and returns them.
    pub fn undo(&mut self) -> Changes {
        let mut after = Changes::default();
        for (cell, before) in self.journals.pop().map(|journal| journal.before).unwrap_or_default() {
            if let Some(data) = self.cells.get_mut(cell.0 as usize) {
                after.insert(cell, std::mem::replace(data, before));
            }
        }
        after
    }
}
