//! Reads `onnx.txt`. The first word of a line tells its kind. Errors name the line.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::dtypes::DtypeSet;
use super::onnx::{AttrKind, AttrValue, Attribute, OnnxSchemas, Port, PortOption, TypeVar, Version, allowed_types};
use super::text::{quoted, quoted_list};

/// `@floats = float16 float double`
type Group<'a> = (&'a str, Vec<&'a str>);

/// Lists of types. The file repeats a few dozen of them often, so each is expanded once.
#[derive(Default)]
struct Lists<'a> {
    groups: Vec<Group<'a>>,
    expanded: HashMap<&'a str, Vec<String>>,
}

/// Reads the whole text. An error names the line.
pub(super) fn parse(text: &str) -> Result<OnnxSchemas, String> {
    let mut lists = Lists::default();
    let mut ops: IndexMap<String, Vec<Version>> = IndexMap::new();
    let mut current: Option<Version> = None;
    for (i, line) in text.lines().enumerate() {
        let at = |error: String| format!("line {}: {error}: `{line}`", i + 1);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(rest) = line.strip_prefix('@') {
            let (name, members) = rest.split_once(" = ").ok_or_else(|| at("group without ` = `".into()))?;
            lists.groups.push((name, members.split(' ').collect()));
        } else if let Some(rest) = line.strip_prefix("  ") {
            let version = current.as_mut().ok_or_else(|| at("line without an operator".into()))?;
            parse_line(version, rest, &mut lists).map_err(at)?;
        } else {
            let next = parse_head(line).map_err(at)?;
            if let Some(done) = current.replace(next) {
                store(&mut ops, done).map_err(at)?;
            }
        }
    }
    if let Some(done) = current {
        store(&mut ops, done).map_err(|e| format!("at the end: {e}"))?;
    }
    ops.sort_unstable_keys();
    Ok(OnnxSchemas { ops })
}

/// Adds a complete version.
fn store(ops: &mut IndexMap<String, Vec<Version>>, mut version: Version) -> Result<(), String> {
    version.min_inputs = fewest(&version.inputs);
    version.min_outputs = fewest(&version.outputs);
    version.attributes.sort_by(|a, b| a.name.cmp(&b.name));
    version.types.iter_mut().for_each(|t| t.allowed.sort_unstable());
    let types = &version.types;
    for port in version.inputs.iter_mut().chain(&mut version.outputs) {
        port.dtypes = DtypeSet::of_onnx_types(allowed_types(types, port));
    }
    if !ops.contains_key(&version.name) {
        ops.insert(version.name.clone(), Vec::new());
    }
    let Some(versions) = ops.get_mut(&version.name) else { return Ok(()) };
    if versions.last().is_some_and(|last| last.since >= version.since) {
        return Err(format!("version {1} of {0} above this line is out of order", version.name, version.since));
    }
    versions.push(version);
    Ok(())
}

/// The least number of values: all up to the last port that is required.
fn fewest(ports: &[Port]) -> u32 {
    let mut count = 0;
    for (i, port) in (0u32..).zip(ports) {
        match port.option {
            PortOption::Single => count = i + 1,
            PortOption::Variadic(min) => count = i.saturating_add(min),
            PortOption::Optional => {}
        }
    }
    count
}

/// `Gelu 20 function`
fn parse_head(line: &str) -> Result<Version, String> {
    let mut words = line.split(' ');
    let name = words.next().filter(|n| !n.is_empty()).ok_or("no name")?;
    let since = words.next().and_then(|w| w.parse().ok()).ok_or("no opset after the name")?;
    let mut version = Version {
        name: name.to_string(),
        since,
        deprecated: false,
        function: false,
        inputs: Vec::new(),
        outputs: Vec::new(),
        min_inputs: 0,
        min_outputs: 0,
        attributes: Vec::new(),
        types: Vec::new(),
    };
    for word in words {
        match word {
            "deprecated" => version.deprecated = true,
            "function" => version.function = true,
            _ => return Err(format!("`{word}` is neither `deprecated` nor `function`")),
        }
    }
    Ok(version)
}

/// A line of a block, without its indentation.
fn parse_line<'a>(version: &mut Version, line: &'a str, lists: &mut Lists<'a>) -> Result<(), String> {
    let (word, rest) = line.split_once(' ').ok_or("no text after the first word")?;
    match word {
        "in" => version.inputs.push(parse_port(rest)?),
        "out" => version.outputs.push(parse_port(rest)?),
        "attr" => version.attributes.push(parse_attribute(rest)?),
        "type" => parse_type(&mut version.types, rest, lists)?,
        _ => return Err(format!("`{word}` is not `in`, `out`, `attr` or `type`")),
    }
    Ok(())
}

