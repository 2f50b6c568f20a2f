//! What PyTorch recorded of sizes is held against what the nodes compute, at the sizes of the example and at others that the guards allow.
//!
//! Two expressions may look different and be the same wherever the program is right: `s0 // 16 * 16` is `s0` under the guard `s0 % 16 == 0`. So
//! both are evaluated. Where they give different numbers, the file is damaged: which of them the author of the file meant is unknown.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::BTreeSet;

use aten2onnx_builder::{Builder, Scalar, ScalarOp};
use aten2onnx_core::axes::counted_from_start;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Type, Value};
use aten2onnx_program::{Arg, Graph, Guard, Node, NodeOutput, Program, is_python};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{Known, Translation, records::is_read};

/// So many sets of sizes are tried.
const MOST: usize = 8;
/// What is added to the sizes of the example. Guards often demand multiples.
const STEPS: [i64; 6] = [1, 2, 16, -1, 3, 64];
/// With more symbols, none is changed alone.
const FEW: usize = 8;
/// Values of numbers that data decides, such as `item()`: with several divisors, and without.
const FROM_DATA: [i64; 10] = [7, 12, 5, 24, 3, 2, 30, 64, 1001, 1];
/// So many sets of them are looked at.
const LOOKED_AT: usize = 100;
/// Of the value of a float, which PyTorch may compute in another way.
const TOLERANCE: f64 = 1e-9;

const HELP: &str = "the file is damaged, or its program is not for these sizes: save it again";

type Sizes = FxHashMap<String, i64>;
/// A number at each of the tried sizes, where it is known.
type Numbers = Vec<Option<Scalar>>;

/// Sizes that the program was captured for, and the numbers there that only the graph computes.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    /// The sizes of the example.
    example: Sizes,
    /// What is tried: sizes, and values of numbers that data decides.
    sizes: Vec<Sizes>,
    /// The numbers that data decides.
    from_data: FxHashSet<String>,
    numbers: RefCell<FxHashMap<Value, Numbers>>,
}

impl Witness {
    /// The sizes of the example. Others, and numbers that data decides, are used if all guards and assertions are known.
    pub(crate) fn of(program: &Program) -> Witness {
        let example = program.hints.clone();
        let mut sizes = vec![example.clone()];
        let mut from_data = FxHashSet::default();
        let is_guard = |guard: &Guard| matches!(guard, Guard::Sizes(_));
        if program.has_guards && program.guards.iter().all(is_guard) {
            let others = changed(&example).into_iter().filter(|sizes| is_allowed(program, sizes));
            sizes.extend(others.take(MOST));
            from_data.extend(program.ranges.keys().filter(|name| !example.contains_key(*name)).cloned());
        }
        if !from_data.is_empty() {
            sizes = with_data(program, &sizes);
        }
        Witness { example, sizes, from_data, numbers: RefCell::default() }
    }

    /// Whether two types have different sizes in the example. Other sizes say nothing: PyTorch records no guard for sizes that an operator refuses
    /// when it runs, as `slice_scatter` does.
    pub(crate) fn contradiction(&self, inferred: &Type, recorded: &Type) -> bool {
        let (Some(x), Some(y)) = (inferred.shape(), recorded.shape()) else { return false };
        let example = &self.example;
        let differ = |(x, y): (&SymInt, &SymInt)| {
            x != y && x.eval(example).zip(y.eval(example)).is_some_and(|(inferred, recorded)| inferred != recorded)
        };
        x.len() == y.len() && x.iter().zip(y).any(differ)
    }
}

/// Other sizes than those of the example: each changed alone, if there are few, and all together.
fn changed(hints: &Sizes) -> Vec<Sizes> {
    let mut names: Vec<&String> = hints.keys().collect();
    names.sort_unstable();
    let mut found = Vec::new();
    for step in STEPS {
        // Sizes that were equal by chance do not stay equal.
        let apart = names.iter().enumerate().map(|(at, name)| ((*name).clone(), step.saturating_mul(at as i64 + 1)));
        let apart: Vec<(String, i64)> = apart.collect();
        found.push(moved(hints, &apart));
        if names.len() > 1 && names.len() <= FEW {
            found.extend(names.iter().map(|name| moved(hints, &[((*name).clone(), step)])));
        }
    }
    found
}

