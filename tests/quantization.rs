//! Quantized models stay as small as their checkpoints, and give the results of PyTorch: see `tests/quantization/judge.py`.
//!
//! `MODELS="int4_32 gptq"` chooses some of them.

use crate::host;

mod python {
    use super::host;

    #[test]
    fn quantized_weights_stay_as_small_as_they_are() {
        let wanted = std::env::var("MODELS").unwrap_or_default();
        let names: Vec<&str> = wanted.split_whitespace().collect();
        host::judge("quantization/judge.py", env!("CARGO_BIN_EXE_aten2onnx"), &names);
    }
}
