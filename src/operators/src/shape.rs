//! From what the sizes of an operator's results follow.

use crate::words::words;

words! {
    /// How inference finds the types of the results, and the proof their ranks.
    pub enum Shape {
        /// By the schema alone: nothing is known of the sizes.
        Schema = "schema",
        /// Those of the first input.
        First = "first",
        /// Those of the second input.
        Second = "second",
        /// What all inputs broadcast to.
        Broadcast = "broadcast",
        /// Those of the first input, to which the second is broadcast.
        BroadcastToFirst = "broadcast to first",
        /// Those that both inputs have.
        Both = "both",
        /// Those of the first input, in the dtype that an attribute states.
        Cast = "cast",
        /// Those of the first input, whose bits are read in the dtype that an attribute states.
        BitCast = "bit cast",
        /// Those of the first input, in the dtype of the second.
        CastLike = "cast like",
        /// Those of the first input, and a mask with the same.
        Dropout = "dropout",
        /// The type of the first input, which may be a sequence.
        Identity = "identity",
        /// The type of the first input, a sequence.
        SequenceErase = "sequence erase",
        /// One element, no dimension.
        Single = "single",
        /// The number of elements of the first input.
        Size = "size",
        /// The sizes of the first input.
        OfShape = "shape",
        /// The attribute.
        Constant = "constant",
        /// Sizes that an input holds.
        ConstantOfShape = "constant of shape",
        /// Parts one after the other.
        Concat = "concat",
        /// Sizes that the first input is broadcast to.
        Expand = "expand",
        /// Two dimensions.
        Flatten = "flatten",
        /// The first input with borders.
        Pad = "pad",
        /// The first input, cut or padded.
        CenterCropPad = "center crop pad",
        /// Numbers in a row.
        Range = "range",
        /// Sizes that an input holds, of as many elements.
        Reshape = "reshape",
        /// Parts of the first input.
        Split = "split",
        /// The first input without dimensions of size 1.
        Squeeze = "squeeze",
        /// The first input, repeated.
        Tile = "tile",
        /// The dimensions in another order.
        Transpose = "transpose",
        /// The first input with dimensions of size 1.
        Unsqueeze = "unsqueeze",
        /// A part of each dimension.
        Slice = "slice",
        /// The first input in other sizes.
        Resize = "resize",
        /// One dimension is reduced to a position.
        ReduceToIndex = "reduce to index",
        /// Some dimensions are reduced.
        Reduce = "reduce",
        /// A loss of scores and labels.
        Loss = "loss",
        /// The largest elements of a dimension.
        TopK = "top k",
        /// A causal convolution and its state.
        CausalConv = "causal conv",
        /// Blocks put together to an image.
        Blocks = "blocks",
        /// A convolution; the weight is the second input.
        Conv = "conv",
        /// A convolution of quantized numbers; the weight is the fourth input.
        QuantizedConv = "quantized conv",
        /// A transposed convolution.
        ConvTranspose = "conv transpose",
        /// Windows.
        Pool = "pool",
        /// One window.
        GlobalPool = "global pool",
        /// The inverse of a pool.
        Unpool = "unpool",
        /// Stacks of matrices become numbers.
        Det = "det",
        /// The equation of an attribute.
        Einsum = "einsum",
        /// The product of two matrices.
        Gemm = "gemm",
        /// The product of stacks of matrices.
        MatMul = "matmul",
        /// The same of quantized numbers; the right side is the fourth input.
        QuantizedMatMul = "quantized matmul",
        /// Attention.
        Attention = "attention",
        /// Linear attention and its state.
        LinearAttention = "linear attention",
        /// Elements by a mask.
        Compress = "compress",
        /// Elements of a dimension by position.
        Gather = "gather",
        /// Elements by positions in several dimensions.
        GatherNd = "gather nd",
        /// Those of the first input, which positions are within.
        ScatterElements = "scatter elements",
        /// The same with positions in several dimensions.
        ScatterNd = "scatter nd",
        /// Boxes that do not overlap.
        BoxSelection = "box selection",
        /// Positions of elements that are not zero.
        NonZero = "nonzero",
        /// Positions as rows of zeros and a one.
        OneHot = "one hot",
        /// Different elements.
        Unique = "unique",
        /// The first input and statistics.
        BatchNorm = "batch norm",
        /// The first input, with a weight for each channel.
        ChannelNorm = "channel norm",
        /// The first input and statistics of its last dimensions.
        LayerNorm = "layer norm",
        /// The first input with parts in another order.
        ReverseSequence = "reverse sequence",
        /// States of a recurrent layer.
        Recurrent = "recurrent",
        /// Random numbers in the sizes of the first input.
        RandomLike = "random like",
        /// Random positions.
        Multinomial = "multinomial",
        /// Random numbers in sizes of an attribute.
        RandomShaped = "random shaped",
        /// The first input as floats.
        Dequantize = "dequantize",
        /// The first input as integers.
        Quantize = "quantize",
        /// The same with scale and zero point.
        DynamicQuantize = "dynamic quantize",
        /// A window of a given length.
        Window = "window",
        /// A Fourier transform.
        Dft = "dft",
        /// Fourier transforms of windows.
        Stft = "stft",
        /// A table of mel weights.
        MelWeights = "mel weights",
        /// A grid of positions.
        AffineGrid = "affine grid",
        /// Blocks of depth become space.
        DepthToSpace = "depth to space",
        /// Blocks of space become depth.
        SpaceToDepth = "space to depth",
        /// Elements at the positions of a grid.
        GridSample = "grid sample",
        /// An image from bytes.
        ImageDecoder = "image decoder",
        /// The largest element of each part of regions.
        MaxRegions = "max regions",
        /// Samples of regions.
        SampledRegions = "sampled regions",
        /// Strings without some.
        StringNormalizer = "string normalizer",
        /// Parts of strings.
        StringSplit = "string split",
        /// Counts of grams.
        TfIdf = "tf idf",
        /// The results of a branch.
        Branch = "branch",
        /// The results of a loop.
        Loop = "loop",
        /// The results of a scan.
        Scan = "scan",
        /// Sequences of the results of a body.
        SequenceMap = "sequence map",
        /// The elements of a sequence, joined.
        ConcatFromSequence = "concat from sequence",
        /// A value that may be absent.
        Optional = "optional",
        /// What is in an optional.
        OptionalElement = "optional element",
        /// An element of a sequence.
        SequenceAt = "sequence at",
        /// A sequence of the inputs.
        SequenceConstruct = "sequence construct",
        /// A sequence without elements.
        SequenceEmpty = "sequence empty",
        /// A sequence with one more element.
        SequenceInsert = "sequence insert",
        /// A sequence of parts.
        SplitToSequence = "split to sequence",
    }
}

