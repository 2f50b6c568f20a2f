//! The JSON of an exported program (torch's export schema, version 8), for deserialization with serde. The Python package fills
//! the same structs from an FX graph.
//!
//! Only needed data is kept: unknown fields are skipped, and of the metadata of nodes, which is half of the text, only
//! the module path and the user's source line are read. Strings without escapes are borrowed from the text.

// The names are those of the schema.
#![allow(clippy::enum_variant_names)]

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

pub use super::metadata::{ModuleStack, SourceLine};

/// A string of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text<'a>(Cow<'a, str>);

impl Text<'_> {
    /// Copies the text.
    pub fn into_string(self) -> String {
        self.0.into_owned()
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Text(Cow::Owned(text))
    }
}

impl Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(V)
    }
}

/// A float, or a string for a value that JSON numbers cannot represent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Float(pub f64);

impl<'de> Deserialize<'de> for Float {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = Float;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, \"Infinity\", \"-Infinity\" or \"NaN\"")
            }
            fn visit_f64<E>(self, number: f64) -> Result<Float, E> {
                Ok(Float(number))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Float, E> {
                Ok(Float(number as f64))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Float, E> {
                Ok(Float(number as f64))
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Float, E> {
                match text {
                    "Infinity" => Ok(Float(f64::INFINITY)),
                    "-Infinity" => Ok(Float(f64::NEG_INFINITY)),
                    "NaN" => Ok(Float(f64::NAN)),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(V)
    }
}

/// An object as a list of its entries in order.
#[derive(Debug, Clone)]
pub struct Pairs<'a, T>(pub Vec<(Text<'a>, T)>);

impl<T> Default for Pairs<'_, T> {
    fn default() -> Self {
        Pairs(Vec::new())
    }
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for Pairs<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V<'a, T>(PhantomData<(&'a (), T)>);
        impl<'de: 'a, 'a, T: Deserialize<'de>> Visitor<'de> for V<'a, T> {
            type Value = Pairs<'a, T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(V(PhantomData))
    }
}

/// `null` gives the default, like a missing field.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Only the version, which is read if the document cannot be.
#[derive(Debug, Deserialize)]
pub struct VersionOnly {
    /// The version.
    pub schema_version: SchemaVersion,
}

#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct SchemaVersion {
    pub major: i64,
    pub minor: i64,
}

/// The whole document.
#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
#[allow(missing_docs)]
pub struct ExportedProgram<'a> {
    pub graph_module: GraphModule<'a>,
    pub opset_version: IgnoredAny,
    #[serde(deserialize_with = "or_default")]
    pub range_constraints: Pairs<'a, RangeConstraint>,
    pub schema_version: SchemaVersion,
    #[serde(default)]
    pub torch_version: Option<Text<'a>>,
    /// Conditions on the inputs, in Python; None before torch 2.8.
    #[serde(default)]
    pub guards_code: Option<Vec<Text<'a>>>,
    /// The way to each user input in the arguments of the call, `['x'][0]`. Only a program in memory has them; a file has `in_spec`.
    #[serde(default, deserialize_with = "or_default")]
    pub input_paths: Vec<Text<'a>>,
    /// The name of each user output, empty if it has none. Only a program in memory has them; a file has `out_spec`.
    #[serde(default, deserialize_with = "or_default")]
    pub output_names: Vec<Text<'a>>,
}

#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct RangeConstraint {
    #[serde(deserialize_with = "present")]
    pub min_val: Option<i64>,
    #[serde(deserialize_with = "present")]
    pub max_val: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
#[allow(missing_docs)]
pub struct GraphModule<'a> {
    pub graph: Graph<'a>,
    pub signature: GraphSignature<'a>,
    pub module_call_graph: WholeCall<'a>,
    /// The fields of the named tuples in the arguments and results.
    #[serde(default, deserialize_with = "or_default")]
    pub treespec_namedtuple_fields: Pairs<'a, NamedTuple<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
#[allow(missing_docs)]
pub struct NamedTuple<'a> {
    #[serde(default)]
    pub field_names: Vec<Text<'a>>,
}

