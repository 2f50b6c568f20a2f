//! The paths in the items of one module.

use proc_macro2::{Spacing, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Item, ItemMod, ItemUse, Macro, MetaList, Path, UseTree, Visibility};

use super::modules::is_test;

/// Macros whose tokens are the text of another program.
const QUOTES: [&str; 4] = ["quote", "quote_spanned", "parse_quote", "parse_quote_spanned"];

/// A path, as written.
#[derive(Debug)]
pub(super) struct Found {
    pub segments: Vec<String>,
    pub line: usize,
}

/// All paths of more than one segment, without those of the modules inside.
pub(super) fn paths_of(items: &[Item]) -> Vec<Found> {
    let mut visitor = Visitor::default();
    items.iter().for_each(|item| visitor.visit_item(item));
    visitor.found
}

#[derive(Default)]
struct Visitor {
    found: Vec<Found>,
}

impl Visitor {
    fn add(&mut self, segments: Vec<String>, line: usize) {
        if segments.len() > 1 {
            self.found.push(Found { segments, line });
        }
    }

    fn add_use(&mut self, tree: &UseTree, before: &[String], line: usize) {
        let with = |name: String| [before, &[name]].concat();
        match tree {
            UseTree::Path(path) => {
                self.add_use(&path.tree, &with(path.ident.to_string()), path.ident.span().start().line);
            }
            UseTree::Name(name) => self.add(with(name.ident.to_string()), name.ident.span().start().line),
            UseTree::Rename(name) => self.add(with(name.ident.to_string()), name.ident.span().start().line),
            UseTree::Glob(_) => self.add(with("*".to_owned()), line),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.add_use(tree, before, line)),
        }
    }

    /// Paths in the tokens of a macro, which need not be Rust.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let (mut line, mut colons) = (0, 0);
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.add(std::mem::take(&mut path), line);
                        line = ident.span().start().line;
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct)
                    if punct.as_char() == ':' && (colons == 1 || punct.spacing() == Spacing::Joint) =>
                {
                    colons += 1;
                }
                other => {
                    self.add(std::mem::take(&mut path), line);
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.add_tokens(group.stream());
                    }
                }
            }
        }
        self.add(path, line);
    }
}

impl<'ast> Visit<'ast> for Visitor {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Const(item) => &item.attrs,
            Item::Static(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    /// Its items are those of another module.
    fn visit_item_mod(&mut self, _: &'ast ItemMod) {}

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.add_use(&item.tree, &[], item.use_token.span.start().line);
    }

    fn visit_path(&mut self, path: &'ast Path) {
        if path.leading_colon.is_none() {
            let segments = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            let line = path.segments.first().map_or(0, |segment| segment.ident.span().start().line);
            self.add(segments, line);
        }
        visit::visit_path(self, path);
    }

    /// `#[arg(value_parser = crate::cli::opset)]`
    fn visit_meta_list(&mut self, meta: &'ast MetaList) {
        self.add_tokens(meta.tokens.clone());
    }

    /// `pub(in crate::check)` uses nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_macro(&mut self, found: &'ast Macro) {
        let name = found.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        if !QUOTES.contains(&name.as_str()) {
            self.add_tokens(found.tokens.clone());
        }
        visit::visit_macro(self, found);
    }
}
