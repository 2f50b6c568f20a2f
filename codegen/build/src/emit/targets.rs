//! The profiles of runtimes as static tables of the exporter.

use std::fmt::Write;

use aten2onnx_opmap::schema::Schemas;
use aten2onnx_opmap::schema::avoid::{Avoid, Condition, Name};
use aten2onnx_opmap::schema::dtypes::variant;
use aten2onnx_opmap::schema::targets::{Dtypes, Release};

/// The text of `ONNXRUNTIME_LACKS`.
pub fn emit(schemas: &Schemas) -> String {
    let mut text = String::from(
        "/// The dtypes for which ONNX Runtime has no kernel: operator, version of its schema, dtypes. Sorted.\n\
         pub static ONNXRUNTIME_LACKS: &[(&str, u32, &[aten2onnx_core::dtype::Dtype])] = {\n    use aten2onnx_core::dtype::Dtype::*;\n    &[\n",
    );
    for lack in &schemas.onnxruntime.lacks {
        let _ = writeln!(text, "        {},", entry(&lack.op, lack.since, lack.dtypes.iter().map(String::as_str)));
    }
    text.push_str("    ]\n};\n");
    runtimes(schemas, &mut text);
    text
}

/// The text of `TARGETS`.
fn runtimes(schemas: &Schemas, text: &mut String) {
    text.push_str(
        "\n/// The runtimes and compilers that are known by name, each with its newest release first.\n\
         pub static TARGETS: &[Target] = &[\n",
    );
    for runtime in &schemas.runtimes {
        for release in &runtime.release {
            let _ = writeln!(
                text,
                "    Target {{ runtime: {:?}, release: {:?}, what: {:?}, kernels: {}, symbolic: {:?}, oldest_opset: {}, newest_opset: {}, \
                 newest_ir: {:?}, own_sizes: {:?}, lacks_dtypes: {}, lacks_constants: {}, lacks_io_dtypes: {}, most_weights: {:?}, lacks_functions: {:?}, narrows_float64: {}, narrows_int64: {}, widens_int32: {}, lacks_scalar_outputs: {}, lacks_empty_outputs: {}, lacks_scalar_inputs: {:?}, lacks_constant_outputs: {:?}, drops_inputs: {}, note: {:?}, explicit_attributes: {}, quantized: {}, lacks: &{:?}, avoids: {}, forms: &[{}], warns: &[{}], loses_nan: &{:?}, source: {:?} }},",
                runtime.runtime,
                release.name,
                runtime.what,
                runtime.kernels,
                release.symbolic,
                release.oldest_opset.unwrap_or(schemas.opsets.min).max(schemas.opsets.min),
                release.newest_opset,
                release.newest_ir,
                release.own_sizes,
                dtypes(&release.lacks_dtypes),
                dtypes(&release.lacks_constants),
                dtypes(&release.lacks_io_dtypes),
                release.most_weights,
                release.lacks_functions,
                release.narrows_float64,
                release.narrows_int64,
                release.widens_int32,
                release.lacks_scalar_outputs,
                release.lacks_empty_outputs,
                release.lacks_scalar_inputs,
                release.lacks_constant_outputs,
                release.drops_inputs,
                release.note,
                release.explicit_attributes,
                quantized(release),
                release.lacks,
                avoids(&release.dtypes),
                forms(&runtime.avoid, release),
                forms(&runtime.warn, release),
                release.loses_nan(),
                release.source,
            );
        }
    }
    text.push_str("];\n");
}

/// How a release computes with quantized weights and activations.
fn quantized(release: &Release) -> String {
    format!(
        "Quantized {{ matmul: &{:?}, fast_matmul: &{:?}, gather: &{:?}, experts: &{:?}, dynamic: {}, unsigned: {} }}",
        release.matmul_nbits,
        release.fast_matmul_nbits,
        release.gather_nbits,
        release.experts_nbits,
        release.dynamic_integers,
        release.unsigned_activations
    )
}

