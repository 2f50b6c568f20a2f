//! Runtimes by name: the newest opset and IR version that each supports, and missing operators. The facts are in
//! `mappings/targets/`.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use crate::facts::DEFAULT_OPSET;
use crate::graph::{Graph, Source, Type, Value, ValueInfo};
use crate::model::Ir;

include!(concat!(env!("OUT_DIR"), "/targets.rs"));
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;

/// A release of a runtime or compiler.
#[derive(Debug)]
pub struct Target {
    /// `tensorrt`
    pub runtime: &'static str,
    /// `8.6`
    pub release: &'static str,
    /// Its full name.
    pub what: &'static str,
    /// Whether it lacks the kernels that ONNX Runtime's CPU provider lacks.
    pub kernels: bool,
    /// What it does with symbolic sizes, if it needs numbers in general.
    pub symbolic: Option<&'static str>,
    /// Why sizes that only the running model determines have no names in the model, if they have none.
    pub own_sizes: Option<&'static str>,
    /// The oldest supported opset.
    pub oldest_opset: u32,
    /// The newest supported opset.
    pub newest_opset: u32,
    /// The newest supported IR version, if known.
    pub newest_ir: Option<u32>,
    /// Dtypes that no operator takes.
    pub lacks_dtypes: &'static [Dtype],
    /// Dtypes that inputs and outputs of a model cannot have.
    pub lacks_io_dtypes: &'static [Dtype],
    /// The most megabytes of weights that it loads, if that is fewer than a file can have.
    pub most_weights: Option<u64>,
    /// Why it runs no model with local functions, if it runs none.
    pub lacks_functions: Option<&'static str>,
    /// Whether float64 is computed in float32 where it has no kernel for it.
    pub narrows_float64: bool,
    /// Whether int64 is computed in 32 bits.
    pub narrows_int64: bool,
    /// Whether outputs without dimensions have the shape [1].
    pub lacks_scalar_outputs: bool,
    /// Why inputs must have dimensions, if they must.
    pub lacks_scalar_inputs: Option<&'static str>,
    /// Whether inputs that nothing reads are left out, so that those after them have other positions.
    pub drops_inputs: bool,
    /// What to know of every model in it.
    pub note: Option<&'static str>,
    /// Whether it needs attributes that have their default.
    pub explicit_attributes: bool,
    /// How it computes with quantized weights and activations.
    pub quantized: Quantized,
    /// Operators that are missing entirely.
    pub lacks: &'static [&'static str],
    /// Dtypes of operators that it lacks or gets wrong.
    pub avoids: &'static [Missing],
    /// Forms of operators that it lacks or gets wrong.
    pub forms: &'static [Avoid],
    /// Forms of operators that stay, of which a note tells.
    pub warns: &'static [Avoid],
    /// Operators that do not keep the NaN of their inputs.
    pub loses_nan: &'static [&'static str],
    /// The source of these facts.
    pub source: &'static str,
}

/// How a runtime computes with quantized weights and activations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quantized {
    /// The bits of the integers that its own operator `MatMulNBits` multiplies with; none if it lacks the operator.
    pub matmul: &'static [u32],
    /// Those among them for which the operator is not slower than a product of floats, without rounding the other operand.
    pub fast_matmul: &'static [u32],
    /// The bits of the integers that its own operator `GatherBlockQuantized` looks up; none if it lacks the operator.
    pub gather: &'static [u32],
    /// The bits of the integers that its own operator `QMoE` multiplies with; none if it lacks the operator.
    pub experts: &'static [u32],
    /// Products with activations that are quantized while the model runs are faster as `MatMulInteger`.
    pub dynamic: bool,
    /// Operators between QuantizeLinear and DequantizeLinear compute with integers only if the activations are unsigned.
    pub unsigned: bool,
}

/// Dtypes of the first type variable of an operator that a runtime lacks or gets wrong.
#[derive(Debug)]
pub struct Missing {
    /// The operator.
    pub op: &'static str,
    /// The version of its schema.
    pub since: u32,
    /// The dtypes. None: the operator has no inputs.
    pub dtypes: &'static [Dtype],
    /// What the runtime does or says.
    pub reason: &'static str,
}

