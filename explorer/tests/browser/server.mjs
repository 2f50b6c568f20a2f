// The server of the explorer over a copy of the rules, for tests that edit them.
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";

/** Copies the rules, with the documents and levels that pages show, and serves them. Returns the folder of rules, the address up to its last `/`, and `stop`. */
export async function serve(explorer, rules) {
  const folder = mkdtempSync(path.join(os.tmpdir(), "explorer-"));
  const copy = path.join(folder, "mappings");
  cpSync(rules, copy, { recursive: true });
  for (const name of ["docs", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"]) cpSync(path.join(rules, "..", name), path.join(folder, name), { recursive: true });
  const server = spawn(explorer, ["--rules", copy, "serve", "--port", "0"], { stdio: ["ignore", "ignore", "pipe"], cwd: path.join(rules, "..") });
  const address = await new Promise((resolve, reject) => {
    let said = "";
    server.stderr.on("data", (text) => {
      said += text;
      const found = said.match(/(http:\/\/127\.0\.0\.1:\d+\/)live\//);
      if (found) resolve(found[1]);
    });
    server.on("exit", (code) => reject(new Error(`the server ended with ${code}: ${said}`)));
  });
  const stop = () => {
    server.kill();
    rmSync(folder, { recursive: true });
  };
  return { rules: copy, address, stop };
}
