//! The parser of the rule language. It is generated from the grammar ahead of time, so that builds do not need pest's generator and
//! its dependencies.

use std::error::Error;
use std::path::Path;

use quote::quote;

const SOURCE: &str = "codegen/opmap/src/syntax/grammar.pest";
/// The generated file.
pub const TARGET: &str = "codegen/opmap/src/syntax/parse/grammar.rs";
const HEAD: &str = "\
//! The parser of one opmap item. Generated from syntax/grammar.pest by `cargo run -p xtask -- grammar`: do not edit.

#![allow(dead_code, missing_docs, clippy::all, clippy::pedantic)]

";

/// The text of the file.
pub fn generate(root: &Path) -> Result<String, Box<dyn Error>> {
    // An absolute path, because pest resolves others relative to the `src` of the running crate.
    let source = root.join(SOURCE);
    let source = source.to_str().ok_or("the path of the workspace is not UTF-8")?;
    let parser = pest_generator::derive_parser(quote!(#[grammar = #source] pub struct Grammar;), false);
    let file = syn::parse2(quote!(pub struct Grammar; #parser))?;
    Ok(format!("{HEAD}{}", prettyplease::unparse(&file)))
}
