//! ONNX's schemas as static tables of the exporter: `ONNX`, in terms of its `schema` module.
//!
//! Takes the snapshot; gives the text of a module. Versions that are in force at no supported opset are left out. Equal lists of ports, attributes and types are written once: there are thousands of them and a
//! few hundred different ones, and the text is compiled in every build.

use std::collections::HashMap;
use std::fmt::{Debug, Write};

use crate::Schemas;
use crate::dtypes::index_of_onnx;
use crate::onnx::{AttrValue, Attribute, Change, Port, PortOption, Version};
use aten2onnx_operators::{self as operators, Facts};

const HEAD: &str = "\
mod onnx_table {
    use super::{AttrKind, Attribute, Bounded, Change, Default, Facts, Function, Half, Integers, Linear, Op, Port, PortKind, Ports, Shape, Shared, TypeSet, Version};

    const fn port(name: &'static str, kind: PortKind, ty: u8, homogeneous: bool) -> Port {
        Port { name, kind, ty, homogeneous }
    }

    const fn one(name: &'static str, ty: u8) -> Port {
        port(name, PortKind::Single, ty, true)
    }

    const fn optional(name: &'static str, ty: u8) -> Port {
        port(name, PortKind::Optional, ty, true)
    }

    const fn variadic(name: &'static str, ty: u8) -> Port {
        port(name, PortKind::Variadic, ty, true)
    }

    const fn mixed(name: &'static str, ty: u8) -> Port {
        port(name, PortKind::Variadic, ty, false)
    }

    const fn required(name: &'static str, kind: AttrKind) -> Attribute {
        Attribute { name, kind, required: true, default: None }
    }

    const fn attribute(name: &'static str, kind: AttrKind, default: Option<Default>) -> Attribute {
        Attribute { name, kind, required: false, default }
    }

    const fn tensors(name: &'static str, tensors: u64) -> TypeSet {
        TypeSet { name, tensors, others: false }
    }

    const fn others(name: &'static str, tensors: u64) -> TypeSet {
        TypeSet { name, tensors, others: true }
    }

";

/// The text of a module `onnx_table`, and of `pub use onnx_table::{FOREIGN, ONNX}`.
pub fn emit(schemas: &Schemas) -> String {
    let mut shared = Shared::default();
    let opsets = (schemas.opsets.min, schemas.opsets.max);
    let ops = rows(schemas, &mut shared, |name| !name.contains("::"), opsets);
    // The compiler has checked calls of other domains, and the builder needs no schema for them. Half precision asks for the types of those of which
    // something is said.
    let is_said = |name: &str| name.contains("::") && schemas.operators.get(name).is_some();
    let foreign = rows(schemas, &mut shared, is_said, (1, u32::MAX));
    let mut text = String::from(HEAD);
    text.push_str(&shared.text);
    let _ = write!(text, "\n    /// Sorted by name.\n    pub static ONNX: &[Op] = &[\n{ops}    ];\n");
    let _ = write!(
        text,
        "\n    /// Operators of other domains. Sorted by name.\n    pub static FOREIGN: &[Op] = &[\n{foreign}    ];\n}}\n\n"
    );
    text.push_str("pub use onnx_table::{FOREIGN, ONNX};\n");
    text
}

/// The operators whose names are asked for, in the versions that are in force at opsets from `min` to `max`.
fn rows(schemas: &Schemas, shared: &mut Shared, is_asked: impl Fn(&str) -> bool, (min, max): (u32, u32)) -> String {
    let mut ops = String::new();
    for (name, versions) in schemas.onnx.ops.iter().filter(|(name, _)| is_asked(name)) {
        let rows: Vec<String> = in_force(versions, min, max).map(|version| row(version, schemas, shared)).collect();
        if !rows.is_empty() {
            let facts = facts(schemas.operators.facts(name));
            let _ = writeln!(
                ops,
                "        Op {{ name: {name:?}, facts: {facts}, versions: &[\n{}        ] }},",
                rows.concat()
            );
        }
    }
    ops
}

/// `Facts { shape: Shape::First, elementwise: true, ..Facts::UNKNOWN }`
fn facts(facts: &Facts) -> String {
    let mut fields = vec![format!("shape: Shape::{:?}", facts.shape)];
    if facts.elementwise {
        fields.push("elementwise: true".into());
    }
    let functions = [("computes", facts.computes), ("combines", facts.combines)];
    let functions = functions.into_iter().filter_map(|(name, function)| Some((name, function?)));
    fields.extend(functions.map(|(name, function)| format!("{name}: Some(Function::{function:?})")));
    if !facts.moves.is_empty() {
        fields.push(format!("moves: Ports::of(&{:?})", facts.moves.iter().collect::<Vec<_>>()));
    }
    fields.extend(said("linear: Linear", facts.linear, operators::Linear::No));
    fields.extend(said("shared: Shared", facts.shared, operators::Shared::Never));
    fields.extend(said("half: Half", facts.half, operators::Half::Either));
    if !facts.positions.is_empty() {
        fields.push(format!("positions: Ports::of(&{:?})", facts.positions.iter().collect::<Vec<_>>()));
    }
    fields.extend(said("integers: Integers", facts.integers, operators::Integers::No));
    fields.extend(said("bounded: Bounded", facts.bounded, operators::Bounded::No));
    format!("Facts {{ {}, ..Facts::UNKNOWN }}", fields.join(", "))
}