/// A form of an operator that a runtime lacks or gets wrong.
#[derive(Debug)]
pub struct Avoid {
    /// The operator.
    pub op: &'static str,
    /// The versions of its schema; all if it is empty.
    pub since: &'static [u32],
    /// The conditions as written.
    pub when: &'static [&'static str],
    /// The conditions, which must all hold. Without any, it is every form.
    pub conditions: &'static [Condition],
    /// What the runtime does or says.
    pub reason: &'static str,
    /// The version of the runtime that showed it.
    pub seen_in: &'static str,
}

/// A condition on a node.
#[derive(Debug)]
pub enum Condition {
    /// What holds for an input or attribute.
    Is(State, Name),
    /// The number of dimensions of an input.
    Rank(Name, Comparison, i64),
    /// The number of elements of an input of one dimension.
    Length(Name, Comparison, i64),
    /// The last size of an input.
    Last(Name, Comparison, i64),
    /// The first element of an input that is constant.
    First(Name, Comparison, i64),
    /// The operator that an input is an output of.
    MadeBy(Name, Comparison, &'static str),
    /// The dtype of an input.
    Dtype(Name, Comparison, Dtype),
    /// The number of given inputs.
    Inputs(Comparison, i64),
    /// The number of requested outputs.
    Outputs(Comparison, i64),
    /// The number or numbers of an attribute or of a constant input.
    Number(Name, Comparison, f64),
    /// The text of an attribute.
    Text(Name, Comparison, &'static str),
}

/// What may hold for an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is present.
    Given,
    /// It is left out.
    Absent,
    /// It is present and not constant.
    Computed,
    /// It is a constant or a weight.
    Constant,
    /// It is constant, or follows from constants alone.
    Folded,
    /// One of its sizes is not a number.
    Symbolic,
    /// One of its sizes is 0.
    Empty,
    /// It is the output of ConstantOfShape.
    Filled,
    /// It is not constant, and one of its elements is -1.
    Open,
    /// It is not constant, and follows from sizes and constants by integers alone.
    Sized,
    /// It is neither constant nor follows from sizes: elements of tensors decide it.
    Data,
    /// Another input has a size where it has 1 or no dimension.
    Broadcast,
    /// It is constant, and one of its elements is not a whole number.
    Fractional,
}

/// An input or attribute by its name in the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// An input.
    Input(&'static str),
    /// An attribute.
    Attribute(&'static str),
}

/// How two values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `>`
    Greater,
}

impl Comparison {
    /// Whether a value compares with another one like this.
    pub fn holds<T: PartialOrd>(self, value: &T, other: &T) -> bool {
        match self {
            Comparison::Equal => value == other,
            Comparison::NotEqual => value != other,
            Comparison::Less => value < other,
            Comparison::Greater => value > other,
        }
    }

    /// The same of a list: `==` holds if it holds for all, and the others if they hold for one.
    pub fn holds_for<T: PartialOrd>(self, values: &[T], other: &T) -> bool {
        match self {
            Comparison::Equal => !values.is_empty() && values.iter().all(|value| value == other),
            _ => values.iter().any(|value| self.holds(value, other)),
        }
    }
}

/// Finds a target by name: `tensorrt-8.6`, or `tensorrt` for the newest known release.
pub fn find(name: &str) -> Result<&'static Target> {
    let found = TARGETS.iter().find(|target| target.runtime == name || target.name() == name);
    found.ok_or_else(|| {
        let error = Error::unsupported(format!("unknown target `{name}`"));
        match nearest(name) {
            Some(near) => error.help(format!("did you mean `{near}`? `aten2onnx targets` lists all")),
            None => error.help("`aten2onnx targets` lists all"),
        }
    })
}

impl Target {
    /// `tensorrt-8.6`
    pub fn name(&self) -> String {
        format!("{}-{}", self.runtime, self.release)
    }

    /// Whether the facts come from models that were run; otherwise they come from documents.
    pub fn is_measured(&self) -> bool {
        self.source.starts_with("measured: ")
    }

