//! What PyTorch's higher-order operators become: the operators that `control` in `mappings/opsets.toml` declares, at every opset.

use std::collections::BTreeSet;

use aten2onnx::export::export_program;
use aten2onnx::frontend::pt2;
use aten2onnx_onnx::facts::{CONTROL, MAX_OPSET, MIN_OPSET};
use aten2onnx_onnx::proto::{GraphProto, ModelProto};
use prost::Message;

use super::sample;

fn exported(name: &str, opset: u32) -> ModelProto {
    let mut options = crate::pt2::options();
    // Passes replace a Slice and a Squeeze by a Gather.
    options.opt_level = 0;
    options.output.opset = Some(opset);
    let exported = export_program(pt2::read(&sample(name)).unwrap(), &options).unwrap();
    let mut bytes = Vec::new();
    exported.write_to(&mut bytes, &mut |_, _| Ok(())).unwrap();
    ModelProto::decode(bytes.as_slice()).unwrap()
}

/// The operators of a graph and of those inside its nodes.
fn operators(graph: &GraphProto, ops: &mut BTreeSet<String>) {
    for node in &graph.node {
        ops.insert(node.op_type().to_owned());
        for body in node.attribute.iter().filter_map(|attribute| attribute.g.as_ref()) {
            operators(body, ops);
        }
    }
}

/// That no other is emitted is a debug assertion in `src/translate/src/control.rs`.
#[test]
fn every_declared_operator_is_emitted_and_each_opset_can_express_them() {
    for opset in MIN_OPSET..=MAX_OPSET {
        let mut ops = BTreeSet::new();
        for name in ["cond", "while_loop", "scans", "associative_scan"] {
            operators(&exported(name, opset).graph.unwrap(), &mut ops);
        }
        let missing: Vec<&&str> = CONTROL.iter().filter(|op| !ops.contains(**op)).collect();
        assert!(missing.is_empty(), "at opset {opset} no sample has {missing:?}: {ops:?}");
    }
}
