//! Types of the outputs of ONNX operators: dtype, rank and symbolic sizes, and the contents of small integer tensors.
//!
//! Takes a call with the types of its inputs and returns the types of its outputs. Dtypes are exact; an unknown size is
//! a new symbol, an unknown rank is None. It fails only if the call violates the operator's contract. Every form of an
//! operator since opset 9 is supported: whether axes are an attribute or an input follows from the call.

mod attention;
mod bounds;
mod content;
mod control;
mod conv;
mod ctx;
mod dims;
mod einsum;
mod elementwise;
mod indexing;
mod matmul;
mod norm;
mod pool;
mod quant;
mod random;
mod reduce;
mod resize;
mod rnn;
mod sequence;
mod shape_ops;
mod signal;
mod slice;
#[cfg(test)]
mod tests;
mod vision;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::Result;
use aten2onnx_core::sym::SymInt;
use aten2onnx_onnx::graph::{Attr, Type, Value};
use aten2onnx_onnx::schema::Version;

use ctx::Ctx;

/// What inference reads from the graph.
pub trait InferCx {
    /// A new symbol for an unknown size; it starts with `?`.
    fn fresh(&self) -> SymInt;

    /// The type of a value: of constants in attributes, and of the outputs of bodies.
    fn type_of(&self, value: Value) -> Option<Type>;

    /// The content of a constant in an attribute.
    fn content_of(&self, value: Value) -> Option<Vec<SymInt>>;

    /// The bounds of a symbol, inclusive. A symbol for a size, such as those of `fresh`, is at least 0.
    fn range(&self, symbol: &str) -> (Option<i64>, Option<i64>);
}

/// An input with the known facts about it.
#[derive(Debug, Clone, Copy)]
pub struct TypedInput<'a> {
    /// Its type.
    pub ty: &'a Type,
    /// Its value, if it is a small constant.
    pub constant: Option<Const<'a>>,
    /// Its elements, if it is a tensor of integers or booleans with at most one dimension.
    pub content: Option<&'a [SymInt]>,
}

/// A constant's value.
#[derive(Debug, Clone, Copy)]
pub struct Const<'a> {
    /// Element type.
    pub dtype: Dtype,
    /// Sizes.
    pub sizes: &'a [i64],
    /// Elements in row-major order, little-endian, packed as in ONNX's `raw_data`.
    pub bytes: &'a [u8],
}

