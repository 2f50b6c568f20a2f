//! The parsers of the schema snapshots and of the facts beside them, on the real files and on broken ones.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use aten2onnx_schemas::Schemas;
use aten2onnx_schemas::aten::{AtenSchemas, Value, default_value, parse_schema};
use aten2onnx_schemas::dtypes::DTYPES;
use aten2onnx_schemas::facts::{Dtypes, IgnoredArguments, Opsets, Promotion};
use aten2onnx_schemas::kernels::Kernels;
use aten2onnx_schemas::onnx::{AttrKind, AttrValue, Change, OnnxSchemas, PortOption};
use proptest::prelude::*;

const ATEN: [(&str, usize); 5] = [
    ("aten.txt", 3754),
    ("prims.txt", 126),
    ("quantized_decomposed.txt", 19),
    ("torch.onnx.txt", 2),
    ("torchvision.txt", 15),
];

fn mappings() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../mappings")
}

fn snapshot(name: &str) -> String {
    std::fs::read_to_string(mappings().join("schemas").join(name)).unwrap()
}

fn onnx() -> OnnxSchemas {
    OnnxSchemas::parse(&snapshot("onnx.txt")).unwrap()
}

fn without_comments(text: &str) -> String {
    text.lines().filter(|l| !l.starts_with(['#', '@'])).map(|l| format!("{l}\n")).collect()
}

/// As `assert_eq`, but shows the first line that differs.
fn assert_same(left: &str, right: &str) {
    for (i, (l, r)) in left.lines().zip(right.lines()).enumerate() {
        assert_eq!(l, r, "line {}", i + 1);
    }
    assert_eq!(left.len(), right.len());
}

#[test]
fn onnx_txt_survives_parsing_and_printing() {
    let schemas = onnx();
    assert_eq!(schemas.ops.values().map(Vec::len).sum::<usize>(), 629);
    let printed: Vec<String> = schemas.ops.values().flatten().map(ToString::to_string).collect();
    assert_same(&printed.join("\n"), without_comments(&snapshot("onnx.txt")).trim_start());
}

#[test]
fn aten_txt_and_its_neighbours_survive_parsing_and_printing() {
    for (name, count) in ATEN {
        let text = snapshot(name);
        let schemas = AtenSchemas::parse(&text).unwrap();
        assert_eq!(schemas.iter().count(), count);
        let printed: String = schemas.iter().map(|s| format!("{s}\n")).collect();
        assert_same(&printed, &without_comments(&text));
    }
}

#[test]
fn versions_of_onnx_operators_are_found_by_opset() {
    let schemas = onnx();
    assert_eq!(schemas.at("Softmax", 12).unwrap().since, 11);
    assert_eq!(schemas.at("Softmax", 13).unwrap().since, 13);
    assert_eq!(schemas.at("Gelu", 19), None);
    assert_eq!(schemas.at("Nothing", 19), None);
    assert!(schemas.at("Upsample", 28).unwrap().deprecated);
    let clip: Vec<u32> = schemas.versions("Clip").iter().map(|v| v.since).collect();
    assert_eq!(clip, [1, 6, 11, 12, 13]);
}

#[test]
fn changes_of_onnx_operators_are_told_apart() {
    let schemas = onnx();
    assert_eq!(schemas.change("Gelu", 20), Some(Change::Appeared));
    assert_eq!(schemas.change("Unsqueeze", 13), Some(Change::Shape));
    assert_eq!(schemas.change("Relu", 14), Some(Change::Types));
    assert_eq!(schemas.change("Relu", 15), None);
    assert_eq!(schemas.change("Nothing", 15), None);
}

