//! Parts around what a runtime does not run: what it runs is written for it, as `convert --target` does, and the rest stays as it is.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::index::{Index, bodies, place_of};
use super::super::made::Made;
use super::super::part::{self, Part};
use super::super::types::{Types, opset_of};
use super::cuts::Run;
use super::{Split, Wiring};
use aten2onnx_convert::{convert, refused};
use aten2onnx_core::error::Result;
use aten2onnx_onnx::facts::{MAX_OPSET, MIN_OPSET};
use aten2onnx_onnx::proto::{FunctionProto, NodeProto};
use aten2onnx_onnx::read::Source;
use aten2onnx_onnx::targets::Target;
use aten2onnx_onnx::{ExternalData, Model};
use aten2onnx_options::{ConvertOptions, OutputOptions};
use aten2onnx_rules::Rules;

/// The domains besides ONNX's own that ONNX Runtime has operators of.
const OF_ONNXRUNTIME: [&str; 3] = ["com.microsoft", "ai.onnx.ml", "com.ms.internal.nhwc"];

/// A model that is split for a runtime.
pub struct Splitting<'a> {
    pub source: &'a Source,
    pub model: &'a Model,
    pub index: &'a Index<'a>,
    pub order: &'a [usize],
    pub types: &'a Types<'a>,
}

/// Why nodes are not for the runtime, by their numbers.
type Reasons = BTreeMap<usize, String>;

