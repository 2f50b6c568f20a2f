// ONNX Runtime's package for Node.js: node adapter.mjs ENVIRONMENT
import { createRequire } from "node:module";
import { fromTensor, toTensor } from "../../harness/ort_tensors.mjs";
import { serve } from "../../harness/serve.mjs";

const require = createRequire(process.argv[2] + "/");
const ort = require("onnxruntime-node");

async function load(path) {
  return ort.InferenceSession.create(path, { intraOpNumThreads: 1, logSeverityLevel: 4 });
}

async function run(session, inputs) {
  const feeds = Object.fromEntries(inputs.map((tensor) => [tensor.name, toTensor(ort, tensor)]));
  const found = await session.run(feeds);
  return session.outputNames.map((name) => fromTensor(found[name]));
}

serve({ version: () => require("onnxruntime-node/package.json").version, load, run });
