//! What an `extern fn` says of its result in its declaration: `extern fn rank(Tensor x) -> int is rank(x)`.
//!
//! These are the words after `is`. The proof follows them; it knows no function by its name. A function without `is` may return any value
//! of its type.

/// What is known of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Returned {
    // Facts about tensors.
    Rank,
    Dtype,
    Sizes,
    Size,
    IsKnown,
    KnownElements,
    Elements,
    KnownElement,
    Element,
    // Tensors made of others.
    Cast,
    Reshaped,
    Expanded,
    Real,
    Complex,
    Parts,
    OfParts,
    // Tensors made of numbers.
    Scalar,
    Vector,
    Filled,
    // Dtypes.
    IsFloat,
    IsInt,
    IsUnsigned,
    IsComplex,
    DefaultDtype,
    RealDtype,
    PromotedDtype,
    CommonDtype,
    CommonDtypeWithNumber,
    DtypeOfNumber,
    OnnxType,
    Limit,
    // Numbers.
    IfKnown,
    AllIfKnown,
    FloatIfKnown,
    Fitted,
    Product,
    Same,
    BroadcastSizes,
}

/// Each word with the types that it takes and gives.
const WORDS: &[(&str, Returned, &str)] = &[
    ("rank", Returned::Rank, "Tensor -> int"),
    ("dtype", Returned::Dtype, "Tensor -> ScalarType"),
    ("sizes", Returned::Sizes, "Tensor -> SymInt[]"),
    ("size", Returned::Size, "Tensor, int -> SymInt"),
    ("is_known", Returned::IsKnown, "Tensor -> bool"),
    ("known_elements", Returned::KnownElements, "Tensor -> int[]?"),
    ("known_elements", Returned::KnownElements, "Tensor -> SymInt[]?"),
    ("elements", Returned::Elements, "Tensor -> SymInt[]"),
    ("known_element", Returned::KnownElement, "Tensor? -> Scalar?"),
    ("element", Returned::Element, "Tensor -> Scalar"),
    ("element", Returned::Element, "Tensor -> SymInt"),
    ("cast", Returned::Cast, "Tensor, ScalarType -> Tensor"),
    ("reshaped", Returned::Reshaped, "Tensor, SymInt[] -> Tensor"),
    ("expanded", Returned::Expanded, "Tensor, SymInt[] -> Tensor"),
    ("real", Returned::Real, "Tensor -> Tensor"),
    ("complex", Returned::Complex, "Tensor, Tensor -> Tensor"),
    ("parts", Returned::Parts, "Tensor -> Tensor"),
    ("of_parts", Returned::OfParts, "Tensor -> Tensor"),
    ("scalar", Returned::Scalar, "Scalar, ScalarType -> Tensor"),
    ("vector", Returned::Vector, "SymInt[] -> Tensor"),
    ("vector", Returned::Vector, "Scalar[], ScalarType -> Tensor"),
    ("filled", Returned::Filled, "SymInt[], Scalar, ScalarType -> Tensor"),
    ("is_float", Returned::IsFloat, "ScalarType -> bool"),
    ("is_int", Returned::IsInt, "ScalarType -> bool"),
    ("is_unsigned", Returned::IsUnsigned, "ScalarType -> bool"),
    ("is_complex", Returned::IsComplex, "ScalarType -> bool"),
    ("default_dtype", Returned::DefaultDtype, " -> ScalarType"),
    ("real_dtype", Returned::RealDtype, "ScalarType -> ScalarType"),
    ("promoted_dtype", Returned::PromotedDtype, "ScalarType, ScalarType -> ScalarType"),
    ("common_dtype", Returned::CommonDtype, "Tensor[] -> ScalarType"),
    ("common_dtype", Returned::CommonDtypeWithNumber, "Tensor, Scalar -> ScalarType"),
    ("dtype_of_number", Returned::DtypeOfNumber, "Scalar -> ScalarType"),
    ("onnx_type", Returned::OnnxType, "ScalarType -> int"),
    ("limit", Returned::Limit, "ScalarType -> Scalar"),
    ("if_known", Returned::IfKnown, "SymInt -> int?"),
    ("all_if_known", Returned::AllIfKnown, "SymInt[] -> int[]?"),
    ("float_if_known", Returned::FloatIfKnown, "Scalar -> float?"),
    ("fitted", Returned::Fitted, "Scalar, ScalarType -> Scalar"),
    ("product", Returned::Product, "SymInt[] -> SymInt"),
    ("same", Returned::Same, "SymInt -> Scalar"),
    ("broadcast_sizes", Returned::BroadcastSizes, "SymInt[][] -> SymInt[]"),
];

impl Returned {
    /// All words.
    pub fn words() -> impl Iterator<Item = &'static str> {
        WORDS.iter().map(|(word, ..)| *word)
    }

    /// What a word means for these types: `Tensor, int -> SymInt`.
    pub fn of(word: &str, types: &str) -> Option<Returned> {
        WORDS.iter().find(|(own, _, signature)| *own == word && *signature == types).map(|(_, returned, _)| *returned)
    }

    /// The types that a word takes and gives.
    pub fn signatures(word: &str) -> Vec<&'static str> {
        WORDS.iter().filter(|(own, ..)| *own == word).map(|(.., signature)| *signature).collect()
    }
}
