//! The way to each input in the arguments of a call, as guards name it: `L['batch']['x'][0]`.
//!
//! A file describes its arguments by a tree of containers (`in_spec`) and the names of the parameters of `forward`. What a container calls its
//! children is known for those of Python; in others a child has any name.

use std::iter;

use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::schema::{ModuleCallSignature, Text};
use aten2onnx_program::{Graph, Input};

/// Longer names in guards are not read.
const MAX_STEPS: usize = 64;

/// A step into a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// `[0]`, of a sequence or of a dictionary with numbers as keys.
    Index(i64),
    /// `['x']`
    Key(String),
    /// `.x`
    Field(String),
    /// What a container calls this child is not known.
    Any,
}

/// The steps from the arguments by name to a leaf.
pub type Path = Vec<Step>;

/// The ways to the user inputs, in order: those that are given as text, or those that the signature describes. Empty if neither is known.
pub fn of_inputs(given: &[Text<'_>], signature: Option<&ModuleCallSignature<'_>>) -> Vec<Path> {
    if !given.is_empty() {
        return given.iter().map(|text| steps(text).map_or_else(|| vec![Step::Any], |(path, _)| path)).collect();
    }
    signature.and_then(of_signature).unwrap_or_default()
}

/// The steps at the start of a text, and the length of their text; None if a step is malformed.
pub fn steps(text: &str) -> Option<(Path, usize)> {
    let mut path = Path::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..)
        && path.len() <= MAX_STEPS
    {
        let (step, length) = match rest.as_bytes().first() {
            Some(b'[') => bracket(rest)?,
            Some(b'.') => match field(rest) {
                Some(found) => found,
                None => return Some((path, at)),
            },
            _ => return Some((path, at)),
        };
        path.push(step);
        at += length;
    }
    None
}

/// `[0]` or `['x']`
fn bracket(text: &str) -> Option<(Step, usize)> {
    let inner = text.get(1..)?;
    let Some(quote @ ('\'' | '"')) = inner.chars().next() else {
        let (number, _) = inner.split_once(']')?;
        return Some((Step::Index(number.parse().ok()?), number.len() + 2));
    };
    let mut key = String::new();
    let mut chars = inner.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next()? {
                (_, c @ ('\\' | '\'' | '"')) => key.push(c),
                _ => return None,
            },
            c if c == quote => {
                let closes = inner.get(at + 1..)?.starts_with(']');
                return closes.then_some((Step::Key(key), at + 3));
            }
            c => key.push(c),
        }
    }
    None
}

/// `.x`; None for the call of a method.
fn field(text: &str) -> Option<(Step, usize)> {
    let name = text.get(1..)?;
    let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len());
    let (name, rest) = name.split_at_checked(end)?;
    (!name.is_empty() && !rest.starts_with('(')).then(|| (Step::Field(name.to_owned()), end + 1))
}

/// A container, or a leaf without a type.
#[derive(Debug, Deserialize)]
pub(super) struct Tree {
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) context: Option<String>,
    #[serde(default)]
    pub(super) children_spec: Vec<Tree>,
}

/// The key of a dictionary.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Key {
    Number(i64),
    Text(String),
    Other(serde::de::IgnoredAny),
}

fn of_signature(signature: &ModuleCallSignature<'_>) -> Option<Vec<Path>> {
    let (_, tree): (i64, Tree) = serde_json::from_str(&signature.in_spec).ok()?;
    let [args, kwargs] = tree.children_spec.as_slice() else { return None };
    let names = signature.forward_arg_names.as_deref().unwrap_or_default();
    let mut found = Vec::new();
    for (index, child) in args.children_spec.iter().enumerate() {
        let step = names.get(index).map_or(Step::Any, |name| Step::Key(name.to_string()));
        leaves(child, &mut vec![step], &mut found);
    }
    for (step, child) in steps_of(kwargs).into_iter().zip(&kwargs.children_spec) {
        leaves(child, &mut vec![step], &mut found);
    }
    Some(found)
}

