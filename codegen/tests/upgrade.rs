//! The upgrade reports, for small snapshots.
#![allow(clippy::unwrap_used)]

use aten2onnx_codegen::upgrade::aten_report;
use aten2onnx_codegen::upgrade::onnx::touched::Touched;
use aten2onnx_codegen::upgrade::onnx::{Release, Said, onnx_report};
use aten2onnx_schemas::aten::AtenSchemas;
use aten2onnx_schemas::onnx::OnnxSchemas;

const OLD_ONNX: &str = "\
@floats = float16 float double

Celu 12 function
  in X: T
  out Y: T
  type T = float

Gone 3
  in X: T
  out Y: T
  type T = float

Pow 7
  in X: T
  in Y: T
  out Z: T
  type T = @floats

Scatter 9
  in data: T
  out output: T
  type T = float

Shape 1
  in data: T
  out shape: tensor(int64)
  attr start: INT = 0
  type T = float
";

const NEW_ONNX: &str = "\
@floats = float16 float double

Celu 12 function
  in X: T
  out Y: T
  attr alpha: FLOAT = 1.0
  type T = float

Celu 28 function
  in X: T
  out Y: T
  attr alpha: FLOAT = 1.0
  type T = @floats

Fresh 27
  in X: T
  in B: T optional
  out Y: T
  attr k: INT required
  type T = float

Pow 7
  in X: T
  in Y: T
  out Z: T
  type T = @floats

Pow 28
  in X: T
  in Y: T1
  out Z: T
  type T = @floats
  type T1 = @floats

Scatter 9
  in data: T
  out output: T
  type T = float

Scatter 27 deprecated
  in data: T
  out output: T
  type T = float

Shape 1
  in data: T
  out shape: tensor(int64)
  attr start: INT = 0
  type T = float

Shape 28
  in data: T
  in axes: T optional
  out shape: tensor(int32)
  attr end: INT
  attr start: INT = 1
  type T = float
";

const OLD_ATEN: &str = "\
aten::foo(Tensor self, int dim=0) -> Tensor
aten::foo_(Tensor(a!) self, int dim=0) -> Tensor(a!)
aten::gone(Tensor self) -> Tensor
aten::relu(Tensor self) -> Tensor
aten::two(Tensor a, Tensor b) -> Tensor
";

const NEW_ATEN: &str = "\
aten::foo(Tensor self, SymInt dim=0, *, bool fast=False) -> (Tensor, Tensor)
aten::foo_(Tensor(a!) self, *, int dim=0) -> Tensor(a!)
aten::fresh.Tensor(Tensor self) -> Tensor
aten::relu(Tensor self) -> Tensor
aten::two(Tensor b, Tensor a) -> Tensor
";

fn uses(name: &str) -> Vec<String> {
    match name {
        "aten::foo" => vec!["aten/activation.opmap".into(), "onnx/activation.opmap".into()],
        "aten::gone" => vec!["aten/old.opmap".into()],
        _ => vec![],
    }
}

/// What a release says beside its schemas.
const SAID: &str = r#"{
    "onnx": "1.23.0",
    "releases": {"27": ["1.22.0", 13], "28": ["1.23.0", 14]},
    "snapshot": "",
    "texts": {"Pow 28": ["-Both have one dtype.", "+The dtypes may differ."], "Fresh 27": ["+It is new."]},
    "bodies": {"Fresh 27": "Fresh (X) => (Y)\n{\n   Y = Celu (X)\n}", "Celu 28": "it depends on the call"},
    "tests": {
        "Fresh 27": {"count": 9, "calls": [
            {"name": "test_fresh", "example": "Fresh(f32[2], k_i = 1)"},
            {"name": "test_fresh_int2", "words": "Fresh(X: int2[2]; k = 1): there is no tensor of int2 in an example"}
        ]},
        "Celu 28": {"count": 1, "calls": [{"name": "test_celu", "example": "Celu(f64[2])"}]}
    }
}"#;

fn touched() -> Touched {
    let mut touched = Touched::default();
    touched.add_own("Celu", "lower Celu before 12", "onnx/activation.opmap");
    touched.add_own("Shape", "lower Shape avoided", "onnx/shape.opmap");
    touched.add_call("Celu", "aten::celu", "aten/activation.opmap");
    touched.add_call("Gone", "aten::gone", "aten/old.opmap");
    touched.add_target("Celu", "burn");
    touched
}

/// The report on a release, with what it says beside its schemas or without.
fn report(old: &str, new: &str, said: Option<&Said>) -> String {
    let (old, new) = (OnnxSchemas::parse(old).unwrap(), OnnxSchemas::parse(new).unwrap());
    onnx_report(&Release { old: &old, new: &new, touched: &touched(), said })
}

#[test]
fn a_new_onnx() {
    insta::assert_snapshot!(report(OLD_ONNX, NEW_ONNX, Some(&Said::parse(SAID).unwrap())));
}

#[test]
fn a_new_snapshot_of_onnx() {
    insta::assert_snapshot!(report(OLD_ONNX, NEW_ONNX, None));
}

#[test]
fn a_new_torch() {
    let (old, new) = (AtenSchemas::parse(OLD_ATEN).unwrap(), AtenSchemas::parse(NEW_ATEN).unwrap());
    insta::assert_snapshot!(aten_report(&old, &new, &uses));
}

#[test]
fn nothing_new() {
    assert_eq!(report(OLD_ONNX, OLD_ONNX, None), "# ONNX operators: opset 12\n\nNothing changed.\n");
    let aten = AtenSchemas::parse(OLD_ATEN).unwrap();
    let nothing = "# PyTorch operators: 0 changed, 0 removed, 0 added\n\nNothing changed.\n";
    assert_eq!(aten_report(&aten, &aten, &uses), nothing);
}
