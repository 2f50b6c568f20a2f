//! Compiles the parser that tree-sitter generated.
#![allow(clippy::print_stdout)]

fn main() {
    let mut build = cc::Build::new();
    build.std("c11").include("src").file("src/parser.c").warnings(false);
    println!("cargo:rerun-if-changed=src/parser.c");
    build.compile("tree-sitter-opmap");
}