impl Shape {
    /// Whether the first result has the sizes of the first input, whatever the other inputs and the attributes are.
    pub fn is_like_first(self) -> bool {
        matches!(
            self,
            Shape::First
                | Shape::BroadcastToFirst
                | Shape::Both
                | Shape::Cast
                | Shape::BitCast
                | Shape::CastLike
                | Shape::Dropout
                | Shape::ScatterElements
                | Shape::ScatterNd
                | Shape::BatchNorm
                | Shape::ChannelNorm
                | Shape::LayerNorm
                | Shape::ReverseSequence
                | Shape::RandomLike
                | Shape::Dequantize
                | Shape::Quantize
                | Shape::DynamicQuantize
        )
    }

    /// Whether the first result has as many dimensions as the first input, whatever the attributes are.
    pub fn keeps_rank(self) -> bool {
        self.is_like_first()
            || matches!(
                self,
                Shape::Identity
                    | Shape::Pad
                    | Shape::Split
                    | Shape::CenterCropPad
                    | Shape::Tile
                    | Shape::Transpose
                    | Shape::Slice
                    | Shape::Resize
                    | Shape::TopK
                    | Shape::Conv
                    | Shape::QuantizedConv
                    | Shape::ConvTranspose
                    | Shape::Pool
                    | Shape::GlobalPool
                    | Shape::Unpool
                    | Shape::Gemm
                    | Shape::DepthToSpace
                    | Shape::SpaceToDepth
                    | Shape::GridSample
            )
    }
}
