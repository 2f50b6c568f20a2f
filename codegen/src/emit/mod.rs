//! Pass 4: from the checked tree to Rust that is meant to be read.
//!
//! One function a rule, in one module a mapping file; one table that finds them. What the functions call is `Builder`,
//! `externs` and the small helpers of `rules::support`.

mod calls;
mod dispatch;
pub mod effects;
mod exprs;
pub mod externs;
pub mod facts;
mod function;
mod lists;
mod nodes;
mod over;
pub mod schema_table;
pub mod targets;
mod tidy;
mod types;
pub mod views;

use std::collections::BTreeMap;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use crate::coverage::Matrix;
use crate::schema::Schemas;
use crate::source::{FileId, Sources};
use crate::tree::{Function, Program};

pub use over::emit_over;
pub use types::rust_name;

/// The generated files: name and text.
pub struct Generated {
    /// In a fixed order.
    pub files: Vec<(String, String)>,
}

/// What emission needs to know of the rest.
pub(crate) struct Context<'a> {
    pub program: &'a Program,
    pub sources: &'a Sources,
    pub schemas: &'a Schemas,
    pub newest: u32,
    /// The opset that it is for, if it is for one alone.
    pub only: Option<u32>,
    /// Where only the rules of some files are written, over those of a base.
    pub over: Option<Over>,
}

/// How rules are written that come over a base.
pub(crate) struct Over {
    /// The first file that is not of the base.
    pub first: FileId,
    /// Every arm that is theirs, in order.
    pub arms: Vec<u32>,
    /// The number of their first arm.
    pub first_arm: u32,
}

/// Writes the whole program.
pub fn emit(
    program: &Program,
    matrix: &Matrix,
    sources: &Sources,
    schemas: &Schemas,
    only: Option<u32>,
) -> Result<Generated, String> {
    let context = Context { program, sources, schemas, newest: schemas.opsets.max, only, over: None };
    let mut modules: BTreeMap<String, Vec<TokenStream>> = BTreeMap::new();
    let mut add = |function: &Function, tokens: TokenStream| {
        modules.entry(module_of(&sources.file(function.span.file).path)).or_default().push(tokens);
    };
    for f in &program.fns {
        add(f, function::helper(&context, f));
    }
    for map in &program.maps {
        add(&map.function, function::map(&context, map));
    }
    for lower in &program.lowers {
        add(&lower.function, function::lower(&context, lower));
    }
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
    root.extend(dispatch::tables(&context, matrix));
    files.push(("rules.rs".to_owned(), pretty(root)?));
    Ok(Generated { files })
}

/// The path of a lowering's function, seen from the schema table.
pub fn lower_path(name: &str) -> TokenStream {
    let name = types::function_name(name);
    quote!(crate::rules::lowerings::#name)
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
    // Tokens inside `vec![..]` are printed as they are, with a blank before each `?`.
    Ok(prettyplease::unparse(&file).replace(") ?", ")?"))
}

pub(crate) fn ident(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

impl Context<'_> {
    /// The number of an arm in the generated code.
    pub fn arm(&self, arm: u32) -> u32 {
        let Some(over) = &self.over else { return arm };
        // What is not theirs is not written.
        over.first_arm + over.arms.binary_search(&arm).unwrap_or(0) as u32
    }

    /// Is it of the files over the base?
    pub fn is_own(&self, span: crate::source::Span) -> bool {
        self.over.as_ref().is_some_and(|over| span.file >= over.first)
    }

    /// `mappings/aten/activation.opmap:4`
    pub fn location(&self, function: &Function) -> String {
        self.sources.place(function.span)
    }
}