/// The dtypes that a release lacks or gets wrong, by operator and version.
fn avoids(dtypes: &[Dtypes]) -> String {
    let entries: Vec<String> = dtypes.iter().flat_map(|of| of.since.iter().map(|since| missing(of, *since))).collect();
    let import = if entries.is_empty() { "" } else { "use aten2onnx_core::dtype::Dtype::*; " };
    format!("{{ {import}&[{}] }}", entries.join(", "))
}

/// Dtypes whose names were checked when the file was read.
fn dtypes(names: &[String]) -> String {
    let paths: Vec<String> = names
        .iter()
        .filter_map(|name| variant(name))
        .map(|name| format!("aten2onnx_core::dtype::Dtype::{name}"))
        .collect();
    format!("&[{}]", paths.join(", "))
}

fn missing(of: &Dtypes, since: u32) -> String {
    let dtypes: Vec<&str> = of.avoided().filter_map(variant).collect();
    let reason = if of.reason.is_empty() { "it gives wrong numbers" } else { &of.reason };
    format!("Missing {{ op: {:?}, since: {since}, dtypes: &[{}], reason: {reason:?} }}", of.op, dtypes.join(", "))
}

/// The forms that a release still lacks or gets wrong.
fn forms(all: &[Avoid], release: &Release) -> String {
    all.iter().filter(|avoid| avoid.is_in(&release.name)).map(form).collect::<Vec<_>>().join(", ")
}

/// A form that the exporter avoids, or tells of.
fn form(avoid: &Avoid) -> String {
    let Avoid { op, since, when, reason, seen_in, until: _, conditions } = avoid;
    let conditions: Vec<String> = conditions.iter().map(condition).collect();
    format!(
        "Avoid {{ op: {op:?}, since: &{since:?}, when: &{when:?}, conditions: &[{}], reason: {reason:?}, seen_in: {seen_in:?} }}",
        conditions.join(", ")
    )
}

fn condition(condition: &Condition) -> String {
    match condition {
        Condition::Is(state, of) => format!("Condition::Is(State::{state:?}, {})", name(of)),
        Condition::Rank(of, comparison, rank) => {
            format!("Condition::Rank({}, Comparison::{comparison:?}, {rank})", name(of))
        }
        Condition::Last(of, comparison, size) => {
            format!("Condition::Last({}, Comparison::{comparison:?}, {size})", name(of))
        }
        Condition::First(of, comparison, number) => {
            format!("Condition::First({}, Comparison::{comparison:?}, {number})", name(of))
        }
        Condition::MadeBy(of, comparison, op) => {
            format!("Condition::MadeBy({}, Comparison::{comparison:?}, {op:?})", name(of))
        }
        Condition::Length(of, comparison, length) => {
            format!("Condition::Length({}, Comparison::{comparison:?}, {length})", name(of))
        }
        Condition::Dtype(of, comparison, dtype) => {
            format!("Condition::Dtype({}, Comparison::{comparison:?}, Dtype::{dtype})", name(of))
        }
        Condition::Inputs(comparison, count) => format!("Condition::Inputs(Comparison::{comparison:?}, {count})"),
        Condition::Outputs(comparison, count) => format!("Condition::Outputs(Comparison::{comparison:?}, {count})"),
        Condition::Number(of, comparison, number) => {
            format!("Condition::Number({}, Comparison::{comparison:?}, {number:?})", name(of))
        }
        Condition::Text(of, comparison, text) => {
            format!("Condition::Text({}, Comparison::{comparison:?}, {text:?})", name(of))
        }
    }
}

fn name(name: &Name) -> String {
    match name {
        Name::Input(name) => format!("Name::Input({name:?})"),
        Name::Attribute(name) => format!("Name::Attribute({name:?})"),
    }
}

/// An operator, a version and its dtypes, whose names were checked when the file was read.
fn entry<'a>(op: &str, since: u32, dtypes: impl Iterator<Item = &'a str>) -> String {
    let dtypes: Vec<&str> = dtypes.filter_map(variant).collect();
    format!("({op:?}, {since}, &[{}])", dtypes.join(", "))
}
