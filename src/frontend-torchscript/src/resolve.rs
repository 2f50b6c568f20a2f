//! Chooses the overload of a call as libtorch does: the first schema that fits without conversions, else the first that
//! fits with them.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::schemas::{Param, Schema};
use super::syntax::Name;
use super::types::Type;

/// Which parameter gets which argument.
#[derive(Debug)]
pub struct Match {
    pub schema: Rc<Schema>,
    /// For each parameter where its argument is.
    pub places: Vec<ArgumentPlace>,
    /// The types of results, with the variables of the schema replaced.
    pub returns: Vec<Type>,
}

/// Where the argument of a parameter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentPlace {
    Default,
    Position(usize),
    Keyword(usize),
    /// All positional arguments from this one on are a list.
    Rest(usize),
}

/// The types of the arguments of a call.
#[derive(Debug)]
pub struct Given<'a> {
    pub args: &'a [Type],
    pub named: &'a [(Name, Type)],
}

/// Chooses among the overloads of an operator.
pub fn choose(schemas: &[Rc<Schema>], given: &Given<'_>) -> Option<Match> {
    let candidates = || schemas.iter().filter(|schema| !is_left_out(schema));
    let exact = || candidates().find_map(|schema| fit(schema, given, false));
    let converted = || candidates().find_map(|schema| fit(schema, given, true));
    match candidates().count() {
        1 => converted(),
        _ => exact().or_else(converted),
    }
}

/// Overloads that libtorch does not offer to code.
fn is_left_out(schema: &Schema) -> bool {
    matches!(
        (schema.name.as_str(), schema.overload.as_str()),
        ("aten::view", "dtype") | ("aten::max" | "aten::min", "unary_out")
    )
}

fn fit(schema: &Rc<Schema>, given: &Given<'_>, converts: bool) -> Option<Match> {
    if schema.takes_all {
        return Some(Match { schema: Rc::clone(schema), places: Vec::new(), returns: schema.returns.clone() });
    }
    let mut vars = FxHashMap::default();
    let mut places = Vec::with_capacity(schema.params.len());
    let mut next = 0;
    let mut used = 0;
    let positional = schema.params.iter().filter(|param| !param.keyword_only).count();
    for (index, param) in schema.params.iter().enumerate() {
        let name = |(name, _): &(Name, Type)| **name == *param.name || (param.name == "self" && &**name == "input");
        if !param.keyword_only && next < given.args.len() {
            let is_last = index + 1 == positional;
            if converts && is_last && takes_rest(param, given.args, next, &mut vars) {
                places.push(ArgumentPlace::Rest(next));
                next = given.args.len();
                continue;
            }
            fits(given.args.get(next)?, param, converts, &mut vars).then_some(())?;
            places.push(ArgumentPlace::Position(next));
            next += 1;
        } else if let Some(at) = given.named.iter().position(name) {
            fits(&given.named.get(at)?.1, param, converts, &mut vars).then_some(())?;
            places.push(ArgumentPlace::Keyword(at));
            used += 1;
        } else if param.has_default {
            places.push(ArgumentPlace::Default);
        } else {
            return None;
        }
    }
    if next < given.args.len() || used < given.named.len() {
        return None;
    }
    let returns = schema.returns.iter().map(|ty| replaced(ty, &vars)).collect();
    Some(Match { schema: Rc::clone(schema), places, returns })
}

type Vars = FxHashMap<Name, Type>;

/// Whether all arguments from this one on are the elements of a list.
fn takes_rest(param: &Param, args: &[Type], from: usize, vars: &mut Vars) -> bool {
    let Type::List(element) = &param.ty else { return false };
    let is_list = |ty: &Type| matches!(ty, Type::List(_) | Type::Tuple(_));
    if args.get(from).is_some_and(is_list) || matches!(**element, Type::Var(_)) {
        return false;
    }
    args.iter().skip(from).all(|arg| fits_type(arg, element, true, vars))
}

fn fits(arg: &Type, param: &Param, converts: bool, vars: &mut Vars) -> bool {
    if param.repeats.is_some()
        && let Type::List(element) = param.ty.unwrapped()
        && matches!(arg, Type::Int | Type::Float)
        && arg.is_subtype_of(element)
    {
        return true;
    }
    fits_type(arg, &param.ty, converts, vars)
}

