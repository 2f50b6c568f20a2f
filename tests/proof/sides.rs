//! Partly means partly: where the matrix calls an overload partly covered, an example of it works, and for each reason one is refused.

use std::collections::{BTreeMap, BTreeSet};

use aten2onnx_examples::Outcome;
use aten2onnx_opmap::coverage::{Matrix, Reasons, Status, ranges};

/// What the examples of an overload do.
#[derive(Default)]
pub struct Sides {
    /// The opsets at which one works.
    worked: BTreeSet<u32>,
    /// The texts of refusals, by opset.
    refused: BTreeMap<u32, Vec<String>>,
}

impl Sides {
    /// Adds what an example does at an opset.
    pub fn note(&mut self, opset: u32, outcome: &Outcome) {
        match outcome {
            Outcome::Built(_) => drop(self.worked.insert(opset)),
            Outcome::Refused { reason, .. } => self.refused.entry(opset).or_default().push(reason.clone()),
            Outcome::Failed(_) | Outcome::Broken(_) => {}
        }
    }

    fn is_refused(&self, opset: u32, reason: &str) -> bool {
        self.refused.get(&opset).is_some_and(|texts| texts.iter().any(|text| text.contains(reason)))
    }
}

/// The overloads that are partly covered at opsets where their examples do not show both sides.
pub fn one_sided(matrix: &Matrix, tried: &BTreeMap<String, Sides>) -> Vec<String> {
    let nothing = Sides::default();
    let mut found = Vec::new();
    for (overload, row) in &matrix.rows {
        let sides = tried.get(overload).unwrap_or(&nothing);
        let mut idle = BTreeSet::new();
        let mut unseen: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
        for (opset, status) in (matrix.oldest..).zip(row) {
            let Status::Partial(reasons) = status else { continue };
            if !reasons.by_opset.is_empty() && !sides.worked.contains(&opset) {
                idle.insert(opset);
            }
            for reason in reasons.by_opset.iter().filter(|reason| !sides.is_refused(opset, reason)) {
                unseen.entry(reason).or_default().insert(opset);
            }
        }
        if !idle.is_empty() {
            found.push(format!(
                "`{overload}` is partly covered at opset {}, but no example of it works there\n    add `example {overload}(..)`, \
                 a call that is not refused there",
                ranges(&idle)
            ));
        }
        for (reason, opsets) in unseen {
            found.push(format!(
                "`{overload}` is partly covered at opset {}, but no example of it is refused there with `{reason}`\n    add \
                 `example {overload}(..)`, a call that is; if there is none, let the rule show that this cannot occur",
                ranges(&opsets)
            ));
        }
    }
    found
}

#[test]
fn a_side_without_an_example_is_found() {
    let partial = || Status::Partial(Reasons { by_opset: vec!["it needs sizes".to_owned()], ..Reasons::default() });
    let statuses = vec![Status::No(vec!["it needs sizes".to_owned()]), partial(), partial(), Status::Full];
    let matrix = Matrix { oldest: 9, newest: 12, rows: [("aten::planted".to_owned(), statuses)].into() };
    let refused = || Outcome::Refused { needs: Some(12), reason: "in the rule: it needs sizes".to_owned() };
    let built = || Outcome::Built(aten2onnx_examples::Built { opset: 9, bytes: Vec::new(), unversioned: Vec::new() });
    let found = |outcomes: &[(u32, Outcome)]| {
        let mut sides = Sides::default();
        outcomes.iter().for_each(|(opset, outcome)| sides.note(*opset, outcome));
        one_sided(&matrix, &[("aten::planted".to_owned(), sides)].into())
    };
    assert_eq!(one_sided(&matrix, &BTreeMap::new()).len(), 2);
    assert!(found(&[(10, refused()), (10, built()), (11, built()), (11, refused())]).is_empty());
    let other = Outcome::Refused { needs: Some(12), reason: "it needs ranks".to_owned() };
    assert_eq!(
        found(&[(10, refused()), (10, built()), (11, built()), (11, other)]),
        [
            "`aten::planted` is partly covered at opset 11, but no example of it is refused there with `it needs sizes`\n    \
          add `example aten::planted(..)`, a call that is; if there is none, let the rule show that this cannot occur"
        ]
    );
    assert_eq!(
        found(&[(10, refused()), (11, refused())]),
        ["`aten::planted` is partly covered at opset 10 to 11, but no example of it works there\n    \
          add `example aten::planted(..)`, a call that is not refused there"]
    );
}
