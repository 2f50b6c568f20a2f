// ONNX Runtime's package for the web, in a headless browser: node adapter.mjs ENVIRONMENT
//
// A server on this machine gives a page the models and tensors, and takes its answers. The browser is `chromium`, or
// $ATEN2ONNX_BROWSER. The page asks for one job after the other, and is loaded anew after an error.
import { spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { serve } from "../../harness/serve.mjs";

const HERE = import.meta.dirname;
const PACKAGE = path.join(process.argv[2], "node_modules/onnxruntime-web");
const TYPES = { ".mjs": "text/javascript", ".wasm": "application/wasm", ".html": "text/html" };
const FLAGS = [
  "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--metrics-recording-only", "--disable-breakpad", "--user-data-dir=profile",
];

const waiting = { job: null, page: null, files: {} };

// Gives the page a job as soon as it asks for one, and resolves with its answer.
function ask(job) {
  return new Promise((resolve, reject) => {
    waiting.job = { job, resolve, reject };
    hand();
  });
}

function hand() {
  if (waiting.job && waiting.page) {
    waiting.page.end(JSON.stringify(waiting.job.job));
    waiting.page = null;
  }
}

function body(request) {
  return new Promise((resolve) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => resolve(Buffer.concat(chunks)));
  });
}

function send(response, file) {
  response.setHeader("Content-Type", TYPES[path.extname(file)] ?? "application/octet-stream");
  fs.createReadStream(file).on("error", () => response.writeHead(404).end()).pipe(response);
}

// An answer is a line of JSON, then the bytes of the outputs.
async function receive(request, response) {
  const bytes = await body(request);
  const end = bytes.indexOf(10);
  const message = JSON.parse(bytes.subarray(0, end));
  response.end();
  const { resolve, reject } = waiting.job;
  waiting.job = null;
  if (message.error) {
    return reject(new Error(message.error));
  }
  let offset = end + 1;
  resolve(message.outputs.map((tensor) => ({ ...tensor, data: new Uint8Array(bytes.subarray(offset, (offset += tensor.bytes))) })));
}

const server = http.createServer((request, response) => {
  const name = request.url.slice(1);
  if (name === "job") {
    waiting.page = response;
    return hand();
  }
  if (name === "answer") {
    return receive(request, response);
  }
  if (waiting.files[name] !== undefined) {
    return response.end(waiting.files[name]);
  }
  const known = { "": "page.html", "page.mjs": "page.mjs", "ort_tensors.mjs": "../../harness/ort_tensors.mjs" };
  send(response, name in known ? path.join(HERE, known[name]) : path.join(PACKAGE, "dist", path.basename(name)));
});

async function load(file) {
  waiting.files = { model: fs.readFileSync(file) };
  await ask({ what: "load" });
}

function run(_, inputs) {
  waiting.files.inputs = Buffer.concat(inputs.map((tensor) => tensor.data));
  return ask({ what: "run", inputs: inputs.map(({ name, dtype, shape, bytes }) => ({ name, dtype, shape, bytes })) });
}

server.listen(0, "127.0.0.1", () => {
  const browser = process.env.ATEN2ONNX_BROWSER ?? "chromium";
  const child = spawn(browser, [...FLAGS, `http://127.0.0.1:${server.address().port}/`], { stdio: ["ignore", "ignore", "ignore"] });
  child.on("error", (error) => fail(`${browser} does not start: ${error.message}`));
  child.on("exit", (code) => fail(`${browser} ended with ${code}`));
  const version = JSON.parse(fs.readFileSync(path.join(PACKAGE, "package.json"))).version;
  serve({ version: () => version, load, run }).then(() => process.exit(0));
});

function fail(reason) {
  process.stderr.write(reason + "\n");
  process.exit(1);
}
