// The workbench: a rule is edited, broken, mended, tried and saved in the page, and nothing on disk is overwritten that somebody else changed.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, afterEach, before, test } from "node:test";
import { open, start, violations } from "./browser.mjs";
import { serve } from "./server.mjs";

const { EXPLORER, RULES } = process.env;
assert.ok(EXPLORER && RULES, "EXPLORER is the program and RULES the folder of rules");

let browser, rules, address, stop, page, errors;

before(async () => {
  browser = await start();
  ({ rules, address, stop } = await serve(EXPLORER, RULES));
});
after(async () => {
  await browser.close();
  stop();
});
afterEach(async () => {
  assert.deepEqual(errors, []);
  // A page with texts that are not saved asks before it goes.
  page.on("dialog", (dialog) => dialog.accept());
  await page.close({ runBeforeUnload: false });
});

const onDisk = (file) => readFileSync(path.join(rules, file), "utf8");
const text = (selector) => page.$eval(selector, (element) => element.textContent);
const visible = (id) => page.waitForFunction((id) => !document.getElementById(id).hidden, {}, id);
const hidden = (id) => page.waitForFunction((id) => document.getElementById(id).hidden, {}, id);
const says = (id, part) => page.waitForFunction((id, part) => document.getElementById(id).textContent.includes(part), { timeout: 60_000 }, id, part);
const noProblems = () => says("problems-count", "No problems");

/** Opens a page of the workbench, and waits until all files are checked. */
async function workbench(query) {
  ({ page, errors } = await open(browser, `${address}edit/?${query}`));
  page.setDefaultTimeout(40_000);
  await says("checked", "Checked");
}

/** Sets the cursor at the end of the first line with this text. */
async function goToLine(part) {
  const line = await page.waitForFunction((part) => [...document.querySelectorAll(".cm-line")].find((line) => line.textContent.includes(part)), {}, part);
  await line.asElement().click();
  await page.keyboard.press("End");
}

async function control(key) {
  await page.keyboard.down("Control");
  await page.keyboard.press(key);
  await page.keyboard.up("Control");
}

/** The text of the file in the editor: of the lines that are drawn. */
const lines = () => page.$$eval(".cm-line", (all) => all.map((line) => line.textContent));

test("a rule is edited, broken, mended by a fix and saved, and its graphs follow", async () => {
  await workbench("op=aten::elu");
  await page.waitForSelector("#view svg.g");
  assert.equal((await page.$$("#view svg.g")).length, 2);
  assert.equal(await page.$$eval("#view table.matrix tbody tr", (rows) => rows.length > 0), true);
  assert.deepEqual(await violations(page), []);
  const before = onDisk("aten/activation.opmap");

  await goToLine("elu_of(self, alpha)");
  await page.keyboard.press("Home");
  await page.keyboard.type("Neg(");
  await page.keyboard.press("End");
  await page.keyboard.type(")");
  await page.waitForSelector("#view svg.g .added");
  assert.equal((await page.$$("#view .pair figure:has(.added)")).length, 2, "both opsets have the new node");
  assert.match(await text("#edited"), /aten\/activation\.opmap/);
  assert.equal(onDisk("aten/activation.opmap"), before, "nothing is written before it is saved");

  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Delete");
  await page.keyboard.type("a");
  await page.waitForSelector("#problems li");
  await page.waitForSelector(".cm-lintRange-error");
  assert.match(await text("#problems"), /aten\/activation\.opmap:\d+.*E\d{4}.*Nag/s);
  await visible("older");
  assert.equal((await page.$$("#view svg.g")).length, 2, "the last good drawing is gone");
  // axe knows the list of completions only beside an input; it is closed.
  await page.keyboard.press("Escape");
  assert.deepEqual(await violations(page), []);

  const fix = await page.waitForSelector("#problems li button:nth-of-type(2)");
  assert.match(await fix.evaluate((button) => button.textContent), /Neg/);
  await fix.click();
  await noProblems();
  await hidden("older");

  await control("s");
  await says("status", "Saved aten/activation.opmap");
  assert.ok(onDisk("aten/activation.opmap").includes("        Neg(elu_of(self, alpha))\n"));
  // The rules on disk make the same nodes now.
  await page.waitForFunction(() => document.querySelector("#view svg.g") && !document.querySelector("#view .added"));
  assert.equal(await text("#edited"), "");
});

test("undo, redo and format", async () => {
  await workbench("op=aten::celu");
  await goToLine("Celu(self, alpha_f = alpha)");
  const has = async (part) => (await lines()).some((line) => line.includes(part));
  await page.keyboard.press("Backspace");
  await page.keyboard.type("   )");
  assert.ok(await has("alpha   )"));
  await page.click("#format");
  await page.waitForFunction(() => [...document.querySelectorAll(".cm-line")].every((line) => !line.textContent.includes("alpha   )")));
  assert.ok(await has("Celu(self, alpha_f = alpha)"));
  await page.click("#undo");
  assert.ok(await has("alpha   )"));
  await page.click("#redo");
  assert.ok(await has("Celu(self, alpha_f = alpha)"));
});

