//! The Rust functions behind `extern fn`: what the language does not say itself. One file a theme; the declarations, with their
//! documentation, stand in the mapping files.
//!
//! Each takes the builder first and gives a `Result`; see docs/opmap.md for how types look in Rust.

mod constants;
mod dtypes;
mod facts;
mod promotion;
mod shapes;

pub use constants::*;
pub use dtypes::*;
pub use facts::*;
pub use promotion::*;
pub use shapes::*;
