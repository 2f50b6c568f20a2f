//! The ATen program that front ends return: operators by overload, arguments and values by name.
//!
//! It knows nothing of archives or ONNX.

pub mod arguments;
pub mod validate;
#[doc(hidden)]
pub mod visit;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::sym::SymInt;
use aten2onnx_core::weights::Weight;

/// Whether it is a Python function on numbers of the program (`_operator::mul`, `math::sqrt`, `torch::sym_max`).
pub fn is_python(target: &str) -> bool {
    let namespace = target.split_once(':').map_or("", |(namespace, _)| namespace);
    matches!(namespace, "_operator" | "math" | "torch")
}

/// A whole program.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// The name of the source for messages: `model.pt2`.
    pub source: String,
    /// The top-level graph.
    pub graph: Graph,
    /// Parameters, buffers and constants, by the input that they are bound to, in order of appearance.
    pub weights: Vec<BoundWeight>,
    /// Bounds of symbols, inclusive.
    pub ranges: FxHashMap<String, (Option<i64>, Option<i64>)>,
    /// Whether the user declared the bounds, so that none of them is an assumption of PyTorch.
    pub is_recorded: bool,
    /// Conditions on sizes and other numbers under which the program was captured: elsewhere it may compute something else than the model.
    pub guards: Vec<Guard>,
    /// Whether `guards` are all of them: files of older versions of PyTorch have none.
    pub has_guards: bool,
    /// Whether sizes may differ and nothing records the conditions on them: [`NO_GUARDS`] is among the notes.
    pub lacks_guards: bool,
    /// What the program asserts of its numbers while it runs: truth values in its symbols, and None for one that is not understood.
    pub assertions: Vec<Option<SymInt>>,
    /// The values of symbols in the example that the program was exported with.
    pub hints: FxHashMap<String, i64>,
    /// The names of the user's outputs, in order, where the model returns them under a key or in a field.
    pub output_names: Vec<Option<String>>,
    /// The version of torch that wrote it, if known.
    pub torch_version: Option<String>,
    /// The calls of modules that nodes of the top-level graph are in, the outermost first, by the name of the node.
    pub calls: FxHashMap<String, Arc<[ModuleCall]>>,
    /// Notes for the user (unknown fields of a newer schema, dropped mutations, ...).
    pub notes: Vec<String>,
}

/// What is told of a program whose file has no conditions on sizes.
pub const NO_GUARDS: &str = "the program does not record the conditions on sizes under which it was captured, as those of PyTorch 2.9 and newer do: \
     it may be right for some sizes only. Save it again with a newer PyTorch, pass the module to `aten2onnx.export`, or compare it with the model at the sizes that you need";

/// A condition under which a program was captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Guard {
    /// A truth value in the symbols of the program.
    Sizes(SymInt),
    /// On strides or offsets of inputs in memory, which sizes do not tell: its text in Python.
    Layout(String),
    /// One that is not understood: its text in Python.
    Unknown(String),
}

/// A call of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleCall {
    /// The path of the module, with a number for its second and later calls: `layers.0`, `layers.0@1`.
    pub id: String,
    /// Its type: `torch.nn.modules.linear.Linear`.
    pub class: String,
}

/// A weight and the graph input it is bound to.
#[derive(Debug, Clone)]
pub struct BoundWeight {
    /// The value's name in the graph: `p_layer1_weight`.
    pub value: String,
    /// Its data; tied weights share the [`Arc`].
    pub weight: Arc<Weight>,
}

/// A graph; nested ones are arguments of higher-order operators.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// Inputs in order; without weights at the top level.
    pub inputs: Vec<Input>,
    /// In topological order.
    pub nodes: Vec<Node>,
    /// Outputs in order; mutations come after the user's outputs.
    pub outputs: Vec<Output>,
    /// Recorded properties of tensors, by value name.
    pub tensors: FxHashMap<String, TensorMeta>,
    /// Integer values (`sym_size`, ...), by value name.
    pub sym_ints: FxHashMap<String, SymInt>,
    /// Float values (`item()` of a float tensor, ...), by value name.
    pub sym_floats: FxHashMap<String, SymNumber>,
    /// Boolean values, by value name.
    pub sym_bools: FxHashMap<String, SymNumber>,
}