#[test]
fn a_version_of_an_onnx_operator_has_all_that_the_schema_says() {
    let schemas = onnx();
    let resize = schemas.at("Resize", 13).unwrap();
    assert_eq!((resize.min_inputs, resize.inputs.len()), (1, 4));
    assert_eq!(resize.inputs[1].option, PortOption::Optional);
    let coefficient = resize.attribute("cubic_coeff_a").unwrap();
    assert_eq!((coefficient.kind, &coefficient.default), (AttrKind::Float, &Some(AttrValue::Float(-0.75))));
    let looped = schemas.at("Loop", 13).unwrap();
    assert_eq!(looped.inputs[2].option, PortOption::Variadic(0));
    assert!(!looped.inputs[2].homogeneous);
    assert!(looped.attribute("body").unwrap().required);
    let arg_max = schemas.at("ArgMax", 13).unwrap();
    assert_eq!(arg_max.allowed(&arg_max.outputs[0]), ["tensor(int64)"]);
    assert_eq!(arg_max.allowed(&arg_max.inputs[0]).len(), 12);
    assert!(schemas.at("Celu", 12).unwrap().function);
}

#[test]
fn the_nearest_name_is_found() {
    assert_eq!(onnx().nearest("Softmx"), Some("Softmax"));
    assert_eq!(onnx().nearest("qqqqqqqq"), None);
    let aten = Schemas::load(&mappings()).unwrap().aten;
    assert_eq!(aten.nearest("aten::add.Tensr"), Some("aten::add.Tensor"));
}

#[test]
fn overloads_are_found_by_name() {
    let aten = Schemas::load(&mappings()).unwrap().aten;
    assert_eq!(aten.get("aten::relu"), aten.get("aten::relu.default"));
    assert_eq!(aten.get("torchvision::nms").unwrap().args.len(), 3);
    assert!(aten.get("aten::add_.Tensor").unwrap().mutates());
    let names: Vec<&str> = aten.overloads("aten::topk").into_iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["aten::topk", "aten::topk.values"]);
    assert!(aten.overloads("aten::top").is_empty());
    assert!(aten.overloads("aten::add").iter().all(|s| s.op() == "aten::add"));
}

#[test]
fn a_schema_keeps_all_its_parts() {
    let line = "aten::_foreach_f.x(Tensor(a!)[] self, Tensor[](b) other, *, SymInt[2]? k=[1, 1], str s=\")\", ...) -> (Tensor(a -> *) values, (int, t)[])";
    let schema = parse_schema(line).unwrap();
    assert_eq!(schema.to_string(), line);
    let types: Vec<&str> = schema.args.iter().map(|a| a.ty.as_str()).collect();
    assert_eq!(types, ["Tensor[]", "Tensor[]", "SymInt[2]?", "str", "..."]);
    let aliases: Vec<Option<&str>> = schema.args.iter().map(|a| a.alias.as_deref()).collect();
    assert_eq!(aliases, [Some("a!"), Some("b"), None, None, None]);
    assert!(!schema.args[1].keyword_only && schema.args[2].keyword_only);
    assert_eq!(schema.returns[0].name.as_deref(), Some("values"));
    assert_eq!(schema.returns[1].ty, "(int, t)[]");
}

#[test]
fn defaults_are_compared_by_value() {
    let same = |ty, a, b| assert_eq!(default_value(ty, a).unwrap(), default_value(ty, b).unwrap());
    same("float", "0.", "0.0");
    same("float", "1", "1.0");
    same("float", "1e-05", "1.0000000000000001e-05");
    same("int", "Mean", "1");
    same("SymInt[2]", "1", "[1, 1]");
    same("int[1]", "[-2,-1]", "[-2, -1]");
    same("MemoryFormat?", "contiguous_format", "0");
    same("str", "'linear'", "\"linear\"");
    assert_eq!(default_value("Tensor?", "None"), Some(Value::None));
    assert_eq!(default_value("str", "'None'"), Some(Value::Str("None".into())));
    assert_eq!(default_value("int[]", "[]"), Some(Value::List(vec![])));
    assert_ne!(default_value("Scalar", "1"), default_value("Scalar", "1.0"));
    assert_eq!(default_value("int", "x"), None);
}

#[test]
fn every_default_can_be_read() {
    for schema in Schemas::load(&mappings()).unwrap().aten.iter() {
        for arg in schema.args.iter().filter(|a| a.default.is_some()) {
            assert!(default_value(&arg.ty, arg.default.as_deref().unwrap()).is_some(), "{arg} of {schema}");
        }
    }
}

