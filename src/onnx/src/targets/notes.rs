//! What to know of a model in a runtime, and the names of its sizes.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::Target;
use crate::graph::{Graph, Source, Type, Value, ValueInfo};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::sym::SymInt;

impl Target {
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
        let is_stored = |value: &Value| matches!(graph.info(*value).source, Source::Constant(_) | Source::Weight(_));
        let mut is_read = graph.body.inputs.iter().any(is_long);
        graph.body.visit(&mut |node| {
            let is_number = node.input(0).is_some_and(|value| graph.info(value).ty.dtype() != Dtype::Bool);
            is_read |= node.op == "Cast" && is_number && node.outputs.iter().flatten().any(is_long);
            // An output that is a constant.
            is_read |= node.op == "Identity" && node.input(0).is_some_and(|value| is_stored(&value) && is_long(&value));
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
