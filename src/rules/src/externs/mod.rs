//! The `extern fn`s of `mappings/`: functions that rules call but cannot express themselves. One file per topic.
//!
//! Each takes the builder, then the declared arguments, and returns a result or an error. The declarations in the
//! mapping files contain the documentation.

mod bodies;
mod complex;
mod constants;
mod einsum;
mod facts;
mod made;
mod numbers;
mod promotion;
mod python;
mod sequences;
mod shapes;
mod strings;

pub use bodies::*;
pub use complex::*;
pub use constants::*;
pub use einsum::*;
pub use facts::*;
pub use made::*;
pub use numbers::*;
pub use promotion::*;
pub use python::*;
pub use sequences::*;
pub use shapes::*;
pub use strings::*;