impl Splitting<'_> {
    /// The parts for a runtime and for others, in turn.
    pub fn around(
        &self,
        target: &'static Target,
        name: &str,
        external_data: ExternalData,
        rules: &Rules,
    ) -> Result<Split> {
        let options = ConvertOptions::from(OutputOptions::of_rules(rules, self.opset(target), Some(target)));
        let reasons = self.reasons(target, &options)?;
        let constants = self.constants(&reasons);
        let movable = super::movable(self.index, self.order, &constants)?;
        let runs = self.runs(&movable, &reasons);
        let parts = super::parts(self.index, self.order, &runs, &constants);
        let model = |part| part::model_of(self.model, self.index, self.types, part);
        let models = parts.iter().map(model).collect::<Result<Vec<_>>>()?;
        let mut wiring = Wiring::of(self.index, name, &parts, &models);
        wiring.target = Some(target.name());
        let mut made = Vec::with_capacity(models.len());
        for ((model, part), wired) in models.into_iter().zip(&parts).zip(&mut wiring.parts) {
            let (model, notes, why) = self.converted(model, part, &reasons, &options);
            wired.runs_on_target = Some(why.is_empty());
            wired.reasons = why;
            wired.nodes = model.proto.graph.as_ref().map_or(0, |graph| graph.node.len());
            made.push(Made::of(model, notes, &[self.source], external_data));
        }
        Ok(Split { parts: made, wiring })
    }

    /// That of the model, if the runtime takes it, else the nearest one.
    fn opset(&self, target: &Target) -> u32 {
        let (oldest, newest) = (target.oldest_opset.max(MIN_OPSET), target.newest_opset.min(MAX_OPSET));
        opset_of(&self.model.proto).clamp(oldest.min(newest), newest)
    }

    /// A part for the runtime with the notes of its conversion; or as it is, with the reasons why the runtime does not run it.
    fn converted(
        &self,
        model: Model,
        part: &Part,
        reasons: &Reasons,
        options: &ConvertOptions,
    ) -> (Model, Vec<String>, Vec<String>) {
        let why: Vec<String> = part.nodes.iter().filter_map(|node| self.said(*node, reasons)).collect();
        if !why.is_empty() {
            return (model, Vec::new(), why);
        }
        match convert(&self.source_of(&model), options) {
            Ok(converted) => (converted.model, converted.notes, why),
            Err(error) => (model, Vec::new(), vec![error.message.clone()]),
        }
    }

    fn said(&self, node: usize, reasons: &Reasons) -> Option<String> {
        let found = self.index.nodes.get(node)?;
        let place = match (found.name(), self.index.computes(node).next()) {
            ("", Some(output)) => format!("node of `{output}` ({})", found.op_type()),
            _ => place_of(found),
        };
        Some(format!("{place}: {}", reasons.get(&node)?))
    }

    /// A part as a model that was read: with its weights where they are in the whole model.
    fn source_of(&self, part: &Model) -> Source {
        let wanted: FxHashSet<&str> = part.weights.iter().map(|weight| weight.name.as_str()).collect();
        let all = self.source.proto.graph.iter().flat_map(|graph| &graph.initializer);
        let tensors = all.filter(|tensor| wanted.contains(tensor.name())).cloned();
        let mut proto = part.proto.clone();
        if let Some(graph) = &mut proto.graph {
            graph.initializer.extend(tensors);
        }
        self.source.clone().with_proto(proto)
    }

    /// Why the runtime does not run nodes.
    fn reasons(&self, target: &'static Target, options: &ConvertOptions) -> Result<Reasons> {
        let found = refused(&self.types.typed(), options)?;
        let of_model = |(at, reason): (usize, String)| Some((*self.order.get(at)?, reason));
        let mut reasons: Reasons = found.into_iter().filter_map(of_model).collect();
        for (number, node) in self.index.nodes.iter().enumerate() {
            let why = || self.foreign(node, target, 0).or_else(|| self.lacking(number, target));
            if let Some(reason) = reasons.get(&number).cloned().or_else(why) {
                reasons.insert(number, reason);
            }
        }
        Ok(reasons)
    }

    /// Why a node is not for the runtime, if it is of another domain, or something in it is.
    fn foreign(&self, node: &NodeProto, target: &Target, depth: usize) -> Option<String> {
        let domain = node.domain();
        let of_runtime = target.runtime.starts_with("onnxruntime") && OF_ONNXRUNTIME.contains(&domain);
        if let Some(function) = self.called(node).filter(|_| depth < self.model.proto.functions.len()) {
            return function.node.iter().find_map(|node| self.foreign(node, target, depth + 1));
        }
        if !matches!(domain, "" | "ai.onnx") && !of_runtime {
            let op = node.op_type();
            return Some(format!(
                "`{domain}::{op}` is no operator of ONNX, and nothing says that {} has it",
                target.name()
            ));
        }
        bodies(node).flat_map(|body| &body.node).find_map(|node| self.foreign(node, target, depth))
    }

    /// The local function that a node calls.
    fn called(&self, node: &NodeProto) -> Option<&FunctionProto> {
        let is_called = |function: &&FunctionProto| {
            function.name() == node.op_type()
                && function.domain() == node.domain()
                && function.overload() == node.overload()
        };
        self.model.proto.functions.iter().find(is_called)
    }

    /// Why a node is not for the runtime, if one of its values is of a dtype that the runtime does not have.
    fn lacking(&self, node: usize, target: &Target) -> Option<String> {
        let read = self.index.reads(node).iter().copied();
        read.chain(self.index.computes(node)).find_map(|name| {
            let dtype = self.types.dtype(name)?;
            let is_weight = self.index.initializers.contains(name);
            if target.lacks_dtypes.contains(&dtype) {
                return Some(format!("{} lacks {dtype}, the dtype of `{name}`", target.name()));
            }
            let is_lost = is_weight && target.lacks_constants.contains(&dtype);
            is_lost.then(|| format!("{} loads no constants of {dtype}, the dtype of `{name}`", target.name()))
        })
    }

    /// The nodes that each part has its own copy of: they depend on no input, and the runtime runs them.
    fn constants(&self, reasons: &Reasons) -> FxHashSet<usize> {
        let mut constants = part::constants(self.index, self.order);
        for node in self.order {
            let left = |name: &&str| self.index.producer(name).is_none_or(|producer| constants.contains(&producer));
            if reasons.contains_key(node) || !self.index.reads(*node).iter().all(left) {
                constants.remove(node);
            }
        }
        constants
    }

    /// Runs of nodes for the runtime and for others in turn: as few as it needs if each takes all that it can.
    fn runs(&self, movable: &[usize], reasons: &Reasons) -> Vec<Run> {
        let [first, second] = [true, false].map(|begin| self.runs_from(movable, reasons, begin));
        if second.len() < first.len() { second } else { first }
    }

    /// The runs, of which the first is for the runtime or not.
    fn runs_from(&self, movable: &[usize], reasons: &Reasons, begin: bool) -> Vec<Run> {
        let at: FxHashMap<usize, usize> = movable.iter().enumerate().map(|(at, node)| (*node, at)).collect();
        let producers = |node: usize| {
            let read = self.index.reads(node).iter().filter_map(|name| self.index.producer(name));
            read.filter(|producer| at.contains_key(producer)).collect::<FxHashSet<usize>>()
        };
        let mut waiting: FxHashMap<usize, usize> = FxHashMap::default();
        let mut readers: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        let mut ready: [BinaryHeap<Reverse<usize>>; 2] = Default::default();
        let put = |ready: &mut [BinaryHeap<Reverse<usize>>; 2], node: usize| {
            if let (Some(at), [yes, no]) = (at.get(&node), ready) {
                if reasons.contains_key(&node) { no } else { yes }.push(Reverse(*at));
            }
        };
        for node in movable {
            let producers = producers(*node);
            waiting.insert(*node, producers.len());
            if producers.is_empty() {
                put(&mut ready, *node);
            }
            producers.into_iter().for_each(|producer| readers.entry(producer).or_default().push(*node));
        }
        let mut runs = Vec::new();
        let mut side = usize::from(!begin);
        while ready.iter().any(|heap| !heap.is_empty()) {
            let mut run = Vec::new();
            while let Some(Reverse(at)) = ready.get_mut(side).and_then(BinaryHeap::pop) {
                let Some(node) = movable.get(at) else { continue };
                run.push(*node);
                for reader in readers.get(node).into_iter().flatten() {
                    let Some(count) = waiting.get_mut(reader) else { continue };
                    *count = count.saturating_sub(1);
                    if *count == 0 {
                        put(&mut ready, *reader);
                    }
                }
            }
            if !run.is_empty() {
                runs.push(run);
            }
            side = 1 - side;
        }
        runs
    }
}
