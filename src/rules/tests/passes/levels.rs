//! `passes/mod.rs`.

use super::net::{Net, ops_of};
use aten2onnx_builder::passes::Passes;

#[test]
fn at_level_0_the_graph_stays_as_it_was_written() {
    let written = |passes: Passes| {
        let mut net = Net::new(18);
        let (x, one) = (net.input(&[2, 3]), net.floats(&[], &[1.0]));
        let a = net.transposed(x, &[1, 0]);
        let b = net.op("Mul", &[a, one]);
        let y = net.transposed(b, &[1, 0]);
        let z = net.op("Exp", &[y]);
        ops_of(&net.finished(passes, z))
    };
    assert_eq!(written(Passes::NONE), ["Transpose", "Mul", "Transpose", "Exp"]);
    assert_eq!(written(Passes::ALL), ["Exp"]);
}
