// The page: opens rules, keeps the editor, the list of problems and the drawings together, and writes files.
import { redo, undo } from "@codemirror/commands";
import { LSPClient, formatDocument } from "@codemirror/lsp-client";
import { EditorView } from "@codemirror/view";
import { connect } from "./connection.js";
import { state } from "./editor.js";
import { Files, asDocument } from "./files.js";
import { Problems } from "./problems.js";
import { Rule } from "./rule.js";

/** After the last key, this many milliseconds pass before the text is checked. */
const PAUSE = 60;
/** `try` and `verify` run Python for minutes. */
const PATIENCE = 600_000;

const element = (id) => document.getElementById(id);

class Page {
  shown = null;
  #view = null;
  #timer = 0;
  #conflicts = [];
  #isQuiet = false;
  #waiting = [];

  constructor() {
    this.problems = new Problems(this);
    const notificationHandlers = {
      "textDocument/publishDiagnostics": (client, params) => { this.problems.take(client, params); return true; },
      "experimental/serverStatus": (_, { quiescent }) => { this.#status(quiescent); return true; },
      "workbench/disk": () => { this.disk(); return true; },
      "window/showMessage": (_, { message }) => { this.say(message); return true; },
    };
    const clientCapabilities = {
      experimental: { serverStatusNotification: true },
      textDocument: { publishDiagnostics: { versionSupport: true } },
    };
    const workspace = (client) => new Files(client);
    this.client = new LSPClient({ workspace, timeout: PATIENCE, notificationHandlers, extensions: [{ clientCapabilities }] });
    this.files.show = { file: (file) => this.show(file), state: (file) => this.#state(file) };
    this.rule = new Rule(this.client, () => this.#settled());
    this.#connect();
    this.#listen();
  }

  get files() { return this.client.workspace; }

  say(text) {
    element("status").textContent = text;
  }

  #connect() {
    element("lost").hidden = true;
    this.client.connect(connect(() => {
      this.client.disconnect();
      element("lost").hidden = false;
    }));
  }

  #state(file) {
    return state(this.client, file, { changed: (update) => this.#changed(update), save: () => this.save() });
  }

  #changed(update) {
    if (update.docChanged) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.client.sync(), PAUSE);
      this.#label();
    }
    this.#follow();
  }

