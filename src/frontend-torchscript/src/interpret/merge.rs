//! Unites the results of two branches: what differs becomes an output of a `cond`.

use std::rc::Rc;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use super::Interpreter;
use super::recorder::Body;
use super::strides;
use crate::syntax::Name;
use crate::types::Type;
use crate::values::{Cell, CellData, Changes, Item, Sym, Tensor, Tuple, Value};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_prepare::{functionalise, writes};
use aten2onnx_program::{Arg, Graph, Node, NodeOutput, Output, OutputKind, Program, TensorMeta, visit};

/// The results of two branches.
pub(super) struct Union {
    /// Symbols that came later belong to a branch.
    symbols: u32,
    bodies: [Option<Body>; 2],
    results: [Vec<Arg>; 2],
    outputs: Vec<NodeOutput>,
}

/// A branch.
#[derive(Debug, Clone, Copy)]
pub(super) enum Side {
    Yes,
    No,
}

impl Union {
    /// Of these bodies.
    pub fn new(symbols: u32, yes: Body, no: Body) -> Union {
        Union { symbols, bodies: [Some(yes), Some(no)], results: Default::default(), outputs: Vec::new() }
    }
}

impl Interpreter<'_, '_> {
    /// The value after the branches.
    pub(super) fn united(&mut self, union: &mut Union, a: &Item, b: &Item) -> Result<Item> {
        let ty = match (&a.ty, &b.ty) {
            (Type::None, other) | (other, Type::None) => Type::optional(other.clone()),
            (ty, _) => ty.clone(),
        };
        if a.value.is_same(&b.value) {
            return Ok(a.clone().typed(ty));
        }
        let value = match (&a.value, &b.value) {
            (Value::Uninitialized, other) => self.filled(union, other, Side::Yes)?,
            (other, Value::Uninitialized) => self.filled(union, other, Side::No)?,
            (Value::Tensor(a), Value::Tensor(b)) => self.united_tensor(union, a, b)?,
            (Value::Tuple(x), Value::Tuple(y)) if x.items.len() == y.items.len() => {
                let items = self.united_items(union, &x.items, &y.items)?;
                Value::Tuple(Rc::new(Tuple { items, class: x.class.clone() }))
            }
            (Value::List(x), Value::List(y)) => {
                let data = self.united_data(union, *x, *y)?;
                Value::List(self.add(data)?)
            }
            (Value::Dict(x), Value::Dict(y)) => {
                let data = self.united_data(union, *x, *y)?;
                Value::Dict(self.add(data)?)
            }
            (Value::Object(x), Value::Object(y)) => {
                let data = self.united_data(union, *x, *y)?;
                Value::Object(self.add(data)?)
            }
            (x, y) => self.united_number(union, x, y)?,
        };
        Ok(Item::new(value, ty))
    }

    fn united_items(&mut self, union: &mut Union, a: &[Item], b: &[Item]) -> Result<Vec<Item>> {
        a.iter().zip(b).map(|(a, b)| self.nested(|this| this.united(union, a, b))).collect()
    }

    fn united_data(&mut self, union: &mut Union, a: Cell, b: Cell) -> Result<CellData> {
        let data = |this: &Self, cell: Cell| this.heap.get(cell).map(|data| (**data).clone());
        match (data(self, a), data(self, b)) {
            (Some(a), Some(b)) => self.united_contents(union, a, b),
            _ => Err(Error::internal("expected an object")),
        }
    }

