//! Makes calls of a rule: from its header, and by changing its examples and the calls that PyTorch took.

use std::collections::BTreeMap;

use aten2onnx_opmap::source::Span;
use aten2onnx_opmap::syntax::ast::{ExampleSize, ExampleValue};
use aten2onnx_opmap::syntax::example_line;
use aten2onnx_opmap::tree::{Example, Expr, Kind, Pattern, Program, Target, is_setting};
use aten2onnx_opmap::visit;
use fastrand::Rng;
use rustc_hash::FxHashSet;

use super::domain;
use super::edit::{size_of, values_of};
use super::mutate::Mutation;
use super::rule::Rule;

/// The largest number of elements of all tensors of a call.
const MOST_ELEMENTS: i64 = 50_000;
/// How many calls in a row may be known already before the domain counts as exhausted.
const MOST_REPEATED: usize = 2_000;
/// How many calls are kept to be changed.
const MOST_KEPT: usize = 400;

/// The constants in the rule and what it calls, which are likely to decide between its branches.
#[derive(Debug, Default)]
pub(super) struct Pool {
    pub ints: Vec<i64>,
    pub texts: Vec<String>,
    /// The values that examples give to a parameter.
    pub given: BTreeMap<String, Vec<ExampleValue>>,
}

/// A source of calls of one rule.
#[derive(Debug)]
pub(super) struct Calls<'a> {
    rule: Rule<'a>,
    pool: Pool,
    /// Whether the rule is used for complex numbers.
    takes_complex: bool,
    kept: Vec<Example>,
    /// Examples that were not returned yet.
    fresh: Vec<Example>,
    seen: FxHashSet<String>,
    rng: Rng,
}

impl<'a> Calls<'a> {
    /// Of the rule for an overload, or of the lowerings of an operator. The same seed gives the same calls.
    pub fn new(program: &'a Program, name: &str, seed: u64) -> Option<Calls<'a>> {
        let rule = Rule::find(program, name)?;
        let target = &rule.target;
        let own: Vec<Example> = program.examples.iter().filter(|example| example.target == *target).cloned().collect();
        let hash = name.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Some(Calls {
            pool: pool(program, rule.bodies.clone(), &own),
            takes_complex: takes_complex(program, name, &own),
            kept: own.clone(),
            fresh: own,
            seen: FxHashSet::default(),
            rng: Rng::with_seed(hash),
            rule,
        })
    }

    /// A call that was not made before; None if hardly any is left.
    pub fn next(&mut self) -> Option<Example> {
        for _ in 0..MOST_REPEATED {
            let Some(call) = self.made() else { continue };
            if self.seen.insert(call.text.clone()) {
                return Some(call);
            }
        }
        None
    }

    /// Keeps a call to make others of it.
    pub fn keep(&mut self, call: Example) {
        if self.kept.len() < MOST_KEPT {
            self.kept.push(call);
            return;
        }
        let at = self.rng.usize(..self.kept.len());
        if let Some(place) = self.kept.get_mut(at) {
            *place = call;
        }
    }

    fn made(&mut self) -> Option<Example> {
        if let Some(example) = self.fresh.pop() {
            return self.call(example.args, example.with);
        }
        let is_map = matches!(self.rule.target, Target::Map(_));
        if is_map && (self.kept.is_empty() || !self.rule.is_internal() && self.rng.u8(..8) == 0) {
            let args = self.any_arguments();
            return self.call(args, Vec::new());
        }
        let from = self.rng.usize(..self.kept.len().max(1));
        let mut changed = self.kept.get(from)?.clone();
        let times = *self.rng.choice(&[1, 1, 1, 2, 2, 3, 5])?;
        for _ in 0..times {
            self.mutation().apply(&mut changed);
        }
        self.call(changed.args, changed.with)
    }

    /// A call with these arguments, in the order of the header; None if it is too large.
    pub fn call(&self, args: Vec<(String, ExampleValue)>, with: Vec<(String, i64)>) -> Option<Example> {
        let call = call_of(&self.rule, args, with)?;
        (self.takes_complex || !call.has_complex()).then_some(call)
    }

    fn mutation(&mut self) -> Mutation<'_> {
        Mutation { rule: &self.rule, pool: &self.pool, rng: &mut self.rng }
    }