#[test]
fn errors_in_onnx_txt_name_the_line() {
    let error = |text: &str| OnnxSchemas::parse(text).unwrap_err();
    assert_eq!(error("  in X: T\n"), "line 1: line without an operator: `  in X: T`");
    assert_eq!(error("\nRelu\n"), "line 2: no opset after the name: `Relu`");
    assert_eq!(error("Relu 6 old\n"), "line 1: `old` is neither `deprecated` nor `function`: `Relu 6 old`");
    assert_eq!(error("Relu 6\n  in X\n"), "line 2: no `: ` after the name: `  in X`");
    assert_eq!(
        error("Relu 6\n  in X: T perhaps\n"),
        "line 2: `perhaps` is neither `optional` nor `variadic`: `  in X: T perhaps`"
    );
    assert_eq!(
        error("Relu 6\n  attr a: NUMBER\n"),
        "line 2: `NUMBER` is not the type of an attribute: `  attr a: NUMBER`"
    );
    assert_eq!(error("Relu 6\n  attr a: INT = x\n"), "line 2: `x` is not a value of type INT: `  attr a: INT = x`");
    assert_eq!(error("Relu 6\n  type T = @few\n"), "line 2: unknown group `@few`: `  type T = @few`");
    assert_eq!(error("Relu 6\n  type T = seq(float\n"), "line 2: parentheses do not match: `  type T = seq(float`");
    assert_eq!(error("Relu 6\n\nRelu 1\n"), "at the end: version 1 of Relu above this line is out of order");
}

#[test]
fn errors_in_aten_txt_name_the_line() {
    let error = |text: &str| AtenSchemas::parse(text).unwrap_err();
    let relu = "aten::relu(Tensor self) -> Tensor";
    assert_eq!(error(&format!("# x\n{relu}\naten::x\n")), "line 3: no `(` after the name: `aten::x`");
    assert_eq!(error(&format!("{relu}\n{relu}\n")), "duplicate `aten::relu`");
    assert_eq!(
        error("relu(Tensor self) -> Tensor"),
        "line 1: `relu` is not the name of an operator: `relu(Tensor self) -> Tensor`"
    );
    assert_eq!(
        error("a::x(Tensor self) Tensor"),
        "line 1: expected ` -> `, found ` Tensor`: `a::x(Tensor self) Tensor`"
    );
    assert_eq!(error("a::x(Tensor self, *, *)"), "line 1: a second `*`: `a::x(Tensor self, *, *)`");
    assert_eq!(error("a::x(int[ self)"), "line 1: no `]` in a type: `a::x(int[ self)`");
    assert_eq!(error("a::x(int a=)"), "line 1: no default after `=`: `a::x(int a=)`");
}

#[test]
fn the_facts_agree_with_the_schemas() {
    let schemas = Schemas::load(&mappings()).unwrap();
    assert!([9, 18, 28].iter().all(|opset| schemas.opsets.range().contains(opset)));
    assert_eq!(schemas.opsets.opsets[&18].ir, 8);
    assert_eq!(schemas.onnx.change("MaxPool", 22), Some(Change::Types));
    assert_eq!(schemas.change("MaxPool", 22), Some(Change::Shape));
    for argument in &schemas.ignored.arguments {
        let occurs = schemas
            .aten
            .iter()
            .flat_map(|s| &s.args)
            .any(|a| a.name == argument.name && a.ty.trim_end_matches('?') == argument.ty);
        assert!(occurs, "{} is in no schema", argument.name);
    }
    assert!(schemas.ignored.why("pin_memory", "bool?").is_some());
    assert!(schemas.ignored.why("generator", "Generator?").is_none());
    let is_argument = |name: &String| schemas.aten.iter().any(|schema| schema.arg(name).is_some());
    assert!(schemas.ignored.selecting.len() > 2 && schemas.ignored.selecting.iter().all(is_argument));
    for axes in schemas.opsets.negative_axes.iter().filter(|a| a.attribute.is_some()) {
        for op in &axes.ops {
            let version = schemas.onnx.at(op, 9).or_else(|| schemas.onnx.versions(op).first()).unwrap();
            assert!(version.attribute(axes.attribute.as_ref().unwrap()).is_some(), "{op}");
        }
    }
}

