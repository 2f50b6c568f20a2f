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
use aten2onnx_onnx::schema::{Shape, Version};

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

/// How the types follow, by the operator's entry in `mappings/operators.toml`. Outputs of other domains follow the schema.
fn dispatch(c: &Ctx) -> Result<Vec<Type>> {
    match c.facts.shape {
        Shape::Schema => c.by_schema(),
        Shape::First => elementwise::like_first(c),
        Shape::Second => c.one_output(c.owned_shape(1)),
        Shape::Broadcast => elementwise::broadcast(c),
        Shape::BroadcastToFirst => elementwise::prelu(c),
        Shape::Both => elementwise::same_shapes(c),
        Shape::Cast | Shape::BitCast => elementwise::cast(c),
        Shape::CastLike => elementwise::cast_like(c),
        Shape::Dropout => elementwise::dropout(c),
        Shape::Identity | Shape::SequenceErase => elementwise::identity(c),
        Shape::Single | Shape::Size => c.one_output(Some(vec![])),
        Shape::OfShape => shape_ops::shape(c),
        Shape::Constant => shape_ops::constant(c),
        Shape::ConstantOfShape => shape_ops::constant_of_shape(c),
        Shape::Concat => shape_ops::concat(c),
        Shape::Expand => shape_ops::expand(c),
        Shape::Flatten => shape_ops::flatten(c),
        Shape::Pad => shape_ops::pad(c),
        Shape::CenterCropPad => shape_ops::center_crop_pad(c),
        Shape::Range => shape_ops::range(c),
        Shape::Reshape => shape_ops::reshape(c),
        Shape::Split => shape_ops::split(c),
        Shape::Squeeze => shape_ops::squeeze(c),
        Shape::Tile => shape_ops::tile(c),
        Shape::Transpose => shape_ops::transpose(c),
        Shape::Unsqueeze => shape_ops::unsqueeze(c),
        Shape::Slice => slice::slice(c),
        Shape::Resize => resize::resize(c),
        Shape::ReduceToIndex => reduce::arg(c),
        Shape::Reduce => reduce::reduce(c),
        Shape::Loss => reduce::loss(c),
        Shape::TopK => reduce::top_k(c),
        Shape::CausalConv => conv::causal_with_state(c),
        Shape::Blocks => conv::col2im(c),
        Shape::Conv => conv::conv(c, 1),
        Shape::QuantizedConv => conv::conv(c, 3),
        Shape::ConvTranspose => conv::transpose(c),
        Shape::Pool => pool::pool(c),
        Shape::GlobalPool => pool::global(c),
        Shape::Unpool => pool::unpool(c),
        Shape::Det => matmul::det(c),
        Shape::Einsum => einsum::einsum(c),
        Shape::Gemm => matmul::gemm(c),
        Shape::MatMul => matmul::matmul(c, 1),
        Shape::QuantizedMatMul => matmul::matmul(c, 3),
        Shape::Attention => attention::attention(c),
        Shape::LinearAttention => attention::linear(c),
        Shape::Compress => indexing::compress(c),
        Shape::Gather => indexing::gather(c),
        Shape::GatherNd => indexing::gather_nd(c),
        Shape::ScatterElements => indexing::scatter_elements(c),
        Shape::ScatterNd => indexing::scatter_nd(c),
        Shape::BoxSelection => indexing::non_max_suppression(c),
        Shape::NonZero => indexing::non_zero(c),
        Shape::OneHot => indexing::one_hot(c),
        Shape::Unique => indexing::unique(c),
        Shape::BatchNorm => norm::batch(c),
        Shape::ChannelNorm => norm::with_weights(c),
        Shape::LayerNorm => norm::layer(c),
        Shape::ReverseSequence => sequence::reverse(c),
        Shape::Recurrent => rnn::rnn(c),
        Shape::RandomLike => random::like(c),
        Shape::Multinomial => random::multinomial(c),
        Shape::RandomShaped => random::shaped(c),
        Shape::Dequantize => quant::dequantize(c),
        Shape::Quantize => quant::quantize(c),
        Shape::DynamicQuantize => quant::dynamic(c),
        Shape::Window => signal::window(c),
        Shape::Dft => signal::dft(c),
        Shape::Stft => signal::stft(c),
        Shape::MelWeights => signal::mel_weights(c),
        Shape::AffineGrid => vision::affine_grid(c),
        Shape::DepthToSpace => vision::depth_to_space(c),
        Shape::SpaceToDepth => vision::space_to_depth(c),
        Shape::GridSample => vision::grid_sample(c),
        Shape::ImageDecoder => vision::image_decoder(c),
        Shape::MaxRegions => vision::max_roi_pool(c),
        Shape::SampledRegions => vision::roi_align(c),
        Shape::StringNormalizer => vision::string_normalizer(c),
        Shape::StringSplit => vision::string_split(c),
        Shape::TfIdf => vision::tf_idf(c),
        Shape::Branch => control::branch(c),
        Shape::Loop => control::loop_(c),
        Shape::Scan => control::scan(c),
        Shape::SequenceMap => control::sequence_map(c),
        Shape::ConcatFromSequence => sequence::concat(c),
        Shape::Optional => sequence::optional(c),
        Shape::OptionalElement => sequence::optional_get_element(c),
        Shape::SequenceAt => sequence::at(c),
        Shape::SequenceConstruct => sequence::construct(c),
        Shape::SequenceEmpty => sequence::empty(c),
        Shape::SequenceInsert => sequence::insert(c),
        Shape::SplitToSequence => sequence::split(c),
    }
}
