//! Suggestions for misspelt names.

/// The candidate that is most similar to `name`, if any is similar enough.
pub fn nearest<'n>(name: &str, candidates: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    candidates
        .map(|c| (strsim::normalized_damerau_levenshtein(&name.to_lowercase(), &c.to_lowercase()), c))
        .filter(|(likeness, _)| *likeness > 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)))
        .map(|(_, c)| c)
}
