//! Prepares a program for translation: names are defined once, nothing is written, and nothing is unused.

mod answers;
mod assertions;
mod dead_code;
mod exponents;
mod foreach;
mod functional;
mod split_sizes;
mod terms;
mod vmap;
mod wrappers;

use aten2onnx_core::error::Result;
pub use functional::{functional_sibling, functionalise, writes};

use aten2onnx_program::{Program, validate};

/// Options of the user.
#[derive(Debug, Clone, Copy, Default)]
pub struct Keep {
    /// New values of written buffers and inputs become outputs, and these buffers inputs.
    pub mutations: bool,
    /// Report which assertions of the model are dropped.
    pub assertions: bool,
}

/// Prepares a program for translation: names are defined once, nothing is written, and nothing is unused.
///
/// # Errors
/// A damaged program, or a write that cannot be made functional.
pub fn prepare(program: &mut Program, keep: Keep) -> Result<()> {
    validate::names(program)?;
    wrappers::inline(program);
    vmap::to_maps(program);
    foreach::unroll(program);
    exponents::as_bytes(program);
    // Otherwise the next pass would update views only for assertions.
    if keep.assertions {
        dead_code::report_assertions(program);
    }
    assertions::keep(program);
    dead_code::drop(program);
    split_sizes::name_sizes(program);
    functional::functionalise(program, keep.mutations)?;
    dead_code::drop(program);
    answers::report(program);
    Ok(())
}
