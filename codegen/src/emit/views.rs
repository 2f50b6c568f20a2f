//! The operators whose results may share memory with an argument, by the alias marks of PyTorch's schemas.

use std::fmt::Write;

use crate::schema::Schemas;

/// The text of `VIEWS`, sorted.
pub fn emit(schemas: &Schemas) -> String {
    let mut text = String::from(
        "/// The operators whose results may share memory with their first argument (`Tensor(a)` in the schema), sorted.\npub static VIEWS: &[&str] = &[\n",
    );
    for schema in schemas.aten.iter() {
        if schema.returns.iter().any(|r| r.alias.as_ref().is_some_and(|a| !a.contains('!'))) {
            let _ = writeln!(text, "    {:?},", schema.name);
        }
    }
    text.push_str("];\n");
    text
}
