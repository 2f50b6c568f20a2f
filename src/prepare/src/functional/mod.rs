//! Makes a program functional: in-place operators become functional ones, and later uses of the tensor read the new
//! value.
//!
//! Takes a [`Program`] whose values are defined before their uses; returns one without in-place operators. A write to a
//! view is propagated to its base when that is read again, and other views are recomputed; if that is impossible, the
//! program is refused. Unused nodes are left for [`super::dead_code`]. Linear in the size of the program.
//!
//! `alias` tracks which values share memory and which are up to date, `layout` how elements are stored, and `views` how
//! views and bases are related. `sync` updates stale values, `inplace` replaces in-place operators, `strided` handles
//! `as_strided`, `memory` resized tensors, `stats` the statistics of normalizations, and `keep` mutations that the
//! caller wants to see. This file visits the nodes in order. The views and writes of operators come from the alias
//! annotations of the schemas and the facts in the mapping files ([`aten2onnx_rules::effects`]).

mod alias;
mod inplace;
mod keep;
mod layout;
mod memory;
mod stats;
mod strided;
mod sync;
#[cfg(test)]
mod tests;
mod views;

use std::sync::Arc;

use alias::{Aliases, Cell, Root, View, Write};
use inplace::{Kind, Overwrite};
pub use inplace::{functional_sibling, writes};
use rustc_hash::{FxHashMap, FxHashSet};
use views::{Relation, is_identity, relation};

use crate::terms::first_tensor_arg;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_core::weights::Weight;
use aten2onnx_program::visit;
use aten2onnx_program::{Arg, Graph, Input, InputKind, Node, NodeOutput, Program, TensorMeta};
use aten2onnx_rules::effects::{self, WriteForm, Writes};

/// Makes a program functional. Writes to buffers and inputs are dropped with a note or, if `keep_mutations`, become
/// outputs after the user's.
pub fn functionalise(program: &mut Program, keep_mutations: bool) -> Result<()> {
    let mut aliases = Aliases::default();
    define_weights(program, &mut aliases);
    for input in &program.graph.inputs {
        if matches!(input.kind, InputKind::Tensor) {
            aliases.define(&input.name, Root::Input(input.name.clone()));
        }
    }
    keep::recorded(program, keep_mutations);
    let kept = if keep_mutations { keep::roots(program, &aliases) } else { Vec::new() };
    let mut notes = Vec::new();
    make_functional(&mut program.graph, aliases, &kept, &mut notes)?;
    if !keep_mutations {
        program.notes.append(&mut notes);
    }
    Ok(())
}

/// Equal weights share a tensor; weights with the same bytes share the storage.
fn define_weights(program: &Program, aliases: &mut Aliases) {
    let mut same: FxHashMap<*const Weight, &str> = FxHashMap::default();
    let mut overlapping: FxHashMap<*const u8, Cell> = FxHashMap::default();
    for bound in &program.weights {
        let root = || Root::Weight(bound.weight.name.clone());
        if let Some(first) = same.get(&Arc::as_ptr(&bound.weight)) {
            aliases.define_same(&bound.value, first);
            continue;
        }
        let bytes = bound.weight.storage.bytes();
        let cell = match overlapping.get(&bytes.as_ptr()) {
            Some(cell) if !bytes.is_empty() => aliases.define_view(&bound.value, *cell),
            _ => aliases.define(&bound.value, root()),
        };
        same.insert(Arc::as_ptr(&bound.weight), &bound.value);
        overlapping.insert(bytes.as_ptr(), cell);
    }
}

/// The limit of added work per node: nodes plus the number of their arguments' elements.
const GROWTH: usize = 64;

