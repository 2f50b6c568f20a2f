//! The proof against the world: what the rule compiler says of each example at each opset is what happens.

mod declared;
mod sides;
mod survey;

use std::sync::Arc;

use aten2onnx_builder::{Builder, In};
use aten2onnx_core::error::{Error, Result};
use aten2onnx_examples as examples;
use aten2onnx_onnx::graph::Value;
use aten2onnx_opmap::tree::{Example, Target};
use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::{CallArgs, MappingFiles, Run, Val};

use declared::{wrong_externs, wrong_implicit};
use sides::one_sided;
use survey::Survey;

/// The rules of the build, interpreted.
fn interpreted() -> (Arc<MappingFiles>, Rules) {
    let set = crate::verify::rules();
    let rules = Rules::of_files(set.clone());
    (set, rules)
}

#[test]
fn an_operator_that_is_not_declared_is_found() {
    let (set, rules) = interpreted();
    let examples = set.checked().program.examples.iter().filter(|example| examples::target(example) == "AffineGrid");
    let survey = Survey::of(examples, &set, &rules);
    assert!(survey.externs["reshape"].ops.contains("Reshape"));
    let externs = [("reshape".to_owned(), survey.externs["reshape"].clone())].into();
    let mut checked = aten2onnx_opmap::check_dir(&crate::common::root().join("mappings")).unwrap();
    // One is missing, then one too many.
    checked.program.emits.get_mut("reshape").unwrap().ops.retain(|op| op != "Reshape");
    assert_eq!(wrong_externs(&checked, &externs).len(), 1);
    checked.program.emits.get_mut("reshape").unwrap().ops.extend(["Reshape".to_owned(), "Loop".to_owned()]);
    assert_eq!(wrong_externs(&checked, &externs).len(), 1);
}

/// What is behind the `extern fn` of the next test.
fn picky(cx: &mut Builder, args: &mut CallArgs) -> Result<Val> {
    let x: Value = args.take()?;
    if cx.opset() < 13 {
        return Err(Error::refused("it is picky", Some(13)));
    }
    Ok(cx.node1("Relu", vec![In::from(x)], Vec::new())?.into())
}

/// What is wrong with a mapping file whose `extern fn` has this clause.
fn faults_of_picky(since: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("picky.opmap");
    let text = format!(
        "extern fn picky(Tensor x) -> Tensor emits [Relu] because \"a test\" {since}\n\
         map mylib::picky(Tensor x) -> Tensor = picky(x)\n\
         example mylib::picky(f32[2])\n"
    );
    std::fs::write(&path, text).unwrap();
    let set = Arc::new(MappingFiles::load_with(&[path], &[("picky", picky)], Run::All).unwrap());
    let rules = Rules::of_files(set.clone());
    let examples = set.checked().program.examples.iter().filter(|example| examples::target(example) == "mylib::picky");
    let survey = Survey::of(examples, &set, &rules);
    let mut faults = wrong_externs(set.checked(), &survey.externs);
    faults.extend(survey.contradictions);
    faults
}

#[test]
fn an_extern_that_refuses_an_opset_that_it_does_not_declare_is_found() {
    let faults = faults_of_picky("");
    let declaration = "extern fn picky refuses opsets below 13\n    but does not declare `since 13 \"it is picky\"`";
    assert!(faults.iter().any(|fault| fault == declaration), "{faults:#?}");
    assert!(faults.iter().any(|fault| fault.contains("opset 12: refused until Some(13)")), "{faults:#?}");
    assert_eq!(faults_of_picky("since 13 \"it is picky\""), Vec::<String>::new());
    let other = faults_of_picky("since 13 \"it is picky\" since 11 \"it is shy\"");
    assert!(other.iter().any(|fault| fault.contains("declares `since 11 \"it is shy\"`")), "{other:#?}");
}

#[test]
fn examples_of_upward_rules_do_what_the_proof_says() {
    let (set, rules) = interpreted();
    let is_raise = |example: &&Example| matches!(example.target, Target::Raise(..));
    let survey = Survey::of(set.checked().program.examples.iter().filter(is_raise), &set, &rules);
    assert!(survey.calls > 1000, "{} calls", survey.calls);
    assert!(survey.contradictions.is_empty(), "{}", survey.contradictions.join("\n"));
}

/// `tests/run --fast` leaves it out, because it takes long.
mod slow {
    use super::*;

    #[test]
    fn every_example_does_what_the_proof_says() {
        let (set, rules) = interpreted();
        let checked = set.checked();
        let survey = Survey::of(&checked.program.examples, &set, &rules);
        let Survey { covered, refused, open, calls, .. } = survey;
        assert!(calls > 100_000, "{calls} calls");
        // Where the proof says "either", it says little.
        assert!(covered > 50_000 && open * 50 < covered, "{covered} covered, {refused} refused, {open} either");
        let mut contradictions = survey.contradictions;
        contradictions.extend(wrong_externs(checked, &survey.externs));
        contradictions.extend(wrong_implicit(checked, &survey.implicit));
        contradictions.extend(one_sided(&checked.matrix, &survey.sides));
        assert!(contradictions.is_empty(), "{} contradictions\n{}", contradictions.len(), contradictions.join("\n"));
    }
}
