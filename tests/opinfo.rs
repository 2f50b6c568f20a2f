//! PyTorch's own samples of its operators against PyTorch: see `tests/opinfo/opinfo.py`; and random programs of them, see
//! `tests/opinfo/programs.py`, of which CI runs a few and `--ignored` 5,000.
//!
//! CI takes one sample of every seventh operator. With `--ignored` it is one of every operator (half an hour). Both take other options from
//! `OPINFO`: `OPINFO="--samples 8"` takes eight of each dtype at four opsets, which takes hours, and `OPINFO="--ops add,sort"` some
//! operators alone. All verdicts go to `opinfo.jsonl` in the folder `tmp` of the target.

use crate::host;

mod python {
    use super::host;

    fn judge(options: &str) {
        let mut arguments = vec!["--out", concat!(env!("CARGO_TARGET_TMPDIR"), "/opinfo.jsonl")];
        arguments.extend(options.split_whitespace());
        host::judge("opinfo/opinfo.py", env!("CARGO_BIN_EXE_aten2onnx"), &arguments);
    }

    /// The options in `OPINFO`, or those of the test.
    fn chosen(default: &str) -> String {
        std::env::var("OPINFO").unwrap_or_else(|_| default.to_owned())
    }

    #[test]
    fn samples_of_some_operators_give_the_numbers_of_pytorch() {
        judge(&chosen("--slice 12"));
    }

    fn programs(options: &[&str]) {
        host::judge("opinfo/programs.py", env!("CARGO_BIN_EXE_aten2onnx"), options);
    }

    #[test]
    fn some_random_programs_give_the_numbers_of_pytorch() {
        programs(&["--count", "12"]);
    }

    #[ignore = "it takes hours"]
    #[test]
    fn random_programs_give_the_numbers_of_pytorch() {
        programs(&["--count", "5000"]);
    }

    #[ignore = "it takes half an hour"]
    #[test]
    fn samples_of_all_operators_give_the_numbers_of_pytorch() {
        judge(&chosen(""));
    }
}
