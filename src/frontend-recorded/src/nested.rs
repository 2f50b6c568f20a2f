//! Higher-order operators: their graphs are visited with the types of what they are given, and give the types of the results.

use std::sync::Arc;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_program::{Arg, Graph, Input, IntArg, Node, NodeOutput, TensorMeta};

use super::{Pass, add_numbers, at_node, strides};

/// The type of an operand or a result.
#[derive(Clone)]
pub(super) enum Operand {
    Tensor(TensorMeta),
    Int(SymInt),
    /// An integer that each round of a loop changes.
    Unknown,
    Number(Dtype),
}

impl Pass<'_> {
    pub(super) fn higher_order(&mut self, operator: &str, node: &mut Node) -> Result<()> {
        if operator == "loop" {
            return self.counted_loop(node);
        }
        let lists = self.operands_after_graphs(node)?;
        let list = |at: usize| lists.get(at).cloned().unwrap_or_default();
        let rest = |from: usize| lists.iter().skip(from).flatten().cloned();
        let given: Vec<Operand> = match operator {
            "cond" => rest(0).collect(),
            "while_loop" => list(0).into_iter().map(changing).chain(rest(1)).collect(),
            "scan" => list(0).into_iter().chain(list(1).into_iter().map(slice)).chain(rest(2)).collect(),
            "map_impl" => list(0).into_iter().map(slice).chain(rest(1)).collect(),
            "associative_scan" => {
                let slices: Vec<Operand> = list(0).into_iter().map(slice).collect();
                slices.iter().chain(&slices).cloned().chain(rest(1)).collect()
            }
            _ => return Err(Error::unsupported(format!("the operator `{operator}` cannot be recorded"))),
        };
        let known = self.symbols.len();
        let mut results: Vec<Vec<Option<Operand>>> = Vec::new();
        for (_, arg) in &mut node.args {
            if let Arg::Graph(graph) = arg {
                results.push(self.nested(Arc::make_mut(graph), &given)?);
            }
        }
        let made: Vec<Option<Operand>> = match (operator, results.as_slice()) {
            ("cond", [yes, no]) => yes.iter().zip(no).map(|(yes, no)| either(yes.as_ref(), no.as_ref())).collect(),
            ("while_loop", [_, body]) => carried(list(0), body)?,
            ("scan", [body]) => {
                let states = carried(list(0), body)?;
                let count = list(1).first().and_then(first_size);
                let rows = body.iter().skip(states.len()).map(|row| rows(row.as_ref(), count.as_ref()));
                states.into_iter().chain(rows).collect()
            }
            ("map_impl", [body]) => {
                let count = list(0).first().and_then(first_size);
                body.iter().map(|row| rows(row.as_ref(), count.as_ref())).collect()
            }
            ("associative_scan", [body]) => {
                carried(list(0).into_iter().map(slice).collect(), body)?;
                list(0).into_iter().map(Some).collect()
            }
            _ => return Err(Error::input(format!("`{operator}` has {} graphs", results.len()))),
        };
        let inner = self.symbols.get(known..).unwrap_or_default().to_vec();
        for (output, made) in node.outputs.iter().zip(made) {
            self.result(operator, output, made, &inner)?;
        }
        Ok(())
    }

    /// Visits a graph with operands of these types, and returns the types of its results.
    pub(super) fn nested(&mut self, graph: &mut Graph, given: &[Operand]) -> Result<Vec<Option<Operand>>> {
        let mut nodes = std::mem::take(&mut graph.nodes);
        let inputs = std::mem::take(&mut graph.inputs);
        let outer = std::mem::replace(&mut self.graph, std::mem::take(graph));
        let visited = self.visit(&inputs, &mut nodes, given);
        let outputs = self.graph.outputs.iter();
        let found = outputs.map(|output| self.operand(&output.value).into_iter().next()).collect();
        *graph = Graph { nodes, inputs, ..std::mem::replace(&mut self.graph, outer) };
        add_numbers(&mut self.inner, graph);
        visited.map(|()| found)
    }

    fn visit(&mut self, inputs: &[Input], nodes: &mut [Node], given: &[Operand]) -> Result<()> {
        if inputs.len() != given.len() {
            return Err(Error::input(format!("a graph has {} inputs, and is given {}", inputs.len(), given.len())));
        }
        for (input, operand) in inputs.iter().zip(given) {
            let name = input.name.as_str();
            match operand {
                Operand::Tensor(meta) => {
                    self.scratch.define(name, meta.dtype, meta.sizes.clone());
                    self.graph.tensors.insert(name.to_owned(), meta.clone());
                    for (axis, size) in meta.sizes.iter().enumerate() {
                        self.check(name, axis, size)?;
                    }
                }
                Operand::Int(size) => self.define_int(name, size.clone()),
                Operand::Unknown => self.unknown_int(name),
                Operand::Number(dtype) => self.scratch.define_unknown(name, *dtype),
            }
        }
        for node in nodes {
            self.node(node).map_err(|error| at_node(error, node))?;
        }
        Ok(())
    }

    /// The types of the operands after the graphs of a node, by argument.
    pub(super) fn operands_after_graphs(&self, node: &Node) -> Result<Vec<Vec<Operand>>> {
        let last = node.args.iter().rposition(|(_, arg)| matches!(arg, Arg::Graph(_)));
        let last = last.ok_or_else(|| Error::input("it has no graph"))?;
        Ok(node.args.iter().skip(last + 1).map(|(_, arg)| self.operand(arg)).collect())
    }

    fn operand(&self, arg: &Arg) -> Vec<Operand> {
        let named = |name: &String| self.named(name);
        match arg {
            Arg::Tensor(name) | Arg::Sym(name) => named(name).into_iter().collect(),
            Arg::Tensors(names) => names.iter().flatten().filter_map(named).collect(),
            Arg::Int(number) => vec![Operand::Int(SymInt::from(*number))],
            Arg::Float(_) => vec![Operand::Number(Dtype::Float64)],
            Arg::Bool(_) => vec![Operand::Number(Dtype::Bool)],
            Arg::Ints(numbers) => numbers
                .iter()
                .filter_map(|number| match number {
                    IntArg::Known(number) => Some(Operand::Int(SymInt::from(*number))),
                    IntArg::Named(name) => named(name),
                })
                .collect(),
            _ => Vec::new(),
        }
    }

    fn named(&self, name: &str) -> Option<Operand> {
        if let Some(meta) = self.meta(name) {
            return Some(Operand::Tensor(meta.clone()));
        }
        if let Some(size) = self.graph.sym_ints.get(name) {
            return Some(Operand::Int(size.clone()));
        }
        let float = self.graph.sym_floats.contains_key(name).then_some(Dtype::Float64);
        float.or_else(|| self.graph.sym_bools.contains_key(name).then_some(Dtype::Bool)).map(Operand::Number)
    }

    /// A symbol for a size that the sides of a branch or the turns of a loop decide.
    pub(super) fn size_of_side(&mut self, name: &str, axis: usize) -> SymInt {
        let size = self.named_size(name, axis, None, &mut Vec::new());
        self.of_sides.extend(size.symbols());
        size
    }

    /// Gives a result its type. Symbols of the graphs mean nothing outside of them.
    pub(super) fn result(
        &mut self,
        operator: &str,
        output: &NodeOutput,
        made: Option<Operand>,
        inner: &[String],
    ) -> Result<()> {
        let name = match output {
            NodeOutput::Tensor(name) | NodeOutput::Sym(name) => name,
            NodeOutput::None => return Ok(()),
            NodeOutput::Tensors(_) => return Err(Error::unsupported(format!("`{operator}` returns a list"))),
        };
        let (Some(Operand::Tensor(meta)), Some(recorded)) = (made, self.graph.tensors.get(name).cloned()) else {
            self.number(name, None);
            return Ok(());
        };
        if meta.dtype != recorded.dtype || meta.sizes.len() != recorded.sizes.len() {
            return Err(Error::unsupported(format!("a result of `{operator}` has another type than in the run")));
        }
        let mut sizes = Vec::with_capacity(meta.sizes.len());
        for (axis, size) in meta.sizes.into_iter().enumerate() {
            let is_unknown = size.has_anonymous() || size.symbols().iter().any(|symbol| inner.contains(symbol));
            let size = if is_unknown { self.size_of_side(name, axis) } else { size };
            self.check(name, axis, &size)?;
            sizes.push(size);
        }
        self.scratch.define(name, meta.dtype, sizes.clone());
        let (strides, storage_offset) = strides::of_sizes(&recorded, &sizes);
        self.graph.tensors.insert(name.clone(), TensorMeta { dtype: meta.dtype, sizes, strides, storage_offset });
        Ok(())
    }
}