/// A field whose value is not the usual one.
fn said<T: Debug + PartialEq>(field: &str, value: T, usual: T) -> Option<String> {
    (value != usual).then(|| format!("{field}::{value:?}"))
}

/// The versions that are in force at an opset from `min` to `max`.
fn in_force(versions: &[Version], min: u32, max: u32) -> impl Iterator<Item = &Version> {
    let first = versions.iter().rposition(|v| v.since <= min).unwrap_or(0);
    versions.iter().skip(first).filter(move |v| v.since <= max)
}

/// `Version { since: 20, ... },`
fn row(version: &Version, schemas: &Schemas, shared: &mut Shared) -> String {
    let Version { name, since, .. } = version;
    let change = match schemas.change(name, *since) {
        Some(Change::Types) => "Types",
        Some(Change::Shape) => "Shape",
        Some(Change::Appeared) | None => "Appeared",
    };
    let types = Types::new(version);
    let inputs = shared.list("Port", "P", ports(&version.inputs, &types));
    let outputs = shared.list("Port", "P", ports(&version.outputs, &types));
    let attributes = shared.list("Attribute", "A", version.attributes.iter().map(attribute).collect());
    let types = shared.list("TypeSet", "T", types.sets);
    let (deprecated, extends) = (version.deprecated, schemas.extends(name, *since));
    format!(
        "            Version {{ since: {since}, deprecated: {deprecated}, change: Change::{change}, extends: {extends}, \
         inputs: {inputs}, outputs: {outputs}, attributes: {attributes}, types: {types} }},\n"
    )
}

/// The type variables of a version, then the types that ports name themselves.
struct Types<'a> {
    names: Vec<&'a str>,
    sets: Vec<String>,
}

impl<'a> Types<'a> {
    fn new(version: &'a Version) -> Types<'a> {
        let mut types = Types { names: Vec::new(), sets: Vec::new() };
        for var in &version.types {
            types.add(&var.name, &var.allowed);
        }
        for port in version.inputs.iter().chain(&version.outputs) {
            if types.index(&port.ty).is_none() {
                types.add(&port.ty, std::slice::from_ref(&port.ty));
            }
        }
        types
    }

    fn add(&mut self, name: &'a str, allowed: &[String]) {
        let (mut bits, mut others) = (0u64, false);
        for ty in allowed {
            match ty.strip_prefix("tensor(").and_then(|t| t.strip_suffix(')')) {
                // Element types that neither PyTorch nor the exporter has have no bit.
                Some(element) => bits |= index_of_onnx(element).map_or(0, |bit| 1 << bit),
                None => others = true,
            }
        }
        let function = if others { "others" } else { "tensors" };
        self.names.push(name);
        self.sets.push(format!("{function}({name:?}, {bits:#x})"));
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|n| *n == name)
    }
}

/// `one("X", 0)`, ...
fn ports(ports: &[Port], types: &Types<'_>) -> Vec<String> {
    let text = |port: &Port| {
        let function = match port.option {
            PortOption::Single => "one",
            PortOption::Optional => "optional",
            PortOption::Variadic(_) if port.homogeneous => "variadic",
            PortOption::Variadic(_) => "mixed",
        };
        format!("{function}({:?}, {})", port.name, types.index(&port.ty).unwrap_or(0))
    };
    ports.iter().map(text).collect()
}

/// `attribute("alpha", Some(Default::Float(1.0)))`
fn attribute(attribute: &Attribute) -> String {
    let (name, kind) = (&attribute.name, format!("AttrKind::{:?}", attribute.kind));
    if attribute.required {
        return format!("required({name:?}, {kind})");
    }
    let default = match &attribute.default {
        None => return format!("attribute({name:?}, {kind}, None)"),
        Some(AttrValue::Float(v)) => format!("Float({})", float(*v)),
        Some(AttrValue::Int(v)) => format!("Int({v})"),
        Some(AttrValue::String(v)) => format!("Str({v:?})"),
        Some(AttrValue::Floats(v)) => {
            format!("Floats(&[{}])", v.iter().map(|v| float(*v)).collect::<Vec<_>>().join(", "))
        }
        Some(AttrValue::Ints(v)) => format!("Ints(&{v:?})"),
        Some(AttrValue::Strings(v)) => format!("Strs(&{v:?})"),
    };
    format!("attribute({name:?}, {kind}, Some(Default::{default}))")
}

fn float(value: f32) -> String {
    match value {
        f32::INFINITY => "f32::INFINITY".into(),
        f32::NEG_INFINITY => "f32::NEG_INFINITY".into(),
        _ if value.is_nan() => "f32::NAN".into(),
        _ => format!("{value:?}"),
    }
}

/// Lists that several versions share, as statics.
#[derive(Default)]
struct Shared {
    names: HashMap<String, String>,
    counts: HashMap<&'static str, usize>,
    text: String,
}

impl Shared {
    /// The expression for a list. A new list gets a static.
    fn list(&mut self, ty: &'static str, prefix: &'static str, items: Vec<String>) -> String {
        if items.is_empty() {
            return "&[]".into();
        }
        let items = items.join(", ");
        let key = format!("{prefix}{items}");
        if let Some(name) = self.names.get(&key) {
            return name.clone();
        }
        let count = self.counts.entry(prefix).or_default();
        let name = format!("{prefix}{count}");
        *count += 1;
        let _ = writeln!(self.text, "    static {name}: &[{ty}] = &[{items}];");
        self.names.insert(key, name.clone());
        name
    }
}
