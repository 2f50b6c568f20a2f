// The static site, read from files: errors of pages, the search, the choice of opsets, contrast and labels.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { open, start, violations } from "./browser.mjs";

const SITE = process.env.SITE;
assert.ok(SITE, "SITE is the folder of the site");
const address = (page) => pathToFileURL(path.join(SITE, page)).href;

/** Pages of every kind: the first of each folder with many, and those that have much to show. */
const KINDS = [
  "index.html",
  "aten/gelu/index.html",
  "aten/grid_sampler_2d/index.html",
  "aten/add.Tensor/index.html",
  "aten/nonzero_static/index.html",
  "onnx/index.html",
  "onnx/Resize/index.html",
  "onnx/Loop/index.html",
  "coverage/index.html",
  "coverage/aten/index.html",
  "runtimes/index.html",
  "rules/index.html",
  "errors/index.html",
  "docs/index.html",
  "docs/opmap/index.html",
];

/** The first page of each folder of the top level, so that a new kind of page is tested too. */
function pages() {
  const all = new Set(KINDS);
  for (const folder of readdirSync(SITE, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
    const inner = readdirSync(path.join(SITE, folder.name), { withFileTypes: true });
    const first = inner.filter((entry) => entry.isDirectory()).map((entry) => entry.name).sort()[0];
    if (first && readdirSync(path.join(SITE, folder.name, first)).includes("index.html")) all.add(`${folder.name}/${first}/index.html`);
  }
  return [...all];
}

let browser;
before(async () => { browser = await start(); });
after(async () => { await browser.close(); });

for (const name of pages()) {
  for (const dark of [false, true]) {
    test(`${name} ${dark ? "dark" : "light"}`, async () => {
      const { page, errors } = await open(browser, address(name), { dark });
      assert.deepEqual(errors, []);
      assert.deepEqual(await violations(page), []);
      await page.close();
    });
  }
  test(`${name} on a phone`, async () => {
    const { page } = await open(browser, address(name), { width: 390, height: 800 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `the page is ${wide} pixels too wide`);
    await page.close();
  });
}

test("the search leads from the front page to an operator", async () => {
  const { page, errors } = await open(browser, address("index.html"));
  await page.select("#opset", "13");
  await page.type("#q", "grid_sampler_2d");
  await page.waitForSelector("#results a");
  const first = await page.$eval("#results a", (link) => link.textContent);
  assert.equal(first, "aten::grid_sampler_2d");
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  assert.match(page.url(), /aten\/grid_sampler_2d\/index\.html$/);
  // The chosen opset is marked in the table of support.
  assert.ok((await page.$$(".matrix .mine")).length > 0);
  assert.deepEqual(errors, []);
  await page.close();
});

for (const [text, wanted] of [["gelu", "aten::gelu"], ["Resize", "Resize"], ["E0301", "E0301"], ["opmap", "opmap"]]) {
  test(`the search finds ${text}`, async () => {
    const { page } = await open(browser, address("index.html"));
    await page.type("#q", text);
    await page.waitForSelector("#results a");
    const found = await page.$$eval("#results a", (links) => links.map((link) => link.textContent));
    assert.ok(found.slice(0, 5).some((name) => name.toLowerCase().includes(wanted.toLowerCase())), found.join(", "));
    await page.close();
  });
}

test("the search says that there is nothing", async () => {
  const { page } = await open(browser, address("index.html"));
  await page.type("#q", "no such thing at all");
  assert.match(await page.$eval("#results", (list) => list.textContent), /Nothing/);
  await page.close();
});

test("another opset has another graph, and two are compared", async () => {
  const { page, errors } = await open(browser, address("aten/gelu/index.html"));
  const shown = () =>
    page.$$eval("details.example[open] .graph", (all) => all.filter((one) => !one.hidden).map((one) => one.querySelector("svg")?.querySelectorAll("[data-n]").length));
  const choose = (opset) =>
    page.evaluate((wanted) => {
      const buttons = [...document.querySelectorAll("details.example[open] .opsets button")];
      buttons.find((button) => button.textContent === wanted).click();
    }, opset);
  await choose("20");
  assert.deepEqual(await shown(), [1]);
  await choose("19");
  assert.deepEqual(await shown(), [5]);
  await page.select("details.example[open] .bar-of select", "20");
  assert.deepEqual(await shown(), [5, 1]);
  const marked = await page.$$eval("details.example[open] svg .removed, details.example[open] svg .added", (all) => all.length);
  assert.equal(marked, 6);
  assert.deepEqual(errors, []);
  await page.close();
});

test("large graphs are drawn from what the page has packed", async () => {
  const { page, errors } = await open(browser, address("aten/linalg_svd/index.html"));
  const index = await page.$$eval("details.example", (all) => all.findIndex((one) => one.dataset.packed || (one.open && one.querySelector("svg"))));
  assert.ok(index >= 0);
  await page.evaluate((index) => { document.querySelectorAll("details.example")[index].open = true; }, index);
  await page.waitForFunction((index) => !document.querySelectorAll("details.example")[index].dataset.packed, {}, index);
  await page.waitForSelector("details.example[open] .opsets button");
  const [drawn, lines, nodes] = await page.$$eval("details.example", (all, index) => {
    const section = [...all[index].querySelectorAll(".graph")].find((one) => one.querySelectorAll("svg [data-n]").length > 12);
    const text = section.querySelector("pre").textContent;
    return [section.querySelectorAll("svg [data-n]").length, text.split("\n").length, /more lines/.test(text) ? -1 : Number.parseInt(section.querySelector("h4 .note").textContent)];
  }, index);
  assert.equal(drawn, nodes);
  assert.ok(lines >= nodes);
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(errors, []);
  await page.close();
});

test("pages are read without scripts", async () => {
  const page = await browser.newPage();
  await page.setJavaScriptEnabled(false);
  await page.goto(address("aten/gelu/index.html"));
  assert.ok((await page.$$("svg.g")).length > 0);
  assert.ok((await page.$$(".matrix td")).length > 0);
  await page.close();
});
