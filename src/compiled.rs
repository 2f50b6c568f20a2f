//! The rules of `mappings/`, as `build.rs` compiled them: a function each, and the table that finds them.

use std::sync::OnceLock;

use aten2onnx_options::OutputOptions;
use aten2onnx_rules::Rules;
// For the generated functions, here and in other crates.
pub use aten2onnx_rules::{prelude, tables};

include!(concat!(env!("OUT_DIR"), "/rules.rs"));

/// The rules of this build: those that an export uses unless it is given others.
pub fn rules() -> Rules {
    static INTERPRETED: OnceLock<Rules> = OnceLock::new();
    match &COMPILED {
        Some(compiled) => Rules::of(compiled),
        None => INTERPRETED.get_or_init(Rules::interpreted).clone(),
    }
}

/// Options without rules get those of this build.
pub(crate) fn with_rules(options: &mut OutputOptions) {
    if options.rules.is_empty() {
        options.rules = rules();
    }
}