    /// The opset to write: the requested one, if the runtime supports it; otherwise the default one, or the nearest
    /// supported one.
    pub fn opset(&self, asked: Option<u32>) -> Result<u32> {
        let (oldest, newest) = (self.oldest_opset, self.newest_opset);
        match asked {
            None => Ok(DEFAULT_OPSET.clamp(oldest.min(newest), newest)),
            Some(opset) if (oldest..=newest).contains(&opset) => Ok(opset),
            Some(opset) => Err(Error::unsupported(format!("{} does not support opset {opset}", self.name()))
                .help(format!("it supports {oldest} to {newest}; omit `--opset` to use one of these"))),
        }
    }

    /// What to do about the symbolic sizes of a model, if the runtime needs numbers in general.
    pub fn advice(&self, symbols: impl ExactSizeIterator) -> Option<String> {
        let reason = self.symbolic.filter(|_| symbols.len() > 0)?;
        Some(format!("{reason}; `--static` or `--dim` makes symbolic sizes numbers"))
    }

    /// Checks that the runtime knows the dtypes of all values of a model, and takes and gives its inputs and outputs.
    pub fn check_values(&self, graph: &Graph) -> Result<()> {
        self.check_inputs(graph)?;
        self.check_dtypes(graph)
    }

    /// Checks that the runtime knows the dtypes of all values, and takes and gives those of inputs and outputs.
    fn check_dtypes(&self, graph: &Graph) -> Result<()> {
        let mut outside = graph.body.inputs.iter().chain(&graph.body.outputs).map(|value| graph.info(*value));
        if let Some(info) = outside.find(|info| self.lacks_io_dtypes.contains(&info.ty.dtype())) {
            return Err(Error::unsupported(format!(
                "{} has no inputs or outputs of {}, the dtype of `{}`",
                self.name(),
                info.ty.dtype(),
                info.name
            ))
            .help("let the model convert its inputs and outputs, for example `output.float()`"));
        }
        let mut used = graph.body.inputs.iter().chain(&graph.initializers).copied().collect::<Vec<_>>();
        graph.body.visit(&mut |node| used.extend(node.outputs.iter().flatten()));
        let mut unknown =
            used.into_iter().map(|value| graph.info(value)).filter(|info| self.lacks_dtypes.contains(&info.ty.dtype()));
        let Some(first) = unknown.next() else { return Ok(()) };
        let dtype = first.ty.dtype();
        Err(Error::unsupported(format!(
            "{} lacks {dtype}, the dtype of `{}` and {} other values",
            self.name(),
            first.name,
            unknown.count()
        ))
        .help("convert the model to float32 or float16 before it is exported: `model.float()`"))
    }

    /// New names of the symbols that have none in a model for this runtime.
    pub fn unnamed(&self, graph: &Graph) -> Vec<(String, SymInt)> {
        let symbols = |sizes: &mut dyn Iterator<Item = &Type>| -> BTreeSet<String> {
            sizes.filter_map(Type::shape).flatten().flat_map(SymInt::symbols).collect()
        };
        if self.own_sizes.is_none() {
            return Vec::new();
        }
        let given = symbols(&mut graph.body.inputs.iter().map(|input| graph.ty(*input)));
        let all = symbols(&mut graph.values.iter().map(|info| &info.ty));
        all.difference(&given).map(|symbol| (symbol.clone(), SymInt::symbol(format!("?{symbol}")))).collect()
    }

    /// What to know of the nodes that do not keep NaN in this runtime.
    fn nan_note(&self, graph: &Graph) -> Option<String> {
        let mut found: BTreeMap<&str, usize> = BTreeMap::new();
        graph.body.visit(&mut |node| {
            if let Some(op) = self.loses_nan.iter().find(|op| **op == node.op) {
                *found.entry(op).or_default() += 1;
            }
        });
        let ops: Vec<String> = found.iter().map(|(op, count)| format!("{op} ({count})")).collect();
        (!ops.is_empty())
            .then(|| format!("{}: NaN does not pass through {}, but becomes a number", self.name(), ops.join(", ")))
    }

    /// What to know of the size of a model in this runtime.
    fn size_note(&self, graph: &Graph) -> Option<String> {
        let weights = graph.initializers.iter().filter_map(|value| match &graph.info(*value).source {
            Source::Weight(weight) => weight.byte_len(),
            _ => None,
        });
        let megabytes = weights.sum::<u64>() / 1_000_000;
        let most = self.most_weights.filter(|most| megabytes > *most)?;
        Some(format!(
            "{}: the model has {megabytes} MB of weights, but models with more than {most} MB do not load",
            self.name()
        ))
    }

