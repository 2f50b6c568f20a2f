//! Quantized models stay as small as their checkpoints, and give the results of PyTorch: see `tests/quantization/judge.py`.
//!
//! CI takes some of them. `MODELS="int4_32 gptq"` chooses others, and `MODELS=all` takes all.

use crate::host;

mod python {
    use super::host;

    /// Those that take a different way each. What the others find, faster tests find as well; they run with `--slow`.
    const SOME: &str =
        "int4_32 dynamic_int8 embedding_int4 float8 gptq nf4 mobilenet perceptron mxfp4 experts_int4_packed";

    #[test]
    fn quantized_weights_stay_as_small_as_they_are() {
        let wanted = std::env::var("MODELS").unwrap_or_else(|_| SOME.to_owned());
        let wanted = if wanted == "all" { "" } else { &wanted };
        let names: Vec<&str> = wanted.split_whitespace().collect();
        host::judge("quantization/judge.py", env!("CARGO_BIN_EXE_aten2onnx"), &names);
    }
}