    fn united_contents(&mut self, union: &mut Union, a: CellData, b: CellData) -> Result<CellData> {
        match (a, b) {
            (CellData::List(a), CellData::List(b)) if a.len() == b.len() => {
                self.united_items(union, &a, &b).map(CellData::List)
            }
            (CellData::Growing(a), CellData::Growing(b)) if a.len() == b.len() => {
                self.united_items(union, &a, &b).map(CellData::Growing)
            }
            (CellData::List(_) | CellData::Growing(_), CellData::List(_) | CellData::Growing(_)) => {
                Err(Error::unsupported("the length of a list depends on a condition that is only known at run time"))
            }
            (CellData::Dict(a), CellData::Dict(b)) if a.len() == b.len() && a.keys().all(|key| b.contains_key(key)) => {
                let mut entries = IndexMap::new();
                for (key, (name, value)) in a {
                    if let Some((_, other)) = b.get(&key) {
                        entries.insert(key, (name, self.united(union, &value, other)?));
                    }
                }
                Ok(CellData::Dict(entries))
            }
            (CellData::Object(a), CellData::Object(b)) if a.class.name == b.class.name => {
                let mut object = a.clone();
                for (name, value) in &a.attributes {
                    if let Some(other) = b.attributes.get(name) {
                        let item = self.united(union, value, other);
                        let item = item.map_err(|error| error.at(format!("the attribute `{name}`")))?;
                        object.attributes.insert(Rc::clone(name), item);
                    }
                }
                Ok(CellData::Object(object))
            }
            _ => Err(Error::unsupported("an object depends on a condition that is only known at run time")),
        }
    }

    /// Unites what the branches changed on the heap.
    pub(super) fn united_heap(&mut self, union: &mut Union, mut a: Changes, mut b: Changes) -> Result<()> {
        let mut cells: Vec<Cell> = a.keys().chain(b.keys()).copied().collect();
        cells.sort_by_key(|cell| cell.0);
        cells.dedup();
        for cell in cells {
            let before = self.heap.get(cell).cloned();
            let before = before.ok_or_else(|| Error::internal("expected an object"))?;
            let (yes, no) = (a.remove(&cell).unwrap_or_else(|| Rc::clone(&before)), b.remove(&cell).unwrap_or(before));
            let data = self.united_contents(union, (*yes).clone(), (*no).clone())?;
            if let Some(slot) = self.heap.get_mut(cell) {
                *slot = data;
            }
        }
        Ok(())
    }

    fn united_tensor(&mut self, union: &mut Union, a: &Tensor, b: &Tensor) -> Result<Value> {
        let quantized = match (&a.quantized, &b.quantized) {
            (None, None) => None,
            (Some(x), Some(y)) if x.scale.is_same(&y.scale) && x.zero_point.is_same(&y.zero_point) => {
                Some(Rc::clone(x))
            }
            _ => return Err(Error::unsupported("a tensor is quantized in one branch only")),
        };
        let (x, y) = (self.recorder.meta(a)?, self.recorder.meta(b)?);
        let meta = self.joined_meta(&x, &y, union.symbols)?;
        self.sides(union, &Value::Tensor(a.clone()), &Value::Tensor(b.clone()))?;
        let tensor = self.new_output(union, meta);
        Ok(Value::Tensor(Tensor { quantized, ..tensor }))
    }

    /// A type that fits both: sizes that differ become symbols.
    pub(super) fn joined_meta(&mut self, a: &TensorMeta, b: &TensorMeta, symbols: u32) -> Result<TensorMeta> {
        if a.dtype != b.dtype || a.sizes.len() != b.sizes.len() {
            let shown =
                |meta: &TensorMeta| aten2onnx_onnx::graph::Type::tensor(meta.dtype, meta.sizes.clone()).to_string();
            let message =
                format!("a tensor is {} in one case and {} in another, which ONNX does not allow", shown(a), shown(b));
            let error = Error::unsupported(message);
            return Err(error.help("give sizes as numbers, so that the condition is known: `--input`"));
        }
        let mut sizes = Vec::with_capacity(a.sizes.len());
        for (x, y) in a.sizes.iter().zip(&b.sizes) {
            sizes.push(match x == y {
                true => self.recorder.outside(x, symbols),
                false => SymInt::symbol(self.recorder.symbol()),
            });
        }
        let strides = match strides::is_contiguous(a) && strides::is_contiguous(b) {
            true => strides::contiguous(&sizes),
            false => Vec::new(),
        };
        Ok(TensorMeta { dtype: a.dtype, sizes, strides, storage_offset: SymInt::from(0) })
    }

