//! The front end for programs that were recorded while a model ran: their sizes are those of the run.
//!
//! A recorded program has known sizes, and nodes that compute numbers from them. The rules are the shape functions: each node is run in a scratch builder, in
//! order, and gives its results symbolic sizes in the dimensions of the inputs. These are held against the sizes that each run observed, so that no
//! size is believed that is wrong at one of them. A size that only data determines becomes a symbol.

mod loops;
mod nested;
mod numbers;
mod strides;
mod values;

use rustc_hash::{FxHashMap, FxHashSet};

use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_program::{Graph, Input, InputKind, Node, Program, TensorMeta};
use aten2onnx_rules::Rules;
use aten2onnx_translate::default_float;
use aten2onnx_translate::scratch::Scratch;

/// The least and the largest value of a symbol, as far as it has them.
pub type Bounds = (Option<i64>, Option<i64>);

/// What was seen while a model ran.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// The sizes of inputs, by name. An input that is an integer has one, its value.
    pub inputs: FxHashMap<String, Vec<Extent>>,
    /// The least and the largest value of each symbol.
    pub bounds: Vec<(String, Bounds)>,
    /// The runs, the first of which the program was made of.
    pub runs: Vec<Run>,
    /// Tensors whose sizes depend on elements of other tensors, by name.
    pub from_data: FxHashSet<String>,
}

/// A size of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extent {
    /// It is the same in every run.
    Known(i64),
    /// `factor * symbol + offset`
    Of {
        /// How often the symbol is in it.
        factor: i64,
        /// The name of the dimension.
        symbol: String,
        /// What is added.
        offset: i64,
    },
    /// The sum of two dimensions, such as that of past and new tokens.
    Sum(String, String),
}

/// A run of the model.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// The values of symbols.
    pub symbols: FxHashMap<String, i64>,
    /// The sizes of tensors by name.
    pub sizes: FxHashMap<String, Vec<i64>>,
}

/// Gives a program the symbolic sizes of its values.
///
/// # Errors
/// An operator has no rule, its rule refuses the arguments, or its sizes are not those that a run observed.
pub fn symbolic(program: &mut Program, recording: Recording, rules: &Rules) -> Result<()> {
    let mut scratch = Scratch::new(rules);
    scratch.set_default_float(default_float(program));
    program.is_recorded = true;
    program.hints = recording.runs.first().map(|run| run.symbols.clone()).unwrap_or_default();
    for (symbol, bounds) in &recording.bounds {
        program.ranges.insert(symbol.clone(), *bounds);
        scratch.declare_range(symbol, bounds.0, bounds.1);
    }
    for bound in &program.weights {
        scratch.define_bound(&bound.value, &bound.weight)?;
    }
    let Recording { inputs, runs, from_data, .. } = recording;
    let environments = runs.iter().map(|run| run.symbols.clone()).collect();
    let observed = runs.into_iter().map(|run| run.sizes).collect();
    let mut graph = std::mem::take(&mut program.graph);
    let mut nodes = std::mem::take(&mut graph.nodes);
    let named = std::mem::take(&mut graph.inputs);
    let mut pass = Pass {
        scratch,
        environments,
        observed,
        from_data,
        weights: FxHashMap::default(),
        dimensions: program.ranges.keys().cloned().collect(),
        graph,
        symbols: Vec::new(),
        of_sides: FxHashSet::default(),
        inner: Graph::default(),
    };
    pass.weights =
        program.weights.iter().map(|bound| (bound.value.clone(), strides::of_weight(&bound.weight))).collect();
    for input in &named {
        pass.input(input, &inputs)?;
    }
    for node in &mut nodes {
        pass.node(node).map_err(|error| at_node(error, node))?;
    }
    let Pass { graph, inner, .. } = pass;
    program.graph = Graph { nodes, inputs: named, ..graph };
    add_numbers(&mut program.graph, &inner);
    Ok(())
}

