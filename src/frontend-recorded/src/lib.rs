//! The front end for programs that were recorded while a model ran: their sizes are those of the run.
//!
//! A recorded program has known sizes, and nodes that compute numbers from them. The rules are the shape functions: each node is run in a scratch builder, in
//! order, and gives its results symbolic sizes in the dimensions of the inputs. These are held against the sizes that each run observed, so that no
//! size is believed that is wrong at one of them. A size that only data determines becomes a symbol.

mod numbers;
mod strides;
mod values;

use rustc_hash::{FxHashMap, FxHashSet};

use aten2onnx_core::error::{Error, Result};
use aten2onnx_core::sym::SymInt;
use aten2onnx_program::{Input, InputKind, Node, Program};
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
    let graph = &mut program.graph;
    let mut pass = Pass {
        scratch,
        environments,
        observed,
        from_data,
        weights: FxHashMap::default(),
        tensors: &mut graph.tensors,
        sym_ints: &mut graph.sym_ints,
        sym_floats: &mut graph.sym_floats,
        sym_bools: &mut graph.sym_bools,
        symbols: 0,
    };
    pass.weights =
        program.weights.iter().map(|bound| (bound.value.clone(), strides::of_weight(&bound.weight))).collect();
    for input in &graph.inputs {
        pass.input(input, &inputs)?;
    }
    for node in &mut graph.nodes {
        pass.node(node).map_err(|error| at_node(error, node))?;
    }
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
struct Pass<'p, 'r> {
    scratch: Scratch<'r>,
    /// The values of symbols in each run.
    environments: Vec<FxHashMap<String, i64>>,
    /// The sizes of tensors in each run.
    observed: Vec<FxHashMap<String, Vec<i64>>>,
    from_data: FxHashSet<String>,
    /// The types of weights.
    weights: FxHashMap<String, aten2onnx_program::TensorMeta>,
    tensors: &'p mut FxHashMap<String, aten2onnx_program::TensorMeta>,
    sym_ints: &'p mut FxHashMap<String, SymInt>,
    sym_floats: &'p mut FxHashMap<String, aten2onnx_program::SymNumber>,
    sym_bools: &'p mut FxHashMap<String, aten2onnx_program::SymNumber>,
    /// The number of symbols for what only data determines.
    symbols: u32,
}

impl Pass<'_, '_> {
    fn input(&mut self, input: &Input, inputs: &FxHashMap<String, Vec<Extent>>) -> Result<()> {
        let name = input.name.as_str();
        let sizes: Option<Vec<SymInt>> = inputs.get(name).map(|sizes| sizes.iter().map(size_of).collect());
        match (&input.kind, sizes) {
            (InputKind::Tensor, sizes) => {
                let meta = self.tensors.get_mut(name);
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
        self.symbols += 1;
        format!("u{}", self.symbols)
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