    fn new_output(&mut self, union: &mut Union, meta: TensorMeta) -> Tensor {
        let name = self.recorder.fresh("cond");
        union.outputs.push(NodeOutput::Tensor(name.to_string()));
        self.recorder.scratch.define(&name, meta.dtype, meta.sizes.clone());
        let memory = self.recorder.memory();
        self.recorder.define(&name, meta, memory)
    }

    fn united_number(&mut self, union: &mut Union, a: &Value, b: &Value) -> Result<Value> {
        let dtype = match (kind_of(a), kind_of(b)) {
            (Some(x), Some(y)) if x == y => x,
            (Some(_), Some(_)) => Dtype::Float64,
            _ => {
                let message = format!(
                    "it is {} in one case and {} in the other, which only a condition at run time decides",
                    a.kind(),
                    b.kind()
                );
                return Err(Error::unsupported(message));
            }
        };
        self.sides(union, a, b)?;
        let name = self.recorder.fresh("cond");
        union.outputs.push(NodeOutput::Sym(name.to_string()));
        Ok(self.recorder.define_number(&name, dtype))
    }

    /// Adds a result to one side.
    pub(super) fn side(&mut self, union: &mut Union, side: Side, value: &Value) -> Result<()> {
        let body = union.bodies.get_mut(side as usize).and_then(Option::take).unwrap_or_default();
        self.recorder.reopen(body);
        let arg = match value {
            Value::Tensor(tensor) => self.recorder.meta(tensor).map(|_| Arg::Tensor(tensor.name.to_string())),
            number => self.recorder.number(number),
        };
        let body = self.recorder.close();
        if let (Some(slot), Some(results)) = (union.bodies.get_mut(side as usize), union.results.get_mut(side as usize))
        {
            *slot = Some(body);
            results.push(arg?);
        }
        Ok(())
    }

    /// A value that one side does not have: zeros there, because nobody reads it.
    fn filled(&mut self, union: &mut Union, value: &Value, empty: Side) -> Result<Value> {
        match value {
            Value::Tensor(tensor) => {
                let meta = self.recorder.meta(tensor)?;
                let body = union.bodies.get_mut(empty as usize).and_then(Option::take).unwrap_or_default();
                self.recorder.reopen(body);
                let zeros = self.zeros_like(&meta, union.symbols);
                let body = self.recorder.close();
                if let Some(slot) = union.bodies.get_mut(empty as usize) {
                    *slot = Some(body);
                }
                let zeros = zeros?;
                match empty {
                    Side::Yes => self.united_tensor(union, &zeros, tensor),
                    Side::No => self.united_tensor(union, tensor, &zeros),
                }
            }
            Value::Sym(sym) => {
                let zero = match &**sym {
                    Sym::Int(_) => Value::Int(0),
                    Sym::Float(_) => Value::Float(0.0),
                    Sym::Bool(_) => Value::Bool(false),
                };
                match empty {
                    Side::Yes => self.united_number(union, &zero, value),
                    Side::No => self.united_number(union, value, &zero),
                }
            }
            Value::Tuple(tuple) => {
                let mut items = Vec::new();
                for item in &tuple.items {
                    items.push(Item::new(self.filled(union, &item.value, empty)?, item.ty.clone()));
                }
                Ok(Value::Tuple(Rc::new(Tuple { items, class: tuple.class.clone() })))
            }
            other => Ok(other.clone()),
        }
    }

    /// Zeros of a type; sizes that are not known here are 1.
    pub(super) fn zeros_like(&mut self, meta: &TensorMeta, symbols: u32) -> Result<Tensor> {
        let mut sizes = Vec::with_capacity(meta.sizes.len());
        for size in &meta.sizes {
            let outside = self.recorder.outside(size, symbols);
            let size = if outside == *size { size.clone() } else { SymInt::from(1) };
            sizes.push(Item::size(size));
        }
        let list = self.list_of(Type::Int, sizes)?;
        let dtype = Item::int(super::nodes::number_of_dtype(meta.dtype));
        let named = vec![(Name::from("dtype"), dtype)];
        match self.operator("aten::zeros", vec![list], named)?.value {
            Value::Tensor(tensor) => Ok(tensor),
            _ => Err(Error::internal("expected a tensor")),
        }
    }

