//! Operators on strings, all of which are known.

use std::rc::Rc;

use super::Interpreter;
use super::expressions::{clamped, known_index};
use super::operators::OperatorCall;
use crate::types::Type;
use crate::values::{CellData, Item, Sym, Value};
use aten2onnx_core::error::{Error, Result};

/// The longest string that is built.
const MAX_LENGTH: usize = 1 << 24;

impl Interpreter<'_, '_> {
    /// An operator on strings; None if it is not one.
    pub(super) fn string_function(&mut self, call: &OperatorCall) -> Result<Option<Item>> {
        let (_, short) = call.name().split_once("::").unwrap_or(("", call.name()));
        match (short, call.args.len()) {
            ("str", _) => {
                let item = call.item(0)?.clone();
                return Ok(Some(Item::str(&self.shown(&item, 0)?)));
            }
            ("EnumName" | "EnumValue", _) => {
                return match call.value(0) {
                    Value::Enum(member) if short == "EnumName" => Ok(Some(Item::str(&member.name))),
                    Value::Enum(member) => Ok(Some(member.value.clone())),
                    _ => Ok(None),
                };
            }
            _ => {}
        }
        let Value::Str(text) = call.value(0) else { return Ok(None) };
        let text = Rc::clone(text);
        let second = match call.value(1) {
            Value::Str(second) => Some(Rc::clone(second)),
            _ => None,
        };
        let strings = |parts: Vec<&str>| parts.into_iter().map(Item::str).collect::<Vec<Item>>();
        Ok(Some(match (short, second) {
            ("add", Some(other)) => {
                if text.len() + other.len() > MAX_LENGTH {
                    return Err(Error::unsupported("a string is too long"));
                }
                Item::str(&format!("{text}{other}"))
            }
            ("eq", Some(other)) => Item::bool(text == other),
            ("ne", Some(other)) => Item::bool(text != other),
            ("lt", Some(other)) => Item::bool(text < other),
            ("gt", Some(other)) => Item::bool(text > other),
            ("le", Some(other)) => Item::bool(text <= other),
            ("ge", Some(other)) => Item::bool(text >= other),
            ("__contains__", Some(other)) => Item::bool(text.contains(&*other)),
            ("startswith", Some(other)) => Item::bool(text.starts_with(&*other)),
            ("endswith", Some(other)) => Item::bool(text.ends_with(&*other)),
            ("find", Some(other)) => Item::int(text.find(&*other).map_or(-1, |at| at as i64)),
            ("count", Some(other)) if !other.is_empty() => Item::int(text.matches(&*other).count() as i64),
            ("split", Some(separator)) if !separator.is_empty() => {
                let parts = strings(text.split(&*separator).collect());
                self.list_of(Type::Str, parts)?
            }
            ("split", None) => {
                let parts = strings(text.split_whitespace().collect());
                self.list_of(Type::Str, parts)?
            }
            ("replace", Some(old)) => match call.value(2) {
                Value::Str(new) if text.len().saturating_mul(new.len() + 1) <= MAX_LENGTH => {
                    Item::str(&text.replace(&*old, new))
                }
                _ => return Ok(None),
            },
            ("strip" | "lstrip" | "rstrip", of) => {
                let of = of.unwrap_or_else(|| Rc::from(" \n\t\u{b}\u{c}\r"));
                let is_in = |c: char| of.contains(c);
                Item::str(match short {
                    "lstrip" => text.trim_start_matches(is_in),
                    "rstrip" => text.trim_end_matches(is_in),
                    _ => text.trim_matches(is_in),
                })
            }
            ("len", _) => Item::int(text.chars().count() as i64),
            ("upper", _) => Item::str(&text.to_ascii_uppercase()),
            ("lower", _) => Item::str(&text.to_ascii_lowercase()),
            ("isdigit", _) => Item::bool(!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())),
            ("isalpha", _) => Item::bool(!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphabetic())),
            ("capitalize", _) => {
                let mut chars = text.chars();
                let first = chars.next().map(|c| c.to_ascii_uppercase().to_string()).unwrap_or_default();
                Item::str(&format!("{first}{}", chars.as_str().to_ascii_lowercase()))
            }
            ("list", _) => {
                let chars: Vec<Item> = text.chars().map(|c| Item::str(&c.to_string())).collect();
                self.list_of(Type::Str, chars)?
            }
            ("join", _) => {
                let parts = self.elements(call.item(1)?)?;
                let parts = parts.iter().map(|item| match &item.value {
                    Value::Str(part) => Ok(part.to_string()),
                    other => Err(Error::input(format!("{} is joined to a string", other.kind()))),
                });
                Item::str(&parts.collect::<Result<Vec<String>>>()?.join(&text))
            }
            ("StringIndex" | "__getitem__", _) => {
                let chars: Vec<char> = text.chars().collect();
                let at = known_index(call.item(1)?, chars.len())?;
                Item::str(&chars.get(at).map(char::to_string).unwrap_or_default())
            }
            ("slice", _) => {
                let chars: Vec<char> = text.chars().collect();
                let bound =
                    |index: usize| call.args.get(index).and_then(Option::as_ref).and_then(|i| clamped(i, chars.len()));
                let (start, end) = (bound(1).unwrap_or(0), bound(2).unwrap_or(chars.len()));
                Item::str(&chars.get(start..end.max(start)).unwrap_or_default().iter().collect::<String>())
            }
            _ => return Ok(None),
        }))
    }

    /// `"..{}..".format(..)`
    pub(super) fn format(&mut self, args: &[Item]) -> Result<Item> {
        let Some((Item { value: Value::Str(pattern), .. }, rest)) = args.split_first() else {
            return Err(Error::input("`format` has no pattern"));
        };
        let mut text = String::new();
        let mut parts = pattern.split("{}");
        text.push_str(parts.next().unwrap_or_default());
        let mut rest = rest.iter();
        for part in parts {
            match rest.next() {
                Some(item) => text.push_str(&self.shown(item, 0)?),
                None => text.push_str("{}"),
            }
            text.push_str(part);
            if text.len() > MAX_LENGTH {
                return Err(Error::unsupported("a string is too long"));
            }
        }
        Ok(Item::str(&text))
    }

    /// A value as `str` shows it; parts that are only known at run time are `?`.
    fn shown(&mut self, item: &Item, depth: usize) -> Result<String> {
        if depth > 8 {
            return Ok("..".to_owned());
        }
        Ok(match &item.value {
            Value::None => "None".to_owned(),
            Value::Bool(flag) => if *flag { "True" } else { "False" }.to_owned(),
            Value::Int(number) => number.to_string(),
            Value::Float(number) if number.fract() == 0.0 && number.abs() < 1e16 => format!("{number:.1}"),
            Value::Float(number) => number.to_string(),
            Value::Complex(re, im) => format!("({re}+{im}j)"),
            Value::Str(text) | Value::Device(text) => text.to_string(),
            Value::Sym(sym) => match &**sym {
                Sym::Int(size) => size.to_string(),
                _ => "?".to_owned(),
            },
            Value::List(cell) => match self.heap.get(*cell).map(|data| (**data).clone()) {
                Some(CellData::List(items)) => {
                    let parts =
                        items.iter().map(|item| self.shown(item, depth + 1)).collect::<Result<Vec<String>>>()?;
                    format!("[{}]", parts.join(", "))
                }
                _ => "[..]".to_owned(),
            },
            Value::Tuple(tuple) => {
                let parts =
                    tuple.items.iter().map(|item| self.shown(item, depth + 1)).collect::<Result<Vec<String>>>()?;
                format!("({})", parts.join(", "))
            }
            Value::Enum(member) => member.name.to_string(),
            _ => "?".to_owned(),
        })
    }
}
