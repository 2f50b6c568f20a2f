// What is shown of the rule at the cursor: its graphs, its matrix, and what `try` and `verify` say.

const element = (id) => document.getElementById(id);

export class Rule {
  op = "";
  example = 0;
  #asked = 0;
  #lenses = [];

  /** `settled` resolves when the texts in the page are checked. */
  constructor(client, settled) {
    this.client = client;
    this.settled = settled;
    for (const id of ["opset0", "opset1"]) element(id).addEventListener("change", () => this.draw());
    element("try").addEventListener("click", () => this.run("try"));
    element("verify").addEventListener("click", () => this.run("verify"));
  }

  /** Another rule is shown. */
  set(op) {
    if (!op || op === this.op) return;
    this.op = op;
    this.example = 0;
    element("rule").textContent = op;
    element("try").disabled = element("verify").disabled = false;
    this.draw();
  }

  /** Where the rules of a file are. */
  async learn(file) {
    const lenses = await this.client.request("textDocument/codeLens", { textDocument: { uri: file.uri } }).catch(() => null);
    this.#lenses = (lenses ?? []).map(({ range, command }) => ({ line: range.start.line, op: command.arguments[0] }));
  }

  /** The cursor is in a line of the file. */
  at(line) {
    this.set(this.#lenses.filter((lens) => lens.line <= line).at(-1)?.op);
  }

  async draw() {
    if (!this.op) return;
    const mine = ++this.#asked;
    const opsets = ["opset0", "opset1"].map((id) => Number(element(id).value));
    const asked = { op: this.op, example: this.example, opsets };
    const answer = await this.client.request("workbench/view", asked).catch((error) => ({ problem: error.message }));
    // A later answer may have come first.
    if (mine !== this.#asked) return;
    element("older").hidden = !answer.broken;
    if (answer.problem) {
      // The last drawing stays.
      element("older").hidden = false;
      return;
    }
    element("view").innerHTML = answer.html;
    element("view").querySelector("[data-ask=example]")?.addEventListener("change", (event) => {
      this.example = Number(event.target.value);
      this.draw();
    });
  }

  async run(command) {
    const place = element("result");
    const { op } = this;
    place.textContent = `${command} ${op} runs …`;
    place.setAttribute("aria-busy", "true");
    element("try").disabled = element("verify").disabled = true;
    await this.settled();
    const answer = await this.client.request(`workbench/${command}`, { op }).catch((error) => ({ text: error.message, right: false }));
    element("try").disabled = element("verify").disabled = false;
    const heading = document.createElement("p");
    heading.className = "verdict";
    heading.textContent = `${command} ${op}: ${answer.right ? "all is right" : "not right"}`;
    const text = document.createElement("pre");
    text.tabIndex = 0;
    text.className = answer.right ? "" : "problem";
    text.textContent = answer.text;
    place.replaceChildren(heading, text);
    place.removeAttribute("aria-busy");
  }
}
