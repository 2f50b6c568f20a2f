//! What a model says of itself: metadata, documentation, and who made it.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use aten2onnx_core::error::{Error, Kind, Result};
use aten2onnx_core::weights::open_regular;
use aten2onnx_onnx::proto::{ModelProto, StringStringEntryProto};
use serde::Deserialize;

/// What to add to a model's own description.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Description {
    /// Add an entry to the model's metadata, or replace the one with this key. `@FILE` is the text of a file, `@@` an `@`
    #[cfg_attr(feature = "clap", arg(long, value_name = "KEY=VALUE|KEY=@FILE", value_parser = named_text))]
    pub metadata: Vec<(String, Text)>,
    /// The documentation of the model
    #[cfg_attr(feature = "clap", arg(long, value_name = "TEXT|@FILE"))]
    pub doc_string: Option<Text>,
    /// The documentation of an input or output
    #[cfg_attr(feature = "clap", arg(long = "value-doc", value_name = "NAME=TEXT|NAME=@FILE", value_parser = named_text))]
    pub value_docs: Vec<(String, Text)>,
    /// The name of the program that made the model
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    pub producer_name: Option<String>,
    /// The version of that program
    #[cfg_attr(feature = "clap", arg(long, value_name = "VERSION"))]
    pub producer_version: Option<String>,
}

/// A text, or the file that has it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum Text {
    /// The text itself.
    Given(String),
    /// The text of a file, which is read when it is used.
    File(PathBuf),
}

/// Texts of Python are never names of files.
impl From<String> for Text {
    fn from(text: String) -> Text {
        Text::Given(text)
    }
}

/// `text`, `@file` or `@@text that starts with an at sign`
impl FromStr for Text {
    type Err = String;

    fn from_str(text: &str) -> Result<Text, String> {
        match text.strip_prefix('@') {
            Some("") => Err("the name of a file is missing after `@`; `@@` stands for the character".to_owned()),
            Some(given) if given.starts_with('@') => Ok(Text::Given(given.to_owned())),
            Some(path) => Ok(Text::File(PathBuf::from(path))),
            None => Ok(Text::Given(text.to_owned())),
        }
    }
}

/// `KEY=TEXT`
#[cfg(any(feature = "clap", test))]
fn named_text(text: &str) -> Result<(String, Text), String> {
    let (name, text) = text.split_once('=').ok_or("write NAME=TEXT, or NAME=@FILE")?;
    if name.is_empty() {
        return Err("a name is missing before `=`".to_owned());
    }
    Ok((name.to_owned(), text.parse()?))
}

impl Text {
    fn read(&self) -> Result<String> {
        match self {
            Text::Given(text) => Ok(text.clone()),
            Text::File(path) => text_of(path).map_err(|error| error.at(path.display().to_string())),
        }
    }
}

fn text_of(path: &Path) -> Result<String> {
    let help = "the path of a text file is expected after `@`; `@@` stands for the character itself";
    // Devices and pipes do not end.
    open_regular(path).map_err(|error| error.help(help))?;
    let bytes = fs::read(path).map_err(|error| Error::new(Kind::Io, error.to_string()).help(help))?;
    String::from_utf8(bytes).map_err(|_| {
        Error::input("the file is not UTF-8, as texts of a model are").help("encode binary data, for example as base64")
    })
}

impl Description {
    /// Adds it to a model; what it does not mention stays.
    ///
    /// # Errors
    /// A file that cannot be read, a key that is given twice, or documentation of a value that is neither an input nor an output.
    pub fn apply(&self, model: &mut ModelProto) -> Result<()> {
        once("metadata", &self.metadata)?;
        once("documentation", &self.value_docs)?;
        for (key, text) in &self.metadata {
            let value = Some(text.read().map_err(|error| error.at(format!("metadata `{key}`")))?);
            match model.metadata_props.iter_mut().find(|entry| entry.key() == key) {
                Some(entry) => entry.value = value,
                None => model.metadata_props.push(StringStringEntryProto { key: Some(key.clone()), value }),
            }
        }
        if let Some(text) = &self.doc_string {
            model.doc_string = Some(text.read().map_err(|error| error.at("the documentation of the model"))?);
        }
        for (name, text) in &self.value_docs {
            document(model, name, text).map_err(|error| error.at(format!("the documentation of `{name}`")))?;
        }
        if let Some(name) = &self.producer_name {
            model.producer_name = Some(name.clone());
            // The version of another program would be wrong.
            model.producer_version = None;
        }
        if let Some(version) = &self.producer_version {
            model.producer_version = Some(version.clone());
        }
        Ok(())
    }
}

