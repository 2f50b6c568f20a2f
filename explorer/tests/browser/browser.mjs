// Starts Chromium and opens pages; notes everything that a page logs as an error.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { execFileSync } from "node:child_process";
import { launch } from "puppeteer-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The path of the browser: `ATEN2ONNX_BROWSER`, or `chromium` on the PATH. */
function browserPath() {
  const name = process.env.ATEN2ONNX_BROWSER ?? "chromium";
  return name.includes("/") ? name : execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
}

export async function start() {
  const args = ["--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--disable-background-networking"];
  return launch({ executablePath: browserPath(), args, headless: true });
}

/** A page, and the list of its errors. */
export async function open(browser, url, { dark = false, width = 1280, height = 900 } = {}) {
  const page = await browser.newPage();
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
  const errors = [];
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("requestfailed", (request) => {
    // Who leaves a page ends its stream of news.
    if (!request.url().endsWith("/live/events")) errors.push(`${request.url()}: ${request.failure()?.errorText}`);
  });
  await page.goto(url, { waitUntil: "load" });
  return { page, errors };
}

/** What axe finds on a page, as text; only what is a matter of contrast, names, structure and keyboard. */
export async function violations(page) {
  await page.evaluate(AXE);
  const found = await page.evaluate(() =>
    globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], resultTypes: ["violations"] }),
  );
  return found.violations.flatMap((rule) =>
    rule.nodes.slice(0, 3).map((node) => `${rule.id}: ${node.target.join(" ")}: ${node.failureSummary?.split("\n")[1]?.trim()}`),
  );
}
