//! The three grammars of opmap agree: that of the compiler, that of tree-sitter and that of VS Code. Over all rules of the project and all blocks of its
//! documentation.
#![allow(clippy::unwrap_used, clippy::panic)]

mod agreement;
mod queries;
mod textmate;
mod texts;