/// Processes a graph; returns for each output the index of the nested graph's input that it may share memory with.
fn make_functional(
    graph: &mut Graph,
    aliases: Aliases,
    kept: &[keep::Kept],
    notes: &mut Vec<String>,
) -> Result<Vec<Option<usize>>> {
    let nodes = std::mem::take(&mut graph.nodes);
    let tracks_views = nodes
        .iter()
        .any(|node| writes(&node.target) || strided::is_strided(&node.target) || stats::updates(node).next().is_some());
    let taken = if tracks_views { names(&graph.inputs, &nodes) } else { FxHashSet::default() };
    let mut pass = Pass {
        aliases,
        notes,
        tensors: &mut graph.tensors,
        sym_ints: &mut graph.sym_ints,
        tracks_views,
        keeps_mutations: !kept.is_empty(),
        taken,
        budget: nodes.len().saturating_mul(GROWTH).saturating_add(10_000),
        names: 0,
        done: Vec::with_capacity(nodes.len()),
    };
    for node in nodes {
        let place = format!("node `{}` ({})", node.name, node.target);
        let source = node.source_line.clone();
        pass.node(node).map_err(|error| {
            let error = source.into_iter().fold(error, Error::at);
            error.at(place)
        })?;
    }
    let mut shared = Vec::with_capacity(graph.outputs.len());
    for (index, output) in graph.outputs.iter_mut().enumerate() {
        shared.push(match &output.value {
            Arg::Tensor(name) => pass.aliases.cell(name).and_then(|cell| pass.aliases.nested_input(cell)),
            _ => None,
        });
        pass.read(&mut output.value, false).map_err(|error| error.at(format!("output {index}")))?;
    }
    let mutations = pass.mutations(kept)?;
    graph.nodes = pass.done;
    graph.outputs.extend(mutations);
    Ok(shared)
}

struct Pass<'a> {
    aliases: Aliases,
    notes: &'a mut Vec<String>,
    tensors: &'a mut FxHashMap<String, TensorMeta>,
    sym_ints: &'a mut FxHashMap<String, SymInt>,
    /// Whether views must be tracked, because the program writes.
    tracks_views: bool,
    /// Whether writes to memory from outside become outputs.
    keeps_mutations: bool,
    /// The remaining number of values that may be added for views.
    budget: usize,
    /// All names in the original graph.
    taken: FxHashSet<String>,
    /// The number of generated names.
    names: usize,
    done: Vec<Node>,
}

