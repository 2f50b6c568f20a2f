// Writes explorer/assets/workbench.js and the licenses of what is in it: `npm ci && npm run build`. `npm run check` tells whether they are up to date.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const assets = path.join(here, "../assets");

const made = await build({
  absWorkingDir: here,
  entryPoints: ["src/main.js"],
  bundle: true,
  format: "iife",
  target: "es2022",
  minify: true,
  legalComments: "none",
  charset: "utf8",
  metafile: true,
  write: false,
  banner: { js: "/* Made by explorer/workbench. Licenses: workbench.licenses.txt */" },
});

/** The folders of the packages whose code is in the file. */
function packages() {
  const folders = Object.values(made.metafile.outputs).flatMap((output) =>
    Object.entries(output.inputs).filter(([, input]) => input.bytesInOutput > 0).map(([file]) => file.match(/^node_modules\/(@[^/]+\/)?[^/]+/)?.[0]),
  );
  return [...new Set(folders.filter(Boolean))].sort();
}

/** The license of a package, as its authors wrote it. */
function license(folder) {
  const about = JSON.parse(readFileSync(path.join(here, folder, "package.json"), "utf8"));
  const file = ["LICENSE", "LICENSE.md", "LICENSE.txt"].map((name) => path.join(here, folder, name)).find(existsSync);
  if (!file) throw new Error(`${folder} has no file with its license`);
  return `${about.name} ${about.version} (${about.license})\n\n${readFileSync(file, "utf8").trim()}\n`;
}

const files = {
  "workbench.js": made.outputFiles[0].text,
  "workbench.licenses.txt": packages().map(license).join(`\n${"-".repeat(80)}\n\n`),
};
for (const [name, text] of Object.entries(files)) {
  const file = path.join(assets, name);
  if (!process.argv.includes("--check")) {
    writeFileSync(file, text);
    console.log(`${path.relative(process.cwd(), file)}: ${text.length} bytes`);
  } else if (!existsSync(file) || readFileSync(file, "utf8") !== text) {
    console.error(`${path.relative(process.cwd(), file)} is out of date: run \`npm ci && npm run build\` in explorer/workbench`);
    process.exitCode = 1;
  }
}
