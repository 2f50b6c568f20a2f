//! What torch.export writes beyond plain calls of operators, against PyTorch: see `tests/dialect/`.
//!
//! Of long series each sixth program is run, and all with `DIALECT=all`, as `tests/run --slow` does.

use crate::host;

mod python {
    use super::host;

    fn judge(script: &str, arguments: &[&str]) {
        host::judge(&format!("dialect/{script}"), env!("CARGO_BIN_EXE_aten2onnx"), arguments);
    }

    #[test]
    fn nested_graphs_give_the_numbers_of_pytorch() {
        judge("judge.py", &["--theme", "control_flow", "--opsets", "9,18", "--every", "6"]);
    }

    #[test]
    fn sizes_and_numbers_are_those_of_pytorch() {
        judge("judge.py", &["--theme", "symbolic", "--opsets", "9,18", "--every", "6"]);
    }

    #[test]
    fn state_and_inputs_that_are_written_to_are_those_of_pytorch() {
        judge("judge.py", &["--theme", "mutations", "--opsets", "18", "--every", "6"]);
    }

    #[test]
    fn what_goes_in_and_out_is_that_of_pytorch() {
        judge("judge.py", &["--theme", "signature", "--opsets", "18"]);
    }

    #[test]
    fn writes_through_views_are_those_of_pytorch() {
        let count = if std::env::var("DIALECT").is_ok_and(|wanted| wanted == "all") { "300" } else { "40" };
        judge("random_programs.py", &["--count", count]);
    }

    #[test]
    fn promotion_is_that_of_pytorch() {
        judge("judge.py", &["--theme", "dtypes", "--opsets", "9,18", "--every", "6"]);
    }

    #[test]
    fn what_does_not_depend_on_signs_of_vectors_is_that_of_pytorch() {
        judge("judge.py", &["--theme", "vectors", "--opsets", "9,13,18,23"]);
    }

    #[test]
    fn archives_of_every_version_of_torch_give_its_numbers() {
        judge("judge.py", &["--theme", "samples", "--opsets", "9,18"]);
    }

    #[test]
    fn gradients_are_those_of_pytorch() {
        judge("gradients.py", &[]);
    }

    #[test]
    fn random_numbers_are_distributed_as_those_of_pytorch() {
        judge("random_numbers.py", &[]);
    }
}
