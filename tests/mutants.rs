//! `mutants`: a change that nothing can see survives, wrong types are refused by the rule compiler, and a sample of the rules is found.

use std::sync::{Arc, Mutex};

use aten2onnx_rules::Rules;
use aten2onnx_rules::interpret::MappingFiles;
use aten2onnx_verify::mutants::{Explained, Fate, Kind, Report, Settings, run};

use crate::verify::{changed, rules};
use crate::{common, host};

fn settings(wanted: &[&str], sample: Option<usize>) -> Settings {
    Settings {
        wanted: wanted.iter().map(|name| (*name).to_owned()).collect(),
        seed: 1,
        sample,
        calls: 40,
        budget: None,
        python: host::interpreter(),
        jobs: 2,
    }
}

/// The report of a run on top of an earlier one, and how often it changed: twice for a mutant that is judged.
fn report_over(
    settings: &Settings,
    set: &Arc<MappingFiles>,
    explained: &Explained,
    earlier: Report,
) -> (Report, usize) {
    let (report, changes) = (Mutex::new(earlier), Mutex::new(0));
    let changed = || {
        *changes.lock().unwrap() += 1;
        Ok(())
    };
    let left = run(settings, set, &Rules::of_files(set.clone()), explained, &report, &changed);
    assert_eq!(left.unwrap_or_else(|error| panic!("{error}")), 0);
    (report.into_inner().unwrap(), changes.into_inner().unwrap())
}

fn names(report: &Report, fate: Fate) -> Vec<&str> {
    report.rows.iter().filter(|(_, row)| row.fate == fate).map(|(name, _)| name.as_str()).collect()
}

/// A file of explanations.
fn explained(text: &str) -> Explained {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mutants.toml");
    std::fs::write(&path, text).unwrap();
    Explained::read(&path).unwrap_or_else(|error| panic!("{error}"))
}

mod python {
    use super::*;

    /// A rule, and one that computes the same with a maximum of a value with itself.
    const RULE: &str = "/// Activations that are a single ONNX operator.\nmap aten::{name}(Tensor self) -> Tensor = {Op}(self) for {\n    relu => Relu,\n    hardswish => HardSwish,\n";
    const PLANTED: &str = "map aten::hardswish(Tensor self) -> Tensor = HardSwish(Max(self, self))\nexample aten::hardswish(f32[2, 3])\n\n/// Activations that are a single ONNX operator.\nmap aten::{name}(Tensor self) -> Tensor = {Op}(self) for {\n    relu => Relu,\n";

    #[test]
    fn what_no_call_can_see_survives_and_can_be_explained() {
        let (_folder, set) = changed(RULE, PLANTED);
        let settings = settings(&["aten::hardswish"], None);
        let (report, changes) = report_over(&settings, &set, &Explained::default(), Report::default());
        let survivors = names(&report, Fate::Survived);
        let same = "aten::hardswish: operator: `Max` -> `Min`";
        assert!(survivors.contains(&same), "{survivors:?}");
        assert!(survivors.contains(&"aten::hardswish: call-dropped: `Max(self, self)` -> `self`"), "{survivors:?}");
        // What computes something else is found.
        let dropped = &report.rows["aten::hardswish: call-dropped: `HardSwish(Max(self, self))` -> `Max(self, self)`"];
        assert_eq!((dropped.fate, dropped.kind), (Fate::Matrix, Kind::CallDropped), "{dropped:?}");
        assert_eq!(changes, 2 * report.rows.len());
        assert!(report.rows.len() > survivors.len() && report.share_of_killed() < 1.0);

        // A run over a report judges what has no row, but not that in which two runs ended; and an explanation counts.
        let mut again = report.clone();
        let ended = again.rows.remove(same).unwrap();
        let gone = again.rows.keys().find(|name| name.contains("`HardSwish` -> ")).unwrap().clone();
        again.rows.remove(&gone);
        again.begun.insert(gone.clone(), 2);
        let known = explained(&format!("[[mutant]]\nname = {same:?}\nwhy = \"a maximum of equal values\"\n"));
        let (second, changes) = report_over(&settings, &set, &known, again);
        assert_eq!(changes, 3);
        assert_eq!(second.rows[&gone].how, "the exporter ends");
        assert_eq!((ended.fate, second.rows[same].fate), (Fate::Survived, Fate::Explained));
        assert!(second.text().contains("survived: "), "{}", second.text());
    }

    /// The changes of a rule with attributes. What the rule compiler alone can find, it finds.
    #[test]
    fn wrong_attributes_are_refused_by_the_rule_compiler() {
        let set = rules();
        let (report, _) =
            report_over(&settings(&["aten::hardsigmoid"], None), &set, &Explained::default(), Report::default());
        let of = |kind: Kind| report.rows.values().filter(move |row| row.kind == kind);
        for kind in [Kind::AttributeType, Kind::AttributeRenamed] {
            assert!(of(kind).count() >= 2, "{}", report.text());
            assert!(of(kind).all(|row| row.fate == Fate::Check), "{}", report.text());
        }
        assert!(of(Kind::Constant).any(|row| row.fate == Fate::Examples), "{}", report.text());
        assert_eq!(report.missed().count(), 0, "{}", report.text());
    }

    #[test]
    fn a_sample_of_the_rules_is_found() {
        let set = rules();
        let known = Explained::read(&common::root().join("mappings/mutants.toml")).unwrap();
        let rules = ["aten::elu", "aten::hardtanh", "aten::flip", "aten::relu6"];
        let (report, _) = report_over(&settings(&rules, Some(6)), &set, &known, Report::default());
        assert_eq!(report.rows.len(), 6);
        assert_eq!((report.count(Fate::Survived), report.missed().count()), (0, 0), "{}", report.text());
    }
}

#[test]
fn an_explanation_says_what_and_why() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mutants.toml");
    assert_eq!(Explained::read(&path).unwrap().why("a"), None);
    for (text, says) in [
        ("[[mutant]]\nname = \"a\"\n", "missing field `why`"),
        ("[[mutant]]\nname = \"a\"\nwhy = \"b\"\n[[mutant]]\nname = \"a\"\nwhy = \"c\"\n", "is explained twice"),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = Explained::read(&path).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_name_without_a_rule_is_refused() {
    let set = rules();
    let report = Mutex::new(Report::default());
    let settings = Settings {
        wanted: vec!["aten::nothing".to_owned()],
        seed: 0,
        sample: None,
        calls: 0,
        budget: None,
        python: "none".into(),
        jobs: 1,
    };
    let error =
        run(&settings, &set, &Rules::of_files(set.clone()), &Explained::default(), &report, &|| Ok(())).unwrap_err();
    assert!(error.to_string().contains("there is no mutant of `aten::nothing`"), "{error}");
}

#[test]
fn the_explanations_of_the_project_can_be_read() {
    let explained = Explained::read(&common::root().join("mappings/mutants.toml")).unwrap();
    let known = "aten::max.dim ..: dtype: `int32` -> `int64`";
    assert!(explained.why(known).is_some_and(|why| why.contains("int32 takes less memory")));
}
