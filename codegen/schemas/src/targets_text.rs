//! The profiles of runtimes as a text that the exporter reads when it is asked for one: data is not Rust to compile.
//!
//! The text is a list of fields, one in a line. A list is its length, and then its elements; what may be missing is a list of at most one.
//! `targets/data.rs` of `aten2onnx-onnx` reads them in the same order, and a test there compares both ends. An index, which an empty line
//! ends, says how many bytes the parts have that follow: what ONNX Runtime has no kernels for, and one for each release.

use std::fmt::Display;

use super::Schemas;
use super::avoid::{Avoid, Comparison, Condition, Name};
use super::dtypes::DTYPES;
use super::targets::{Dtypes, Lack, Release, Runtime};

/// The text of `targets.txt`.
pub fn text_of(schemas: &Schemas) -> String {
    let mut index = Fields::default();
    let mut parts = Fields::default();
    parts.list(&schemas.onnxruntime.lacks, kernel);
    index.add(parts.text.len());
    for runtime in &schemas.runtimes {
        for release in &runtime.release {
            let start = parts.text.len();
            target(&mut parts, schemas, runtime, release);
            index.add(&runtime.runtime).add(&release.name).add(parts.text.len() - start);
        }
    }
    format!("{}\n{}", index.text, parts.text)
}

/// Lines that are written one after the other.
#[derive(Default)]
struct Fields {
    text: String,
}

impl Fields {
    /// Adds a field. What breaks lines becomes a space.
    fn add(&mut self, field: impl Display) -> &mut Self {
        self.text.push_str(&field.to_string().replace(['\n', '\r'], " "));
        self.text.push('\n');
        self
    }

    /// Adds a list.
    fn list<T>(&mut self, all: &[T], mut one: impl FnMut(&mut Self, &T)) -> &mut Self {
        self.add(all.len());
        all.iter().for_each(|element| one(self, element));
        self
    }

    /// Adds the elements of a list in a line each.
    fn each<T: Display>(&mut self, all: &[T]) -> &mut Self {
        self.list(all, |fields, element| {
            fields.add(element);
        })
    }

    /// Adds what may be missing.
    fn optional<T: Display>(&mut self, value: &Option<T>) -> &mut Self {
        self.each(value.as_slice())
    }

    /// Adds dtypes by PyTorch's names.
    fn dtypes<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) -> &mut Self {
        let names: Vec<&str> = names.into_iter().collect();
        self.each(&names)
    }
}

/// An operator, the version of its schema, and the dtypes that ONNX Runtime has no kernel for.
fn kernel(fields: &mut Fields, lack: &Lack) {
    fields.add(&lack.op).add(lack.since).dtypes(names(&lack.dtypes));
}

fn target(fields: &mut Fields, schemas: &Schemas, runtime: &Runtime, release: &Release) {
    fields.add(&runtime.what).add(runtime.kernels).optional(&release.symbolic).optional(&release.own_sizes);
    fields.add(release.oldest_opset.unwrap_or(schemas.opsets.min).max(schemas.opsets.min));
    fields.add(release.newest_opset).optional(&release.fastest_opset).optional(&release.newest_ir);
    for dtypes in [&release.lacks_dtypes, &release.lacks_constants, &release.lacks_io_dtypes] {
        fields.dtypes(names(dtypes));
    }
    fields.optional(&release.most_weights).optional(&release.lacks_functions);
    fields.add(release.narrows_float64).add(release.narrows_int64).add(release.widens_int32);
    fields.add(release.lacks_scalar_outputs).add(release.lacks_empty_outputs);
    fields.optional(&release.lacks_scalar_inputs).optional(&release.lacks_constant_outputs);
    fields.add(release.drops_inputs).optional(&release.note).add(release.explicit_attributes);
    quantized(fields, release);
    fields.each(&release.lacks);
    let missing: Vec<(&Dtypes, u32)> =
        release.dtypes.iter().flat_map(|of| of.since.iter().map(move |since| (of, *since))).collect();
    fields.list(&missing, |fields, (of, since)| dtypes_of(fields, of, *since));
    for forms in [&runtime.avoid, &runtime.warn] {
        let forms: Vec<&Avoid> = forms.iter().filter(|avoid| avoid.is_in(&release.name)).collect();
        fields.list(&forms, |fields, avoid| form(fields, avoid));
    }
    fields.each(&release.loses_nan()).add(&release.source);
}

/// How a release computes with quantized weights and activations.
fn quantized(fields: &mut Fields, release: &Release) {
    for bits in [&release.matmul_nbits, &release.fast_matmul_nbits, &release.gather_nbits, &release.experts_nbits] {
        fields.each(bits);
    }
    fields.add(release.dynamic_integers).add(release.unsigned_activations).add(release.symmetric_activations);
    fields.each(&release.integer_operators).each(&release.float_results);
}

/// The dtypes that a release lacks or gets wrong, of a version of an operator.
fn dtypes_of(fields: &mut Fields, of: &Dtypes, since: u32) {
    let reason = if of.reason.is_empty() { "it gives wrong numbers" } else { &of.reason };
    fields.add(&of.op).add(since).dtypes(of.avoided()).add(reason);
}

/// A form that the exporter avoids, or tells of.
fn form(fields: &mut Fields, avoid: &Avoid) {
    let Avoid { op, since, when, reason, seen_in, until: _, conditions } = avoid;
    fields.add(op).each(since).each(when).list(conditions, condition).add(reason).add(seen_in);
}

fn condition(fields: &mut Fields, condition: &Condition) {
    match condition {
        Condition::Is(state, of) => {
            fields.add("is");
            name(fields, of);
            fields.add(format_args!("{state:?}"));
        }
        Condition::Inputs(comparison, count) => compared(fields, "inputs", None, *comparison, count),
        Condition::Outputs(comparison, count) => compared(fields, "outputs", None, *comparison, count),
        Condition::Rank(of, comparison, rank) => compared(fields, "rank", Some(of), *comparison, rank),
        Condition::Last(of, comparison, size) => compared(fields, "last", Some(of), *comparison, size),
        Condition::First(of, comparison, number) => compared(fields, "first", Some(of), *comparison, number),
        Condition::Length(of, comparison, length) => compared(fields, "length", Some(of), *comparison, length),
        Condition::MadeBy(of, comparison, op) => compared(fields, "made_by", Some(of), *comparison, op),
        Condition::Dtype(of, comparison, dtype) => compared(fields, "dtype", Some(of), *comparison, torch_name(dtype)),
        Condition::Number(of, comparison, number) => compared(fields, "number", Some(of), *comparison, number),
        Condition::Text(of, comparison, text) => compared(fields, "text", Some(of), *comparison, text),
    }
}

fn compared(fields: &mut Fields, kind: &str, of: Option<&Name>, comparison: Comparison, value: impl Display) {
    fields.add(kind);
    if let Some(of) = of {
        name(fields, of);
    }
    fields.add(format_args!("{comparison:?}")).add(value);
}

fn name(fields: &mut Fields, name: &Name) {
    match name {
        Name::Input(name) => fields.add("input").add(name),
        Name::Attribute(name) => fields.add("attribute").add(name),
    };
}

/// PyTorch's name of a variant of `Dtype`.
fn torch_name(variant: &str) -> String {
    DTYPES.iter().find(|dtype| dtype.0 == variant).map_or(variant, |dtype| dtype.2).to_owned()
}

fn names(all: &[String]) -> impl Iterator<Item = &str> {
    all.iter().map(String::as_str)
}
