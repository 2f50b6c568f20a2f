//! Functions of single elements that the exporter can compute itself: of constants, of sizes and of symbolic sizes.

use crate::words::words;

words! {
    /// A function of one element, or of two or three at one place.
    pub enum Function {
        /// The absolute value.
        Abs = "abs",
        /// The sum.
        Add = "add",
        /// Whether both are true.
        And = "and",
        /// The bits of both.
        BitAnd = "bit and",
        /// The bits of either.
        BitOr = "bit or",
        /// The bits of one of both.
        BitXor = "bit xor",
        /// The bits at other places.
        Shift = "shift",
        /// The second if the first is true, else the third.
        Choose = "choose",
        /// The first, within limits.
        Clip = "clip",
        /// The next integer above.
        Ceil = "ceil",
        /// The cosine.
        Cos = "cos",
        /// The quotient.
        Div = "div",
        /// Whether both are equal.
        Equal = "equal",
        /// The exponential.
        Exp = "exp",
        /// The next integer below.
        Floor = "floor",
        /// The remainder with the sign of the dividend.
        Fmod = "fmod",
        /// Whether the first is greater.
        Greater = "greater",
        /// Whether the first is not less.
        GreaterOrEqual = "greater or equal",
        /// Whether it is infinite.
        Infinite = "infinite",
        /// Whether the first is less.
        Less = "less",
        /// Whether the first is not greater.
        LessOrEqual = "less or equal",
        /// The natural logarithm.
        Log = "log",
        /// The greater one.
        Max = "max",
        /// The lesser one.
        Min = "min",
        /// The remainder with the sign of the divisor.
        Mod = "mod",
        /// The product.
        Mul = "mul",
        /// The opposite number.
        Neg = "neg",
        /// Whether it is false.
        Not = "not",
        /// Whether one is true.
        Or = "or",
        /// The power.
        Pow = "pow",
        /// The reciprocal.
        Reciprocal = "reciprocal",
        /// The number, or 0 if it is negative.
        Relu = "relu",
        /// The nearest integer, the even one of two.
        Round = "round",
        /// The logistic function.
        Sigmoid = "sigmoid",
        /// -1, 0 or 1.
        Sign = "sign",
        /// The sine.
        Sin = "sin",
        /// The square root.
        Sqrt = "sqrt",
        /// The difference.
        Sub = "sub",
        /// The hyperbolic tangent.
        Tanh = "tanh",
        /// Whether exactly one is true.
        Xor = "xor",
    }
}

impl Function {
    /// Whether the order of its arguments does not matter.
    pub const fn is_commutative(self) -> bool {
        use Function::{Add, And, BitAnd, BitOr, BitXor, Equal, Max, Min, Mul, Or, Xor};
        matches!(self, Add | And | BitAnd | BitOr | BitXor | Equal | Max | Min | Mul | Or | Xor)
    }
}
