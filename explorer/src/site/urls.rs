//! Where pages are: permanent addresses, relative to the root of the site.

use aten2onnx_opmap::source::SourceFile;

/// The page of an overload, `aten/add.Tensor/index.html`, or of an ONNX operator, `onnx/Resize/index.html`. Reports of models lead there,
/// too.
pub fn operator(name: &str) -> String {
    format!("{}index.html", aten2onnx_report::page_of(name))
}

/// The page of a file of rules: `rules/aten/activation/index.html`.
pub fn file(file: &SourceFile) -> String {
    format!("rules/{}/index.html", stem(file))
}

/// `aten/activation`, as names of private helpers begin.
pub fn stem(file: &SourceFile) -> &str {
    let path = file.path.split_once('/').map_or(file.path.as_str(), |(_, path)| path);
    path.strip_suffix(".opmap").unwrap_or(path)
}

/// The page of an error code.
pub fn error(code: &str) -> String {
    format!("errors/{code}/index.html")
}

/// The page of a document of the project: `docs/opmap/index.html` for `docs/opmap.md`.
pub fn document(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".md").to_lowercase();
    format!("docs/{name}/index.html")
}

/// The page of a runtime.
pub fn runtime(name: &str) -> String {
    format!("runtimes/{}/index.html", segment(name))
}

/// The page of an opset.
pub fn opset(opset: u32) -> String {
    format!("coverage/opset-{opset}/index.html")
}

/// The page of a namespace.
pub fn namespace(name: &str) -> String {
    format!("coverage/{}/index.html", segment(name))
}

/// The way from a page to the root: `../../`.
pub fn root_of(page: &str) -> String {
    "../".repeat(page.matches('/').count())
}

/// A name as a part of a path, on any file system.
fn segment(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}
