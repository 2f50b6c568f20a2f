//! A reader for Python's pickles that builds data and never runs code.
//!
//! If a pickle calls a function, the call is stored as data: its name, its arguments, and what is added to its result.
//! Objects are in one list and refer to each other by index, so recursive pickles are harmless. Time and memory are
//! linear in the length of the pickle.

use rustc_hash::FxHashMap;

use aten2onnx_core::error::{Error, Result};

/// Room for so many objects at most is reserved before a pickle is read.
const MAX_RESERVED: usize = 1 << 22;

/// A reference to an object of a [`Pickle`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Id(u32);

/// An object.
#[derive(Debug, Clone)]
pub enum Object<'a> {
    /// `None`
    None,
    /// A boolean.
    Bool(bool),
    /// An integer; None if it does not fit.
    Int(Option<i64>),
    /// A float.
    Float(f64),
    /// Text.
    Str(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A tuple.
    Tuple(Vec<Id>),
    /// A list.
    List(Vec<Id>),
    /// A dictionary; the last value of a repeated key counts.
    Dict(Vec<(Id, Id)>),
    /// A class or function: its module and name.
    Global(&'a str, &'a str),
    /// Data outside of the pickle: a storage.
    Persistent(Id),
    /// A call, which is not executed.
    Call(Box<ReduceCall>),
}

/// A call of a function or class, and what was added to its result.
#[derive(Debug, Clone)]
pub struct ReduceCall {
    /// Usually a [`Object::Global`].
    pub callable: Id,
    /// The tuple of arguments.
    pub args: Id,
    /// Elements that were appended to the result.
    pub items: Vec<Id>,
    /// Entries that were set in the result.
    pub pairs: Vec<(Id, Id)>,
    /// The argument of `__setstate__`.
    pub state: Option<Id>,
}

/// A parsed pickle.
#[derive(Debug)]
pub struct Pickle<'a> {
    objects: Vec<Object<'a>>,
    root: Id,
}

impl<'a> Pickle<'a> {
    /// Reads a pickle of protocol 2 to 5.
    pub fn read(bytes: &'a [u8]) -> Result<Pickle<'a>> {
        let mut machine = Machine {
            bytes,
            at: 0,
            // Small objects take two bytes and more of a pickle.
            objects: Vec::with_capacity((bytes.len() / 3).min(MAX_RESERVED)),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: FxHashMap::default(),
        };
        let root = machine.run().map_err(|error| error.at(format!("byte {} of the pickle", machine.at)))?;
        Ok(Pickle { objects: machine.objects, root })
    }

    /// The object that was pickled.
    pub fn root(&self) -> Id {
        self.root
    }

    /// An object.
    pub fn get(&self, id: Id) -> &Object<'a> {
        self.objects.get(id.0 as usize).unwrap_or(&Object::None)
    }