impl Pass<'_> {
    fn node(&mut self, mut node: Node) -> Result<()> {
        if let Some((resized, made)) = self.resized_empty(&node) {
            return self.replace_memory(&resized, made);
        }
        let kind = inplace::kind(&node.target);
        if let Kind::Refused(reason) = kind {
            return Err(refusal(reason));
        }
        let written = match kind {
            Kind::Write(_) | Kind::Metadata => Some(inplace::written_arg(&node)?),
            _ => None,
        };
        let written_name = written.and_then(|index| match node.args.get(index) {
            Some((_, Arg::Tensor(name))) => Some(name.clone()),
            _ => None,
        });
        if strided::is_strided(&node.target) {
            self.read_memory(&mut node)?;
        }
        let shared = self.nested(&mut node)?;
        // The original names identify the tensors; the arguments are replaced by their newest values.
        let as_written = node.clone();
        let writes = effects::writes(&node.target);
        let outs = writes.filter(|writes| writes.form == WriteForm::Out).map_or(&[][..], |writes| writes.args);
        for (index, (name, arg)) in node.args.iter_mut().enumerate() {
            // Arguments that are overwritten completely, or of which only the shape is read, may be stale.
            let overwritten = (written == Some(index) && matches!(kind, Kind::Write(Overwrite::Whole)))
                || outs.contains(&name.as_str());
            let only_shape = overwritten || inplace::reads_only_shape(&node.target);
            self.read(arg, only_shape)?;
        }
        let updates = self.statistics(&mut node, &as_written)?;
        match (kind, written_name) {
            (Kind::Write(overwrite), Some(name)) => self.write(node, &name, overwrite),
            (Kind::Metadata, Some(name)) => {
                self.change_metadata(node, &as_written, &name);
                Ok(())
            }
            (Kind::Out, _) => self.write_out(&node, &as_written),
            _ => {
                self.define_results(&node, &as_written, &shared);
                self.done.push(node);
                self.keep_statistics(updates, &as_written);
                Ok(())
            }
        }
    }

    /// Replaces a name in an argument by its newest value, updating it if needed.
    fn read(&mut self, arg: &mut Arg, only_shape: bool) -> Result<()> {
        if !only_shape {
            let mut stale = Vec::new();
            visit::each_name(arg, &mut |name| {
                if let Some(cell) = self.aliases.cell(name).filter(|cell| self.aliases.is_stale(*cell)) {
                    stale.push((name, cell));
                }
            });
            for (name, cell) in stale {
                if !self.refresh(cell) {
                    return Err(self.stale(name, cell));
                }
            }
        }
        visit::each_name_mut(arg, &mut |name: &mut String| {
            if let Some(cell) = self.aliases.cell(name)
                && self.aliases.newest(cell) != name
            {
                self.aliases.newest(cell).clone_into(name);
            }
        });
        Ok(())
    }

    fn stale(&self, name: &str, cell: Cell) -> Error {
        let writer = match self.aliases.last_write(cell) {
            Some(Write { node, target, source_line: Some(line) }) => format!("`{node}` ({target}, {line})"),
            Some(Write { node, target, source_line: None }) => format!("`{node}` ({target})"),
            None => "an earlier node".to_owned(),
        };
        let message =
            format!("it reads `{name}`, whose memory {writer} has changed through another view; this is not supported");
        // Do not suggest a decomposition: torch's treat some views as copies, which would change the results.
        Error::unsupported(message)
            .help("write to a new tensor: use `x = x + 1` instead of `x += 1`, or `x.clone()` before")
    }

    /// Processes an in-place operator on the tensor `name`.
    fn write(&mut self, node: Node, name: &str, overwrite: Overwrite) -> Result<()> {
        let cell = self.prepare_write(&node, name, overwrite, inplace::is_constant(&node.target))?;
        let write = Write::of(&node);
        let mut result = inplace::result_name(&node);
        if result.is_empty() {
            result = self.fresh_name(&node.name, "written");
        }
        let names = self.names;
        let scratch = self.fresh_name(&result, "raw");
        let newest = self.aliases.newest(cell).to_owned();
        let nodes = inplace::rewrite(node, &newest, &result, scratch, self.tensors)?;
        if nodes.len() == 1 {
            // The name was not used.
            self.names = names;
        }
        self.done.extend(nodes);
        self.written(cell, name, result, write);
        Ok(())
    }

    /// Prepares the cell of a tensor for a write.
    fn prepare_write(&mut self, node: &Node, name: &str, overwrite: Overwrite, is_constant: bool) -> Result<Cell> {
        let Some(cell) = self.aliases.cell(name) else {
            return Err(Error::internal(format!("`{name}` is written but was not defined as a tensor")));
        };
        if self.aliases.overlaps(cell) && !is_constant {
            return Err(refusal("it writes to a view with several elements at the same address"));
        }
        self.note_root(node, cell)?;
        if !self.prepare(cell, overwrite == Overwrite::Whole) {
            return Err(self.stale(name, cell));
        }
        Ok(cell)
    }

    /// Sets the value of the tensor `name` at `cell` to `result`.
    fn written(&mut self, cell: Cell, name: &str, result: String, write: Write) {
        self.aliases.define_same(&result, name);
        self.aliases.write(cell, result, write);
        self.keep_disjoint(cell);
    }

    /// Processes an operator that writes its results into arguments.
    fn write_out(&mut self, node: &Node, as_written: &Node) -> Result<()> {
        let writes =
            effects::writes(&node.target).ok_or_else(|| Error::internal("expected an operator that writes"))?;
        let mut outs = Vec::with_capacity(writes.args.len());
        for name in writes.args {
            let arg = as_written.args.iter().find(|(arg, _)| arg == name).map(|(_, arg)| arg);
            let Some(Arg::Tensor(out)) = arg else {
                return Err(refusal(&format!("its argument `{name}` is not a tensor")));
            };
            outs.push(out.clone());
        }
        let raw: Vec<String> = outs.iter().map(|out| self.fresh_name(out, "raw")).collect();
        let dtype = outs.first().and_then(|out| self.tensors.get(out)).map(|meta| meta.dtype);
        self.done.push(inplace::without_out(node, writes, raw.clone(), dtype));
        let (raw, is_filled) = self.in_size_of_outs(node, writes, &outs, raw);
        let results: Vec<String> = tensor_results(node).map(str::to_owned).collect();
        for (index, (out, raw)) in outs.iter().zip(raw).enumerate() {
            let result = results.get(index).cloned().unwrap_or_else(|| self.fresh_name(out, "written"));
            let (before, after) = (self.tensors.get(out).cloned(), self.tensors.get(&result).cloned());
            let (Some(before), after) = (before.clone(), after.or(before)) else {
                return Err(refusal(&format!("`{out}` has no recorded type")));
            };
            if is_filled {
                // torch.export records the sizes of the functional form.
                self.tensors.insert(result.clone(), before.clone());
            }
            let resized = !is_filled && after.as_ref().is_some_and(|after| after.sizes != before.sizes);
            if resized && !before.sizes.iter().any(|size| *size == 0) {
                return Err(refusal(&format!("it changes the size of `{out}`")));
            }
            if resized {
                self.done.push(inplace::cast(node, raw, before.dtype, &result));
                self.aliases.define_same(&result, out);
                self.aliases.renew(out, &result);
                continue;
            }
            let cell = self.prepare_write(node, out, Overwrite::Whole, false)?;
            self.done.push(inplace::cast(node, raw, before.dtype, &result));
            self.written(cell, out, result, Write::of(node));
        }
        Ok(())
    }

    /// The results of an operator that takes no tensors, such as a range, and whether they have the sizes of the tensors that they are
    /// written to: PyTorch fills those in order, whatever their sizes.
    fn in_size_of_outs(
        &mut self,
        node: &Node,
        writes: &Writes,
        outs: &[String],
        raw: Vec<String>,
    ) -> (Vec<String>, bool) {
        let takes_tensors = |(name, arg): &(String, Arg)| {
            matches!(arg, Arg::Tensor(_) | Arg::Tensors(_)) && !writes.args.contains(&name.as_str())
        };
        let ([out], [made]) = (outs, raw.as_slice()) else { return (raw, false) };
        let is_line_or_empty = |meta: &TensorMeta| meta.sizes.len() == 1 || meta.sizes.iter().any(|size| *size == 0);
        if self.tensors.get(out).is_none_or(is_line_or_empty) || node.args.iter().any(takes_tensors) {
            return (raw, false);
        }
        let shaped = self.fresh_name(out, "filled");
        let like = self.aliases.cell(out).map_or(out.as_str(), |cell| self.aliases.newest(cell)).to_owned();
        self.done.push(inplace::shaped_like(node, made.clone(), like, &shaped));
        (vec![shaped], true)
    }

    /// Processes an in-place operator that changes the view of a tensor, but no element.
    fn change_metadata(&mut self, mut node: Node, as_written: &Node, name: &str) {
        let result = inplace::result_name(&node);
        // `detach_` and `requires_grad_` have no effect on the export.
        if result.is_empty() || is_identity(&node.target) {
            self.aliases.define_same(&result, name);
            return;
        }
        let own = first_tensor_arg(as_written).and_then(|at| as_written.args.get(at));
        let parent = match own {
            Some((_, Arg::Tensor(parent))) => self.aliases.cell(parent),
            _ => None,
        };
        node.target = functional_sibling(&node.target);
        self.aliases.define_same(&result, name);
        if let Some(parent) = parent
            && let Some(cell) = self.aliases.restride(name, &result, parent)
        {
            let overlaps = views::may_repeat(&node, self.tensors, &result, self.aliases.overlaps(parent));
            self.aliases.set_overlaps(cell, overlaps);
            self.aliases.derive(parent, View { node: node.clone(), cells: vec![cell] });
        }
        self.done.push(node);
    }

    /// Notes once that the caller does not see a write; refuses a write that another graph would have to see.
    fn note_root(&mut self, node: &Node, cell: Cell) -> Result<()> {
        let (what, name) = match self.aliases.root_once(cell) {
            None => return Ok(()),
            Some(Root::Nested(_)) => {
                return Err(refusal("it writes to a tensor from outside of its nested graph"));
            }
            Some(Root::Input(name)) => ("input", name),
            Some(Root::Weight(name)) => ("buffer or parameter", name),
        };
        let line = node.source_line.as_deref().map(|line| format!(", {line}")).unwrap_or_default();
        let writer = format!("`{}` ({}{line})", node.name, node.target);
        self.notes.push(format!("the model writes to its {what} `{name}` ({writer}); {}", keep::DROPPED));
        Ok(())
    }

    /// Defines the results of a node that does not write.
    fn define_results(&mut self, node: &Node, as_written: &Node, shared: &[Option<usize>]) {
        let operands = operands(as_written);
        let relation = relation(node, self.tensors);
        let mut cells = Vec::new();
        let nested = if shared.is_empty() { Vec::new() } else { nested_operands(as_written) };
        for (index, name) in tensor_results(node).enumerate() {
            let operand = match shared.get(index) {
                Some(Some(input)) => nested.get(*input),
                // For operators from lists to lists of tensors (`broadcast_tensors`), each result is a view of its
                // operand.
                _ => operands.get(index).or(operands.first()),
            };
            let is_shared = shared.get(index).is_some_and(Option::is_some);
            match (operand.and_then(|operand| Some((operand, self.aliases.cell(operand)?))), relation) {
                (Some((operand, _)), Relation::Same) => self.aliases.define_same(name, operand),
                (Some((_, cell)), Relation::View | Relation::Maybe) => {
                    cells.push(self.aliases.define_view(name, cell));
                }
                (Some((_, cell)), Relation::Fresh) if is_shared => {
                    self.aliases.define_view(name, cell);
                }
                _ => {
                    self.aliases.define_fresh(name);
                }
            }
        }
        if let ([operand], Relation::View) = (operands.as_slice(), relation)
            && let Some(parent) = self.aliases.cell(operand)
            && !cells.is_empty()
        {
            self.remember(parent, node, cells);
        }
    }

    /// Processes the nested graphs of a node; returns which inputs their outputs may share memory with.
    fn nested(&mut self, node: &mut Node) -> Result<Vec<Option<usize>>> {
        let mut shared: Vec<Option<usize>> = Vec::new();
        for (_, arg) in &mut node.args {
            let Arg::Graph(graph) = arg else { continue };
            let mut aliases = Aliases::default();
            for (index, input) in graph.inputs.iter().enumerate() {
                if matches!(input.kind, InputKind::Tensor) {
                    aliases.define(&input.name, Root::Nested(index));
                }
            }
            let outputs = make_functional(Arc::make_mut(graph), aliases, &[], self.notes)?;
            shared.resize(shared.len().max(outputs.len()), None);
            for (known, new) in shared.iter_mut().zip(outputs) {
                *known = known.or(new);
            }
        }
        Ok(shared)
    }

    /// An unused name. Numbers are not reused, so that finding one takes constant time.
    fn fresh_name(&mut self, stem: &str, suffix: &str) -> String {
        loop {
            let name = match self.names {
                0 => format!("{stem}_{suffix}"),
                number => format!("{stem}_{suffix}_{number}"),
            };
            self.names += 1;
            if !self.taken.contains(&name) && !self.tensors.contains_key(&name) {
                return name;
            }
        }
    }
}