/// Adds the ways to the leaves of a tree. JSON is not nested more deeply than its reader allows.
fn leaves(tree: &Tree, path: &mut Path, found: &mut Vec<Path>) {
    if tree.kind.is_none() {
        found.push(path.clone());
        return;
    }
    for (step, child) in steps_of(tree).into_iter().zip(&tree.children_spec) {
        path.push(step);
        leaves(child, path, found);
        path.pop();
    }
}

/// The steps to the children of a container.
fn steps_of(tree: &Tree) -> Vec<Step> {
    let count = tree.children_spec.len();
    let numbered = || (0..).map(Step::Index).take(count).collect();
    match tree.kind.as_deref() {
        Some("builtins.tuple" | "builtins.list" | "collections.deque") => numbered(),
        Some("builtins.dict" | "collections.OrderedDict") => {
            let context = tree.context.as_deref().unwrap_or_default();
            let keys: Vec<Key> = serde_json::from_str(context).unwrap_or_default();
            let step = |key| match key {
                Key::Number(number) => Step::Index(number),
                Key::Text(text) => Step::Key(text),
                Key::Other(_) => Step::Any,
            };
            keys.into_iter().map(step).chain(iter::repeat(Step::Any)).take(count).collect()
        }
        _ => vec![Step::Any; count],
    }
}

/// Finds inputs by the text of the way to them.
#[derive(Debug)]
pub struct Finder<'g> {
    graph: &'g Graph,
    paths: &'g [Path],
    known: FxHashMap<String, Option<usize>>,
    /// The number of comparisons that are left: a file may have many inputs, and guards that name none of them.
    left: usize,
}

/// Enough for thousands of inputs that are all named.
const COMPARISONS: usize = 1 << 25;

impl<'g> Finder<'g> {
    /// `paths` are the ways to the inputs of the graph.
    pub fn new(graph: &'g Graph, paths: &'g [Path]) -> Finder<'g> {
        Finder { graph, paths, known: FxHashMap::default(), left: COMPARISONS }
    }

    /// The input that a guard names by the text of these steps; None if there is none, or if it could be several.
    pub fn find(&mut self, text: &str, wanted: &[Step]) -> Option<&'g Input> {
        if let Some(index) = self.known.get(text) {
            return self.graph.inputs.get((*index)?);
        }
        self.left = self.left.checked_sub(self.graph.inputs.len())?;
        let index = self.search(wanted);
        self.known.insert(text.to_owned(), index);
        self.graph.inputs.get(index?)
    }

    fn search(&self, wanted: &[Step]) -> Option<usize> {
        let inputs = &self.graph.inputs;
        if let [Step::Key(name), Step::Index(index)] = wanted
            && name == "flat_args"
        {
            return usize::try_from(*index).ok();
        }
        let is_known = self.paths.len() == inputs.len();
        let fits = |index: &usize| !is_known || self.paths.get(*index).is_some_and(|path| fit(path, wanted));
        let candidates: Vec<usize> = (0..inputs.len()).filter(fits).collect();
        if let ([only], true) = (candidates.as_slice(), is_known) {
            return Some(*only);
        }
        let name = placeholder(wanted)?;
        candidates.into_iter().find(|index| inputs.get(*index).is_some_and(|input| input.name == name))
    }
}

/// Whether a path may be the wanted one. An argument of `*args` is `['args'][0]` in a guard, and `args_0` in the signature.
fn fit(path: &[Step], wanted: &[Step]) -> bool {
    let equal = |path: &[Step], wanted: &[Step]| {
        path.len() == wanted.len() && path.iter().zip(wanted).all(|(a, b)| *a == Step::Any || a == b)
    };
    if let ([Step::Key(first), rest @ ..], [Step::Key(name), Step::Index(index), inner @ ..]) = (path, wanted)
        && first.strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix('_')) == Some(&index.to_string())
        && equal(rest, inner)
    {
        return true;
    }
    equal(path, wanted)
}