test("what is at the pointer is explained, and what may be written is offered", async () => {
  await workbench("op=aten::elu");
  const word = await page.waitForFunction(() => [...document.querySelectorAll(".cm-line span")].find((span) => span.textContent === "Exp"));
  await word.asElement().hover();
  await page.waitForSelector(".cm-lsp-hover-tooltip");
  assert.match(await text(".cm-lsp-hover-tooltip"), /Exp/);
  // The definition is in another file, which is shown.
  await goToLine("let a = known_float");
  await page.keyboard.press("Home");
  for (const _ of "let a = kn") await page.keyboard.press("ArrowRight");
  await page.keyboard.press("F12");
  await page.waitForFunction(() => document.getElementById("file").value !== "aten/activation.opmap");
  await page.select("#file", "aten/activation.opmap");
  await goToLine("let below");
  await page.keyboard.press("Enter");
  await page.keyboard.type("let more = Softp");
  await page.waitForSelector(".cm-tooltip-autocomplete");
  assert.match(await text(".cm-tooltip-autocomplete"), /Softplus/);
  // A list that just appeared takes no key, because the key may have been meant for the text.
  await new Promise((resolve) => setTimeout(resolve, 300));
  await page.keyboard.press("Enter");
  assert.ok((await lines()).some((line) => line.startsWith("        let more = Softplus")), "a new line is as deep as the last one");
});

test("a text that somebody else wrote is not overwritten", async () => {
  await workbench("file=aten/pool.opmap");
  const file = path.join(rules, "aten/pool.opmap");
  const original = onDisk("aten/pool.opmap");
  /** The file with a comment in its second line. */
  const commented = (comment) => original.replace("\n", `\n// ${comment}\n`);
  const type = async (comment) => {
    await goToLine("//! Pooling");
    await page.keyboard.type(`\n// ${comment}`);
  };
  writeFileSync(file, commented("On disk."));
  await says("status", "changed on disk, and was read again");
  assert.equal((await lines())[1], "// On disk.");
  assert.equal(await text("#edited"), "", "a text that was not edited follows the file");

  await type("Mine.");
  await says("edited", "aten/pool.opmap");
  writeFileSync(file, commented("Theirs."));
  await visible("conflict");
  assert.deepEqual(await violations(page), []);
  await control("s");
  await says("status", "Not saved");
  assert.equal(onDisk("aten/pool.opmap"), commented("Theirs."));
  await page.click("#keep");
  await says("status", "Saved");
  assert.equal(onDisk("aten/pool.opmap"), commented("Mine.\n// On disk."));
  await hidden("conflict");

  await type("Again.");
  writeFileSync(file, original);
  await visible("conflict");
  await page.click("#take");
  await hidden("conflict");
  assert.ok(!(await lines()).includes("// Again."));
  assert.equal(await text("#edited"), "");
  assert.equal(onDisk("aten/pool.opmap"), original);
});

test("a new rule is written from the list of what is missing, tried in PyTorch, and saved", async () => {
  ({ page, errors } = await open(browser, `${address}edit/new`));
  page.setDefaultTimeout(40_000);
  assert.deepEqual(await violations(page), []);
  await Promise.all([page.waitForNavigation(), page.evaluate(() => document.querySelector("a[href$='_add_relu.Tensor']").click())]);
  await says("checked", "Checked");
  await says("status", "write its body");
  assert.equal(await text("#rule"), "aten::_add_relu.Tensor");
  // The body is selected.
  await page.keyboard.type("Relu(self + other * alpha)");
  await noProblems();
  await page.waitForSelector("#view svg.g");
  await control("s");
  await says("status", "Saved");
  await page.click("#try");
  await page.waitForSelector("#result .verdict");
  assert.match(await text("#result"), /all is right.*ok {4}example aten::_add_relu\.Tensor.*1 example, 0 failed, 0 branches not reached/s);
  assert.deepEqual(await violations(page), []);
});

test("wrong rules are found by `try` and `verify`, and rules with errors are not run", async () => {
  await workbench("op=aten::relu6");
  await goToLine("map aten::relu6");
  await page.keyboard.type(" + 1");
  await page.waitForSelector("#view svg.g .added");
  await page.click("#try");
  await page.waitForSelector("#result .verdict");
  assert.match(await text("#result"), /not right.*FAIL/s);
  await page.click("#verify");
  await says("result", "verify aten::relu6: not right");
  assert.match(await text("#result"), /example aten::relu6/);
  await goToLine("map aten::relu6");
  await page.keyboard.type(" +");
  await page.waitForSelector("#problems li");
  await page.click("#try");
  await says("result", "the files have errors");
});