/// `v_initial: V variadic 0 mixed`
fn parse_port(line: &str) -> Result<Port, String> {
    let (name, rest) = line.split_once(": ").ok_or("no `: ` after the name")?;
    let mut words = rest.split(' ');
    let ty = words.next().filter(|t| !t.is_empty()).ok_or("no type")?;
    let option = match words.next() {
        None => PortOption::Single,
        Some("optional") => PortOption::Optional,
        Some("variadic") => {
            PortOption::Variadic(words.next().and_then(|w| w.parse().ok()).ok_or("no number after `variadic`")?)
        }
        Some(word) => return Err(format!("`{word}` is neither `optional` nor `variadic`")),
    };
    let homogeneous = match (words.next(), option) {
        (None, _) => true,
        (Some("mixed"), PortOption::Variadic(_)) => false,
        (Some(word), _) => return Err(format!("unexpected `{word}`")),
    };
    if words.next().is_some() {
        return Err("too many words".into());
    }
    Ok(Port { name: name.to_string(), option, homogeneous, ty: ty.to_string(), dtypes: DtypeSet::NONE })
}

/// `alpha: FLOAT = 1.0`
fn parse_attribute(line: &str) -> Result<Attribute, String> {
    let (name, rest) = line.split_once(": ").ok_or("no `: ` after the name")?;
    let (kind, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let kind = AttrKind::from_name(kind).ok_or_else(|| format!("`{kind}` is not the type of an attribute"))?;
    let (required, default) = match rest {
        "" => (false, None),
        "required" => (true, None),
        _ => {
            let value = rest.strip_prefix("= ").ok_or("neither `required` nor `= DEFAULT`")?;
            let value =
                parse_value(kind, value).ok_or_else(|| format!("`{value}` is not a value of type {}", kind.name()))?;
            (false, Some(value))
        }
    };
    Ok(Attribute { name: name.to_string(), kind, required, default })
}

fn parse_value(kind: AttrKind, text: &str) -> Option<AttrValue> {
    let list = || text.strip_prefix('[')?.strip_suffix(']');
    Some(match kind {
        AttrKind::Float => AttrValue::Float(text.parse().ok()?),
        AttrKind::Int => AttrValue::Int(text.parse().ok()?),
        AttrKind::String => AttrValue::String(quoted(text)?),
        AttrKind::Floats => AttrValue::Floats(numbers(list()?)?),
        AttrKind::Ints => AttrValue::Ints(numbers(list()?)?),
        AttrKind::Strings => AttrValue::Strings(quoted_list(list()?)?),
        _ => return None,
    })
}

fn numbers<T: std::str::FromStr>(text: &str) -> Option<Vec<T>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    text.split(", ").map(|n| n.parse().ok()).collect()
}

/// `T = @floats int32`, `V = optional(seq(@floats))`: adds to the type variable.
fn parse_type<'a>(types: &mut Vec<TypeVar>, line: &'a str, known: &mut Lists<'a>) -> Result<(), String> {
    let (name, list) = line.split_once(" = ").ok_or("no ` = ` after the type variable")?;
    if types.last().is_none_or(|t| t.name != name) {
        types.push(TypeVar { name: name.to_string(), allowed: Vec::new() });
    }
    let Some(var) = types.last_mut() else { return Ok(()) };
    if !known.expanded.contains_key(list) {
        let expanded = expand(list, &known.groups)?;
        known.expanded.insert(list, expanded);
    }
    var.allowed.extend_from_slice(known.expanded.get(list).map_or(&[], Vec::as_slice));
    Ok(())
}

/// `seq(@floats)` -> `seq(tensor(float16))`, ...
fn expand(list: &str, groups: &[Group<'_>]) -> Result<Vec<String>, String> {
    let (wrapper, elements) = match list.rfind('(') {
        Some(at) => list.split_at(at + 1),
        None => ("", list),
    };
    let close = ")".repeat(1 + wrapper.matches('(').count());
    let elements = elements.strip_suffix(&close[1..]).ok_or("parentheses do not match")?;
    let mut expanded = Vec::new();
    for word in elements.split(' ') {
        let members = match word.strip_prefix('@') {
            Some(name) => &groups.iter().find(|g| g.0 == name).ok_or_else(|| format!("unknown group `@{name}`"))?.1,
            None if word.is_empty() || word.contains([')', ',', '@']) => {
                return Err(format!("`{word}` is not an element type"));
            }
            None => &vec![word],
        };
        expanded.extend(members.iter().map(|m| [wrapper, "tensor(", m, &close].concat()));
    }
    Ok(expanded)
}
