//! Adds the versions of operators in a new snapshot of ONNX's schemas to an old one. A version that was released does not change, so none is
//! replaced or lost.

use std::collections::BTreeMap;

/// The snapshot with what the new one adds, and the versions that are new: `Celu 28`.
///
/// # Errors
/// Versions or groups of dtypes that both have and that differ.
pub fn merged(old: &str, new: &str) -> Result<(String, Vec<String>), String> {
    let (old, mut new) = (Parts::of(old), Parts::of(new));
    let differs = |(key, text): &(&String, &String)| new.versions.get(*key).is_some_and(|other| other != *text);
    let mut wrong: Vec<&str> = old.versions.iter().filter(differs).map(|(key, _)| key.as_str()).collect();
    if old.groups != new.groups {
        wrong.push("the groups of dtypes (`@..`)");
    }
    if !wrong.is_empty() {
        let list = wrong.join("\n    ");
        let text = format!("the snapshots differ in what is released already:\n    {list}\n");
        return Err(text + "if the old one is wrong, correct it by hand first");
    }
    let added: Vec<String> = new.order.iter().filter(|key| !old.versions.contains_key(*key)).cloned().collect();
    let lost: Vec<String> = old.order.iter().filter(|key| !new.versions.contains_key(*key)).cloned().collect();
    for key in lost {
        let place = new.order.partition_point(|other| order(other) < order(&key));
        new.versions.extend(old.versions.get(&key).map(|text| (key.clone(), text.clone())));
        new.order.insert(place, key);
    }
    let blocks = new.order.iter().filter_map(|key| new.versions.get(key));
    let text: Vec<&str> = [&new.head, &new.groups].into_iter().chain(blocks).map(String::as_str).collect();
    Ok((text.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n") + "\n", added))
}

/// Operators by name, their versions by number.
fn order(key: &str) -> (&str, u32) {
    let (name, since) = key.split_once(' ').unwrap_or((key, ""));
    (name, since.parse().unwrap_or(0))
}

/// A snapshot in parts.
#[derive(Default)]
struct Parts {
    head: String,
    groups: String,
    order: Vec<String>,
    versions: BTreeMap<String, String>,
}

impl Parts {
    fn of(text: &str) -> Parts {
        let mut parts = Parts::default();
        for block in text.split("\n\n").map(str::trim_end).filter(|block| !block.is_empty()) {
            match block.chars().next() {
                Some('#') => parts.head = block.to_owned(),
                Some('@') => parts.groups = block.to_owned(),
                _ => {
                    let key: Vec<&str> = block.split_whitespace().take(2).collect();
                    let key = key.join(" ");
                    parts.order.push(key.clone());
                    parts.versions.insert(key, block.to_owned());
                }
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::merged;

    const OLD: &str = "# old\n\n@floats = float double\n\nAbs 1\n  in X: T\n\nGone 3\n  in X: T\n";

    #[test]
    fn versions_are_added_and_none_is_lost() -> Result<(), String> {
        let new = "# new\n\n@floats = float double\n\nAbs 1\n  in X: T\n\nAbs 29\n  in X: T\n  in Y: T\n\nZeta 29\n  in X: T\n";
        let (text, added) = merged(OLD, new)?;
        assert_eq!(added, ["Abs 29", "Zeta 29"]);
        let heads: Vec<&str> = text.split("\n\n").map(|block| block.lines().next().unwrap_or_default()).collect();
        assert_eq!(heads, ["# new", "@floats = float double", "Abs 1", "Abs 29", "Gone 3", "Zeta 29"]);
        // Again: nothing is new.
        assert_eq!(merged(&text, new)?, (text.clone(), Vec::new()));
        Ok(())
    }

    #[test]
    fn what_is_released_does_not_change() {
        let wrong = [
            (
                "@floats = float double\n\nAbs 1\n  in Y: T\n",
                "Abs 1\nif the old one is wrong, correct it by hand first",
            ),
            ("@floats = float\n\nAbs 1\n  in X: T\n", "the groups of dtypes"),
        ];
        for (new, message) in wrong {
            assert!(merged(OLD, new).is_err_and(|error| error.contains(message)), "{new}");
        }
    }
}
