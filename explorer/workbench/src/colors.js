// Colours of words, by the semantic tokens of the language server.
import { RangeSetBuilder, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, ViewPlugin } from "@codemirror/view";
import { LSPPlugin } from "@codemirror/lsp-client";

/** The classes of the site's style sheet, by the name of the token's type. */
const CLASSES = {
  keyword: "k", function: "f", class: "o", type: "t", parameter: "p", variable: "v", property: "a", enumMember: "t", string: "s", number: "m", comment: "c",
};

const setColors = StateEffect.define();

const colors = StateField.define({
  create: () => Decoration.none,
  update(marks, transaction) {
    const set = transaction.effects.find((effect) => effect.is(setColors));
    return set ? set.value : marks.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** The numbers of the protocol as marks in a text. */
function decoded(data, legend, doc) {
  const builder = new RangeSetBuilder();
  let line = 0;
  let character = 0;
  for (let i = 0; i + 4 < data.length; i += 5) {
    character = data[i] ? data[i + 1] : character + data[i + 1];
    line += data[i];
    if (line >= doc.lines) break;
    const from = doc.line(line + 1).from + character;
    const to = Math.min(from + data[i + 2], doc.length);
    const name = CLASSES[legend[data[i + 3]]];
    if (name && from < to) builder.add(from, to, Decoration.mark({ class: `tok-${name}` }));
  }
  return builder.finish();
}

/** Asks for the colours a moment after each change, and when the file is shown. */
const asking = ViewPlugin.fromClass(class {
  constructor(view) {
    this.view = view;
    this.ask(0);
  }
  update(update) {
    if (update.docChanged) this.ask(120);
  }
  ask(delay) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.get(), delay);
  }
  async get() {
    const plugin = LSPPlugin.get(this.view);
    if (!plugin) return;
    plugin.client.sync();
    const doc = this.view.state.doc;
    const answer = await plugin.client.request("textDocument/semanticTokens/full", { textDocument: { uri: plugin.uri } }).catch(() => null);
    const legend = plugin.client.serverCapabilities?.semanticTokensProvider?.legend.tokenTypes;
    // After another change or in another file the next answer counts.
    if (answer && legend && this.view.state.doc === doc) this.view.dispatch({ effects: setColors.of(decoded(answer.data, legend, doc)) });
  }
  destroy() {
    clearTimeout(this.timer);
  }
});

export const coloring = [colors, asking];
