//! `passes/casts.rs`.

use super::net::{Net, ops};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_onnx::graph::Type;

fn chain(dtypes: &[Dtype]) -> Vec<&'static str> {
    let mut net = Net::new(18);
    let x = net.typed(Type::sized(dtypes[0], &[2]));
    let y = dtypes[1..].iter().fold(x, |x, to| net.cast(x, *to));
    ops(net, y)
}

#[test]
fn casts_through_a_wider_dtype_are_one() {
    use Dtype::*;
    assert_eq!(chain(&[Float16, Float32, Float16]), ["Identity"]);
    assert_eq!(chain(&[Int32, Int64, Float32]), ["Cast"]);
    assert_eq!(chain(&[Bool, Int64, Bool]), ["Identity"]);
    assert_eq!(chain(&[Uint8, Bfloat16, Int32]), ["Cast"]);
}

#[test]
fn casts_that_lose_something_stay() {
    use Dtype::*;
    assert_eq!(chain(&[Float32, Float16, Float32]), ["Cast", "Cast"]);
    assert_eq!(chain(&[Int64, Int32, Int64]), ["Cast", "Cast"]);
    assert_eq!(chain(&[Int64, Float64, Int64]), ["Cast", "Cast"]);
    assert_eq!(chain(&[Int8, Uint8, Int32]), ["Cast", "Cast"]);
    assert_eq!(chain(&[Int32, Bool, Int32]), ["Cast", "Cast"]);
    assert_eq!(chain(&[Float16, Bfloat16, Float32]), ["Cast", "Cast"]);
}