    /// What to know of a model in this runtime.
    pub fn notes(&self, graph: &Graph) -> Vec<String> {
        let warned = graph.warned.iter().map(|(what, count)| format!("{}: {what} ({count})", self.name()));
        let notes = [
            self.nan_note(graph),
            self.size_note(graph),
            self.precision_note(graph),
            self.integer_note(graph),
            self.scalar_note(graph),
            self.input_note(graph),
        ];
        let general = self.note.map(|note| format!("{}: {note}", self.name()));
        general.into_iter().chain(notes.into_iter().flatten()).chain(warned).collect()
    }

    /// Whether what the model computes in float64 is computed in float32.
    fn precision_note(&self, graph: &Graph) -> Option<String> {
        let is_made = |info: &ValueInfo| matches!(info.source, Source::Node) && info.ty.dtype() == Dtype::Float64;
        let note = || format!("{}: float64 is computed in float32 where the runtime has no kernel for it", self.name());
        (self.narrows_float64 && graph.values.iter().any(is_made)).then(note)
    }

    /// Whether integers that come from outside or from floats lose bits.
    fn integer_note(&self, graph: &Graph) -> Option<String> {
        let is_long = |value: &Value| graph.info(*value).ty.dtype() == Dtype::Int64;
        let mut is_read = graph.body.inputs.iter().any(is_long);
        graph.body.visit(&mut |node| {
            let is_float = node.input(0).is_some_and(|value| graph.info(value).ty.dtype().is_float());
            is_read |= node.op == "Cast" && is_float && node.outputs.iter().flatten().any(is_long);
        });
        let note = || format!("{}: int64 is computed in 32 bits: numbers from 2147483648 on are wrong", self.name());
        (self.narrows_int64 && is_read).then(note)
    }

    /// Whether outputs have a dimension more than in PyTorch.
    fn scalar_note(&self, graph: &Graph) -> Option<String> {
        let has_scalar = graph.body.outputs.iter().any(|value| graph.info(*value).ty.rank() == Some(0));
        let note = || format!("{}: outputs without dimensions can have the shape [1]", self.name());
        (self.lacks_scalar_outputs && has_scalar).then(note)
    }

    /// Whether inputs that come after one that nothing reads have other positions.
    fn input_note(&self, graph: &Graph) -> Option<String> {
        if !self.drops_inputs {
            return None;
        }
        let mut read: FxHashSet<Value> = graph.body.outputs.iter().copied().collect();
        graph.body.visit(&mut |node| read.extend(node.inputs.iter().flatten()));
        let mut unread =
            graph.body.inputs.iter().filter(|value| !read.contains(value)).map(|value| &graph.info(*value).name);
        let first = unread.next()?;
        let more = match unread.count() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let name = self.name();
        Some(format!(
            "{name}: the runtime leaves out inputs that nothing reads, and those after them move up: `{first}`{more}"
        ))
    }

    /// Checks that the inputs have dimensions, if the runtime needs them.
    fn check_inputs(&self, graph: &Graph) -> Result<()> {
        let Some(reason) = self.lacks_scalar_inputs else { return Ok(()) };
        let scalar = graph.body.inputs.iter().map(|value| graph.info(*value)).find(|info| info.ty.rank() == Some(0));
        match scalar {
            Some(info) => Err(Error::unsupported(format!(
                "{} has no inputs without dimensions, as `{}` is: {reason}",
                self.name(),
                info.name
            ))
            .help(
                "let the model take a tensor of the shape [1], and use `x.reshape([])`; or make the number a constant",
            )),
            None => Ok(()),
        }
    }

