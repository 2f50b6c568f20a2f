//! The opmap compiler: operator rules in, proven Rust out.

pub mod diagnostic;
pub mod explain;
pub mod render;
pub mod schema;
pub mod source;
pub mod syntax;
pub mod types;
