//! In which file the lowering of an operator belongs.

use std::collections::BTreeMap;

use aten2onnx_schemas::onnx::Version;

use super::Release;

/// Where lowerings go that are like no other.
const ELSE: &str = "onnx/misc.opmap";

/// The file of the operator's other lowerings, of those with the most similar name and inputs, or of those that its function calls.
pub(super) fn place(release: &Release<'_>, version: &Version) -> String {
    let own = release.touched.places(&version.name).own;
    if let Some((_, file)) = own.iter().find(|(rule, _)| is_lowering(rule) || rule.starts_with("same ")) {
        return file.clone();
    }
    let mut files: BTreeMap<String, usize> = BTreeMap::new();
    for (op, places) in release.touched.ops() {
        let likeness = likeness(&version.name, op) + usize::from(has_like_inputs(release, version, op)) * 3;
        for (_, file) in places.own.iter().filter(|(rule, _)| likeness > 0 && is_lowering(rule)) {
            let best = files.entry(file.clone()).or_default();
            *best = likeness.max(*best);
        }
    }
    let best = files.into_iter().max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0)));
    best.filter(|(_, likeness)| *likeness > 2)
        .map(|(file, _)| file)
        .or_else(|| of_body(release, version))
        .unwrap_or_else(|| ELSE.to_owned())
}

/// Whether a rule is a lowering to older opsets, and not to other forms.
fn is_lowering(rule: &str) -> bool {
    rule.starts_with("lower ") && rule.contains(" before ")
}

/// The letters of the words that two names share: 3 for `CumSum` and `CumProd`.
fn likeness(a: &str, b: &str) -> usize {
    let others = words(b);
    words(a).iter().filter(|word| word.len() > 2 && others.contains(word)).map(|word| word.len()).sum()
}

/// `CumSum` -> `Cum`, `Sum`
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for letter in name.chars() {
        let is_next = letter.is_uppercase() && !words.last().is_some_and(|word| word.ends_with(char::is_uppercase));
        match words.last_mut() {
            Some(word) if !is_next => word.push(letter),
            _ => words.push(letter.to_string()),
        }
    }
    words
}

/// Whether the newest version of an operator has inputs and attributes of the same names.
fn has_like_inputs(release: &Release<'_>, version: &Version, op: &str) -> bool {
    let Some(other) = release.old.versions(op).last() else { return false };
    let names = |v: &Version| -> Vec<String> {
        let ports = v.inputs.iter().map(|port| port.name.clone());
        ports.chain(v.attributes.iter().map(|attribute| attribute.name.clone())).collect()
    };
    names(version).len() > 2 && names(version) == names(other)
}

/// The file with the lowering of an operator that the function of this one calls.
fn of_body(release: &Release<'_>, version: &Version) -> Option<String> {
    let body = release.said?.bodies.get(&format!("{} {}", version.name, version.since))?;
    let called = body.split(|c: char| !c.is_alphanumeric());
    let own = called.flat_map(|op| release.touched.places(op).own).find(|(rule, _)| is_lowering(rule));
    own.map(|(_, file)| file)
}

#[cfg(test)]
mod tests {
    use super::{likeness, words};

    #[test]
    fn names_are_alike_by_their_words() {
        assert_eq!(words("SwiGLU"), ["Swi", "GLU"]);
        assert_eq!(words("CausalConvWithState"), ["Causal", "Conv", "With", "State"]);
        assert!(likeness("LinearAttention", "Attention") > likeness("LinearAttention", "QuantizeLinear"));
        assert_eq!(likeness("CumProd", "CumSum"), 3);
        assert_eq!(likeness("SwiGLU", "Gelu"), 0);
    }
}