/// The type of one result or the other. Sizes that differ are unknown.
fn either(yes: Option<&Operand>, no: Option<&Operand>) -> Option<Operand> {
    let (Some(Operand::Tensor(yes)), Some(Operand::Tensor(no))) = (yes, no) else {
        return yes.zip(no).map(|_| Operand::Unknown);
    };
    let unknown = || SymInt::symbol("?");
    let sizes = yes.sizes.iter().zip(&no.sizes);
    let sizes = sizes.map(|(yes, no)| if yes == no { yes.clone() } else { unknown() }).collect();
    Some(Operand::Tensor(TensorMeta { sizes, ..yes.clone() }))
}

/// The types of what a loop carries, which it must not change.
fn carried(given: Vec<Operand>, body: &[Option<Operand>]) -> Result<Vec<Option<Operand>>> {
    for (place, (before, after)) in given.iter().zip(body).enumerate() {
        let (Operand::Tensor(before), Some(Operand::Tensor(after))) = (before, after) else { continue };
        if before.sizes != after.sizes || before.dtype != after.dtype {
            let text = |meta: &TensorMeta| {
                let sizes: Vec<String> = meta.sizes.iter().map(ToString::to_string).collect();
                format!("{}[{}]", meta.dtype, sizes.join(", "))
            };
            return Err(Error::unsupported(format!(
                "a loop carries value {place} as {} and makes {} of it",
                text(before),
                text(after)
            )));
        }
    }
    Ok(given.into_iter().map(changing).map(Some).collect())
}

/// What a loop changes: an integer is another one in each round.
pub(super) fn changing(operand: Operand) -> Operand {
    match operand {
        Operand::Int(_) => Operand::Unknown,
        other => other,
    }
}

/// The type of a slice along the first dimension.
fn slice(operand: Operand) -> Operand {
    match operand {
        Operand::Tensor(meta) => {
            let sizes = meta.sizes.into_iter().skip(1).collect();
            Operand::Tensor(TensorMeta { sizes, strides: Vec::new(), ..meta })
        }
        other => other,
    }
}

fn first_size(operand: &Operand) -> Option<SymInt> {
    match operand {
        Operand::Tensor(meta) => meta.sizes.first().cloned(),
        _ => None,
    }
}

/// The type of the results of all rounds together.
pub(super) fn rows(row: Option<&Operand>, count: Option<&SymInt>) -> Option<Operand> {
    let (Some(Operand::Tensor(meta)), Some(count)) = (row, count) else { return None };
    let sizes = std::iter::once(count.clone()).chain(meta.sizes.iter().cloned()).collect();
    Some(Operand::Tensor(TensorMeta { dtype: meta.dtype, sizes, strides: Vec::new(), ..meta.clone() }))
}
