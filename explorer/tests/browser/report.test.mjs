// The page about a model: it has no scripts and unfolds, and axe finds nothing.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { open, start, violations } from "./browser.mjs";

const REPORT = process.env.REPORT;
assert.ok(REPORT, "REPORT is the page of a model");

let browser;
before(async () => { browser = await start(); });
after(async () => { await browser.close(); });

for (const dark of [false, true]) {
  test(`the page about a model, ${dark ? "dark" : "light"}`, async () => {
    const { page, errors } = await open(browser, pathToFileURL(REPORT).href, { dark });
    assert.deepEqual(errors, []);
    assert.deepEqual(await violations(page), []);
    const folded = () => page.$eval(".tree details li", (node) => node.checkVisibility());
    assert.equal(await folded(), false);
    await page.$$eval("details", (all) => all.forEach((one) => { one.open = true; }));
    assert.equal(await folded(), true);
    assert.deepEqual(await violations(page), []);
    await page.close();
  });
}