fn fits_type(arg: &Type, wanted: &Type, converts: bool, vars: &mut Vars) -> bool {
    match (arg, wanted) {
        (arg, Type::Var(name)) => match vars.get(name) {
            Some(bound) => arg.is_subtype_of(bound),
            None => {
                vars.insert(Rc::clone(name), arg.clone());
                true
            }
        },
        (Type::None, Type::Optional(_)) => true,
        (Type::Optional(a), Type::Optional(b)) => fits_type(a, b, converts, vars),
        (arg, Type::Optional(of)) => fits_type(arg, of, converts, vars),
        (Type::List(a), Type::List(b)) => match &**b {
            Type::Var(_) | Type::Tuple(_) | Type::List(_) => fits_type(a, b, false, vars),
            b => **a == *b,
        },
        (Type::Tuple(items), Type::List(element)) => items.iter().all(|item| fits_type(item, element, converts, vars)),
        (Type::Dict(a), Type::Dict(b)) => {
            (a.0 == b.0 || matches!(b.0, Type::Var(_))) && fits_type(&a.1, &b.1, false, vars)
        }
        (Type::Tuple(a), Type::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| fits_type(a, b, converts, vars))
        }
        (Type::Future(a), Type::Future(b)) => fits_type(a, b, converts, vars),
        (a, b) if a.is_subtype_of(b) => true,
        _ if !converts => false,
        (Type::Tensor, Type::Int | Type::Float | Type::Complex | Type::Number) => true,
        (Type::Number, Type::Int | Type::Float | Type::Complex) => true,
        (Type::Bool, Type::Int | Type::Float | Type::Number) => true,
        (Type::Str, Type::Device) => true,
        _ => false,
    }
}

/// The type with variables replaced.
fn replaced(ty: &Type, vars: &Vars) -> Type {
    match ty {
        Type::Var(name) => vars.get(name).cloned().unwrap_or(Type::Any),
        Type::Optional(of) => Type::optional(replaced(of, vars)),
        Type::List(of) => Type::list(replaced(of, vars)),
        Type::Future(of) => Type::Future(Rc::new(replaced(of, vars))),
        Type::Dict(of) => Type::dict(replaced(&of.0, vars), replaced(&of.1, vars)),
        Type::Tuple(items) => Type::tuple(items.iter().map(|item| replaced(item, vars)).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::schemas::Schemas;

    fn chosen(name: &str, args: &[Type]) -> String {
        let schemas = Schemas::default().of(name);
        choose(&schemas, &Given { args, named: &[] }).unwrap().schema.target()
    }

    #[test]
    fn the_first_that_fits_is_chosen() {
        use Type::{Bool, Float, Int, None, Number, Tensor};
        let ints = || Type::list(Int);
        assert_eq!(chosen("aten::add", &[Tensor, Tensor]), "aten::add.Tensor");
        assert_eq!(chosen("aten::add", &[Tensor, Int]), "aten::add.Scalar");
        assert_eq!(chosen("aten::add", &[Int, Int]), "aten::add.int");
        assert_eq!(chosen("aten::add", &[Number, Int]), "aten::add");
        assert_eq!(chosen("aten::add", &[ints(), ints()]), "aten::add.t");
        assert_eq!(chosen("aten::size", &[Tensor, Int]), "aten::size.int");
        assert_eq!(chosen("aten::view", &[Tensor, ints()]), "aten::view");
        assert_eq!(chosen("aten::conv2d", &[Tensor, Tensor, None, ints(), Type::Str]), "aten::conv2d.padding");
        assert_eq!(chosen("aten::max_pool2d", &[Tensor, Int]), "aten::max_pool2d");
        assert_eq!(chosen("aten::add", &[Tensor, Bool]), "aten::add.Scalar");
        assert_eq!(chosen("aten::mul", &[Float, Int]), "aten::mul.float_int");
        let scales = Type::optional(Type::list(Float));
        let given = [Tensor, Type::optional(ints()), Bool, scales];
        assert_eq!(chosen("aten::upsample_bilinear2d", &given), "aten::upsample_bilinear2d.vec");
    }
}
