//! Pass 4: from the checked tree to readable Rust.
//!
//! Each rule is a function, each mapping file a module, and one table finds the functions. They call `Builder`, `externs` and the
//! helpers of `rules::support`.

mod additional;
mod calls;
mod dispatch;
pub mod effects;
mod exprs;
pub mod externs;
mod function;
mod graphs;
mod lists;
mod nodes;
mod single;
mod tidy;
mod types;

use std::collections::BTreeMap;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use aten2onnx_opmap::coverage::Matrix;
use aten2onnx_opmap::source::{FileId, Sources};
use aten2onnx_opmap::tree::{Function, Program};
use aten2onnx_schemas::Schemas;

pub use additional::emit_additional;
pub(crate) use single::{Single, emit_single};
pub use types::rust_name;

/// The generated files: name and text.
pub struct Generated {
    /// In a fixed order.
    pub files: Vec<(String, String)>,
}

/// The context of emission.
pub(crate) struct Context<'a> {
    pub program: &'a Program,
    pub sources: &'a Sources,
    pub schemas: &'a Schemas,
    pub newest: u32,
    /// The opset of an exporter for a single opset, whose rules are a crate of their own and are not traced.
    pub only: Option<u32>,
    /// Set if only the rules of another crate are written, which are added to those of the exporter.
    pub additional: Option<Additional>,
}

/// The rules of another crate.
pub(crate) struct Additional {
    /// The first of its files.
    pub first: FileId,
    /// The numbers of their branches, in order.
    pub arms: Vec<u32>,
    /// The number of their first branch in the generated code.
    pub first_arm: u32,
}

/// Writes the whole program, for a build script.
pub fn emit(program: &Program, matrix: &Matrix, sources: &Sources, schemas: &Schemas) -> Result<Generated, String> {
    let context = Context { program, sources, schemas, newest: schemas.opsets.max, only: None, additional: None };
    let modules = functions(&context);
    let mut files = Vec::new();
    let mut root = TokenStream::new();
    for (name, functions) in modules {
        let file = format!("{name}.rs");
        let ident = ident(&name);
        root.extend(quote! {
            mod #ident {
                #![allow(warnings, clippy::all, clippy::pedantic, clippy::restriction)]
                use super::prelude::*;
                include!(concat!(env!("OUT_DIR"), "/", #file));
            }
            #[allow(unused_imports)]
            pub use #ident::*;
        });
        files.push((file, pretty(quote! { #(#functions)* })?));
    }
    let mut lines = |name: &str, text: String| {
        files.push((name.to_owned(), text));
        quote!(include_str!(concat!(env!("OUT_DIR"), "/", #name)))
    };
    let table = dispatch::table(&context, matrix, 0, quote!(""), &mut lines);
    root.extend(quote! {
        mod table {
            #![allow(warnings, clippy::all, clippy::pedantic, clippy::restriction)]
            use super::prelude::*;
            use super::tables::*;
            use super::*;
            /// The rules of the build.
            pub static COMPILED: Option<CompiledRules> = Some(#table);
        }
        pub use table::COMPILED;
    });
    files.push(("rules.rs".to_owned(), pretty(root)?));
    Ok(Generated { files })
}

/// The functions of all rules and helpers, by the module that they belong to.
fn functions(context: &Context<'_>) -> BTreeMap<String, Vec<TokenStream>> {
    let program = context.program;
    let mut modules: BTreeMap<String, Vec<TokenStream>> = BTreeMap::new();
    let mut add = |function: &Function, tokens: TokenStream| {
        modules.entry(module_of(&context.sources.file(function.span.file).path)).or_default().push(tokens);
    };
    for f in &program.fns {
        add(f, function::helper(context, f));
    }
    for map in &program.maps {
        add(&map.function, function::map(context, map));
    }
    for lower in program.lowers.iter().chain(&program.raises) {
        add(&lower.function, function::lower(context, lower));
    }
    modules
}

/// `mappings/aten/activation.opmap` is module `aten_activation`.
fn module_of(path: &str) -> String {
    let stem = path.strip_prefix("mappings/").unwrap_or(path).trim_end_matches(".opmap");
    stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

fn pretty(tokens: TokenStream) -> Result<String, String> {
    let mut file: syn::File =
        syn::parse2(tokens.clone()).map_err(|e| format!("generated code does not parse: {e}\n{tokens}"))?;
    tidy::tidy(&mut file);
    // Tokens inside `vec![..]` are printed with a blank before each `?`.
    Ok(prettyplease::unparse(&file).replace(") ?", ")?"))
}

pub(crate) fn ident(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

impl Context<'_> {
    /// The number of a branch in the generated code.
    pub fn arm(&self, arm: u32) -> u32 {
        let Some(additional) = &self.additional else { return arm };
        // Branches of the base are not written.
        additional.first_arm + additional.arms.binary_search(&arm).unwrap_or(0) as u32
    }

    /// Is it of the files over a base?
    pub fn is_over_base(&self, span: aten2onnx_opmap::source::Span) -> bool {
        self.additional.is_some() && self.is_written(span)
    }

    /// Is it written: of the files over the base, where there is one?
    pub fn is_written(&self, span: aten2onnx_opmap::source::Span) -> bool {
        self.additional.as_ref().is_none_or(|additional| span.file >= additional.first)
    }

    /// `mappings/aten/activation.opmap:4`
    pub fn location(&self, function: &Function) -> String {
        self.sources.place(function.span)
    }
}
