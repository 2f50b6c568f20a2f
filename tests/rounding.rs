//! Models whose weights are quantized while they are exported: see `tests/rounding/judge.py`.

use crate::host;

mod python {
    use super::host;

    #[test]
    fn quantized_weights_are_right_at_every_opset() {
        host::judge("rounding/judge.py", env!("CARGO_BIN_EXE_aten2onnx"), &[]);
    }
}
