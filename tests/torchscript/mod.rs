//! TorchScript archives against PyTorch: every sample is exported and run in ONNX Runtime.

mod burnt;
use crate::host;
mod fuzz;
mod hostile;
mod inspect;
mod samples;

use fuzz::Stage;

#[test]
fn damaged_archives_are_errors() {
    fuzz::run(Stage::Archive, 50);
}

#[test]
fn damaged_pickles_are_errors() {
    fuzz::run(Stage::Pickle, 50);
}

#[test]
fn damaged_characters_of_code_are_errors() {
    fuzz::run(Stage::Lexer, 50);
}

#[test]
fn damaged_code_is_an_error() {
    fuzz::run(Stage::Parser, 50);
}

#[test]
fn changed_code_runs_or_is_an_error() {
    fuzz::run(Stage::Interpreter, 50);
}

mod slow {
    use super::fuzz::{self, Stage};

    #[test]
    fn many_damaged_archives_are_errors() {
        fuzz::run(Stage::Archive, 2_000);
    }

    #[test]
    fn many_damaged_pickles_are_errors() {
        fuzz::run(Stage::Pickle, 2_000);
    }

    #[test]
    fn many_damaged_characters_of_code_are_errors() {
        fuzz::run(Stage::Lexer, 2_000);
    }

    #[test]
    fn many_damaged_code_is_an_error() {
        fuzz::run(Stage::Parser, 2_000);
    }

    #[test]
    fn many_changed_code_runs_or_is_an_error() {
        fuzz::run(Stage::Interpreter, 2_000);
    }
}

mod python {
    use super::{host, samples};

    /// `TORCHSCRIPT="lstm_traced nms_roi"` chooses some samples, `TORCHSCRIPT_OPSETS="18"` the opsets.
    #[test]
    fn samples_give_the_numbers_of_pytorch() {
        let wanted = std::env::var("TORCHSCRIPT").unwrap_or_default();
        let names: Vec<&str> = wanted.split_whitespace().collect();
        let opsets = std::env::var("TORCHSCRIPT_OPSETS").unwrap_or_else(|_| "11 18".to_owned());
        let opsets: Vec<u32> = opsets.split_whitespace().map(|opset| opset.parse().unwrap()).collect();
        let folder = tempfile::tempdir().unwrap();
        samples::export(&names, &opsets, folder.path());
        let arguments = [samples::folder().to_str().unwrap().to_owned(), folder.path().to_str().unwrap().to_owned()];
        host::judge("torchscript/judge.py", &arguments[0], &[&arguments[1]]);
    }
    /// Some of the models of `zoo/models.py`, both ways; `TORCHSCRIPT_ZOO="timm:vit* detection:*"` chooses others.
    #[test]
    fn real_models_give_the_numbers_of_pytorch() {
        let wanted = std::env::var("TORCHSCRIPT_ZOO").unwrap_or_else(|_| {
            "classification:shufflenet_v2_x0_5 segmentation:lraspp_* quantization:quantized_shufflenet_v2_x0_5"
                .to_owned()
        });
        let arguments: Vec<&str> = wanted.split_whitespace().chain(["--all-right"]).collect();
        host::judge("torchscript/zoo/run.py", env!("CARGO_BIN_EXE_aten2onnx"), &arguments);
    }

    #[test]
    fn traced_transformers_give_the_numbers_of_pytorch() {
        let arguments = ["transformers:BertModel", "transformers:LlamaModel", "--modes", "traced", "--all-right"];
        host::judge("torchscript/zoo/run.py", env!("CARGO_BIN_EXE_aten2onnx"), &arguments);
    }
}
