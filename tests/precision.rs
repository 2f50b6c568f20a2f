//! Models in half precision are as good as PyTorch's own ones, and their hazards are float32: see `tests/precision/judge.py`.

use crate::host;

mod python {
    use super::host;

    #[test]
    fn models_in_half_precision_are_right() {
        host::judge("precision/judge.py", env!("CARGO_BIN_EXE_aten2onnx"), &[]);
    }
}