/// Each set of sizes with values of the numbers that data decides, for which the assertions of the program hold. A set for which there are none
/// stays as it is.
fn with_data(program: &Program, sizes: &[Sizes]) -> Vec<Sizes> {
    let mut names: Vec<&String> = program.ranges.keys().filter(|name| !program.hints.contains_key(*name)).collect();
    names.sort_unstable();
    let values: Option<Vec<Vec<i64>>> =
        names.iter().map(|name| values_within(program.ranges.get(*name).copied())).collect();
    let Some(values) = values else { return sizes.to_vec() };
    let holds =
        |sizes: &Sizes| program.assertions.iter().all(|it| it.as_ref().is_some_and(|it| it.eval(sizes) == Some(1)));
    let filled = |sizes: &Sizes, turn: usize| {
        let mut sizes = sizes.clone();
        for (at, (name, values)) in names.iter().zip(&values).enumerate() {
            let value = values.get((turn * (at + 1) + at) % values.len()).copied().unwrap_or_default();
            sizes.insert((*name).clone(), value);
        }
        sizes
    };
    let mut found = Vec::new();
    for (index, sizes) in sizes.iter().enumerate() {
        let mut all = (0..LOOKED_AT).map(|turn| filled(sizes, turn + index)).filter(holds);
        match all.next() {
            Some(first) => found.push(first),
            None => found.push(sizes.clone()),
        }
        if index == 0 {
            found.extend(all.take(MOST));
        }
    }
    found
}

/// Some values within bounds; None if there are none.
fn values_within(range: Option<(Option<i64>, Option<i64>)>) -> Option<Vec<i64>> {
    let (low, high) = range.unwrap_or_default();
    let is_within = |value: &i64| low.is_none_or(|low| low <= *value) && high.is_none_or(|high| *value <= high);
    let above = FROM_DATA.iter().filter_map(|step| low.unwrap_or(0).checked_add(*step));
    let mut values: Vec<i64> = FROM_DATA.into_iter().chain(above).chain(low).filter(is_within).collect();
    let mut seen = FxHashSet::default();
    values.retain(|value| seen.insert(*value));
    Some(values).filter(|values| !values.is_empty())
}

fn moved(hints: &Sizes, steps: &[(String, i64)]) -> Sizes {
    let mut sizes = hints.clone();
    for (name, step) in steps {
        if let Some(size) = sizes.get_mut(name) {
            *size = size.saturating_add(*step);
        }
    }
    sizes
}

fn is_allowed(program: &Program, sizes: &Sizes) -> bool {
    let in_range = |(name, size): (&String, &i64)| match program.ranges.get(name) {
        Some((low, high)) => low.unwrap_or(1).max(1) <= *size && high.is_none_or(|high| *size <= high),
        None => false,
    };
    let holds = |guard: &Guard| matches!(guard, Guard::Sizes(condition) if condition.eval(sizes) == Some(1));
    sizes.iter().all(in_range) && program.guards.iter().all(holds)
}

