//! The pages of the documentation, and their fenced code blocks.

use std::path::{Path, PathBuf};

/// A fenced code block.
pub struct Block {
    /// The file and the line, for messages.
    pub at: String,
    /// The heading of the second level above it, without marks.
    pub section: String,
    /// The first word after the fence.
    pub language: String,
    /// The rest of the line after the fence: a file, or `no-run: REASON`.
    pub rest: String,
    /// The lines of the block.
    pub text: String,
}

/// A page with its code blocks.
pub struct Page {
    /// The path, relative to the root of the repository.
    pub name: String,
    /// In the order of the page.
    pub blocks: Vec<Block>,
}

/// All pages: those in the folder `docs`, and those beside the code.
pub fn pages(root: &Path) -> Vec<Page> {
    let mut paths: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md", "python/README.md"]
            .map(|name| root.join(name))
            .into();
    let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    paths.extend(docs.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    paths.sort();
    paths.iter().map(|path| page(root, path)).collect()
}

fn page(root: &Path, path: &Path) -> Page {
    let name = path.strip_prefix(root).unwrap().display().to_string();
    let text = std::fs::read_to_string(path).unwrap();
    let mut blocks: Vec<Block> = Vec::new();
    let (mut indent, mut section) = (None, String::new());
    for (number, line) in text.lines().enumerate() {
        let content = line.trim_start();
        match (indent, content.strip_prefix("```")) {
            (None, Some(head)) => {
                let (language, rest) = head.split_once(' ').unwrap_or((head, ""));
                let (language, rest) = (language.to_owned(), rest.trim().to_owned());
                let at = format!("{name}:{}", number + 1);
                blocks.push(Block { at, section: section.clone(), language, rest, text: String::new() });
                indent = Some(line.len() - content.len());
            }
            (Some(_), Some(_)) => indent = None,
            (Some(width), None) => {
                let block = blocks.last_mut().unwrap();
                block.text.push_str(line.get(width..).unwrap_or_default());
                block.text.push('\n');
            }
            (None, None) => {
                if let Some(heading) = line.strip_prefix("## ") {
                    heading.clone_into(&mut section);
                }
            }
        }
    }
    assert!(indent.is_none(), "{name}: a code block does not end");
    Page { name, blocks }
}
