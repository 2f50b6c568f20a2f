//! The facts beside the schemas as static tables of the exporter: `MIN_OPSET`, `MAX_OPSET`, `DEFAULT_OPSET`, `NEWEST_FORM`, `CONTROL`,
//! `IR_VERSIONS`, `NEGATIVE_AXES`, `WIDER`; and those of PyTorch's type promotion: `PROMOTE`, `COMBINE`, `NUMBERS`.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::Schemas;
use crate::dtypes::{DTYPES, variant};

const IMPORTS: &str = "use aten2onnx_core::dtype::Dtype::{self, *};\n\n";

/// The text of the tables of facts about ONNX.
pub fn emit(schemas: &Schemas) -> String {
    let mut text = String::from(IMPORTS);
    opsets(schemas, &mut text);
    negative_axes(schemas, &mut text);
    wider(schemas, &mut text);
    text
}

/// The text of the tables of type promotion.
pub fn emit_promotion(schemas: &Schemas) -> String {
    let mut text = String::from(IMPORTS);
    text.push_str(
        "const N: Option<Dtype> = None;\n\nconst fn s(dtype: Dtype) -> Option<Dtype> {\n    Some(dtype)\n}\n\n",
    );
    text.push_str(
        "/// `PROMOTE[a][b]`: the dtype of an operation on tensors of dtypes a and b; None where PyTorch refuses.\n",
    );
    matrix("PROMOTE", &schemas.promotion.promote, &mut text);
    text.push_str("/// `COMBINE[a][b]`: the same where the operand of dtype a outranks the other: a tensor with dimensions outranks\n/// one without, and that a Python number.\n");
    matrix("COMBINE", &schemas.promotion.combine, &mut text);
    text.push_str("/// The dtypes of Python's numbers.\npub static NUMBERS: &[(&str, Dtype)] = &[");
    let numbers = schemas.promotion.numbers.iter();
    let numbers: Vec<String> = numbers.map(|(kind, dtype)| format!("({kind:?}, {})", variant_of(dtype))).collect();
    let _ = writeln!(text, "{}];", numbers.join(", "));
    text
}

fn variant_of(torch_name: &str) -> &'static str {
    // `Schemas::load` checks the names.
    variant(torch_name).unwrap_or("Float32")
}

fn opsets(schemas: &Schemas, text: &mut String) {
    let opsets = &schemas.opsets;
    for (name, what, value) in [
        ("MIN_OPSET", "The oldest supported opset.", opsets.min),
        ("MAX_OPSET", "The newest supported opset.", opsets.max),
        ("DEFAULT_OPSET", "The opset where none is asked for.", opsets.default),
        ("NEWEST_FORM", "The newest opset whose operators are known: rules and models may speak of it.", opsets.max),
    ] {
        let _ = writeln!(text, "/// {what}\npub const {name}: u32 = {value};\n");
    }
    let irs: Vec<String> = opsets.opsets.iter().map(|(opset, o)| format!("({opset}, {})", o.ir)).collect();
    text.push_str("/// The operators that higher-order operators become: `control` in `opsets.toml`.\n");
    let _ = writeln!(text, "pub static CONTROL: &[&str] = &{:?};\n", opsets.control);
    text.push_str("/// (opset, the IR version that came with it), ascending.\n");
    let _ = writeln!(text, "pub static IR_VERSIONS: &[(u32, u32)] = &[{}];\n", irs.join(", "));
}

fn negative_axes(schemas: &Schemas, text: &mut String) {
    let mut rows = Vec::new();
    for axes in &schemas.opsets.negative_axes {
        let place = axes.attribute.as_ref().or(axes.input.as_ref()).map_or("", String::as_str);
        let is_input = axes.input.is_some();
        for op in &axes.ops {
            rows.push(format!("    ({op:?}, {}, {place:?}, {is_input}),\n", axes.since));
        }
    }
    rows.sort();
    text.push_str("/// (operator, opset, name, is it an input): below the opset the axes in this attribute or input must not be\n/// negative. Sorted.\n");
    let _ = writeln!(text, "pub static NEGATIVE_AXES: &[(&str, u32, &str, bool)] = &[\n{}    ];\n", rows.concat());
}

fn wider(schemas: &Schemas, text: &mut String) {
    text.push_str("/// The dtypes that hold every value of a dtype, best first; in the order of the enum.\n");
    text.push_str("pub static WIDER: &[(Dtype, &[Dtype])] = &[\n");
    for (name, _, torch_name) in DTYPES {
        let wider = schemas.dtypes.wider.get(torch_name).map_or(&[][..], Vec::as_slice);
        let wider: Vec<&str> = wider.iter().map(|d| variant_of(d)).collect();
        let _ = writeln!(text, "    ({name}, &[{}]),", wider.join(", "));
    }
    text.push_str("];\n\n");
}

/// A table with a row and a column for each variant of `Dtype`, in the order of the enum.
fn matrix(name: &str, pairs: &BTreeMap<(String, String), String>, text: &mut String) {
    let size = DTYPES.len();
    let _ = writeln!(text, "pub static {name}: [[Option<Dtype>; {size}]; {size}] = [");
    for (_, _, a) in DTYPES {
        let cell = |b: &str| pairs.get(&(a.to_string(), b.to_string())).map(|c| variant_of(c));
        let cells = DTYPES.iter().map(|(_, _, b)| cell(b).map_or("N".to_string(), |c| format!("s({c})")));
        let _ = writeln!(text, "    [{}],", cells.collect::<Vec<_>>().join(", "));
    }
    text.push_str("];\n\n");
}