    /// The elements of a tuple, or of a subclass that wraps one (`torch.Size`).
    pub fn tuple(&self, id: Id) -> Option<&[Id]> {
        match self.get(id) {
            Object::Tuple(items) => Some(items),
            Object::Call(call) if self.global(call.callable) == Some(("torch", "Size")) => match self.get(call.args) {
                Object::Tuple(args) => match self.get(*args.first()?) {
                    Object::Tuple(items) | Object::List(items) => Some(items),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    /// The entries of a dictionary or `OrderedDict`.
    pub fn dict(&self, id: Id) -> Option<&[(Id, Id)]> {
        match self.get(id) {
            Object::Dict(pairs) => Some(pairs),
            Object::Call(call) => match self.global(call.callable)? {
                ("collections", "OrderedDict") => Some(&call.pairs),
                _ => None,
            },
            _ => None,
        }
    }

    /// The name of a class or function.
    pub fn global(&self, id: Id) -> Option<(&'a str, &'a str)> {
        match self.get(id) {
            Object::Global(module, name) => Some((module, name)),
            _ => None,
        }
    }

    /// A string.
    pub fn str(&self, id: Id) -> Option<&'a str> {
        match self.get(id) {
            Object::Str(text) => Some(text),
            _ => None,
        }
    }

    /// An integer.
    pub fn int(&self, id: Id) -> Option<i64> {
        match self.get(id) {
            Object::Int(number) => *number,
            _ => None,
        }
    }

    /// A tuple of integers.
    pub fn ints(&self, id: Id) -> Option<Vec<i64>> {
        self.tuple(id)?.iter().map(|id| self.int(*id)).collect()
    }
}

struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    objects: Vec<Object<'a>>,
    stack: Vec<Id>,
    /// Stack heights.
    marks: Vec<usize>,
    memo: FxHashMap<u32, Id>,
}

impl<'a> Machine<'a> {
    fn run(&mut self) -> Result<Id> {
        loop {
            let code = self.byte()?;
            if code == b'.' {
                return self.pop();
            }
            if !(self.scalar(code)? || self.container(code)? || self.plumbing(code)?) {
                return Err(Error::input(format!("unsupported pickle operation {code:#04x}")));
            }
        }
    }

    /// Operations that push a constant.
    fn scalar(&mut self, code: u8) -> Result<bool> {
        let object = match code {
            b'N' => Object::None,
            0x88 => Object::Bool(true),
            0x89 => Object::Bool(false),
            b'K' => Object::Int(Some(i64::from(self.byte()?))),
            b'M' => Object::Int(Some(i64::from(u16::from_le_bytes(self.array()?)))),
            b'J' => Object::Int(Some(i64::from(i32::from_le_bytes(self.array()?)))),
            0x8a => {
                let len = usize::from(self.byte()?);
                Object::Int(long(self.take(len)?))
            }
            0x8b => {
                let len = u32::from_le_bytes(self.array()?) as usize;
                Object::Int(long(self.take(len)?))
            }
            b'G' => Object::Float(f64::from_be_bytes(self.array()?)),
            b'X' => {
                let len = u32::from_le_bytes(self.array()?) as usize;
                Object::Str(self.text(len)?)
            }
            0x8c => {
                let len = usize::from(self.byte()?);
                Object::Str(self.text(len)?)
            }
            0x8d => {
                let len = self.long_length()?;
                Object::Str(self.text(len)?)
            }
            b'B' => {
                let len = u32::from_le_bytes(self.array()?) as usize;
                Object::Bytes(self.take(len)?)
            }
            b'C' => {
                let len = usize::from(self.byte()?);
                Object::Bytes(self.take(len)?)
            }
            0x8e => {
                let len = self.long_length()?;
                Object::Bytes(self.take(len)?)
            }
            b'c' => Object::Global(self.line()?, self.line()?),
            _ => return Ok(false),
        };
        self.push(object)?;
        Ok(true)
    }

    /// Operations that build lists, tuples, dictionaries and calls.
    fn container(&mut self, code: u8) -> Result<bool> {
        match code {
            b']' => self.push(Object::List(Vec::new()))?,
            b'}' => self.push(Object::Dict(Vec::new()))?,
            b')' => self.push(Object::Tuple(Vec::new()))?,
            b't' => {
                let items = self.since_mark()?;
                self.push(Object::Tuple(items))?;
            }
            b'l' => {
                let items = self.since_mark()?;
                self.push(Object::List(items))?;
            }
            b'd' => {
                let items = self.since_mark()?;
                self.push(Object::Dict(pairs(&items)?))?;
            }
            0x85..=0x87 => {
                let len = usize::from(code - 0x84);
                let from = self.stack.len().checked_sub(len).filter(|from| *from >= self.floor());
                let items = self.stack.split_off(from.ok_or_else(underflow)?);
                self.push(Object::Tuple(items))?;
            }
            b'a' => {
                let item = self.pop()?;
                self.append(vec![item])?;
            }
            b'e' => {
                let items = self.since_mark()?;
                self.append(items)?;
            }
            b's' => {
                let value = self.pop()?;
                let key = self.pop()?;
                self.set(vec![(key, value)])?;
            }
            b'u' => {
                let items = self.since_mark()?;
                self.set(pairs(&items)?)?;
            }
            // A class with arguments for `__new__`, or a function with arguments.
            b'R' | 0x81 => {
                let args = self.pop()?;
                let callable = self.pop()?;
                let call = ReduceCall { callable, args, items: Vec::new(), pairs: Vec::new(), state: None };
                self.push(Object::Call(Box::new(call)))?;
            }
            b'b' => {
                let state = self.pop()?;
                if let Object::Call(call) = self.top()? {
                    call.state = Some(state);
                }
            }
            0x93 => {
                let name = self.pop()?;
                let module = self.pop()?;
                let (Some(Object::Str(module)), Some(Object::Str(name))) = (self.object(module), self.object(name))
                else {
                    return Err(Error::input("the name of a class or function is not a string"));
                };
                let global = Object::Global(module, name);
                self.push(global)?;
            }
            b'Q' => {
                let id = self.pop()?;
                self.push(Object::Persistent(id))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Operations on the stack and the memo.
    fn plumbing(&mut self, code: u8) -> Result<bool> {
        match code {
            0x80 => {
                let protocol = self.byte()?;
                if !(2..=5).contains(&protocol) {
                    return Err(Error::input(format!("unsupported pickle protocol {protocol}")));
                }
            }
            // Frames only matter when reading from pipes.
            0x95 => {
                self.take(8)?;
            }
            b'(' => self.marks.push(self.stack.len()),
            b'0' => {
                self.pop()?;
            }
            b'1' => {
                self.since_mark()?;
            }
            b'2' => {
                let top = self.last()?;
                self.stack.push(top);
            }
            b'q' => {
                let key = u32::from(self.byte()?);
                self.memoise(key)?;
            }
            b'r' => {
                let key = u32::from_le_bytes(self.array()?);
                self.memoise(key)?;
            }
            0x94 => self.memoise(u32::try_from(self.memo.len()).unwrap_or(u32::MAX))?,
            b'h' => {
                let key = u32::from(self.byte()?);
                self.recall(key)?;
            }
            b'j' => {
                let key = u32::from_le_bytes(self.array()?);
                self.recall(key)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let taken = self.at.checked_add(len).and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or_else(|| Error::input("the pickle ends early"))?;
        self.at += len;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn byte(&mut self) -> Result<u8> {
        self.array().map(|[byte]| byte)
    }

    fn long_length(&mut self) -> Result<usize> {
        let len = u64::from_le_bytes(self.array()?);
        usize::try_from(len).map_err(|_| Error::input("the pickle ends early"))
    }

    fn text(&mut self, len: usize) -> Result<&'a str> {
        std::str::from_utf8(self.take(len)?).map_err(|_| Error::input("a string is not UTF-8"))
    }

    fn line(&mut self) -> Result<&'a str> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let len = rest.iter().position(|byte| *byte == b'\n');
        let line = self.text(len.ok_or_else(|| Error::input("the pickle ends early"))?)?;
        self.at += 1;
        Ok(line)
    }

    fn push(&mut self, object: Object<'a>) -> Result<()> {
        let id = u32::try_from(self.objects.len()).map_err(|_| Error::input("there are too many objects"))?;
        self.objects.push(object);
        self.stack.push(Id(id));
        Ok(())
    }

    /// The stack height below which nothing may be popped: the last mark.
    fn floor(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn pop(&mut self) -> Result<Id> {
        if self.stack.len() <= self.floor() {
            return Err(underflow());
        }
        self.stack.pop().ok_or_else(underflow)
    }

    fn last(&self) -> Result<Id> {
        self.stack.get(self.floor()..).and_then(<[Id]>::last).copied().ok_or_else(underflow)
    }

    fn since_mark(&mut self) -> Result<Vec<Id>> {
        let mark = self.marks.pop().ok_or_else(|| Error::input("a mark is missing"))?;
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    fn object(&self, id: Id) -> Option<&Object<'a>> {
        self.objects.get(id.0 as usize)
    }

    fn top(&mut self) -> Result<&mut Object<'a>> {
        let id = self.last()?;
        self.objects.get_mut(id.0 as usize).ok_or_else(underflow)
    }

    fn append(&mut self, mut new: Vec<Id>) -> Result<()> {
        match self.top()? {
            Object::List(items) => items.append(&mut new),
            Object::Call(call) => call.items.append(&mut new),
            _ => return Err(Error::input("an element is appended to an object that is not a list")),
        }
        Ok(())
    }

    fn set(&mut self, mut new: Vec<(Id, Id)>) -> Result<()> {
        match self.top()? {
            Object::Dict(pairs) => pairs.append(&mut new),
            Object::Call(call) => call.pairs.append(&mut new),
            _ => return Err(Error::input("an entry is set in an object that is not a dictionary")),
        }
        Ok(())
    }

    fn memoise(&mut self, key: u32) -> Result<()> {
        let id = self.last()?;
        self.memo.insert(key, id);
        Ok(())
    }

    fn recall(&mut self, key: u32) -> Result<()> {
        let id = self.memo.get(&key).ok_or_else(|| Error::input(format!("the memo has no entry {key}")))?;
        self.stack.push(*id);
        Ok(())
    }
}

fn underflow() -> Error {
    Error::input("the stack is empty")
}

fn pairs(items: &[Id]) -> Result<Vec<(Id, Id)>> {
    let (pairs, []) = items.as_chunks::<2>() else {
        return Err(Error::input("a key has no value"));
    };
    Ok(pairs.iter().map(|[key, value]| (*key, *value)).collect())
}

/// A little-endian number in two's complement; None if it does not fit in 64 bits.
fn long(bytes: &[u8]) -> Option<i64> {
    let negative = bytes.last().is_some_and(|byte| *byte >= 0x80);
    let mut number = [if negative { 0xff } else { 0 }; 8];
    number.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(i64::from_le_bytes(number))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    #[test]
    fn a_dictionary_of_numbers() {
        // {'a': (1, -2, 3.0), 'b': [None, True]}
        let bytes = b"\x80\x02}q\x00(X\x01\x00\x00\x00aq\x01K\x01J\xfe\xff\xff\xffG@\x08\x00\x00\x00\x00\x00\x00\x87q\x02X\x01\x00\x00\x00bq\x03]q\x04(N\x88eu.";
        let pickle = Pickle::read(bytes).unwrap();
        let dict = pickle.dict(pickle.root()).unwrap();
        assert_eq!(dict.len(), 2);
        assert_eq!(pickle.str(dict[0].0), Some("a"));
        let tuple = pickle.tuple(dict[0].1).unwrap();
        assert_eq!(pickle.int(tuple[1]), Some(-2));
        assert!(matches!(pickle.get(tuple[2]), Object::Float(number) if *number == 3.0));
        assert!(matches!(pickle.get(dict[1].1), Object::List(items) if items.len() == 2));
    }

    #[test]
    fn calls_are_kept_as_data() {
        let pickle = Pickle::read(b"\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R.").unwrap();
        let Object::Call(call) = pickle.get(pickle.root()) else { panic!() };
        assert_eq!(pickle.global(call.callable), Some(("os", "system")));
    }

    #[test]
    fn a_list_that_contains_itself_does_no_harm() {
        let pickle = Pickle::read(b"\x80\x02]q\x00h\x00a.").unwrap();
        assert!(matches!(pickle.get(pickle.root()), Object::List(items) if items[0] == pickle.root()));
    }

    #[test]
    fn damaged_pickles_are_errors() {
        for bytes in [
            &b""[..],
            b".",
            b"\x80\x09N.",
            b"\x80\x02X\xff\xff\xff\xffa.",
            b"\x80\x02h\x07.",
            b"\x80\x02u.",
            b"\x80\x02(Nu.",
            b"\x80\x02N(0.",
            b"\x80\x02\x86.",
            b"\x80\x02(N\x86.",
            b"\x80\x02NNa.",
            b"\x80\x02cabc",
            b"\x80\x02(.",
            b"\x80\x02\xff.",
        ] {
            assert!(Pickle::read(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn long_numbers() {
        assert_eq!(long(b""), Some(0));
        assert_eq!(long(b"\xff"), Some(-1));
        assert_eq!(long(b"\x00\x00\x00\x80\x00"), Some(1 << 31));
        assert_eq!(long(b"\xff\xff\xff\xff\xff\xff\xff\x7f"), Some(i64::MAX));
        assert_eq!(long(b"\xff\xff\xff\xff\xff\xff\xff\xff\x00"), None);
    }
}