#[test]
fn broken_facts_are_refused() {
    let opsets = |text: &str| Opsets::parse(text).unwrap_err();
    assert_eq!(opsets("min = 9\nmax = 10\ndefault = 18\n[opsets]\n"), "the default 18 is not between 9 and 10");
    assert_eq!(opsets("min = 9\nmax = 9\ndefault = 9\n[opsets]\n"), "opset 9 is not in `[opsets]`");
    assert!(
        opsets("min = 9\nmax = 9\ndefault = 9\n[opsets]\nx = { onnx = \"1\", ir = 1 }\n")
            .contains("`x` is not an opset")
    );
    assert_eq!(Dtypes::parse("[wider]\nbool = [\"int5\"]\n").unwrap_err(), "`int5` is not a dtype");
    assert!(IgnoredArguments::parse("[[argument]]\nname = \"x\"\n").is_err());
    assert_eq!(Promotion::parse("\npromote bool\n").unwrap_err(), "line 2: not a rule of promotion: `promote bool`");
    assert_eq!(Kernels::parse("\naten::relu int8 int5\n").unwrap_err(), "line 2: there is no dtype `int5`");
    let unknown = "min = 9\nmax = 9\ndefault = 9\n[opsets]\n9 = { onnx = \"1\", ir = 4 }\n[[change]]\nop = \"Relu\"\nsince = 15\nkind = \"meaning\"\nwhy = \"\"\n";
    assert_eq!(Opsets::parse(unknown).unwrap().check(&onnx()).unwrap_err(), "`Relu` has no version 15");
}

#[test]
fn promotion_is_pytorchs() {
    let promotion = Schemas::load(&mappings()).unwrap().promotion;
    let get = |table: &std::collections::BTreeMap<(String, String), String>, a: &str, b: &str| {
        table.get(&(a.to_string(), b.to_string())).cloned()
    };
    assert_eq!(get(&promotion.promote, "uint8", "int8").as_deref(), Some("int16"));
    assert_eq!(get(&promotion.promote, "bfloat16", "float16").as_deref(), Some("float32"));
    assert_eq!(get(&promotion.promote, "uint32", "int32"), None);
    assert_eq!(get(&promotion.combine, "int32", "int64").as_deref(), Some("int32"));
    assert_eq!(get(&promotion.combine, "int32", "float64").as_deref(), Some("float64"));
    assert_eq!(get(&promotion.combine, "float16", "float64").as_deref(), Some("float16"));
    assert_eq!(promotion.numbers["float"], "float32");
}

/// The significant bits, and the exponents of the smallest and largest power of two, that a dtype holds.
fn extent(dtype: &str) -> Option<(i32, i32, i32, bool)> {
    Some(match dtype {
        "bool" => (1, 0, 0, false),
        "float16" => (11, -24, 15, true),
        "bfloat16" => (8, -133, 127, true),
        "float32" => (24, -149, 127, true),
        "float64" => (53, -1074, 1023, true),
        "float8_e4m3fn" => (4, -9, 8, true),
        "float8_e4m3fnuz" => (4, -10, 7, true),
        "float8_e5m2" => (3, -16, 15, true),
        "float8_e5m2fnuz" => (3, -17, 15, true),
        "float8_e8m0fnu" => (1, -127, 127, false),
        "float4_e2m1fn_x2" => (2, -1, 2, true),
        _ if dtype.starts_with("uint") => {
            let bits: i32 = dtype[4..].parse().ok()?;
            (bits, 0, bits - 1, false)
        }
        _ if dtype.starts_with("int") => {
            let bits: i32 = dtype[3..].parse().ok()?;
            (bits - 1, 0, bits - 1, true)
        }
        _ => return None,
    })
}

