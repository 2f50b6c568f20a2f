//! Parts of models, and what models say of themselves, judged by onnx and ONNX Runtime. See `tests/pipelines/*.py`.

mod python {
    use crate::host;

    #[test]
    fn parts_give_what_the_whole_model_gives() {
        host::judge("pipelines/parts.py", env!("CARGO_BIN_EXE_aten2onnx"), &[]);
    }

    #[test]
    fn models_are_cut_at_every_module() {
        host::judge("pipelines/boundaries.py", env!("CARGO_BIN_EXE_aten2onnx"), &[]);
    }

    #[test]
    fn models_of_onnx_are_parted_joined_and_edited() {
        host::judge("pipelines/backend.py", env!("CARGO_BIN_EXE_aten2onnx"), &[]);
    }

    #[test]
    fn edited_models_compute_what_they_did() {
        host::judge("pipelines/edit.py", env!("CARGO_BIN_EXE_aten2onnx"), &[]);
    }

    #[test]
    fn joined_models_compute_what_they_do_in_turn() {
        host::judge("pipelines/join.py", env!("CARGO_BIN_EXE_aten2onnx"), &[]);
    }

    #[test]
    fn what_differs_between_models_is_shown() {
        host::judge("pipelines/diff.py", env!("CARGO_BIN_EXE_aten2onnx"), &[]);
    }

    #[test]
    fn what_a_model_says_of_itself_is_written_shown_and_kept() {
        host::judge("pipelines/described.py", env!("CARGO_BIN_EXE_aten2onnx"), &[]);
    }
}
