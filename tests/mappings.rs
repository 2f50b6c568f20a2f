//! Mapping files at run time: what they override, what they may call, and what is wrong with them.

use crate::common;

use std::path::PathBuf;

use crate::command::{MODEL, done, failure, text};
use aten2onnx::Exported;
use aten2onnx::Exporter;
use aten2onnx_core::error::{Error, Kind};

/// A file with these rules.
fn file(name: &str, text: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("mappings");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{name}.opmap"));
    std::fs::write(&path, text).unwrap();
    path
}

fn exported(name: &str, rules: &str, opset: u32) -> Exported {
    let exporter = Exporter::new().opset(opset).mappings([file(name, rules)]).unwrap_or_else(|e| panic!("{e}"));
    exporter.read(common::root().join(MODEL)).unwrap()
}

fn refused(name: &str, rules: &str) -> Error {
    Exporter::new().mappings([file(name, rules)]).unwrap_err()
}

fn count(exported: &Exported, op: &str) -> usize {
    let mut count = 0;
    exported.graph.body.visit(&mut |node| count += usize::from(node.op == op));
    count
}

#[test]
fn a_rule_takes_the_place_of_the_one_of_the_build() {
    let plain = Exporter::new().read(common::root().join(MODEL)).unwrap();
    assert_eq!(count(&plain, "Relu"), 14);
    let rules = "\
import_domain \"mydomain\" 3

map aten::relu(Tensor self) -> Tensor = mydomain::Rectify(self, mode_s = \"fast\", outputs = tensor(dtype_of(self), shape_of(self)))
";
    let own = exported("overrides", rules, 18);
    assert_eq!((count(&own, "Relu"), count(&own, "mydomain::Rectify")), (0, 14));
    let imported: Vec<_> = own.model.proto.opset_import.iter().map(|i| (i.domain().to_owned(), i.version())).collect();
    assert_eq!(imported, [(String::new(), 18), ("mydomain".to_owned(), 3)]);
}

#[test]
fn a_rewrite_of_a_file_replaces_nodes_of_the_finished_graph() {
    let rules = "\
import_domain \"mydomain\" 3

fuse rectified(Tensor x) from Relu(x) = mydomain::Rectify(x, outputs = tensor(dtype_of(x), shape_of(x)))
";
    let own = exported("rewrites", rules, 18);
    assert_eq!((count(&own, "Relu"), count(&own, "mydomain::Rectify")), (0, 14));
    let rules = "fuse rectified(Tensor x) from Relu(x) if dtype_of(x) == float16 = Clip(x, 0.0)\n";
    assert_eq!(count(&exported("rewrites_of_halves", rules, 18), "Relu"), 14);
    let error = refused("rewrites_of_nothing", "fuse rectified(Tensor x) from x = Relu(x)\n");
    assert!(error.message.contains("E0318"), "{error}");
}

#[test]
fn mistakes_are_shown_as_the_compiler_shows_them() {
    let error = refused("wrong", "map mylib::f(Tensor x) -> Tensor = Elu(x, alpha_i = 1)\n");
    assert_eq!(error.kind, Kind::Input);
    let text = error.message.clone();
    assert!(text.starts_with("the mapping files have an error\n"), "{text}");
    assert!(text.contains("error[E0301]: attribute `alpha` of `Elu` is a FLOAT"), "{text}");
    assert!(text.contains("wrong.opmap:1:43") && text.contains("write `alpha_f`"), "{text}");
}

#[test]
fn files_that_are_not_there_are_named() {
    let error = Exporter::new().mappings(["no/such.opmap"]).unwrap_err();
    assert_eq!((error.kind, error.place.as_slice()), (Kind::Io, &["no/such.opmap".to_owned()][..]));
}

/// `tests/run --fast` leaves it out, because it takes long.
mod slow {
    use super::*;

    #[test]
    fn rules_that_call_another_one_call_that_of_the_file() {
        // The rule of the build for `hardswish` is HardSwish; that of the file goes by `hardsigmoid`, which the file overrides too.
        let rules = "\
map aten::hardswish(Tensor self) -> Tensor = self * aten::hardsigmoid(self)
map aten::hardsigmoid(Tensor self) -> Tensor = Abs(self)
";
        let own = exported("calls", rules, 18);
        assert_eq!((count(&own, "HardSwish"), count(&own, "HardSigmoid"), count(&own, "Abs")), (0, 0, 28));
    }

    #[test]
    fn a_lowering_takes_the_place_of_the_one_of_the_build() {
        let rules = "lower HardSwish before 14 (X) = Abs(X)\n";
        assert_eq!(count(&exported("lowers", rules, 13), "Abs"), 19);
        assert_eq!(count(&exported("lowers", rules, 14), "HardSwish"), 19);
    }

    #[test]
    fn what_needs_a_compiler_is_refused() {
        let rules = "extern fn mine(Tensor x) -> Tensor\nmap mylib::f(Tensor x) -> Tensor = mine(x)\n";
        let error = refused("external", rules);
        assert_eq!(error.kind, Kind::Unsupported);
        assert!(error.message.contains("`extern fn mine`"), "{error}");
    }

    #[test]
    fn a_helper_of_the_build_cannot_be_redefined() {
        let rules = "fn to_float(Tensor x) -> Tensor = Abs(x)\nmap mylib::f(Tensor x) -> Tensor = to_float(x)\n";
        let text = refused("helper", rules).message.clone();
        assert!(text.contains("`to_float` is exported by another file"), "{text}");
    }

    #[test]
    fn examples_are_written_as_models_for_a_runtime() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("models.jsonl");
        let models = |more: &[&str]| -> Vec<serde_json::Value> {
            let arguments = ["try", "--rules", "mappings", "Gelu", "Loop", "aten::gelu", "--models", text(&file)];
            done(&[&arguments, more].concat());
            std::fs::read_to_string(&file).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
        };
        let of = |models: &[serde_json::Value], op: &str| -> Vec<serde_json::Value> {
            models.iter().filter(|model| model["op"] == op).cloned().collect()
        };
        let native = models(&[]);
        assert!(of(&native, "aten::gelu").is_empty(), "only operators are models without a runtime");
        assert!(of(&native, "Gelu").iter().all(|model| model["models"][0]["opset"] == 20));
        let tract = models(&["--target", "tract"]);
        assert!(of(&tract, "aten::gelu").len() > 2);
        assert!(of(&tract, "Gelu").iter().all(|model| model["models"][0]["opset"] == 18 && model["refused"].is_null()));
        let refused = of(&tract, "Loop");
        assert!(refused.iter().any(|model| model["models"] == serde_json::json!([])
            && model["refused"].as_str().unwrap().contains("the runtime does not compute `Loop`")));
        assert!(
            failure(&["try", "--rules", "mappings", "Gelu", "--models", "x", "--target", "nothing"])
                .contains("unknown target `nothing`")
        );
    }
}

