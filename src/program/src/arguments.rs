//! Checks that operators get the arguments that their schemas have: a rule would not see another one, and the result would be wrong in
//! silence; and one without a default must be there. Operators without a known schema are not checked.

use super::{Arg, Graph, Node, Program};
use aten2onnx_core::error::{Call, Error, Result};

/// Checks the nodes of a program and its nested graphs.
///
/// # Errors
/// An argument that a schema lacks, or a schema's argument that a node lacks.
pub fn check(program: &Program) -> Result<()> {
    graph(&program.graph)
}

fn graph(graph: &Graph) -> Result<()> {
    graph.nodes.iter().try_for_each(node)
}

fn node(node: &Node) -> Result<()> {
    for (_, arg) in &node.args {
        if let Arg::Graph(nested) = arg {
            graph(nested)?;
        }
    }
    let Some(known) = schema(&node.target) else { return Ok(()) };
    let names: Vec<&str> = known.iter().map(|parameter| parameter.name).collect();
    let mut seen: Vec<&str> = Vec::with_capacity(node.args.len());
    for (name, _) in &node.args {
        if !names.contains(&name.as_str()) || seen.contains(&name.as_str()) {
            return Err(refused(node, name, &names));
        }
        seen.push(name);
    }
    match known.iter().find(|parameter| !parameter.has_default && !seen.contains(&parameter.name)) {
        Some(missing) => Err(lacking(node, missing.name)),
        None => Ok(()),
    }
}

/// A node that does not have an argument without a default.
fn lacking(node: &Node, name: &str) -> Error {
    let error = of_node(node, format!("`{}` is not given its argument `{name}`", node.target));
    error.help("the file is damaged, or of another version of PyTorch: save the program again")
}

fn of_node(node: &Node, message: String) -> Error {
    let operator = node.target.clone();
    let call = Call { operator, node: node.name.clone(), source_line: node.source_line.clone() };
    let mut error = Error::input(message);
    error.call = Some(Box::new(call));
    error.at(format!("node `{}`", node.name))
}

fn refused(node: &Node, name: &str, names: &[&str]) -> Error {
    let target = &node.target;
    let message = match name {
        "" => format!("`{target}` is given more arguments than it has: {} of {}", node.args.len(), names.len()),
        name if names.contains(&name) => format!("`{target}` is given the argument `{name}` twice"),
        name => format!("`{target}` has no argument `{name}`"),
    };
    let known: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    of_node(node, message).help(format!(
        "its arguments are {}; if a newer PyTorch added or renamed it, export with an older one or use a newer aten2onnx",
        known.join(", ")
    ))
}

/// The names of an operator's parameters, if its schema is known.
pub fn parameters(target: &str) -> Option<Vec<&'static str>> {
    Some(schema(target)?.iter().map(|parameter| parameter.name).collect())
}

/// A parameter of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parameter<'a> {
    name: &'a str,
    has_default: bool,
}

/// An operator's parameters, if its schema is known.
fn schema(target: &str) -> Option<Vec<Parameter<'static>>> {
    let operator = target.split('.').next().filter(|name| name.starts_with("aten::"))?;
    let mut lines = aten2onnx_mappings::torchscript_overloads(operator);
    read(lines.find_map(|line| line.strip_prefix(target)?.strip_prefix('('))?)
}

/// The parameters of `Tensor self, *, str approximate='none') -> Tensor`; None of a schema that takes any arguments.
fn read(text: &str) -> Option<Vec<Parameter<'_>>> {
    let (mut depth, mut quoted, mut start) = (0_u32, false, 0);
    let mut found = Vec::new();
    for (at, character) in text.char_indices() {
        match character {
            '\'' | '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' => depth += 1,
            ')' | ']' if depth > 0 => depth -= 1,
            ',' | ')' if depth == 0 => {
                let parameter = text.get(start..at)?.trim();
                start = at + 1;
                match parameter {
                    "..." => return None,
                    "" | "*" => {}
                    _ => {
                        let (declared, has_default) = match parameter.split_once('=') {
                            Some((before, _)) => (before, true),
                            None => (parameter, false),
                        };
                        found.push(Parameter { name: declared.rsplit(' ').next()?, has_default });
                    }
                }
                if character == ')' {
                    return Some(found);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::NodeOutput;

    fn call(target: &str, args: &[&str]) -> Result<()> {
        node(&Node {
            name: "n".into(),
            target: target.into(),
            args: args.iter().map(|name| ((*name).to_owned(), Arg::None)).collect(),
            outputs: vec![NodeOutput::None],
            module: None,
            module_type: None,
            source_line: None,
        })
    }

    #[test]
    fn names_of_parameters_are_read() {
        let read = |text| -> Vec<&str> { super::read(text).unwrap().iter().map(|parameter| parameter.name).collect() };
        assert_eq!(read("Tensor self, *, str approximate='none') -> Tensor"), ["self", "approximate"]);
        assert_eq!(
            read("Tensor(a -> *) self, SymInt[2] padding=[0, 1], str a=\"x, (y\", int b=-1) -> (Tensor, Tensor)"),
            ["self", "padding", "a", "b"]
        );
        assert_eq!(read(") -> Tensor"), Vec::<&str>::new());
        assert_eq!(super::read("...) -> ()"), None);
        let defaults: Vec<bool> = super::read("Tensor a, *, int[2] b=[0, 1], int c) -> ()")
            .unwrap()
            .iter()
            .map(|parameter| parameter.has_default)
            .collect();
        assert_eq!(defaults, [false, true, false]);
    }

    #[test]
    fn all_schemas_are_read() {
        let lines: Vec<&str> =
            aten2onnx_mappings::TORCHSCRIPT.lines().filter(|line| line.starts_with("aten::")).collect();
        assert!(lines.len() > 3500, "{}", lines.len());
        let is_name = |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        for line in lines.iter().filter(|line| !line.contains("...")) {
            let read = read(line.split_once('(').unwrap().1);
            let is_whole = |parameter: &Parameter<'_>| !parameter.name.is_empty() && is_name(&parameter.name);
            assert!(read.is_some_and(|read| read.iter().all(is_whole)), "{line}");
        }
    }

    #[test]
    fn arguments_that_a_schema_lacks_are_named() {
        call("aten::gelu", &["self", "approximate"]).unwrap();
        call("aten::gelu", &["self"]).unwrap();
        call("mine::gelu", &["x"]).unwrap();
        call("higher_order::cond", &["", "", ""]).unwrap();
        let refusal = |args: &[&str]| call("aten::gelu", args).unwrap_err();
        let error = refusal(&["self", "approximat"]);
        assert_eq!(error.message, "`aten::gelu` has no argument `approximat`");
        assert!(error.help.clone().unwrap().starts_with("its arguments are `self`, `approximate`;"));
        assert_eq!(error.call.clone().unwrap().operator, "aten::gelu");
        assert!(refusal(&["self", "approximate", ""]).message.contains("more arguments than it has: 3 of 2"));
        assert!(refusal(&["self", "self"]).message.contains("twice"));
        assert_eq!(refusal(&["approximate"]).message, "`aten::gelu` is not given its argument `self`");
    }
}