/// The name that torch.export gives the value of an input.
fn placeholder(path: &[Step]) -> Option<String> {
    let part = |step: &Step| match step {
        Step::Index(index) => Some(index.to_string()),
        Step::Key(name) => Some(name.replace(|c: char| !c.is_ascii_alphanumeric(), "_")),
        Step::Field(name) => Some(name.clone()),
        Step::Any => None,
    };
    let parts: Option<Vec<String>> = path.iter().map(part).collect();
    Some(parts?.join("_").to_lowercase())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use aten2onnx_program::{Graph, InputKind};

    fn path(text: &str) -> Path {
        steps(text).unwrap().0
    }

    fn signature(in_spec: &str, names: &[&str]) -> ModuleCallSignature<'static> {
        let names = names.iter().map(|name| (*name).to_owned().into()).collect();
        ModuleCallSignature { in_spec: in_spec.to_owned().into(), out_spec: None, forward_arg_names: Some(names) }
    }

    fn node(kind: &str, context: &str, children: &[&str]) -> String {
        let context = serde_json::to_string(context).unwrap();
        format!(r#"{{"type": "{kind}", "context": {context}, "children_spec": [{}]}}"#, children.join(", "))
    }

    const LEAF: &str = r#"{"type": null, "context": null, "children_spec": []}"#;

    #[test]
    fn steps_are_read_up_to_a_call() {
        let text = r#"['d'][3].field["it's"]['a\'b'].size()[1]"#;
        let (path, length) = steps(text).unwrap();
        let expected = [
            Step::Key("d".to_owned()),
            Step::Index(3),
            Step::Field("field".to_owned()),
            Step::Key("it's".to_owned()),
            Step::Key("a'b".to_owned()),
        ];
        assert_eq!(path, expected);
        assert_eq!(&text[length..], ".size()[1]");
        for bad in ["['x'", "[x]", "['x]", "[", "['x\\n']", "['x'y]", &"[0]".repeat(100)] {
            assert!(steps(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_tree_gives_the_ways_to_its_leaves() {
        let dict = node("builtins.dict", r#"["a", 3]"#, &[LEAF, &node("builtins.list", "null", &[LEAF, LEAF])]);
        let pair = node("my.Pair", "null", &[LEAF, LEAF]);
        let args = node("builtins.tuple", "null", &[LEAF, &dict, &pair]);
        let kwargs = node("builtins.dict", r#"["k"]"#, &[LEAF]);
        let tree = format!("[1, {}]", node("builtins.tuple", "null", &[&args, &kwargs]));
        let paths = of_inputs(&[], Some(&signature(&tree, &["x", "d", "rest_0", "k"])));
        let expected = ["['x']", "['d']['a']", "['d'][3][0]", "['d'][3][1]"].map(path);
        assert_eq!(paths[..4], expected);
        assert_eq!(
            paths[4..6],
            [vec![Step::Key("rest_0".to_owned()), Step::Any], vec![Step::Key("rest_0".to_owned()), Step::Any]]
        );
        assert_eq!(paths[6], path("['k']"));

        let names = ["x", "d_a", "d_3_0", "d_3_1", "rest_0_p", "rest_0_q", "k"];
        let inputs = names.map(|name| Input { name: name.to_owned(), kind: InputKind::Tensor }).into();
        let graph = Graph { inputs, ..Graph::default() };
        let mut finder = Finder::new(&graph, &paths);
        let mut found = |text: &str| finder.find(text, &path(text)).map(|input| input.name.as_str());
        assert_eq!(found("['d'][3][1]"), Some("d_3_1"));
        assert_eq!(found("['flat_args'][2]"), Some("d_3_0"));
        // Of several that fit, the name decides.
        assert_eq!(found("['rest'][0].q"), Some("rest_0_q"));
        assert_eq!(found("['rest'][0].r"), None);
        assert_eq!(found("['y']"), None);
    }

    #[test]
    fn trees_that_cannot_be_read_give_no_ways() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        for tree in ["", "[1]", "[1, {}]", "null", &deep, &format!("[1, {LEAF}]")] {
            assert!(of_inputs(&[], Some(&signature(tree, &["x"]))).is_empty());
        }
    }
}
