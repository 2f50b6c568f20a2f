//! The parts of an export, one by one, on the small network of the tests: `cargo bench`. Whole processes are in `bench/`.
#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::Arc;

use aten2onnx::Exported;
use aten2onnx::Options;
use aten2onnx::export::export_program;
use aten2onnx::frontend::pt2;
use aten2onnx::program::Program;
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::weights::Payload;
use aten2onnx_core::weights::{Storage, Weight};
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/models/mobilenet_like.pt2");

fn program() -> Program {
    pt2::read(MODEL.as_ref()).unwrap()
}

fn exported(opt_level: u8, opset: u32) -> Exported {
    let mut options = Options::default();
    (options.opt_level, options.output.opset) = (opt_level, Some(opset));
    export_program(program(), &options).unwrap()
}

/// The archive and its JSON.
#[divan::bench]
fn read() -> Program {
    program()
}

/// From the program to messages, without passes and with them.
#[divan::bench(args = [0, 1])]
fn translate(bencher: Bencher<'_, '_>, opt_level: u8) {
    let mut options = Options::default();
    options.opt_level = opt_level;
    bencher.with_inputs(program).bench_values(|program| export_program(program, &options).unwrap());
}

/// The same where everything is lowered.
#[divan::bench]
fn translate_to_opset_9(bencher: Bencher<'_, '_>) {
    let mut options = Options::default();
    options.output.opset = Some(9);
    bencher.with_inputs(program).bench_values(|program| export_program(program, &options).unwrap());
}

/// Messages and weights to bytes.
#[divan::bench]
fn write(bencher: Bencher<'_, '_>) {
    let exported = exported(1, 18);
    bencher.bench_local(|| {
        let mut bytes = Vec::with_capacity(4 << 20);
        exported.write_to(&mut bytes, &mut |_, _| Ok(())).unwrap();
        black_box(bytes)
    });
}

/// Four megabytes of a weight, as they lie and transposed.
#[divan::bench(args = [false, true])]
fn weight(bencher: Bencher<'_, '_>, transposed: bool) {
    let storage = Storage::Owned(vec![1u8; 4 << 20].into());
    let strides = if transposed { vec![1, 1024] } else { vec![1024, 1] };
    let (name, sizes) = ("w".to_owned(), vec![1024, 1024]);
    let weight = Arc::new(Weight { name, dtype: Dtype::Float32, sizes, strides, offset: 0, storage });
    bencher.counter(divan::counter::BytesCount::new(4usize << 20)).bench_local(|| {
        let mut bytes: Vec<u8> = Vec::with_capacity(4 << 20);
        Payload::new(&weight).unwrap().write(&mut bytes).unwrap();
        bytes
    });
}
