//! The ranks of results of ONNX operators, as far as a rank follows from those of the inputs.

use super::call::Call;
use super::values::{Abs, Ranks};

/// Operators that broadcast all their inputs.
const BROADCASTING: &[&str] = &[
    "Add",
    "And",
    "BitShift",
    "BitwiseAnd",
    "BitwiseOr",
    "BitwiseXor",
    "Div",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "Max",
    "Mean",
    "Min",
    "Mod",
    "Mul",
    "Or",
    "Pow",
    "PRelu",
    "Sub",
    "Sum",
    "Where",
    "Xor",
];

/// Operators whose first result has the rank of the first input.
const KEEPING: &[&str] = &[
    "Abs",
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "BitCast",
    "BitwiseNot",
    "Cast",
    "CastLike",
    "Ceil",
    "Celu",
    "Clip",
    "Compress",
    "Cos",
    "Cosh",
    "CumSum",
    "DequantizeLinear",
    "Dropout",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "Hardmax",
    "Identity",
    "IsInf",
    "IsNaN",
    "LayerNormalization",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "Mish",
    "Neg",
    "Not",
    "Pad",
    "QuantizeLinear",
    "Reciprocal",
    "Relu",
    "Resize",
    "ReverseSequence",
    "Round",
    "ScatterElements",
    "ScatterND",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Slice",
    "Softmax",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
    "Tile",
    "TopK",
    "Transpose",
    "Trilu",
    "Swish",
];

/// Whether an operator broadcasts all its inputs.
pub(super) fn is_broadcasting(op: &str) -> bool {
    BROADCASTING.contains(&op)
}

/// The ranks of the first result.
pub(super) fn output_ranks(call: &Call<'_>) -> Ranks {
    let rank = |i: usize| call.tensor(i).map_or(Ranks::ALL, |tensor| tensor.ranks);
    match call.op {
        op if is_broadcasting(op) && !call.inputs.is_empty() => {
            let all = (0..call.inputs.len()).map(|i| call.tensor(i).map_or(Ranks::ALL, |tensor| tensor.ranks));
            all.reduce(Ranks::broadcast).unwrap_or(Ranks::ALL)
        }
        op if KEEPING.contains(&op) => rank(0),
        "Shape" => Ranks::one(1),
        "Size" => Ranks::one(0),
        "Range" | "NonZero" => {
            if call.op == "Range" {
                Ranks::one(1)
            } else {
                Ranks::one(2)
            }
        }
        "Unsqueeze" => match length_of(call, 1) {
            Some((low, high)) => rank(0).plus(low, high),
            None => Ranks::ALL,
        },
        "Squeeze" => match length_of(call, 1) {
            Some((low, high)) => rank(0).plus(-high, -low),
            None => Ranks::ALL,
        },
        "Reshape" => length_of(call, 1).map_or(Ranks::ALL, |(low, high)| Ranks::between(low, high)),
        "Expand" => length_of(call, 1).map_or(Ranks::ALL, |(low, high)| rank(0).broadcast(Ranks::between(low, high))),
        "ConstantOfShape" => length_of(call, 0).map_or(Ranks::ALL, |(low, high)| Ranks::between(low, high)),
        _ => Ranks::ALL,
    }
}

/// The bounds of the length of a list that is given for an input.
fn length_of(call: &Call<'_>, i: usize) -> Option<(i64, i64)> {
    match call.tensor(i)?.elements.as_deref()? {
        Abs::List(list) => Some((i64::from(list.least), i64::from(list.most))),
        _ => None,
    }
}
