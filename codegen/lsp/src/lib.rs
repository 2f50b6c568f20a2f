//! The language server for operator rules in opmap: what `aten2onnx-codegen lsp` runs.
//!
//! It stands on the checker of the crate `aten2onnx-opmap`, which checks all files again after each change, and on the tokens of the text, which half-written
//! files have too. Nothing in it panics on any input.
//!
//! A module imports only modules of lower floors, which a test checks. The lowest floor comes first:
//!
//! | floor | modules | contents |
//! |---|---|---|
//! | text | `text`, `words` | places in texts; names, calls and items around a place |
//! | files | `document`, `analysis` | a file as the editor has it; what the checker found out |
//! | state | `state`, `worker` | all files with the newest that is known of them; the checker in its thread |
//! | words | `describe`, `errors` | operators, rules and errors as the editor shows them |
//! | answers | `hover`, `signature`, `navigation`, `rename`, `symbols`, `structure`, `coloring`, `hints`, `actions`, `lenses` | one feature each |
//! | writing | `completion` | what may be written at a place |
//! | protocol | `requests` | requests by their names |
//! | server | `server` | messages in and out |

mod actions;
mod analysis;
mod coloring;
mod completion;
mod describe;
mod document;
mod errors;
mod hints;
mod hover;
mod lenses;
mod navigation;
mod rename;
mod requests;
mod server;
mod signature;
mod state;
mod structure;
mod symbols;
mod text;
mod words;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use aten2onnx_opmap::Checked;
use lsp_server::Connection;
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CodeLensOptions, CompletionOptions,
    ExecuteCommandOptions, FoldingRangeProviderCapability, HoverProviderCapability, InitializeParams, OneOf,
    RenameOptions, SemanticTokensFullOptions, SemanticTokensOptions, ServerCapabilities, SignatureHelpOptions,
    TextDocumentSyncCapability, TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions,
};
use serde_json::{Value, json};

pub use completion::header_of;
pub use lenses::Runner;
use server::Client;

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

/// The `file:` address of a path that is not relative. None if it has none.
pub fn address(path: &Path) -> Option<String> {
    document::uri_of(path).map(|uri| uri.as_str().to_owned())
}

/// Answers an editor on stdin and stdout.
///
/// # Errors
/// A folder that cannot be read, or an editor that does not keep to the protocol.
pub fn serve_stdio(setup: Setup) -> Result<(), String> {
    let (connection, threads) = Connection::stdio();
    let served = serve(&connection, setup);
    drop(connection);
    served.and(threads.join().map_err(|e| e.to_string()))
}

/// Answers the editor at the other end of a connection, as [`serve_stdio`].
///
/// # Errors
/// As there.
pub fn serve(connection: &Connection, mut setup: Setup) -> Result<(), String> {
    let (id, params) = connection.initialize_start().map_err(|e| e.to_string())?;
    let params: InitializeParams = serde_json::from_value(params).map_err(|e| e.to_string())?;
    let result = json!({
        "capabilities": capabilities(),
        "serverInfo": {"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")},
    });
    connection.initialize_finish(id, result).map_err(|e| e.to_string())?;
    place(&params, &mut setup);
    server::serve_connection(connection, client(&params), setup)
}

/// Finds the rules by what the editor has open.
fn place(params: &InitializeParams, setup: &mut Setup) {
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

fn client(params: &InitializeParams) -> Client {
    let experimental = params.capabilities.experimental.as_ref();
    let status = experimental.and_then(|options| options.get("serverStatusNotification")).and_then(Value::as_bool);
    let workspace = params.capabilities.workspace.as_ref();
    let watched = workspace.and_then(|workspace| workspace.did_change_watched_files.as_ref());
    Client {
        wants_status: status.unwrap_or(false),
        watches: watched.and_then(|watched| watched.dynamic_registration).unwrap_or(false),
    }
}

/// What the server can do.
fn capabilities() -> ServerCapabilities {
    let letters = |text: &str| text.chars().map(String::from).collect::<Vec<String>>();
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            save: Some(TextDocumentSyncSaveOptions::Supported(true)),
            ..TextDocumentSyncOptions::default()
        })),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(letters(":.(\" ")),
            ..CompletionOptions::default()
        }),
        signature_help_provider: Some(SignatureHelpOptions {
            trigger_characters: Some(letters("(,=")),
            ..SignatureHelpOptions::default()
        }),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: lsp_types::WorkDoneProgressOptions::default(),
        })),
        document_symbol_provider: Some(OneOf::Left(true)),
        workspace_symbol_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        folding_range_provider: Some(FoldingRangeProviderCapability::Simple(true)),
        semantic_tokens_provider: Some(
            SemanticTokensOptions {
                legend: coloring::legend(),
                full: Some(SemanticTokensFullOptions::Bool(true)),
                ..SemanticTokensOptions::default()
            }
            .into(),
        ),
        inlay_hint_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
            ..CodeActionOptions::default()
        })),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: lenses::COMMANDS.map(str::to_owned).to_vec(),
            ..ExecuteCommandOptions::default()
        }),
        ..ServerCapabilities::default()
    }
}

/// The code blocks of the README are compiled as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
