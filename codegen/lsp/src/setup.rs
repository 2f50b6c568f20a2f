//! What a server stands on: the rules that are edited, and who wants to know of them.

use std::path::PathBuf;
use std::sync::Arc;

use aten2onnx_opmap::Checked;
use lsp_types::InitializeParams;
use serde_json::Value;

use crate::document;
use crate::lenses::Runner;

/// Is told of each state of all files that was checked, in the thread of the server: it must not wait.
pub type Observer = Box<dyn Fn(&Arc<Checked>) + Send>;

/// What a server stands on.
#[derive(Default)]
pub struct Setup {
    /// The folder of rules and schemas: in the folder that the editor has open, if it is there, else in the current one.
    pub mappings: PathBuf,
    /// The mapping files of a user, which are edited over those rules. Without any, those that the editor names in its initialization options, else those in
    /// the folders that it has open. If the editor has the project itself open, the project's rules are edited. None if `mappings` is what is edited.
    pub own: Option<Vec<PathBuf>>,
    /// What runs the commands of code lenses. Without it, these commands are refused.
    pub program: Option<Runner>,
    /// Who wants to know what the checker says.
    pub observer: Option<Observer>,
}

/// Finds the rules by what the editor has open.
pub fn place(params: &InitializeParams, setup: &mut Setup) {
    let (roots, named) = (roots(params), texts(params, "mappings").into_iter().map(PathBuf::from).collect::<Vec<_>>());
    if let Some(Runner::Exporter { imports, .. }) = &mut setup.program {
        imports.extend(texts(params, "import"));
    }
    let Some(own) = &mut setup.own else {
        let mappings = named.into_iter().next().unwrap_or_else(|| setup.mappings.clone());
        let inside = roots.iter().map(|root| root.join(&mappings)).find(|path| path.is_dir());
        setup.mappings = inside.unwrap_or(mappings);
        return;
    };
    let project = roots.iter().map(|root| root.join("mappings")).find(|path| path.join("schemas/onnx.txt").is_file());
    if let Some(project) = project.filter(|_| own.is_empty()) {
        (setup.mappings, setup.own) = (project, None);
        return;
    }
    if own.is_empty() {
        let first = roots.first().cloned().unwrap_or_default();
        *own = named.iter().map(|path| first.join(path)).collect();
        // Files of a folder that the editor has open may come and go.
        if own.iter().any(|path| !path.exists()) || own.is_empty() {
            *own = roots;
        }
    }
    own.iter_mut().for_each(|path| *path = path.canonicalize().unwrap_or_else(|_| path.clone()));
}

/// The folders that the editor has open.
#[allow(deprecated, reason = "editors that know no folders give the root like this")]
fn roots(params: &InitializeParams) -> Vec<PathBuf> {
    let folders = params.workspace_folders.iter().flatten().map(|folder| &folder.uri);
    let mut roots: Vec<PathBuf> = Vec::new();
    for root in folders.chain(&params.root_uri).filter_map(document::path_of) {
        if !roots.contains(&root) {
            roots.push(root);
        }
    }
    roots
}

/// What one of the initialization options names: a text or several.
fn texts(params: &InitializeParams, name: &str) -> Vec<String> {
    let value = params.initialization_options.as_ref().and_then(|options| options.get(name));
    match value {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(texts)) => texts.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}
