//! What tests and the `xtask` command share.

pub mod layers;
