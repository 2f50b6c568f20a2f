//! The opmap compiler: operator rules in, proven Rust out.

pub mod diagnostic;
pub mod emit;
pub mod schema;
pub mod source;
pub mod types;
pub mod upgrade;
