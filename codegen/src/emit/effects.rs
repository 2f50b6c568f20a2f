//! The operators that write to their arguments, and the operators that do the same without, by the alias marks of PyTorch's schemas.

use std::fmt::Write;

use crate::schema::Schemas;
use crate::schema::aten::{Arg, AtenSchemas, Schema};

/// The text of `EFFECTS`, sorted.
pub fn emit(schemas: &Schemas) -> String {
    let mut text =
        String::from("/// The operators that write to tensors, sorted.\npub static EFFECTS: &[super::Effect] = &[\n");
    for schema in schemas.aten.iter() {
        let written: Vec<&Arg> = schema.args.iter().filter(|arg| arg.mutated()).collect();
        if written.is_empty() || !written.iter().all(|arg| arg.ty.starts_with("Tensor")) {
            continue;
        }
        let names: Vec<&str> = written.iter().map(|arg| arg.name.as_str()).collect();
        let is_out = written.iter().all(|arg| arg.keyword_only);
        let sibling = sibling(&schemas.aten, schema, is_out);
        let renamed = sibling.map(|sibling| renamed(schema, sibling)).unwrap_or_default();
        let functional = sibling.map(|sibling| sibling.name.as_str());
        let _ = writeln!(
            text,
            "    super::Effect {{ name: {:?}, writes: &{names:?}, is_out: {is_out}, functional: {functional:?}, renamed: &{renamed:?} }},",
            schema.name,
        );
    }
    text.push_str("];\n");
    text
}

/// The arguments that the functional operator has too.
fn kept(schema: &Schema) -> impl Iterator<Item = &Arg> {
    schema.args.iter().filter(|arg| !(arg.mutated() && arg.keyword_only))
}

/// The operator that writes nowhere and takes the same: the one of the same overload, or else of the same names of arguments, or else
/// the first.
fn sibling<'a>(schemas: &'a AtenSchemas, schema: &Schema, is_out: bool) -> Option<&'a Schema> {
    let op = if is_out { schema.op().to_owned() } else { functional_name(schema.op())? };
    let fits = |other: &&Schema| {
        let types = other.args.iter().map(|arg| &arg.ty);
        !other.mutates() && kept(schema).map(|arg| &arg.ty).eq(types) && other.returns.iter().all(|r| r.ty == "Tensor")
    };
    let written = schema.args.iter().filter(|arg| arg.mutated()).count();
    let gives = |other: &&Schema| other.returns.len() == if is_out { written } else { 1 };
    let candidates: Vec<&Schema> = schemas.overloads(&op).into_iter().filter(fits).filter(gives).collect();
    let overload = |name: &str| name.split_once('.').map(|(_, overload)| overload.to_owned());
    let same_overload = candidates.iter().find(|other| overload(&other.name) == overload(&schema.name));
    let same_names = || {
        let names = |other: &&&Schema| other.args.iter().map(|arg| &arg.name).eq(kept(schema).map(|arg| &arg.name));
        candidates.iter().find(names)
    };
    same_overload.or_else(same_names).or(candidates.first()).copied()
}

/// `aten::add` of `aten::add_`, `aten::__and__` of `aten::__iand__`.
fn functional_name(op: &str) -> Option<String> {
    let (namespace, name) = op.split_once("::")?;
    let name = match name.strip_prefix("__i").filter(|rest| rest.ends_with("__")) {
        Some(rest) => format!("__{rest}"),
        None => name.strip_suffix('_')?.to_owned(),
    };
    Some(format!("{namespace}::{name}"))
}

/// Arguments that the functional operator calls otherwise.
fn renamed<'a>(schema: &'a Schema, sibling: &'a Schema) -> Vec<(&'a str, &'a str)> {
    let pairs = kept(schema).zip(&sibling.args).map(|(own, other)| (own.name.as_str(), other.name.as_str()));
    pairs.filter(|(own, other)| own != other).collect()
}