impl Translation<'_> {
    /// Holds the record of a node's number against what the node computes.
    ///
    /// # Errors
    /// They have different values.
    pub(crate) fn hold_number(&mut self, node: &Node, number: &Scalar, graph: &Graph) -> Result<()> {
        let [NodeOutput::Sym(name)] = node.outputs.as_slice() else { return Ok(()) };
        let computed = self.computed_at(node);
        if self.names_result(node, number) {
            return Ok(());
        }
        if let Scalar::Value(value) = number {
            self.shared.witness.numbers.borrow_mut().insert(*value, computed);
            return Ok(());
        }
        for (sizes, computed) in self.shared.witness.sizes.iter().zip(computed) {
            let (Some(recorded), Some(computed)) = (at(number, sizes), computed) else { continue };
            if !is_same(&recorded, &computed) && is_read(name, graph) {
                let record = match number {
                    Scalar::Sym(size) => format!("{size}, which is {}", shown(&recorded)),
                    _ => shown(&recorded),
                };
                let message = format!(
                    "the file records `{name}` as {record}, but the node computes {}{}",
                    shown(&computed),
                    of_sizes(number, sizes)
                );
                return Err(Error::input(message).help(HELP));
            }
        }
        Ok(())
    }

    /// Whether the record has a number from data that no operand has: it is the name of what the node gives.
    fn names_result(&self, node: &Node, number: &Scalar) -> bool {
        let Scalar::Sym(record) = number else { return false };
        let from_data = &self.shared.witness.from_data;
        let new: BTreeSet<String> = record.symbols().into_iter().filter(|name| from_data.contains(name)).collect();
        if new.is_empty() {
            return false;
        }
        let known: BTreeSet<String> = match is_python(&node.target) {
            false => self.size_of_tensor(node).map(|size| size.symbols()).unwrap_or_default(),
            true => node.args.iter().flat_map(|(_, arg)| self.symbols_of(arg)).collect(),
        };
        !new.is_subset(&known)
    }

    fn symbols_of(&self, arg: &Arg) -> BTreeSet<String> {
        let (Arg::Sym(name) | Arg::Tensor(name)) = arg else { return BTreeSet::new() };
        match self.env.get(name) {
            Some(Known::Number(Scalar::Sym(size))) => size.symbols(),
            _ => BTreeSet::new(),
        }
    }

    /// What a node computes at each of the tried sizes.
    fn computed_at(&mut self, node: &Node) -> Numbers {
        let count = self.shared.witness.sizes.len();
        (0..count).map(|index| self.computed_once(node, index)).collect()
    }

    fn computed_once(&mut self, node: &Node, index: usize) -> Option<Scalar> {
        if !is_python(&node.target) {
            return self.size_of_tensor(node)?.eval(self.shared.witness.sizes.get(index)?).map(Scalar::Int);
        }
        let operands: Option<Vec<Scalar>> = node.args.iter().map(|(_, arg)| self.operand_at(arg, index)).collect();
        apply_function(self.builder, &node.target, &operands?)
    }

    /// The size that `aten::sym_size` and `aten::sym_numel` return.
    fn size_of_tensor(&self, node: &Node) -> Option<SymInt> {
        let (_, Arg::Tensor(tensor)) = node.args.first()? else { return None };
        let Some(Known::Tensor(value)) = self.env.get(tensor) else { return None };
        let shape = self.builder.ty(*value).shape()?;
        match (node.target.as_str(), node.args.get(1)) {
            ("aten::sym_size.int", Some((_, Arg::Int(axis)))) => {
                counted_from_start(*axis, shape.len()).and_then(|axis| shape.get(axis)).cloned()
            }
            ("aten::sym_numel", None) => Some(shape.iter().fold(SymInt::from(1), |product, size| product.mul(size))),
            _ => None,
        }
    }

    fn operand_at(&self, arg: &Arg, index: usize) -> Option<Scalar> {
        match arg {
            Arg::Int(number) => Some(Scalar::Int(*number)),
            Arg::Float(number) => Some(Scalar::Float(*number)),
            Arg::Bool(flag) => Some(Scalar::Bool(*flag)),
            Arg::Sym(name) | Arg::Tensor(name) => match self.env.get(name)? {
                Known::Number(Scalar::Value(value)) => {
                    self.shared.witness.numbers.borrow().get(value)?.get(index)?.clone()
                }
                Known::Number(number) => at(number, self.shared.witness.sizes.get(index)?),
                _ => None,
            },
            _ => None,
        }
    }
}

/// A number at the given sizes.
fn at(number: &Scalar, sizes: &Sizes) -> Option<Scalar> {
    match number {
        Scalar::Sym(size) => size.eval(sizes).map(Scalar::Int),
        Scalar::Value(_) => None,
        known => Some(known.clone()),
    }
}

fn is_same(a: &Scalar, b: &Scalar) -> bool {
    if let (Some(a), Some(b)) = (a.as_int(), b.as_int()) {
        return a == b;
    }
    match (a.as_float(), b.as_float()) {
        (Some(a), Some(b)) if a.is_finite() && b.is_finite() => (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()),
        (Some(a), Some(b)) => a == b || (a.is_nan() && b.is_nan()),
        _ => true,
    }
}

