//! The opmap compiler: operator rules in, proven Rust out.

pub mod diagnostic;
pub mod schema;
pub mod source;
pub mod syntax;
pub mod types;
