//! What follows from the alias marks of PyTorch's schemas: which arguments an operator writes to, its functional form, and the
//! operator that a `_foreach_` operator applies to each tensor of its lists.

use super::aten::{Arg, AtenSchemas, Schema};

/// What an operator writes to.
#[derive(Debug, Clone)]
pub struct Writes<'s> {
    /// The arguments, in order.
    pub args: Vec<&'s str>,
    /// How it does so.
    pub form: SchemaForm,
    /// One of the arguments is a list of tensors.
    pub lists: bool,
    /// The functional form: it returns what this operator writes.
    pub functional: Option<&'s Schema>,
}

/// How an operator writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaForm {
    /// To one argument, which is also its result: `add_`.
    InPlace,
    /// To arguments that exist only to receive its results: `out=`.
    Out,
    /// To several arguments, or to one in addition to returning results.
    Other,
}

/// An operator whose arguments may have other names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renamed<'s> {
    /// The operator.
    pub schema: &'s Schema,
    /// Pairs of names that differ: in the original operator, and in this one.
    pub args: Vec<(&'s str, &'s str)>,
}

impl AtenSchemas {
    /// What an operator writes to; None if it writes nothing, or something that is not a tensor.
    pub fn writes<'s>(&'s self, schema: &'s Schema) -> Option<Writes<'s>> {
        let written: Vec<&Arg> = schema.args.iter().filter(|arg| arg.mutated()).collect();
        if written.is_empty() || !written.iter().all(|arg| arg.ty.starts_with("Tensor")) {
            return None;
        }
        let lists = written.iter().any(|arg| arg.ty.ends_with(']'));
        let is_out = written.iter().all(|arg| arg.keyword_only);
        let is_in_place = functional_name(schema.op()).is_some();
        let form = match (written.as_slice(), schema.returns.as_slice()) {
            _ if is_out => SchemaForm::Out,
            ([one], [result]) if is_in_place && !lists && one.alias == result.alias => SchemaForm::InPlace,
            _ => SchemaForm::Other,
        };
        let args = written.iter().map(|arg| arg.name.as_str()).collect();
        Some(Writes { args, form, lists, functional: self.functional(schema, is_out) })
    }

    /// The functional form with the same arguments. The same overload name is preferred, then the same argument names, then the
    /// first overload.
    fn functional<'s>(&'s self, schema: &Schema, is_out: bool) -> Option<&'s Schema> {
        let op = if is_out { schema.op().to_owned() } else { functional_name(schema.op())? };
        let has = |other: &Schema| {
            kept(schema).map(|arg| &arg.ty).eq(shared(schema, other).map(|arg| &arg.ty))
                && (is_out || other.args.len() == kept(schema).count())
        };
        let fits = |other: &&Schema| !other.mutates() && has(other) && other.returns.iter().all(|r| r.ty == "Tensor");
        let written = schema.args.iter().filter(|arg| arg.mutated()).count();
        let gives = |other: &&Schema| other.returns.len() == if is_out { written } else { 1 };
        let mut candidates: Vec<&Schema> = self.overloads(&op).into_iter().filter(fits).filter(gives).collect();
        // One with exactly the same arguments is preferred.
        candidates.sort_by_key(|other| other.args.len());
        let overload = |name: &str| name.split_once('.').map(|(_, overload)| overload.to_owned());
        let same_overload = candidates.iter().find(|other| overload(&other.name) == overload(&schema.name));
        let same_names = || {
            let names =
                |other: &&&Schema| shared(schema, other).map(|arg| &arg.name).eq(kept(schema).map(|arg| &arg.name));
            candidates.iter().find(names)
        };
        same_overload.or_else(same_names).or(candidates.first()).copied()
    }

    /// The operator that a `_foreach_` operator applies to each element: it has the same name without the prefix and takes an element
    /// of each list in the same order. Its further arguments have defaults.
    pub fn for_each_element<'s>(&'s self, schema: &'s Schema) -> Option<Renamed<'s>> {
        let op = schema.op().strip_prefix("aten::_foreach_")?;
        if schema.args.iter().any(|arg| arg.keyword_only && arg.mutated()) {
            return None;
        }
        let is_list = |ty: &str| matches!(ty, "Tensor[]" | "Scalar[]");
        let element = |arg: &'s Arg| if is_list(&arg.ty) { arg.ty.trim_end_matches("[]") } else { arg.ty.as_str() };
        let fits = |other: &&Schema| {
            let (same, rest) = other.args.split_at(schema.args.len().min(other.args.len()));
            same.len() == schema.args.len()
                && schema.args.iter().map(element).eq(same.iter().map(|arg| arg.ty.as_str()))
                && rest.iter().all(|arg| arg.default.is_some())
        };
        let other = self.overloads(&format!("aten::{op}")).into_iter().find(fits)?;
        Some(Renamed { schema: other, args: differing(schema.args.iter().zip(&other.args)) })
    }
}

impl<'s> Writes<'s> {
    /// The functional form. `schema` is the operator that these writes belong to.
    pub fn functional_form(&self, schema: &'s Schema) -> Option<Renamed<'s>> {
        let other = self.functional?;
        let pairs = kept(schema).zip(shared(schema, other));
        Some(Renamed { schema: other, args: differing(pairs) })
    }

    /// Whether the functional form creates a tensor of a dtype that it is told, which here is that of the argument.
    pub fn takes_dtype(&self, schema: &Schema) -> bool {
        let has = |schema: &Schema| schema.args.iter().any(|arg| arg.name == "dtype");
        self.form == SchemaForm::Out && self.functional.is_some_and(has) && !has(schema)
    }
}

/// The arguments of a functional form without those that an `out=` argument replaces.
fn shared<'a>(schema: &'a Schema, functional: &'a Schema) -> impl Iterator<Item = &'a Arg> {
    let is_replaced = |arg: &Arg| {
        matches!(arg.name.as_str(), "dtype" | "layout" | "device" | "pin_memory")
            && arg.keyword_only
            && arg.default.is_some()
            && !schema.args.iter().any(|own| own.name == arg.name)
    };
    functional.args.iter().filter(move |arg| !is_replaced(arg))
}

/// The arguments that the functional form has too.
fn kept(schema: &Schema) -> impl Iterator<Item = &Arg> {
    schema.args.iter().filter(|arg| !(arg.mutated() && arg.keyword_only))
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

/// Arguments that another operator calls otherwise.
fn differing<'s>(pairs: impl Iterator<Item = (&'s Arg, &'s Arg)>) -> Vec<(&'s str, &'s str)> {
    let names = pairs.map(|(own, other)| (own.name.as_str(), other.name.as_str()));
    names.filter(|(own, other)| own != other).collect()
}
