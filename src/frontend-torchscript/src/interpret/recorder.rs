//! The program under construction: nodes, names, types of values, and the scratch builder that finds them.

use std::rc::Rc;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::syntax::Name;
use crate::values::{Memory, Sym, Tensor, Value};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_core::weights::Weight;
use aten2onnx_program::visit;
use aten2onnx_program::{Arg, Graph, Input, InputKind, Node, NodeOutput, SymNumber, TensorMeta};
use aten2onnx_translate::scratch::{self, Scratch};

/// The most nodes of a program.
const MAX_NODES: usize = 1_000_000;

/// The program under construction.
pub struct Recorder<'r> {
    pub scratch: Scratch<'r>,
    /// All tensors by name.
    pub metas: FxHashMap<String, TensorMeta>,
    sym_ints: FxHashMap<String, SymInt>,
    sym_floats: FxHashMap<String, SymNumber>,
    sym_bools: FxHashMap<String, SymNumber>,
    /// Where the value of a symbol is.
    sources: FxHashMap<String, Source>,
    /// The graph, and the bodies inside of it.
    scopes: Vec<Scope>,
    names: FxHashMap<String, u32>,
    taken: FxHashSet<String>,
    /// All weights of the archive, and those that are used.
    weights: IndexMap<Name, Arc<Weight>>,
    pub used: IndexMap<Name, Arc<Weight>>,
    memories: u32,
    /// The names of the tensors in a memory.
    sharing: FxHashMap<Memory, Vec<Name>>,
    memory_by_name: FxHashMap<Name, Memory>,
    symbols: u32,
    /// Symbols of inputs, and those among them that are sizes.
    pub input_symbols: FxHashSet<String>,
    pub size_symbols: FxHashSet<String>,
    /// Constants of the archive that are numbers of Python.
    pub wrapped: FxHashMap<String, Arg>,
    /// Sizes that depend on symbols, in their order.
    sizes: IndexSet<SymInt>,
    nodes: usize,
}

/// Where the value of a symbol is.
#[derive(Debug, Clone)]
enum Source {
    Size(Name, usize),
    Number(Name),
}

/// The nodes of a graph.
#[derive(Debug, Default)]
struct Scope {
    nodes: Vec<Node>,
    /// Names of expressions that are already computed in this graph.
    expressions: FxHashMap<SymInt, Name>,
}

/// The nodes of a body.
#[derive(Debug, Default)]
pub struct Body(Scope);

impl Body {
    /// The nodes.
    pub fn nodes(self) -> Vec<Node> {
        self.0.nodes
    }
}

