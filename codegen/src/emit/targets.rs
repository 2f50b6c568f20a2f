//! The profiles of runtimes as static tables of the exporter.

use std::fmt::Write;

use crate::schema::Schemas;
use crate::schema::dtypes::variant;

/// The text of `ONNXRUNTIME_LACKS`.
pub fn emit(schemas: &Schemas) -> String {
    let mut text = String::from(
        "/// The dtypes for which ONNX Runtime has no kernel: operator, version of its schema, dtypes. Sorted.\n\
         pub static ONNXRUNTIME_LACKS: &[(&str, u32, &[crate::dtype::Dtype])] = {\n    use crate::dtype::Dtype::*;\n    &[\n",
    );
    for lack in &schemas.onnxruntime.lacks {
        // `Target::parse` has checked the names.
        let dtypes: Vec<&str> = lack.dtypes.iter().filter_map(|name| variant(name)).collect();
        let _ = writeln!(text, "        ({:?}, {}, &[{}]),", lack.op, lack.since, dtypes.join(", "));
    }
    text.push_str("    ]\n};\n");
    text
}
