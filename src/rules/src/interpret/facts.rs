//! The facts of a folder in place of those that were compiled, for the commands of developers: a change of `operators.toml`, `dtypes.toml`,
//! `opsets.toml`, the schemas or `targets/` needs no build.

use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_onnx::schema::{AttrKind, Attribute, Change, Default, Op, Port, PortKind, TypeSet, Version};
use aten2onnx_onnx::{facts, schema, targets};
use aten2onnx_schemas::dtypes::index_of_onnx;
use aten2onnx_schemas::{Schemas, onnx, targets_text};

/// The digest of the facts that are in use, if they are not those of the build.
static USED: OnceLock<u64> = OnceLock::new();

/// Whether other facts than those of the build are in use.
pub(super) fn are_replaced() -> bool {
    USED.get().is_some()
}

/// Takes the facts of schemas from now on, where they differ from those of the build.
///
/// # Errors
/// Other facts are in use already; or a fact differs that has to be compiled.
pub(super) fn use_facts(read: &Schemas, built: &Schemas) -> Result<()> {
    compiled_facts_agree(read, built)?;
    let digest = digest_of(read);
    match USED.get() {
        Some(used) if *used == digest => return Ok(()),
        None if digest == digest_of(built) => return Ok(()),
        _ => {}
    }
    let rows = facts::Replaced { wider: wider(read), negative_axes: negative_axes(read) };
    let is_first = USED.set(digest).is_ok()
        && facts::replace(rows)
        && schema::replace(operators(read))
        && targets::replace(targets_text::text_of(read));
    match is_first {
        true => Ok(()),
        false => {
            Err(Error::unsupported("this process uses other facts about ONNX already").help("start another process"))
        }
    }
}

/// What the program is compiled with cannot be changed while it runs.
fn compiled_facts_agree(read: &Schemas, built: &Schemas) -> Result<()> {
    let of = |schemas: &Schemas| {
        let opsets = &schemas.opsets;
        let irs = format!("{:?}", opsets.opsets);
        (opsets.min, opsets.max, opsets.default, irs, opsets.control.clone(), schemas.ignored.selecting.clone())
    };
    if of(read) == of(built) && shown(&read.promotion) == shown(&built.promotion) {
        return Ok(());
    }
    let text = "the range of opsets and `control` in opsets.toml, `selecting` in ignored_arguments.toml and schemas/promotion.txt are compiled, and differ";
    Err(Error::unsupported(text).help("build the exporter again: `cargo build`"))
}

fn shown(value: &impl Debug) -> String {
    format!("{value:?}")
}

fn digest_of(schemas: &Schemas) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    let opsets = &schemas.opsets;
    let facts = (&schemas.onnx, &schemas.operators, &schemas.dtypes, &opsets.changes, &opsets.negative_axes);
    (shown(&facts), targets_text::text_of(schemas)).hash(&mut hasher);
    hasher.finish()
}

fn dtype(torch_name: &str) -> Option<Dtype> {
    Dtype::from_torch_name(torch_name)
}

fn wider(schemas: &Schemas) -> Vec<(Dtype, Vec<Dtype>)> {
    let rows = schemas.dtypes.wider.iter();
    rows.filter_map(|(name, wider)| Some((dtype(name)?, wider.iter().filter_map(|one| dtype(one)).collect()))).collect()
}

fn negative_axes(schemas: &Schemas) -> Vec<facts::NegativeAxes> {
    let mut rows = Vec::new();
    for axes in &schemas.opsets.negative_axes {
        let place = axes.attribute.as_ref().or(axes.input.as_ref()).map_or("", String::as_str);
        rows.extend(axes.ops.iter().map(|op| (kept(op), axes.since, kept(place), axes.input.is_some())));
    }
    rows.sort_unstable();
    rows
}

/// A text that stays until the process ends, as those of the build do.
fn kept(text: &str) -> &'static str {
    text.to_owned().leak()
}

/// The operators of ONNX's own domain, sorted by name.
fn operators(schemas: &Schemas) -> Vec<Op> {
    let (oldest, newest) = (schemas.opsets.min, schemas.opsets.max);
    let own = schemas.onnx.ops.iter().filter(|(name, _)| !name.contains("::"));
    let mut ops: Vec<Op> = own
        .filter_map(|(name, versions)| {
            let first = versions.iter().rposition(|version| version.since <= oldest).unwrap_or(0);
            let in_force = versions.iter().skip(first).filter(|version| version.since <= newest);
            let rows: Vec<Version> = in_force.map(|one| version(one, schemas)).collect();
            let facts = *schemas.operators.facts(name);
            (!rows.is_empty()).then(|| Op { name: kept(name), facts, versions: rows.leak() })
        })
        .collect();
    ops.sort_unstable_by_key(|op| op.name);
    ops
}

