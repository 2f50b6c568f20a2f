//! The digest of the model of every example at every opset, to compare two states of the repository: rules that were only rewritten
//! must give the same bytes. This writes one line for each example and opset, with the digest or the refusal, and one for each
//! branch that no example reaches:
//!
//! `DIGESTS=before.txt ATEN2ONNX_RULES=interpreted cargo test --test tests digests:: -- --ignored`

use std::collections::BTreeSet;
use std::fmt::Write as _;

use aten2onnx_builder::passes::Passes;
use aten2onnx_examples::{self as examples, Lacks, Outcome};
use aten2onnx_onnx::facts::{MAX_OPSET, MIN_OPSET};
use aten2onnx_opmap::check_dir;

/// FNV-1a, which is the same in every build.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
#[ignore = "writes a file for a comparison by hand"]
fn digests_of_all_examples() {
    let file = std::env::var("DIGESTS").unwrap_or_else(|_| panic!("DIGESTS: the file to write"));
    let checked = check_dir(&crate::common::root().join("mappings")).unwrap();
    assert!(checked.diagnostics.is_empty(), "the rules have errors");
    let rules = aten2onnx::rules();
    let mut lines = Vec::new();
    let mut reached = BTreeSet::new();
    for example in &checked.program.examples {
        for opset in MIN_OPSET..=MAX_OPSET {
            let mut line = format!("{} | {opset} | ", examples::text(example));
            let (outcome, arms) = examples::build(example, &checked, &rules, opset, Passes::NONE, Lacks::Usual);
            reached.extend(arms);
            match outcome {
                Outcome::Built(built) => write!(line, "{:016x} {}", digest(&built.bytes), built.bytes.len()).unwrap(),
                Outcome::Refused { needs, reason } => write!(line, "refused {needs:?}: {reason}").unwrap(),
                Outcome::Failed(reason) | Outcome::Broken(reason) => write!(line, "failed: {reason}").unwrap(),
            }
            lines.push(line.replace('\n', " "));
        }
    }
    let unreached = (0..).zip(&checked.program.arms).filter(|(i, arm)| !arm.refuses && !reached.contains(i));
    lines.extend(unreached.map(|(_, arm)| {
        let place = checked.sources.place(arm.span);
        format!("{place}: no example of `{}` reaches the branch `{}`", arm.rule, arm.text)
    }));
    lines.sort();
    std::fs::write(file, lines.join("\n") + "\n").unwrap();
}