    /// Checks that the runtime supports the requested IR version.
    pub fn check_ir(&self, asked: Ir, opset: u32) -> Result<()> {
        match (asked.version(opset), self.newest_ir) {
            (Some(ir), Some(newest)) if ir > newest => {
                Err(Error::unsupported(format!("{} does not support IR version {ir}", self.name())).help(format!(
                    "the newest that it supports is {newest}; omit `--ir` to use the lowest that the model requires"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the runtime runs models with local functions.
    pub fn check_functions(&self) -> Result<()> {
        match self.lacks_functions {
            Some(reason) => {
                Err(Error::unsupported(format!("{} runs no functions: {reason}", self.name()))
                    .help("omit `--functions`"))
            }
            None => Ok(()),
        }
    }

    /// Checks that the runtime supports the IR version that the model requires.
    pub fn check_needed_ir(&self, needed: i64) -> Result<()> {
        match self.newest_ir {
            Some(newest) if needed > i64::from(newest) => Err(Error::unsupported(format!(
                "the model needs IR version {needed}, but {} supports at most {newest}",
                self.name()
            ))),
            _ => Ok(()),
        }
    }
}

/// The known name with the smallest edit distance.
fn nearest(name: &str) -> Option<String> {
    let names = TARGETS.iter().flat_map(|target| [target.runtime.to_owned(), target.name()]);
    let best = names.map(|known| (distance(name, &known), known)).min()?;
    (best.0 <= name.chars().count().max(4) / 2).then_some(best.1)
}

/// The edit distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_name_alone_is_the_newest_release() {
        assert_eq!(find("tensorrt").unwrap().name(), "tensorrt-11");
        assert_eq!(find("tensorrt-8.6").unwrap().newest_opset, 17);
        assert_eq!(find("onnxruntime").unwrap().name(), "onnxruntime-1.31");
    }

    #[test]
    fn unknown_names_get_the_nearest() {
        assert!(find("tensort-8.4").unwrap_err().help.unwrap().contains("`tensorrt-8.4`"));
        assert!(find("onnxruntme").unwrap_err().help.unwrap().contains("`onnxruntime`"));
        assert!(!find("a toaster with no name at all").unwrap_err().help.unwrap().contains("did you mean"));
    }

    #[test]
    fn sizes_that_only_the_running_model_determines_may_have_no_name() {
        use crate::graph::{Source, Value, ValueInfo};
        let value = |name: &str, symbol: &str, source| {
            let ty = Type::tensor(Dtype::Float32, vec![SymInt::symbol(symbol)]);
            ValueInfo { name: name.into(), ty, source }
        };
        let values =
            vec![value("x", "s77", Source::Input), value("y", "s77", Source::Node), value("z", "u4", Source::Node)];
        let mut graph = Graph { values, ..Graph::default() };
        graph.body.inputs.push(Value::new(0));
        let unnamed = |target: &str| find(target).unwrap().unnamed(&graph);
        assert_eq!(unnamed("tract"), [("u4".to_owned(), SymInt::symbol("?u4"))]);
        assert!(unnamed("onnxruntime").is_empty());
    }

    #[test]
    fn models_that_are_too_large_are_told() {
        use crate::graph::{Value, ValueInfo};
        use aten2onnx_core::weights::{Storage, Weight};
        let notes = |side: i64| {
            let sizes = vec![side, side];
            let ty = Type::sized(Dtype::Float32, &sizes);
            let (dtype, strides, storage) = (Dtype::Float32, vec![side, 1], Storage::Absent(0));
            let weight = Weight { name: "w".to_owned(), dtype, sizes, strides, offset: 0, storage };
            let source = Source::Weight(std::sync::Arc::new(weight));
            let values = vec![ValueInfo { name: "w".into(), ty, source }];
            let graph = Graph { values, initializers: vec![Value::new(0)], ..Graph::default() };
            find("onnxruntime-web").unwrap().notes(&graph)
        };
        assert!(notes(1000).is_empty());
        let told = notes(30_000).concat();
        assert!(told.contains("has 3600 MB of weights, but models with more than "), "{told}");
    }

    #[test]
    fn the_default_opset_is_kept_if_supported() {
        assert_eq!(find("onnxruntime").unwrap().opset(None).unwrap(), DEFAULT_OPSET);
        assert_eq!(find("tensorrt-8.4").unwrap().opset(None).unwrap(), 13);
        assert_eq!(find("sima").unwrap().opset(Some(17)).unwrap(), 17);
        let error = find("sima").unwrap().opset(Some(13)).unwrap_err();
        assert!(error.message.contains("does not support opset 13"), "{error}");
        assert!(find("horizon").unwrap().check_ir(Ir::Version(10), 19).is_err());
        assert!(find("horizon").unwrap().check_needed_ir(10).is_err());
    }
}
