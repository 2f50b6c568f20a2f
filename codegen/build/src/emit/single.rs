//! The rules for one opset as the sources of a crate: a file for each mapping file, and `lib.rs` with the table `RULES`.

use quote::quote;

use super::{Context, Generated, dispatch, functions, ident, pretty};
use aten2onnx_opmap::Checked;
use aten2onnx_opmap::coverage::Matrix;
use aten2onnx_opmap::tree::Program;

/// What generated code is not held to.
const ALLOWED: &str = "#![allow(warnings, clippy::all, clippy::pedantic, clippy::restriction)]\n";

/// Rules that were cut to an opset.
pub(crate) struct Single<'a> {
    /// What the rules were cut of.
    pub checked: &'a Checked,
    /// The rules.
    pub program: &'a Program,
    /// Their support at the opset alone.
    pub matrix: &'a Matrix,
    /// The opset.
    pub opset: u32,
    /// The overloads whose rules were left out, sorted.
    pub left_out: &'a [String],
}

/// The files in `src/` of the crate.
///
/// # Errors
/// A bug of the compiler.
pub(crate) fn emit_single(single: &Single<'_>) -> Result<Generated, String> {
    let Single { checked, program, matrix, opset, left_out } = single;
    let (sources, schemas) = (&checked.sources, &*checked.schemas);
    let context =
        Context { program, sources, schemas, newest: schemas.opsets.max, only: Some(*opset), additional: None };
    let mut files = Vec::new();
    let mut root = quote!(
        use aten2onnx_rules::{prelude, tables};
    );
    for (name, functions) in functions(&context) {
        let module = ident(&name);
        root.extend(quote! {
            mod #module;
            pub use #module::*;
        });
        let head =
            format!("//! Rules at opset {opset}, which aten2onnx-codegen wrote.\n{ALLOWED}use super::prelude::*;\n\n");
        files.push((format!("{name}.rs"), head + &pretty(quote! { #(#functions)* })?));
    }
    let mut lines = |name: &str, text: String| {
        files.push((name.to_owned(), text));
        quote!(include_str!(#name))
    };
    let left_out = lines("left_out.txt", filled(left_out));
    let table = dispatch::table(&context, matrix, 0, left_out, &mut lines);
    root.extend(quote! {
        mod table;
        pub use table::RULES;
    });
    let table = quote! {
        use super::prelude::*;
        use super::tables::*;
        use super::*;
        /// The rules of this exporter.
        pub static RULES: CompiledRules = #table;
    };
    let head = format!("//! The table of rules at opset {opset}, which aten2onnx-codegen wrote.\n{ALLOWED}");
    files.push(("table.rs".to_owned(), head + &pretty(table)?));
    let head = format!("//! The rules of this exporter at opset {opset}, which aten2onnx-codegen wrote.\n{ALLOWED}");
    files.push(("lib.rs".to_owned(), head + &pretty(root)?));
    files.sort();
    Ok(Generated { files })
}

/// Words in lines of a readable length.
fn filled(words: &[String]) -> String {
    const LONGEST: usize = 140;
    let mut text = String::new();
    let mut length = 0;
    for word in words {
        if length > 0 && length + word.len() >= LONGEST {
            text.push('\n');
            length = 0;
        }
        if length > 0 {
            text.push(' ');
        }
        text.push_str(word);
        length += word.len() + 1;
    }
    if length > 0 {
        text.push('\n');
    }
    text
}
