//! Whole models at many opsets, with fixed and symbolic sizes, against PyTorch: see `tests/models/judge.py`.
//!
//! CI takes some of them. `MODELS="vit gpt2"` chooses others, and `MODELS=all` takes all.

use crate::host;

mod python {
    use super::host;

    /// Those that take a different way each. What the others find, faster tests find as well; they run with `--slow`.
    const SOME: &str = "mobilenet_v3 vit bert llama";

    #[test]
    fn whole_models_give_the_numbers_of_pytorch() {
        let wanted = std::env::var("MODELS").unwrap_or_else(|_| SOME.to_owned());
        let wanted = if wanted == "all" { "" } else { &wanted };
        let names: Vec<&str> = wanted.split_whitespace().collect();
        host::judge("models/judge.py", env!("CARGO_BIN_EXE_aten2onnx"), &names);
    }
}
