//! The rules of another crate, added to those of the exporter: one file with the static `MAPPINGS`.

use std::collections::BTreeMap;

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::types::function_name;
use super::{Additional, Context, dispatch, function, ident, module_of, pretty};
use aten2onnx_opmap::Checked;
use aten2onnx_opmap::source::FileId;
use aten2onnx_opmap::tree::{Function, Lower, is_private};

/// The text of the file. The numbers of branches depend on the name of the `package`, so that those of two crates differ.
///
/// # Errors
/// A bug of the compiler.
pub fn emit_additional(checked: &Checked, package: &str) -> Result<String, String> {
    let program = &checked.program;
    let own = |span: aten2onnx_opmap::source::Span| checked.is_own(span.file);
    let arms = program.arms.iter().zip(0u32..).filter(|(arm, _)| own(arm.span)).map(|(_, number)| number).collect();
    let context = Context {
        program,
        sources: &checked.sources,
        schemas: &checked.schemas,
        newest: checked.schemas.opsets.max,
        only: None,
        additional: Some(Additional { first: FileId(checked.base as u32), arms, first_arm: first_arm(package) }),
    };
    let mut modules: BTreeMap<String, Vec<(Option<Ident>, TokenStream)>> = BTreeMap::new();
    let mut add = |function: &Function, public: bool, tokens: TokenStream| {
        let module = module_of(&checked.sources.file(function.span.file).path);
        modules.entry(module).or_default().push((public.then(|| function_name(&function.name)), tokens));
    };
    for f in program.fns.iter().filter(|f| own(f.span)) {
        add(f, !is_private(&f.name), function::helper(&context, f));
    }
    for map in program.maps.iter().filter(|m| own(m.function.span)) {
        add(&map.function, true, function::map(&context, map));
    }
    let lowers = program.lowers.iter().chain(&program.raises);
    let lowers: Vec<&Lower> = lowers.filter(|l| own(l.function.span)).collect();
    for lower in &lowers {
        add(&lower.function, true, function::lower(&context, lower));
    }
    let modules = modules.into_iter().map(|(name, functions)| module(&name, functions));
    let table =
        dispatch::table(&context, &checked.matrix, first_arm(package), quote!(""), &mut |_, text| quote!(#text));
    pretty(quote! {
        #[allow(warnings, clippy::all, clippy::pedantic, clippy::restriction)]
        mod mappings {
            use ::aten2onnx::custom::prelude;
            use ::aten2onnx::custom::prelude::*;
            use ::aten2onnx::custom::tables::*;
            // The functions of the exporter's own rules; those of these files stand before them.
            use ::aten2onnx::custom::compiled::*;
            #(#modules)*
            /// The rules of this crate's mapping files: `Exporter::rules` takes them.
            pub static MAPPINGS: CompiledRules = #table;
        }
        pub use mappings::MAPPINGS;
    })
}

/// The functions of one file. Those with a name are visible outside.
fn module(name: &str, functions: Vec<(Option<Ident>, TokenStream)>) -> TokenStream {
    let name = ident(name);
    let names = functions.iter().filter_map(|(name, _)| name.as_ref());
    let bodies = functions.iter().map(|(_, tokens)| tokens);
    quote! {
        mod #name {
            use super::prelude::*;
            #(#bodies)*
        }
        use #name::{#(#names),*};
    }
}

/// A range of a million numbers for each package.
fn first_arm(package: &str) -> u32 {
    let hash = package.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (1 + hash % 4000) * 1_000_000
}
