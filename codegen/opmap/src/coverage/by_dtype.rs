//! The verdict on a rule for each dtype of its first tensor that PyTorch takes.

use std::collections::BTreeMap;

use super::example::dtypes_in;
use super::opsets::Opsets;
use super::values::{Abs, List, Optional, Tensor};
use super::{Coverage, Status, Verdict};
use crate::tree::{Map, Program, Target};
use crate::types::Ty;
use aten2onnx_schemas::Schemas;
use aten2onnx_schemas::dtypes::DtypeSet;

/// How an opset expresses the calls of a rule with one dtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Every operator is written as the rule names it.
    Native,
    /// Some operators are replaced by others, or their inputs are cast.
    Lowered,
    /// Some calls are refused.
    Partial,
    /// Every call is refused.
    Refused,
    /// The opset has no such dtype.
    Absent,
}

/// The verdicts on a rule.
#[derive(Debug, Clone)]
pub struct ByDtype {
    /// By dtype, in PyTorch's names. A rule without tensors has one entry, with an empty name.
    pub rows: Vec<(&'static str, Verdict)>,
    existing: Vec<(&'static str, Opsets)>,
}

impl ByDtype {
    /// How an opset expresses calls with a dtype of the rows.
    pub fn level(&self, dtype: &str, opset: u32) -> Level {
        let exists = self.existing.iter().find(|row| row.0 == dtype).is_none_or(|row| row.1.has(opset));
        let Some((_, verdict)) = self.rows.iter().find(|row| row.0 == dtype).filter(|_| exists) else {
            return Level::Absent;
        };
        match verdict.status(opset) {
            Status::Full if verdict.lowered.has(opset) => Level::Lowered,
            Status::Full => Level::Native,
            Status::Partial(_) => Level::Partial,
            Status::No(_) => Level::Refused,
        }
    }
}

/// The verdicts on all rules, by overload.
pub fn by_dtype(program: &Program, schemas: &Schemas) -> BTreeMap<String, ByDtype> {
    by_dtype_of(program, schemas, &|_| true)
}

/// The verdicts on some rules, by overload.
pub fn by_dtype_of(program: &Program, schemas: &Schemas, wanted: &dyn Fn(&str) -> bool) -> BTreeMap<String, ByDtype> {
    let mut coverage = Coverage::new(program, schemas);
    let opsets = coverage.opsets;
    let wanted = program.maps.iter().filter(|map| wanted(&map.function.name));
    wanted.map(|map| (map.function.name.clone(), coverage.of_map(map, opsets))).collect()
}

impl<'a> Coverage<'a> {
    fn of_map(&mut self, map: &'a Map, opsets: Opsets) -> ByDtype {
        self.all = self.dtypes_of(map);
        let first = map.function.params.iter().position(|param| holds_tensors(&param.ty));
        let Some(first) = first else {
            let args = self.any_arguments(&map.function);
            return ByDtype { rows: vec![("", self.verdict(map, args, opsets))], existing: Vec::new() };
        };
        let (mut rows, mut existing) = (Vec::new(), Vec::new());
        let taken = self.all.and(self.taken_by(map, first)).and(needed_by(map));
        for index in taken.indices() {
            let own = DtypeSet::at(index);
            let Some(name) = own.names().next() else { continue };
            let here: Opsets = opsets.iter().filter(|opset| own.is_within(self.facts.existing_at(*opset))).collect();
            let mut args = self.any_arguments(&map.function);
            if let Some(arg) = args.get_mut(first) {
                *arg = with_dtypes(arg, own);
            }
            rows.push((name, self.verdict(map, args, here)));
            existing.push((name, here));
        }
        ByDtype { rows, existing }
    }

    /// The dtypes of this parameter that PyTorch's kernels take, and those of examples. All if nothing is known of the kernels.
    fn taken_by(&self, map: &Map, param: usize) -> DtypeSet {
        let name = map.function.name.as_str();
        let Some(names) = self.schemas.kernels.dtypes(name) else { return DtypeSet::ALL };
        let of_kernels = names.iter().fold(DtypeSet::NONE, |all, name| all.or(DtypeSet::one(name)));
        let own = Target::Map(name.to_owned());
        let examples = self.program.examples.iter().filter(|example| example.target == own);
        let param = map.function.params.get(param).map(|param| param.name.as_str());
        let values = examples.flat_map(|example| &example.args).filter(|(name, _)| Some(name.as_str()) == param);
        values.fold(of_kernels, |all, (_, value)| all.or(dtypes_in(value)))
    }
}

/// The dtypes of the only tensor of a rule for complex numbers are complex: programs reach it by nothing else.
fn needed_by(map: &Map) -> DtypeSet {
    let tensors = map.function.params.iter().filter(|param| holds_tensors(&param.ty)).count();
    match map.function.name.starts_with("complex::") && tensors == 1 {
        true => DtypeSet::complex(),
        false => DtypeSet::ALL,
    }
}

/// Whether values of a type are tensors, or hold some.
pub fn holds_tensors(ty: &Ty) -> bool {
    match ty {
        Ty::List(of) | Ty::Optional(of) => holds_tensors(of),
        ty => *ty == Ty::Tensor,
    }
}

/// The value with tensors of other dtypes.
fn with_dtypes(value: &Abs, dtypes: DtypeSet) -> Abs {
    match value {
        Abs::Tensor(tensor) => Abs::Tensor(Tensor { dtypes, ..tensor.clone() }),
        Abs::List(list) => Abs::List(List::any(with_dtypes(&list.each, dtypes))),
        Abs::Optional(optional) => Abs::Optional(Optional {
            absent: optional.absent,
            present: std::rc::Rc::new(with_dtypes(&optional.present, dtypes)),
        }),
        other => other.clone(),
    }
}
