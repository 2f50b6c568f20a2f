//! The name of a weight that is most like another: by the parts between the dots.

/// The candidate that shares the most parts with `name`, in order; None if no candidate shares half of them.
pub fn nearest<'n>(name: &str, candidates: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let parts: Vec<&str> = name.split('.').collect();
    let mut best: Option<(usize, usize, &str)> = None;
    for candidate in candidates {
        let others: Vec<&str> = candidate.split('.').collect();
        let (shared, all) = (shared(&parts, &others), parts.len() + others.len());
        // 2 * shared / all, compared as fractions.
        if best.is_none_or(|(most, of, _)| shared * of > most * all) {
            best = Some((shared, all, candidate));
        }
    }
    best.filter(|(shared, all, _)| 4 * shared >= *all).map(|(_, _, candidate)| candidate)
}

/// The length of the longest common subsequence.
fn shared(a: &[&str], b: &[&str]) -> usize {
    let mut row = vec![0; b.len() + 1];
    for x in a {
        let mut diagonal = 0;
        for (j, y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = if x == y { diagonal + 1 } else { above.max(row[j]) };
            diagonal = above;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_more_parts_in_common_are_nearer() {
        let known = ["layers.0.q.weight", "layers.1.q.weight", "layers.1.q.bias"];
        assert_eq!(nearest("model.layers.1.q.weight", known.into_iter()), Some("layers.1.q.weight"));
        assert_eq!(nearest("layers.1.q.gamma", known.into_iter()), Some("layers.1.q.weight"));
        assert_eq!(nearest("head", known.into_iter()), None);
    }
}