/// The names of all values except weights, whose tensors are recorded.
fn names(inputs: &[Input], nodes: &[Node]) -> FxHashSet<String> {
    let inputs = inputs.iter().map(|input| input.name.as_str());
    inputs.chain(nodes.iter().flat_map(visit::results)).map(str::to_owned).collect()
}

fn refusal(message: &str) -> Error {
    let error = Error::unsupported(message);
    error.help("`ep = ep.run_decompositions({})` before `torch.export.save` makes torch rewrite such writes")
}

/// The tensors that a node may return views of: the first one, or all of a list.
fn operands(node: &Node) -> Vec<&str> {
    for (_, arg) in &node.args {
        match arg {
            Arg::Tensor(name) => return vec![name],
            Arg::Tensors(names) => return names.iter().flatten().map(String::as_str).collect(),
            _ => {}
        }
    }
    Vec::new()
}

/// The operands bound to the inputs of a node's nested graphs.
fn nested_operands(node: &Node) -> Vec<&str> {
    let last = node.args.iter().rposition(|(_, arg)| matches!(arg, Arg::Graph(_)));
    let mut names = Vec::new();
    for (_, arg) in node.args.iter().skip(last.map_or(0, |last| last + 1)) {
        visit::each_name(arg, &mut |name| names.push(name));
    }
    names
}

fn tensor_results(node: &Node) -> impl Iterator<Item = &str> {
    node.outputs.iter().flat_map(|output| {
        let names = match output {
            NodeOutput::Tensor(name) => std::slice::from_ref(name),
            NodeOutput::Tensors(names) => names.as_slice(),
            NodeOutput::Sym(_) | NodeOutput::None => [].as_slice(),
        };
        names.iter().map(String::as_str)
    })
}