impl<'r> Recorder<'r> {
    /// An empty program that may use these weights.
    pub fn new(scratch: Scratch<'r>, weights: IndexMap<Name, Arc<Weight>>, memories: u32) -> Recorder<'r> {
        let taken = weights.keys().map(ToString::to_string).collect();
        Recorder {
            scratch,
            metas: FxHashMap::default(),
            sym_ints: FxHashMap::default(),
            sym_floats: FxHashMap::default(),
            sym_bools: FxHashMap::default(),
            sources: FxHashMap::default(),
            scopes: vec![Scope::default()],
            names: FxHashMap::default(),
            taken,
            weights,
            used: IndexMap::new(),
            memories,
            sharing: FxHashMap::default(),
            memory_by_name: FxHashMap::default(),
            symbols: 0,
            input_symbols: FxHashSet::default(),
            size_symbols: FxHashSet::default(),
            wrapped: FxHashMap::default(),
            sizes: IndexSet::new(),
            nodes: 0,
        }
    }

    /// An unused name.
    pub fn fresh(&mut self, stem: &str) -> Name {
        let stem = if stem.is_empty() { "value" } else { stem };
        loop {
            let count = self.names.entry(stem.to_owned()).or_insert(0);
            let name = if *count == 0 { stem.to_owned() } else { format!("{stem}_{count}") };
            *count += 1;
            if self.taken.insert(name.clone()) {
                return Rc::from(name);
            }
        }
    }

    /// A new symbol.
    pub fn symbol(&mut self) -> String {
        loop {
            self.symbols += 1;
            let symbol = format!("u{}", self.symbols);
            if !self.input_symbols.contains(&symbol) {
                return symbol;
            }
        }
    }

    /// The number of a symbol that is not the user's.
    fn number_of(&self, symbol: &str) -> Option<u32> {
        let digits = symbol.strip_prefix('u').filter(|_| !self.input_symbols.contains(symbol))?;
        digits.split('_').next()?.parse().ok()
    }

    /// New memory.
    pub fn memory(&mut self) -> Memory {
        self.memories = self.memories.saturating_add(1);
        Memory(self.memories)
    }

    /// The type of a tensor; that of a weight is registered when it is first needed.
    pub fn meta(&mut self, tensor: &Tensor) -> Result<TensorMeta> {
        if let Some(meta) = self.metas.get(&*tensor.name) {
            return Ok(meta.clone());
        }
        let weight = self.weights.get(&tensor.name).cloned();
        let weight = weight.ok_or_else(|| Error::internal(format!("the tensor `{}` has no type", tensor.name)))?;
        let meta = meta_of(&weight);
        self.metas.insert(tensor.name.to_string(), meta.clone());
        self.scratch.define_bound(&tensor.name, &weight)?;
        self.used.insert(Rc::clone(&tensor.name), weight);
        self.share(&tensor.name, tensor.memory);
        Ok(meta)
    }

    /// The dtype and the bytes of a weight without dimensions.
    pub fn single_element(&self, name: &str) -> Option<(Dtype, Vec<u8>)> {
        let weight = self.weights.get(name).filter(|weight| weight.sizes.is_empty())?;
        Some((weight.dtype, scratch::small_constant(weight)?))
    }

    /// Adds a weight.
    pub fn add_weight(&mut self, name: &Name, weight: Arc<Weight>) {
        self.weights.insert(Rc::clone(name), weight);
    }

    /// Registers a tensor: its type, and its memory.
    pub fn define(&mut self, name: &Name, meta: TensorMeta, memory: Memory) -> Tensor {
        for (axis, size) in meta.sizes.iter().enumerate() {
            if let Some(symbol) = size.as_symbol()
                && !self.sources.contains_key(symbol)
            {
                self.sources.insert(symbol.to_owned(), Source::Size(Rc::clone(name), axis));
            }
            if size.known().is_none() && !self.sizes.contains(size) {
                self.sizes.insert(size.clone());
            }
        }
        self.metas.insert(name.to_string(), meta);
        self.share(name, memory);
        Tensor { name: Rc::clone(name), memory, quantized: None }
    }

    /// The sizes of all tensors that depend on symbols, each once.
    pub fn sizes(&self) -> impl Iterator<Item = &SymInt> {
        self.sizes.iter()
    }

    fn share(&mut self, name: &Name, memory: Memory) {
        self.sharing.entry(memory).or_default().push(Rc::clone(name));
        self.memory_by_name.insert(Rc::clone(name), memory);
    }

    /// The memory of a tensor by name.
    pub fn memory_of(&self, name: &str) -> Option<Memory> {
        self.memory_by_name.get(name).copied()
    }

    /// The least value of a symbol, if it is known. Sizes that the user names are at least 1, as torch.export has it.
    pub fn least(&self, symbol: &str) -> Option<i64> {
        match self.sources.get(symbol) {
            Some(Source::Size(..)) if self.size_symbols.contains(symbol) => Some(1),
            Some(Source::Size(..)) => Some(0),
            _ => None,
        }
    }

    /// Registers a number that only the graph computes.
    pub fn define_number(&mut self, name: &Name, dtype: Dtype) -> Value {
        match dtype {
            Dtype::Bool => {
                self.sym_bools.insert(name.to_string(), SymNumber::Unknown);
                self.scratch.define_unknown(name, dtype);
                Value::Sym(Rc::new(Sym::Bool(Rc::clone(name))))
            }
            Dtype::Int64 => {
                let symbol = self.symbol();
                self.define_int(name, symbol)
            }
            _ => {
                self.sym_floats.insert(name.to_string(), SymNumber::Unknown);
                self.scratch.define_unknown(name, Dtype::Float64);
                Value::Sym(Rc::new(Sym::Float(Rc::clone(name))))
            }
        }
    }

    /// Registers an integer that a symbol stands for.
    pub fn define_int(&mut self, name: &Name, symbol: String) -> Value {
        let size = SymInt::symbol(symbol.as_str());
        self.sym_ints.insert(name.to_string(), size.clone());
        self.scratch.define_symbol(&symbol);
        self.scratch.define_number(name, aten2onnx_builder::Scalar::Sym(size.clone()));
        self.sources.insert(symbol, Source::Number(Rc::clone(name)));
        Value::size(size)
    }

    /// Adds a node to the current graph.
    pub fn push(&mut self, node: Node) -> Result<()> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            let error =
                Error::unsupported(format!("the program has more than {MAX_NODES} nodes when its loops are unrolled"));
            return Err(error.help("give the sizes that the loops depend on as symbols, so that they stay loops"));
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.nodes.push(node);
        }
        Ok(())
    }

    /// A number as the argument of a node.
    pub fn number(&mut self, value: &Value) -> Result<Arg> {
        Ok(match value {
            Value::None => Arg::None,
            Value::Int(number) => Arg::Int(*number),
            Value::Float(number) => Arg::Float(*number),
            Value::Bool(flag) => Arg::Bool(*flag),
            Value::Complex(re, im) => Arg::Complex(*re, *im),
            Value::Sym(sym) => Arg::Sym(self.named(sym)?.to_string()),
            other => return Err(Error::unsupported(format!("{} is used as a number", other.kind()))),
        })
    }

    /// The size that an argument of a node stands for.
    pub fn size(&self, arg: &Arg) -> Option<SymInt> {
        match arg {
            Arg::Int(number) => Some(SymInt::from(*number)),
            Arg::Sym(name) => self.sym_ints.get(name).cloned(),
            _ => None,
        }
    }

    /// The name of a symbolic number; an expression becomes a node.
    pub fn named(&mut self, sym: &Sym) -> Result<Name> {
        match sym {
            Sym::Float(name) | Sym::Bool(name) => Ok(Rc::clone(name)),
            Sym::Int(size) => self.expression(size),
        }
    }

    fn expression(&mut self, size: &SymInt) -> Result<Name> {
        if let Some(name) = self.scopes.last().and_then(|scope| scope.expressions.get(size)) {
            return Ok(Rc::clone(name));
        }
        let source = size.as_symbol().and_then(|symbol| self.sources.get(symbol)).cloned();
        if let Some(Source::Number(name)) = source {
            return Ok(name);
        }
        let (target, args) = match source {
            Some(Source::Size(tensor, axis)) => {
                let axis = i64::try_from(axis).unwrap_or(0);
                let args =
                    vec![("self".to_owned(), Arg::Tensor(tensor.to_string())), ("dim".to_owned(), Arg::Int(axis))];
                ("aten::sym_size.int", args)
            }
            _ => {
                let mut args = Vec::new();
                for symbol in size.symbols() {
                    if size.as_symbol() != Some(&symbol) && self.sources.contains_key(&symbol) {
                        let name = self.expression(&SymInt::symbol(symbol))?;
                        args.push((String::new(), Arg::Sym(name.to_string())));
                    }
                }
                // The expression is recorded, so nothing has to be computed.
                ("torch::sym_int", args)
            }
        };
        let name = self.fresh("size");
        self.sym_ints.insert(name.to_string(), size.clone());
        self.scratch.define_number(&name, aten2onnx_builder::Scalar::Sym(size.clone()));
        let outputs = vec![NodeOutput::Sym(name.to_string())];
        self.push(Node { name: name.to_string(), target: target.to_owned(), args, outputs, ..Node::default() })?;
        if let Some(scope) = self.scopes.last_mut() {
            scope.expressions.insert(size.clone(), Rc::clone(&name));
        }
        Ok(name)
    }

    /// Forgets what is known of the elements in a memory that is written.
    pub fn written(&mut self, memory: Memory) {
        let names = self.sharing.get(&memory).cloned().unwrap_or_default();
        for name in names {
            if self.scratch.content(&name).is_none() && self.scratch.floats(&name).is_none() {
                continue;
            }
            if let Some(meta) = self.metas.get(&*name) {
                self.scratch.define(&name, meta.dtype, meta.sizes.clone());
            }
        }
    }

    /// Opens a body.
    pub fn open(&mut self) {
        self.scopes.push(Scope::default());
    }

    /// Closes a body.
    pub fn close(&mut self) -> Body {
        match self.scopes.len() {
            0 | 1 => Body::default(),
            _ => Body(self.scopes.pop().unwrap_or_default()),
        }
    }

    /// Opens a body again, to add nodes.
    pub fn reopen(&mut self, body: Body) {
        self.scopes.push(body.0);
    }

    /// The number of symbols so far: those that come later belong to what is run later.
    pub fn symbol_count(&self) -> u32 {
        self.symbols
    }

    /// A size without the symbols that came after `count`: a new symbol in place of an expression with one.
    pub fn outside(&mut self, size: &SymInt, count: u32) -> SymInt {
        let is_later = |symbol: &String| self.number_of(symbol).is_some_and(|number| number > count);
        match size.symbols().iter().any(is_later) {
            true => SymInt::symbol(self.symbol()),
            false => size.clone(),
        }
    }

    /// The name of a number; a known one becomes a node.
    pub fn named_number(&mut self, value: &Value) -> Result<Name> {
        let (target, arg) = match value {
            Value::Sym(sym) => return self.named(&Rc::clone(sym)),
            Value::Int(number) => return self.expression(&SymInt::from(*number)),
            Value::Float(number) => ("torch::sym_float", Arg::Float(*number)),
            Value::Bool(flag) => ("torch::sym_not", Arg::Bool(!flag)),
            other => return Err(Error::unsupported(format!("{} is used as a number", other.kind()))),
        };
        let name = self.fresh("number");
        let dtype = if matches!(value, Value::Bool(_)) { Dtype::Bool } else { Dtype::Float64 };
        self.define_number(&name, dtype);
        let outputs = vec![NodeOutput::Sym(name.to_string())];
        let args = vec![(String::new(), arg)];
        self.push(Node { name: name.to_string(), target: target.to_owned(), args, outputs, ..Node::default() })?;
        Ok(name)
    }

    /// The nodes of the whole program.
    pub fn take_nodes(&mut self) -> Vec<Node> {
        self.scopes.first_mut().map(|scope| std::mem::take(&mut scope.nodes)).unwrap_or_default()
    }

    /// The kind of a graph's input with this name.
    pub fn input(&self, name: &str) -> Input {
        let kind = if self.metas.contains_key(name) {
            InputKind::Tensor
        } else if self.sym_ints.contains_key(name) {
            InputKind::SymInt
        } else if self.sym_bools.contains_key(name) {
            InputKind::SymBool
        } else {
            InputKind::SymFloat
        };
        Input { name: name.to_owned(), kind }
    }

    /// Fills the tables of a graph with the values that it defines.
    pub fn fill_tables(&self, graph: &mut Graph) {
        let inputs = graph.inputs.iter().map(|input| input.name.as_str());
        let names: Vec<String> = inputs.chain(graph.nodes.iter().flat_map(visit::results)).map(str::to_owned).collect();
        for name in names {
            self.fill(graph, name);
        }
    }

    /// Adds a value to the tables of a graph.
    pub fn fill(&self, graph: &mut Graph, name: String) {
        if let Some(meta) = self.metas.get(&name) {
            graph.tensors.insert(name, meta.clone());
        } else if let Some(size) = self.sym_ints.get(&name) {
            graph.sym_ints.insert(name, size.clone());
        } else if let Some(number) = self.sym_floats.get(&name) {
            graph.sym_floats.insert(name, *number);
        } else if let Some(number) = self.sym_bools.get(&name) {
            graph.sym_bools.insert(name, *number);
        }
    }
}

/// The type of a weight.
fn meta_of(weight: &Weight) -> TensorMeta {
    let sizes = |sizes: &[i64]| sizes.iter().copied().map(SymInt::from).collect();
    TensorMeta {
        dtype: weight.dtype,
        sizes: sizes(&weight.sizes),
        strides: sizes(&weight.strides),
        storage_offset: SymInt::from(weight.offset),
    }
}
