//! What a runtime says of a model: whether it takes its inputs, outputs and dtypes, and what to know of its results.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::Target;
use crate::graph::{Attr, Graph, Source, Type, Value, ValueInfo};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;

impl Target {
    /// Checks that the runtime knows the dtypes of all values of a model, loads its constants, and takes and gives its inputs and outputs.
    pub fn check_values(&self, graph: &Graph) -> Result<()> {
        self.check_inputs(graph)?;
        self.check_outside(graph)?;
        self.check_constants(graph)?;
        self.check_outputs(graph)?;
        self.check_dtypes(graph)
    }

    /// Checks the dtypes of inputs and outputs.
    fn check_outside(&self, graph: &Graph) -> Result<()> {
        let outside = graph.body.inputs.iter().chain(&graph.body.outputs);
        let Some((name, dtype)) = first_of(graph, outside, self.lacks_io_dtypes) else { return Ok(()) };
        let name_of_target = self.name();
        Err(Error::unsupported(format!("{name_of_target} has no inputs or outputs of {dtype}, the dtype of `{name}`"))
            .help("let the model convert its inputs and outputs, for example `output.float()`"))
    }

    /// Checks that outputs follow from inputs, if the runtime needs it. Nodes with bodies may read any value.
    fn check_outputs(&self, graph: &Graph) -> Result<()> {
        let Some(reason) = self.lacks_constant_outputs else { return Ok(()) };
        let mut reached: FxHashSet<Value> = graph.body.inputs.iter().copied().collect();
        for node in &graph.body.nodes {
            let has_body = node.attrs.iter().any(|(_, attr)| matches!(attr, Attr::Graph(_) | Attr::Graphs(_)));
            if has_body || node.inputs.iter().flatten().any(|value| reached.contains(value)) {
                reached.extend(node.outputs.iter().flatten());
            }
        }
        let Some(fixed) = graph.body.outputs.iter().find(|value| !reached.contains(value)) else { return Ok(()) };
        let (target, name) = (self.name(), &graph.info(*fixed).name);
        Err(Error::unsupported(format!("{target} gives no outputs that are constants, as `{name}` is: {reason}"))
            .help("leave it out of the outputs: it is the same in every inference"))
    }

    /// Checks the dtypes of initializers.
    fn check_constants(&self, graph: &Graph) -> Result<()> {
        let Some((name, dtype)) = first_of(graph, &graph.initializers, self.lacks_constants) else { return Ok(()) };
        Err(Error::unsupported(format!("{} loads no constants of {dtype}, the dtype of `{name}`", self.name()))
            .help("convert the weight or the constant before the model is exported, for example `weight.float()`"))
    }

    /// Checks the dtypes of all values.
    fn check_dtypes(&self, graph: &Graph) -> Result<()> {
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
            self.widened_note(graph),
            self.scalar_note(graph),
            self.empty_note(graph),
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

    /// Whether integers that come from outside or from other numbers lose bits.
    fn integer_note(&self, graph: &Graph) -> Option<String> {
        let is_long = |value: &Value| graph.info(*value).ty.dtype() == Dtype::Int64;
        let mut is_read = graph.body.inputs.iter().any(is_long);
        graph.body.visit(&mut |node| {
            let is_number = node.input(0).is_some_and(|value| graph.info(value).ty.dtype() != Dtype::Bool);
            is_read |= node.op == "Cast" && is_number && node.outputs.iter().flatten().any(is_long);
            // An output that is a constant.
            is_read |= node.op == "Identity"
                && node.input(0).is_some_and(|value| graph.initializers.contains(&value) && is_long(&value));
        });
        let note = || format!("{}: int64 is computed in 32 bits: numbers from 2147483648 on are wrong", self.name());
        (self.narrows_int64 && is_read).then(note)
    }

    /// Whether outputs have more bits than in PyTorch.
    fn widened_note(&self, graph: &Graph) -> Option<String> {
        let is_short = |value: &Value| graph.info(*value).ty.dtype() == Dtype::Int32;
        let note = || format!("{}: int32 is kept as int64, also in outputs", self.name());
        (self.widens_int32 && graph.body.outputs.iter().any(is_short)).then(note)
    }

    /// Whether outputs have a dimension more than in PyTorch.
    fn scalar_note(&self, graph: &Graph) -> Option<String> {
        let has_scalar = graph.body.outputs.iter().any(|value| graph.info(*value).ty.rank() == Some(0));
        let note = || format!("{}: outputs without dimensions can have the shape [1]", self.name());
        (self.lacks_scalar_outputs && has_scalar).then(note)
    }

    /// Whether outputs have no elements, and so another shape than in PyTorch.
    fn empty_note(&self, graph: &Graph) -> Option<String> {
        let is_empty = |value: &Value| {
            graph.ty(*value).shape().is_some_and(|sizes| sizes.iter().any(|size| size.known() == Some(0)))
        };
        let note = || format!("{}: outputs without elements can have another shape", self.name());
        (self.lacks_empty_outputs && graph.body.outputs.iter().any(is_empty)).then(note)
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

    /// Checks that the inputs have dimensions and the dtypes that the runtime keeps, if it needs them.
    fn check_inputs(&self, graph: &Graph) -> Result<()> {
        let mut inputs = graph.body.inputs.iter().map(|value| graph.info(*value));
        if let Some(info) = inputs.find(|info| self.widens_int32 && info.ty.dtype() == Dtype::Int32) {
            return Err(Error::unsupported(format!(
                "{} has no inputs of int32, the dtype of `{}`: it keeps int32 as int64",
                self.name(),
                info.name
            ))
            .help("let the model take int64, for example `x.int()` of an input of int64"));
        }
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
}

/// The name and dtype of the first of some values that has one of these dtypes.
fn first_of<'a>(
    graph: &'a Graph,
    values: impl IntoIterator<Item = &'a Value>,
    dtypes: &[Dtype],
) -> Option<(&'a str, Dtype)> {
    let mut infos = values.into_iter().map(|value| graph.info(*value));
    infos.find(|info| dtypes.contains(&info.ty.dtype())).map(|info| (info.name.as_str(), info.ty.dtype()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::targets::find;

    #[test]
    fn sizes_that_only_the_running_model_determines_may_have_no_name() {
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
}