    /// Adds the `cond` node.
    pub(super) fn finish_branch(&mut self, flag: &Value, union: Union) -> Result<()> {
        let Union { bodies, results, mut outputs, .. } = union;
        let mut graphs = Vec::new();
        for (body, results) in bodies.into_iter().zip(results) {
            let nodes = body.unwrap_or_default().nodes();
            let result = |value| Output { value, kind: OutputKind::User };
            graphs.push(Graph { nodes, outputs: results.into_iter().map(result).collect(), ..Graph::default() });
        }
        let has_effects = |graph: &Graph| graph.nodes.iter().any(|node| writes(&node.target) || has_graph(node));
        if outputs.is_empty() && !graphs.iter().any(has_effects) {
            return Ok(());
        }
        let mut operands: IndexSet<String> = IndexSet::new();
        graphs.iter().for_each(|graph| free_names(graph, &mut operands));
        let mut written: IndexSet<String> = IndexSet::new();
        for graph in &mut graphs {
            let names = operands.iter().map(String::as_str);
            written.extend(self.complete(graph, names)?);
        }
        for name in &written {
            for graph in &mut graphs {
                let is_new = |output: &&Output| output.kind == OutputKind::InputMutation(name.clone());
                let value = graph.outputs.iter().find(is_new).map(|output| output.value.clone());
                let value = value.unwrap_or_else(|| Arg::Tensor(name.clone()));
                graph.outputs.push(Output { value, kind: OutputKind::User });
            }
        }
        for graph in &mut graphs {
            graph.outputs.retain(|output| output.kind == OutputKind::User);
        }
        let news = self.declare_written(&written, &mut outputs)?;
        let flag = self.recorder.number(flag)?;
        let mut graphs = graphs.into_iter().map(|graph| (String::new(), Arg::Graph(Arc::new(graph))));
        let (yes, no) = (graphs.next(), graphs.next());
        let operands = Arg::Tensors(operands.into_iter().map(Some).collect());
        let args: Vec<(String, Arg)> =
            [Some((String::new(), flag)), yes, no, Some((String::new(), operands))].into_iter().flatten().collect();
        self.push_nested("higher_order::cond", args, outputs)?;
        self.write_back(news)
    }

    /// Adds a node with nested graphs.
    pub(super) fn push_nested(
        &mut self,
        target: &str,
        args: Vec<(String, Arg)>,
        outputs: Vec<NodeOutput>,
    ) -> Result<()> {
        let source_line = self.source_line();
        let name = self.recorder.fresh(target.rsplit(':').next().unwrap_or("nested"));
        let module = self.frames.last().and_then(|frame| frame.module.as_deref()).filter(|path| !path.is_empty());
        let module = module.map(str::to_owned);
        let target = target.to_owned();
        self.recorder.push(Node {
            name: name.to_string(),
            target,
            args,
            outputs,
            module,
            source_line,
            ..Node::default()
        })
    }

