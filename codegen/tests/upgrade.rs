//! The upgrade reports, for small snapshots.
#![allow(clippy::unwrap_used)]

use aten2onnx_codegen::upgrade::{aten_report, onnx_report};
use aten2onnx_opmap::schema::aten::AtenSchemas;
use aten2onnx_opmap::schema::onnx::OnnxSchemas;

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
        "Celu" | "Shape" | "aten::foo" => vec!["aten/activation.opmap".into(), "onnx/activation.opmap".into()],
        "Gone" | "aten::gone" => vec!["aten/old.opmap".into()],
        _ => vec![],
    }
}

#[test]
fn a_new_onnx() {
    let (old, new) = (OnnxSchemas::parse(OLD_ONNX).unwrap(), OnnxSchemas::parse(NEW_ONNX).unwrap());
    insta::assert_snapshot!(onnx_report(&old, &new, &uses));
}

#[test]
fn a_new_torch() {
    let (old, new) = (AtenSchemas::parse(OLD_ATEN).unwrap(), AtenSchemas::parse(NEW_ATEN).unwrap());
    insta::assert_snapshot!(aten_report(&old, &new, &uses));
}

#[test]
fn nothing_new() {
    let onnx = OnnxSchemas::parse(OLD_ONNX).unwrap();
    assert_eq!(onnx_report(&onnx, &onnx, &uses), "# ONNX operators: opset 12\n\nNothing changed.\n");
    let aten = AtenSchemas::parse(OLD_ATEN).unwrap();
    let nothing = "# PyTorch operators: 0 changed, 0 removed, 0 added\n\nNothing changed.\n";
    assert_eq!(aten_report(&aten, &aten, &uses), nothing);
}
