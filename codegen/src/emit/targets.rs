//! The profiles of runtimes as static tables of the exporter.

use std::fmt::Write;

use aten2onnx_opmap::schema::Schemas;
use aten2onnx_opmap::schema::dtypes::variant;

/// The text of `ONNXRUNTIME_LACKS`.
pub fn emit(schemas: &Schemas) -> String {
    let mut text = String::from(
        "/// The dtypes for which ONNX Runtime has no kernel: operator, version of its schema, dtypes. Sorted.\n\
         pub static ONNXRUNTIME_LACKS: &[(&str, u32, &[aten2onnx_core::dtype::Dtype])] = {\n    use aten2onnx_core::dtype::Dtype::*;\n    &[\n",
    );
    for lack in &schemas.onnxruntime.lacks {
        // `Target::parse` checks the names.
        let dtypes: Vec<&str> = lack.dtypes.iter().filter_map(|name| variant(name)).collect();
        let _ = writeln!(text, "        ({:?}, {}, &[{}]),", lack.op, lack.since, dtypes.join(", "));
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
                "    Target {{ runtime: {:?}, release: {:?}, what: {:?}, kernels: {}, oldest_opset: {}, newest_opset: {}, \
                 newest_ir: {:?}, lacks: &{:?}, source: {:?} }},",
                runtime.runtime,
                release.name,
                runtime.what,
                runtime.kernels,
                release.oldest_opset.unwrap_or(schemas.opsets.min).max(schemas.opsets.min),
                release.newest_opset,
                release.newest_ir,
                release.lacks,
                release.source,
            );
        }
    }
    text.push_str("];\n");
}
