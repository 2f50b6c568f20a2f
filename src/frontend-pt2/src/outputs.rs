//! The names of outputs that a model returns in dictionaries, dataclasses and named tuples: those of their keys and fields.
//!
//! What has no name on the way to it keeps the name of its value. An element of a tuple at the outside is `output_0`, inside others `0`.

use rustc_hash::FxHashMap;

use super::paths::Tree;
use super::schema::{NamedTuple, Pairs, Text};

/// A part of a name.
enum Part {
    Key(String),
    Place(usize),
}

/// The fields of named tuples, by the names of their types.
type Fields<'a> = FxHashMap<&'a str, &'a [Text<'a>]>;

/// The names of the leaves of a tree; None for those without.
pub fn names(out_spec: &str, named_tuples: &Pairs<'_, NamedTuple<'_>>) -> Vec<Option<String>> {
    let Ok((_, tree)) = serde_json::from_str::<(i64, Tree)>(out_spec) else { return Vec::new() };
    let fields = named_tuples.0.iter().map(|(name, tuple)| (&**name, tuple.field_names.as_slice())).collect();
    let mut found = Vec::new();
    leaves(&tree, &fields, &mut Vec::new(), &mut found);
    found
}

fn leaves(tree: &Tree, fields: &Fields<'_>, path: &mut Vec<Part>, found: &mut Vec<Option<String>>) {
    if tree.kind.is_none() {
        found.push(joined(path));
        return;
    }
    for (part, child) in parts(tree, fields).into_iter().zip(&tree.children_spec) {
        path.push(part);
        leaves(child, fields, path, found);
        path.pop();
    }
}

fn joined(path: &[Part]) -> Option<String> {
    if !path.iter().any(|part| matches!(part, Part::Key(_))) {
        return None;
    }
    let text = |(at, part): (usize, &Part)| match part {
        Part::Key(key) => key.clone(),
        Part::Place(place) if at == 0 => format!("output_{place}"),
        Part::Place(place) => place.to_string(),
    };
    Some(path.iter().enumerate().map(text).collect::<Vec<_>>().join("."))
}

/// What a container calls its children.
fn parts(tree: &Tree, fields: &Fields<'_>) -> Vec<Part> {
    let count = tree.children_spec.len();
    let context = tree.context.as_deref().unwrap_or_default();
    let keys = match tree.kind.as_deref() {
        Some("builtins.tuple" | "builtins.list" | "collections.deque") => None,
        Some("collections.namedtuple") => {
            fields.get(context).map(|names| names.iter().map(|name| Some(name.to_string())).collect())
        }
        _ => serde_json::from_str(context).ok().and_then(|context| keys(&context, count)),
    };
    let keys: Vec<Option<String>> = keys.unwrap_or_default();
    (0..count).map(|at| keys.get(at).cloned().flatten().map_or(Part::Place(at), Part::Key)).collect()
}

/// The keys in the context of a container: a list of them, or a list with such a list. A dataclass has a second one, of the fields that are None.
fn keys(context: &serde_json::Value, count: usize) -> Option<Vec<Option<String>>> {
    let list = context.as_array()?;
    if let Some(inner) = list.iter().find_map(|part| part.as_array().filter(|inner| inner.len() == count))
        && inner.iter().all(serde_json::Value::is_string)
        && list.len() == 2
    {
        return Some(inner.iter().map(key).collect());
    }
    (list.len() == count).then(|| list.iter().map(key).collect())
}

fn key(value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::String(text) if !text.is_empty() => Some(text.clone()),
        serde_json::Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const LEAF: &str = r#"{"type": null, "context": null, "children_spec": []}"#;

    fn node(kind: &str, context: &str, children: &[&str]) -> String {
        let context = serde_json::to_string(context).unwrap();
        format!(r#"{{"type": "{kind}", "context": {context}, "children_spec": [{}]}}"#, children.join(", "))
    }

    fn named(tree: &str) -> Vec<Option<String>> {
        let tuple = NamedTuple { field_names: vec!["first".to_owned().into(), "second".to_owned().into()] };
        names(&format!("[1, {tree}]"), &Pairs(vec![("NT".to_owned().into(), tuple)]))
    }

    fn texts(names: &[Option<String>]) -> Vec<&str> {
        names.iter().map(|name| name.as_deref().unwrap_or("-")).collect()
    }

    #[test]
    fn keys_and_fields_are_names() {
        let list = node("builtins.list", "null", &[LEAF, LEAF]);
        assert_eq!(texts(&named(&node("builtins.dict", r#"["a", "b"]"#, &[LEAF, &list]))), ["a", "b.0", "b.1"]);
        assert_eq!(texts(&named(&node("collections.namedtuple", "NT", &[LEAF, LEAF]))), ["first", "second"]);
        // A dataclass, with and without fields that are None.
        assert_eq!(texts(&named(&node("DC", r#"[["a"], ["b"]]"#, &[LEAF]))), ["a"]);
        assert_eq!(texts(&named(&node("DC", r#"[["a", "b"], []]"#, &[LEAF, LEAF]))), ["a", "b"]);
        assert_eq!(texts(&named(&node("my.ModelOutput", r#"["logits"]"#, &[LEAF]))), ["logits"]);
        // Keys that are numbers, and others.
        assert_eq!(texts(&named(&node("builtins.dict", "[1, [2, 3]]", &[LEAF, LEAF]))), ["1", "-"]);
    }

    #[test]
    fn values_without_a_name_keep_theirs() {
        let dict = node("builtins.dict", r#"["a"]"#, &[LEAF]);
        assert_eq!(texts(&named(&node("builtins.tuple", "null", &[LEAF, &dict]))), ["-", "output_1.a"]);
        assert_eq!(texts(&named(LEAF)), ["-"]);
        assert_eq!(texts(&named(&node("my.Unknown", "null", &[LEAF]))), ["-"]);
        assert!(names("[", &Pairs::default()).is_empty());
    }
}
