//! How much a model records about the origin of its nodes.
//!
//! Size of the .onnx without weights: FCN-ResNet-50 (175 nodes) takes 68 kB with none, 73 kB with compact and 98 kB
//! with full; a Llama (265 nodes with longer module paths) 28, 43 and 93 kB.

use crate::graph::Origin;
use crate::proto::{NodeProto, StringStringEntryProto};

/// What nodes record about their origin. No choice records paths on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Provenance {
    /// Nothing: nodes and inner values have short names
    None,
    /// The module and the operator, in the names of nodes and values
    #[default]
    Compact,
    /// Also the rule, the PyTorch node, the module's type and the source line: in `metadata_props` if the IR version
    /// supports it (10), else in `doc_string`
    Full,
}

/// The first IR version whose nodes have `metadata_props`.
pub const METADATA_IR: u32 = 10;

/// Records the origin of a node: everything with `full`, else only the metadata of the source model.
pub fn describe(node: &mut NodeProto, origin: &Origin, full: bool, metadata: bool) {
    let own = origin.metadata.iter().cloned();
    let prefix = if metadata { "aten2onnx." } else { "" };
    let facts = facts(origin).into_iter().filter(|_| full);
    let facts: Vec<(String, String)> = facts.map(|(key, value)| (format!("{prefix}{key}"), value)).chain(own).collect();
    if metadata {
        let entry = |(key, value): (String, String)| StringStringEntryProto { key: Some(key), value: Some(value) };
        node.metadata_props = facts.into_iter().map(entry).collect();
    } else {
        let lines: Vec<String> = facts.into_iter().map(|(key, value)| format!("{key}: {value}")).collect();
        node.doc_string = Some(lines.join("\n")).filter(|text| !text.is_empty());
    }
}

fn facts(origin: &Origin) -> Vec<(&'static str, String)> {
    let module = match (&origin.module, &origin.module_type) {
        (Some(path), Some(ty)) => Some(format!("{path} ({ty})")),
        (path, ty) => path.clone().or_else(|| ty.clone()),
    };
    let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    [
        ("rule", known(&origin.rule)),
        ("node", known(&origin.node_name)),
        ("module", module),
        ("source", origin.source_line.as_deref().map(without_folders)),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key, value?)))
    .collect()
}

/// `File "/home/me/net.py", line 3, in forward` without the directories.
pub fn without_folders(line: &str) -> String {
    let mut parts = line.split('"');
    let Some(mut text) = parts.next().map(str::to_owned) else { return String::new() };
    for (i, part) in parts.enumerate() {
        text.push('"');
        text.push_str(if i % 2 == 0 { part.rsplit(['/', '\\']).next().unwrap_or(part) } else { part });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_lines_lose_their_folders() {
        let line = r#"File "/home/me/a b/net.py", line 3, in forward"#;
        assert_eq!(without_folders(line), r#"File "net.py", line 3, in forward"#);
        assert_eq!(without_folders(r#"File "C:\me\net.py", line 3"#), r#"File "net.py", line 3"#);
        assert_eq!(without_folders("no file"), "no file");
    }
}