fn shown(number: &Scalar) -> String {
    match number {
        Scalar::Bool(flag) => flag.to_string(),
        Scalar::Float(number) => format!("{number:?}"),
        other => other.as_int().map_or_else(|| "unknown".to_owned(), |number| number.to_string()),
    }
}

/// ` at s77 = 3`
fn of_sizes(number: &Scalar, sizes: &Sizes) -> String {
    let Scalar::Sym(size) = number else { return String::new() };
    let values = size.symbols().into_iter().filter_map(|name| Some(format!("{name} = {}", sizes.get(&name)?)));
    match values.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => none,
        values => format!(" at {values}"),
    }
}

/// A function of Python on known numbers; None for those that are not known here, and where Python raises.
fn apply_function(cx: &mut Builder, target: &str, args: &[Scalar]) -> Option<Scalar> {
    let mut op = |op, a: &Scalar, b: &Scalar| cx.scalar_op(op, a, b).ok().filter(Scalar::is_known);
    let (_, name) = target.split_once("::")?;
    match (name, args) {
        ("add", [a, b]) => op(ScalarOp::Add, a, b),
        ("sub", [a, b]) => op(ScalarOp::Sub, a, b),
        ("mul", [a, b]) => op(ScalarOp::Mul, a, b),
        ("truediv", [a, b]) => op(ScalarOp::Div, a, b),
        ("floordiv", [a, b]) => op(ScalarOp::FloorDiv, a, b),
        ("mod", [a, b]) => op(ScalarOp::Mod, a, b),
        ("pow", [a, b]) => op(ScalarOp::Pow, a, b),
        ("neg", [a]) => op(ScalarOp::Sub, &Scalar::Int(0), a),
        ("pos", [a]) => Some(a.clone()),
        ("sym_float", [a]) => a.as_float().map(Scalar::Float),
        ("sym_max", [a, b]) => Some(if is_less(a, b)? { b.clone() } else { a.clone() }),
        ("sym_min", [a, b]) => Some(if is_less(b, a)? { b.clone() } else { a.clone() }),
        ("sym_ite", [condition, yes, no]) => Some(if condition.as_bool()? { yes.clone() } else { no.clone() }),
        ("sym_not", [a]) => a.as_bool().map(|a| Scalar::Bool(!a)),
        ("eq" | "ne" | "lt" | "gt" | "le" | "ge", [a, b]) => compared(name, a, b).map(Scalar::Bool),
        ("trunc" | "sym_int", [a]) => rounded(a, f64::trunc),
        ("ceil", [a]) => rounded(a, f64::ceil),
        ("floor", [a]) => rounded(a, f64::floor),
        ("sqrt" | "_sym_sqrt" | "sym_sqrt", [a]) => a.as_float().filter(|a| *a >= 0.0).map(|a| Scalar::Float(a.sqrt())),
        _ => None,
    }
}

/// A comparison as Python makes it: nothing is ordered with NaN, which is not equal to itself.
fn compared(name: &str, a: &Scalar, b: &Scalar) -> Option<bool> {
    let order = match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) => Some(a.cmp(b)),
        _ => a.as_float()?.partial_cmp(&b.as_float()?),
    };
    match name {
        "eq" => Some(order == Some(Ordering::Equal)),
        "ne" => Some(order != Some(Ordering::Equal)),
        "lt" => Some(order == Some(Ordering::Less)),
        "gt" => Some(order == Some(Ordering::Greater)),
        "le" => Some(matches!(order, Some(Ordering::Less | Ordering::Equal))),
        "ge" => Some(matches!(order, Some(Ordering::Greater | Ordering::Equal))),
        _ => None,
    }
}

fn is_less(a: &Scalar, b: &Scalar) -> Option<bool> {
    match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) => Some(a < b),
        _ => Some(a.as_float()? < b.as_float()?),
    }
}

/// An integer stays what it is.
fn rounded(number: &Scalar, round: fn(f64) -> f64) -> Option<Scalar> {
    match number {
        Scalar::Float(number) => Scalar::Float(round(*number)).as_int().map(Scalar::Int),
        other => other.as_int().map(Scalar::Int),
    }
}
