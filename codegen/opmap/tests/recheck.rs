//! Checking again after changes of several files finds what checking everything finds.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use aten2onnx_opmap::diagnostic::Diagnostic;
use aten2onnx_opmap::source::{FileId, Sources};
use aten2onnx_opmap::{Recheck, check_sources, check_with_base};
use aten2onnx_schemas::Schemas;

/// The changes of each case: a file, a text in it, and what takes its place.
const CASES: [&[(&str, &str, &str)]; 5] = [
    // Right, and moves what follows.
    &[("aten/activation.opmap", "//!", "//! More.\n//!"), ("lib/prelude.opmap", "//!", "//! More.\n//!")],
    // Wrong in both.
    &[("aten/activation.opmap", "Celu(", "Celux("), ("aten/bessel.opmap", "Tensor self", "Tensor sell")],
    // A branch that nothing takes, which only the proof finds.
    &[("lib/prelude.opmap", "if dim < 0 {", "if rank(x) < 0 {"), ("aten/bessel.opmap", "//!", "//! More.\n//!")],
    // Another header: the callers in other files are wrong.
    &[("lib/prelude.opmap", "pub fn numel(Tensor x)", "pub fn numel(Tensor x, int extra)")],
    // Syntax errors.
    &[("aten/activation.opmap", "map aten::", "map aten:::"), ("aten/bessel.opmap", "= ", "= (")],
];

#[test]
fn changes_of_several_files_are_checked_as_a_whole() {
    let mappings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mappings");
    let schemas = Arc::new(Schemas::load(&mappings).unwrap());
    let sources = Sources::read_dir(&mappings).unwrap();
    let mut recheck = Recheck::new(sources.clone(), schemas.clone());
    assert!(!recheck.proves_all(), "the rules have errors");
    let (mut wrong, mut proved) = (0, 0);
    for case in CASES {
        let mut all = sources.clone();
        let mut changes = Vec::new();
        for (path, old, new) in case {
            let at = sources.files.iter().position(|file| file.path.ends_with(path)).unwrap();
            let text = sources.files[at].text.replacen(old, new, 1);
            assert!(text != sources.files[at].text, "{path} has no `{old}`");
            all.files[at].text.clone_from(&text);
            changes.push((FileId(at as u32), text));
        }
        let mut early = Vec::new();
        let again = recheck.checked_with_all(changes, &mut |_, found| early = found.to_vec());
        let whole = check_sources(all, schemas.clone());
        assert_eq!(sorted(&again.diagnostics), sorted(&whole.diagnostics), "{case:?}");
        assert_eq!(format!("{:?}", again.matrix), format!("{:?}", whole.matrix), "{case:?}");
        // What is told early is right.
        let known = sorted(&whole.diagnostics);
        assert!(sorted(&early).iter().all(|error| known.contains(error)), "{case:?}: {early:?}");
        wrong += usize::from(!whole.diagnostics.is_empty());
        proved += usize::from(early.is_empty() && !whole.diagnostics.is_empty());
    }
    assert!(
        wrong >= 4 && proved >= 1,
        "only {wrong} cases have errors, and {proved} have some that only the proof finds"
    );
}

/// What a user's file is, one after another: overrides come, change and go, calls are wrong, and helpers of the base are called.
const OWN: [&str; 5] = [
    "//! Own.\n\nmap mylib::twice(Tensor x) -> Tensor = x + x\n",
    "//! Own.\n\nmap mylib::twice(Tensor x) -> Tensor = x + x\n\nmap aten::relu(Tensor self) -> Tensor = Max(self, 0)\n",
    "//! Own.\n\nmap aten::relu(Tensor self) -> Tensor = Relux(self)\n",
    "//! Own.\n\nlower Gelu before 20 (X, approximate_s) = X\n",
    "//! Own.\n\nmap mylib::half(Tensor x) -> Tensor = Gelu(x\n",
];

#[test]
fn files_over_a_base_are_checked_as_a_whole() {
    let mappings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mappings");
    let schemas = Arc::new(Schemas::load(&mappings).unwrap());
    let base = Sources::read_dir(&mappings).unwrap();
    let first = base.files.len();
    let mut all = base.clone();
    let own = all.add("my.opmap", OWN[0]);
    let mut recheck = Recheck::over(all, first, schemas.clone());
    assert!(!recheck.proves_all(), "a file without examples is as good as one with");
    let mut wrong = 0;
    for text in OWN {
        let again = recheck.checked_with(own, text.to_owned());
        let mut own_sources = Sources::default();
        own_sources.add("my.opmap", text);
        let mut whole = check_with_base(base.clone(), own_sources, schemas.clone());
        whole.diagnostics.retain(|diagnostic| diagnostic.code != "E0803");
        assert_eq!(sorted(&again.diagnostics), sorted(&whole.diagnostics), "{text}");
        assert_eq!(format!("{:?}", again.matrix), format!("{:?}", whole.matrix), "{text}");
        wrong += usize::from(!whole.diagnostics.is_empty());
    }
    assert!(wrong >= 2, "only {wrong} texts have errors");
}

fn sorted(diagnostics: &[Diagnostic]) -> Vec<String> {
    let mut all: Vec<String> = diagnostics.iter().map(|diagnostic| format!("{diagnostic:?}")).collect();
    all.sort();
    all.dedup();
    all
}