mod python {
    use crate::command::{aten2onnx, text};

    #[test]
    fn random_results_are_held_against_the_distribution_of_pytorch() {
        let rules = "\
map aten::feature_dropout(Tensor input, float p, bool train) -> Tensor = aten::dropout(input, p, train)
example aten::feature_dropout(f32[2, 3, 4], 0.5, True)
";
        let file = super::file("random", rules);
        let output = aten2onnx(&["try", "--mappings", text(&file)]);
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(!output.status.success() && said.contains("random in another way"), "{said}");
        assert!(!said.contains("mappings/aten/dropout.opmap"), "helpers of the build are another's: {said}");
    }
    /// What `try --watch` says, line by line.
    struct Watched(std::process::Child, std::io::Lines<std::io::BufReader<std::io::PipeReader>>);

    impl Watched {
        fn new(file: &std::path::Path) -> Watched {
            let (reader, writer) = std::io::pipe().unwrap();
            let child = std::process::Command::new(env!("CARGO_BIN_EXE_aten2onnx"))
                .current_dir(crate::common::root())
                .args(["try", "--watch", "--mappings", text(file)])
                .stdout(writer.try_clone().unwrap())
                .stderr(writer)
                .spawn()
                .unwrap();
            Watched(child, std::io::BufRead::lines(std::io::BufReader::new(reader)))
        }

        /// What it says until it waits for a file.
        fn said(&mut self) -> String {
            let lines = self.1.by_ref().map(Result::unwrap);
            lines.take_while(|line| !line.starts_with("waiting for a file")).map(|line| format!("{line}\n")).collect()
        }
    }

    impl Drop for Watched {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn examples_are_tried_again_when_a_file_is_saved() {
        let rule = |body: &str| {
            format!(
                "map aten::celu(Tensor self, Scalar alpha=1.0) -> Tensor = {body}\nexample aten::celu(f32[4] in -3 .. -1)\n"
            )
        };
        let file = super::file("watched", &rule("Celu(self)"));
        let mut watched = Watched::new(&file);
        let first = watched.said();
        assert!(first.contains("error") && first.contains("the argument `alpha` has no effect"), "{first}");
        std::fs::write(&file, rule("Celu(self, alpha_f = float(alpha))")).unwrap();
        let second = watched.said();
        assert!(
            second.contains("ok    example aten::celu(f32[4] in -3 .. -1)") && second.contains("1 example, 0 failed"),
            "{second}"
        );
        std::fs::write(&file, rule("Celu(self, alpha_f = float(alpha) + 1.0)")).unwrap();
        let third = watched.said();
        assert!(third.contains("values differ") && third.contains("1 example, 1 failed"), "{third}");
    }
}
