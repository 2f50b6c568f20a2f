// The files that are open: their texts in the page, and what of them is known to be on disk.
import { Text } from "@codemirror/state";
import { LSPPlugin, Workspace } from "@codemirror/lsp-client";

/** The text of a file as the editor has it, whose lines end in `\n`. */
export const asDocument = (text) => Text.of(text.split(/\r\n?|\n/));

class File {
  constructor(name, uri, text) {
    Object.assign(this, { name, uri, languageId: "opmap", version: 0, doc: asDocument(text), view: null, state: null });
    this.written(text, this.doc);
  }
  /** `text` is on disk, for which the page has `document`. */
  written(text, document) {
    this.base = text;
    this.clean = document;
  }
  getView() { return this.view; }
  get current() { return this.view ? this.view.state.doc : this.doc; }
  get isEdited() { return !this.current.eq(this.clean); }
}

/** All of them. Files that are not shown stay open, because they may be edited. */
export class Files extends Workspace {
  files = [];
  /** Makes the editor show a file; set by the page. */
  show = null;

  /** A file by its name, its address, a rule, or a new rule; with what the server says of it. */
  async load(asked) {
    const answer = await this.client.request("workbench/open", asked);
    let file = this.getFile(answer.uri);
    if (!file) {
      file = new File(answer.file, answer.uri, answer.text);
      this.files.push(file);
      this.client.didOpen(file);
    }
    this.root ??= answer.uri.slice(0, answer.uri.length - encodeURI(answer.file).length);
    return { file, answer };
  }

  syncFiles() {
    const changed = [];
    for (const file of this.files) {
      const plugin = file.view && LSPPlugin.get(file.view);
      if (!plugin || plugin.uri !== file.uri || plugin.unsyncedChanges.empty) continue;
      changed.push({ changes: plugin.unsyncedChanges, file, prevDoc: file.doc });
      file.doc = file.view.state.doc;
      file.version += 1;
      plugin.clear();
    }
    return changed;
  }

  openFile(uri, _languageId, view) {
    const file = this.getFile(uri);
    if (file) file.view = view;
  }

  closeFile(uri, view) {
    const file = this.getFile(uri);
    if (file?.view === view) file.view = null;
  }

  async requestFile(uri) {
    const known = this.getFile(uri);
    if (known || !this.root || !uri.startsWith(this.root)) return known;
    return (await this.load({ file: decodeURIComponent(uri.slice(this.root.length)) })).file;
  }

  /** Changes a file, also one that is not shown. */
  updateFile(uri, update) {
    const file = this.getFile(uri);
    if (!file) return;
    if (file.view) {
      file.view.dispatch(update);
      return;
    }
    file.state = (file.state ?? this.show.state(file)).update(update).state;
    file.doc = file.state.doc;
    file.version += 1;
    const textDocument = { uri, version: file.version };
    this.client.notification("textDocument/didChange", { textDocument, contentChanges: [{ text: file.doc.toString() }] });
  }

  async displayFile(uri) {
    const file = await this.requestFile(uri);
    return file && this.show.file(file);
  }

  /** Applies changes of several files that the language server proposes. */
  async apply(edit) {
    for (const [uri, changes] of Object.entries(edit.changes ?? {})) {
      const file = await this.requestFile(uri);
      if (!file) continue;
      const at = ({ line, character }) => file.current.line(line + 1).from + character;
      const specs = changes.map(({ range, newText }) => ({ from: at(range.start), to: at(range.end), insert: newText }));
      this.updateFile(uri, { changes: specs, userEvent: "input" });
    }
  }
}
