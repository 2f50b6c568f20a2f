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
//! | protocol | `requests`, `setup` | requests by their names; which rules are edited |
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
mod setup;
mod signature;
mod state;
mod structure;
mod symbols;
mod text;
mod words;
mod worker;

use std::path::Path;

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
pub use setup::{Observer, Setup};

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
    setup::place(&params, &mut setup);
    server::serve_connection(connection, client(&params), setup)
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
