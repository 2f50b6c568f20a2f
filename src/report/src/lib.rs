//! A page about a model, in one file: what it takes and returns, which opsets would do, its operators, modules and weights, what the
//! passes did, and how the results compare with PyTorch.
//!
//! `facts` collects, `page` writes. The page needs no script and nothing else: details unfold by themselves, plots
//! are inline SVG. It depends only on the model and the options, not on place; on time only if the caller says what the export took.

pub mod differences;
mod facts;
mod html;
mod links;
mod made;
mod modules;
mod page;
mod plots;

use std::io::Write;
use std::path::Path;

pub use facts::{Built, Compared, Facts, Verification, Weight};
pub use links::{EXPLORER, page_of};
pub use made::Made;
pub use modules::{Leaf, Module};
pub use page::page;

use aten2onnx_core::error::Result;
use aten2onnx_onnx::write::Staged;

/// Writes the page to a file, which appears when it is complete.
///
/// # Errors
/// The file cannot be written.
pub fn save(facts: &Facts, path: &Path) -> Result<()> {
    written(path, &page(facts))
}

fn written(path: &Path, text: &str) -> Result<()> {
    let mut staged = Staged::create(path)?;
    let written = staged.file().write_all(text.as_bytes());
    written.map_err(|error| aten2onnx_onnx::write::io_failed(path, &error))?;
    staged.commit()
}
