//! The parser of one opmap item. Generated from syntax/grammar.pest by `cargo run -p xtask -- grammar`: do not edit.

#![allow(dead_code, missing_docs, clippy::all, clippy::pedantic)]

pub struct Grammar;
#[allow(dead_code, non_camel_case_types, clippy::upper_case_acronyms)]
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Rule {
    ///End-of-input
    EOI,
    r#WHITESPACE,
    r#item,
    r#lone_expr,
    r#map,
    r#bare_return,
    r#returns,
    r#returned,
    r#lower,
    r#lower_params,
    r#lower_param,
    r#rest_name,
    r#names,
    r#output_list,
    r#raise,
    r#fuse,
    r#same,
    r#unsupported,
    r#import_domain,
    r#fact,
    r#clause,
    r#extern_fn,
    r#is_clause,
    r#because,
    r#emits,
    r#function,
    r#params,
    r#param,
    r#default,
    r#default_number,
    r#list_default,
    r#quoted,
    r#ty,
    r#ty_tuple,
    r#ty_name,
    r#generic,
    r#inside,
    r#list_mark,
    r#alias,
    r#alias_set,
    r#rows,
    r#row,
    r#columns,
    r#column,
    r#body,
    r#body_expr,
    r#block,
    r#statement,
    r#let_statement,
    r#ignore_statement,
    r#since_statement,
    r#return_statement,
    r#since_clause,
    r#binding,
    r#tuple_binding,
    r#block_like,
    r#block_start,
    r#expr,
    r#prefix,
    r#infix,
    r#postfix,
    r#negate,
    r#not,
    r#coalesce,
    r#or,
    r#and,
    r#eq,
    r#ne,
    r#le,
    r#ge,
    r#lt,
    r#gt,
    r#within,
    r#add,
    r#sub,
    r#pow,
    r#mul,
    r#div,
    r#rem,
    r#index,
    r#slice_to,
    r#slice_rest,
    r#primary,
    r#if_expr,
    r#condition,
    r#match_expr,
    r#arm,
    r#patterns,
    r#pattern,
    r#tuple_pattern,
    r#fold_expr,
    r#fail,
    r#closure,
    r#closure_param,
    r#paren,
    r#list,
    r#more_elements,
    r#comprehension,
    r#spread,
    r#rule_call,
    r#call,
    r#called,
    r#arguments,
    r#argument,
    r#named,
    r#argument_name,
    r#example,
    r#from_clause,
    r#example_args,
    r#example_arg,
    r#example_value,
    r#example_node,
    r#example_list,
    r#tensor,
    r#element_type,
    r#size,
    r#value_range,
    r#bound,
    r#literal,
    r#elements,
    r#element,
    r#with_clause,
    r#with_size,
    r#name,
    r#word,
    r#plain,
    r#dotted,
    r#reserved,
    r#placeholder,
    r#letter,
    r#tail,
    r#path,
    r#path_with_namespace,
    r#number,
    r#string,
    r#sign,
    r#doc,
    r#comment,
    r#rest,
    r#kw_map,
    r#kw_lower,
    r#kw_raise,
    r#kw_avoided,
    r#kw_fuse,
    r#kw_same,
    r#kw_pub,
    r#kw_fn,
    r#kw_extern,
    r#kw_is,
    r#kw_emits,
    r#kw_because,
    r#kw_unsupported,
    r#kw_import_domain,
    r#fact_keyword,
    r#kw_example,
    r#kw_for,
    r#kw_in,
    r#kw_if,
    r#kw_else,
    r#kw_let,
    r#kw_fold,
    r#kw_return,
    r#kw_match,
    r#kw_fail,
    r#kw_since,
    r#kw_ignore,
    r#kw_before,
    r#kw_from,
    r#kw_as,
    r#kw_with,
    r#open_paren,
    r#close_paren,
    r#open_bracket,
    r#close_bracket,
    r#open_brace,
    r#close_brace,
    r#comma,
    r#semicolon,
    r#bar,
    r#star,
    r#equals,
    r#arrow,
    r#fat_arrow,
    r#range_mark,
    r#optional_mark,
}
impl Rule {
    pub fn all_rules() -> &'static [Rule] {
        &[
            Rule::r#WHITESPACE,
            Rule::r#item,
            Rule::r#lone_expr,
            Rule::r#map,
            Rule::r#bare_return,
            Rule::r#returns,
            Rule::r#returned,
            Rule::r#lower,
            Rule::r#lower_params,
            Rule::r#lower_param,
            Rule::r#rest_name,
            Rule::r#names,
            Rule::r#output_list,
            Rule::r#raise,
            Rule::r#fuse,
            Rule::r#same,
            Rule::r#unsupported,
            Rule::r#import_domain,
            Rule::r#fact,
            Rule::r#clause,
            Rule::r#extern_fn,
            Rule::r#is_clause,
            Rule::r#because,
            Rule::r#emits,
            Rule::r#function,
            Rule::r#params,
            Rule::r#param,
            Rule::r#default,
            Rule::r#default_number,
            Rule::r#list_default,
            Rule::r#quoted,
            Rule::r#ty,
            Rule::r#ty_tuple,
            Rule::r#ty_name,
            Rule::r#generic,
            Rule::r#inside,
            Rule::r#list_mark,
            Rule::r#alias,
            Rule::r#alias_set,
            Rule::r#rows,
            Rule::r#row,
            Rule::r#columns,
            Rule::r#column,
            Rule::r#body,
            Rule::r#body_expr,
            Rule::r#block,
            Rule::r#statement,
            Rule::r#let_statement,
            Rule::r#ignore_statement,
            Rule::r#since_statement,
            Rule::r#return_statement,
            Rule::r#since_clause,
            Rule::r#binding,
            Rule::r#tuple_binding,
            Rule::r#block_like,
            Rule::r#block_start,
            Rule::r#expr,
            Rule::r#prefix,
            Rule::r#infix,
            Rule::r#postfix,
            Rule::r#negate,
            Rule::r#not,
            Rule::r#coalesce,
            Rule::r#or,
            Rule::r#and,
            Rule::r#eq,
            Rule::r#ne,
            Rule::r#le,
            Rule::r#ge,
            Rule::r#lt,
            Rule::r#gt,
            Rule::r#within,
            Rule::r#add,
            Rule::r#sub,
            Rule::r#pow,
            Rule::r#mul,
            Rule::r#div,
            Rule::r#rem,
            Rule::r#index,
            Rule::r#slice_to,
            Rule::r#slice_rest,
            Rule::r#primary,
            Rule::r#if_expr,
            Rule::r#condition,
            Rule::r#match_expr,
            Rule::r#arm,
            Rule::r#patterns,
            Rule::r#pattern,
            Rule::r#tuple_pattern,
            Rule::r#fold_expr,
            Rule::r#fail,
            Rule::r#closure,
            Rule::r#closure_param,
            Rule::r#paren,
            Rule::r#list,
            Rule::r#more_elements,
            Rule::r#comprehension,
            Rule::r#spread,
            Rule::r#rule_call,
            Rule::r#call,
            Rule::r#called,
            Rule::r#arguments,
            Rule::r#argument,
            Rule::r#named,
            Rule::r#argument_name,
            Rule::r#example,
            Rule::r#from_clause,
            Rule::r#example_args,
            Rule::r#example_arg,
            Rule::r#example_value,
            Rule::r#example_node,
            Rule::r#example_list,
            Rule::r#tensor,
            Rule::r#element_type,
            Rule::r#size,
            Rule::r#value_range,
            Rule::r#bound,
            Rule::r#literal,
            Rule::r#elements,
            Rule::r#element,
            Rule::r#with_clause,
            Rule::r#with_size,
            Rule::r#name,
            Rule::r#word,
            Rule::r#plain,
            Rule::r#dotted,
            Rule::r#reserved,
            Rule::r#placeholder,
            Rule::r#letter,
            Rule::r#tail,
            Rule::r#path,
            Rule::r#path_with_namespace,
            Rule::r#number,
            Rule::r#string,
            Rule::r#sign,
            Rule::r#doc,
            Rule::r#comment,
            Rule::r#rest,
            Rule::r#kw_map,
            Rule::r#kw_lower,
            Rule::r#kw_raise,
            Rule::r#kw_avoided,
            Rule::r#kw_fuse,
            Rule::r#kw_same,
            Rule::r#kw_pub,
            Rule::r#kw_fn,
            Rule::r#kw_extern,
            Rule::r#kw_is,
            Rule::r#kw_emits,
            Rule::r#kw_because,
            Rule::r#kw_unsupported,
            Rule::r#kw_import_domain,
            Rule::r#fact_keyword,
            Rule::r#kw_example,
            Rule::r#kw_for,
            Rule::r#kw_in,
            Rule::r#kw_if,
            Rule::r#kw_else,
            Rule::r#kw_let,
            Rule::r#kw_fold,
            Rule::r#kw_return,
            Rule::r#kw_match,
            Rule::r#kw_fail,
            Rule::r#kw_since,
            Rule::r#kw_ignore,
            Rule::r#kw_before,
            Rule::r#kw_from,
            Rule::r#kw_as,
            Rule::r#kw_with,
            Rule::r#open_paren,
            Rule::r#close_paren,
            Rule::r#open_bracket,
            Rule::r#close_bracket,
            Rule::r#open_brace,
            Rule::r#close_brace,
            Rule::r#comma,
            Rule::r#semicolon,
            Rule::r#bar,
            Rule::r#star,
            Rule::r#equals,
            Rule::r#arrow,
            Rule::r#fat_arrow,
            Rule::r#range_mark,
            Rule::r#optional_mark,
        ]
    }
}
#[allow(clippy::all)]
impl ::pest::Parser<Rule> for Grammar {
    fn parse<'i>(
        rule: Rule,
        input: &'i str,
    ) -> ::std::result::Result<
        ::pest::iterators::Pairs<'i, Rule>,
        ::pest::error::Error<Rule>,
    > {
        mod rules {
            #![allow(clippy::upper_case_acronyms)]
            pub mod hidden {
                use super::super::Rule;
                #[inline]
                #[allow(dead_code, non_snake_case, unused_variables)]
                pub fn skip(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    if state.atomicity() == ::pest::Atomicity::NonAtomic {
                        state.repeat(|state| super::visible::WHITESPACE(state))
                    } else {
                        Ok(state)
                    }
                }
            }
            pub mod visible {
                use super::super::Rule;
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#WHITESPACE(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .atomic(
                            ::pest::Atomicity::Atomic,
                            |state| {
                                state
                                    .match_string(" ")
                                    .or_else(|state| { state.match_string("\t") })
                                    .or_else(|state| { state.match_string("\r") })
                                    .or_else(|state| { state.match_string("\n") })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#item(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .sequence(|state| {
                            self::r#SOI(state)
                                .and_then(|state| { super::hidden::skip(state) })
                                .and_then(|state| {
                                    self::r#map(state)
                                        .or_else(|state| { self::r#lower(state) })
                                        .or_else(|state| { self::r#raise(state) })
                                        .or_else(|state| { self::r#fuse(state) })
                                        .or_else(|state| { self::r#same(state) })
                                        .or_else(|state| { self::r#extern_fn(state) })
                                        .or_else(|state| { self::r#function(state) })
                                        .or_else(|state| { self::r#unsupported(state) })
                                        .or_else(|state| { self::r#import_domain(state) })
                                        .or_else(|state| { self::r#fact(state) })
                                        .or_else(|state| { self::r#example(state) })
                                })
                                .and_then(|state| { super::hidden::skip(state) })
                                .and_then(|state| { self::r#EOI(state) })
                        })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#lone_expr(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .sequence(|state| {
                            self::r#SOI(state)
                                .and_then(|state| { super::hidden::skip(state) })
                                .and_then(|state| { self::r#expr(state) })
                                .and_then(|state| { super::hidden::skip(state) })
                                .and_then(|state| { self::r#EOI(state) })
                        })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#map(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#map,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_map(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#path_with_namespace(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#params(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#arrow(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                self::r#returns(state)
                                                    .or_else(|state| { self::r#bare_return(state) })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state.optional(|state| { self::r#since_clause(state) })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#body(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state.optional(|state| { self::r#rows(state) })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#bare_return(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#bare_return,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#ty(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                state
                                                                    .lookahead(false, |state| { self::r#kw_since(state) })
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| { self::r#plain(state) })
                                                            })
                                                    })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#returns(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#returns,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#open_paren(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#returned(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .sequence(|state| {
                                                                                state
                                                                                    .optional(|state| {
                                                                                        state
                                                                                            .sequence(|state| {
                                                                                                self::r#comma(state)
                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                    .and_then(|state| { self::r#returned(state) })
                                                                                            })
                                                                                            .and_then(|state| {
                                                                                                state
                                                                                                    .repeat(|state| {
                                                                                                        state
                                                                                                            .sequence(|state| {
                                                                                                                super::hidden::skip(state)
                                                                                                                    .and_then(|state| {
                                                                                                                        state
                                                                                                                            .sequence(|state| {
                                                                                                                                self::r#comma(state)
                                                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                                                    .and_then(|state| { self::r#returned(state) })
                                                                                                                            })
                                                                                                                    })
                                                                                                            })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state.optional(|state| { self::r#comma(state) })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_paren(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#returned(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#returned,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#ty(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state.optional(|state| { self::r#word(state) })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#lower(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#lower,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_lower(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#path(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .sequence(|state| {
                                                        self::r#kw_before(state)
                                                            .and_then(|state| { super::hidden::skip(state) })
                                                            .and_then(|state| { self::r#number(state) })
                                                    })
                                                    .or_else(|state| { self::r#kw_avoided(state) })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#lower_params(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#arrow(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        self::r#names(state)
                                                                            .or_else(|state| { self::r#output_list(state) })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#body(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#lower_params(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#lower_params,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#open_paren(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#lower_param(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .sequence(|state| {
                                                                                state
                                                                                    .optional(|state| {
                                                                                        state
                                                                                            .sequence(|state| {
                                                                                                self::r#comma(state)
                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                    .and_then(|state| { self::r#lower_param(state) })
                                                                                            })
                                                                                            .and_then(|state| {
                                                                                                state
                                                                                                    .repeat(|state| {
                                                                                                        state
                                                                                                            .sequence(|state| {
                                                                                                                super::hidden::skip(state)
                                                                                                                    .and_then(|state| {
                                                                                                                        state
                                                                                                                            .sequence(|state| {
                                                                                                                                self::r#comma(state)
                                                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                                                    .and_then(|state| { self::r#lower_param(state) })
                                                                                                                            })
                                                                                                                    })
                                                                                                            })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state.optional(|state| { self::r#comma(state) })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_paren(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#lower_param(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    let state = state.check_stack_limit()?;
                    self::r#rest_name(state).or_else(|state| { self::r#word(state) })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#rest_name(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#rest_name,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#range_mark(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#word(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#names(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#names,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#open_paren(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#word(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .sequence(|state| {
                                                                                state
                                                                                    .optional(|state| {
                                                                                        state
                                                                                            .sequence(|state| {
                                                                                                self::r#comma(state)
                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                    .and_then(|state| { self::r#word(state) })
                                                                                            })
                                                                                            .and_then(|state| {
                                                                                                state
                                                                                                    .repeat(|state| {
                                                                                                        state
                                                                                                            .sequence(|state| {
                                                                                                                super::hidden::skip(state)
                                                                                                                    .and_then(|state| {
                                                                                                                        state
                                                                                                                            .sequence(|state| {
                                                                                                                                self::r#comma(state)
                                                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                                                    .and_then(|state| { self::r#word(state) })
                                                                                                                            })
                                                                                                                    })
                                                                                                            })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state.optional(|state| { self::r#comma(state) })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_paren(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#output_list(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#output_list,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#open_bracket(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#word(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .sequence(|state| {
                                                        state
                                                            .optional(|state| {
                                                                state
                                                                    .sequence(|state| {
                                                                        self::r#comma(state)
                                                                            .and_then(|state| { super::hidden::skip(state) })
                                                                            .and_then(|state| { self::r#word(state) })
                                                                    })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .repeat(|state| {
                                                                                state
                                                                                    .sequence(|state| {
                                                                                        super::hidden::skip(state)
                                                                                            .and_then(|state| {
                                                                                                state
                                                                                                    .sequence(|state| {
                                                                                                        self::r#comma(state)
                                                                                                            .and_then(|state| { super::hidden::skip(state) })
                                                                                                            .and_then(|state| { self::r#word(state) })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state.optional(|state| { self::r#comma(state) })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_bracket(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#raise(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#raise,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_raise(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#path(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#kw_from(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#number(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#lower_params(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#arrow(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        self::r#names(state)
                                                                            .or_else(|state| { self::r#output_list(state) })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#body(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#fuse(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#fuse,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_fuse(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#name(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#params(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#kw_from(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#expr(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#kw_if(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| { self::r#expr(state) })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#body(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#same(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#same,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_same(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#path(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#number(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#kw_as(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#number(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#string(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#unsupported(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#unsupported,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_unsupported(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#path_with_namespace(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#string(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#import_domain(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#import_domain,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_import_domain(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#string(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#number(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#fact(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#fact,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#fact_keyword(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#path_with_namespace(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#clause(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .sequence(|state| {
                                                                                state
                                                                                    .optional(|state| {
                                                                                        state
                                                                                            .sequence(|state| {
                                                                                                self::r#comma(state)
                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                    .and_then(|state| { self::r#clause(state) })
                                                                                            })
                                                                                            .and_then(|state| {
                                                                                                state
                                                                                                    .repeat(|state| {
                                                                                                        state
                                                                                                            .sequence(|state| {
                                                                                                                super::hidden::skip(state)
                                                                                                                    .and_then(|state| {
                                                                                                                        state
                                                                                                                            .sequence(|state| {
                                                                                                                                self::r#comma(state)
                                                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                                                    .and_then(|state| { self::r#clause(state) })
                                                                                                                            })
                                                                                                                    })
                                                                                                            })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#equals(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| { self::r#expr(state) })
                                                            })
                                                    })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#clause(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#clause,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#word(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .sequence(|state| {
                                                        state
                                                            .optional(|state| {
                                                                self::r#word(state)
                                                                    .and_then(|state| {
                                                                        state
                                                                            .repeat(|state| {
                                                                                state
                                                                                    .sequence(|state| {
                                                                                        super::hidden::skip(state)
                                                                                            .and_then(|state| { self::r#word(state) })
                                                                                    })
                                                                            })
                                                                    })
                                                            })
                                                    })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#extern_fn(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#extern_fn,
                            |state| {
                                state
                                    .sequence(|state| {
                                        state
                                            .optional(|state| { self::r#kw_pub(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#kw_extern(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#kw_fn(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#name(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#params(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#arrow(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#ty(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state.optional(|state| { self::r#is_clause(state) })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state.optional(|state| { self::r#emits(state) })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state.optional(|state| { self::r#because(state) })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .sequence(|state| {
                                                        state
                                                            .optional(|state| {
                                                                self::r#since_clause(state)
                                                                    .and_then(|state| {
                                                                        state
                                                                            .repeat(|state| {
                                                                                state
                                                                                    .sequence(|state| {
                                                                                        super::hidden::skip(state)
                                                                                            .and_then(|state| { self::r#since_clause(state) })
                                                                                    })
                                                                            })
                                                                    })
                                                            })
                                                    })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#is_clause(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#is_clause,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_is(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#word(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#open_paren(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#word(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .sequence(|state| {
                                                                                state
                                                                                    .optional(|state| {
                                                                                        state
                                                                                            .sequence(|state| {
                                                                                                self::r#comma(state)
                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                    .and_then(|state| { self::r#word(state) })
                                                                                            })
                                                                                            .and_then(|state| {
                                                                                                state
                                                                                                    .repeat(|state| {
                                                                                                        state
                                                                                                            .sequence(|state| {
                                                                                                                super::hidden::skip(state)
                                                                                                                    .and_then(|state| {
                                                                                                                        state
                                                                                                                            .sequence(|state| {
                                                                                                                                self::r#comma(state)
                                                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                                                    .and_then(|state| { self::r#word(state) })
                                                                                                                            })
                                                                                                                    })
                                                                                                            })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state.optional(|state| { self::r#comma(state) })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_paren(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#because(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#because,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_because(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#string(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#emits(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#emits,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_emits(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#open_bracket(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#path(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .sequence(|state| {
                                                                                state
                                                                                    .optional(|state| {
                                                                                        state
                                                                                            .sequence(|state| {
                                                                                                self::r#comma(state)
                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                    .and_then(|state| { self::r#path(state) })
                                                                                            })
                                                                                            .and_then(|state| {
                                                                                                state
                                                                                                    .repeat(|state| {
                                                                                                        state
                                                                                                            .sequence(|state| {
                                                                                                                super::hidden::skip(state)
                                                                                                                    .and_then(|state| {
                                                                                                                        state
                                                                                                                            .sequence(|state| {
                                                                                                                                self::r#comma(state)
                                                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                                                    .and_then(|state| { self::r#path(state) })
                                                                                                                            })
                                                                                                                    })
                                                                                                            })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state.optional(|state| { self::r#comma(state) })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_bracket(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#function(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#function,
                            |state| {
                                state
                                    .sequence(|state| {
                                        state
                                            .optional(|state| { self::r#kw_pub(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#kw_fn(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#name(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#params(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#arrow(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#ty(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#body(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#params(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#params,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#open_paren(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#param(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .sequence(|state| {
                                                                                state
                                                                                    .optional(|state| {
                                                                                        state
                                                                                            .sequence(|state| {
                                                                                                self::r#comma(state)
                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                    .and_then(|state| { self::r#param(state) })
                                                                                            })
                                                                                            .and_then(|state| {
                                                                                                state
                                                                                                    .repeat(|state| {
                                                                                                        state
                                                                                                            .sequence(|state| {
                                                                                                                super::hidden::skip(state)
                                                                                                                    .and_then(|state| {
                                                                                                                        state
                                                                                                                            .sequence(|state| {
                                                                                                                                self::r#comma(state)
                                                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                                                    .and_then(|state| { self::r#param(state) })
                                                                                                                            })
                                                                                                                    })
                                                                                                            })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state.optional(|state| { self::r#comma(state) })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_paren(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#param(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#param,
                            |state| {
                                self::r#star(state)
                                    .or_else(|state| {
                                        state
                                            .sequence(|state| {
                                                self::r#ty(state)
                                                    .and_then(|state| { super::hidden::skip(state) })
                                                    .and_then(|state| { self::r#word(state) })
                                                    .and_then(|state| { super::hidden::skip(state) })
                                                    .and_then(|state| {
                                                        state
                                                            .optional(|state| {
                                                                state
                                                                    .sequence(|state| {
                                                                        self::r#equals(state)
                                                                            .and_then(|state| { super::hidden::skip(state) })
                                                                            .and_then(|state| { self::r#default(state) })
                                                                    })
                                                            })
                                                    })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#default(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#default,
                            |state| {
                                self::r#list_default(state)
                                    .or_else(|state| { self::r#string(state) })
                                    .or_else(|state| { self::r#quoted(state) })
                                    .or_else(|state| {
                                        state
                                            .sequence(|state| {
                                                state
                                                    .optional(|state| { self::r#sign(state) })
                                                    .and_then(|state| { super::hidden::skip(state) })
                                                    .and_then(|state| {
                                                        self::r#default_number(state)
                                                            .or_else(|state| { self::r#dotted(state) })
                                                    })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#default_number(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#default_number,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    self::r#number(state)
                                                        .and_then(|state| {
                                                            state.optional(|state| { state.match_string(".") })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#list_default(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#list_default,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#open_bracket(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#default(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .sequence(|state| {
                                                                                state
                                                                                    .optional(|state| {
                                                                                        state
                                                                                            .sequence(|state| {
                                                                                                self::r#comma(state)
                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                    .and_then(|state| { self::r#default(state) })
                                                                                            })
                                                                                            .and_then(|state| {
                                                                                                state
                                                                                                    .repeat(|state| {
                                                                                                        state
                                                                                                            .sequence(|state| {
                                                                                                                super::hidden::skip(state)
                                                                                                                    .and_then(|state| {
                                                                                                                        state
                                                                                                                            .sequence(|state| {
                                                                                                                                self::r#comma(state)
                                                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                                                    .and_then(|state| { self::r#default(state) })
                                                                                                                            })
                                                                                                                    })
                                                                                                            })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state.optional(|state| { self::r#comma(state) })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_bracket(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#quoted(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#quoted,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("'")
                                                        .and_then(|state| {
                                                            state
                                                                .repeat(|state| {
                                                                    state
                                                                        .sequence(|state| {
                                                                            state
                                                                                .match_string("\\")
                                                                                .and_then(|state| {
                                                                                    state.lookahead(false, |state| { self::r#NEWLINE(state) })
                                                                                })
                                                                                .and_then(|state| { self::r#ANY(state) })
                                                                        })
                                                                        .or_else(|state| {
                                                                            state
                                                                                .sequence(|state| {
                                                                                    state
                                                                                        .lookahead(
                                                                                            false,
                                                                                            |state| {
                                                                                                state
                                                                                                    .match_string("'")
                                                                                                    .or_else(|state| { state.match_string("\\") })
                                                                                                    .or_else(|state| { self::r#NEWLINE(state) })
                                                                                            },
                                                                                        )
                                                                                        .and_then(|state| { self::r#ANY(state) })
                                                                                })
                                                                        })
                                                                })
                                                        })
                                                        .and_then(|state| { state.match_string("'") })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#ty(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#ty,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#ty_tuple(state)
                                            .or_else(|state| { self::r#ty_name(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .sequence(|state| {
                                                        state
                                                            .optional(|state| {
                                                                self::r#optional_mark(state)
                                                                    .or_else(|state| { self::r#list_mark(state) })
                                                                    .or_else(|state| { self::r#alias(state) })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .repeat(|state| {
                                                                                state
                                                                                    .sequence(|state| {
                                                                                        super::hidden::skip(state)
                                                                                            .and_then(|state| {
                                                                                                self::r#optional_mark(state)
                                                                                                    .or_else(|state| { self::r#list_mark(state) })
                                                                                                    .or_else(|state| { self::r#alias(state) })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                            })
                                                    })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#ty_tuple(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#ty_tuple,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#open_paren(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#ty(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .sequence(|state| {
                                                                                state
                                                                                    .optional(|state| {
                                                                                        state
                                                                                            .sequence(|state| {
                                                                                                self::r#comma(state)
                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                    .and_then(|state| { self::r#ty(state) })
                                                                                            })
                                                                                            .and_then(|state| {
                                                                                                state
                                                                                                    .repeat(|state| {
                                                                                                        state
                                                                                                            .sequence(|state| {
                                                                                                                super::hidden::skip(state)
                                                                                                                    .and_then(|state| {
                                                                                                                        state
                                                                                                                            .sequence(|state| {
                                                                                                                                self::r#comma(state)
                                                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                                                    .and_then(|state| { self::r#ty(state) })
                                                                                                                            })
                                                                                                                    })
                                                                                                            })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state.optional(|state| { self::r#comma(state) })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_paren(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#ty_name(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#ty_name,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            self::r#placeholder(state)
                                                .or_else(|state| { self::r#generic(state) })
                                                .or_else(|state| {
                                                    state
                                                        .sequence(|state| {
                                                            self::r#plain(state)
                                                                .and_then(|state| {
                                                                    state
                                                                        .repeat(|state| {
                                                                            state
                                                                                .sequence(|state| {
                                                                                    state
                                                                                        .match_string(".")
                                                                                        .and_then(|state| { self::r#plain(state) })
                                                                                })
                                                                        })
                                                                })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#generic(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#generic,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("Dict")
                                                        .or_else(|state| { state.match_string("Future") })
                                                        .or_else(|state| { state.match_string("Await") })
                                                        .or_else(|state| { state.match_string("RRef") })
                                                        .or_else(|state| { state.match_string("Union") })
                                                        .and_then(|state| { self::r#inside(state) })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#inside(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .sequence(|state| {
                            state
                                .match_string("(")
                                .and_then(|state| { super::hidden::skip(state) })
                                .and_then(|state| {
                                    state
                                        .sequence(|state| {
                                            state
                                                .optional(|state| {
                                                    state
                                                        .sequence(|state| {
                                                            state
                                                                .lookahead(
                                                                    false,
                                                                    |state| {
                                                                        state
                                                                            .match_string("(")
                                                                            .or_else(|state| { state.match_string(")") })
                                                                            .or_else(|state| { state.match_string("{") })
                                                                            .or_else(|state| { state.match_string("}") })
                                                                            .or_else(|state| { self::r#NEWLINE(state) })
                                                                    },
                                                                )
                                                                .and_then(|state| { super::hidden::skip(state) })
                                                                .and_then(|state| { self::r#ANY(state) })
                                                        })
                                                        .or_else(|state| { self::r#inside(state) })
                                                        .and_then(|state| {
                                                            state
                                                                .repeat(|state| {
                                                                    state
                                                                        .sequence(|state| {
                                                                            super::hidden::skip(state)
                                                                                .and_then(|state| {
                                                                                    state
                                                                                        .sequence(|state| {
                                                                                            state
                                                                                                .lookahead(
                                                                                                    false,
                                                                                                    |state| {
                                                                                                        state
                                                                                                            .match_string("(")
                                                                                                            .or_else(|state| { state.match_string(")") })
                                                                                                            .or_else(|state| { state.match_string("{") })
                                                                                                            .or_else(|state| { state.match_string("}") })
                                                                                                            .or_else(|state| { self::r#NEWLINE(state) })
                                                                                                    },
                                                                                                )
                                                                                                .and_then(|state| { super::hidden::skip(state) })
                                                                                                .and_then(|state| { self::r#ANY(state) })
                                                                                        })
                                                                                        .or_else(|state| { self::r#inside(state) })
                                                                                })
                                                                        })
                                                                })
                                                        })
                                                })
                                        })
                                })
                                .and_then(|state| { super::hidden::skip(state) })
                                .and_then(|state| { state.match_string(")") })
                        })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#list_mark(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#list_mark,
                            |state| {
                                state
                                    .sequence(|state| {
                                        state
                                            .match_string("[")
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state.optional(|state| { self::r#number(state) })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_bracket(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#alias(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#alias,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("(")
                                                        .and_then(|state| { self::r#alias_set(state) })
                                                        .and_then(|state| {
                                                            state
                                                                .optional(|state| {
                                                                    state
                                                                        .sequence(|state| {
                                                                            state
                                                                                .repeat(|state| { state.match_string(" ") })
                                                                                .and_then(|state| { state.match_string("->") })
                                                                                .and_then(|state| {
                                                                                    state.repeat(|state| { state.match_string(" ") })
                                                                                })
                                                                                .and_then(|state| { self::r#alias_set(state) })
                                                                        })
                                                                })
                                                        })
                                                        .and_then(|state| { state.match_string(")") })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#alias_set(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    let state = state.check_stack_limit()?;
                    state
                        .match_string("*")
                        .or_else(|state| {
                            state
                                .sequence(|state| {
                                    self::r#plain(state)
                                        .and_then(|state| { super::hidden::skip(state) })
                                        .and_then(|state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .optional(|state| {
                                                            state
                                                                .sequence(|state| {
                                                                    state
                                                                        .match_string("|")
                                                                        .and_then(|state| { super::hidden::skip(state) })
                                                                        .and_then(|state| { self::r#plain(state) })
                                                                })
                                                                .and_then(|state| {
                                                                    state
                                                                        .repeat(|state| {
                                                                            state
                                                                                .sequence(|state| {
                                                                                    super::hidden::skip(state)
                                                                                        .and_then(|state| {
                                                                                            state
                                                                                                .sequence(|state| {
                                                                                                    state
                                                                                                        .match_string("|")
                                                                                                        .and_then(|state| { super::hidden::skip(state) })
                                                                                                        .and_then(|state| { self::r#plain(state) })
                                                                                                })
                                                                                        })
                                                                                })
                                                                        })
                                                                })
                                                        })
                                                })
                                        })
                                        .and_then(|state| { super::hidden::skip(state) })
                                        .and_then(|state| {
                                            state.optional(|state| { state.match_string("!") })
                                        })
                                })
                        })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#rows(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#rows,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_for(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#open_brace(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .sequence(|state| {
                                                        state
                                                            .optional(|state| {
                                                                self::r#comment(state)
                                                                    .or_else(|state| { self::r#doc(state) })
                                                                    .or_else(|state| { self::r#row(state) })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .repeat(|state| {
                                                                                state
                                                                                    .sequence(|state| {
                                                                                        super::hidden::skip(state)
                                                                                            .and_then(|state| {
                                                                                                self::r#comment(state)
                                                                                                    .or_else(|state| { self::r#doc(state) })
                                                                                                    .or_else(|state| { self::r#row(state) })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_brace(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#row(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#row,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#dotted(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#fat_arrow(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        self::r#columns(state)
                                                                            .or_else(|state| { self::r#column(state) })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                self::r#comma(state)
                                                    .or_else(|state| {
                                                        state
                                                            .lookahead(
                                                                true,
                                                                |state| {
                                                                    self::r#close_brace(state)
                                                                        .or_else(|state| { self::r#comment(state) })
                                                                },
                                                            )
                                                    })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#columns(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .sequence(|state| {
                            self::r#open_paren(state)
                                .and_then(|state| { super::hidden::skip(state) })
                                .and_then(|state| {
                                    state
                                        .optional(|state| {
                                            state
                                                .sequence(|state| {
                                                    self::r#column(state)
                                                        .and_then(|state| { super::hidden::skip(state) })
                                                        .and_then(|state| {
                                                            state
                                                                .sequence(|state| {
                                                                    state
                                                                        .optional(|state| {
                                                                            state
                                                                                .sequence(|state| {
                                                                                    self::r#comma(state)
                                                                                        .and_then(|state| { super::hidden::skip(state) })
                                                                                        .and_then(|state| { self::r#column(state) })
                                                                                })
                                                                                .and_then(|state| {
                                                                                    state
                                                                                        .repeat(|state| {
                                                                                            state
                                                                                                .sequence(|state| {
                                                                                                    super::hidden::skip(state)
                                                                                                        .and_then(|state| {
                                                                                                            state
                                                                                                                .sequence(|state| {
                                                                                                                    self::r#comma(state)
                                                                                                                        .and_then(|state| { super::hidden::skip(state) })
                                                                                                                        .and_then(|state| { self::r#column(state) })
                                                                                                                })
                                                                                                        })
                                                                                                })
                                                                                        })
                                                                                })
                                                                        })
                                                                })
                                                        })
                                                        .and_then(|state| { super::hidden::skip(state) })
                                                        .and_then(|state| {
                                                            state.optional(|state| { self::r#comma(state) })
                                                        })
                                                })
                                        })
                                })
                                .and_then(|state| { super::hidden::skip(state) })
                                .and_then(|state| { self::r#close_paren(state) })
                        })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#column(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#column,
                            |state| {
                                state
                                    .sequence(|state| {
                                        state
                                            .optional(|state| { self::r#sign(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#number(state) })
                                    })
                                    .or_else(|state| { self::r#string(state) })
                                    .or_else(|state| { self::r#path_with_namespace(state) })
                                    .or_else(|state| {
                                        state
                                            .sequence(|state| {
                                                state
                                                    .optional(|state| { self::r#sign(state) })
                                                    .and_then(|state| { super::hidden::skip(state) })
                                                    .and_then(|state| { self::r#word(state) })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#body(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    let state = state.check_stack_limit()?;
                    self::r#body_expr(state).or_else(|state| { self::r#block(state) })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#body_expr(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#body_expr,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#equals(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#expr(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#block(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#block,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#open_brace(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .sequence(|state| {
                                                        state
                                                            .optional(|state| {
                                                                self::r#comment(state)
                                                                    .or_else(|state| { self::r#statement(state) })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .repeat(|state| {
                                                                                state
                                                                                    .sequence(|state| {
                                                                                        super::hidden::skip(state)
                                                                                            .and_then(|state| {
                                                                                                self::r#comment(state)
                                                                                                    .or_else(|state| { self::r#statement(state) })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_brace(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#statement(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#statement,
                            |state| {
                                self::r#let_statement(state)
                                    .or_else(|state| { self::r#ignore_statement(state) })
                                    .or_else(|state| { self::r#since_statement(state) })
                                    .or_else(|state| { self::r#return_statement(state) })
                                    .or_else(|state| {
                                        state
                                            .sequence(|state| {
                                                self::r#block_like(state)
                                                    .and_then(|state| { super::hidden::skip(state) })
                                                    .and_then(|state| {
                                                        state.optional(|state| { self::r#semicolon(state) })
                                                    })
                                            })
                                    })
                                    .or_else(|state| {
                                        state
                                            .sequence(|state| {
                                                state
                                                    .lookahead(false, |state| { self::r#block_start(state) })
                                                    .and_then(|state| { super::hidden::skip(state) })
                                                    .and_then(|state| { self::r#expr(state) })
                                                    .and_then(|state| { super::hidden::skip(state) })
                                                    .and_then(|state| {
                                                        self::r#semicolon(state)
                                                            .or_else(|state| {
                                                                state
                                                                    .lookahead(true, |state| { self::r#close_brace(state) })
                                                            })
                                                    })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#let_statement(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#let_statement,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_let(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#binding(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#equals(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#expr(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#semicolon(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#ignore_statement(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#ignore_statement,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_ignore(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#open_paren(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#word(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_paren(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#string(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#semicolon(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#since_statement(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#since_statement,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#since_clause(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#semicolon(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#return_statement(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#return_statement,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_return(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#expr(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#semicolon(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#since_clause(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#since_clause,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_since(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#number(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#string(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#binding(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#binding,
                            |state| {
                                self::r#name(state)
                                    .or_else(|state| { self::r#tuple_binding(state) })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#tuple_binding(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#tuple_binding,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#open_paren(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#name(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .sequence(|state| {
                                                        state
                                                            .optional(|state| {
                                                                state
                                                                    .sequence(|state| {
                                                                        self::r#comma(state)
                                                                            .and_then(|state| { super::hidden::skip(state) })
                                                                            .and_then(|state| { self::r#name(state) })
                                                                    })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .repeat(|state| {
                                                                                state
                                                                                    .sequence(|state| {
                                                                                        super::hidden::skip(state)
                                                                                            .and_then(|state| {
                                                                                                state
                                                                                                    .sequence(|state| {
                                                                                                        self::r#comma(state)
                                                                                                            .and_then(|state| { super::hidden::skip(state) })
                                                                                                            .and_then(|state| { self::r#name(state) })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state.optional(|state| { self::r#comma(state) })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_paren(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#block_like(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    let state = state.check_stack_limit()?;
                    self::r#if_expr(state)
                        .or_else(|state| { self::r#match_expr(state) })
                        .or_else(|state| {
                            state
                                .sequence(|state| {
                                    state
                                        .lookahead(false, |state| { self::r#placeholder(state) })
                                        .and_then(|state| { super::hidden::skip(state) })
                                        .and_then(|state| { self::r#block(state) })
                                })
                        })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#block_start(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    let state = state.check_stack_limit()?;
                    self::r#kw_if(state)
                        .or_else(|state| { self::r#kw_match(state) })
                        .or_else(|state| {
                            state
                                .sequence(|state| {
                                    state
                                        .lookahead(false, |state| { self::r#placeholder(state) })
                                        .and_then(|state| { super::hidden::skip(state) })
                                        .and_then(|state| { state.match_string("{") })
                                })
                        })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#expr(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#expr,
                            |state| {
                                state
                                    .sequence(|state| {
                                        state
                                            .sequence(|state| {
                                                state
                                                    .optional(|state| {
                                                        self::r#prefix(state)
                                                            .and_then(|state| {
                                                                state
                                                                    .repeat(|state| {
                                                                        state
                                                                            .sequence(|state| {
                                                                                super::hidden::skip(state)
                                                                                    .and_then(|state| { self::r#prefix(state) })
                                                                            })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#primary(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .sequence(|state| {
                                                        state
                                                            .optional(|state| {
                                                                self::r#postfix(state)
                                                                    .and_then(|state| {
                                                                        state
                                                                            .repeat(|state| {
                                                                                state
                                                                                    .sequence(|state| {
                                                                                        super::hidden::skip(state)
                                                                                            .and_then(|state| { self::r#postfix(state) })
                                                                                    })
                                                                            })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .sequence(|state| {
                                                        state
                                                            .optional(|state| {
                                                                state
                                                                    .sequence(|state| {
                                                                        self::r#infix(state)
                                                                            .and_then(|state| { super::hidden::skip(state) })
                                                                            .and_then(|state| {
                                                                                state
                                                                                    .sequence(|state| {
                                                                                        state
                                                                                            .optional(|state| {
                                                                                                self::r#prefix(state)
                                                                                                    .and_then(|state| {
                                                                                                        state
                                                                                                            .repeat(|state| {
                                                                                                                state
                                                                                                                    .sequence(|state| {
                                                                                                                        super::hidden::skip(state)
                                                                                                                            .and_then(|state| { self::r#prefix(state) })
                                                                                                                    })
                                                                                                            })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                            .and_then(|state| { super::hidden::skip(state) })
                                                                            .and_then(|state| { self::r#primary(state) })
                                                                            .and_then(|state| { super::hidden::skip(state) })
                                                                            .and_then(|state| {
                                                                                state
                                                                                    .sequence(|state| {
                                                                                        state
                                                                                            .optional(|state| {
                                                                                                self::r#postfix(state)
                                                                                                    .and_then(|state| {
                                                                                                        state
                                                                                                            .repeat(|state| {
                                                                                                                state
                                                                                                                    .sequence(|state| {
                                                                                                                        super::hidden::skip(state)
                                                                                                                            .and_then(|state| { self::r#postfix(state) })
                                                                                                                    })
                                                                                                            })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .repeat(|state| {
                                                                                state
                                                                                    .sequence(|state| {
                                                                                        super::hidden::skip(state)
                                                                                            .and_then(|state| {
                                                                                                state
                                                                                                    .sequence(|state| {
                                                                                                        self::r#infix(state)
                                                                                                            .and_then(|state| { super::hidden::skip(state) })
                                                                                                            .and_then(|state| {
                                                                                                                state
                                                                                                                    .sequence(|state| {
                                                                                                                        state
                                                                                                                            .optional(|state| {
                                                                                                                                self::r#prefix(state)
                                                                                                                                    .and_then(|state| {
                                                                                                                                        state
                                                                                                                                            .repeat(|state| {
                                                                                                                                                state
                                                                                                                                                    .sequence(|state| {
                                                                                                                                                        super::hidden::skip(state)
                                                                                                                                                            .and_then(|state| { self::r#prefix(state) })
                                                                                                                                                    })
                                                                                                                                            })
                                                                                                                                    })
                                                                                                                            })
                                                                                                                    })
                                                                                                            })
                                                                                                            .and_then(|state| { super::hidden::skip(state) })
                                                                                                            .and_then(|state| { self::r#primary(state) })
                                                                                                            .and_then(|state| { super::hidden::skip(state) })
                                                                                                            .and_then(|state| {
                                                                                                                state
                                                                                                                    .sequence(|state| {
                                                                                                                        state
                                                                                                                            .optional(|state| {
                                                                                                                                self::r#postfix(state)
                                                                                                                                    .and_then(|state| {
                                                                                                                                        state
                                                                                                                                            .repeat(|state| {
                                                                                                                                                state
                                                                                                                                                    .sequence(|state| {
                                                                                                                                                        super::hidden::skip(state)
                                                                                                                                                            .and_then(|state| { self::r#postfix(state) })
                                                                                                                                                    })
                                                                                                                                            })
                                                                                                                                    })
                                                                                                                            })
                                                                                                                    })
                                                                                                            })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                            })
                                                    })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#prefix(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    let state = state.check_stack_limit()?;
                    self::r#negate(state).or_else(|state| { self::r#not(state) })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#infix(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    let state = state.check_stack_limit()?;
                    self::r#coalesce(state)
                        .or_else(|state| { self::r#or(state) })
                        .or_else(|state| { self::r#and(state) })
                        .or_else(|state| { self::r#eq(state) })
                        .or_else(|state| { self::r#ne(state) })
                        .or_else(|state| { self::r#le(state) })
                        .or_else(|state| { self::r#ge(state) })
                        .or_else(|state| { self::r#lt(state) })
                        .or_else(|state| { self::r#gt(state) })
                        .or_else(|state| { self::r#within(state) })
                        .or_else(|state| { self::r#add(state) })
                        .or_else(|state| { self::r#sub(state) })
                        .or_else(|state| { self::r#pow(state) })
                        .or_else(|state| { self::r#mul(state) })
                        .or_else(|state| { self::r#div(state) })
                        .or_else(|state| { self::r#rem(state) })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#postfix(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    let state = state.check_stack_limit()?;
                    self::r#index(state)
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#negate(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#negate, |state| { state.match_string("-") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#not(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#not,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("!")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { state.match_string("=") })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#coalesce(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#coalesce, |state| { state.match_string("??") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#or(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#or, |state| { state.match_string("||") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#and(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#and, |state| { state.match_string("&&") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#eq(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#eq, |state| { state.match_string("==") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#ne(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#ne, |state| { state.match_string("!=") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#le(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#le, |state| { state.match_string("<=") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#ge(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#ge, |state| { state.match_string(">=") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#lt(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#lt, |state| { state.match_string("<") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#gt(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#gt, |state| { state.match_string(">") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#within(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#within,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("in")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#add(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#add, |state| { state.match_string("+") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#sub(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#sub,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("-")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { state.match_string(">") })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#pow(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#pow, |state| { state.match_string("**") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#mul(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#mul, |state| { state.match_string("*") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#div(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#div,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("/")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { state.match_string("/") })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#rem(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#rem, |state| { state.match_string("%") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#index(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#index,
                            |state| {
                                state
                                    .sequence(|state| {
                                        state
                                            .match_string("[")
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                self::r#slice_to(state)
                                                    .or_else(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#expr(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state.optional(|state| { self::r#slice_rest(state) })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_bracket(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#slice_to(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#slice_to,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#range_mark(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state.optional(|state| { self::r#expr(state) })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#slice_rest(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#slice_rest,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#range_mark(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state.optional(|state| { self::r#expr(state) })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#primary(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    let state = state.check_stack_limit()?;
                    self::r#number(state)
                        .or_else(|state| { self::r#string(state) })
                        .or_else(|state| { self::r#rule_call(state) })
                        .or_else(|state| { self::r#call(state) })
                        .or_else(|state| { self::r#name(state) })
                        .or_else(|state| { self::r#paren(state) })
                        .or_else(|state| { self::r#list(state) })
                        .or_else(|state| { self::r#if_expr(state) })
                        .or_else(|state| { self::r#match_expr(state) })
                        .or_else(|state| { self::r#fold_expr(state) })
                        .or_else(|state| { self::r#fail(state) })
                        .or_else(|state| { self::r#since_clause(state) })
                        .or_else(|state| { self::r#closure(state) })
                        .or_else(|state| {
                            state
                                .sequence(|state| {
                                    state
                                        .lookahead(false, |state| { self::r#placeholder(state) })
                                        .and_then(|state| { super::hidden::skip(state) })
                                        .and_then(|state| { self::r#block(state) })
                                })
                        })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#if_expr(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#if_expr,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_if(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#condition(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#block(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#kw_else(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        self::r#if_expr(state)
                                                                            .or_else(|state| { self::r#block(state) })
                                                                    })
                                                            })
                                                    })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#condition(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#condition,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_let(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#name(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#equals(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#expr(state) })
                                    })
                                    .or_else(|state| { self::r#expr(state) })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#match_expr(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#match_expr,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_match(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#expr(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#open_brace(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .sequence(|state| {
                                                        state
                                                            .optional(|state| {
                                                                self::r#comment(state)
                                                                    .or_else(|state| { self::r#arm(state) })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .repeat(|state| {
                                                                                state
                                                                                    .sequence(|state| {
                                                                                        super::hidden::skip(state)
                                                                                            .and_then(|state| {
                                                                                                self::r#comment(state)
                                                                                                    .or_else(|state| { self::r#arm(state) })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_brace(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#arm(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#arm,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#patterns(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#fat_arrow(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#expr(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                self::r#comma(state)
                                                    .or_else(|state| {
                                                        state
                                                            .lookahead(true, |state| { self::r#close_brace(state) })
                                                    })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#patterns(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#patterns,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#pattern(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .sequence(|state| {
                                                        state
                                                            .optional(|state| {
                                                                state
                                                                    .sequence(|state| {
                                                                        self::r#bar(state)
                                                                            .and_then(|state| { super::hidden::skip(state) })
                                                                            .and_then(|state| { self::r#pattern(state) })
                                                                    })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .repeat(|state| {
                                                                                state
                                                                                    .sequence(|state| {
                                                                                        super::hidden::skip(state)
                                                                                            .and_then(|state| {
                                                                                                state
                                                                                                    .sequence(|state| {
                                                                                                        self::r#bar(state)
                                                                                                            .and_then(|state| { super::hidden::skip(state) })
                                                                                                            .and_then(|state| { self::r#pattern(state) })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                            })
                                                    })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#pattern(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#pattern,
                            |state| {
                                state
                                    .sequence(|state| {
                                        state
                                            .optional(|state| { self::r#negate(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#number(state) })
                                    })
                                    .or_else(|state| { self::r#string(state) })
                                    .or_else(|state| { self::r#tuple_pattern(state) })
                                    .or_else(|state| { self::r#name(state) })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#tuple_pattern(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#tuple_pattern,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#open_paren(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#pattern(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .sequence(|state| {
                                                        state
                                                            .optional(|state| {
                                                                state
                                                                    .sequence(|state| {
                                                                        self::r#comma(state)
                                                                            .and_then(|state| { super::hidden::skip(state) })
                                                                            .and_then(|state| { self::r#pattern(state) })
                                                                    })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .repeat(|state| {
                                                                                state
                                                                                    .sequence(|state| {
                                                                                        super::hidden::skip(state)
                                                                                            .and_then(|state| {
                                                                                                state
                                                                                                    .sequence(|state| {
                                                                                                        self::r#comma(state)
                                                                                                            .and_then(|state| { super::hidden::skip(state) })
                                                                                                            .and_then(|state| { self::r#pattern(state) })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state.optional(|state| { self::r#comma(state) })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_paren(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#fold_expr(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#fold_expr,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_fold(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#binding(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#equals(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#expr(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#kw_for(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#binding(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#kw_in(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#expr(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#block(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#fail(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#fail,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_fail(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#string(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#closure(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#closure,
                            |state| {
                                state
                                    .sequence(|state| {
                                        state
                                            .match_string("||")
                                            .or_else(|state| {
                                                state
                                                    .sequence(|state| {
                                                        self::r#bar(state)
                                                            .and_then(|state| { super::hidden::skip(state) })
                                                            .and_then(|state| {
                                                                state
                                                                    .optional(|state| {
                                                                        state
                                                                            .sequence(|state| {
                                                                                self::r#closure_param(state)
                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                    .and_then(|state| {
                                                                                        state
                                                                                            .sequence(|state| {
                                                                                                state
                                                                                                    .optional(|state| {
                                                                                                        state
                                                                                                            .sequence(|state| {
                                                                                                                self::r#comma(state)
                                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                                    .and_then(|state| { self::r#closure_param(state) })
                                                                                                            })
                                                                                                            .and_then(|state| {
                                                                                                                state
                                                                                                                    .repeat(|state| {
                                                                                                                        state
                                                                                                                            .sequence(|state| {
                                                                                                                                super::hidden::skip(state)
                                                                                                                                    .and_then(|state| {
                                                                                                                                        state
                                                                                                                                            .sequence(|state| {
                                                                                                                                                self::r#comma(state)
                                                                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                                                                    .and_then(|state| { self::r#closure_param(state) })
                                                                                                                                            })
                                                                                                                                    })
                                                                                                                            })
                                                                                                                    })
                                                                                                            })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                    .and_then(|state| {
                                                                                        state.optional(|state| { self::r#comma(state) })
                                                                                    })
                                                                            })
                                                                    })
                                                            })
                                                            .and_then(|state| { super::hidden::skip(state) })
                                                            .and_then(|state| { self::r#bar(state) })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#expr(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#closure_param(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    let state = state.check_stack_limit()?;
                    self::r#rest_name(state).or_else(|state| { self::r#name(state) })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#paren(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#paren,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#open_paren(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#expr(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .sequence(|state| {
                                                        state
                                                            .optional(|state| {
                                                                state
                                                                    .sequence(|state| {
                                                                        self::r#comma(state)
                                                                            .and_then(|state| { super::hidden::skip(state) })
                                                                            .and_then(|state| { self::r#expr(state) })
                                                                    })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .repeat(|state| {
                                                                                state
                                                                                    .sequence(|state| {
                                                                                        super::hidden::skip(state)
                                                                                            .and_then(|state| {
                                                                                                state
                                                                                                    .sequence(|state| {
                                                                                                        self::r#comma(state)
                                                                                                            .and_then(|state| { super::hidden::skip(state) })
                                                                                                            .and_then(|state| { self::r#expr(state) })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state.optional(|state| { self::r#comma(state) })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_paren(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#list(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#list,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#open_bracket(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#spread(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| { self::r#more_elements(state) })
                                                            })
                                                            .or_else(|state| {
                                                                state
                                                                    .sequence(|state| {
                                                                        self::r#expr(state)
                                                                            .and_then(|state| { super::hidden::skip(state) })
                                                                            .and_then(|state| {
                                                                                self::r#comprehension(state)
                                                                                    .or_else(|state| { self::r#more_elements(state) })
                                                                            })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_bracket(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#more_elements(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .sequence(|state| {
                            state
                                .sequence(|state| {
                                    state
                                        .optional(|state| {
                                            state
                                                .sequence(|state| {
                                                    self::r#comma(state)
                                                        .and_then(|state| { super::hidden::skip(state) })
                                                        .and_then(|state| {
                                                            self::r#spread(state)
                                                                .or_else(|state| { self::r#expr(state) })
                                                        })
                                                })
                                                .and_then(|state| {
                                                    state
                                                        .repeat(|state| {
                                                            state
                                                                .sequence(|state| {
                                                                    super::hidden::skip(state)
                                                                        .and_then(|state| {
                                                                            state
                                                                                .sequence(|state| {
                                                                                    self::r#comma(state)
                                                                                        .and_then(|state| { super::hidden::skip(state) })
                                                                                        .and_then(|state| {
                                                                                            self::r#spread(state)
                                                                                                .or_else(|state| { self::r#expr(state) })
                                                                                        })
                                                                                })
                                                                        })
                                                                })
                                                        })
                                                })
                                        })
                                })
                                .and_then(|state| { super::hidden::skip(state) })
                                .and_then(|state| {
                                    state.optional(|state| { self::r#comma(state) })
                                })
                        })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#comprehension(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#comprehension,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_for(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#binding(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#kw_in(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#expr(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#kw_if(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| { self::r#expr(state) })
                                                            })
                                                    })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#spread(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#spread,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#range_mark(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#expr(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#rule_call(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#rule_call,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#path_with_namespace(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#arguments(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#call(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#call,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#called(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#arguments(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#called(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#called,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    self::r#name(state)
                                                        .and_then(|state| {
                                                            state
                                                                .lookahead(
                                                                    true,
                                                                    |state| {
                                                                        state
                                                                            .sequence(|state| {
                                                                                state
                                                                                    .repeat(|state| { self::r#WHITESPACE(state) })
                                                                                    .and_then(|state| { state.match_string("(") })
                                                                            })
                                                                    },
                                                                )
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#arguments(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#arguments,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#open_paren(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#argument(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .sequence(|state| {
                                                                                state
                                                                                    .optional(|state| {
                                                                                        state
                                                                                            .sequence(|state| {
                                                                                                self::r#comma(state)
                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                    .and_then(|state| { self::r#argument(state) })
                                                                                            })
                                                                                            .and_then(|state| {
                                                                                                state
                                                                                                    .repeat(|state| {
                                                                                                        state
                                                                                                            .sequence(|state| {
                                                                                                                super::hidden::skip(state)
                                                                                                                    .and_then(|state| {
                                                                                                                        state
                                                                                                                            .sequence(|state| {
                                                                                                                                self::r#comma(state)
                                                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                                                    .and_then(|state| { self::r#argument(state) })
                                                                                                                            })
                                                                                                                    })
                                                                                                            })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state.optional(|state| { self::r#comma(state) })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_paren(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#argument(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#argument,
                            |state| {
                                self::r#spread(state)
                                    .or_else(|state| { self::r#named(state) })
                                    .or_else(|state| { self::r#expr(state) })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#named(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#named,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#argument_name(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#equals(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#expr(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#argument_name(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#argument_name,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    self::r#word(state)
                                                        .and_then(|state| {
                                                            state
                                                                .lookahead(
                                                                    true,
                                                                    |state| {
                                                                        state
                                                                            .sequence(|state| {
                                                                                state
                                                                                    .repeat(|state| { self::r#WHITESPACE(state) })
                                                                                    .and_then(|state| { state.match_string("=") })
                                                                                    .and_then(|state| {
                                                                                        state
                                                                                            .lookahead(
                                                                                                false,
                                                                                                |state| {
                                                                                                    state
                                                                                                        .match_string("=")
                                                                                                        .or_else(|state| { state.match_string(">") })
                                                                                                },
                                                                                            )
                                                                                    })
                                                                            })
                                                                    },
                                                                )
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#example(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#example,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_example(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#path(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state.optional(|state| { self::r#from_clause(state) })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#example_args(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state.optional(|state| { self::r#with_clause(state) })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#from_clause(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#from_clause,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_from(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#number(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#example_args(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#example_args,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#open_paren(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#example_arg(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .sequence(|state| {
                                                                                state
                                                                                    .optional(|state| {
                                                                                        state
                                                                                            .sequence(|state| {
                                                                                                self::r#comma(state)
                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                    .and_then(|state| { self::r#example_arg(state) })
                                                                                            })
                                                                                            .and_then(|state| {
                                                                                                state
                                                                                                    .repeat(|state| {
                                                                                                        state
                                                                                                            .sequence(|state| {
                                                                                                                super::hidden::skip(state)
                                                                                                                    .and_then(|state| {
                                                                                                                        state
                                                                                                                            .sequence(|state| {
                                                                                                                                self::r#comma(state)
                                                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                                                    .and_then(|state| { self::r#example_arg(state) })
                                                                                                                            })
                                                                                                                    })
                                                                                                            })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state.optional(|state| { self::r#comma(state) })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_paren(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#example_arg(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#example_arg,
                            |state| {
                                state
                                    .sequence(|state| {
                                        state
                                            .optional(|state| {
                                                state
                                                    .sequence(|state| {
                                                        self::r#argument_name(state)
                                                            .and_then(|state| { super::hidden::skip(state) })
                                                            .and_then(|state| { self::r#equals(state) })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#example_value(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#example_value(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#example_value,
                            |state| {
                                state
                                    .sequence(|state| {
                                        state
                                            .optional(|state| { self::r#sign(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#number(state) })
                                    })
                                    .or_else(|state| { self::r#string(state) })
                                    .or_else(|state| { self::r#closure(state) })
                                    .or_else(|state| { self::r#example_list(state) })
                                    .or_else(|state| { self::r#tensor(state) })
                                    .or_else(|state| { self::r#literal(state) })
                                    .or_else(|state| { self::r#example_node(state) })
                                    .or_else(|state| {
                                        state
                                            .sequence(|state| {
                                                state
                                                    .optional(|state| { self::r#sign(state) })
                                                    .and_then(|state| { super::hidden::skip(state) })
                                                    .and_then(|state| { self::r#word(state) })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#example_node(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#example_node,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#plain(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#example_args(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#example_list(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#example_list,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#open_bracket(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#example_value(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .sequence(|state| {
                                                                                state
                                                                                    .optional(|state| {
                                                                                        state
                                                                                            .sequence(|state| {
                                                                                                self::r#comma(state)
                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                    .and_then(|state| { self::r#example_value(state) })
                                                                                            })
                                                                                            .and_then(|state| {
                                                                                                state
                                                                                                    .repeat(|state| {
                                                                                                        state
                                                                                                            .sequence(|state| {
                                                                                                                super::hidden::skip(state)
                                                                                                                    .and_then(|state| {
                                                                                                                        state
                                                                                                                            .sequence(|state| {
                                                                                                                                self::r#comma(state)
                                                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                                                    .and_then(|state| { self::r#example_value(state) })
                                                                                                                            })
                                                                                                                    })
                                                                                                            })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state.optional(|state| { self::r#comma(state) })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_bracket(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#tensor(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#tensor,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#element_type(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { state.match_string("[") })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#size(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .sequence(|state| {
                                                                                state
                                                                                    .optional(|state| {
                                                                                        state
                                                                                            .sequence(|state| {
                                                                                                self::r#comma(state)
                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                    .and_then(|state| { self::r#size(state) })
                                                                                            })
                                                                                            .and_then(|state| {
                                                                                                state
                                                                                                    .repeat(|state| {
                                                                                                        state
                                                                                                            .sequence(|state| {
                                                                                                                super::hidden::skip(state)
                                                                                                                    .and_then(|state| {
                                                                                                                        state
                                                                                                                            .sequence(|state| {
                                                                                                                                self::r#comma(state)
                                                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                                                    .and_then(|state| { self::r#size(state) })
                                                                                                                            })
                                                                                                                    })
                                                                                                            })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state.optional(|state| { self::r#comma(state) })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_bracket(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state.optional(|state| { self::r#value_range(state) })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#element_type(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#element_type,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    self::r#plain(state)
                                                        .or_else(|state| { self::r#placeholder(state) })
                                                        .and_then(|state| {
                                                            state
                                                                .lookahead(
                                                                    true,
                                                                    |state| {
                                                                        state
                                                                            .sequence(|state| {
                                                                                state
                                                                                    .repeat(|state| { self::r#WHITESPACE(state) })
                                                                                    .and_then(|state| {
                                                                                        state
                                                                                            .match_string("[")
                                                                                            .or_else(|state| { state.match_string("{") })
                                                                                    })
                                                                            })
                                                                    },
                                                                )
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#size(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#size,
                            |state| {
                                self::r#number(state)
                                    .or_else(|state| { self::r#word(state) })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#value_range(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#value_range,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_in(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#bound(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#range_mark(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#bound(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#bound(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#bound,
                            |state| {
                                state
                                    .sequence(|state| {
                                        state
                                            .optional(|state| { self::r#sign(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                self::r#number(state)
                                                    .or_else(|state| { self::r#word(state) })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#literal(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#literal,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#element_type(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#elements(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#elements(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#elements,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#open_brace(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .optional(|state| {
                                                        state
                                                            .sequence(|state| {
                                                                self::r#element(state)
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .sequence(|state| {
                                                                                state
                                                                                    .optional(|state| {
                                                                                        state
                                                                                            .sequence(|state| {
                                                                                                self::r#comma(state)
                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                    .and_then(|state| { self::r#element(state) })
                                                                                            })
                                                                                            .and_then(|state| {
                                                                                                state
                                                                                                    .repeat(|state| {
                                                                                                        state
                                                                                                            .sequence(|state| {
                                                                                                                super::hidden::skip(state)
                                                                                                                    .and_then(|state| {
                                                                                                                        state
                                                                                                                            .sequence(|state| {
                                                                                                                                self::r#comma(state)
                                                                                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                                                                                    .and_then(|state| { self::r#element(state) })
                                                                                                                            })
                                                                                                                    })
                                                                                                            })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                                    .and_then(|state| { super::hidden::skip(state) })
                                                                    .and_then(|state| {
                                                                        state.optional(|state| { self::r#comma(state) })
                                                                    })
                                                            })
                                                    })
                                            })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#close_brace(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#element(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#element,
                            |state| {
                                self::r#elements(state)
                                    .or_else(|state| { self::r#bound(state) })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#with_clause(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#with_clause,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#kw_with(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#with_size(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| {
                                                state
                                                    .sequence(|state| {
                                                        state
                                                            .optional(|state| {
                                                                state
                                                                    .sequence(|state| {
                                                                        self::r#comma(state)
                                                                            .and_then(|state| { super::hidden::skip(state) })
                                                                            .and_then(|state| { self::r#with_size(state) })
                                                                    })
                                                                    .and_then(|state| {
                                                                        state
                                                                            .repeat(|state| {
                                                                                state
                                                                                    .sequence(|state| {
                                                                                        super::hidden::skip(state)
                                                                                            .and_then(|state| {
                                                                                                state
                                                                                                    .sequence(|state| {
                                                                                                        self::r#comma(state)
                                                                                                            .and_then(|state| { super::hidden::skip(state) })
                                                                                                            .and_then(|state| { self::r#with_size(state) })
                                                                                                    })
                                                                                            })
                                                                                    })
                                                                            })
                                                                    })
                                                            })
                                                    })
                                            })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#with_size(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#with_size,
                            |state| {
                                state
                                    .sequence(|state| {
                                        self::r#word(state)
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#equals(state) })
                                            .and_then(|state| { super::hidden::skip(state) })
                                            .and_then(|state| { self::r#number(state) })
                                    })
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#name(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#name,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .lookahead(false, |state| { self::r#reserved(state) })
                                                        .and_then(|state| { self::r#word(state) })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#word(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#word,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    self::r#letter(state)
                                                        .or_else(|state| { self::r#placeholder(state) })
                                                        .and_then(|state| {
                                                            state
                                                                .repeat(|state| {
                                                                    self::r#tail(state)
                                                                        .or_else(|state| { self::r#placeholder(state) })
                                                                })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#plain(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#plain,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    self::r#letter(state)
                                                        .and_then(|state| {
                                                            state.repeat(|state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#dotted(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#dotted,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    self::r#word(state)
                                                        .and_then(|state| {
                                                            state
                                                                .repeat(|state| {
                                                                    state
                                                                        .sequence(|state| {
                                                                            state
                                                                                .match_string(".")
                                                                                .and_then(|state| { self::r#word(state) })
                                                                        })
                                                                })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#reserved(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#reserved,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("for")
                                                        .or_else(|state| { state.match_string("in") })
                                                        .or_else(|state| { state.match_string("if") })
                                                        .or_else(|state| { state.match_string("else") })
                                                        .or_else(|state| { state.match_string("let") })
                                                        .or_else(|state| { state.match_string("match") })
                                                        .or_else(|state| { state.match_string("fail") })
                                                        .or_else(|state| { state.match_string("since") })
                                                        .or_else(|state| { state.match_string("ignore") })
                                                        .or_else(|state| { state.match_string("fold") })
                                                        .or_else(|state| { state.match_string("return") })
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#placeholder(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#placeholder,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("{")
                                                        .and_then(|state| { self::r#letter(state) })
                                                        .and_then(|state| {
                                                            state.repeat(|state| { self::r#tail(state) })
                                                        })
                                                        .and_then(|state| { state.match_string("}") })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#letter(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    let state = state.check_stack_limit()?;
                    self::r#ASCII_ALPHA(state)
                        .or_else(|state| { state.match_string("_") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#tail(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    let state = state.check_stack_limit()?;
                    self::r#ASCII_ALPHANUMERIC(state)
                        .or_else(|state| { state.match_string("_") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#path(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .atomic(
                            ::pest::Atomicity::CompoundAtomic,
                            |state| {
                                state
                                    .rule(
                                        Rule::r#path,
                                        |state| {
                                            self::r#path_with_namespace(state)
                                                .or_else(|state| { self::r#word(state) })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#path_with_namespace(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .atomic(
                            ::pest::Atomicity::CompoundAtomic,
                            |state| {
                                state
                                    .rule(
                                        Rule::r#path_with_namespace,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    self::r#dotted(state)
                                                        .and_then(|state| { state.match_string("::") })
                                                        .and_then(|state| { self::r#word(state) })
                                                        .and_then(|state| {
                                                            state
                                                                .optional(|state| {
                                                                    state
                                                                        .sequence(|state| {
                                                                            state
                                                                                .match_string(".")
                                                                                .and_then(|state| { self::r#word(state) })
                                                                        })
                                                                })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#number(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#number,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .sequence(|state| {
                                                            self::r#ASCII_DIGIT(state)
                                                                .and_then(|state| {
                                                                    state.repeat(|state| { self::r#ASCII_DIGIT(state) })
                                                                })
                                                        })
                                                        .and_then(|state| {
                                                            state
                                                                .optional(|state| {
                                                                    state
                                                                        .sequence(|state| {
                                                                            state
                                                                                .match_string(".")
                                                                                .and_then(|state| { self::r#ASCII_DIGIT(state) })
                                                                                .and_then(|state| {
                                                                                    state.repeat(|state| { self::r#ASCII_DIGIT(state) })
                                                                                })
                                                                        })
                                                                })
                                                        })
                                                        .and_then(|state| {
                                                            state
                                                                .optional(|state| {
                                                                    state
                                                                        .sequence(|state| {
                                                                            state
                                                                                .match_insensitive("e")
                                                                                .and_then(|state| {
                                                                                    state
                                                                                        .optional(|state| {
                                                                                            state
                                                                                                .match_string("+")
                                                                                                .or_else(|state| { state.match_string("-") })
                                                                                        })
                                                                                })
                                                                                .and_then(|state| { self::r#ASCII_DIGIT(state) })
                                                                                .and_then(|state| {
                                                                                    state.repeat(|state| { self::r#ASCII_DIGIT(state) })
                                                                                })
                                                                        })
                                                                })
                                                        })
                                                        .and_then(|state| {
                                                            state.repeat(|state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#string(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#string,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("\"")
                                                        .and_then(|state| {
                                                            state
                                                                .repeat(|state| {
                                                                    state
                                                                        .sequence(|state| {
                                                                            state
                                                                                .match_string("\\")
                                                                                .and_then(|state| {
                                                                                    state.lookahead(false, |state| { self::r#NEWLINE(state) })
                                                                                })
                                                                                .and_then(|state| { self::r#ANY(state) })
                                                                        })
                                                                        .or_else(|state| {
                                                                            state
                                                                                .sequence(|state| {
                                                                                    state
                                                                                        .lookahead(
                                                                                            false,
                                                                                            |state| {
                                                                                                state
                                                                                                    .match_string("\"")
                                                                                                    .or_else(|state| { state.match_string("\\") })
                                                                                                    .or_else(|state| { self::r#NEWLINE(state) })
                                                                                            },
                                                                                        )
                                                                                        .and_then(|state| { self::r#ANY(state) })
                                                                                })
                                                                        })
                                                                })
                                                        })
                                                        .and_then(|state| { state.match_string("\"") })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#sign(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#sign,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| { state.match_string("-") },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#doc(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#doc,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("///")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { state.match_string("/") })
                                                        })
                                                        .and_then(|state| { self::r#rest(state) })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#comment(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#comment,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("//")
                                                        .and_then(|state| {
                                                            state
                                                                .lookahead(true, |state| { state.match_string("//") })
                                                                .or_else(|state| {
                                                                    state
                                                                        .lookahead(
                                                                            false,
                                                                            |state| {
                                                                                state
                                                                                    .match_string("/")
                                                                                    .or_else(|state| { state.match_string("!") })
                                                                            },
                                                                        )
                                                                })
                                                        })
                                                        .and_then(|state| { self::r#rest(state) })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#rest(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .sequence(|state| {
                            state
                                .optional(|state| {
                                    state
                                        .sequence(|state| {
                                            state
                                                .lookahead(false, |state| { self::r#NEWLINE(state) })
                                                .and_then(|state| { super::hidden::skip(state) })
                                                .and_then(|state| { self::r#ANY(state) })
                                        })
                                        .and_then(|state| {
                                            state
                                                .repeat(|state| {
                                                    state
                                                        .sequence(|state| {
                                                            super::hidden::skip(state)
                                                                .and_then(|state| {
                                                                    state
                                                                        .sequence(|state| {
                                                                            state
                                                                                .lookahead(false, |state| { self::r#NEWLINE(state) })
                                                                                .and_then(|state| { super::hidden::skip(state) })
                                                                                .and_then(|state| { self::r#ANY(state) })
                                                                        })
                                                                })
                                                        })
                                                })
                                        })
                                })
                        })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_map(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_map,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("map")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_lower(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_lower,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("lower")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_raise(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_raise,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("raise")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_avoided(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_avoided,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("avoided")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_fuse(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_fuse,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("fuse")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_same(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_same,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("same")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_pub(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_pub,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("pub")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_fn(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_fn,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("fn")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_extern(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_extern,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("extern")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_is(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_is,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("is")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_emits(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_emits,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("emits")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_because(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_because,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("because")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_unsupported(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_unsupported,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("unsupported")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_import_domain(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_import_domain,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("import_domain")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#fact_keyword(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#fact_keyword,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("view")
                                                        .or_else(|state| { state.match_string("write") })
                                                        .or_else(|state| { state.match_string("update") })
                                                        .or_else(|state| { state.match_string("rewrite") })
                                                        .or_else(|state| { state.match_string("fact") })
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_example(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_example,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("example")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_for(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_for,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("for")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_in(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_in,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("in")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_if(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_if,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("if")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_else(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_else,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("else")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_let(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_let,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("let")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_fold(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_fold,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("fold")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_return(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_return,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("return")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_match(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_match,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("match")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_fail(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_fail,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("fail")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_since(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_since,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("since")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_ignore(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_ignore,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("ignore")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_before(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_before,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("before")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_from(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_from,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("from")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_as(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_as,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("as")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#kw_with(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#kw_with,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("with")
                                                        .and_then(|state| {
                                                            state.lookahead(false, |state| { self::r#tail(state) })
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#open_paren(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#open_paren, |state| { state.match_string("(") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#close_paren(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#close_paren, |state| { state.match_string(")") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#open_bracket(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#open_bracket, |state| { state.match_string("[") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#close_bracket(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(Rule::r#close_bracket, |state| { state.match_string("]") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#open_brace(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#open_brace, |state| { state.match_string("{") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#close_brace(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#close_brace, |state| { state.match_string("}") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#comma(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#comma, |state| { state.match_string(",") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#semicolon(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#semicolon, |state| { state.match_string(";") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#bar(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#bar, |state| { state.match_string("|") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#star(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#star, |state| { state.match_string("*") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#equals(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(
                            Rule::r#equals,
                            |state| {
                                state
                                    .atomic(
                                        ::pest::Atomicity::Atomic,
                                        |state| {
                                            state
                                                .sequence(|state| {
                                                    state
                                                        .match_string("=")
                                                        .and_then(|state| {
                                                            state
                                                                .lookahead(
                                                                    false,
                                                                    |state| {
                                                                        state
                                                                            .match_string("=")
                                                                            .or_else(|state| { state.match_string(">") })
                                                                    },
                                                                )
                                                        })
                                                })
                                        },
                                    )
                            },
                        )
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#arrow(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#arrow, |state| { state.match_string("->") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#fat_arrow(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#fat_arrow, |state| { state.match_string("=>") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#range_mark(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::r#range_mark, |state| { state.match_string("..") })
                }
                #[inline]
                #[allow(non_snake_case, unused_variables)]
                pub fn r#optional_mark(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .rule(Rule::r#optional_mark, |state| { state.match_string("?") })
                }
                #[inline]
                #[allow(dead_code, non_snake_case, unused_variables)]
                pub fn ANY(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.skip(1)
                }
                #[inline]
                #[allow(dead_code, non_snake_case, unused_variables)]
                pub fn EOI(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.rule(Rule::EOI, |state| state.end_of_input())
                }
                #[inline]
                #[allow(dead_code, non_snake_case, unused_variables)]
                pub fn SOI(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.start_of_input()
                }
                #[inline]
                #[allow(dead_code, non_snake_case, unused_variables)]
                pub fn ASCII_DIGIT(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state.match_range('0'..'9')
                }
                #[inline]
                #[allow(dead_code, non_snake_case, unused_variables)]
                pub fn ASCII_ALPHA(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .match_range('a'..'z')
                        .or_else(|state| state.match_range('A'..'Z'))
                }
                #[inline]
                #[allow(dead_code, non_snake_case, unused_variables)]
                pub fn ASCII_ALPHANUMERIC(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .match_range('a'..'z')
                        .or_else(|state| state.match_range('A'..'Z'))
                        .or_else(|state| state.match_range('0'..'9'))
                }
                #[inline]
                #[allow(dead_code, non_snake_case, unused_variables)]
                pub fn NEWLINE(
                    state: ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                ) -> ::pest::ParseResult<
                    ::std::boxed::Box<::pest::ParserState<'_, Rule>>,
                > {
                    state
                        .match_string("\n")
                        .or_else(|state| state.match_string("\r\n"))
                        .or_else(|state| state.match_string("\r"))
                }
            }
            pub use self::visible::*;
        }
        ::pest::state(
            input,
            |state| {
                match rule {
                    Rule::r#WHITESPACE => rules::r#WHITESPACE(state),
                    Rule::r#item => rules::r#item(state),
                    Rule::r#lone_expr => rules::r#lone_expr(state),
                    Rule::r#map => rules::r#map(state),
                    Rule::r#bare_return => rules::r#bare_return(state),
                    Rule::r#returns => rules::r#returns(state),
                    Rule::r#returned => rules::r#returned(state),
                    Rule::r#lower => rules::r#lower(state),
                    Rule::r#lower_params => rules::r#lower_params(state),
                    Rule::r#lower_param => rules::r#lower_param(state),
                    Rule::r#rest_name => rules::r#rest_name(state),
                    Rule::r#names => rules::r#names(state),
                    Rule::r#output_list => rules::r#output_list(state),
                    Rule::r#raise => rules::r#raise(state),
                    Rule::r#fuse => rules::r#fuse(state),
                    Rule::r#same => rules::r#same(state),
                    Rule::r#unsupported => rules::r#unsupported(state),
                    Rule::r#import_domain => rules::r#import_domain(state),
                    Rule::r#fact => rules::r#fact(state),
                    Rule::r#clause => rules::r#clause(state),
                    Rule::r#extern_fn => rules::r#extern_fn(state),
                    Rule::r#is_clause => rules::r#is_clause(state),
                    Rule::r#because => rules::r#because(state),
                    Rule::r#emits => rules::r#emits(state),
                    Rule::r#function => rules::r#function(state),
                    Rule::r#params => rules::r#params(state),
                    Rule::r#param => rules::r#param(state),
                    Rule::r#default => rules::r#default(state),
                    Rule::r#default_number => rules::r#default_number(state),
                    Rule::r#list_default => rules::r#list_default(state),
                    Rule::r#quoted => rules::r#quoted(state),
                    Rule::r#ty => rules::r#ty(state),
                    Rule::r#ty_tuple => rules::r#ty_tuple(state),
                    Rule::r#ty_name => rules::r#ty_name(state),
                    Rule::r#generic => rules::r#generic(state),
                    Rule::r#inside => rules::r#inside(state),
                    Rule::r#list_mark => rules::r#list_mark(state),
                    Rule::r#alias => rules::r#alias(state),
                    Rule::r#alias_set => rules::r#alias_set(state),
                    Rule::r#rows => rules::r#rows(state),
                    Rule::r#row => rules::r#row(state),
                    Rule::r#columns => rules::r#columns(state),
                    Rule::r#column => rules::r#column(state),
                    Rule::r#body => rules::r#body(state),
                    Rule::r#body_expr => rules::r#body_expr(state),
                    Rule::r#block => rules::r#block(state),
                    Rule::r#statement => rules::r#statement(state),
                    Rule::r#let_statement => rules::r#let_statement(state),
                    Rule::r#ignore_statement => rules::r#ignore_statement(state),
                    Rule::r#since_statement => rules::r#since_statement(state),
                    Rule::r#return_statement => rules::r#return_statement(state),
                    Rule::r#since_clause => rules::r#since_clause(state),
                    Rule::r#binding => rules::r#binding(state),
                    Rule::r#tuple_binding => rules::r#tuple_binding(state),
                    Rule::r#block_like => rules::r#block_like(state),
                    Rule::r#block_start => rules::r#block_start(state),
                    Rule::r#expr => rules::r#expr(state),
                    Rule::r#prefix => rules::r#prefix(state),
                    Rule::r#infix => rules::r#infix(state),
                    Rule::r#postfix => rules::r#postfix(state),
                    Rule::r#negate => rules::r#negate(state),
                    Rule::r#not => rules::r#not(state),
                    Rule::r#coalesce => rules::r#coalesce(state),
                    Rule::r#or => rules::r#or(state),
                    Rule::r#and => rules::r#and(state),
                    Rule::r#eq => rules::r#eq(state),
                    Rule::r#ne => rules::r#ne(state),
                    Rule::r#le => rules::r#le(state),
                    Rule::r#ge => rules::r#ge(state),
                    Rule::r#lt => rules::r#lt(state),
                    Rule::r#gt => rules::r#gt(state),
                    Rule::r#within => rules::r#within(state),
                    Rule::r#add => rules::r#add(state),
                    Rule::r#sub => rules::r#sub(state),
                    Rule::r#pow => rules::r#pow(state),
                    Rule::r#mul => rules::r#mul(state),
                    Rule::r#div => rules::r#div(state),
                    Rule::r#rem => rules::r#rem(state),
                    Rule::r#index => rules::r#index(state),
                    Rule::r#slice_to => rules::r#slice_to(state),
                    Rule::r#slice_rest => rules::r#slice_rest(state),
                    Rule::r#primary => rules::r#primary(state),
                    Rule::r#if_expr => rules::r#if_expr(state),
                    Rule::r#condition => rules::r#condition(state),
                    Rule::r#match_expr => rules::r#match_expr(state),
                    Rule::r#arm => rules::r#arm(state),
                    Rule::r#patterns => rules::r#patterns(state),
                    Rule::r#pattern => rules::r#pattern(state),
                    Rule::r#tuple_pattern => rules::r#tuple_pattern(state),
                    Rule::r#fold_expr => rules::r#fold_expr(state),
                    Rule::r#fail => rules::r#fail(state),
                    Rule::r#closure => rules::r#closure(state),
                    Rule::r#closure_param => rules::r#closure_param(state),
                    Rule::r#paren => rules::r#paren(state),
                    Rule::r#list => rules::r#list(state),
                    Rule::r#more_elements => rules::r#more_elements(state),
                    Rule::r#comprehension => rules::r#comprehension(state),
                    Rule::r#spread => rules::r#spread(state),
                    Rule::r#rule_call => rules::r#rule_call(state),
                    Rule::r#call => rules::r#call(state),
                    Rule::r#called => rules::r#called(state),
                    Rule::r#arguments => rules::r#arguments(state),
                    Rule::r#argument => rules::r#argument(state),
                    Rule::r#named => rules::r#named(state),
                    Rule::r#argument_name => rules::r#argument_name(state),
                    Rule::r#example => rules::r#example(state),
                    Rule::r#from_clause => rules::r#from_clause(state),
                    Rule::r#example_args => rules::r#example_args(state),
                    Rule::r#example_arg => rules::r#example_arg(state),
                    Rule::r#example_value => rules::r#example_value(state),
                    Rule::r#example_node => rules::r#example_node(state),
                    Rule::r#example_list => rules::r#example_list(state),
                    Rule::r#tensor => rules::r#tensor(state),
                    Rule::r#element_type => rules::r#element_type(state),
                    Rule::r#size => rules::r#size(state),
                    Rule::r#value_range => rules::r#value_range(state),
                    Rule::r#bound => rules::r#bound(state),
                    Rule::r#literal => rules::r#literal(state),
                    Rule::r#elements => rules::r#elements(state),
                    Rule::r#element => rules::r#element(state),
                    Rule::r#with_clause => rules::r#with_clause(state),
                    Rule::r#with_size => rules::r#with_size(state),
                    Rule::r#name => rules::r#name(state),
                    Rule::r#word => rules::r#word(state),
                    Rule::r#plain => rules::r#plain(state),
                    Rule::r#dotted => rules::r#dotted(state),
                    Rule::r#reserved => rules::r#reserved(state),
                    Rule::r#placeholder => rules::r#placeholder(state),
                    Rule::r#letter => rules::r#letter(state),
                    Rule::r#tail => rules::r#tail(state),
                    Rule::r#path => rules::r#path(state),
                    Rule::r#path_with_namespace => rules::r#path_with_namespace(state),
                    Rule::r#number => rules::r#number(state),
                    Rule::r#string => rules::r#string(state),
                    Rule::r#sign => rules::r#sign(state),
                    Rule::r#doc => rules::r#doc(state),
                    Rule::r#comment => rules::r#comment(state),
                    Rule::r#rest => rules::r#rest(state),
                    Rule::r#kw_map => rules::r#kw_map(state),
                    Rule::r#kw_lower => rules::r#kw_lower(state),
                    Rule::r#kw_raise => rules::r#kw_raise(state),
                    Rule::r#kw_avoided => rules::r#kw_avoided(state),
                    Rule::r#kw_fuse => rules::r#kw_fuse(state),
                    Rule::r#kw_same => rules::r#kw_same(state),
                    Rule::r#kw_pub => rules::r#kw_pub(state),
                    Rule::r#kw_fn => rules::r#kw_fn(state),
                    Rule::r#kw_extern => rules::r#kw_extern(state),
                    Rule::r#kw_is => rules::r#kw_is(state),
                    Rule::r#kw_emits => rules::r#kw_emits(state),
                    Rule::r#kw_because => rules::r#kw_because(state),
                    Rule::r#kw_unsupported => rules::r#kw_unsupported(state),
                    Rule::r#kw_import_domain => rules::r#kw_import_domain(state),
                    Rule::r#fact_keyword => rules::r#fact_keyword(state),
                    Rule::r#kw_example => rules::r#kw_example(state),
                    Rule::r#kw_for => rules::r#kw_for(state),
                    Rule::r#kw_in => rules::r#kw_in(state),
                    Rule::r#kw_if => rules::r#kw_if(state),
                    Rule::r#kw_else => rules::r#kw_else(state),
                    Rule::r#kw_let => rules::r#kw_let(state),
                    Rule::r#kw_fold => rules::r#kw_fold(state),
                    Rule::r#kw_return => rules::r#kw_return(state),
                    Rule::r#kw_match => rules::r#kw_match(state),
                    Rule::r#kw_fail => rules::r#kw_fail(state),
                    Rule::r#kw_since => rules::r#kw_since(state),
                    Rule::r#kw_ignore => rules::r#kw_ignore(state),
                    Rule::r#kw_before => rules::r#kw_before(state),
                    Rule::r#kw_from => rules::r#kw_from(state),
                    Rule::r#kw_as => rules::r#kw_as(state),
                    Rule::r#kw_with => rules::r#kw_with(state),
                    Rule::r#open_paren => rules::r#open_paren(state),
                    Rule::r#close_paren => rules::r#close_paren(state),
                    Rule::r#open_bracket => rules::r#open_bracket(state),
                    Rule::r#close_bracket => rules::r#close_bracket(state),
                    Rule::r#open_brace => rules::r#open_brace(state),
                    Rule::r#close_brace => rules::r#close_brace(state),
                    Rule::r#comma => rules::r#comma(state),
                    Rule::r#semicolon => rules::r#semicolon(state),
                    Rule::r#bar => rules::r#bar(state),
                    Rule::r#star => rules::r#star(state),
                    Rule::r#equals => rules::r#equals(state),
                    Rule::r#arrow => rules::r#arrow(state),
                    Rule::r#fat_arrow => rules::r#fat_arrow(state),
                    Rule::r#range_mark => rules::r#range_mark(state),
                    Rule::r#optional_mark => rules::r#optional_mark(state),
                    Rule::EOI => rules::EOI(state),
                }
            },
        )
    }
}