/// The known value of a symbolic float or bool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SymNumber {
    /// A known float.
    Float(f64),
    /// A known bool.
    Bool(bool),
    /// Only the graph computes it.
    Unknown,
}

/// A user input.
#[derive(Debug, Clone)]
pub struct Input {
    /// The value's name.
    pub name: String,
    /// The kind of input.
    pub kind: InputKind,
}

/// The kinds of user inputs.
#[derive(Debug, Clone)]
pub enum InputKind {
    /// A tensor; see [`Graph::tensors`].
    Tensor,
    /// An int; see [`Graph::sym_ints`].
    SymInt,
    /// A float.
    SymFloat,
    /// A bool.
    SymBool,
    /// A constant that was specialized during tracing: not an input of the ONNX model.
    Constant(Arg),
}

/// An output.
#[derive(Debug, Clone)]
pub struct Output {
    /// The value, or a constant (`None` outputs are [`Arg::None`]).
    pub value: Arg,
    /// The purpose of the output.
    pub kind: OutputKind,
}

/// The purpose of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputKind {
    /// An output of the user.
    User,
    /// The new value of a buffer (its name in the state dict).
    BufferMutation(String),
    /// The new value of a user input (its name).
    InputMutation(String),
}

/// Recorded properties of a tensor.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorMeta {
    /// Element type.
    pub dtype: Dtype,
    /// Sizes.
    pub sizes: Vec<SymInt>,
    /// Strides in elements, if recorded.
    pub strides: Vec<SymInt>,
    /// Offset in elements.
    pub storage_offset: SymInt,
}

/// An operator call.
#[derive(Debug, Clone, Default)]
pub struct Node {
    /// The node's own name: `relu_1`.
    pub name: String,
    /// `aten::add.Tensor`, `aten::relu` (default overload), `_operator::mul`, `math::trunc`, `torch::sym_max`,
    /// `higher_order::cond`.
    pub target: String,
    /// The given arguments by name; those of higher-order operators have empty names.
    pub args: Vec<(String, Arg)>,
    /// Results in order.
    pub outputs: Vec<NodeOutput>,
    /// Path of the module that called it: `layer1.0.conv1`, if known.
    pub module: Option<String>,
    /// Type of that module: `torch.nn.modules.conv.Conv2d`, if known.
    pub module_type: Option<String>,
    /// The innermost line of the user's source, `File "x.py", line 3, in forward`, if known.
    pub source_line: Option<String>,
}

/// A result of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeOutput {
    /// A tensor's name.
    Tensor(String),
    /// Names of a list of tensors.
    Tensors(Vec<String>),
    /// The name of an int, float or bool.
    Sym(String),
    /// No result.
    None,
}

/// An argument.
#[derive(Debug, Clone)]
pub enum Arg {
    /// `None`
    None,
    /// A tensor by name (for a higher-order operator's operand also a symbolic number by name).
    Tensor(String),
    /// A list of tensors, some of which may be None.
    Tensors(Vec<Option<String>>),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// A complex number.
    Complex(f64, f64),
    /// A string.
    Str(String),
    /// A symbolic int, float or bool by name.
    Sym(String),
    /// Integers, known or by name.
    Ints(Vec<IntArg>),
    /// Floats.
    Floats(Vec<f64>),
    /// Symbolic or known floats, by name or value.
    SymFloats(Vec<FloatArg>),
    /// Booleans.
    Bools(Vec<bool>),
    /// Strings.
    Strs(Vec<String>),
    /// A dtype.
    Dtype(Dtype),
    /// A layout, memory format or device, which ONNX does not use; its text is for messages.
    Opaque(String),
    /// Lists of lists of ints.
    IntLists(Vec<Vec<i64>>),
    /// Lists of lists of tensors.
    NestedTensors(Vec<Vec<String>>),
    /// A nested graph.
    Graph(Arc<Graph>),
    /// An operator by name (of `auto_functionalized`).
    Operator(String),
}

/// An element of an int list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntArg {
    /// A known value.
    Known(i64),
    /// A value by name, see [`Graph::sym_ints`].
    Named(String),
}

/// An element of a float list.
#[derive(Debug, Clone, PartialEq)]
pub enum FloatArg {
    /// A known value.
    Known(f64),
    /// A value by name.
    Named(String),
}