    fn any_arguments(&mut self) -> Vec<(String, ExampleValue)> {
        let mut args = Vec::new();
        for param in self.rule.params {
            if param.default.is_some() && self.rng.bool() {
                continue;
            }
            let value = self.mutation().any(param);
            args.push((param.name.clone(), value));
        }
        args
    }
}

/// Complex numbers have rules of their own (`complex::exp`), or the general one if an example covers them.
fn takes_complex(program: &Program, name: &str, examples: &[Example]) -> bool {
    let own = name.strip_prefix("aten::").map(|op| format!("complex::{op}"));
    own.is_none_or(|own| program.map(&own).is_none()) && examples.iter().any(Example::has_complex)
        || name.starts_with("complex::")
}

/// A call of a rule with these arguments, in the order of the header; None if it is too large.
pub(super) fn call_of(
    rule: &Rule<'_>,
    mut args: Vec<(String, ExampleValue)>,
    mut with: Vec<(String, i64)>,
) -> Option<Example> {
    let (header, name) = (rule.header(), rule.name());
    args.sort_by_key(|(name, _)| header.iter().position(|param| param == name));
    let mut used = FxHashSet::default();
    args.iter().for_each(|(_, value)| symbols(value, &mut used));
    with.retain(|(name, _)| used.contains(name.as_str()) || is_setting(name));
    let elements: i64 = args.iter().map(|(_, value)| elements(value, &with)).fold(0, i64::saturating_add);
    if elements > MOST_ELEMENTS || (is_of_python(name) && !args.iter().all(|(_, value)| is_python_number(value))) {
        return None;
    }
    let is_choice = |(name, value): &(String, ExampleValue)| match value {
        ExampleValue::Int(n) => domain::is_choice(name, *n),
        _ => true,
    };
    if !args.iter().all(is_choice) || !are_names_general(&args, &with) || !rule.allows(&args, &with) {
        return None;
    }
    let text = example_line(name, header.get(..rule.places()).unwrap_or(&header), &args, &with);
    drop(used);
    let call = Example { target: rule.target.clone(), args, with, text, span: Span::NOWHERE };
    // The front end takes a rule for complex numbers where an argument is complex.
    (!name.starts_with("complex::") || call.has_complex()).then_some(call)
}

/// Whether each symbolic size has a value that stands for any: torch.export fixes a size of 0 or 1, and one that a comparison with
/// another size decides.
fn are_names_general(args: &[(String, ExampleValue)], with: &[(String, i64)]) -> bool {
    let named = || with.iter().filter(|(name, _)| !is_setting(name));
    let mut other: Vec<i64> = named().map(|(_, n)| *n).collect();
    values_of(args).into_iter().for_each(|value| other.extend(numbers(value)));
    named().all(|(_, n)| *n > 1 && other.iter().filter(|size| *size == n).count() == 1)
}

/// The known sizes of a value that is no list, or the integer.
fn numbers(value: &ExampleValue) -> Vec<i64> {
    let known = |size: &ExampleSize| if let ExampleSize::Known(n) = size { Some(*n) } else { None };
    match value {
        ExampleValue::Tensor { sizes, .. } => sizes.iter().filter_map(known).collect(),
        ExampleValue::Literal { sizes, .. } => sizes.clone(),
        ExampleValue::Int(n) => vec![*n],
        _ => Vec::new(),
    }
}

/// Whether it is a function of Python's numbers, as torch.export records them for sizes.
fn is_of_python(name: &str) -> bool {
    ["_operator::", "math::", "torch::"].iter().any(|namespace| name.starts_with(namespace))
}