/// How the whole module is called: the first entry of the list of module calls. The others are skipped.
#[derive(Debug, Default)]
pub struct WholeCall<'a>(pub Option<ModuleCallSignature<'a>>);

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
#[allow(missing_docs)]
pub struct ModuleCallSignature<'a> {
    pub in_spec: Text<'a>,
    #[serde(default)]
    pub out_spec: Option<Text<'a>>,
    #[serde(default)]
    pub forward_arg_names: Option<Vec<Text<'a>>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for WholeCall<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(bound(deserialize = "'de: 'a"))]
        struct Entry<'a> {
            #[serde(default)]
            signature: Option<ModuleCallSignature<'a>>,
        }
        struct V<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for V<'a> {
            type Value = WholeCall<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of module calls")
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(WholeCall(None))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let first = list.next_element::<Entry<'a>>()?;
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(WholeCall(first.and_then(|entry| entry.signature)))
            }
        }
        deserializer.deserialize_any(V(PhantomData))
    }
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
#[allow(missing_docs)]
pub struct Graph<'a> {
    pub inputs: Vec<Argument<'a>>,
    pub outputs: Vec<Argument<'a>>,
    pub nodes: Vec<Node<'a>>,
    pub tensor_values: Pairs<'a, TensorMeta<'a>>,
    #[serde(deserialize_with = "or_default")]
    pub sym_int_values: Pairs<'a, SymInt<'a>>,
    #[serde(deserialize_with = "or_default")]
    pub sym_bool_values: Pairs<'a, SymBool>,
    #[serde(default, deserialize_with = "or_default")]
    pub sym_float_values: Pairs<'a, SymFloat>,
    /// Whether it returns a tensor and no tuple.
    #[serde(default)]
    pub is_single_tensor_return: bool,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
#[allow(missing_docs)]
pub struct Node<'a> {
    pub target: Text<'a>,
    pub inputs: Vec<NamedArgument<'a>>,
    pub outputs: Vec<Argument<'a>>,
    #[serde(deserialize_with = "or_default")]
    pub metadata: NodeMetadata,
    #[serde(default)]
    pub name: Option<Text<'a>>,
    /// Whether an operator with nested graphs returns a tensor and no tuple; None where nothing is recorded.
    #[serde(default)]
    pub is_hop_single_tensor_return: Option<bool>,
}

/// The metadata of a node that is kept.
#[derive(Debug, Default, Deserialize)]
#[allow(missing_docs)]
pub struct NodeMetadata {
    #[serde(default)]
    pub stack_trace: SourceLine,
    #[serde(default)]
    pub nn_module_stack: ModuleStack,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
#[allow(missing_docs)]
pub struct NamedArgument<'a> {
    pub name: Text<'a>,
    pub arg: Argument<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
#[allow(missing_docs)]
pub struct TensorMeta<'a> {
    pub dtype: i64,
    pub sizes: Vec<SymInt<'a>>,
    pub strides: Vec<SymInt<'a>>,
    pub storage_offset: SymInt<'a>,
    pub layout: i64,
    pub requires_grad: IgnoredAny,
    pub device: IgnoredAny,
}

/// The number of the strided layout; the others are sparse or library-specific.
pub const STRIDED: i64 = 7;

#[derive(Debug, Clone, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
#[allow(missing_docs)]
pub struct SymExpr<'a> {
    pub expr_str: Text<'a>,
    #[serde(default)]
    pub hint: Option<Hint>,
}

