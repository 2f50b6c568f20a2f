// All pages of the site, as files: every link, script, style and image leads to a file, and every fragment to an element.
import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

const SITE = process.env.SITE;
assert.ok(SITE, "SITE is the folder of the site");

const ids = new Map();
/** The identifiers of the elements of a page. */
function idsOf(file) {
  if (!ids.has(file)) ids.set(file, new Set([...readFileSync(file, "utf8").matchAll(/ id="([^"]*)"/g)].map((match) => unescaped(match[1]))));
  return ids.get(file);
}

const decoded = (text) => decodeURIComponent(text);
/** The text of an attribute. */
const unescaped = (text) => text.replace(/&#x([0-9a-f]+);/g, (_, code) => String.fromCodePoint(parseInt(code, 16))).replaceAll("&amp;", "&");

test("links resolve", () => {
  const files = readdirSync(SITE, { recursive: true }).filter((name) => name.endsWith(".html"));
  assert.ok(files.length > 1000, `${files.length} pages`);
  const broken = [];
  let links = 0;
  for (const name of files) {
    const file = path.join(SITE, name);
    for (const [, written] of readFileSync(file, "utf8").matchAll(/<[a-z][^>]* (?:href|src)="([^"]*)"/g)) {
      const link = unescaped(written);
      if (/^(https?:|data:|mailto:)/.test(link)) continue;
      links += 1;
      const [place, fragment] = link.split("#");
      const to = place ? path.join(path.dirname(file), decoded(place)) : file;
      if (!existsSync(to) || statSync(to).isDirectory()) broken.push(`${name}: ${link}`);
      else if (fragment && to.endsWith(".html") && !idsOf(to).has(decoded(fragment))) broken.push(`${name}: ${link} has no such element`);
    }
  }
  assert.ok(links > 10000, `${links} links`);
  assert.deepEqual(broken.slice(0, 30), [], `${broken.length} of ${links} links are broken`);
});

test("nothing is loaded from elsewhere", () => {
  const files = readdirSync(SITE, { recursive: true }).filter((name) => /\.(html|css|js)$/.test(name));
  for (const name of files) {
    const text = readFileSync(path.join(SITE, name), "utf8");
    assert.ok(!/<(script|img|link|iframe)[^>]* (src|href)="(https?:)?\/\//.test(text), name);
    assert.ok(!/@import|url\((["']?)https?:/.test(name.endsWith(".css") ? text : ""), name);
  }
});
