//! Links of the pages lead to files that exist, and to headings of them.

use std::path::{Component, Path, PathBuf};

/// A link in a page.
pub struct Link {
    /// The line, for messages.
    pub line: usize,
    /// `docs/opmap.md#helpers`
    pub target: String,
}

/// The links of a page to other files or to headings. Code has none.
pub fn links(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    for (line, content) in prose(text) {
        // Every second part is code.
        for part in content.split('`').step_by(2) {
            let targets = part.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
            let targets = targets.map(|(target, _)| target).filter(|target| !target.starts_with("http"));
            links.extend(targets.map(|target| Link { line, target: target.to_owned() }));
        }
    }
    links
}

/// The names by which links find the headings of a page.
pub fn anchors(text: &str) -> Vec<String> {
    let headings = prose(text).filter(|(_, line)| line.starts_with('#'));
    headings.map(|(_, line)| anchor(line.trim_start_matches('#').trim())).collect()
}

/// The file that a link leads to, and the name of a heading, if it has one.
pub fn place(page: &Path, target: &str) -> (PathBuf, Option<String>) {
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let file = if file.is_empty() { page.to_owned() } else { normalized(&page.parent().unwrap().join(file)) };
    (file, (!heading.is_empty()).then(|| heading.to_owned()))
}

/// As hosts of repositories make it: lower case, hyphens for blanks, no other marks.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase().replace(' ', "-");
    kept.chars().filter(|c| c.is_alphanumeric() || ['-', '_'].contains(c)).collect()
}

/// The lines outside of code blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            return None;
        }
        (!is_code).then_some((at + 1, line))
    })
}

fn normalized(path: &Path) -> PathBuf {
    let mut made = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                made.pop();
            }
            other => made.push(other),
        }
    }
    made
}