fn at_node(error: Error, node: &Node) -> Error {
    let place = match &node.source_line {
        Some(line) => format!("`{}` ({}), {line}", node.name, node.target),
        None => format!("`{}` ({})", node.name, node.target),
    };
    error.at(place)
}

/// What is known while the nodes are visited in order.
struct Pass<'r> {
    scratch: Scratch<'r>,
    /// The values of symbols in each run.
    environments: Vec<FxHashMap<String, i64>>,
    /// The sizes of tensors in each run.
    observed: Vec<FxHashMap<String, Vec<i64>>>,
    from_data: FxHashSet<String>,
    /// The types of weights.
    weights: FxHashMap<String, TensorMeta>,
    /// The names of the dimensions of the inputs, and of all symbols.
    dimensions: FxHashSet<String>,
    /// The graph that is visited, without its inputs and nodes: what it records of its values.
    graph: Graph,
    /// Symbols for what only data determines, in the order in which they were made.
    symbols: Vec<String>,
    /// Those for sizes that the sides of a branch or the turns of a loop decide. The runs need not have seen all of them.
    of_sides: FxHashSet<String>,
    /// The numbers of nested graphs: conditions name them.
    inner: Graph,
}

/// Adds the numbers of another graph, whose names all differ.
fn add_numbers(graph: &mut Graph, other: &Graph) {
    graph.sym_ints.extend(other.sym_ints.clone());
    graph.sym_floats.extend(other.sym_floats.clone());
    graph.sym_bools.extend(other.sym_bools.clone());
}

impl Pass<'_> {
    fn input(&mut self, input: &Input, inputs: &FxHashMap<String, Vec<Extent>>) -> Result<()> {
        let name = input.name.as_str();
        let sizes: Option<Vec<SymInt>> = inputs.get(name).map(|sizes| sizes.iter().map(size_of).collect());
        match (&input.kind, sizes) {
            (InputKind::Tensor, sizes) => {
                let meta = self.graph.tensors.get_mut(name);
                let meta = meta.ok_or_else(|| Error::input(format!("the input `{name}` has no recorded type")))?;
                if let Some(sizes) = sizes {
                    if sizes.len() != meta.sizes.len() {
                        return Err(Error::input(format!(
                            "the input `{name}` has {} recorded dimensions, not {}",
                            meta.sizes.len(),
                            sizes.len()
                        )));
                    }
                    (meta.strides, meta.storage_offset) = strides::of_sizes(meta, &sizes);
                    meta.sizes = sizes;
                }
                self.scratch.define(name, meta.dtype, meta.sizes.clone());
            }
            (InputKind::SymInt, Some(sizes)) => {
                if let Some(size) = sizes.into_iter().next() {
                    self.define_int(name, size);
                }
            }
            (InputKind::SymInt, None) => self.unknown_int(name),
            (InputKind::SymFloat, _) => self.scratch.define_unknown(name, aten2onnx_core::dtype::Dtype::Float64),
            (InputKind::SymBool, _) => self.scratch.define_unknown(name, aten2onnx_core::dtype::Dtype::Bool),
            (InputKind::Constant(_), _) => {}
        }
        Ok(())
    }

    /// A symbol that no input has.
    fn fresh(&mut self) -> String {
        let mut number = self.symbols.len() + 1;
        while self.dimensions.contains(&format!("u{number}")) {
            number += 1;
        }
        let symbol = format!("u{number}");
        self.dimensions.insert(symbol.clone());
        self.symbols.push(symbol.clone());
        symbol
    }
}

fn size_of(extent: &Extent) -> SymInt {
    match extent {
        Extent::Known(size) => SymInt::from(*size),
        Extent::Of { factor, symbol, offset } => {
            SymInt::symbol(symbol.as_str()).mul(&SymInt::from(*factor)).add(&SymInt::from(*offset))
        }
        Extent::Sum(one, other) => SymInt::symbol(one.as_str()).add(&SymInt::symbol(other.as_str())),
    }
}
