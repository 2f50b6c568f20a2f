//! Nodes that compute tensors: their rules give the sizes, which are held against those that were observed.

use aten2onnx_core::axes::counted_from_start;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_prepare::functional_sibling;
use aten2onnx_program::{Arg, Node, NodeOutput, TensorMeta};
use aten2onnx_rules::effects::{self, Trait, WriteForm};
use aten2onnx_translate::scratch::{Handle, Inferred};

use super::{Pass, strides};

impl Pass<'_> {
    pub(super) fn node(&mut self, node: &mut Node) -> Result<()> {
        if let Some(operator) = node.target.strip_prefix("higher_order::") {
            let operator = operator.to_owned();
            return self.higher_order(&operator, node);
        }
        match effects::writes(&node.target).map(|writes| &writes.form) {
            Some(WriteForm::InPlace) => self.in_place(node),
            Some(WriteForm::Out) => self.written_out(node),
            _ => self.results(node),
        }
    }

    fn results(&mut self, node: &Node) -> Result<()> {
        if node.outputs.iter().all(|output| matches!(output, NodeOutput::None)) {
            return Ok(());
        }
        if let (true, [NodeOutput::Sym(name)]) = (effects::is(&node.target, Trait::GivesSizes), node.outputs.as_slice())
        {
            return self.size_of_tensor(node, name);
        }
        let inferred = self.scratch.call(node)?;
        for (output, result) in node.outputs.iter().zip(inferred) {
            match (output, result) {
                (NodeOutput::Tensor(name), Inferred::Tensor(handle)) => self.tensor(node, name, handle)?,
                (NodeOutput::Tensors(names), Inferred::Tensors(handles)) if names.len() == handles.len() => {
                    for (name, handle) in names.iter().zip(handles) {
                        self.tensor(node, name, handle)?;
                    }
                }
                (NodeOutput::Tensors(names), Inferred::Tensors(handles)) => {
                    return Err(Error::unsupported(format!(
                        "its rule returns {} tensors, the run had {}",
                        handles.len(),
                        names.len()
                    )));
                }
                (NodeOutput::Sym(name), Inferred::Number(number)) => self.number(name, number),
                (NodeOutput::Sym(name), Inferred::Tensor(_)) => self.number(name, None),
                (NodeOutput::None, _) => {}
                (output, result) => {
                    return Err(Error::unsupported(format!("its rule returns {result:?}, the run had {output:?}")));
                }
            }
        }
        Ok(())
    }

    /// A size of a tensor: `aten::sym_size.int`.
    fn size_of_tensor(&mut self, node: &Node, name: &str) -> Result<()> {
        let size = match node.args.as_slice() {
            [(_, Arg::Tensor(tensor)), (_, Arg::Int(axis))] => {
                let sizes = self.meta(tensor).map(|meta| meta.sizes.as_slice()).unwrap_or_default();
                counted_from_start(*axis, sizes.len()).and_then(|axis| sizes.get(axis)).cloned()
            }
            _ => None,
        };
        let size = size.ok_or_else(|| Error::input("it is asked for a size that its tensor does not have"))?;
        self.define_int(name, size);
        Ok(())
    }

    /// Gives a tensor the sizes of its rule.
    fn tensor(&mut self, node: &Node, name: &str, handle: Handle) -> Result<()> {
        let recorded = self.graph.tensors.get(name).cloned();
        let recorded = recorded.ok_or_else(|| Error::input(format!("the tensor `{name}` has no recorded type")))?;
        let (dtype, inferred) = self.scratch.ty(handle);
        if dtype != recorded.dtype {
            return Err(Error::unsupported(format!("its rule returns {dtype}, the run had {}", recorded.dtype)));
        }
        let rank = recorded.sizes.len();
        if let Some(sizes) = inferred.as_ref().filter(|sizes| sizes.len() != rank) {
            return Err(Error::unsupported(format!("its rule returns {} dimensions, the run had {rank}", sizes.len())));
        }
        if let Some(other) = self.observed.iter().filter_map(|run| run.get(name)).find(|sizes| sizes.len() != rank) {
            return Err(Error::unsupported(format!(
                "it has {rank} dimensions in one run and {} in another",
                other.len()
            )));
        }
        let inferred = inferred.map_or_else(|| vec![None; rank], |sizes| sizes.into_iter().map(Some).collect());
        let is_fixed = !self.from_data.contains(name) && self.has_known_sizes(node);
        let mut sizes: Vec<SymInt> = Vec::with_capacity(rank);
        let mut renamed: Vec<(String, SymInt)> = Vec::new();
        for (axis, size) in inferred.into_iter().enumerate() {
            let size = match size {
                Some(size) if !size.has_anonymous() => size,
                _ if is_fixed => recorded.sizes.get(axis).cloned().unwrap_or_default(),
                size => match self.broadcast_size(node, name, rank - axis) {
                    Some(known) => known,
                    None => self.named_size(name, axis, size, &mut renamed),
                },
            };
            self.check(name, axis, &size)?;
            sizes.push(size);
        }
        self.scratch.refine(handle, dtype, &sizes)?;
        self.scratch.name(name, handle);
        let (strides, storage_offset) = strides::of_sizes(&recorded, &sizes);
        self.graph.tensors.insert(name.to_owned(), TensorMeta { dtype, sizes, strides, storage_offset });
        Ok(())
    }

    /// The size of a result along the axis with this number from the end, where tensors whose sizes the rule cannot compare are broadcast. PyTorch broadcasts
    /// only equal sizes and 1, so it is the size of one of them: the one that has it in every run. A size that is another one on the other side of a branch tells
    /// nothing.
    fn broadcast_size(&self, node: &Node, name: &str, from_end: usize) -> Option<SymInt> {
        let sizes = node.args.iter().filter_map(|(_, arg)| match arg {
            Arg::Tensor(name) => self.meta(name),
            _ => None,
        });
        let sizes = sizes.filter_map(|meta| meta.sizes.get(meta.sizes.len().checked_sub(from_end)?));
        let broadcast: Vec<&SymInt> = sizes.filter(|size| size.known() != Some(1)).collect();
        let is_of_side = |size: &&SymInt| size.symbols().iter().any(|symbol| self.of_sides.contains(symbol));
        if broadcast.len() < 2 || self.from_data.contains(name) || broadcast.iter().any(is_of_side) {
            return None;
        }
        let observed: Option<Vec<i64>> = self
            .observed
            .iter()
            .map(|run| run.get(name).and_then(|sizes| sizes.get(sizes.len().checked_sub(from_end)?)).copied())
            .collect();
        let observed = observed.filter(|observed| observed.len() > 1)?;
        let fits = |size: &&&SymInt| {
            self.environments.iter().zip(&observed).all(|(environment, found)| size.eval(environment) == Some(*found))
        };
        broadcast.iter().find(fits).map(|size| (*size).clone())
    }

    /// A symbol for a size that the rule does not know. Sizes that the rule knows to be equal have one symbol.
    pub(super) fn named_size(
        &mut self,
        name: &str,
        axis: usize,
        size: Option<SymInt>,
        renamed: &mut Vec<(String, SymInt)>,
    ) -> SymInt {
        let text = size.map(|size| size.to_string());
        if let Some((_, known)) = renamed.iter().find(|(old, _)| Some(old) == text.as_ref()) {
            return known.clone();
        }
        let symbol = self.fresh();
        for (environment, observed) in self.environments.iter_mut().zip(&self.observed) {
            if let Some(size) = observed.get(name).and_then(|sizes| sizes.get(axis)) {
                environment.insert(symbol.clone(), *size);
            }
        }
        let made = SymInt::symbol(symbol.as_str());
        renamed.extend(text.map(|text| (text, made.clone())));
        made
    }

    /// Holds a size against what the runs observed.
    pub(super) fn check(&self, name: &str, axis: usize, size: &SymInt) -> Result<()> {
        for (environment, observed) in self.environments.iter().zip(&self.observed) {
            let Some(found) = observed.get(name).and_then(|sizes| sizes.get(axis)) else { continue };
            if let Some(expected) = size.eval(environment)
                && expected != *found
            {
                return Err(Error::unsupported(format!(
                    "its rule gives the size {size} to axis {axis}, which is {expected} in a run that had {found}"
                )));
            }
        }
        Ok(())
    }

    /// Whether all tensors and numbers that a node is given have known sizes and values.
    fn has_known_sizes(&self, node: &Node) -> bool {
        let is_known =
            |name: &String| self.meta(name).is_some_and(|meta| meta.sizes.iter().all(|size| size.known().is_some()));
        node.args.iter().all(|(_, arg)| match arg {
            Arg::Tensor(name) => is_known(name),
            Arg::Tensors(names) => names.iter().flatten().all(is_known),
            Arg::NestedTensors(lists) => lists.iter().flatten().all(is_known),
            Arg::Sym(_) | Arg::SymFloats(_) | Arg::Graph(_) => false,
            Arg::Ints(numbers) => numbers.iter().all(|number| matches!(number, aten2onnx_program::IntArg::Known(_))),
            _ => true,
        })
    }

    pub(super) fn meta(&self, name: &str) -> Option<&TensorMeta> {
        self.graph.tensors.get(name).or_else(|| self.weights.get(name))
    }

    /// An operator that writes to its first tensor and returns it.
    fn in_place(&mut self, node: &Node) -> Result<()> {
        let [NodeOutput::Tensor(result)] = node.outputs.as_slice() else { return self.results(node) };
        let sibling = functional_sibling(&node.target);
        // Those that only change the view of the tensor have another type.
        if effects::view(&sibling).is_some_and(|view| view.is_marked) && sibling != node.target {
            let probe = Node { target: sibling, ..node.clone() };
            return self.results(&probe);
        }
        let written = node.args.iter().find_map(|(_, arg)| match arg {
            Arg::Tensor(name) => Some(name.clone()),
            _ => None,
        });
        self.overwritten(result, written)
    }

    /// An operator that writes its result into the argument `out`.
    fn written_out(&mut self, node: &Node) -> Result<()> {
        let [NodeOutput::Tensor(result)] = node.outputs.as_slice() else {
            return Err(Error::unsupported("it writes into several tensors"));
        };
        let out = node.args.iter().find_map(|(name, arg)| match arg {
            Arg::Tensor(tensor) if name == "out" => Some(tensor.clone()),
            _ => None,
        });
        self.overwritten(result, out)
    }

    /// A result that has the type of the tensor that is written.
    fn overwritten(&mut self, result: &str, written: Option<String>) -> Result<()> {
        let written = written.ok_or_else(|| Error::input("it writes to no tensor"))?;
        let meta = self.meta(&written).cloned();
        let meta = meta.ok_or_else(|| Error::input(format!("the tensor `{written}` has no recorded type")))?;
        self.scratch.define(result, meta.dtype, meta.sizes.clone());
        // What was known of its elements is past.
        self.define_again(&written, meta.dtype, &meta.sizes);
        self.graph.tensors.insert(result.to_owned(), meta);
        Ok(())
    }

    fn define_again(&mut self, name: &str, dtype: Dtype, sizes: &[SymInt]) {
        self.scratch.define(name, dtype, sizes.to_vec());
    }
}
