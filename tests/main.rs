//! The end-to-end tests: the command and the library against PyTorch, onnx and ONNX Runtime, and what holds across crates.
//!
//! They are one program, which is linked once and shares what it reads. It belongs to the package of the command (`src/cli`), so that it
//! is built with the command that it runs. A test that needs Python is in a module `python`, one that takes long in a module `slow`:
//! `tests/run --fast` leaves both out.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, missing_docs)]

/// As in the command: rules are read and proved here many times.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod cli;
mod command;
mod common;
mod convert;
mod dialect;
mod digests;
#[cfg(unix)]
mod docs;
mod elsewhere;
mod examples;
#[cfg(unix)]
mod exporter;
mod facts;
#[cfg(unix)]
mod files;
mod floors;
mod fuse;
mod host;
mod interpret;
mod link;
mod lsp;
mod mappings;
mod models;
mod mutants;
mod operators;
mod opinfo;
mod package;
mod pipelines;
mod precision;
mod proof;
mod pt2;
mod quantization;
mod report;
mod rounding;
mod tiers;
mod together;
mod torchscript;
mod units;
#[cfg(unix)]
mod upgrade;
mod verify;
#[cfg(unix)]
mod walks;
mod writer;
