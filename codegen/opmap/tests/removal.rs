//! The real rules without one lowering or upward rule: the error names what needs it.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use aten2onnx_opmap::render::render;
use aten2onnx_opmap::source::Sources;
use aten2onnx_opmap::{check_dir, check_sources};
use aten2onnx_schemas::Schemas;

fn mappings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../mappings")
}

/// The errors of the rules without the item that begins with `head`.
fn without(head: &str) -> String {
    let mut removed = 0;
    let mut sources = Sources::default();
    for file in Sources::read_dir(&mappings()).unwrap().files {
        let mut text = file.text.to_string();
        while let Some(start) = text.find(&format!("\n{head}")) {
            let end = text[start + 1..].find("\n\n").map_or(text.len(), |end| start + 1 + end);
            text.replace_range(start + 1..end, "");
            removed += 1;
        }
        sources.add(file.path.to_string(), text);
    }
    assert_eq!(removed, 1, "`{head}` stands once in the mappings");
    let checked = check_sources(sources, Schemas::load(&mappings()).unwrap());
    assert!(!checked.diagnostics.is_empty(), "nothing needs `{head}`");
    render(&checked.sources, &checked.diagnostics, false)
}

#[test]
fn the_rules_have_no_errors() {
    let checked = check_dir(&mappings()).unwrap();
    assert!(checked.diagnostics.is_empty(), "{}", render(&checked.sources, &checked.diagnostics, false));
}

/// `tests/run --fast` leaves it out, because it takes long.
mod slow {
    use super::*;

    #[test]
    fn a_gap_is_shown_with_the_path_from_the_map() {
        let report = without("lower Gelu before 20");
        assert!(report.contains("error[E0701]") && report.contains("--> mappings/aten/activation.opmap"), "{report}");
        assert!(report.contains("Gelu") && report.contains("lower Gelu before 20"), "{report}");
    }

    #[test]
    fn a_gap_that_many_rules_reach_is_shown_at_the_first_call() {
        let report = without("lower Unsqueeze before 13");
        assert!(report.contains("error[E0701]") && report.contains("Unsqueeze"), "{report}");
        assert!(
            report.contains("--> mappings/aten/") && report.contains("neither native nor lowered there"),
            "{report}"
        );
    }
    #[test]
    fn a_missing_upward_rule_is_an_error() {
        let report = without("raise Squeeze from 13");
        assert!(report.contains("error[E0704]: `Squeeze` of opset 13 has no `raise`"), "{report}");
        assert!(report.contains("add `raise Squeeze from 13 (data, axes_i)`"), "{report}");
    }
}
