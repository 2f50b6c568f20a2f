//! The answers to requests, by the name of the request.

use aten2onnx_opmap::source::FileId;
use lsp_server::ErrorCode;
use lsp_types::{
    CodeActionParams, CodeLensParams, CompletionParams, DocumentFormattingParams, DocumentSymbolParams,
    DocumentSymbolResponse, FoldingRangeParams, GotoDefinitionParams, HoverParams, InlayHintParams, ReferenceParams,
    RenameParams, SemanticTokensParams, SignatureHelpParams, TextDocumentPositionParams, Uri, WorkspaceSymbolParams,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::document::Document;
use crate::state::State;
use crate::{actions, coloring, completion, hints, hover, lenses, navigation, rename, signature, structure, symbols};

/// Why there is no answer.
pub type Refusal = (ErrorCode, String);

/// A place in a document.
struct CursorPlace<'s> {
    document: &'s Document,
    file: Option<FileId>,
    at: usize,
}

/// The answer to a request.
///
/// # Errors
/// A request that there is not, that cannot be read, or that is refused.
pub fn answer(state: &State, method: &str, params: Value) -> Result<Value, Refusal> {
    match method {
        "textDocument/hover" => {
            let params: HoverParams = read(params)?;
            let place = place(state, &params.text_document_position_params)?;
            write(hover::hover(state, place.document, place.file, place.at))
        }
        "textDocument/completion" => {
            let params: CompletionParams = read(params)?;
            let place = place(state, &params.text_document_position)?;
            write(completion::completion(state, place.document, place.file, place.at))
        }
        "textDocument/signatureHelp" => {
            let params: SignatureHelpParams = read(params)?;
            let place = place(state, &params.text_document_position_params)?;
            write(signature::signature_help(state, place.document, place.file, place.at))
        }
        "textDocument/definition" => {
            let params: GotoDefinitionParams = read(params)?;
            let place = place(state, &params.text_document_position_params)?;
            write(navigation::definition(state, place.document, place.file, place.at))
        }
        "textDocument/references" => {
            let params: ReferenceParams = read(params)?;
            let place = place(state, &params.text_document_position)?;
            let declared = params.context.include_declaration;
            let found = place.file.map(|file| navigation::references(state, place.document, file, place.at, declared));
            write(found)
        }
        "textDocument/prepareRename" => {
            let params: TextDocumentPositionParams = read(params)?;
            let (place, file) = own_place(state, &params)?;
            write(rename::prepare_rename(state, place.document, file, place.at).map_err(refusal)?)
        }
        "textDocument/rename" => {
            let params: RenameParams = read(params)?;
            let (place, file) = own_place(state, &params.text_document_position)?;
            write(rename::rename(state, place.document, file, place.at, &params.new_name).map_err(refusal)?)
        }
        "textDocument/documentSymbol" => {
            let params: DocumentSymbolParams = read(params)?;
            let document = document(state, &params.text_document.uri)?;
            write(DocumentSymbolResponse::Nested(symbols::document_symbols(document)))
        }
        "workspace/symbol" => {
            let params: WorkspaceSymbolParams = read(params)?;
            write(symbols::workspace_symbols(state, &params.query))
        }
        "textDocument/formatting" => {
            let params: DocumentFormattingParams = read(params)?;
            write(structure::formatting(document(state, &params.text_document.uri)?))
        }
        "textDocument/foldingRange" => {
            let params: FoldingRangeParams = read(params)?;
            write(structure::folding(document(state, &params.text_document.uri)?))
        }
        "textDocument/semanticTokens/full" => {
            let params: SemanticTokensParams = read(params)?;
            let uri = &params.text_document.uri;
            write(coloring::semantic_tokens(state, document(state, uri)?, state.file(uri)))
        }
        "textDocument/inlayHint" => {
            let params: InlayHintParams = read(params)?;
            let (document, file) = own_document(state, &params.text_document.uri)?;
            let range = document.offset(params.range.start)..document.offset(params.range.end);
            write(file.map(|file| hints::inlay_hints(state, document, file, range)))
        }
        "textDocument/codeAction" => {
            let params: CodeActionParams = read(params)?;
            let (document, file) = own_document(state, &params.text_document.uri)?;
            let range = document.offset(params.range.start)..document.offset(params.range.end);
            write(file.map(|file| actions::code_actions(state, file, range, &params.context.diagnostics)))
        }
        "textDocument/codeLens" => {
            let params: CodeLensParams = read(params)?;
            let (document, file) = own_document(state, &params.text_document.uri)?;
            write(file.map(|_| lenses::code_lenses(state, document)))
        }
        _ => Err((ErrorCode::MethodNotFound, format!("there is no request `{method}`"))),
    }
}

fn read<T: DeserializeOwned>(params: Value) -> Result<T, Refusal> {
    serde_json::from_value(params).map_err(|e| (ErrorCode::InvalidParams, e.to_string()))
}

fn write(answer: impl Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(answer).map_err(|e| (ErrorCode::InternalError, e.to_string()))
}

fn refusal(text: String) -> Refusal {
    (ErrorCode::RequestFailed, text)
}

fn document<'s>(state: &'s State, uri: &Uri) -> Result<&'s Document, Refusal> {
    state.document(uri).ok_or_else(|| (ErrorCode::InvalidParams, format!("{} is not open", uri.as_str())))
}

fn own_document<'s>(state: &'s State, uri: &Uri) -> Result<(&'s Document, Option<FileId>), Refusal> {
    Ok((document(state, uri)?, state.file(uri)))
}

fn place<'s>(state: &'s State, params: &TextDocumentPositionParams) -> Result<CursorPlace<'s>, Refusal> {
    let (document, file) = own_document(state, &params.text_document.uri)?;
    Ok(CursorPlace { document, file, at: document.offset(params.position) })
}

/// A place in one of the mapping files.
fn own_place<'s>(state: &'s State, params: &TextDocumentPositionParams) -> Result<(CursorPlace<'s>, FileId), Refusal> {
    let place = place(state, params)?;
    let file = place.file.ok_or_else(|| refusal("the file is not in the folder of the rules".to_owned()))?;
    Ok((place, file))
}
