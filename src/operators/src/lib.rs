//! The words in which `mappings/operators.toml` says what an ONNX operator does. The rule compiler reads the table, and proves rules with
//! it; the exporter has it as static data beside the schemas, for inference, complex numbers, folding and passes; `verify` asks it too.
//! [`plan`] decides what becomes of a call whose form is newer than its opset. Nothing here names an operator.

mod function;
pub mod pattern;
pub mod plan;
mod ports;
mod shape;
mod words;

pub use function::Function;
pub use ports::Ports;
pub use shape::Shape;
pub use words::Word;

use words::words;

words! {
    /// Whether an operator is a linear function.
    pub enum Linear {
        /// It is not, or not of complex numbers.
        No = "no",
        /// Of all inputs that have the dtype of the result together: each part of complex numbers is computed alone.
        Together = "together",
        /// In each of the first two inputs; a third one is added.
        Each = "each",
    }
}

words! {
    /// Whether two equal nodes become one when the graph is built.
    pub enum Shared {
        /// They stay two.
        Never = "never",
        /// If all inputs are sizes, or computed from sizes.
        Sizes = "sizes",
        /// They always do.
        Always = "always",
    }
}

words! {
    /// In what precision an operator computes where a model is computed in half precision.
    pub enum Half {
        /// In that of its neighbours.
        Either = "either",
        /// In half precision: kernels of products sum in float32.
        Product = "product",
        /// In float32: it sums, grows, or takes large numbers.
        Never = "float32",
    }
}

words! {
    /// What runtimes compute with integers of 8 bits, where DequantizeLinear and QuantizeLinear stand around an operator.
    pub enum Integers {
        /// Nothing.
        No = "no",
        /// Products with weights that are integers.
        Products = "products",
        /// Results with a scale of their own.
        Values = "values",
        /// Results with the scale of the first input, whose elements they are.
        Same = "same",
    }
}

words! {
    /// How far from 0 the results of an operator can be, beside what [`Facts::computes`] and [`Facts::moves`] say.
    pub enum Bounded {
        /// Nothing is said.
        No = "no",
        /// Between -1 and 1.
        Unit = "unit",
        /// Not farther than the elements of the first input.
        First = "first",
        /// Elements over the root of their mean square, times the second input, plus the third.
        Norm = "norm",
    }
}

/// What an operator does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// From what the sizes of the results follow.
    pub shape: Shape,
    /// Whether each element of the result follows from the elements of the inputs at its place, and from nothing else.
    pub elementwise: bool,
    /// What an elementwise operator computes of the elements at a place, if the exporter can compute that.
    pub computes: Option<Function>,
    /// What combines the elements along the axes of a reduction or of a running total.
    pub combines: Option<Function>,
    /// Each element of the results is an element of one of these inputs, or a constant.
    pub moves: Ports,
    /// Whether it is linear.
    pub linear: Linear,
    /// Whether equal nodes become one.
    pub shared: Shared,
    /// In what precision it computes in a model of half precision.
    pub half: Half,
    /// Inputs that are places, of which half precision has too few digits.
    pub positions: Ports,
    /// What runtimes compute with integers.
    pub integers: Integers,
    /// How far from 0 the results can be.
    pub bounded: Bounded,
}

impl Facts {
    /// An operator of which nothing is known.
    pub const UNKNOWN: Facts = Facts {
        shape: Shape::Schema,
        elementwise: false,
        computes: None,
        combines: None,
        moves: Ports::NONE,
        linear: Linear::No,
        shared: Shared::Never,
        half: Half::Either,
        positions: Ports::NONE,
        integers: Integers::No,
        bounded: Bounded::No,
    };

    /// Whether the result has the sizes that its inputs broadcast to, and each element follows from those at its place.
    pub fn is_broadcasting(&self) -> bool {
        self.elementwise && self.shape == Shape::Broadcast
    }

    /// Whether each element of the result follows from that of the first input at its place, and from no other element.
    pub fn is_unary(&self) -> bool {
        self.elementwise && matches!(self.shape, Shape::First | Shape::Cast | Shape::BitCast | Shape::CastLike)
    }

    /// Whether the result holds elements of the first input and nothing else, or no more than zeros.
    pub fn moves_first(&self) -> bool {
        self.moves == Ports::of(&[0])
    }
}
