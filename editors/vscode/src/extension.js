// The extension: starts `aten2onnx-codegen lsp` or `aten2onnx lsp`, and shows what its commands print.

const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;
let output;

/** The first folder that is open and has rules. */
function rulesFolder(mappings) {
  const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
  return folders.find((folder) => fs.existsSync(path.join(folder, mappings))) ?? folders[0];
}

/** The program of the settings, of the open folder, or of PATH. */
function serverPath(folder) {
  const configured = vscode.workspace.getConfiguration("opmap").get("server.path");
  if (configured) {
    return configured;
  }
  const name = process.platform === "win32" ? "aten2onnx-codegen.exe" : "aten2onnx-codegen";
  const built = ["release", "debug"].map((profile) => path.join(folder ?? "", "target", profile, name));
  return built.find((file) => folder && fs.existsSync(file)) ?? name;
}

async function start() {
  const mappings = vscode.workspace.getConfiguration("opmap").get("mappings");
  const folder = rulesFolder(mappings);
  const command = serverPath(folder);
  // `aten2onnx` checks mapping files of users over the rules that it has, and takes their paths from the initialization options.
  const isPackage = path.basename(command).replace(/\.exe$/, "") === "aten2onnx";
  const args = isPackage ? ["lsp", "--stdio"] : ["--mappings", mappings, "lsp", "--stdio"];
  const server = { command, args, options: { cwd: folder } };
  const options = {
    documentSelector: [{ scheme: "file", language: "opmap" }],
    initializationOptions: { mappings },
    outputChannel: output,
    middleware: {
      // What `try`, `verify` and `expand` print.
      executeCommand: async (name, args, next) => {
        output.show(true);
        output.appendLine(`> ${name} ${args.join(" ")}`);
        const text = await vscode.window.withProgress(
          { location: vscode.ProgressLocation.Window, title: `${name} ${args.join(" ")}` },
          () => next(name, args),
        );
        output.appendLine(String(text ?? ""));
        return text;
      },
    },
  };
  client = new LanguageClient("opmap", "opmap", server, options);
  try {
    await client.start();
  } catch (error) {
    const help = isPackage ? "Install it with `pip install aten2onnx`" : "Build it with `cargo build --release -p aten2onnx-codegen`";
    vscode.window.showErrorMessage(`opmap: ${command} does not start: ${error}. ${help}.`);
  }
}

async function stop() {
  await client?.stop().catch(() => undefined);
  client = undefined;
}

async function activate(context) {
  output = vscode.window.createOutputChannel("opmap");
  const restart = vscode.commands.registerCommand("opmap.restart", async () => {
    await stop();
    await start();
  });
  const changed = vscode.workspace.onDidChangeConfiguration(async (event) => {
    if (["opmap.server", "opmap.mappings"].some((name) => event.affectsConfiguration(name))) {
      await stop();
      await start();
    }
  });
  context.subscriptions.push(output, restart, changed);
  await start();
}

module.exports = { activate, deactivate: stop };
