//! Options in the formats of the command line and the Python package.
#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn options_are_read_from_json() {
    let json = r#"{"output": {"opset": 13, "ir": "release", "external_data": "always"}, "provenance": "full", "dims": ["s0=batch"],
        "input_names": ["x=image"], "fallback": "aten", "opt_level": 0}"#;
    let options: Options = from_json(json).unwrap();
    assert_eq!(options.output.opset().unwrap(), 13);
    assert_eq!(options.output.ir, Ir::Release);
    assert_eq!(options.output.external_data, ExternalData::Always);
    assert_eq!(options.provenance, Provenance::Full);
    assert_eq!(options.dims, ["s0=batch".parse().unwrap()]);
    assert_eq!(options.input_names, ["x=image".parse().unwrap()]);
    assert_eq!((options.fallback, options.opt_level), (Fallback::Aten, 0));
}

#[test]
fn wrong_values_are_named() {
    let refused = |json: &str| from_json::<Options>(json).unwrap_err();
    assert!(refused(r#"{"output": {"target": "tensort-8.4"}}"#).contains("did you mean `tensorrt-8.4`?"));
    assert!(refused(r#"{"output": {"ir": "newest"}}"#).starts_with("ir: invalid value `newest`: expected a number"));
    assert_eq!(
        refused(r#"{"output": {"external_data": "maybe"}}"#),
        "external_data: unknown variant `maybe`, expected one of `auto`, `always`, `never`, `link`"
    );
    assert!(refused(r#"{"opset": 13}"#).contains("unknown field `opset`"));
}

#[test]
fn the_target_chooses_the_opset() {
    let options = |target: &str, opset| OutputOptions {
        target: Some(targets::find(target).unwrap()),
        opset,
        ..OutputOptions::default()
    };
    assert_eq!(options("tensorrt-8.4", None).opset().unwrap(), 13);
    assert_eq!(options("tensorrt-8.4", Some(11)).opset().unwrap(), 11);
    assert!(options("tensorrt-8.4", Some(17)).opset().unwrap_err().message.contains("does not support opset 17"));
    assert!(OutputOptions::for_opset(8).opset().unwrap_err().message.contains("too old"));
}

#[cfg(feature = "clap")]
#[test]
fn the_command_line_has_the_same_defaults() {
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        export: Options,
    }
    let line: Line = clap::Parser::parse_from(["aten2onnx"]);
    assert_eq!(format!("{:?}", line.export), format!("{:?}", Options::default()));
    assert_eq!(format!("{:?}", from_json::<Options>("{}").unwrap()), format!("{:?}", Options::default()));
}

#[test]
fn sizes_of_memory_have_units() {
    assert_eq!(["7", "1.5 kB", "2MiB"].map(|text| parse_bytes(text).ok()), [Some(7), Some(1500), Some(2 << 20)]);
    assert!(["", "MB", "-1", "0", "nan", "1e30"].iter().all(|text| parse_bytes(text).is_err()));
}