fn document(model: &mut ModelProto, name: &str, text: &Text) -> Result<()> {
    let Some(graph) = &mut model.graph else { return Ok(()) };
    let ports = || graph.input.iter().chain(&graph.output).map(|value| value.name());
    if !ports().any(|port| port == name) {
        let known = ports().collect::<Vec<_>>().join("`, `");
        return Err(Error::unsupported(format!("the model has no input or output `{name}`"))
            .help(format!("its inputs and outputs are `{known}`")));
    }
    let text = text.read()?;
    for value in graph.input.iter_mut().chain(&mut graph.output).filter(|value| value.name() == name) {
        value.doc_string = Some(text.clone());
    }
    Ok(())
}

fn once(what: &str, texts: &[(String, Text)]) -> Result<()> {
    let mut known = HashSet::new();
    match texts.iter().find(|(name, _)| !known.insert(name)) {
        Some((name, _)) => {
            Err(Error::unsupported(format!("the {what} `{name}` is given twice")).help("give each name once"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use aten2onnx_onnx::proto::{GraphProto, ValueInfoProto};

    fn model() -> ModelProto {
        let value = |name: &str| ValueInfoProto { name: Some(name.into()), ..ValueInfoProto::default() };
        let graph = GraphProto { input: vec![value("x")], output: vec![value("y")], ..GraphProto::default() };
        let entry = StringStringEntryProto { key: Some("names".into()), value: Some("old".into()) };
        ModelProto {
            graph: Some(graph),
            metadata_props: vec![entry],
            producer_name: Some("pytorch".into()),
            producer_version: Some("2".into()),
            ..ModelProto::default()
        }
    }

    #[test]
    fn texts_are_themselves_or_files() {
        assert_eq!("a=b".parse(), Ok(Text::Given("a=b".into())));
        assert_eq!("@a".parse(), Ok(Text::File("a".into())));
        assert_eq!("@@a".parse(), Ok(Text::Given("@a".into())));
        assert!("@".parse::<Text>().is_err());
        assert_eq!(named_text("k="), Ok(("k".into(), Text::Given(String::new()))));
        assert!(named_text("k").is_err() && named_text("=v").is_err());
    }

    #[test]
    fn entries_are_added_or_replaced() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("names.json"), "{0: 'cat'}").unwrap();
        let file = Text::File(folder.path().join("names.json"));
        let description = Description {
            metadata: vec![("names".into(), file), ("stride".into(), Text::Given("32".into()))],
            value_docs: vec![("y".into(), Text::Given("scores".into()))],
            producer_name: Some("mine".into()),
            ..Description::default()
        };
        let mut model = model();
        description.apply(&mut model).unwrap();
        let entries: Vec<_> = model.metadata_props.iter().map(|entry| (entry.key(), entry.value())).collect();
        assert_eq!(entries, [("names", "{0: 'cat'}"), ("stride", "32")]);
        assert_eq!((model.producer_name(), model.producer_version.as_deref()), ("mine", None));
        assert_eq!(model.graph.unwrap().output[0].doc_string(), "scores");
    }

    #[test]
    fn what_cannot_be_added_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let binary = folder.path().join("binary");
        fs::write(&binary, [0xff, 0xfe]).unwrap();
        let given = |text: &str| Text::Given(text.into());
        let fails = |description: Description| description.apply(&mut model()).unwrap_err().message.clone();
        let metadata = |texts: Vec<(&str, Text)>| Description {
            metadata: texts.into_iter().map(|(key, text)| (key.to_owned(), text)).collect(),
            ..Description::default()
        };
        assert!(fails(metadata(vec![("a", given("1")), ("a", given("2"))])).contains("given twice"));
        assert!(fails(metadata(vec![("a", Text::File(binary))])).contains("not UTF-8"));
        assert!(!fails(metadata(vec![("a", Text::File(folder.path().join("missing")))])).is_empty());
        let docs = Description { value_docs: vec![("z".into(), given("1"))], ..Description::default() };
        assert!(fails(docs).contains("no input or output `z`"));
    }
}
