//! `aten2onnx convert`: models at other opsets, judged by onnx and ONNX Runtime. See `tests/convert/*.py`.

mod fuzz;
mod odd;

mod python {
    use crate::{common, host};

    #[test]
    fn whole_models_give_the_numbers_of_pytorch() {
        let folder = common::root().join("tests/data/convert");
        host::judge("convert/models.py", env!("CARGO_BIN_EXE_aten2onnx"), &[folder.to_str().unwrap()]);
    }

    #[test]
    fn what_a_model_has_is_kept_changed_or_refused() {
        host::judge("convert/features.py", env!("CARGO_BIN_EXE_aten2onnx"), &[]);
    }

    #[test]
    fn sequences_pass_through_loops_and_branches() {
        host::judge("convert/sequences.py", env!("CARGO_BIN_EXE_aten2onnx"), &[]);
    }
}
