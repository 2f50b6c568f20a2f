//! From a program as it was read to one that can be translated: every name defined once, no writes, nothing that nobody reads.

mod dead_code;
mod foreach;
mod functional;
mod split_sizes;
mod terms;
mod vmap;
mod wrappers;

use aten2onnx_core::error::Result;
pub use functional::writes;

use crate::program::{Program, validate};

/// What a user may choose.
#[derive(Debug, Clone, Copy, Default)]
pub struct Keep {
    /// New values of buffers and inputs that the model writes to become outputs, and these buffers inputs.
    pub mutations: bool,
    /// Tell which assertions of the model are left out.
    pub assertions: bool,
}

/// Makes a program ready for translation: every name defined once, no writes, nothing that nobody reads.
///
/// # Errors
/// A damaged program, or a write that cannot be made functional.
pub fn prepare(program: &mut Program, keep: Keep) -> Result<()> {
    validate::names(program)?;
    wrappers::inline(program);
    vmap::to_maps(program);
    foreach::unroll(program);
    // Assertions would make the next pass refresh views for nobody.
    if keep.assertions {
        dead_code::report_assertions(program);
    }
    dead_code::drop(program);
    split_sizes::name_sizes(program);
    functional::functionalise(program, keep.mutations)?;
    dead_code::drop(program);
    Ok(())
}