/// The types of the first `outputs` outputs of a call.
pub fn infer(
    cx: &dyn InferCx,
    op: &str,
    version: &'static Version,
    inputs: &[Option<TypedInput<'_>>],
    attrs: &[(&'static str, Attr)],
    outputs: usize,
    opset: u32,
) -> Result<Vec<Type>> {
    let c = Ctx::new(cx, op, version, inputs, attrs, outputs, opset)?;
    let mut types = dispatch(&c)?;
    if types.len() < outputs {
        return Err(c.error(format!("has {} outputs, not {outputs}", types.len())));
    }
    types.truncate(outputs);
    Ok(types)
}

/// The contents of the first `outputs` outputs: the elements of integer or boolean tensors with at most one dimension,
/// if they follow from the inputs' sizes and contents. Booleans are 0 and 1.
pub fn content(
    cx: &dyn InferCx,
    op: &str,
    version: &'static Version,
    inputs: &[Option<TypedInput<'_>>],
    attrs: &[(&'static str, Attr)],
    outputs: usize,
    opset: u32,
) -> Vec<Option<Vec<SymInt>>> {
    let mut contents = match Ctx::new(cx, op, version, inputs, attrs, outputs, opset) {
        Ok(c) => content::contents(&c),
        Err(_) => Vec::new(),
    };
    contents.resize(outputs, None);
    contents
}

/// One line for each operator of the default domain; outputs of others follow the schema.
fn dispatch(c: &Ctx) -> Result<Vec<Type>> {
    match c.op {
        "Abs"
        | "Acos"
        | "Acosh"
        | "Asin"
        | "Asinh"
        | "Atan"
        | "Atanh"
        | "Ceil"
        | "Celu"
        | "Cos"
        | "Cosh"
        | "CumProd"
        | "CumSum"
        | "Elu"
        | "Erf"
        | "Exp"
        | "Floor"
        | "Gelu"
        | "HardSigmoid"
        | "HardSwish"
        | "Hardmax"
        | "BitwiseNot"
        | "Clip"
        | "IsInf"
        | "IsNaN"
        | "LRN"
        | "LeakyRelu"
        | "Log"
        | "LogSoftmax"
        | "LpNormalization"
        | "MeanVarianceNormalization"
        | "Mish"
        | "Neg"
        | "Not"
        | "RMSNormalization"
        | "Reciprocal"
        | "RegexFullMatch"
        | "Relu"
        | "RotaryEmbedding"
        | "Round"
        | "Scatter"
        | "Selu"
        | "Shrink"
        | "Sigmoid"
        | "Sign"
        | "Sin"
        | "Sinh"
        | "Softmax"
        | "Softplus"
        | "Softsign"
        | "Sqrt"
        | "Swish"
        | "Tan"
        | "Tanh"
        | "TensorScatter"
        | "ThresholdedRelu"
        | "Trilu" => elementwise::like_first(c),
        "Add" | "And" | "BitShift" | "BitwiseAnd" | "BitwiseOr" | "BitwiseXor" | "Div" | "Equal" | "Greater"
        | "GreaterOrEqual" | "Less" | "LessOrEqual" | "Max" | "Mean" | "Min" | "Mod" | "Mul" | "Or" | "Pow"
        | "StringConcat" | "Sub" | "Sum" | "Where" | "Xor" => elementwise::broadcast(c),
        "PRelu" => elementwise::prelu(c),
        "SwiGLU" => elementwise::same_shapes(c),
        "BitCast" | "Cast" => elementwise::cast(c),
        "CastLike" => elementwise::cast_like(c),
        "Dropout" => elementwise::dropout(c),
        "Identity" => elementwise::identity(c),

        "CenterCropPad" => shape_ops::center_crop_pad(c),
        "Concat" => shape_ops::concat(c),
        "Constant" => shape_ops::constant(c),
        "ConstantOfShape" => shape_ops::constant_of_shape(c),
        "Expand" => shape_ops::expand(c),
        "Flatten" => shape_ops::flatten(c),
        "Pad" => shape_ops::pad(c),
        "Range" => shape_ops::range(c),
        "Reshape" => shape_ops::reshape(c),
        "Shape" => shape_ops::shape(c),
        "Size" => c.one_output(Some(vec![])),
        "Split" => shape_ops::split(c),
        "Squeeze" => shape_ops::squeeze(c),
        "Tile" => shape_ops::tile(c),
        "Transpose" => shape_ops::transpose(c),
        "Unsqueeze" => shape_ops::unsqueeze(c),
        "Slice" => slice::slice(c),
        "Resize" | "Upsample" => resize::resize(c),

        "ArgMax" | "ArgMin" => reduce::arg(c),
        "ReduceL1" | "ReduceL2" | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceMax" | "ReduceMean" | "ReduceMin"
        | "ReduceProd" | "ReduceSum" | "ReduceSumSquare" => reduce::reduce(c),
        "NegativeLogLikelihoodLoss" | "SoftmaxCrossEntropyLoss" => reduce::loss(c),
        "TopK" => reduce::top_k(c),

        "CausalConvWithState" => conv::causal_with_state(c),
        "Col2Im" => conv::col2im(c),
        "Conv" | "ConvInteger" | "DeformConv" => conv::conv(c, 1),
        "QLinearConv" => conv::conv(c, 3),
        "ConvTranspose" => conv::transpose(c),
        "AveragePool" | "LpPool" | "MaxPool" => pool::pool(c),
        "GlobalAveragePool" | "GlobalLpPool" | "GlobalMaxPool" => pool::global(c),
        "MaxUnpool" => pool::unpool(c),

        "Det" => matmul::det(c),
        "Einsum" => einsum::einsum(c),
        "Gemm" => matmul::gemm(c),
        "MatMul" | "MatMulInteger" => matmul::matmul(c, 1),
        "QLinearMatMul" => matmul::matmul(c, 3),
        "Attention" => attention::attention(c),
        "LinearAttention" => attention::linear(c),

        "Compress" => indexing::compress(c),
        "Gather" => indexing::gather(c),
        "GatherElements" => c.one_output(c.owned_shape(1)),
        "GatherND" => indexing::gather_nd(c),
        "ScatterElements" => indexing::scatter_elements(c),
        "ScatterND" => indexing::scatter_nd(c),
        "NonMaxSuppression" => indexing::non_max_suppression(c),
        "NonZero" => indexing::non_zero(c),
        "OneHot" => indexing::one_hot(c),
        "Unique" => indexing::unique(c),

        "BatchNormalization" => norm::batch(c),
        "GroupNormalization" | "InstanceNormalization" => norm::with_weights(c),
        "ReverseSequence" => sequence::reverse(c),
        "LayerNormalization" => norm::layer(c),
        "GRU" | "LSTM" | "RNN" => rnn::rnn(c),

        "Bernoulli" | "EyeLike" | "RandomNormalLike" | "RandomUniformLike" => random::like(c),
        "Multinomial" => random::multinomial(c),
        "RandomNormal" | "RandomUniform" => random::shaped(c),

        "DequantizeLinear" => quant::dequantize(c),
        "DynamicQuantizeLinear" => quant::dynamic(c),
        "QuantizeLinear" => quant::quantize(c),

        "BlackmanWindow" | "HammingWindow" | "HannWindow" => signal::window(c),
        "DFT" => signal::dft(c),
        "MelWeightMatrix" => signal::mel_weights(c),
        "STFT" => signal::stft(c),

        "AffineGrid" => vision::affine_grid(c),
        "DepthToSpace" => vision::depth_to_space(c),
        "GridSample" => vision::grid_sample(c),
        "ImageDecoder" => vision::image_decoder(c),
        "MaxRoiPool" => vision::max_roi_pool(c),
        "RoiAlign" => vision::roi_align(c),
        "SpaceToDepth" => vision::space_to_depth(c),
        "StringNormalizer" => vision::string_normalizer(c),
        "StringSplit" => vision::string_split(c),
        "TfIdfVectorizer" => vision::tf_idf(c),

        "If" => control::branch(c),
        "Loop" => control::loop_(c),
        "Scan" => control::scan(c),
        "SequenceMap" => control::sequence_map(c),

        "ConcatFromSequence" => sequence::concat(c),
        "Optional" => sequence::optional(c),
        "OptionalGetElement" => sequence::optional_get_element(c),
        "OptionalHasElement" | "SequenceLength" => c.one_output(Some(vec![])),
        "SequenceAt" => sequence::at(c),
        "SequenceConstruct" => sequence::construct(c),
        "SequenceEmpty" => sequence::empty(c),
        "SequenceErase" => elementwise::identity(c),
        "SequenceInsert" => sequence::insert(c),
        "SplitToSequence" => sequence::split(c),
        _ => c.by_schema(),
    }
}
