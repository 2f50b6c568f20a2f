// The editor: CodeMirror with the features of the language server.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, getIndentUnit, indentService, indentUnit } from "@codemirror/language";
import { lintGutter, lintKeymap } from "@codemirror/lint";
import { findReferencesKeymap, formatKeymap, hoverTooltips, jumpToDefinitionKeymap, LSPPlugin, serverCompletion, signatureHelp } from "@codemirror/lsp-client";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers, showDialog } from "@codemirror/view";
import { coloring } from "./colors.js";

/** Asks for a new name of what is at the cursor, and changes all files that have it. */
function rename(view) {
  const plugin = LSPPlugin.get(view);
  const word = view.state.wordAt(view.state.selection.main.head);
  if (!plugin || !word) return false;
  const { client, uri } = plugin;
  const old = view.state.sliceDoc(word.from, word.to);
  const dialog = showDialog(view, { label: "New name", input: { name: "name", value: old }, focus: true, submitLabel: "rename" });
  dialog.result.then(async (form) => {
    view.focus();
    const newName = form?.elements.namedItem("name").value;
    if (!newName || newName === old) return;
    client.sync();
    const params = { textDocument: { uri }, position: plugin.toPosition(word.from), newName };
    await client.request("textDocument/rename", params).then((edit) => edit && client.workspace.apply(edit), (error) => plugin.reportError("Not renamed", error));
  });
  return true;
}

/** A new line begins where the last one did, and deeper after an open bracket. */
const indentation = indentService.of((context, at) => {
  const { text } = context.lineAt(at, -1);
  return context.countColumn(text, text.search(/\S|$/)) + (/[{([]\s*$/.test(text) ? getIndentUnit(context.state) : 0);
});

/** The state of the editor for a file. */
export function state(client, file, { changed, save }) {
  return EditorState.create({
    doc: file.doc,
    extensions: [
      lineNumbers(),
      history(),
      drawSelection(),
      bracketMatching(),
      closeBrackets(),
      highlightActiveLine(),
      highlightSelectionMatches(),
      search({ top: true }),
      lintGutter(),
      autocompletion(),
      EditorState.tabSize.of(4),
      indentUnit.of("    "),
      indentation,
      EditorView.contentAttributes.of({ "aria-label": `Text of ${file.name}`, "aria-describedby": "keys", tabindex: "0" }),
      coloring,
      client.plugin(file.uri, "opmap"),
      serverCompletion({ override: true }),
      hoverTooltips(),
      signatureHelp(),
      keymap.of([
        { key: "Mod-s", run: () => { save(); return true; }, preventDefault: true },
        { key: "F2", run: rename, preventDefault: true },
        ...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...searchKeymap, ...completionKeymap, ...lintKeymap,
        ...formatKeymap, ...jumpToDefinitionKeymap, ...findReferencesKeymap,
      ]),
      EditorView.updateListener.of((update) => (update.docChanged || update.selectionSet) && changed(update)),
    ],
  });
}
