//! Rust text out of what was read and checked.

pub mod facts;
pub mod schema_table;
