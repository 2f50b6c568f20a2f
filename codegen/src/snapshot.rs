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
        let help =
            "if the old one is wrong, correct it by hand first; if it came from a release candidate, undo that import";
        return Err(text + help);
    }
    let added: Vec<String> = new.order.iter().filter(|key| !old.versions.contains_key(*key)).cloned().collect();
    let lost: Vec<String> = old.order.iter().filter(|key| !new.versions.contains_key(*key)).cloned().collect();
    for key in lost {
        let place = new.order.partition_point(|other| order(other) < order(&key));
        new.versions.extend(old.versions.get(&key).map(|text| (key.clone(), text.clone())));
        new.order.insert(place, key);
    }
    Ok((new.text(), added))
}

/// A snapshot without the versions after an opset.
pub fn up_to(text: &str, opset: u32) -> String {
    let mut parts = Parts::of(text);
    parts.order.retain(|key| order(key).1 <= opset);
    let newest = parts.order.iter().map(|key| order(key).1).max().unwrap_or(0);
    let head: Vec<String> = parts.head.lines().map(|line| limited(line, newest)).collect();
    parts.head = head.join("\n");
    parts.text()
}

/// `.. in the default domain up to opset 28.` with another number.
fn limited(line: &str, newest: u32) -> String {
    match line.rsplit_once("up to opset ") {
        Some((before, _)) => format!("{before}up to opset {newest}."),
        None => line.to_owned(),
    }
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

    fn text(&self) -> String {
        let blocks = self.order.iter().filter_map(|key| self.versions.get(key));
        let parts = [&self.head, &self.groups].into_iter().chain(blocks).filter(|part| !part.is_empty());
        parts.map(String::as_str).collect::<Vec<_>>().join("\n\n") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::{merged, up_to};

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
    fn newer_opsets_can_be_left_for_later() {
        let text = "# All versions up to opset 29.\n# Source.\n\nAbs 1\n  in X: T\n\nAbs 29\n  in X: T\n\nZeta 28\n  in X: T\n";
        assert_eq!(
            up_to(text, 28),
            "# All versions up to opset 28.\n# Source.\n\nAbs 1\n  in X: T\n\nZeta 28\n  in X: T\n"
        );
        assert_eq!(up_to(text, 29), text);
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
