//! Changes a call in one place: a size everywhere, a dtype, a rank, elements, a number, an argument that is left out.

use aten2onnx_opmap::syntax::ast::{ExampleSize, ExampleValue};
use aten2onnx_opmap::tree::{Example, Param, Target};
use aten2onnx_opmap::types::Ty;
use fastrand::Rng;

use super::calls::{Pool, any_tensor};
use super::domain;
use super::edit::{dtype_of, known_sizes, make_known, replace_size, set_dtype, size_of, sizes, values, visit};
use super::rule::Rule;

/// Elements are written out for tensors up to this many.
const MOST_WRITTEN: i64 = 24;

/// Changes of calls of one rule.
pub(super) struct Mutation<'m> {
    pub rule: &'m Rule<'m>,
    pub pool: &'m Pool,
    pub rng: &'m mut Rng,
}

impl Mutation<'_> {
    /// Changes a call.
    pub fn apply(&mut self, call: &mut Example) {
        if self.rule.is_internal() {
            return self.apply_everywhere(call);
        }
        match self.rng.u8(..20) {
            0..=3 => self.resize(call),
            4..=6 => self.retype(call),
            7..=8 => self.rerank(call),
            9..=10 => self.name_size(call),
            11..=12 => self.elements(call),
            13 => self.leave_out(call),
            14 => self.add(call),
            _ => self.change_argument(call),
        }
    }

    /// Changes that keep what examples have in common: equal sizes stay equal, and so do equal dtypes.
    fn apply_everywhere(&mut self, call: &mut Example) {
        match self.rng.u8(..20) {
            0..=6 => self.resize_all(call),
            7..=10 => self.retype_all(call),
            11..=12 => self.name_size(call),
            13..=15 => self.elements(call),
            16 => self.leave_out(call),
            17 => self.add(call),
            _ => self.change_argument(call),
        }
    }

    /// Changes a size in all places that have it, or in one.
    fn resize(&mut self, call: &mut Example) {
        if self.rng.u8(..4) > 0 {
            return self.resize_all(call);
        }
        let index = self.rng.usize(..sizes(call).count().max(1));
        let new = domain::size(self.rng);
        let mut at = 0;
        visit(call, &mut |value| {
            let ExampleValue::Tensor { sizes, .. } = value else { return };
            for size in sizes {
                if at == index {
                    *size = ExampleSize::Known(new);
                }
                at += 1;
            }
        });
    }

    /// Changes a size in all places that have it.
    fn resize_all(&mut self, call: &mut Example) {
        let all: Vec<i64> = sizes(call).map(|size| size_of(size, &call.with)).collect();
        let Some(old) = self.rng.choice(&all).copied() else { return };
        let new = domain::size(self.rng);
        call.with.iter_mut().filter(|(_, n)| *n == old).for_each(|(_, n)| *n = new);
        let also_numbers = self.rng.u8(..3) == 0;
        replace_size(call, &ExampleSize::Known(old), &ExampleSize::Known(new));
        visit(call, &mut |value| match value {
            ExampleValue::Int(n) if also_numbers && *n == old => *n = new,
            _ => {}
        });
    }

    /// Changes the dtype of all tensors that have one, or of one tensor.
    fn retype(&mut self, call: &mut Example) {
        if self.rng.u8(..3) > 0 {
            return self.retype_all(call);
        }
        let count = values(call).into_iter().filter_map(dtype_of).count();
        let only = self.rng.usize(..count.max(1));
        let new = domain::dtype(self.rng);
        let mut at = 0;
        visit(call, &mut |value| {
            if dtype_of(value).is_none() {
                return;
            }
            if at == only {
                set_dtype(value, new);
            }
            at += 1;
        });
    }

    /// Changes the dtype of all tensors that have one.
    fn retype_all(&mut self, call: &mut Example) {
        let dtypes: Vec<String> = values(call).into_iter().filter_map(dtype_of).cloned().collect();
        let Some(old) = self.rng.choice(&dtypes).cloned() else { return };
        let new = domain::dtype(self.rng);
        visit(call, &mut |value| {
            if dtype_of(value).is_some_and(|dtype| *dtype == old) {
                set_dtype(value, new);
            }
        });
    }

    /// Adds a dimension in front of all tensors or of one, or takes one away.
    fn rerank(&mut self, call: &mut Example) {
        let count = values(call).iter().filter(|value| matches!(value, ExampleValue::Tensor { .. })).count();
        if count == 0 {
            return;
        }
        let only = self.rng.bool().then(|| self.rng.usize(..count));
        let added = self.rng.bool().then(|| ExampleSize::Known(domain::size(self.rng).min(5)));
        let mut at = 0;
        visit(call, &mut |value| {
            let ExampleValue::Tensor { sizes, .. } = value else { return };
            let wanted = only.is_none_or(|only| only == at);
            at += 1;
            match &added {
                _ if !wanted => {}
                Some(size) if sizes.len() < 6 => sizes.insert(0, size.clone()),
                None if !sizes.is_empty() => drop(sizes.remove(0)),
                _ => {}
            }
        });
    }

    /// Makes a size symbolic wherever it occurs, or a symbolic one known.
    fn name_size(&mut self, call: &mut Example) {
        if let Some((name, size)) = self.rng.choice(&call.with).cloned()
            && self.rng.bool()
        {
            return make_known(call, &name, size);
        }
        let mut sizes = known_sizes(call);
        // torch.export takes sizes of 0 and 1 as they are.
        sizes.retain(|size| *size > 1);
        let Some(size) = self.rng.choice(&sizes).copied() else { return };
        let taken = |name: &str| call.with.iter().any(|(other, _)| other == name);
        let Some(name) = ["n", "m", "k", "p"].into_iter().find(|name| !taken(name)) else { return };
        call.with.push((name.to_owned(), size));
        replace_size(call, &ExampleSize::Known(size), &ExampleSize::Symbolic(name.to_owned()));
    }

    /// Gives a tensor special elements, or bounds.
    fn elements(&mut self, call: &mut Example) {
        let count = values(call).into_iter().filter_map(dtype_of).count();
        if count == 0 {
            return;
        }
        let index = self.rng.usize(..count);
        let mut at = 0;
        let rng = &mut *self.rng;
        visit(call, &mut |value| {
            if dtype_of(value).is_none() {
                return;
            }
            at += 1;
            if at - 1 == index {
                *value = other_elements(rng, value);
            }
        });
    }

    fn leave_out(&mut self, call: &mut Example) {
        let places: Vec<usize> = (0..call.args.len())
            .filter(|i| call.args.get(*i).is_some_and(|(name, _)| self.rule.is_optional(name)))
            .collect();
        if let Some(place) = self.rng.choice(&places) {
            call.args.remove(*place);
        }
    }

    fn add(&mut self, call: &mut Example) {
        let is_map = matches!(self.rule.target, Target::Map(_));
        let missing: Vec<&Param> =
            self.rule.params.iter().filter(|param| call.args.iter().all(|(name, _)| *name != param.name)).collect();
        if let Some(param) = self.rng.choice(&missing).copied() {
            let value = if is_map && !self.rule.is_internal() { Some(self.any(param)) } else { self.given(param) };
            call.args.extend(value.map(|value| (param.name.clone(), value)));
        }
    }

    fn change_argument(&mut self, call: &mut Example) {
        let plain = |name: &str| self.rule.params.iter().find(|param| param.name == name && param.ty != Ty::Tensor);
        let places: Vec<(usize, &Param)> =
            call.args.iter().enumerate().filter_map(|(i, (name, _))| Some((i, plain(name)?))).collect();
        let Some((place, param)) = self.rng.choice(&places).copied() else { return self.resize(call) };
        let Some((_, value)) = call.args.get(place) else { return };
        // What values the attributes of an operator may have is in the text of the standard alone, and in the examples.
        let new = if self.rule.is_internal() || !matches!(self.rule.target, Target::Map(_)) {
            self.given(param).unwrap_or(ExampleValue::None)
        } else if self.rng.u8(..3) == 0 {
            self.any(param)
        } else {
            self.near(value, &param.ty)
        };
        if let Some(argument) = call.args.get_mut(place) {
            argument.1 = new;
        }
    }

    /// A value of the parameter.
    pub fn any(&mut self, param: &Param) -> ExampleValue {
        match self.given(param) {
            Some(value) if self.rng.bool() => value,
            _ => self.of(&param.ty),
        }
    }

    /// A value that an example gives to the parameter.
    fn given(&mut self, param: &Param) -> Option<ExampleValue> {
        let value = self.pool.given.get(&param.name).and_then(|given| self.rng.choice(given))?;
        Some(match value {
            // Its symbolic sizes may have other values here.
            ExampleValue::Tensor { .. } | ExampleValue::Name(_) => known(value),
            other => other.clone(),
        })
    }

    /// A value of a type.
    fn of(&mut self, ty: &Ty) -> ExampleValue {
        match ty {
            Ty::Tensor => any_tensor(self.rng),
            Ty::Int | Ty::SymInt => ExampleValue::Int(self.int()),
            Ty::Float => ExampleValue::Float(domain::float(self.rng)),
            Ty::Bool => ExampleValue::Bool(self.rng.bool()),
            Ty::Scalar => match self.rng.u8(..5) {
                0..=1 => ExampleValue::Int(domain::int(self.rng)),
                2 => ExampleValue::Bool(self.rng.bool()),
                _ => ExampleValue::Float(domain::float(self.rng)),
            },
            Ty::Str => {
                self.rng.choice(&self.pool.texts).map_or(ExampleValue::None, |text| ExampleValue::Str(text.clone()))
            }
            Ty::ScalarType => {
                let names = [
                    "float32",
                    "float64",
                    "float16",
                    "bfloat16",
                    "int64",
                    "int32",
                    "uint8",
                    "int8",
                    "bool",
                    "complex64",
                ];
                ExampleValue::Name(self.rng.choice(names).unwrap_or("float32").to_owned())
            }
            Ty::List(item) => {
                let count = *self.rng.choice(&[0, 1, 1, 2, 2, 2, 3, 4]).unwrap_or(&1);
                ExampleValue::List((0..count).map(|_| self.of(item)).collect())
            }
            Ty::Optional(inner) if self.rng.u8(..3) > 0 => self.of(inner),
            _ => ExampleValue::None,
        }
    }

    fn int(&mut self) -> i64 {
        match self.rng.choice(&self.pool.ints) {
            Some(n) if self.rng.u8(..3) == 0 => *n,
            _ => domain::int(self.rng),
        }
    }

    /// A value like another one.
    fn near(&mut self, value: &ExampleValue, ty: &Ty) -> ExampleValue {
        let inner = if let Ty::Optional(inner) = ty { inner } else { ty };
        match (value, inner) {
            (ExampleValue::Int(n), _) if self.rng.bool() => {
                ExampleValue::Int(n.saturating_add(*self.rng.choice(&[-1, 1, 2, -2]).unwrap_or(&1)))
            }
            (ExampleValue::Int(n), _) if self.rng.u8(..4) == 0 => ExampleValue::Int(n.saturating_neg()),
            (ExampleValue::Float(x), _) if self.rng.bool() => {
                ExampleValue::Float(x * *self.rng.choice(&[-1.0, 0.5, 2.0, 1.1]).unwrap_or(&1.0))
            }
            (ExampleValue::Bool(b), _) => ExampleValue::Bool(!b),
            (ExampleValue::List(items), Ty::List(item)) => self.near_list(items, item),
            _ => self.of(ty),
        }
    }

    fn near_list(&mut self, items: &[ExampleValue], item: &Ty) -> ExampleValue {
        let mut items = items.to_vec();
        let at = self.rng.usize(..items.len() + 1);
        match (self.rng.u8(..6), items.get(at)) {
            (0, _) => items.insert(at, self.of(item)),
            (1, Some(_)) => drop(items.remove(at)),
            (2, Some(_)) => items.swap(at, 0),
            (_, Some(old)) => {
                let new = self.near(old, item);
                items[at] = new;
            }
            _ => items.push(self.of(item)),
        }
        ExampleValue::List(items)
    }
}