    /// Gives a nested graph its inputs and tables, and makes it functional. Returns the inputs that it writes to; their
    /// new values are further outputs.
    pub(super) fn complete<'n>(
        &mut self,
        graph: &mut Graph,
        inputs: impl Iterator<Item = &'n str>,
    ) -> Result<Vec<String>> {
        graph.inputs = inputs.map(|name| self.recorder.input(name)).collect();
        self.recorder.fill_tables(graph);
        if !graph.nodes.iter().any(|node| writes(&node.target)) {
            return Ok(Vec::new());
        }
        self.check_sharing(graph)?;
        let mut program = Program { graph: std::mem::take(graph), ..Program::default() };
        functionalise(&mut program, true)?;
        *graph = program.graph;
        let written = graph.outputs.iter().filter_map(|output| match &output.kind {
            OutputKind::InputMutation(name) => Some(name.clone()),
            _ => None,
        });
        Ok(written.collect())
    }

    /// Refuses a graph that writes to memory which it sees under several names.
    fn check_sharing(&self, graph: &Graph) -> Result<()> {
        let mut seen = IndexMap::new();
        for input in &graph.inputs {
            let Some(memory) = self.recorder.memory_of(&input.name) else { continue };
            seen.entry(memory).or_insert_with(Vec::new).push(input.name.clone());
        }
        for node in graph.nodes.iter().filter(|node| writes(&node.target)) {
            let mut shared = false;
            for (_, arg) in &node.args {
                visit::each_name(arg, &mut |name| {
                    let memory = self.recorder.memory_of(name);
                    shared |= memory.and_then(|memory| seen.get(&memory)).is_some_and(|names| names.len() > 1);
                });
            }
            if shared {
                let message = format!(
                    "`{}` writes inside of an `if` or loop to memory that is also read through a view",
                    node.target
                );
                return Err(Error::unsupported(message));
            }
        }
        Ok(())
    }

    /// New values of the tensors that a nested graph writes to.
    pub(super) fn declare_written(
        &mut self,
        written: &IndexSet<String>,
        outputs: &mut Vec<NodeOutput>,
    ) -> Result<Vec<(String, Name)>> {
        let mut news = Vec::new();
        for old in written {
            let meta = self.recorder.metas.get(old).cloned();
            let meta = meta.ok_or_else(|| Error::internal("a written tensor has no type"))?;
            let meta =
                TensorMeta { strides: strides::contiguous(&meta.sizes), storage_offset: SymInt::from(0), ..meta };
            let name = self.recorder.fresh("written");
            outputs.push(NodeOutput::Tensor(name.to_string()));
            self.recorder.scratch.define(&name, meta.dtype, meta.sizes.clone());
            let memory = self.recorder.memory();
            self.recorder.define(&name, meta, memory);
            news.push((old.clone(), name));
        }
        Ok(news)
    }

    /// Writes the new values into the tensors.
    pub(super) fn write_back(&mut self, news: Vec<(String, Name)>) -> Result<()> {
        for (old, new) in news {
            let args = vec![("self".to_owned(), Arg::Tensor(old)), ("src".to_owned(), Arg::Tensor(new.to_string()))];
            self.emit("aten::copy_", args, &[Type::Tensor])?;
        }
        Ok(())
    }
}

fn has_graph(node: &Node) -> bool {
    node.args.iter().any(|(_, arg)| matches!(arg, Arg::Graph(_)))
}

/// The names that a graph reads and does not define.
pub(super) fn free_names(graph: &Graph, found: &mut IndexSet<String>) {
    let mut defined: rustc_hash::FxHashSet<&str> = graph.inputs.iter().map(|input| input.name.as_str()).collect();
    for node in &graph.nodes {
        for (_, arg) in &node.args {
            visit::each_name(arg, &mut |name| {
                if !defined.contains(name) {
                    found.insert(name.to_owned());
                }
            });
        }
        defined.extend(visit::results(node));
    }
    for output in &graph.outputs {
        visit::each_name(&output.value, &mut |name| {
            if !defined.contains(name) {
                found.insert(name.to_owned());
            }
        });
    }
}

/// The kind of a number.
pub(super) fn kind_of(value: &Value) -> Option<Dtype> {
    match value {
        Value::Int(_) => Some(Dtype::Int64),
        Value::Float(_) => Some(Dtype::Float64),
        Value::Bool(_) => Some(Dtype::Bool),
        Value::Sym(sym) => Some(match &**sym {
            Sym::Int(_) => Dtype::Int64,
            Sym::Float(_) => Dtype::Float64,
            Sym::Bool(_) => Dtype::Bool,
        }),
        _ => None,
    }
}
