//! What is known of runtimes when the program runs is what `mappings/targets/` says.
#![allow(clippy::unwrap_used)]

use std::fmt::Debug;
use std::path::Path;

use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::targets::{self, Avoid, Target};
use aten2onnx_schemas::avoid::Avoid as Written;
use aten2onnx_schemas::targets::{Release, Runtime};
use aten2onnx_schemas::{Schemas, avoid};

fn schemas() -> Schemas {
    Schemas::load(Path::new(aten2onnx_mappings::FOLDER)).unwrap()
}

/// Both ends have types of their own, which look the same but for the kinds of their texts.
fn shown(value: &impl Debug) -> String {
    format!("{value:?}")
}

fn names(dtypes: &[Dtype]) -> Vec<&'static str> {
    dtypes.iter().map(|dtype| dtype.torch_name()).collect()
}

/// The conditions, in which a dtype is a name at one end and a variant at the other.
fn conditions(all: &impl Debug) -> String {
    shown(all).replace('"', "")
}

#[test]
fn all_releases_are_known_in_the_order_of_their_files() {
    let schemas = schemas();
    let written = schemas.runtimes.iter().flat_map(|runtime| {
        let name = |release: &Release| format!("{}-{}", runtime.runtime, release.name);
        runtime.release.iter().map(name).collect::<Vec<_>>()
    });
    let known: Vec<String> = targets::all().map(Target::name).collect();
    assert_eq!(known, written.collect::<Vec<_>>());
    for name in known {
        assert_eq!(targets::find(&name).unwrap().name(), name);
    }
}

#[test]
fn kernels_that_onnx_runtime_lacks_are_those_of_the_file() {
    let schemas = schemas();
    let known = targets::onnxruntime_lacks();
    assert_eq!(known.len(), schemas.onnxruntime.lacks.len());
    for (known, written) in known.iter().zip(&schemas.onnxruntime.lacks) {
        assert_eq!(
            (known.op, known.since, names(known.dtypes)),
            (written.op.as_str(), written.since, texts(&written.dtypes))
        );
    }
}

fn texts(all: &[String]) -> Vec<&str> {
    all.iter().map(String::as_str).collect()
}

#[test]
fn facts_are_those_of_the_files() {
    let schemas = schemas();
    let written = schemas.runtimes.iter().flat_map(|runtime| runtime.release.iter().map(move |one| (runtime, one)));
    for (known, (runtime, release)) in targets::all().zip(written) {
        let name = known.name();
        let oldest = release.oldest_opset.unwrap_or(0).max(schemas.opsets.min);
        assert_eq!(shown(&numbers(known)), shown(&numbers_of(release, oldest)), "{name}");
        assert_eq!(shown(&reasons(known)), shown(&reasons_of(runtime, release)), "{name}");
        assert_eq!(shown(&flags(known)), shown(&flags_of(runtime, release)), "{name}");
        assert_eq!(known.lacks, texts(&release.lacks), "{name}");
        assert_eq!(known.loses_nan, release.loses_nan(), "{name}");
        let dtypes = [known.lacks_dtypes, known.lacks_constants, known.lacks_io_dtypes].map(names);
        let written = [&release.lacks_dtypes, &release.lacks_constants, &release.lacks_io_dtypes].map(|all| texts(all));
        assert_eq!(dtypes, written, "{name}");
        check_missing(known, release);
        check_forms(known.forms, &runtime.avoid, release);
        check_forms(known.warns, &runtime.warn, release);
    }
}

fn numbers(known: &Target) -> impl Debug {
    let quantized = known.quantized;
    let bits = [quantized.matmul, quantized.fast_matmul, quantized.gather, quantized.experts];
    (known.oldest_opset, known.newest_opset, known.fastest_opset, known.newest_ir, known.most_weights, bits)
}

fn numbers_of(release: &Release, oldest: u32) -> impl Debug {
    let bits = [&release.matmul_nbits, &release.fast_matmul_nbits, &release.gather_nbits, &release.experts_nbits];
    (oldest, release.newest_opset, release.fastest_opset, release.newest_ir, release.most_weights, bits.map(Vec::clone))
}

fn reasons(known: &Target) -> impl Debug {
    let of_inputs = (known.symbolic, known.own_sizes, known.lacks_functions, known.lacks_scalar_inputs);
    (known.what, of_inputs, known.lacks_constant_outputs, known.note, known.source)
}

fn reasons_of(runtime: &Runtime, release: &Release) -> impl Debug {
    let Release { symbolic, own_sizes, lacks_functions, lacks_scalar_inputs, .. } = release.clone();
    let of_inputs = (symbolic, own_sizes, lacks_functions, lacks_scalar_inputs);
    (
        runtime.what.clone(),
        of_inputs,
        release.lacks_constant_outputs.clone(),
        release.note.clone(),
        release.source.clone(),
    )
}

fn flags(known: &Target) -> [bool; 10] {
    [
        known.kernels,
        known.narrows_float64,
        known.narrows_int64,
        known.widens_int32,
        known.lacks_scalar_outputs,
        known.lacks_empty_outputs,
        known.drops_inputs,
        known.explicit_attributes,
        known.quantized.dynamic,
        known.quantized.unsigned,
    ]
}

fn flags_of(runtime: &Runtime, release: &Release) -> [bool; 10] {
    [
        runtime.kernels,
        release.narrows_float64,
        release.narrows_int64,
        release.widens_int32,
        release.lacks_scalar_outputs,
        release.lacks_empty_outputs,
        release.drops_inputs,
        release.explicit_attributes,
        release.dynamic_integers,
        release.unsigned_activations,
    ]
}

fn check_missing(known: &Target, release: &Release) {
    let written = release.dtypes.iter().flat_map(|of| of.since.iter().map(move |since| (of, *since)));
    let written: Vec<_> = written.collect();
    assert_eq!(known.avoids.len(), written.len(), "{}", known.name());
    for (missing, (of, since)) in known.avoids.iter().zip(written) {
        assert_eq!((missing.op, missing.since), (of.op.as_str(), since), "{}", known.name());
        assert_eq!(names(missing.dtypes), of.avoided().collect::<Vec<_>>(), "{}: {}", known.name(), of.op);
        assert!(of.reason.is_empty() || missing.reason == of.reason, "{}: {}", known.name(), of.op);
    }
}

fn check_forms(known: &[Avoid], written: &[Written], release: &Release) {
    let written: Vec<&Written> = written.iter().filter(|form| form.is_in(&release.name)).collect();
    assert_eq!(known.len(), written.len());
    for (form, avoid::Avoid { op, since, when, reason, seen_in, until: _, conditions: all }) in
        known.iter().zip(written)
    {
        assert_eq!(
            (form.op, form.since, form.reason, form.seen_in),
            (op.as_str(), &since[..], reason.as_str(), seen_in.as_str())
        );
        assert_eq!(form.when, texts(when), "{op}");
        assert_eq!(conditions(&form.conditions), conditions(all), "{op}");
    }
}