/// The value of an expression in the example that the program was exported with.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Hint {
    AsInt(i64),
    AsBool(IgnoredAny),
    AsFloat(IgnoredAny),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"), rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum SymInt<'a> {
    AsExpr(SymExpr<'a>),
    AsInt(i64),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum SymFloat {
    AsExpr(IgnoredAny),
    AsFloat(Float),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum SymBool {
    AsExpr(IgnoredAny),
    AsBool(bool),
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"), rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum SymIntArgument<'a> {
    AsName(Text<'a>),
    AsInt(i64),
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"), rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum SymFloatArgument<'a> {
    AsName(Text<'a>),
    AsFloat(Float),
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"), rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum SymBoolArgument<'a> {
    AsName(Text<'a>),
    AsBool(bool),
}

/// A tensor or a token.
#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
#[allow(missing_docs)]
pub struct TensorArgument<'a> {
    pub name: Text<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"), rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum OptionalTensorArgument<'a> {
    AsTensor(TensorArgument<'a>),
    AsNone(IgnoredAny),
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
#[allow(missing_docs)]
pub struct GraphArgument<'a> {
    pub name: Text<'a>,
    pub graph: Graph<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
#[allow(missing_docs)]
pub struct CustomObjArgument<'a> {
    pub name: Text<'a>,
    pub class_fqn: Text<'a>,
}

#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct ComplexValue {
    pub real: Float,
    pub imag: Float,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
#[allow(missing_docs)]
pub struct Device<'a> {
    #[serde(rename = "type")]
    pub kind: Text<'a>,
    #[serde(default)]
    pub index: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"), rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Argument<'a> {
    AsNone(IgnoredAny),
    AsTensor(TensorArgument<'a>),
    AsTensors(Vec<TensorArgument<'a>>),
    AsInt(i64),
    AsInts(Vec<i64>),
    AsFloat(Float),
    AsFloats(Vec<Float>),
    AsString(Text<'a>),
    AsStrings(Vec<Text<'a>>),
    AsSymInt(SymIntArgument<'a>),
    AsSymInts(Vec<SymIntArgument<'a>>),
    AsScalarType(i64),
    AsMemoryFormat(i64),
    AsLayout(i64),
    AsDevice(Device<'a>),
    AsBool(bool),
    AsBools(Vec<bool>),
    AsSymBool(SymBoolArgument<'a>),
    AsSymBools(Vec<SymBoolArgument<'a>>),
    AsGraph(Box<GraphArgument<'a>>),
    AsOptionalTensors(Vec<OptionalTensorArgument<'a>>),
    AsCustomObj(Box<CustomObjArgument<'a>>),
    AsOperator(Text<'a>),
    AsSymFloat(SymFloatArgument<'a>),
    AsSymFloats(Vec<SymFloatArgument<'a>>),
    AsOptionalTensor(OptionalTensorArgument<'a>),
    AsComplex(ComplexValue),
    AsNestedTensors(Vec<Vec<TensorArgument<'a>>>),
    AsIntLists(Vec<Vec<i64>>),
    AsStringToArgument(IgnoredAny),
    AsFloatLists(IgnoredAny),
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
#[allow(missing_docs)]
pub struct GraphSignature<'a> {
    pub input_specs: Vec<InputSpec<'a>>,
    pub output_specs: Vec<OutputSpec<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"), rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum InputSpec<'a> {
    UserInput(Described<'a>),
    Parameter {
        arg: TensorArgument<'a>,
        parameter_name: Text<'a>,
    },
    Buffer {
        arg: TensorArgument<'a>,
        buffer_name: Text<'a>,
        #[serde(default = "yes")]
        persistent: bool,
    },
    TensorConstant {
        arg: TensorArgument<'a>,
        tensor_constant_name: Text<'a>,
    },
    CustomObj {
        custom_obj_name: Text<'a>,
    },
    Token(IgnoredAny),
    ConstantInput {
        name: Text<'a>,
        value: ConstantValue<'a>,
    },
}

fn yes() -> bool {
    true
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"), rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum ConstantValue<'a> {
    AsNone(IgnoredAny),
    AsInt(i64),
    AsFloat(Float),
    AsString(Text<'a>),
    AsBool(bool),
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"), rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum OutputSpec<'a> {
    UserOutput(Described<'a>),
    LossOutput(DescribedTensor<'a>),
    BufferMutation {
        #[serde(deserialize_with = "given")]
        arg: Option<TensorArgument<'a>>,
        buffer_name: Text<'a>,
    },
    ParameterMutation {
        #[serde(deserialize_with = "given")]
        arg: Option<TensorArgument<'a>>,
        parameter_name: Text<'a>,
    },
    UserInputMutation {
        #[serde(deserialize_with = "given")]
        arg: Option<TensorArgument<'a>>,
        user_input_name: Text<'a>,
    },
    GradientToParameter(DescribedTensor<'a>),
    GradientToUserInput(DescribedTensor<'a>),
    Token(IgnoredAny),
}

/// What the signature says of an input or output of the graph, which must be that of the graph.
#[derive(Debug, Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct Described<'a> {
    /// None of a program in memory, whose signature PyTorch has checked.
    #[serde(deserialize_with = "given")]
    pub arg: Option<Argument<'a>>,
}

/// The same of an output that is always a tensor: a loss or a gradient.
#[derive(Debug, Default, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub struct DescribedTensor<'a> {
    /// None of a program in memory.
    #[serde(deserialize_with = "given")]
    pub arg: Option<TensorArgument<'a>>,
}

/// A field that must be there, though it may be null: PyTorch reads no file without it.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::deserialize(deserializer)
}

/// A field that a file has.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// The description of the payloads in a folder.
#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
#[allow(missing_docs)]
pub struct PayloadConfig<'a> {
    pub config: Pairs<'a, PayloadMeta<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
#[allow(missing_docs)]
pub struct PayloadMeta<'a> {
    pub path_name: Text<'a>,
    #[serde(default)]
    pub use_pickle: bool,
    #[serde(default)]
    pub tensor_meta: Option<TensorMeta<'a>>,
}

/// Parses a document. On an error the text is parsed again to report the field.
pub fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, aten2onnx_core::error::Error> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        aten2onnx_core::error::Error::input(format!("it is not UTF-8 text at byte {}", error.valid_up_to()))
    })?;
    serde_json::from_str(text).map_err(|first| {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let error = match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
            Err(error) if error.path().iter().next().is_some() => {
                aten2onnx_core::error::Error::input(error.inner().to_string()).at(error.path().to_string())
            }
            _ => aten2onnx_core::error::Error::input(first.to_string()),
        };
        if first.is_eof() {
            return error.help("the text is truncated: the archive is damaged");
        }
        error
    })
}
