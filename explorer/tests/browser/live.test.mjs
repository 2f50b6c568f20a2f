// The server: an edit of a rule changes the drawing, errors are shown, calls are run, and other sites are refused.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { after, before, test } from "node:test";
import { open, start, violations } from "./browser.mjs";
import { serve } from "./server.mjs";

const { EXPLORER, RULES } = process.env;
assert.ok(EXPLORER && RULES, "EXPLORER is the program and RULES the folder of rules");

let browser, rules, address, stop;

before(async () => {
  browser = await start();
  ({ rules, address, stop } = await serve(EXPLORER, RULES));
  address += "live/";
});
after(async () => {
  await browser.close();
  stop();
});

const file = () => path.join(rules, "aten/activation.opmap");
const edit = (from, to) => {
  const text = readFileSync(file(), "utf8");
  assert.ok(text.includes(from), `the rules have no longer \`${from}\``);
  writeFileSync(file(), text.replace(from, to));
};

/** The status of a request with these headers. */
const status = (headers, target = "/live/", method = "GET") =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(address);
    const request = http.request({ hostname, port, path: target, method, headers }, (answer) => { answer.resume(); resolve(answer.statusCode); });
    request.on("error", reject);
    request.end();
  });

test("other sites and other names are refused", async () => {
  const host = new URL(address).host;
  assert.equal(await status({}), 200);
  assert.equal(await status({ host: `localhost:${new URL(address).port}` }), 200);
  assert.equal(await status({ host: "example.org" }), 403);
  assert.equal(await status({ origin: "https://example.org" }), 403);
  assert.equal(await status({ origin: "null" }), 403);
  assert.equal(await status({ "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" }), 403);
  assert.equal(await status({ origin: "https://example.org" }, "/live/call", "POST"), 403);
  assert.equal(await status({ origin: `http://${host}` }), 200);
  assert.equal(await status({}, "/live/events/../../../etc/passwd"), 503);
});

test("an edit of a rule changes the drawing beside the last one, and an error is shown", async () => {
  const { page, errors } = await open(browser, `${address}?op=aten::elu`);
  await page.waitForSelector("#view svg.g");
  assert.deepEqual(await violations(page), []);
  const before = await page.$eval("#view svg.g", (svg) => svg.outerHTML);
  edit("elu_of(self, alpha)\n", "Neg(elu_of(self, alpha))\n");
  await page.waitForSelector("#view svg.g .added");
  const pairs = await page.$$eval("#view .pair", (all) => all.map((pair) => pair.querySelectorAll("svg.g").length));
  assert.deepEqual(pairs, [2, 2]);
  assert.equal(await page.$eval("#view svg.g", (svg) => [...svg.querySelectorAll("[data-n]")].length), 1);
  assert.ok(before.includes("Elu"));
  edit("Neg(elu_of(", "Nag(elu_of(");
  await page.waitForSelector("#view .problem");
  const problem = await page.$eval("#view .problem", (section) => section.textContent);
  assert.match(problem, /Nag/);
  assert.match(problem, /activation\.opmap:\d+/);
  assert.ok((await page.$$("#view svg.g")).length > 0, "the last good drawing is gone");
  edit("Nag(elu_of(", "Neg(elu_of(");
  await page.waitForFunction(() => !document.querySelector("#view .problem"));
  assert.deepEqual(errors, []);
  await page.close();
});

test("a call is run at two opsets, and a wrong one is explained", async () => {
  const { page, errors } = await open(browser, address);
  await page.type("[name=call]", 'aten::gelu(f16[2, n], approximate = "tanh")');
  await page.keyboard.press("Enter");
  await page.waitForSelector("#called svg.g");
  assert.equal((await page.$$("#called svg.g")).length, 2);
  await page.$eval("[name=call]", (input) => { input.value = "aten::gelo(f32[2])"; });
  await page.click("#call button");
  await page.waitForSelector("#called .problem");
  assert.match(await page.$eval("#called", (place) => place.textContent), /did you mean `aten::gelu`/);
  assert.deepEqual(errors, []);
  await page.close();
});
