// Errors: squiggles in the text, and a list with what mends each.
import { setDiagnostics } from "@codemirror/lint";
import { LSPPlugin } from "@codemirror/lsp-client";

/** More errors than this are counted, and not listed. */
const MOST = 50;

export class Problems {
  /** By the address of the file. */
  found = new Map();

  constructor(page) {
    this.page = page;
  }

  /** Takes the errors of a file. */
  take(client, { uri, version, diagnostics }) {
    const file = client.workspace.getFile(uri);
    if (file && version != null && version !== file.version) return;
    this.found.set(uri, diagnostics.map((diagnostic) => ({ ...diagnostic, fixes: [] })));
    this.mark(client, file);
    this.list();
  }

  /** Underlines the errors of the file that is shown. */
  mark(client, file) {
    const view = file?.getView();
    const plugin = view && LSPPlugin.get(view);
    if (!plugin) return;
    const at = (position) => {
      const line = plugin.syncedDoc.line(Math.min(position.line + 1, plugin.syncedDoc.lines));
      return plugin.unsyncedChanges.mapPos(Math.min(line.from + position.character, line.to));
    };
    const shown = (this.found.get(file.uri) ?? []).map((problem) => ({
      from: at(problem.range.start),
      to: Math.max(at(problem.range.start), at(problem.range.end)),
      severity: "error",
      source: problem.code,
      message: problem.message,
      actions: problem.fixes.map((fix) => ({ name: fix.title, apply: () => client.workspace.apply(fix.edit) })),
    }));
    view.dispatch(setDiagnostics(view.state, shown));
  }

  /** Asks what mends the errors of a file. */
  async askForFixes(client, file) {
    const problems = (this.found.get(file.uri) ?? []).slice(0, MOST);
    const { version } = file;
    for (const problem of problems) {
      const { fixes: _, ...diagnostic } = problem;
      const params = { textDocument: { uri: file.uri }, range: problem.range, context: { diagnostics: [diagnostic] } };
      const answer = await client.request("textDocument/codeAction", params).catch(() => null);
      if (file.version !== version) return;
      problem.fixes = (answer ?? []).filter((action) => action.diagnostics?.length && action.edit);
    }
    if (problems.length) {
      this.mark(client, file);
      this.list();
    }
  }

  get count() {
    return [...this.found.values()].reduce((sum, problems) => sum + problems.length, 0);
  }

  /** Writes the list below the editor. */
  list() {
    const { client } = this.page;
    const place = document.getElementById("problems");
    const heading = document.getElementById("problems-count");
    heading.textContent = this.count === 0 ? "No problems" : `${this.count} problem${this.count === 1 ? "" : "s"}`;
    const all = [...this.found].flatMap(([uri, problems]) => problems.map((problem) => ({ uri, problem })));
    place.replaceChildren(...all.slice(0, MOST).map(({ uri, problem }) => this.item(client, uri, problem)));
  }

  item(client, uri, problem) {
    const item = document.createElement("li");
    const name = uri.slice(client.workspace.root?.length ?? 0);
    const go = button(`${name}:${problem.range.start.line + 1}`, () => this.page.goTo(uri, problem.range));
    const code = document.createElement("a");
    code.href = `/errors/${problem.code}/`;
    code.target = "_blank";
    code.textContent = problem.code;
    const text = document.createElement("pre");
    text.textContent = problem.message;
    const fixes = problem.fixes.map((fix) => button(`Fix: ${fix.title}`, () => client.workspace.apply(fix.edit)));
    item.append(go, " ", code, text, ...fixes);
    return item;
  }
}

function button(text, action) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.addEventListener("click", action);
  return made;
}