/// A number that is computed in the graph has the dtype of a number of Python.
fn is_python_number(value: &ExampleValue) -> bool {
    match value {
        ExampleValue::Tensor { dtype, sizes, .. } => {
            sizes.is_empty() && matches!(dtype.as_str(), "i64" | "f64" | "bool")
        }
        ExampleValue::Literal { .. } => false,
        _ => true,
    }
}

fn symbols<'v>(value: &'v ExampleValue, used: &mut FxHashSet<&'v str>) {
    match value {
        ExampleValue::Tensor { sizes, .. } => used.extend(sizes.iter().filter_map(|size| match size {
            ExampleSize::Symbolic(name) => Some(name.as_str()),
            ExampleSize::Known(_) => None,
        })),
        ExampleValue::Name(name) => drop(used.insert(name)),
        ExampleValue::List(items) => items.iter().for_each(|item| symbols(item, used)),
        _ => {}
    }
}

fn elements(value: &ExampleValue, with: &[(String, i64)]) -> i64 {
    match value {
        ExampleValue::Tensor { sizes, .. } => sizes.iter().map(|s| size_of(s, with)).fold(1, i64::saturating_mul),
        ExampleValue::List(items) => items.iter().map(|item| elements(item, with)).fold(0, i64::saturating_add),
        _ => 0,
    }
}

/// The constants of a rule and the helpers that it calls, and the arguments of its examples.
fn pool<'p>(program: &'p Program, mut open: Vec<&'p Expr>, examples: &[Example]) -> Pool {
    let mut pool = Pool::default();
    let mut called = FxHashSet::default();
    while let Some(body) = open.pop() {
        visit::walk(body, &mut |expr| match &expr.kind {
            Kind::Int(n) => pool.ints.push(*n),
            Kind::Str(text) => pool.texts.push(text.clone()),
            Kind::Match { arms, .. } => {
                arms.iter().flat_map(|arm| &arm.patterns).for_each(|pattern| literals(pattern, &mut pool));
            }
            Kind::Fn(name, _) if called.insert(name.as_str()) => open.extend(program.helper(name).map(|f| &*f.body)),
            Kind::Rule(name, _) if called.insert(name.as_str()) => {
                open.extend(program.map(name).map(|map| &*map.function.body));
            }
            _ => {}
        });
    }
    // Whether a bound is one off shows beside it.
    let beside: Vec<i64> = pool.ints.iter().flat_map(|n| [n.saturating_sub(1), n.saturating_add(1)]).collect();
    pool.ints.extend(beside);
    pool.ints.sort_unstable();
    pool.ints.dedup();
    pool.texts.sort_unstable();
    pool.texts.dedup();
    for (name, value) in examples.iter().flat_map(|example| &example.args) {
        let given = pool.given.entry(name.clone()).or_default();
        if !given.contains(value) {
            given.push(value.clone());
        }
    }
    pool
}

/// The constants in a pattern.
fn literals(pattern: &Pattern, pool: &mut Pool) {
    match pattern {
        Pattern::Literal(literal) => visit::walk(literal, &mut |expr| match &expr.kind {
            Kind::Int(n) => pool.ints.push(*n),
            Kind::Str(text) => pool.texts.push(text.clone()),
            _ => {}
        }),
        Pattern::Tuple(parts) => parts.iter().for_each(|part| literals(part, pool)),
        _ => {}
    }
}

/// A tensor with random sizes.
pub(super) fn any_tensor(rng: &mut Rng) -> ExampleValue {
    let rank = domain::rank(rng);
    let sizes = (0..rank).map(|_| ExampleSize::Known(domain::size(rng).min(8))).collect();
    let range = (rng.u8(..4) == 0).then(|| domain::range(rng));
    ExampleValue::Tensor { dtype: domain::dtype(rng).to_owned(), sizes, range }
}