#[test]
fn wider_dtypes_hold_all_values() {
    let dtypes = Dtypes::parse(&std::fs::read_to_string(mappings().join("dtypes.toml")).unwrap()).unwrap();
    assert_eq!(dtypes.wider.len(), DTYPES.len());
    for (dtype, wider) in &dtypes.wider {
        let Some((bits, low, high, signed)) = extent(dtype) else { continue };
        for wide in wider {
            let (wide_bits, wide_low, wide_high, wide_signed) = extent(wide).unwrap();
            // -2^n has one significant bit, so the lowest value of an int8 needs no more than the others.
            let holds = wide_bits >= bits && wide_low <= low && wide_high >= high && (wide_signed || !signed);
            assert!(holds, "{wide} for {dtype}");
        }
    }
}

#[test]
fn the_table_of_dtypes_is_that_of_the_exporter() {
    let text = std::fs::read_to_string(mappings().join("../src/core/src/dtype.rs")).unwrap();
    let table = text.split_once("= &[\n").unwrap().1.split_once("\n];").unwrap().0;
    let rows: Vec<Vec<&str>> =
        table.lines().map(|l| l.trim().trim_matches(['(', ')', ',']).split(", ").collect()).collect();
    // Rules cannot name the undefined dtype.
    let rows: Vec<Vec<&str>> = rows.into_iter().filter(|row| row[0] != "Undefined").collect();
    assert_eq!(rows.len(), DTYPES.len());
    for (row, (variant, onnx, torch)) in rows.iter().zip(DTYPES) {
        assert_eq!((row[0], row[2].trim_matches('"'), row[3].trim_matches('"')), (variant, onnx, torch));
    }
}

/// A part of a file with some of its characters replaced, dropped or doubled.
fn mutated(text: String) -> impl Strategy<Value = String> {
    let lines: Vec<String> = text.lines().map(String::from).collect();
    let places = prop::collection::vec((any::<prop::sample::Index>(), 0..3u8, "[ -~é\n]"), 1..6);
    (0..lines.len(), places).prop_map(move |(start, places)| {
        let mut chars: Vec<char> = lines[start..(start + 12).min(lines.len())].join("\n").chars().collect();
        for (place, what, with) in places {
            if chars.is_empty() {
                break;
            }
            let at = place.index(chars.len());
            match what {
                0 => chars[at] = with.chars().next().unwrap(),
                1 => drop(chars.remove(at)),
                _ => chars.insert(at, chars[at]),
            }
        }
        chars.into_iter().collect()
    })
}

proptest! {
    #[test]
    fn no_text_makes_the_parsers_panic(
        onnx in mutated(snapshot("onnx.txt")), aten in mutated(snapshot("aten.txt")), promotion in mutated(snapshot("promotion.txt")),
    ) {
        let _ = OnnxSchemas::parse(&onnx);
        let _ = Promotion::parse(&promotion);
        let _ = Kernels::parse(&promotion);
        for line in aten.lines() {
            if let Ok(schema) = parse_schema(line) {
                schema.args.iter().for_each(|a| drop(default_value(&a.ty, a.default.as_deref().unwrap_or_default())));
                prop_assert_eq!(parse_schema(&schema.to_string()), Ok(schema));
            }
        }
    }

    #[test]
    fn no_default_makes_the_reader_panic(ty in "[a-z?\\[\\]0-9]{0,8}", text in "\\PC{0,12}") {
        let _ = default_value(&ty, &text);
    }
}

#[test]
fn a_version_extends_the_one_before_if_it_only_adds() {
    let schemas = Schemas::load(&mappings()).unwrap();
    // Optional inputs, attributes with defaults, values.
    for (op, since) in [("Resize", 13), ("Loop", 11), ("Gemm", 11), ("BitShift", 28), ("Attention", 24)] {
        assert!(schemas.extends(op, since), "{op}-{since}");
    }
    // An attribute became an input, or the meaning changed.
    for (op, since) in [("Squeeze", 13), ("Slice", 10), ("Softmax", 13), ("Split", 18), ("GroupNormalization", 21)] {
        assert!(!schemas.extends(op, since), "{op}-{since}");
    }
}