/// A value without symbolic sizes.
fn known(value: &ExampleValue) -> ExampleValue {
    match value {
        ExampleValue::Tensor { dtype, sizes, range } => {
            let known = |size: &ExampleSize| match size {
                ExampleSize::Known(n) => ExampleSize::Known(*n),
                ExampleSize::Symbolic(_) => ExampleSize::Known(3),
            };
            ExampleValue::Tensor { dtype: dtype.clone(), sizes: sizes.iter().map(known).collect(), range: *range }
        }
        ExampleValue::Name(name) if aten2onnx_core::dtype::Dtype::from_torch_name(name).is_none() => {
            ExampleValue::Int(3)
        }
        other => other.clone(),
    }
}

fn other_elements(rng: &mut Rng, value: &ExampleValue) -> ExampleValue {
    let (dtype, sizes) = match value {
        ExampleValue::Tensor { dtype, sizes, .. } => {
            let known: Option<Vec<i64>> =
                sizes.iter().map(|size| if let ExampleSize::Known(n) = size { Some(*n) } else { None }).collect();
            let count = known.as_ref().map_or(0, |sizes| sizes.iter().product::<i64>());
            match known {
                Some(known) if !known.is_empty() && (1..=MOST_WRITTEN).contains(&count) && rng.u8(..3) > 0 => {
                    (dtype, known)
                }
                _ => {
                    let range = (rng.u8(..4) > 0).then(|| domain::range(rng));
                    return ExampleValue::Tensor { dtype: dtype.clone(), sizes: sizes.clone(), range };
                }
            }
        }
        ExampleValue::Literal { dtype, sizes, .. } => (dtype, sizes.clone()),
        other => return other.clone(),
    };
    if dtype.starts_with('c') {
        return value.clone();
    }
    let count = sizes.iter().product::<i64>();
    let elements = (0..count).map(|_| domain::element(rng, dtype)).collect();
    ExampleValue::Literal { dtype: dtype.clone(), sizes, elements }
}