  /** Shows the rule at the cursor. */
  #follow() {
    const { doc, selection } = this.#view.state;
    this.rule.at(doc.lineAt(selection.main.head).number - 1);
  }

  #status(quiescent) {
    this.#isQuiet = quiescent;
    if (!quiescent) return;
    this.#waiting.splice(0).forEach((resolve) => resolve());
    this.checked();
  }

  /** Waits until the texts as they are now are checked. */
  async #settled() {
    this.client.sync();
    // The server takes messages in their order: with this answer it has the texts.
    await this.client.request("workspace/symbol", { query: "no such name" }).catch(() => null);
    if (!this.#isQuiet) await new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** All files are checked. */
  async checked() {
    const file = this.shown;
    if (!file) return;
    await this.rule.learn(file);
    if (this.shown === file) this.#follow();
    element("checked").textContent = this.problems.count ? "Checked: there are problems." : "Checked: no problems.";
    this.rule.draw();
    await this.problems.askForFixes(this.client, file);
  }

  /** Shows a file in the editor. */
  show(file) {
    if (this.shown === file) return this.#view;
    if (this.shown) {
      this.client.sync();
      this.shown.state = this.#view.state;
    }
    this.shown = file;
    const next = file.state ?? this.#state(file);
    if (this.#view) this.#view.setState(next);
    else this.#view = new EditorView({ state: next, parent: element("editor") });
    element("file").value = file.name;
    this.problems.mark(this.client, file);
    this.#label();
    return this.#view;
  }

  /** Opens what the address or a form names. */
  async open(asked) {
    const loaded = await this.files.load(asked).catch((error) => this.say(error.message));
    if (!loaded) return;
    const { file, answer } = loaded;
    const view = this.show(file);
    await this.rule.learn(file);
    if (answer.insert) this.#insert(view, answer.insert, asked.new);
    if (answer.line) {
      const { from } = view.state.doc.line(Math.min(answer.line, view.state.doc.lines));
      view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "start" }) });
    }
    this.rule.set(asked.op ?? asked.new);
    this.#follow();
    view.focus();
  }

  /** Adds a new rule at the end of the file, and selects its body. */
  #insert(view, text, op) {
    const end = view.state.doc.length;
    const before = view.state.doc.toString().replace(/\n*$/, "").length;
    const insert = `${before ? "\n\n" : ""}${text}`;
    const body = insert.match(/fail "[^"]*"/);
    const from = before + (body?.index ?? 0);
    view.dispatch({
      changes: { from: before, to: end, insert },
      selection: { anchor: from, head: from + (body?.[0].length ?? 0) },
      effects: EditorView.scrollIntoView(before, { y: "start" }),
      userEvent: "input",
    });
    this.say(`The header of ${op} is at the end of ${this.shown.name}: write its body.`);
  }

  async goTo(uri, range) {
    const view = await this.files.displayFile(uri);
    if (!view) return;
    const at = (position) => {
      const line = view.state.doc.line(Math.min(position.line + 1, view.state.doc.lines));
      return Math.min(line.from + position.character, line.to);
    };
    view.dispatch({ selection: { anchor: at(range.start), head: at(range.end) }, scrollIntoView: true });
    view.focus();
  }

  /** Writes the files that were edited. */
  async save() {
    const edited = this.files.files.filter((file) => file.isEdited);
    if (!edited.length) return this.say("Nothing was edited.");
    const documents = edited.map((file) => file.current);
    const files = edited.map((file, i) => ({ file: file.name, text: documents[i].toString(), base: file.base }));
    const answers = await this.client.request("workbench/save", { files }).catch((error) => this.say(error.message));
    if (!answers) return;
    const saved = [];
    for (const [i, answer] of answers.entries()) {
      if (answer.saved) {
        edited[i].written(answer.text, documents[i]);
        saved.push(answer.file);
      } else {
        this.#conflict(edited[i], answer.text);
      }
    }
    this.say(saved.length ? `Saved ${saved.join(", ")}.` : "Not saved.");
    this.#label();
  }

  /** Files changed on disk. Texts that were not edited follow. */
  async disk() {
    for (const file of this.files.files) {
      const { text } = await this.client.request("workbench/read", { file: file.name }).catch(() => ({ text: file.base }));
      if (text === file.base) continue;
      const document = text === null ? null : asDocument(text);
      if (document?.eq(file.current)) {
        file.written(text, file.current);
      } else if (document && !file.isEdited) {
        this.#take(file, text);
        this.say(`${file.name} changed on disk, and was read again.`);
      } else {
        this.#conflict(file, text);
      }
    }
    this.#label();
    this.rule.draw();
  }

  /** Takes the text on disk, as a change that can be undone. */
  #take(file, text) {
    const [old, now] = [file.current.toString(), asDocument(text).toString()];
    let from = 0;
    while (from < Math.min(old.length, now.length) && old[from] === now[from]) from++;
    let kept = 0;
    while (kept < Math.min(old.length, now.length) - from && old.at(-1 - kept) === now.at(-1 - kept)) kept++;
    const changes = { from, to: old.length - kept, insert: now.slice(from, now.length - kept) };
    this.files.updateFile(file.uri, { changes, userEvent: "input" });
    file.written(text, file.current);
  }

  /** A file was edited here and on disk: the user chooses. */
  #conflict(file, text) {
    this.#conflicts = this.#conflicts.filter((other) => other.file !== file).concat({ file, text });
    this.#ask();
  }

  #ask() {
    const [conflict] = this.#conflicts;
    element("conflict").hidden = !conflict;
    if (!conflict) return;
    const gone = conflict.text === null;
    const what = gone ? "was deleted on disk" : "was also changed on disk, and is not overwritten";
    element("conflict-text").textContent = `${conflict.file.name} ${what}.`;
    element("take").hidden = element("keep").hidden = gone;
  }

  #resolve(keep) {
    const conflict = this.#conflicts.shift();
    if (conflict && keep) conflict.file.written(conflict.text, asDocument(conflict.text));
    else if (conflict) this.#take(conflict.file, conflict.text);
    this.#ask();
    this.#label();
    if (conflict && keep) this.save();
    this.#view.focus();
  }

  /** Says which files were edited. */
  #label() {
    const edited = this.files.files.filter((file) => file.isEdited).map((file) => file.name);
    element("save").disabled = edited.length === 0;
    element("edited").textContent = edited.length ? `Not saved: ${edited.join(", ")}` : "";
  }

  #listen() {
    const on = (id, action) => element(id).addEventListener("click", () => { action(); this.#view?.focus(); });
    on("save", () => this.save());
    on("format", () => formatDocument(this.#view));
    on("undo", () => undo(this.#view));
    on("redo", () => redo(this.#view));
    element("take").addEventListener("click", () => this.#resolve(false));
    element("keep").addEventListener("click", () => this.#resolve(true));
    element("again").addEventListener("click", () => this.#connect());
    element("file").addEventListener("change", (event) => this.open({ file: event.target.value }));
    const form = (id, asked) => element(id).addEventListener("submit", (event) => {
      event.preventDefault();
      const value = event.target.elements.op.value.trim();
      if (value) this.open(asked(value));
    });
    form("open", (op) => ({ op }));
    form("insert", (name) => ({ new: name, file: this.shown?.name }));
    addEventListener("keydown", (event) => {
      const isSave = (event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "s";
      if (!isSave || event.defaultPrevented) return;
      event.preventDefault();
      this.save();
    });
    addEventListener("beforeunload", (event) => {
      if (this.files.files.some((file) => file.isEdited)) event.preventDefault();
    });
  }
}

const page = new Page();
const asked = Object.fromEntries(["op", "file", "new"].map((name) => [name, new URLSearchParams(location.search).get(name)]).filter(([, value]) => value));
page.open(Object.keys(asked).length ? asked : { op: "aten::elu" });
