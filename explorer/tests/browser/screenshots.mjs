// Takes the pictures of docs/screenshots: node screenshots.mjs OUT, with the variables of `run`. They are looked at before they are committed.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { open, start } from "./browser.mjs";

const { SITE, REPORT, EXPLORER, RULES } = process.env;
const out = process.argv[2];
assert.ok(SITE && REPORT && EXPLORER && RULES && out, "give SITE, REPORT, EXPLORER, RULES and the folder");
mkdirSync(out, { recursive: true });

const site = (page) => pathToFileURL(path.join(SITE, page)).href;
const browser = await start();

/** A picture of what is seen, after `prepare`. */
async function take(name, url, options = {}, prepare = async () => {}) {
  const { page } = await open(browser, url, { width: 1200, height: 850, ...options });
  await prepare(page);
  await page.screenshot({ path: path.join(out, `${name}.webp`), type: "webp", quality: 60 });
  await page.close();
}

const press = (page, opset) =>
  page.evaluate((wanted) => {
    const buttons = [...document.querySelectorAll("details.example[open] .opsets button")];
    buttons.find((button) => button.textContent === wanted)?.click();
  }, opset);
const scroll = async (page, selector) => {
  await page.$eval(selector, (element) => element.scrollIntoView({ behavior: "instant" }));
  await new Promise((done) => setTimeout(done, 300));
};

await take("front", site("index.html"));
await take("search", site("index.html"), {}, async (page) => {
  await page.select("#opset", "13");
  await page.type("#q", "grid_sampler");
  await page.waitForSelector("#results a");
});
await take("overload", site("aten/grid_sampler_2d/index.html"));
await take("compared", site("aten/gelu/index.html"), {}, async (page) => {
  await press(page, "19");
  await page.select("details.example[open] .bar-of select", "20");
  await scroll(page, "#examples");
});
await take("graph-dark", site("aten/lstm.input/index.html"), { dark: true }, async (page) => {
  await press(page, "13");
  await scroll(page, "#examples");
});
await take("operator", site("onnx/Resize/index.html"));
await take("coverage", site("coverage/index.html"));
await take("runtimes", site("runtimes/index.html"), { dark: true });
await take("phone", site("aten/gelu/index.html"), { width: 390, height: 800 });
await take("report", pathToFileURL(REPORT).href);

const server = spawn(EXPLORER, ["--rules", RULES, "serve", "--port", "0"], { stdio: ["ignore", "ignore", "pipe"], cwd: path.join(RULES, "..") });
const address = await new Promise((resolve) => server.stderr.on("data", (text) => resolve(String(text).split(" ")[0])));
await take("live", `${address}?op=aten::elu`, { height: 1100 }, async (page) => {
  await page.type("[name=call]", 'aten::gelu(f16[2, n], approximate = "tanh")');
  await page.keyboard.press("Enter");
  await page.waitForSelector("#called svg");
  await page.waitForSelector("#view svg");
});
server.kill();
await browser.close();