fn version(version: &onnx::Version, schemas: &Schemas) -> Version {
    let change = match schemas.change(&version.name, version.since) {
        Some(onnx::Change::Types) => Change::Types,
        Some(onnx::Change::Shape) => Change::Shape,
        Some(onnx::Change::Appeared) | None => Change::Appeared,
    };
    let types = types_of(version);
    let ports = |ports: &[onnx::Port]| -> &'static [Port] {
        ports.iter().map(|one| port(one, &types)).collect::<Vec<_>>().leak()
    };
    Version {
        since: version.since,
        deprecated: version.deprecated,
        change,
        extends: schemas.extends(&version.name, version.since),
        inputs: ports(&version.inputs),
        outputs: ports(&version.outputs),
        attributes: version.attributes.iter().map(attribute).collect::<Vec<_>>().leak(),
        types: types.leak(),
    }
}

/// The type variables of a version, then the types that ports name themselves.
fn types_of(version: &onnx::Version) -> Vec<TypeSet> {
    let mut sets: Vec<TypeSet> =
        version.types.iter().map(|variable| type_set(&variable.name, &variable.allowed)).collect();
    for port in version.inputs.iter().chain(&version.outputs) {
        if sets.iter().all(|set| set.name != port.ty) {
            sets.push(type_set(&port.ty, std::slice::from_ref(&port.ty)));
        }
    }
    sets
}

fn type_set(name: &str, allowed: &[String]) -> TypeSet {
    let mut set = TypeSet { name: kept(name), tensors: 0, others: false };
    for ty in allowed {
        match ty.strip_prefix("tensor(").and_then(|ty| ty.strip_suffix(')')) {
            Some(element) => set.tensors |= index_of_onnx(element).map_or(0, |bit| 1 << bit),
            None => set.others = true,
        }
    }
    set
}

fn port(port: &onnx::Port, types: &[TypeSet]) -> Port {
    let kind = match port.option {
        onnx::PortOption::Single => PortKind::Single,
        onnx::PortOption::Optional => PortKind::Optional,
        onnx::PortOption::Variadic(_) => PortKind::Variadic,
    };
    let at = types.iter().position(|set| set.name == port.ty).unwrap_or(0);
    let homogeneous = kind != PortKind::Variadic || port.homogeneous;
    Port { name: kept(&port.name), kind, ty: u8::try_from(at).unwrap_or(0), homogeneous }
}

fn attribute(attribute: &onnx::Attribute) -> Attribute {
    let default = match attribute.default.as_ref().filter(|_| !attribute.required) {
        None => None,
        Some(onnx::AttrValue::Float(value)) => Some(Default::Float(*value)),
        Some(onnx::AttrValue::Int(value)) => Some(Default::Int(*value)),
        Some(onnx::AttrValue::String(value)) => Some(Default::Str(kept(value))),
        Some(onnx::AttrValue::Floats(all)) => Some(Default::Floats(all.clone().leak())),
        Some(onnx::AttrValue::Ints(all)) => Some(Default::Ints(all.clone().leak())),
        Some(onnx::AttrValue::Strings(all)) => {
            Some(Default::Strs(all.iter().map(|text| kept(text)).collect::<Vec<_>>().leak()))
        }
    };
    Attribute { name: kept(&attribute.name), kind: kind(attribute.kind), required: attribute.required, default }
}

fn kind(kind: onnx::AttrKind) -> AttrKind {
    match kind {
        onnx::AttrKind::Float => AttrKind::Float,
        onnx::AttrKind::Int => AttrKind::Int,
        onnx::AttrKind::String => AttrKind::String,
        onnx::AttrKind::Tensor => AttrKind::Tensor,
        onnx::AttrKind::Graph => AttrKind::Graph,
        onnx::AttrKind::SparseTensor => AttrKind::SparseTensor,
        onnx::AttrKind::TypeProto => AttrKind::TypeProto,
        onnx::AttrKind::Floats => AttrKind::Floats,
        onnx::AttrKind::Ints => AttrKind::Ints,
        onnx::AttrKind::Strings => AttrKind::Strings,
        onnx::AttrKind::Tensors => AttrKind::Tensors,
        onnx::AttrKind::Graphs => AttrKind::Graphs,
    }
}

#[cfg(test)]
mod tests {
    use aten2onnx_onnx::schema::ONNX;

    use super::super::load::built_schemas;
    use super::{negative_axes, operators, wider};
    use aten2onnx_onnx::facts::{NEGATIVE_AXES, WIDER};

    #[test]
    fn the_facts_of_the_build_are_what_was_compiled() -> Result<(), String> {
        let schemas = built_schemas().map_err(|error| error.to_string())?;
        let made = operators(&schemas);
        assert_eq!(made.len(), ONNX.len());
        for (made, compiled) in made.iter().zip(ONNX) {
            assert_eq!(format!("{made:?}"), format!("{compiled:?}"));
        }
        assert_eq!(negative_axes(&schemas), NEGATIVE_AXES);
        for (dtype, row) in wider(&schemas) {
            let compiled = WIDER.iter().find(|(one, _)| *one == dtype).map(|(_, row)| row.to_vec());
            assert_eq!(compiled, Some(row));
        }
        Ok(())
    }
}
