//! The interpreter against the compiled rules: on every example of every rule the same bytes, the same refusals, the same branches.

use std::collections::{BTreeMap, BTreeSet};

use aten2onnx_builder::passes::Passes;
use aten2onnx_examples::{self as examples, Lacks, Outcome};
use aten2onnx_opmap::Checked;
use aten2onnx_opmap::specialize::Specializer;

/// Where much changes, both ends, and the default.
const OPSETS: [u32; 8] = [9, 11, 13, 17, 18, 20, 23, 28];

/// At so many of them each example is interpreted, in turn: the neighbours of an example are of the same rule. `INTERPRET=all` takes all.
const TAKEN: usize = 3;

/// The opsets at which an example is interpreted.
fn opsets_of(example: usize) -> impl Iterator<Item = u32> {
    let taken = if std::env::var("INTERPRET").is_ok_and(|given| given == "all") { OPSETS.len() } else { TAKEN };
    (0..taken).map(move |turn| OPSETS[(example * TAKEN + turn) % OPSETS.len()])
}

/// The branches that specialising all rules to an opset rules out.
fn untaken_branches(checked: &Checked, opset: u32) -> BTreeSet<u32> {
    let program = &checked.program;
    let mut specializer = Specializer::new(program, &checked.schemas, opset);
    let maps = program.maps.iter().map(|map| &map.function);
    let lowers = program.lowers.iter().map(|lower| &lower.function);
    for function in maps.chain(lowers).chain(&program.fns) {
        specializer.body(function);
    }
    specializer.untaken
}

fn difference(one: &Outcome, other: &Outcome) -> Option<String> {
    match (one, other) {
        (Outcome::Built(a), Outcome::Built(b)) if a.bytes == b.bytes => None,
        (Outcome::Built(a), Outcome::Built(b)) => Some(format!("{} bytes and {} bytes", a.bytes.len(), b.bytes.len())),
        (Outcome::Refused { needs: a, reason: why }, Outcome::Refused { needs: b, reason })
            if a == b && why == reason =>
        {
            None
        }
        (Outcome::Failed(a), Outcome::Failed(b)) | (Outcome::Broken(a), Outcome::Broken(b)) if a == b => None,
        (a, b) => Some(format!("{} and {}", shown(a), shown(b))),
    }
}

fn shown(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Built(_) => "a model".to_owned(),
        Outcome::Refused { reason, .. } => format!("refused: {reason}"),
        Outcome::Failed(reason) | Outcome::Broken(reason) => format!("failed: {reason}"),
    }
}

/// `tests/run --fast` leaves it out, because it takes long.
mod slow {
    use super::*;

    #[test]
    fn interpreted_rules_give_the_graphs_of_compiled_ones() {
        let set = crate::verify::rules();
        let compiled = aten2onnx::rules();
        let interpreted = aten2onnx_rules::Rules::of_files(set.clone());
        let checked = set.checked();
        let untaken: BTreeMap<u32, BTreeSet<u32>> =
            OPSETS.into_iter().map(|opset| (opset, untaken_branches(checked, opset))).collect();
        assert!(untaken.values().all(|arms| !arms.is_empty()), "no rule asks for the opset");
        let mut models = 0;
        let mut differences = Vec::new();
        for (number, example) in checked.program.examples.iter().enumerate() {
            for opset in opsets_of(number) {
                let (one, arms) = examples::build(example, checked, &compiled, opset, Passes::NONE, Lacks::Usual);
                let (other, numbers) =
                    examples::build(example, checked, &interpreted, opset, Passes::NONE, Lacks::Usual);
                let numbers: BTreeSet<u32> =
                    numbers.iter().map(|number| number - aten2onnx_rules::interpret::FIRST_ARM).collect();
                if let Some(arm) = numbers.intersection(&untaken[&opset]).next() {
                    let arm = &checked.program.arms[*arm as usize];
                    differences.push(format!(
                        "{} at opset {opset}: takes the branch `{}` of `{}`, which was ruled out",
                        examples::text(example),
                        arm.text,
                        arm.rule
                    ));
                }
                models += usize::from(matches!(one, Outcome::Built(_)));
                if let Some(what) = difference(&one, &other) {
                    differences.push(format!("{} at opset {opset}: {what}", examples::text(example)));
                } else if arms != numbers {
                    differences
                        .push(format!("{} at opset {opset}: arms {arms:?} and {numbers:?}", examples::text(example)));
                }
            }
        }
        assert!(models > checked.program.examples.len(), "few examples give models");
        assert!(differences.is_empty(), "{} differ\n{}", differences.len(), differences.join("\n"));
    }
}
